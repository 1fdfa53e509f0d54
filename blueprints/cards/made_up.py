"""Buckets of hold'em that cost nothing to make: for measuring speed and memory, of no use to play by.

Public chance sampling works with all hands of a board at once, so what counts is how many buckets a board has. External
sampling looks single hands up in tables as large as real ones, at random, so what counts is their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np

from blueprints.cards.centroids import Centroids
from blueprints.cards.features import LIVE_HANDS
from blueprints.cards.holdem import HoldemCards
from blueprints.cards.interface import Buckets
from blueprints.cards.settings import CardSettings
from protocol.cards import Card
from protocol.hands import NUM_CLASSES, canonical_boards, hand_classes_array
from protocol.kernels import order_board

_STRENGTH: Final = ((169, 1000, 1500, 1000), (169, 124, 86, 75))
"""Buckets by street, as in `standard`, and those that hands of a final board have: the mean over 1,000 boards, ± 1."""
_OPPONENTS: Final = ((169, 1000, 1000, 500), (169, 123, 74, 24))
"""The same where rivers know clusters of opposing hands, which spreads buckets over boards: 300 boards."""


def made_up_rows(settings: CardSettings) -> MadeUpRows:
    """For public chance sampling: as many buckets a board as real ones.

    Those grow about as the square root of all: on the turn 74 of 1,000 and 86 of 1,500.
    """
    usual, seen = _STRENGTH if settings.opponents == 1 else _OPPONENTS
    counts = settings.counts
    return MadeUpRows(
        counts, [min(max(round(s * sqrt(c / u)), 1), c) for c, u, s in zip(counts, usual, seen, strict=True)]
    )


class MadeUpRows:
    """Buckets by strength on the final board alone: no abstraction, but the work is the same."""

    def __init__(self, counts: tuple[int, ...], seen: Sequence[int]) -> None:
        self.counts, self.digest = counts, "made up"
        self._seen = tuple(seen)

    def buckets(self, board: Sequence[Card]) -> Buckets:
        """Nobody asks."""
        raise NotImplementedError

    def deal(self, board: Sequence[Card]) -> Buckets:
        """[street, hand]"""
        cards = np.array(board, np.uint8)
        _, order = order_board(cards)
        place = np.arange(len(order)) / len(order)
        found = np.zeros((len(self.counts), len(hand_classes_array())), np.uint16)
        found[0] = hand_classes_array()
        rng = np.random.default_rng(cards.tolist())
        for street in range(1, len(self.counts)):
            some = np.sort(rng.permutation(self.counts[street])[: self._seen[street]])
            found[street, order] = some[(place * len(some)).astype(np.intp)]
        return found


def made_up_tables(settings: CardSettings, seed: int = 1) -> HoldemCards:
    """For external sampling and for looking up: whole tables, 332 MB, with any bucket anywhere."""
    rng = np.random.default_rng(seed)
    centres = [
        rng.integers(-512, 513, (settings.counts[k], settings.dimensions[k])).astype(np.int16) for k in (1, 2, 3)
    ]
    opponents = rng.integers(0, settings.opponents, NUM_CLASSES).astype(np.uint8)
    tables = [
        rng.integers(0, settings.counts[k], (len(canonical_boards(2 + k)), LIVE_HANDS[k]), np.uint16) for k in (1, 2, 3)
    ]
    return HoldemCards(Centroids(settings, opponents, *centres), *tables)
