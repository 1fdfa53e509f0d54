"""How the reference dealer reads a reply: forgiving, and in the same way here.

A well-behaved client returns the line it was sent, `:` and a legal action. For everything else the reference's
behaviour is kept, so that a bot meets no surprise when it changes dealers:

- a line that is no state at all, or another state than the one asked about, is ignored with a warning (and becomes a
  timeout if nothing better follows);
- letters count in either case, and `k` is a call and `b` a raise; numbers may have leading zeros, signs and blanks;
  slashes in the betting and separators between the cards may be missing;
- a missing or unreadable action is a call; an illegal one too, but raise sizes are moved into the legal range first;
- what follows the action is ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from protocol.cards import RANKS, SUITS, Card, make_card
from protocol.errors import IllegalAction
from protocol.game import Game
from protocol.state import (
    CALL,
    FOLD,
    MAX_ACTIONS_PER_STREET,
    Action,
    Deal,
    Raise,
    State,
    apply,
    at_action_cap,
    can_fold,
    raise_bounds,
    start,
)

BAD_STATE: Final = "WARNING: bad state format in response"
UNREQUESTED: Final = "WARNING: ignoring un-requested response"
BAD_ACTION: Final = "WARNING: bad action format in response, changed to call"
INVALID_ACTION: Final = "WARNING: invalid action, changed to call"
ACTION_CAP: Final = "WARNING: #actions in round is too close to MAX_NUM_ACTIONS, forcing call/fold"


@dataclass(frozen=True, slots=True)
class Ignored:
    """The line answers nothing; the dealer goes on waiting."""

    warning: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The action that the dealer takes, with what it complained about on the way."""

    action: Action
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedState:
    """What a seat was asked: a state in which it is its turn."""

    text: str
    """The MATCHSTATE line it was sent."""
    position: int
    hand: int
    state: State
    deal: Deal


def read_reply(line: str, asked: AskedState) -> Ignored | Answered:
    """What `line` means as an answer to `asked`."""
    if line.startswith(asked.text + ":"):
        rest = line[len(asked.text) :]
    else:
        found = _read_state(line, asked.state.game)
        if found is None:
            return Ignored(BAD_STATE)
        position, hand, state, own, board, end = found
        same = (
            position == asked.position
            and hand == asked.hand
            and state.history == asked.state.history
            and own == asked.deal.hole[asked.position]
            and board == asked.deal.board[: len(board)]
        )
        if not same:
            return Ignored(UNREQUESTED)
        rest = line[end:]
    return _read_answer(rest, asked.state)


_CALLS, _FOLDS, _RAISES = "cCkK", "fF", "rRbB"
_NUMBER = re.compile(r"[ \t\v\f\r]*([+-]?[0-9]+)")


def _c_integer(text: str, bits: int, *, signed: bool) -> int:
    """The number as C's scanf leaves it: clamped to 64 bits, then cut to `bits`."""
    digits = text.lstrip("+-").lstrip("0")[:20] or "0"
    value = -int(digits) if text.startswith("-") else int(digits)
    size = 1 << bits
    value = max(-(2**63), min(value, 2**63 - 1)) % size
    return value - size if signed and value >= size // 2 else value


def _read_answer(rest: str, state: State) -> Answered:
    letter = rest[1:2]
    if rest[:1] != ":":
        return Answered(CALL, (BAD_ACTION,))
    size = 0
    if not letter:
        return Answered(CALL, (INVALID_ACTION,))
    if letter in _RAISES and state.game.no_limit:
        number = _NUMBER.match(rest, 2)
        if number is None:
            return Answered(CALL, (BAD_ACTION,))
        size = _c_integer(number.group(1), 32, signed=True)
    if letter in _CALLS:
        return Answered(CALL)
    if letter in _FOLDS:
        return Answered(FOLD) if can_fold(state) else Answered(CALL, (INVALID_ACTION,))
    if letter in _RAISES:
        return _fix_raise(size, state)
    return Answered(CALL, (INVALID_ACTION,))


def _fix_raise(size: int, state: State) -> Answered:
    bounds = raise_bounds(state)
    if bounds is None:
        capped = at_action_cap(state)
        return Answered(CALL, (ACTION_CAP, INVALID_ACTION) if capped else (INVALID_ACTION,))
    if state.game.no_limit and size < bounds.low:
        return Answered(Raise(bounds.low), (f"WARNING: raise of {size} increased to {bounds.low}",))
    if state.game.no_limit and size > bounds.high:
        return Answered(Raise(bounds.high), (f"WARNING: raise of {size} decreased to {bounds.high}",))
    return Answered(Raise(size if state.game.no_limit else bounds.low))


_HEAD = re.compile(r"MATCHSTATE:[ \t\v\f\r]*([+-]?[0-9]+):[ \t\v\f\r]*([+-]?[0-9]+):")
_Read = tuple[int, int, State, tuple[Card, ...], tuple[Card, ...], int]


def _read_state(line: str, game: Game) -> _Read | None:
    """Position, hand, state, own cards, board and the end of a state, read as loosely as the reference does."""
    head = _HEAD.match(line)
    if head is None:
        return None
    position = _c_integer(head.group(1), 8, signed=False)
    if position >= game.num_players:
        return None
    betting = _read_betting(line, head.end(), game)
    if betting is None:
        return None
    state, at = betting
    own: tuple[Card, ...] = ()
    for player in range(game.num_players):
        if player and line[at : at + 1] == "|":
            at += 1
        cards, at = _read_cards(line, at, game.num_hole_cards)
        if cards and len(cards) != game.num_hole_cards:
            return None
        if player == position:
            own = cards
    board: tuple[Card, ...] = ()
    for street, count in enumerate(game.num_board_cards[: len(state.history)]):
        if street and line[at : at + 1] == "/":
            at += 1
        cards, at = _read_cards(line, at, count)
        if len(cards) != count:
            return None
        board += cards
    return position, _c_integer(head.group(2), 32, signed=False), state, own, board, at


def _read_betting(line: str, at: int, game: Game) -> tuple[State, int] | None:
    state = start(game)
    most = MAX_ACTIONS_PER_STREET * game.num_rounds
    while at < len(line) and most:
        letter = line[at]
        at += 1
        if letter == ":":
            return state, at
        if letter == "/":
            continue
        most -= 1
        action: Action
        if letter in _CALLS:
            action = CALL
        elif letter in _FOLDS:
            action = FOLD
        elif letter in _RAISES:
            size = 0
            if game.no_limit:
                number = _NUMBER.match(line, at)
                if number is None:
                    return None
                size, at = _c_integer(number.group(1), 32, signed=True), number.end()
            bounds = raise_bounds(state)
            if bounds is None:
                return None
            action = Raise(size if game.no_limit else bounds.low)
        else:
            return None
        try:
            state = apply(state, action)
        except IllegalAction:
            return None
    return (state, at) if at >= len(line) else None


def _read_cards(line: str, at: int, most: int) -> tuple[tuple[Card, ...], int]:
    cards: list[Card] = []
    while len(cards) < most:
        rank = RANKS.find(line[at : at + 1].upper() or "?")
        suit = SUITS.find(line[at + 1 : at + 2].lower() or "?")
        if rank < 0 or suit < 0:
            break
        cards.append(make_card(rank, suit))
        at += 2
    return tuple(cards), at
