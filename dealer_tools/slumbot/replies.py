"""The server's replies in the middle of a hand: read strictly, and checked against what we know of the hand.

A request may be answered by what does not belong to it: a copy of an earlier reply, the reply of another hand, or one
that shows that the request arrived twice. What was dealt and what was done tell: cards stay what they were, betting
only grows, and between two replies stands exactly the one action of ours that was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dealer_tools.formats.slumbot import (
    SlumbotError,
    SlumbotHand,
    betting_to_text,
    cards_of,
    integer_of,
    number_of,
    parse_reply,
    read_betting,
)
from machine.errors import quote
from protocol.cards import Card
from protocol.game import Position
from protocol.state import Action, Deal, State, steps
from protocol.wire import MatchState

_KEPT: Final = (
    *("old_action", "action", "client_pos", "hole_cards", "board", "bot_hole_cards", "winnings", "won_pot"),
    *("session_num_hands", "baseline_winnings", "session_total", "session_baseline_total"),
)
"""What is written down of a reply: nothing that is not known, and no token."""
_NUMBERS: Final = ("won_pot", "baseline_winnings", "session_total", "session_baseline_total")
_MAX_TOKEN: Final = 4096
_MAX_HANDS: Final = 2**53


class Doubled(SlumbotError):
    """A reply that shows that an action of ours was carried out twice."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A hand as a reply shows it."""

    hand: int
    position: Position
    hole: tuple[Card, ...]
    board: tuple[Card, ...]
    state: State
    final: SlumbotHand | None
    """Once it is over."""
    document: Mapping[str, Any]
    """The reply, as far as it is written down."""

    @property
    def asked(self) -> MatchState:
        """The decision that is ours to make."""
        unknown: tuple[Card, ...] = ()
        hole = (self.hole, unknown) if self.position == 0 else (unknown, self.hole)
        return MatchState(self.position, self.hand, self.state, Deal(hole, self.board))


def read_token(document: Mapping[str, Any]) -> str | None:
    """The token that a reply carries, if any."""
    token = document.get("token")
    if token is None:
        return None
    if not isinstance(token, str) or not 0 < len(token) <= _MAX_TOKEN or not token.isprintable():
        raise SlumbotError(f"token: expected 1 to {_MAX_TOKEN} printable characters")  # not shown: it is a secret
    return token


def read_seen(document: Mapping[str, Any], hand: int) -> Seen:
    """A reply to `new_hand` or `act`, whole and sound in itself."""
    kept = {key: document[key] for key in _KEPT if key in document}
    final = parse_reply(kept, hand) if kept.get("winnings") is not None else None
    _check_numbers(kept)
    if final is not None:
        state, board = final.record.state, final.record.deal.board
        position, hole = final.position, final.record.deal.hole[final.position]
    else:
        position, state = Position(integer_of(kept, "client_pos", 0, 1)), _betting(kept, "action")
        hole, board = cards_of(kept, "hole_cards", 2), cards_of(kept, "board", _board_cards(state))
        if len({*hole, *board}) != len(hole) + len(board):
            raise SlumbotError(f"hole_cards and board of {quote(str(kept['action']))}: expected no card twice")
        if state.finished:
            raise SlumbotError(f"action {quote(str(kept['action']))}: the hand is over, but there are no winnings")
        if state.actor != position:
            raise SlumbotError(f"action {quote(str(kept['action']))}: expected that it is our turn, or the end")
    if kept.get("old_action") is not None:
        old = _betting(kept, "old_action").actions
        if state.actions[: len(old)] != old:
            raise SlumbotError(f"old_action {quote(str(kept['old_action']))}: expected the beginning of action")
    return Seen(hand, position, hole, board, state, final, kept)


def _betting(kept: Mapping[str, Any], key: str) -> State:
    text = kept.get(key)
    if not isinstance(text, str):
        raise SlumbotError(f"{key} {quote(repr(text))}: expected text")
    return read_betting(text)


def _board_cards(state: State) -> int:
    return state.game.board_cards_by(state.street)


def _check_numbers(kept: Mapping[str, Any]) -> None:
    """Those that nothing here depends on: they are kept, so they must be numbers."""
    for key in _NUMBERS:
        if kept.get(key) is not None:
            number_of(kept, key)
    if kept.get("session_num_hands") is not None:
        integer_of(kept, "session_num_hands", 0, _MAX_HANDS)


def check_first(now: Seen, before: Mapping[str, Any] | None) -> None:
    """The reply to `new_hand`: a hand in which we have done nothing, and no copy of the reply `before`."""
    if now.document == before:
        raise SlumbotError("the reply is a copy of the one before: expected a new hand")
    if any(actor == now.position for actor, _ in _moves(now.state)):
        betting = quote(betting_to_text(now.state))
        raise SlumbotError(f"action {betting}: expected a new hand, in which we have done nothing")


def check_next(before: Seen, sent: Action, now: Seen) -> None:
    """The reply to `act`: the same hand, in which we have done `sent` and nothing else since `before`."""
    if (now.position, now.hole) != (before.position, before.hole) or now.board[: len(before.board)] != before.board:
        raise SlumbotError("the reply shows other cards: expected the hand that was acted in")
    expected, done = (*before.state.actions, sent), now.state.actions
    if done[: len(expected)] != expected:
        betting = quote(betting_to_text(now.state))
        raise SlumbotError(f"action {betting}: expected {quote(betting_to_text(before.state))} and what was sent")
    if any(actor == now.position for actor, _ in _moves(now.state)[len(expected) :]):
        raise Doubled(f"action {quote(betting_to_text(now.state))}: our action was carried out twice")


def _moves(state: State) -> list[tuple[Position | None, Action]]:
    """Who did what."""
    return [(at.actor, action) for at, action in steps(state)]
