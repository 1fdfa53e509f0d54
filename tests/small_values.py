"""Value functions to be wrong with, and one to be right with, in games small enough for recursion."""

from __future__ import annotations

import numpy as np
from small_matches import Play, actions_of, probability_of

from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.values import KnownSide, mean_over_cards, missing_cards
from protocol.arrays import F64
from protocol.cards import Card
from protocol.state import Deal, State, apply, payoffs


class RandomValues:
    """Numbers that mean nothing, the same for the same history; `scale` makes them absurd."""

    name, digest = "random", ""

    def __init__(self, holdings: Holdings, scale: float = 1.0, shift: float = 0.0) -> None:
        self._holdings, self._scale, self._shift = holdings, scale, shift
        self._known: dict[tuple[KnownSide, str, tuple[Card, ...]], F64] = {}

    def at(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        return self._scale * self._normal(side, state.betting, tuple(sorted(board))) + self._shift

    def _normal(self, side: KnownSide, betting: str, board: tuple[Card, ...]) -> F64:
        key = side, betting, board
        if key not in self._known:
            rng = np.random.default_rng([side.position, side.theirs, *betting.encode(), 99, *board])
            self._known[key] = rng.normal(size=len(self._holdings.hands))
        return self._known[key]

    def before(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        missing = missing_cards(state, board)
        return mean_over_cards(self._holdings, side, board, missing, lambda whole: self.at(side, state, whole))


class TrueValues:
    """What both players win from a history on if they play so, with both hands known: by recursion."""

    name, digest = "true", ""

    def __init__(self, holdings: Holdings, plays: tuple[Play, Play]) -> None:
        self._holdings, self._plays = holdings, plays
        self._known: dict[tuple[KnownSide, str, tuple[Card, ...]], F64] = {}

    def at(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        key = side, state.betting, board
        if key not in self._known:
            self._known[key] = np.array(
                [self._value(side, state, board, mine) for mine in range(len(self._holdings.hands))]
            )
        return self._known[key]

    def before(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        missing = missing_cards(state, board)
        return mean_over_cards(self._holdings, side, board, missing, lambda whole: self.at(side, state, whole))

    def _value(self, side: KnownSide, state: State, board: tuple[Card, ...], mine: int) -> float:
        holdings = self._holdings
        hands = {side.position: holdings.hands[mine], 1 - side.position: holdings.hands[side.theirs]}
        if set(hands[0]) & set(hands[1]) or set(board) & {*hands[0], *hands[1]}:
            return 0.0
        if state.actor is None:
            missing = sum(state.game.num_board_cards) - len(board)
            left = [card for card in holdings.hands.deck if card not in (*hands[0], *hands[1], *board)]
            boards = [(*board, card) for card in left] if missing else [board]
            assert missing <= 1
            paid = [payoffs(state, Deal((hands[0], hands[1]), whole))[side.position] for whole in boards]
            return sum(paid) / len(paid)
        if len(board) < state.game.board_cards_by(state.street):
            left = [card for card in holdings.hands.deck if card not in (*hands[0], *hands[1], *board)]
            return sum(self._value(side, state, (*board, card), mine) for card in left) / len(left)
        policy = self._plays[state.actor](state, board)
        column = mine if state.actor == side.position else side.theirs
        return sum(
            probability_of(policy, action, column) * self._value(side, apply(state, action), board, mine)
            for action in actions_of(policy)
            if probability_of(policy, action, column)
        )
