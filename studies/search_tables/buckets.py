"""Buckets of hands on flops, by how strong they are against hands of each kind.

On the flop of this game the hand is complete, so what matters about it is how often it wins. It is described by its
*equity* (wins and half of ties) against each of a few kinds of opposing hands, as in Johanson's opponent cluster hand
strength: the preflop hands are cut into `KINDS` kinds of about equal size by their mean equity over all flops. The
points of all flops together are clustered by k-means. A change of suits that turns one board into another, or a hand
into another on the same board, leaves the point where it is, so that buckets respect suits.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from protocol.arrays import F32, F64
from protocol.hands import hands_of
from protocol.kernels import rank_hands
from solver.subgame import Subgame
from studies.search_tables.abstract import Buckets
from studies.search_tables.games import Field

KINDS: Final = 8
"""Kinds of opposing hands: enough to tell how a hand fares against strong and weak ranges."""

_ROUNDS: Final = 25
_DECIMALS: Final = 5
"""Points are rounded so that hands that are alike but for suits are one point, whatever the order of summation."""


def equities(subgame: Subgame) -> F32:
    """[flop, hand, kind] of a subgame from before the flop; -1 for a hand that the flop makes impossible."""
    game = Field.of(subgame.root.game)
    compatible, orders = game.compatible, [_ranks(subgame, board) for board in range(len(subgame.boards[1]))]
    won, met = np.zeros((2, len(compatible)))
    for board, ranks in zip(subgame.boards[1], orders, strict=True):
        won += len(board.images) * _won(ranks, compatible).sum(axis=1)
        met += len(board.images) * _met(ranks, compatible).sum(axis=1)
    # An image of a flop has the values of its flop with the suits of the hand changed too.
    kinds = _kinds(np.round(game.symmetric(won) / game.symmetric(met), _DECIMALS))
    found = np.full((len(orders), len(compatible), KINDS), -1, np.float32)
    for number, ranks in enumerate(orders):
        live = ranks >= 0
        counted = _met(ranks, compatible) @ kinds
        found[number] = np.where(counted > 0, _won(ranks, compatible) @ kinds / np.maximum(counted, 1), 0.5)
        found[number, ~live] = -1
    return np.round(found, _DECIMALS)


def cluster(points: F32, count: int, seed: int = 0) -> Buckets:
    """At most `count` buckets of the points [flop, hand, dimension], by k-means; fewer if there are fewer points.

    Equal points always share a bucket.
    """
    live = points[:, :, 0] >= 0
    different, inverse, weights = np.unique(points[live], axis=0, return_inverse=True, return_counts=True)
    centres = _spread(different, weights, min(count, len(different)), np.random.default_rng(seed))
    nearest = _nearest(different, centres)
    for _ in range(_ROUNDS):
        total = np.bincount(nearest, weights, len(centres))
        for dimension in range(centres.shape[1]):
            sums = np.bincount(nearest, weights * different[:, dimension], len(centres))
            centres[:, dimension] = np.where(total > 0, sums / np.maximum(total, 1), centres[:, dimension])
        again = _nearest(different, centres)
        if np.array_equal(again, nearest):
            break
        nearest = again
    buckets = np.full(points.shape[:2], -1, np.int32)
    buckets[live] = np.unique(nearest, return_inverse=True)[1][inverse.ravel()]
    return buckets


def _ranks(subgame: Subgame, board: int) -> npt.NDArray[np.int64]:
    """[hand] how strong; -1 where the flop has one of its cards."""
    shown = np.array(subgame.boards[1][board].cards, np.uint8)
    hands, columns = hands_of(subgame.root.game), subgame.hand_index[0]
    held, live = hands.cards[columns], hands.live(shown)[columns]
    ranks = np.full(len(held), -1, np.int64)
    seven = np.hstack([held[live], np.tile(shown, (int(live.sum()), 1))])
    ranks[live] = rank_hands(np.ascontiguousarray(seven))
    return ranks


def _met(ranks: npt.NDArray[np.int64], compatible: F32) -> F32:
    """[hand, opposing hand] 1 where both can be held."""
    live = (ranks >= 0).astype(np.float32)
    met: F32 = compatible * live[:, None] * live[None, :]
    return met


def _won(ranks: npt.NDArray[np.int64], compatible: F32) -> F32:
    """[hand, opposing hand] the share of the pot, 0 where they cannot meet."""
    shares = np.heaviside(ranks[:, None] - ranks[None, :], 0.5).astype(np.float32)
    won: F32 = shares * _met(ranks, compatible)
    return won


def _kinds(strength: F64) -> F32:
    """[hand, kind] 1 for its kind; hands of equal strength are of one kind."""
    _, inverse, counts = np.unique(strength, return_inverse=True, return_counts=True)
    middles = (np.cumsum(counts) - counts / 2) / len(strength)
    kind = np.minimum((middles * KINDS).astype(np.int64), KINDS - 1)[inverse]
    return np.eye(KINDS, dtype=np.float32)[kind]


def _spread(points: F32, weights: npt.NDArray[np.int64], count: int, rng: np.random.Generator) -> F64:
    """First centres, each new one far from those before (k-means++)."""
    chosen = [int(rng.choice(len(points), p=weights / weights.sum()))]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1, dtype=np.float64)
    for _ in range(count - 1):
        odds = distance * weights
        chosen.append(int(rng.choice(len(points), p=odds / odds.sum())))
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1, dtype=np.float64))
    return points[chosen].astype(np.float64)


def _nearest(points: F32, centres: F64) -> npt.NDArray[np.int64]:
    """The centre nearest to each point."""
    narrow = centres.astype(np.float32)
    squares = (narrow**2).sum(axis=1)
    nearest = np.empty(len(points), np.int64)
    for begin in range(0, len(points), 8192):
        some = points[begin : begin + 8192]
        nearest[begin : begin + 8192] = (squares - 2 * some @ narrow.T).argmin(axis=1)
    return nearest
