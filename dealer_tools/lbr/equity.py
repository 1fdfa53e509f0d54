"""How likely a hand is to win against each other hand if both check and call to the end: exact, ties count half.

A chance of winning against a range is the mean of these numbers, weighted by the range, over the hands that share no
card with ours or the board. So they need to be found once for a hand and a board, whatever the range is: they are the
margins of `dealer_tools.scoring.holdings`, seen from the hand that is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dealer_tools.scoring.holdings import Holdings
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Game


@dataclass(frozen=True, slots=True, eq=False)
class BoardEquity:
    """One hand on one board."""

    possible: F64
    """[hand] 1 for hands that share no card with this one or the board, else 0."""
    wins: F64
    """[hand] the chance of beating it, 0 where it is not possible."""

    def against(self, weights: F64) -> float:
        """The chance of winning against a range that has a possible hand."""
        alive = weights * self.possible
        return float(alive @ self.wins / alive.sum())


class Equities:
    """Of one game."""

    def __init__(self, game: Game) -> None:
        self._holdings = Holdings(game)

    def of(self, hole: Sequence[Card], board: Sequence[Card]) -> BoardEquity:
        """A hand on a board, or before there is any."""
        hands = self._holdings.hands
        possible = hands.live((*hole, *board)).astype(np.float64)
        margins = self._holdings.margins(hands.column(hole), board)
        return BoardEquity(possible, (1 - margins) / 2 * possible)
