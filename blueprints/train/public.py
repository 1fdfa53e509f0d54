"""Public chance sampling: memory for the walks of `blueprints.train.walk`, and threads to do them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from blueprints.cards.interface import Cards
from blueprints.train import walk
from blueprints.train.deals import Dealer, Ranges
from blueprints.train.layout import F32, I32, PART_ROOTS, Bases, Parts, bases_of, cut
from blueprints.train.memory import bytes_of
from blueprints.train.walk import Frames, Scratch, Strategies, Training
from blueprints.tree import BettingTree
from protocol.cards import Card
from protocol.game import Game
from solver.sweeps import MAX_VECTORS, NUM_CARD_ROWS
from solver.tables import F64, aligned_zeros, padded
from solver.vectors import LANES

_NOISE: Final = 0.3
_LEAST, _TINY = 1.0, 1e-30
"""What keeps the strategy of buckets that never came, and what keeps from dividing by nothing."""
SPLIT: Final = 2
"""From the turn on, subtrees are shared out among threads."""


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
    split: int
    shared: F32
    frame: Frames
    scratches: tuple[Scratch, ...]
    """One a thread."""
    edges: I32
    """By street."""

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
        split = max(int(parts.street[0]), min(SPLIT, game.num_rounds - 1))
        most = [
            min(dealer.num_hands, padded(max(each.counts[street] for each in cards)))
            for street in range(game.num_rounds)
        ]
        frame, top, below = _frames(parts, most, split, dealer.num_hands)
        return cls(
            game, dealer, parts, bases, split, aligned_zeros(top + LANES), frame,
            tuple([_scratch(parts, most, dealer.num_hands, below) for _ in range(threads)]),
            np.diff(parts.edge_at[parts.part_at]),
        )  # fmt: skip

    def tables(self, player: int) -> Tables:
        """How the numbers of a player lie."""
        return Tables(self.parts, self.bases[player], tuple(self.dealer.cards[player].counts))

    def walk(
        self,
        board: tuple[Card, ...],
        weights: tuple[F32, F32],
        ranges: Ranges = (None, None),
        training: Training | None = None,
        pool: ThreadPoolExecutor | None = None,
    ) -> Walked:
        """One walk."""
        deal, hands = self.dealer.deal(board)
        size = deal.order.size
        root = self.shared[: 4 * size * LANES].reshape(4, size, LANES)
        root[:] = 0.0
        for player, weight in enumerate(ranges):
            root[player, : deal.live, 0] = 1.0 if weight is None else weight[hands]
        strategies = Strategies(*weights, np.stack([bases.at for bases in self.bases]), self.bases[0].stride)
        training = training or Training(weights[0], weights[0], np.float32(0.0), False, False)
        fixed = (self.parts, deal, strategies, training, self.split, self.shared, self.frame)
        ticket = np.zeros(8, np.int64)
        walk.begin(*fixed, self.scratches[0])
        if pool is None or len(self.scratches) == 1:
            walk.work(*fixed, self.scratches[0], ticket)
        else:
            work: Callable[..., None] = walk.work
            for done in [pool.submit(work, *fixed, scratch, ticket) for scratch in self.scratches]:
                done.result()
        walk.end(*fixed, self.scratches[0])
        values = np.zeros((2, self.dealer.all_hands))
        for player in range(2):
            values[player, hands] = root[2 + player, : deal.live, 0]
        there = [int((deal.meant[0, street] < count).sum()) for street, count in enumerate(self.dealer.cards[0].counts)]
        return Walked(values, int(np.dot(there, self.edges)))


@dataclass(frozen=True, eq=False)
class Tables:
    """Regrets or averages as the walks keep them, seen as tables [edge, bucket] of each part."""

    parts: Parts
    bases: Bases
    buckets: tuple[int, ...]
    """By street."""

    def of_part(self, numbers: F32, part: int) -> F32:
        """[edge, bucket], a view."""
        count = int(self.parts.edge_at[part + 1] - self.parts.edge_at[part])
        stride, begin = int(self.bases.stride[part]), int(self.bases.at[part])
        buckets = self.buckets[self.parts.street[part]]
        view: F32 = numbers[begin : begin + buckets * stride].reshape(buckets, stride)[:, :count].T
        return view

    def unpacked(self, numbers: F32) -> tuple[F32, ...]:
        """By street of the game [edge of the street, bucket], in the order of the tree."""
        found = []
        for street, buckets in enumerate(self.buckets):
            parts = range(*self.parts.part_at[street : street + 2].tolist())
            tables = [self.of_part(numbers, part) for part in parts]
            found.append(np.concatenate(tables) if tables else np.zeros((0, buckets), np.float32))
        return tuple(found)

    def packed(self, tables: Sequence[npt.NDArray[Any]]) -> F32:
        """The inverse of `unpacked`."""
        numbers = np.zeros(self.bases.size, np.float32)
        for street, table in enumerate(tables):
            edge = 0
            for part in range(*self.parts.part_at[street : street + 2].tolist()):
                target = self.of_part(numbers, part)
                target[:] = table[edge : edge + len(target)]
                edge += len(target)
        return numbers

    def begins(self, part: int) -> I32:
        """The first edges of a part's nodes."""
        return self.parts.begin[self.parts.node_at[part] : self.parts.node_at[part + 1]]


