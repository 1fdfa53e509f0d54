"""Public chance sampling: memory for the walks of `blueprints.train.walk`, and threads to do them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from blueprints.cards.interface import Cards
from blueprints.settings import BlueprintSettings
from blueprints.train import walk
from blueprints.train.buckets import find_pairs
from blueprints.train.deals import Dealer, Ranges
from blueprints.train.layout import Bases, Parts, bases_of, cut
from blueprints.train.memory import bytes_of
from blueprints.train.walk import Deal, Frames, Pairs, Scratch, Strategies, Training
from blueprints.tree import BettingTree
from protocol.arrays import F32, F64, I32
from protocol.cards import Card
from protocol.errors import BlueprintError
from protocol.game import Game
from solver.kernels.sweeps import MAX_VECTORS, NUM_CARD_ROWS
from solver.kernels.types import aligned_zeros
from solver.kernels.vectors import LANES

_NOISE: Final = 0.3
_LEAST, _TINY = 1.0, 1e-30
"""What keeps the strategy of buckets that never came, and what keeps from dividing by nothing."""
_LAYOUT: Final = 2
"""Of the numbers in a checkpoint: by lanes of roots."""


class Dealt(NamedTuple):
    """A board, ready for a walk."""

    deal: Deal
    hands: npt.NDArray[np.intp]
    """Their numbers, in order of strength."""
    pairs: Pairs


class Walked(NamedTuple):
    """What a walk found."""

    values: F64
    """[player, hand] counterfactual: chips times the opponent's reach; 0 for hands that meet the board."""
    pairs: int
    """(bucket, action) pairs that it went through."""


@dataclass(frozen=True, eq=False)
class Walker:
    """Walks of one tree: what does not depend on what is learnt."""

    game: Game
    dealer: Dealer
    parts: Parts
    bases: tuple[Bases, Bases]
    """Each player's."""
    first: int
    """The street that it begins on."""
    shared: F32
    frame: Frames
    scratches: tuple[Scratch, ...]
    """One a thread."""
    pairs: tuple[Pairs, Pairs]
    """Of the board that is walked, and of the next, which may be dealt meanwhile."""
    numbers: I32
    """For looking for pairs."""
    edges: tuple[range, ...]
    """By street, their numbers in the tree."""

    @classmethod
    def of(
        cls,
        game: Game,
        tree: BettingTree,
        cards: tuple[Cards, Cards],
        *,
        board: tuple[Card, ...] = (),
        threads: int = 1,
    ) -> Walker:
        """Ready to walk."""
        parts = cut(tree)
        dealer = Dealer(game, cards, board)
        bases = bases_of(parts, cards[0].counts), bases_of(parts, cards[1].counts)
        most = [min(dealer.num_hands, max(each.counts[street] for each in cards)) for street in range(game.num_rounds)]
        frame, size = _frames(parts, most, dealer.num_hands)
        nodes = [tree.nodes_of(street) for street in range(game.num_rounds)]
        edges = tuple([range(int(tree.first[each.start]), int(tree.first[each.stop])) for each in nodes])
        return cls(
            game, dealer, parts, bases, int(parts.street[0]), aligned_zeros(size), frame,
            tuple([_scratch(parts, most, dealer.num_hands) for _ in range(threads)]),
            (_no_pairs(game, dealer.num_hands), _no_pairs(game, dealer.num_hands)),
            np.zeros((NUM_CARD_ROWS, max(most)), np.int32), edges,
        )  # fmt: skip

    def tables(self, player: int) -> Packing:
        """How the numbers of a player lie."""
        return Packing(self.parts, self.bases[player], tuple(self.dealer.cards[player].counts), self.edges)

    def helpers(self) -> ThreadPoolExecutor:
        """A pool for `walk`: who calls that is one of the threads."""
        return ThreadPoolExecutor(max(1, len(self.scratches) - 1))

    def ready(self, board: tuple[Card, ...], place: int = 0) -> Dealt:
        """Deal a board, in one of two places: what was dealt there before is gone. One thread at a time."""
        deal, hands = self.dealer.deal(board)
        find_pairs(deal, self.pairs[place], self.numbers)
        return Dealt(deal, hands, self.pairs[place])

    def walk(
        self,
        dealt: Dealt,
        weights: tuple[F32, F32],
        ranges: Ranges = (None, None),
        training: Training | None = None,
        pool: ThreadPoolExecutor | None = None,
    ) -> Walked:
        """One walk, by the thread that calls and those of the pool."""
        deal, hands, pairs = dealt
        size, first, last = deal.order.size, self.first, self.game.num_rounds - 1
        step = int(self.frame.roots[first]) * size
        for player, weight in enumerate(ranges):
            at = int(self.frame.reaches[first]) + player * step
            self.shared[at : at + size] = 0.0
            self.shared[at : at + deal.live] = 1.0 if weight is None else weight[hands]
        strategies = Strategies(*weights, np.stack([bases.at for bases in self.bases]), self.bases[0].stride)
        if training is None:
            training = Training(weights[0], weights[0], np.float32(0.0), False)
        fixed = self.parts, deal, pairs, strategies, training, self.frame, self.shared
        counts = np.zeros((2, 2 * (last - first) + 2), np.int64)
        calls = [(*fixed, scratch, *counts) for scratch in self.scratches]
        others = [] if pool is None else [pool.submit(walk.walk, *call) for call in calls[1:]]
        try:
            walk.walk(*calls[0])
        finally:  # whoever is interrupted leaves nobody who walks
            wait(others)
        for done in others:
            done.result()
        values = np.zeros((2, self.dealer.all_hands))
        for player in range(2):
            at = int(self.frame.values[first]) + player * step
            values[player, hands] = self.shared[at : at + deal.live]
        return Walked(values, int(np.dot(deal.buckets[0], [len(edges) for edges in self.edges])))


