"""What the solver solves: trees, hands and boards as arrays, with the weights of hands. Poker subgames and small games
given as public trees are both problems; nothing below this line knows which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from protocol.arrays import F32, F64, I32
from solver.kernels.sweeps import MAX_VECTORS, NUM_CARD_ROWS
from solver.kernels.types import Deals, Scratch, Top, Trees, aligned_zeros
from solver.kernels.vectors import BLOCK, LANES

NO_MATRICES = np.zeros((0, 0, 0, 0), np.float32)


@dataclass(frozen=True, slots=True)
class Layout:
    """The betting of one part of a street as arrays, cards left out."""

    num_roots: int
    player: I32
    """[node] who acts; 2 is chance."""
    edge: I32
    """[node] the number of its first edge among its player's."""
    first: I32
    """[node + 1] where its children begin."""
    child: I32
    """[child] a row: a node, or the number of nodes plus a slot."""
    edges: tuple[int, int]
    """How many edges each player has."""
    showdown_lanes: int
    fold_lanes: int
    showdowns: int
    """How many of the showdown lanes are leaves of this part; all-ins of earlier streets follow."""
    opened: int
    """How many of those."""
    showdown_chips: F32
    """[showdown lane] what the loser pays."""
    fold_chips: F32
    """[player, fold lane] what that player wins."""
    num_next: int
    """Roots of the next street."""
    all_in_chips: tuple[float, ...]
    """What the losers of this street's all-ins pay."""

    @property
    def slots(self) -> int:
        """All leaves, padding included."""
        return self.showdown_lanes + self.fold_lanes + self.num_next + len(self.all_in_chips)


def number_edges(players: Sequence[int], counts: Sequence[int]) -> tuple[I32, tuple[int, int]]:
    """Each node's first edge among its player's, and how many edges each player has."""
    edges = [0, 0, 0]
    first = []
    for player, count in zip(players, counts, strict=True):
        first.append(edges[player])
        edges[player] += count
    return np.array(first, np.int32), (edges[0], edges[1])


def stack(streets: Sequence[Sequence[Layout]], matrices: F32 = NO_MATRICES) -> Trees:
    """The parts of all streets one after another, from the root's on."""

    def ints(values: npt.ArrayLike) -> I32:
        return np.array(values, np.int32)

    def bounds(counts: Sequence[int]) -> I32:
        return ints(np.concatenate(([0], np.cumsum(counts))))

    parts = [part for street in streets for part in street]
    first, child_at, ledger, passed = [], 0, [], 0
    for part in parts:
        first.append(part.first[:-1] + child_at)
        child_at += len(part.child)
    edge_at, root_at = [], []
    for street in streets:
        ledger.append(sum(part.num_next + len(part.all_in_chips) for part in street) + passed)
        passed += sum(len(part.all_in_chips) for part in street)
        edges, roots = np.zeros(2, np.int32), 0
        for part in street:
            edge_at.append(edges)
            root_at.append(roots)
            edges, roots = edges + part.edges, roots + part.num_roots
    runs = [_runs(part) for part in parts]
    return Trees(
        part_at=bounds([len(street) for street in streets]),
        ledger=ints(ledger),
        node_at=bounds([len(part.player) for part in parts]),
        edge=np.concatenate([part.edge for part in parts]),
        first=ints(np.concatenate(first)),
        child=np.concatenate([part.child for part in parts]),
        run_at=bounds([len(each) for each in runs]),
        runs=np.concatenate(runs),
        edges=ints([part.edges for part in parts]),
        edge_at=ints(edge_at),
        roots=ints([part.num_roots for part in parts]),
        root_at=ints(root_at),
        opened=ints([part.opened for part in parts]),
        showdown_lanes=ints([part.showdown_lanes for part in parts]),
        fold_lanes=ints([part.fold_lanes for part in parts]),
        showdowns=ints([part.showdowns for part in parts]),
        showdown_at=bounds([part.showdown_lanes for part in parts]),
        showdown_chips=np.concatenate([part.showdown_chips for part in parts]),
        matrices=matrices,
        fold_at=bounds([part.fold_lanes for part in parts]),
        fold_chips=np.ascontiguousarray(np.concatenate([part.fold_chips for part in parts], axis=1)),
    )


def _runs(part: Layout) -> I32:
    """Neighbouring nodes of equal player and number of children."""
    alike = np.stack([part.player, np.diff(part.first)], axis=1)
    if not len(alike):
        return np.zeros((0, 4), np.int32)
    begins = np.flatnonzero(np.any(alike[1:] != alike[:-1], axis=1)) + 1
    ends = np.concatenate((begins, [len(alike)]))
    begins = np.concatenate(([0], begins))
    return np.ascontiguousarray(np.column_stack([begins, ends, alike[begins]]), np.int32)


