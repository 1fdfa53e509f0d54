"""Heuristic values of histories: what the corrections of AIVAT are made of.

A value function says what a player would win from a history on, in chips. It may be anything that was fixed before the
hands were dealt and that depends on the history alone (public betting and board, both hands): a bad one makes a bad
correction, never a biased one. Here one hand of the opponent is given at a time, and values are wanted for all hands of
the player who is scored, so they are vectors [hand].

`before` is the mean over the cards that come next. It is asked at states whose street has begun but whose cards do not
lie yet, both to correct the deal of those cards and as the value of an action that ends a street: a function whose
means are its own means corrects nothing twice.

Values at the end of a hand are what the hand pays: that is not asked here (`scoring.aivat`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dealer_tools.scoring.holdings import Holdings
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Position
from protocol.state import State


@dataclass(frozen=True, slots=True)
class KnownSide:
    """Whose values are wanted, against which hand."""

    position: Position
    """Of the player who is scored."""
    theirs: int
    """The column of the opponent's hand."""
    ours: int | None = None
    """Ours, where no other counts: then one number will do."""


class Values(Protocol):
    """A value function."""

    @property
    def name(self) -> str:
        """As in `--values`."""
        ...

    @property
    def digest(self) -> str:
        """The same for two functions only if their values are the same."""
        ...

    def at(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        """[hand] or [1], when all are alike, at a decision with all cards of its street on the board."""
        ...

    def before(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        """[hand] or [1]: the mean of `at` over the cards that the street still lacks."""
        ...


class Zero:
    """Knows nothing: what remains is what follows from the cards that might have been held."""

    name = "zero"
    digest = "0"

    def at(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        return np.zeros(1)

    before = at


class Equity:
    """What a hand wins if whoever owes chips calls and nobody bets any more: its share of that pot.

    It is a martingale: the mean over the cards to come is the value before them. So it corrects the deal of every card
    exactly without looking at the other cards that might have come.
    """

    name = "equity"
    digest = "2"

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings

    def at(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        called = min(max(state.committed), *state.game.stack)
        return called * self._holdings.margins(side.theirs, board, side.ours)

    before = at


def missing_cards(state: State, board: Sequence[Card]) -> int:
    """How many cards the board of the current street lacks."""
    return state.game.board_cards_by(state.street) - len(board)


def mean_over_cards(
    holdings: Holdings,
    side: KnownSide,
    board: tuple[Card, ...],
    missing: int,
    value: Callable[[tuple[Card, ...]], F64],
) -> F64:
    """[hand] the mean of a value of boards over the cards to come that each hand allows, one board after another."""
    total = np.zeros(len(holdings.hands))
    for coming in combinations(holdings.rest(side.theirs, board), missing):
        total += value((*board, *coming)) * holdings.hands.live(coming)
    return total / holdings.completions(side.theirs, board, missing)


def mean_of_alike(
    holdings: Holdings, side: KnownSide, board: Sequence[Card], coming: NDArray[np.uint8], values: F64
) -> F64:
    """The same for values that do not depend on our hand: coming uint8[n, cards], values [n], all that can come.

    The sum over all, less what holds a card of the hand, plus what holds both.
    """
    from dealer_tools.scoring.kernels import sums_by_cards

    with_card, with_pair = np.zeros(52), np.zeros((52, 52))
    sums_by_cards(coming, values, with_card, with_pair)
    totals = values.sum() - with_card[holdings.hands.cards].sum(axis=1)
    if holdings.hands.cards.shape[1] == 2:
        totals += with_pair[holdings.hands.cards.min(axis=1), holdings.hands.cards.max(axis=1)]
    means: F64 = totals / holdings.completions(side.theirs, board, coming.shape[1])
    return means