@dataclass(frozen=True, eq=False)
class Packing:
    """Regrets or averages as the walks keep them, seen as tables of each part."""

    parts: Parts
    bases: Bases
    buckets: tuple[int, ...]
    """By street."""
    edges: tuple[range, ...]
    """By street, their numbers in the tree."""

    def of_part(self, numbers: F32, part: int) -> F32:
        """[edge, bucket, lane], a view."""
        count = int(self.parts.edge_at[part + 1] - self.parts.edge_at[part])
        buckets, begin = self.buckets[self.parts.street[part]], int(self.bases.at[part])
        table = numbers[begin : begin + buckets * count * LANES].reshape(buckets, count, LANES)
        view: F32 = table.swapaxes(0, 1)
        return view

    def unpacked(self, numbers: F32) -> tuple[F32, ...]:
        """By street of the game [edge of the street, bucket], in the order of the tree."""
        shapes = zip(self.edges, self.buckets, strict=True)
        found = tuple([np.zeros((len(edges), buckets), np.float32) for edges, buckets in shapes])
        for table, rows, lane in self._lanes(numbers, found):
            table[rows] = lane
        return found

    def packed(self, tables: Sequence[npt.NDArray[Any]]) -> F32:
        """The inverse of `unpacked`."""
        numbers = np.zeros(self.bases.size, np.float32)
        for table, rows, lane in self._lanes(numbers, tables):
            lane[:] = table[rows]
        return numbers

    def _lanes(
        self, numbers: F32, tables: Sequence[npt.NDArray[Any]]
    ) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any], F32]]:
        """For every root: the table of its street, the rows of its edges there, and what stands in its lane."""
        for part, street in enumerate(self.parts.street):
            edges = self.parts.edge[self.parts.edge_at[part] : self.parts.edge_at[part + 1]] - self.edges[street].start
            lanes = self.of_part(numbers, part)
            for lane in np.flatnonzero(edges[0] >= 0):
                yield tables[street], edges[:, lane], lanes[:, :, lane]

    def begins(self, part: int) -> I32:
        """The first edges of a part's nodes."""
        return self.parts.begin[self.parts.node_at[part] : self.parts.node_at[part + 1]]


