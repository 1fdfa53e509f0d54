"""The card abstraction of a hold'em blueprint as far as it is known without tables: before the flop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blueprints.storage import Blueprint
from protocol.cards import Card
from protocol.hands import hand_classes_array


class ClassesOnly:
    """`blueprints.cards.interface.Cards` without a board."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.counts, self.digest = blueprint.buckets, blueprint.header.cards

    def buckets(self, board: Sequence[Card]) -> NDArray[np.uint16]:
        """The 169 classes."""
        if board:
            raise ValueError("a board: expected none")
        return hand_classes_array().astype(np.uint16)

    def deal(self, board: Sequence[Card]) -> NDArray[np.uint16]:
        """Nothing is dealt here."""
        raise ValueError("a board: expected none")
