"""Walks of public chance sampling: the memory that they need, and threads to do them.

A `Walker` belongs to a tree, a `Packing` says how regrets and averages lie for it. What a walk does is told in
`blueprints.train.public.kernels.walk`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from blueprints.boards.dealer import BoardDealer, Ranges
from blueprints.boards.kernels import FinalBoard
from blueprints.cards.interface import Cards
from blueprints.train.public.kernels import walk
from blueprints.train.public.kernels.terminals import find_pairs
from blueprints.train.public.kernels.types import Learnt, Pairs, Strategies, WalkFrames, WalkParts, WalkScratch
from blueprints.train.public.layout import TableOffsets, bases_of, cut
from blueprints.tree import BettingTree
from protocol.arrays import F32, F64, I32
from protocol.cards import Card
from protocol.game import Game
from solver.kernels.sweeps import MAX_VECTORS, NUM_CARD_ROWS
from solver.kernels.types import aligned_zeros
from solver.kernels.vectors import LANES


class Dealt(NamedTuple):
    """A board, ready for a walk."""

    deal: FinalBoard
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
    dealer: BoardDealer
    parts: WalkParts
    bases: tuple[TableOffsets, TableOffsets]
    """Each player's."""
    first: int
    """The street that it begins on."""
    shared: F32
    frame: WalkFrames
    scratches: tuple[WalkScratch, ...]
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
        dealer = BoardDealer(game, cards, board)
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
        training: Learnt | None = None,
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
            training = Learnt(weights[0], weights[0], np.float32(0.0), False)
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

    parts: WalkParts
    bases: TableOffsets
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


def _frames(parts: WalkParts, most: list[int], hands: int) -> tuple[WalkFrames, int]:
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
    return WalkFrames(reaches, values, roots, coefficients, sums), at


def _no_pairs(game: Game, hands: int) -> Pairs:
    shapes = (NUM_CARD_ROWS + 1,), (2 * hands,), (hands, 2)
    return Pairs(*[np.zeros((2, game.num_rounds, *shape), np.int32) for shape in shapes])


def _scratch(parts: WalkParts, most: list[int], hands: int) -> WalkScratch:
    last, edges = slice(parts.part_at[-2], None), np.diff(parts.edge_at)
    slots, nodes = int(np.diff(parts.slot_at)[last].max(initial=0)), int(np.diff(parts.node_at)[last].max(initial=0))
    return WalkScratch(
        coefficients=aligned_zeros(2 * most[-1] * slots * LANES),
        root_reach=aligned_zeros(2 * hands * LANES),
        pair_reach=aligned_zeros(2 * hands * LANES),
        roots=aligned_zeros(max(most) * LANES),
        rows=aligned_zeros((1 + int(edges.max())) * LANES),
        sums=aligned_zeros(2 * most[-1] * (slots + nodes) * LANES),
        root_value=aligned_zeros(hands * LANES),
        value=aligned_zeros(hands * MAX_VECTORS * LANES),
        totals=aligned_zeros(NUM_CARD_ROWS * MAX_VECTORS * LANES),
        tile=aligned_zeros(2 * LANES * LANES),
    )
