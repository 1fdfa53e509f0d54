"""Depth-limited games: a tree that ends before the game does, where each player then chooses how it goes on.

The method of multi-valued states (Brown, Sandholm and Amos 2018; thesis 5.2). At a leaf that is not the end of the game
each player, with each of its hands, picks one of k *continuations*: strategies for the rest of the game that were made
ahead. Neither sees what the other picks, and what comes after is not seen yet. So a leaf is not worth a number, which
would be as wrong as to say that all of Rock-Paper-Scissors is worth zero, but is a small game again, and a strategy
above it that could be exploited by a change of play below it is punished for that while it is solved.

What hands win at the leaves with each pair of continuations comes from outside (`LeafValues`): roll-outs, a network, a
matrix. It may be a random variable, drawn anew for each iteration: regrets then are sums of unbiased estimates, as in
Monte Carlo CFR, of the public chance sampling kind if everything is of the same sample. Both players are updated at
once, since one sample serves both.

Rules and conventions:

- A *choice* is what one player decides at all leaves that it cannot tell apart: in poker at one leaf, in a game of
  hidden actions at several. A player may also have no choice at all, which stands for continuation 0: so both players
  choose (Pluribus), only one of them does (Modicum), or nobody (a plain value for each leaf).
- A node may be *given*: its strategy is fixed to what was played there.
- Values are counterfactual: chips times the opponent's reach and chance. Averages are weighted by their player's own
  reach. Any member of the family of `solver.algorithms` will do; linear CFR suits values that are sampled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from machine.errors import ParatusError
from protocol.arrays import F32, F64, I32
from solver.algorithms import LCFR, Algorithm
from solver.kernels.depth_limited import Side, down, up
from solver.kernels.types import aligned_zeros, padded
from solver.kernels.vectors import BLOCK
from solver.problem import number_edges
from solver.schedules import total_weight

NO_CHOICE: Final = -1


def cached() -> bool:
    """True if the kernels are there, compiled; loads nothing."""
    return all(kernel._cache._cache_file._load_index() for kernel in (down, up))


class LimitedError(ParatusError):
    """A depth-limited game that makes no sense."""


class LeafValues(Protocol):
    """What hands win at the leaves."""

    def __call__(self, reaches: tuple[F32, F32]) -> tuple[F32, F32]:
        """Counterfactual values of both players, of the shape of their reaches: [leaf, continuation, hand].

        Where a leaf is no choice of a player its reaches are in continuation 0, and only that one's value counts.
        """
        ...


@dataclass(frozen=True, eq=False)
class LimitedTree:
    """A public tree: nodes in an order in which parents come before children, then leaves."""

    player: I32
    """[node] who acts, 0 or 1."""
    first: I32
    """[node + 1] the first of its children."""
    child: I32
    """[child] a node, or the number of nodes plus a leaf."""
    choices: tuple[I32, I32]
    """[leaf] for each player the number of the choice that it makes there, or `NO_CHOICE`."""
    continuations: tuple[int, int]
    """How many each player chooses from."""

    def __post_init__(self) -> None:
        nodes, leaves = len(self.player), len(self.choices[0])
        node_of = np.repeat(np.arange(nodes), np.diff(self.first))
        if not nodes or len(self.first) != nodes + 1 or len(self.child) != self.first[-1]:
            raise LimitedError("the arrays of the tree do not fit together")
        if sorted(self.child.tolist()) != list(range(1, nodes + leaves)) or (self.child <= node_of).any():
            raise LimitedError("the arrays are no tree: expected each node but the first, and each leaf, once")
        if len(self.choices[1]) != leaves or min(self.continuations) < 1:
            raise LimitedError("expected a choice for each leaf and player, and a continuation at least")

    @property
    def num_leaves(self) -> int:
        """Ends of the tree."""
        return len(self.choices[0])


class LimitedSolver:
    """CFR on a depth-limited game. One thread at a time may use it."""

    def __init__(
        self,
        tree: LimitedTree,
        ranges: tuple[F64, F64],
        leaf_values: LeafValues,
        *,
        algorithm: Algorithm = LCFR,
        given: Mapping[int, F64] | None = None,
    ) -> None:
        """`ranges` are [hand] weights; `given` has for some nodes the strategy [action, hand] that is played there."""
        self.tree, self.algorithm, self.iterations = tree, algorithm, 0
        self._leaf_values = leaf_values
        self._hands = len(ranges[0]), len(ranges[1])
        self._ranges = _row(ranges[0]), _row(ranges[1])
        self._edge = number_edges(tree.player.tolist(), np.diff(tree.first).tolist())[0]
        fixed = dict(given or {})
        self._sides = self._side(0, fixed), self._side(1, fixed)
        for node, strategy in fixed.items():
            self._table(node)[:, : strategy.shape[1]] = strategy
        self._rows = aligned_zeros((len(tree.player) + tree.num_leaves) * BLOCK)
        self._reaches = tuple([self._at_leaves(player) for player in range(2)])
        self._results = tuple([aligned_zeros(len(each)) for each in self._ranges])
        self._totals = [np.zeros(count) for count in self._hands]
        self._total_weight = 0.0

    def iterate(self, count: int = 1) -> None:
        """So many iterations; both players are updated in each."""
        for _ in range(count):
            self.iterations += 1
            weights = self.algorithm.weights(self.iterations)
            for side, range_, reaches in zip(self._sides, self._ranges, self._reaches, strict=True):
                down(side, range_, weights.keep_average, weights.add_average, reaches.ravel(), self._rows)
            values = self._leaf_values((self._reaches[0], self._reaches[1]))
            for player, side in enumerate(self._sides):
                won = np.ascontiguousarray(values[player], np.float32).ravel()
                up(side, won, weights.keep_positive, weights.keep_negative, self._results[player], self._rows)
                total = self._totals[player]
                total *= weights.keep_average
                total += weights.add_average * self._results[player][: len(total)]
            self._total_weight = self._total_weight * weights.keep_average + weights.add_average

    def solve(
        self,
        iterations: int,
        until_s: float = float("inf"),
        longest_s: float = 0.0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Iterate so often, or until a time on the scale of `time.monotonic`, or until `stopped` says so.

        No iteration is begun that would end later if it took as long as the longest so far, or `longest_s`.
        """
        for _ in range(iterations):
            now = time.monotonic()
            if now + longest_s > until_s or stopped():
                break
            self.iterate()
            longest_s = max(longest_s, time.monotonic() - now)

    def strategy(self, node: int) -> F64:
        """The average strategy of whoever acts: [action, hand]; of hands that never come there the latest."""
        player = int(self.tree.player[node])
        side, hands = self._sides[player], self._hands[player]
        latest = _normalised(np.maximum(self._table(node)[:, :hands], 0.0))
        if side.mine[node] == _GIVEN:
            return latest
        sums = self._table(node, side.averages)[:, :hands]
        return np.where(sums.sum(axis=0) > 0, _normalised(sums), latest)

    def continuation(self, player: int, choice: int) -> F64:
        """The average share of each continuation in a choice: [continuation, hand]."""
        side = self._sides[player]
        whole = side.wished.reshape(-1, side.count, len(self._ranges[player]))
        return _normalised(whole[choice, :, : self._hands[player]])

    def root_values(self, player: int) -> F64:
        """[hand] counterfactual values at the root, on average over the iterations."""
        mean: F64 = self._totals[player] / (self._total_weight or 1.0)
        return mean

    def begin(self, strategies: Mapping[int, F64], iterations: int, weights: tuple[F64, F64]) -> None:
        """Begin with a strategy as if it had been played for so many iterations, rather than with all actions alike.

        `strategies` are [action, hand] for some nodes; of continuations each player is taken to choose the first.
        Regrets are what a hand does times `weights` [hand] of its player: how much must be learnt against it before it
        changes. What is given stays so.
        """
        for node, strategy in strategies.items():
            player = int(self.tree.player[node])
            if self._sides[player].mine[node] != _GIVEN:
                self._table(node)[:, : self._hands[player]] = strategy * weights[player]
        average = self.algorithm.schedules.average
        self._total_weight = total_weight(average, range(1, iterations + 1), self._total_weight)
        for player, (side, range_) in enumerate(zip(self._sides, self._ranges, strict=True)):
            wishes = side.wishes.reshape(-1, side.count, len(range_))
            wishes[:, 0, : self._hands[player]] = weights[player]
            down(side, range_, 0.0, self._total_weight, self._reaches[player].ravel(), self._rows)
        self.iterations = iterations

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All that was learnt, as arrays by name."""
        names = ("regrets", "averages", "wishes", "wished")
        kept = {f"{name}{player}": getattr(side, name) for player, side in enumerate(self._sides) for name in names}
        totals = {f"totals{player}": total for player, total in enumerate(self._totals)}
        return {**kept, **totals, "iterations": np.array(self.iterations), "weight": np.array(self._total_weight)}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The inverse of `state`, on the same game. Raises `LimitedError` if it is that of another."""
        mine = self.state()
        for name, array in mine.items():
            if name not in arrays or arrays[name].shape != array.shape:
                raise LimitedError(f"{name}: not of this game")
        for name, array in mine.items():
            array[...] = arrays[name]
        self.iterations, self._total_weight = int(mine["iterations"]), float(mine["weight"])

    def _side(self, player: int, given: Mapping[int, F64]) -> Side:
        tree, hands = self.tree, len(self._ranges[player])
        mine = (tree.player == player).astype(np.int32)
        mine[[node for node in given if mine[node]]] = _GIVEN
        edges = int(np.diff(tree.first)[tree.player == player].sum()) * hands
        count = tree.continuations[player]
        choices = int(tree.choices[player].max(initial=NO_CHOICE)) + 1
        return Side(
            mine, tree.first, tree.child, self._edge, tree.choices[player], count, choices,
            *[aligned_zeros(edges) for _ in range(3)], *[aligned_zeros(choices * count * hands) for _ in range(3)],
        )  # fmt: skip

    def _table(self, node: int, of: F32 | None = None) -> F32:
        """[action, hand] of a node in one of its player's arrays, by default the regrets."""
        side = self._sides[int(self.tree.player[node])]
        whole = (side.regrets if of is None else of).reshape(-1, len(self._ranges[int(self.tree.player[node])]))
        begin = int(self._edge[node])
        table: F32 = whole[begin : begin + int(self.tree.first[node + 1] - self.tree.first[node])]
        return table

    def _at_leaves(self, player: int) -> F32:
        shape = self.tree.num_leaves, self.tree.continuations[player], len(self._ranges[player])
        return aligned_zeros(int(np.prod(shape))).reshape(shape)


_GIVEN: Final = 2


def apart(chooses: Sequence[bool]) -> I32:
    """[leaf] a choice of its own for each leaf where there is one."""
    numbers = np.cumsum(chooses) - 1
    return np.where(chooses, numbers, NO_CHOICE).astype(np.int32)


def _row(weights: F64) -> F32:
    if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise LimitedError("a range: expected weights from 0 up, some above")
    row = aligned_zeros(padded(len(weights), BLOCK))
    row[: len(weights)] = weights / weights.max()
    return row


def _normalised(sums: F32) -> F64:
    total = sums.sum(axis=0, dtype=np.float64)
    return np.where(total > 0, sums / np.where(total > 0, total, 1.0), 1 / len(sums))