class PublicSampling:
    """Learns a strategy by public chance sampling.

    The boards of a period follow from the seed and the number of the period, and threads share out a walk without
    touching what is another's, so that a run gives the same numbers with any number of threads.
    """

    at_once = 10
    """Walks that take some hundredths of a second."""

    def __init__(
        self, game: Game, tree: BettingTree, cards: Cards, *, seed: int = 1, threads: int = 1,
        board: tuple[Card, ...] = (), ranges: Ranges = (None, None),
    ) -> None:  # fmt: skip
        self._seed, self._ranges = seed, ranges
        self._walker = Walker.of(game, tree, (cards, cards), board=board, threads=threads)
        self._tables = self._walker.tables(0)
        self._regrets, self._averages = np.zeros((2, self._tables.bases.size), np.float32)
        self._weight = 0.0
        self._pool = self._walker.helpers() if threads > 1 else None

    @classmethod
    def of(cls, settings: BlueprintSettings, tree: BettingTree, cards: Cards, threads: int) -> Self:
        """Of a whole game, with nothing learnt."""
        return cls(settings.load_game(), tree, cards, seed=settings.trainer.seed, threads=threads)

    def period(
        self, number: int, weight: float, walks: int, follow: Sequence[npt.NDArray[Any]] | None = None,
        learner: int | None = None,
    ) -> int:  # fmt: skip
        """So many walks that count `weight` times each. Returns the (bucket, action) pairs that were updated.

        With a strategy to `follow`, by street [edge of the street, bucket], both players play that one and learn what
        they regret: so a run can begin where another ended (Brown and Sandholm 2016). Or one of them does, if the other
        is named as the `learner`, who learns to play against it.
        """
        rng = np.random.default_rng((self._seed, number))
        training = Training(self._regrets, self._averages, np.float32(weight), True)
        played = self._regrets if follow is None else self._tables.packed(follow)
        first, second = (self._regrets if player == learner else played for player in range(2))
        weights, updates = (first, second), 0
        with closing(self._dealt(rng, walks)) as boards:
            for dealt in boards:
                updates += self._walker.walk(dealt, weights, self._ranges, training, self._pool).pairs
        self._weight += weight * walks
        return updates

    def _dealt(self, rng: np.random.Generator, walks: int) -> Generator[Dealt, None, None]:
        """Boards, each dealt while the one before is walked: a thread that deals joins the walk when it has done so."""
        walker, coming = self._walker, None
        try:
            for number in range(walks):
                dealt = walker.ready(walker.dealer.draw(rng), number % 2) if coming is None else coming.result()
                if self._pool is not None and number + 1 < walks:
                    coming = self._pool.submit(walker.ready, walker.dealer.draw(rng), (number + 1) % 2)
                yield dealt
        finally:  # a walk that was broken off leaves nobody who deals
            if coming is not None and not coming.cancel():
                wait([coming])

    def take_up(self, followed: Sequence[npt.NDArray[Any]], more: float, noise: float) -> None:
        """After periods that followed a strategy: as if that had been learnt here, by `more` times as much weight.

        Averages are `more` times what they are: the strategy, as often as each bucket comes. Of regrets, those of
        actions that lose are as well. Positive ones are the strategy itself, so that it is what is played next, times
        what regrets of the bucket vary by: sums over so much weight, whose standard deviation is `noise` times as
        large. (Exactly how large does not matter: a third to three times as much came to the same.) So a strategy
        changes as easily as one that was learnt here, where no action is better than the others by more than luck.
        """
        played = self._tables.packed(followed)
        for part in range(len(self._tables.parts.street)):
            regrets, shares = (self._tables.of_part(each, part) for each in (self._regrets, played))
            begins = self._tables.begins(part)
            counts = np.diff([*begins, len(regrets)])
            spread = noise * np.sqrt(np.add.reduceat(regrets**2, begins, axis=0))
            scale = np.maximum(_NOISE * spread, _LEAST) / np.maximum(np.add.reduceat(shares, begins, axis=0), _TINY)
            regrets[:] = np.minimum(regrets, 0.0) * more + shares * np.repeat(scale, counts, axis=0)
        self._averages *= np.float32(more)
        self._weight *= more

    def regret(self) -> float:
        """The average positive regret in chips a hand, the mean of both players.

        It bounds the exploitability within the abstraction, as far as nobody forgets anything.
        """
        total = 0.0
        for part in range(len(self._tables.parts.street)):
            table = self._tables.of_part(self._regrets, part)
            largest = np.maximum.reduceat(table, self._tables.begins(part), axis=0)
            total += float(np.maximum(largest, 0.0).sum(dtype=np.float64))
        return total / 2 / max(self._weight, 1.0) / self._walker.dealer.num_pairs(self._ranges)

    def averages(self) -> tuple[F32, ...]:
        """By street of the game [edge of the street, bucket], in the order of the tree."""
        return self._tables.unpacked(self._averages)

    def working_bytes(self) -> int:
        """The tree in parts, and what walks write into."""
        walker = self._walker
        return bytes_of(walker.parts, *walker.bases, walker.frame, *walker.scratches, *walker.pairs, [walker.shared])

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What a checkpoint must hold."""
        numbers = {"regrets": self._regrets, "averages": self._averages}
        return {**numbers, "weight": np.array(self._weight), "layout": np.array(_LAYOUT)}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The inverse of `state`."""
        layout = int(arrays.get("layout", np.array(1)))
        if layout != _LAYOUT:
            raise BlueprintError(
                f"its numbers lie as in layout {layout}: expected {_LAYOUT}; `--begin-from` takes its file"
            )
        self._regrets[:] = arrays["regrets"]  # one after the other: each is read whole
        self._averages[:] = arrays["averages"]
        self._weight = float(arrays["weight"])


