"""A flop as the network sees it: hands in groups, what a group is like, and how groups do against each other.

Each live hand is ranked on all 1,176 ways in which the flop may go on, which gives *margins* of pairs of hands
(`blueprints.values.margins`). A hand's *place* on a run-out is the share of hands that it beats there; over run-outs it
has a distribution, which says both how good the hand is and what it may become.

*Groups* are equal in number of hands. Hands are sorted by their mean place into slices, and each slice by how far
places are spread: so a group is of hands of like strength and like hopes, whatever the flop.

What goes into the network, besides the leaf: of each of both groups the distribution of places, of the pair its margin
and whether both like the same run-outs, and of the flop its suits and ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from blueprints.values.margins import margins_of, run_out_ranks
from protocol.arrays import F32, F64
from protocol.cards import Card
from protocol.hands import holdem_hands

SLICES: Final = 12
SPREADS: Final = 4
GROUPS: Final = SLICES * SPREADS
NONE: Final = -1
"""The group of a dead hand."""
_SAMPLED: Final = 9
"""Places are found on every so many-th run-out."""
_QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
GROUP_FEATURES: Final = 2 + len(_QUANTILES)
PAIR_FEATURES: Final = 2
FLOP_FEATURES: Final = 6


@dataclass(frozen=True, slots=True, eq=False)
class Flop:
    """What there is to know of a flop before anything is bet on it."""

    board: tuple[Card, ...]
    margins: F32
    """[hand, hand] 0 where they share a card with each other or with the board."""
    groups: NDArray[np.int64]
    """[hand] or `NONE`."""
    of_group: F32
    """[group, feature]"""
    of_pair: F32
    """[group, group, feature] the mean margin first."""
    apart: F32
    """[group, group] the share of pairs of hands that share no card."""
    of_flop: F32
    """[feature]"""

    @classmethod
    def of(cls, board: Sequence[Card], threads: int = 1) -> Flop:
        """Ranks everything: a fifth of a second."""
        ranks = run_out_ranks(board)
        margins = margins_of(ranks, threads)
        live: NDArray[np.bool_] = ranks.max(axis=0) > 0
        places, alive = _places(ranks[::_SAMPLED])
        seen = np.maximum(alive.sum(axis=0), 1)
        mean = places.sum(axis=0) / seen
        hopes = (places - mean) * alive
        spread = np.sqrt((hopes**2).sum(axis=0) / seen)
        groups = _groups(mean, spread, live)
        member = _members(groups)
        count = member.sum(axis=0)
        apart = member.T @ (holdem_hands().compatible @ member)
        pair_margin = member.T @ (margins @ member) / np.maximum(apart, 1)
        of_run_out = hopes.astype(np.float32) @ member / count
        alike = of_run_out.T @ of_run_out / len(hopes)
        of_hand = np.stack([mean, spread, *_quantiles(places, alive)], axis=1) * live[:, None]
        return cls(
            board=tuple(board),
            margins=margins,
            groups=groups,
            of_group=(member.T @ of_hand / count[:, None]).astype(np.float32),
            of_pair=np.stack([pair_margin, 10 * alike], axis=2).astype(np.float32),
            apart=(apart / np.outer(count, count)).astype(np.float32),
            of_flop=_flop_features(board),
        )

    def summed(self, weights: F32) -> F32:
        """[..., hand] to [..., group]."""
        found: F32 = weights @ _members(self.groups)
        return found


def _places(ranks: NDArray[np.uint16]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """[run-out, hand] the share of live hands that a hand beats, ties half; and where it is alive."""
    alive = ranks > 0
    places = np.zeros(ranks.shape)
    for row, here, found in zip(ranks, alive, places, strict=True):
        mine = row[here]
        ordered = np.sort(mine)
        below, upto = (np.searchsorted(ordered, mine, side) for side in ("left", "right"))
        found[here] = (below + upto) / (2 * len(mine))
    return places, alive


def _groups(mean: F64, spread: F64, live: NDArray[np.bool_]) -> NDArray[np.int64]:
    groups = np.full(len(live), NONE)
    hands = np.flatnonzero(live)
    by_mean = np.array_split(hands[np.argsort(mean[hands], kind="stable")], SLICES)
    for number, some in enumerate(by_mean):
        for which, few in enumerate(np.array_split(some[np.argsort(spread[some], kind="stable")], SPREADS)):
            groups[few] = number * SPREADS + which
    return groups


def _members(groups: NDArray[np.int64]) -> F32:
    """[hand, group] 1 where a hand is in a group."""
    found: F32 = (groups[:, None] == np.arange(GROUPS)).astype(np.float32)
    return found


def _quantiles(places: F64, alive: NDArray[np.bool_]) -> list[F64]:
    """Of each hand, over the run-outs that it lives to see."""
    ordered = np.sort(np.where(alive, places, 2.0), axis=0)
    last = np.maximum(alive.sum(axis=0) - 1, 0)
    return [ordered[(last * share).astype(int), np.arange(places.shape[1])] for share in _QUANTILES]


def _flop_features(board: Sequence[Card]) -> F32:
    ranks = sorted((card // 4 for card in board), reverse=True)
    suits = len({card % 4 for card in board})
    paired = 3 - len({*ranks})
    gaps = ranks[0] - ranks[2]
    return np.array([ranks[0] / 12, ranks[1] / 12, ranks[2] / 12, suits - 2, paired, gaps / 12], np.float32)