class PublicSampling:
    """Learns a strategy by public chance sampling.

    The boards of a period follow from the seed and the number of the period, and threads share out a walk without
    touching what is another's, so that a run gives the same numbers with any number of threads.
    """

    def __init__(
        self, game: Game, tree: BettingTree, cards: Cards, *, seed: int = 1, threads: int = 1,
        board: tuple[Card, ...] = (), ranges: Ranges = (None, None),
    ) -> None:  # fmt: skip
        self._seed, self._ranges = seed, ranges
        self._walker = Walker.of(game, tree, (cards, cards), board=board, threads=threads)
        self._tables = self._walker.tables(0)
        self._regrets, self._averages = np.zeros((2, self._tables.bases.size), np.float32)
        self._weight = 0.0
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def period(self, number: int, weight: float, walks: int, follow: Sequence[npt.NDArray[Any]] | None = None) -> int:
        """So many walks that count `weight` times each. Returns the (bucket, action) pairs that were updated.

        With a strategy to `follow`, by street [edge of the street, bucket], both players play that one and learn what
        they regret: so a run can begin where another ended (Brown and Sandholm 2016).
        """
        rng = np.random.default_rng((self._seed, number))
        training = Training(self._regrets, self._averages, np.float32(weight), True, follow is not None)
        played = self._regrets if follow is None else self._tables.packed(follow)
        weights, updates = (played, played), 0
        for _ in range(walks):
            board = self._walker.dealer.draw(rng)
            updates += self._walker.walk(board, weights, self._ranges, training, self._pool).pairs
        self._weight += weight * walks
        return updates

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
        return bytes_of(walker.parts, *walker.bases, walker.frame, *walker.scratches, [walker.shared, walker.edges])

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What a checkpoint must hold."""
        return {"regrets": self._regrets, "averages": self._averages, "weight": np.array(self._weight)}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The inverse of `state`."""
        self._regrets[:] = arrays["regrets"]  # one after the other: each is read whole
        self._averages[:] = arrays["averages"]
        self._weight = float(arrays["weight"])


def _frames(parts: Parts, buckets: list[int], split: int, hands: int) -> tuple[Frames, int, int]:
    """Where frames lie, and the sizes of what they lie in: shared, and of each thread."""
    width = np.diff(parts.lane_at).astype(np.int64)
    coefficients, roots = 2 * np.array(buckets)[parts.street] * width, 2 * hands * parts.next.astype(np.int64)
    at = np.zeros(len(width), np.int64)
    top, below = 4 * hands * LANES, 0
    for street in range(len(parts.part_at) - 1):
        here = range(parts.part_at[street], parts.part_at[street + 1])
        for part in here:
            at[part] = top if street < split else below
            top += int(coefficients[part] + 2 * roots[part]) if street < split else 0
        if street >= split and here:
            some = slice(here.start, here.stop)
            below += int((coefficients[some] + 2 * roots[some]).max())
    return Frames(at, at + coefficients, at + coefficients + roots), top, below


def _scratch(parts: Parts, buckets: list[int], hands: int, frames: int) -> Scratch:
    width, nodes, edges = (np.diff(each).astype(np.int64) for each in (parts.lane_at, parts.node_at, parts.edge_at))
    most_edges = padded(int(edges.max()))
    chunk = MAX_VECTORS * LANES
    return Scratch(
        frames=aligned_zeros(frames + LANES),
        rows=aligned_zeros(int(np.maximum(2 * (nodes + width), parts.roots + edges).max()) * LANES),
        reach=aligned_zeros((hands + 2) * chunk),
        value=aligned_zeros((hands + 1) * chunk),
        back=aligned_zeros(PART_ROOTS * hands),
        sums=aligned_zeros(int((2 * np.array(buckets)[parts.street] * width).max())),
        roots=aligned_zeros(max(buckets) * LANES),
        weights=aligned_zeros(most_edges * LANES),
        means=aligned_zeros(most_edges * LANES),
        tile=aligned_zeros(2 * LANES * LANES),
        masks=_masks(),
        totals=aligned_zeros(NUM_CARD_ROWS * chunk),
    )


def _masks() -> F32:
    masks = aligned_zeros(LANES * LANES)
    masks.reshape(LANES, LANES)[:] = np.arange(LANES)[:, None] + np.arange(LANES) < LANES
    return masks
