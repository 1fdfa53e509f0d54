"""External-sampling MCCFR: regrets and averages of a blueprint, and periods of walks over them.

The reference for public chance sampling, and for trees too large to be walked whole. One walk deals a board and a hand
for each player, then traverses the tree for both; see `blueprints.train.external.kernels.paths`.

With one thread a run repeats bit by bit: every walk of every period draws from a stream of its own (see
`blueprints.train.external.kernels.samples`). Several threads share a period's walks and update the same arrays without
locks: now and then an update is lost, sums come in any order, and no two runs are alike.

Skipping (Brown's thesis, section 6.4; decided for whole walks, as in Pluribus): from period `skip_from` on, 95 % of
walks leave out actions of the traversing player whose regret is below

    -skip_below x (the most that a hand can cost) x (the weight of the walk)

and the others count what they find there twenty times. A visit moves a regret by two stacks times its weight at most,
so that with the default of 100 no action leaves the bound behind in two visits that count twenty times. The bound grows
with the weights as regrets do. It must not be tight: measured on full hold'em (12,768 decisions, 20 million pairs, 90
CPU seconds), 10 did 45 % more walks and was 210 mbb a hand worse than no skipping; 100 made no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from blueprints.cards.interface import Cards
from blueprints.settings import BlueprintSettings, TrainerSettings
from blueprints.train.external.hands import Range, SingleHands
from blueprints.train.external.kernels import paths
from blueprints.train.external.kernels.paths import ALIGNED, AT, COUNT, FIRST, MOST_ACTIONS, WHO, Learning, Paths
from blueprints.train.external.kernels.samples import CanonicalTables
from blueprints.tree import NOBODY, BettingTree
from machine.errors import ConfigError
from protocol.arrays import F32, I64
from protocol.cards import Card
from protocol.game import Game
from solver.kernels.types import aligned_zeros, bytes_of

SKIPPING: Final = 0.95
"""Of the walks, where there is skipping."""
_NO_WARM_START: Final = "external sampling cannot begin from a strategy: expected sampling = public"
_AT_ONCE: Final = 1024
"""Walks are dealt so many at a time."""


class ExternalSampling:
    """A trainer; see the head of this file. One thread at a time may use it."""

    at_once = 4096
    """Walks that take some hundredths of a second."""

    def __init__(
        self,
        game: Game,
        tree: BettingTree,
        cards: Cards,
        *,
        settings: TrainerSettings,
        threads: int = 1,
        board: Sequence[Card] = (),
        ranges: Sequence[Range] | None = None,
    ) -> None:
        """Of a whole game, or of what follows the board and ranges at the tree's root."""
        self._tree, self._settings, self._threads = tree, settings, threads
        self._counts = tuple(int(count) for count in cards.counts)
        self._hands = SingleHands.of(game, cards, street=int(tree.street[0]), board=board, ranges=ranges)
        self._paths, size = _paths(tree, self._counts)
        self.regrets: F32 = aligned_zeros(size)
        """[node][bucket][action], times the weights of walks."""
        self.sums: F32 = aligned_zeros(size)
        """What average strategies are proportional to, likewise."""
        self._weight = 0.0
        self._most = float(tree.pays.max())

    @classmethod
    def of(cls, settings: BlueprintSettings, tree: BettingTree, cards: Cards, threads: int) -> Self:
        """Of a whole game, with nothing learnt."""
        return cls(settings.load_game(), tree, cards, settings=settings.trainer, threads=threads)

    @property
    def pairs(self) -> int:
        """(information set, action) pairs."""
        actions = np.diff(self._tree.first).astype(np.int64)
        return int((actions * np.array(self._counts)[self._tree.street]).sum())

    def warm_start(self, followed: object, scale: float, noise: float) -> None:
        """Never asked: no period follows a strategy."""
        raise ConfigError(_NO_WARM_START)

    def period(self, number: int, weight: float, walks: int, follow: object = None) -> int:
        """So many walks that count `weight` times each. Returns the (bucket, action) pairs that were updated.

        Pairs of either kind: regrets of the player who traverses, averages of the other.
        """
        if follow is not None:
            raise ConfigError(_NO_WARM_START)
        settings = self._settings
        skips = settings.skipping and number >= settings.skip_from
        learning = Learning(
            regrets=self.regrets,
            averages=self.sums,
            weight=np.float32(weight),
            bound=np.float32(-settings.skip_below * self._most * weight),
            skipping=SKIPPING if skips else 0.0,
            boost=np.float32(1 / (1 - SKIPPING)),
        )
        begins = range(0, walks, _AT_ONCE)
        self._weight += weight * walks
        if self._threads == 1:
            return sum(self._walk(learning, number, begin, min(_AT_ONCE, walks - begin)) for begin in begins)
        with ThreadPoolExecutor(self._threads) as pool:
            return sum(
                pool.map(lambda begin: self._walk(learning, number, begin, min(_AT_ONCE, walks - begin)), begins)
            )

    def _walk(self, learning: Learning, period: int, begin: int, count: int) -> int:
        deals = self._hands.deal(self._settings.seed, period, begin, count)
        _, updates = paths.walk(self._paths, learning, deals)
        return int(updates)

    def averages(self) -> tuple[F32, ...]:
        """[street of the game][edge of the street, bucket] what average strategies are proportional to."""
        return tuple([self._by_edge(street) for street in range(self._tree.num_streets)])

    def _by_edge(self, street: int) -> F32:
        nodes = self._tree.nodes_of(street)
        if not nodes:
            return np.zeros((0, self._counts[street]), np.float32)
        return np.concatenate([self._of_node(self.sums, node).T for node in nodes])

    def regret(self) -> float:
        """The mean of both players' average positive regrets, in chips a hand.

        It bounds the exploitability within the abstraction, in expectation and if no player forgot anything.
        """
        total = 0.0
        for node in range(self._tree.num_nodes):
            most = self._of_node(self.regrets, node).max(axis=1)
            total += float(np.maximum(most, 0.0).sum(dtype=np.float64))
        return total / 2 / max(self._weight, 1.0)

    def _of_node(self, numbers: F32, node: int) -> F32:
        """[bucket, action]."""
        begin, actions = int(self._paths.nodes[node, AT]) * ALIGNED, len(self._tree.edges(node))
        buckets = self._counts[self._tree.street[node]]
        return numbers[begin : begin + buckets * actions].reshape(buckets, actions)

    def working_bytes(self) -> int:
        """The tree, dealt walks of every thread, and the buckets of a small game."""
        tables = self._hands.tables
        small = () if isinstance(tables, CanonicalTables) else tables
        deals = self._hands.deal(self._settings.seed, 0, 0, 1)
        return bytes_of(self._paths, self._hands.chance, small) + self._threads * _AT_ONCE * bytes_of(deals)

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """For a checkpoint. The arrays are those that walks change."""
        return {"regrets": self.regrets, "averages": self.sums, "weight": np.array([self._weight])}

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up the state of a checkpoint."""
        for name, target in (("regrets", self.regrets), ("averages", self.sums)):
            source = arrays[name]
            if source.shape != target.shape or source.dtype != target.dtype:
                raise ConfigError(f"{name} {source.dtype}{source.shape}: expected {target.dtype}{target.shape}")
            target[:] = source
        self._weight = float(arrays["weight"][0])


def _paths(tree: BettingTree, counts: Sequence[int]) -> tuple[Paths, int]:
    """The tree for the kernels, and how many numbers there are."""
    actions = np.diff(tree.first)
    if actions.max() > MOST_ACTIONS:
        raise ConfigError(f"a decision with {actions.max()} actions: external sampling expects {MOST_ACTIONS} at most")
    blocks = -(-actions.astype(np.int64) * np.array(counts, np.int64)[tree.street] // ALIGNED)
    ends = np.cumsum(blocks)
    if ends[-1] >= 1 << 31:
        raise ConfigError(f"{int(ends[-1]) * ALIGNED:,} regrets: external sampling expects {ALIGNED << 31:,} at most")
    nodes = np.zeros((tree.num_nodes, 4), np.int32)
    nodes[:, AT], nodes[:, FIRST], nodes[:, COUNT] = ends - blocks, tree.first[:-1], actions
    nodes[:, WHO] = tree.player.astype(np.int32) * tree.num_streets + tree.street
    leaves = np.zeros((len(tree.folder), 2), np.float32)
    shown = tree.folder == NOBODY
    leaves[:, 0] = np.where(shown, 0, tree.pays * np.where(tree.folder == 0, -1, 1))
    leaves[:, 1] = np.where(shown, tree.pays, 0)
    return Paths(nodes, tree.leads, leaves, tree.num_streets, _deepest(tree)), int(ends[-1]) * ALIGNED


def _deepest(tree: BettingTree) -> int:
    """Decisions on the longest path, at most."""
    depth: I64 = np.ones(tree.num_nodes, np.int64)
    for node in range(tree.num_nodes):  # a node comes after its parent
        for edge in tree.edges(node):
            if tree.leads[edge] >= 0:
                depth[tree.leads[edge]] = depth[node] + 1
    return int(depth.max())
