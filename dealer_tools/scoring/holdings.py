"""The hands that two players of a game can hold, and what one is worth against another.

Hands are columns, in the order of `protocol.hands`. What is asked most is a *margin*: for one hand of the
opponent, and each of ours, how much more often ours wins than loses, over all boards that can still come. The stakes
times that is what the hand is worth once nobody can bet any more.

In full hold'em boards of three cards or more are counted by a kernel; before the flop the margins of all pairs come
from `preflop.npz`, which was counted over all 2,598,960 boards (`python -m release.preflop`). Other games are
small, and every board is looked at.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import combinations
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from machine.errors import ConfigError, ParatusError
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Game
from protocol.hands import (
    NUM_CLASSES,
    NUM_HANDS,
    SUIT_PERMUTATIONS,
    hand_classes_array,
    hand_permutation,
    hands_of,
)

_KEPT: Final = 64
"""So many margins stay in memory: those of a hand or two."""
_MOST_WORK: Final = 2_000_000
"""Hands that are ranked for one answer where no kernel knows the game."""
PREFLOP_FILE: Final = "preflop.npz"


class ScoreError(ParatusError):
    """Hands that cannot be scored as asked."""


class Holdings:
    """Of one game for two."""

    def __init__(self, game: Game) -> None:
        if game.num_players != 2 or game.num_hole_cards > 2:
            raise ConfigError(
                f"game {game.name}: {game.num_players} players, {game.num_hole_cards} hole cards: "
                "expected two players with one or two cards each"
            )
        self.game = game
        self.hands = hands_of(game)
        self._holdem = (len(self.hands.deck), game.num_hole_cards, sum(game.num_board_cards)) == (52, 2, 5)
        self._kept: OrderedDict[tuple[int, tuple[Card, ...]], F64] = OrderedDict()

    def rest(self, theirs: int, board: Sequence[Card]) -> list[Card]:
        """The cards that may still come, as whoever knows one hand and the board sees it."""
        gone = {*self.hands[theirs], *board}
        return [card for card in self.hands.deck if card not in gone]

    def completions(self, theirs: int, board: Sequence[Card], missing: int) -> int:
        """How many sets of so many cards may come, for each hand of ours."""
        return comb(len(self.rest(theirs, board)) - self.game.num_hole_cards, missing)

    def margins(self, theirs: int, board: Sequence[Card], ours: int | None = None) -> F64:
        """[hand] the probability that ours wins less that it loses; of no meaning for hands that cannot be.

        If one hand of `ours` is all that is asked for, [1].
        """
        if ours is not None and len(board):
            return np.array([self._margin(theirs, ours, board)])
        margins = self._margins(theirs, board)
        return margins if ours is None else margins[ours : ours + 1]

    def signs(self, theirs: int, board: Sequence[Card]) -> NDArray[np.float32]:
        """[hand] who wins on a whole board: 1, 0 or -1; of no meaning for hands that cannot be."""
        if self._holdem:
            from dealer_tools.scoring.kernels import signs_into
            from protocol.kernels import rank_tables

            ranks, signs = np.empty(NUM_HANDS, np.uint16), np.empty(NUM_HANDS, np.float32)
            signs_into(rank_tables(), theirs, np.array(board, np.uint8), ranks, signs)
            return signs
        return self._margins(theirs, board).astype(np.float32)

    def _margin(self, theirs: int, ours: int, board: Sequence[Card]) -> float:
        """Of one hand against one."""
        from protocol.kernels import rank_runouts

        missing = sum(self.game.num_board_cards) - len(board)
        held, both = {*self.hands[ours], *board}, self.hands.cards[[ours, theirs]]
        rest = np.array([card for card in self.rest(theirs, board) if card not in held], np.uint8)
        ranks = rank_runouts(both, np.array(board, np.uint8), missing, rest).astype(np.int64)
        return float(np.sign(ranks[:, 0] - ranks[:, 1]).mean())

    def _margins(self, theirs: int, board: Sequence[Card]) -> F64:
        key = theirs, tuple(sorted(board))
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = self._count(theirs, key[1])
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return known

    def _count(self, theirs: int, board: tuple[Card, ...]) -> F64:
        missing = sum(self.game.num_board_cards) - len(board)
        if self._holdem and missing == 5:
            return preflop_margins(theirs)
        rest = self.rest(theirs, board)
        if self._holdem and missing <= 2:
            return _holdem_margins(theirs, board, rest) / self.completions(theirs, board, missing)
        self._check_work(comb(len(rest), missing))
        from protocol.kernels import rank_hands

        totals = np.zeros(len(self.hands))
        for coming in combinations(rest, missing):
            whole = np.array([*board, *coming], np.uint8)
            ranks = rank_hands(np.hstack([self.hands.cards, np.broadcast_to(whole, (len(self.hands), len(whole)))]))
            totals += np.sign(ranks.astype(np.int64) - int(ranks[theirs])) * self.hands.live(coming)
        return totals / self.completions(theirs, board, missing)

    def _check_work(self, boards: int) -> None:
        hands = len(self.hands)
        if boards * hands > _MOST_WORK:
            raise ConfigError(
                f"{self.game.name}: {boards:,} boards for {hands:,} hands: expected hold'em with 52 cards, or "
                f"a deck small enough for {_MOST_WORK:,} hands to be ranked"
            )


def _holdem_margins(theirs: int, board: Sequence[Card], rest: Sequence[Card]) -> F64:
    from dealer_tools.scoring.kernels import margins_into
    from protocol.kernels import rank_tables

    margin = np.zeros(NUM_HANDS, np.int32)
    lying, coming = np.array(board, np.uint8), np.array(rest, np.uint8)
    margins_into(rank_tables(), theirs, lying, coming, margin)
    return margin.astype(np.float64)


# Before the flop.


@cache
def _preflop_table() -> NDArray[np.int32]:
    """[class, hand] wins less losses of a hand over all boards against the first hand of a class."""
    path = resources.files("dealer_tools.scoring") / PREFLOP_FILE
    with path.open("rb") as file, np.load(file) as arrays:
        table: NDArray[np.int32] = arrays["margins"]
    return table


@cache
def _to_first_of_class() -> list[NDArray[np.int16]]:
    """[hand] the permutation of all hands that turns a hand into the first of its class."""
    classes = hand_classes_array()
    first = [int(np.flatnonzero(classes == number)[0]) for number in range(NUM_CLASSES)]
    permutations = [hand_permutation(permutation) for permutation in SUIT_PERMUTATIONS]
    return [next(each for each in permutations if each[hand] == first[classes[hand]]) for hand in range(NUM_HANDS)]


def preflop_margins(theirs: int) -> F64:
    """[hand] before any card of the board is known; of no meaning for hands that share a card with the given one."""
    row = _preflop_table()[hand_classes_array()[theirs]]
    margins: F64 = row[_to_first_of_class()[theirs]] / float(comb(48, 5))
    return margins
