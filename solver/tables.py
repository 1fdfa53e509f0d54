"""What the kernels keep, by rows that can be asked for: regrets and averages of a board, running averages of values.

Regrets and averages of all boards lie in one array a player, as [part][block][edge][hand] (`solver.kernels.types`); a
*table* is a board's share of it as [edge, hand]. A *watch* makes kernels keep the counterfactual values of some rows,
which they come past anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from protocol.arrays import F64, I64
from solver.kernels.types import Watch, WeightArray, aligned_zeros
from solver.kernels.vectors import BLOCK
from solver.problem import Problem

Span = tuple[slice, int]
"""Where the weights of a part of a board lie, and its edges."""


def table_spans(problem: Problem, player: int, board: int) -> list[Span]:
    """Those of a board's parts in which the player acts."""
    hands, begin = int(problem.deals.hands[player]), int(problem.deals.base[player, board])
    parts = problem.part_edges(player, int(problem.deals.street[board]))
    return [(slice(begin + at * hands, begin + (at + edges) * hands), edges) for at, edges in parts if edges]


def read_table(weights: WeightArray, spans: Sequence[Span], hands: int) -> F64:
    """[edge, hand] of a player with so many hands, padding left out."""
    parts = []
    for span, edges in spans:
        numbers = weights[span]
        if numbers.dtype == np.uint16:
            numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
        parts.append(numbers.reshape(-1, edges, BLOCK).transpose(1, 0, 2).reshape(edges, -1))
    return np.concatenate([np.zeros((0, hands)), *[part[:, :hands] for part in parts]])


def write_table(weights: WeightArray, spans: Sequence[Span], table: F64) -> None:
    """The inverse of `read_table`."""
    at = 0
    for span, edges in spans:
        whole = np.zeros((edges, (span.stop - span.start) // edges), np.float32)
        whole[:, : table.shape[1]] = table[at : at + edges]
        flat = whole.reshape(edges, -1, BLOCK).transpose(1, 0, 2).ravel()
        if weights.dtype == np.uint16:
            flat = ((flat.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)
        weights[span] = flat
        at += edges


@dataclass(frozen=True, slots=True, eq=False)
class WatchedRows:
    """Rows of a player whose values are kept, on average since some iteration."""

    watch: Watch
    place: I64
    """[row, as they were asked for] its number in the watch."""
    since: int = 0
    """How many iterations were done before."""

    @classmethod
    def of(
        cls, problem: Problem, player: int, rows: Sequence[tuple[int, int, int]] = (), since: int = 0
    ) -> WatchedRows:
        """A row is a board, a part of its street, and a row of the part: a node, or the number of nodes plus a slot."""
        boards, parts, numbers = np.array(rows, np.int32).reshape(-1, 3).T
        order = np.argsort(boards, kind="stable")
        streets = problem.deals.street
        watch = Watch(
            at=np.searchsorted(boards[order], np.arange(len(streets) + 1)).astype(np.int32),
            parts=(problem.trees.part_at[streets[boards]] + parts)[order],
            rows=numbers[order],
            values=aligned_zeros(len(rows) * int(problem.deals.hands[player])),
        )
        return cls(watch, np.argsort(order), since)

    def values(self, numbers: Sequence[int], hands: int) -> F64:
        """[row, hand] of some of the rows, padding left out."""
        rows = len(self.place)
        whole = self.watch.values.reshape(rows, len(self.watch.values) // max(rows, 1))
        return whole[self.place[list(numbers)], :hands].astype(np.float64)
