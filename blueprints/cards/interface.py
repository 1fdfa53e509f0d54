"""What trainers and lookups need of a card abstraction, whatever the game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from protocol.cards import Card

Buckets = NDArray[np.uint16]


class Cards(Protocol):
    """Buckets of all hands on every board.

    Hands stand in colex order of their cards over the sorted deck; for hold'em that is the order of the 1,326 hands in
    `protocol.hands`. A hand that shares a card with the board has bucket 0, which means nothing.
    """

    @property
    def counts(self) -> tuple[int, ...]:
        """Buckets of each street."""

    @property
    def digest(self) -> str:
        """The same for two abstractions only if their buckets are the same."""

    def buckets(self, board: Sequence[Card]) -> Buckets:
        """[hand] of a board as it lies after some street, in any order."""

    def deal(self, board: Sequence[Card]) -> Buckets:
        """[street, hand] for a board of all streets, in the order of dealing."""