class Problem:
    """Trees, deals, weights: what a solver needs, and working memory for it."""

    least_share = 0.0
    """A hand beside which no larger share of the opponent's range can be held is not worth asking about."""

    def __init__(
        self,
        trees: Trees,
        deals: Deals,
        weights: Sequence[F64],
        *,
        bits: int,
        averaged: Sequence[bool],
        unit: float,
        pot: float,
    ) -> None:
        self.trees, self.deals = trees, deals
        self.weights: tuple[F64, F64] = (weights[0], weights[1])
        """[player][hand] the range at the root."""
        self.compatible: tuple[F64, F64] = (self.opposing(0, weights[1]), self.opposing(1, weights[0]))
        """[player][hand] the opponent's weight over hands that can be held beside it."""
        self.total = float(weights[0] @ self.compatible[0])
        """The weight of all pairs of hands: counterfactual values over it are expectations."""
        self.bits = bits
        """Of each regret and each average: 32, or 16 for bfloat16."""
        self.averaged = np.array(averaged)
        """[street] whether average strategies are kept."""
        self.unit, self.pot = unit, pot
        """What values are measured in: the big blind, and the pot at the root."""
        self.ranges = (self._padded(0), self._padded(1))

    def pairs(self, player: int, streets: int) -> int:
        """(hand, edge) pairs of a player on so many streets from the root."""
        boards = int(np.searchsorted(self.deals.street, streets))
        if boards == 0:
            return 0
        size = sum(edges for _, edges in self.part_edges(player, streets - 1)) * int(self.deals.hands[player])
        return int(self.deals.base[player, boards - 1]) + size

    def part_edges(self, player: int, street: int) -> list[tuple[int, int]]:
        """For each part of a street the edges of the player before it and in it."""
        parts = range(self.trees.part_at[street], self.trees.part_at[street + 1])
        return [(int(self.trees.edge_at[part, player]), int(self.trees.edges[part, player])) for part in parts]

    def chance(self, hands: F64, player: int) -> F64:
        """The probability of each hand of `player`, weighted so, when one of the opponent's is dealt beside it."""
        weighted: F64 = hands * self.compatible[player]
        shares: F64 = weighted / (weighted.sum() or 1.0)
        return shares

    def opposing(self, player: int, weights: F64) -> F64:
        """[hand] the opponent's `weights` over its hands that can be held beside each hand of `player`."""
        raise NotImplementedError

    def scratch(self) -> Scratch:
        """Working memory for one thread."""
        trees, widest = self.trees, int(max(self.deals.hands))
        folds = [trees.fold_lanes[begin:end].max() for begin, end in pairwise(trees.part_at)]
        lanes = np.concatenate(([0], np.cumsum(np.array(folds, np.int64))))
        begin = np.concatenate(([0, 0], np.cumsum(trees.ledger[1:].astype(np.int64) * widest)))
        shown = int(trees.showdown_lanes.max())
        streets = np.searchsorted(trees.part_at, np.arange(len(trees.roots)), side="right") - 1
        slots = trees.showdown_lanes + trees.fold_lanes + trees.ledger[streets]
        rows = int((np.diff(trees.node_at) + slots).max())
        return Scratch(
            rows=aligned_zeros(rows * BLOCK),
            showdown_reach=aligned_zeros((widest + 1) * shown),
            showdown_value=aligned_zeros((widest + 1) * shown),
            fold_reach=aligned_zeros((widest + 1) * int(lanes[-1])),
            fold_value=aligned_zeros((widest + 1) * int(lanes[-1])),
            fold_begin=(widest + 1) * lanes,
            card_totals=aligned_zeros(NUM_CARD_ROWS * MAX_VECTORS * LANES),
            reach=aligned_zeros(int(begin[-1])),
            value=aligned_zeros(int(begin[-1])),
            begin=begin,
            delivered=aligned_zeros(int(max(trees.ledger[1:-1], default=0)) * widest),
        )

    def top(self) -> Top:
        """The ledger of the first street."""
        rows, widest = int(self.trees.ledger[0]), int(max(self.deals.hands))
        return Top(
            reach=aligned_zeros(rows * widest),
            value=aligned_zeros(rows * widest),
            delivered=aligned_zeros((len(self.deals.task_at) - 1) * rows * widest),
            counters=np.zeros(24, np.int64),
        )

    def _padded(self, player: int) -> F32:
        padded_range = aligned_zeros(int(self.deals.hands[player]))
        padded_range[: len(self.weights[player])] = self.weights[player]
        return padded_range