def _frames(parts: Parts, most: list[int], hands: int) -> tuple[Frames, int]:
    """Where things lie in the memory that threads share, and its size; a player has `most` buckets of a street."""
    at = 0

    def take(size: int) -> int:
        nonlocal at
        at += size
        return at - size

    roots = np.diff(parts.part_at).astype(np.int64) * LANES
    reaches, values = (np.array([take(2 * count * hands) for count in roots.tolist()]) for _ in range(2))
    slots, nodes = np.diff(parts.slot_at), np.diff(parts.node_at)
    kept = np.where(parts.street < len(parts.part_at) - 2, 2 * LANES * np.array(most)[parts.street], 0)
    coefficients, sums = (np.array([take(size) for size in (kept * rows).tolist()]) for rows in (slots, slots + nodes))
    return Frames(reaches, values, roots, coefficients, sums), at


def _no_pairs(game: Game, hands: int) -> Pairs:
    shapes = (NUM_CARD_ROWS + 1,), (2 * hands,), (hands, 2)
    return Pairs(*[np.zeros((2, game.num_rounds, *shape), np.int32) for shape in shapes])


def _scratch(parts: Parts, most: list[int], hands: int) -> Scratch:
    last, edges = slice(parts.part_at[-2], None), np.diff(parts.edge_at)
    slots, nodes = int(np.diff(parts.slot_at)[last].max(initial=0)), int(np.diff(parts.node_at)[last].max(initial=0))
    return Scratch(
        coefficients=aligned_zeros(2 * most[-1] * slots * LANES),
        come=aligned_zeros(2 * hands * LANES),
        paired=aligned_zeros(2 * hands * LANES),
        roots=aligned_zeros(max(most) * LANES),
        rows=aligned_zeros((1 + int(edges.max())) * LANES),
        sums=aligned_zeros(2 * most[-1] * (slots + nodes) * LANES),
        back=aligned_zeros(hands * LANES),
        value=aligned_zeros(hands * MAX_VECTORS * LANES),
        totals=aligned_zeros(NUM_CARD_ROWS * MAX_VECTORS * LANES),
        tile=aligned_zeros(2 * LANES * LANES),
    )
