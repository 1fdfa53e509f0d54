"""ACPC protocol 2.0.0 text: what goes over the wire, written and read.

    MATCHSTATE:<position>:<hand>:<betting>:<cards>      dealer to client, one line a state and seat
    <the same line>:<action>                            client to dealer, when it is that client's turn
    VERSION:2.0.0                                       client to dealer, first of all

Betting is one string a street, joined by `/`: `c`, `f`, and `r` with the raise-to in no-limit games. Cards are the hole
cards by position, joined by `|` and empty where unknown, then `/` and the board street by street.

Reading here is strict: text is accepted only if writing what was read gives the same text again, so there is one
spelling of each state and nothing raw travels inwards. (What the dealer forgives in replies is in `bot_replies.py`.)
Errors are `WireError`; no other exception leaves this module, whatever it is given.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from machine.errors import quote
from protocol.cards import Card, CardError, card_text, cards_text, deck, parse_cards
from protocol.errors import IllegalAction, RemoteProtocolError
from protocol.fast_betting import follow
from protocol.game import Game, Position
from protocol.state import CALL, FOLD, Action, Deal, Raise, State, action_text, apply, check, raise_bounds, start

VERSION_LINE: Final = "VERSION:2.0.0"
EOL: Final = b"\r\n"
MAX_LINE_BYTES: Final = 4096
MAX_HAND_NUMBER: Final = 2**32 - 1


class WireError(RemoteProtocolError):
    """A line that is not what the protocol says; the message quotes it and says what was expected."""


@dataclass(frozen=True, slots=True)
class MatchState:
    """One player's view of one state: what a MATCHSTATE line says."""

    position: Position
    hand: int
    state: State
    deal: Deal
    """Hole cards are empty tuples where this player may not see them; the board is as far as dealt."""

    @property
    def acting(self) -> bool:
        """True when it is this player's turn."""
        return self.state.actor == self.position


_ACTION = re.compile(r"([fc])|r([1-9][0-9]{0,9})?")


def read_betting(state: State, text: str) -> State:
    """Follow `text`, the betting from `state` on, to the state it leads to."""
    if not state.betting:
        whole = follow(state.game, text)
        if whole is not None:
            return whole
    at, end = 0, len(text)
    while at < end:
        found = _ACTION.match(text, at)
        if found is None:
            raise WireError(f"betting {quote(text)} at character {at}: expected f, c or r")
        action = _action(state, found)
        street = len(state.history)
        try:
            state = apply(state, action)
        except IllegalAction as error:
            raise WireError(f"betting {quote(text)} at character {at}: illegal {error}") from None
        at = found.end()
        slashes = len(state.history) - street
        if slashes:
            if text[at : at + slashes] != "/" * slashes:
                raise WireError(f"betting {quote(text)} at character {at}: expected / since the street is over")
            at += slashes
    return state


def _action(state: State, found: re.Match[str]) -> Action:
    letter, size = found.group(1), found.group(2)
    if letter == "c":
        return CALL
    if letter == "f":
        return FOLD
    if state.game.no_limit:
        if size is None:
            raise WireError(f"{quote(found.string)}: a raise in a no-limit game needs a size, as in r300")
        return Raise(int(size))
    if size is not None:
        raise WireError(f"{quote(found.string)}: a raise in a limit game has no size")
    bounds = raise_bounds(state)
    return Raise(bounds.low if bounds else 0)


def parse_action(text: str, state: State) -> Action:
    """The legal action that `text` spells at `state`."""
    found = _ACTION.fullmatch(text)
    if found is None:
        raise WireError(f"action {quote(text)}: expected f, c or r")
    action = _action(state, found)
    try:
        check(state, action)
    except IllegalAction as error:
        raise WireError(f"action {quote(text)}: illegal {error}") from None
    return action


def board_text(game: Game, board: tuple[Card, ...], streets: int) -> str:
    """`/7hAdTd/4s`: the board of the first `streets` streets, joined by slashes."""
    texts, at = [], 0
    for count in game.num_board_cards[:streets]:
        texts.append(cards_text(board[at : at + count]))
        at += count
    return "/".join(texts)


def deal_text(state: State, deal: Deal) -> str:
    """The cards field: hole cards as far as `deal` holds them, the board as far as the streets of `state`."""
    hole = "|".join([cards_text(cards) for cards in deal.hole])
    return hole + board_text(state.game, deal.board, len(state.history))


def view(state: State, deal: Deal, position: int) -> Deal:
    """The part of `deal` that the rules show to `position` at `state`."""
    hole = tuple(
        [
            cards if seen == position or (state.showdown and not state.folded[seen]) else ()
            for seen, cards in enumerate(deal.hole)
        ]
    )
    return Deal(hole, deal.board[: state.game.board_cards_by(state.street)])


def match_state_text(match_state: MatchState) -> str:
    """The line, without its end."""
    state = match_state.state
    return f"MATCHSTATE:{match_state.position}:{match_state.hand}:{state.betting}:{deal_text(state, match_state.deal)}"


_MATCHSTATE = re.compile(r"MATCHSTATE:(0|[1-9][0-9]?):(0|[1-9][0-9]{0,9}):([fcr0-9/]*):([2-9TJQKAcdhs|/]*)")


def parse_match_state(line: str, game: Game, previous: State | None = None) -> MatchState:
    """Read a MATCHSTATE line; `previous` is a state whose betting may lead here and saves work if it does."""
    found = _MATCHSTATE.fullmatch(line)
    if found is None:
        raise WireError(f"{quote(line)}: expected MATCHSTATE:<position>:<hand>:<betting>:<cards>")
    position, hand = int(found.group(1)), int(found.group(2))
    if position >= game.num_players:
        raise WireError(f"{quote(line)}: position {position}: this game has positions 0 to {game.num_players - 1}")
    if hand > MAX_HAND_NUMBER:
        raise WireError(f"{quote(line)}: hand {hand}: expected 0 to {MAX_HAND_NUMBER}")
    state = _follow(found.group(3), game, previous)
    deal = parse_deal(found.group(4), state)
    if not deal.hole[position]:
        raise WireError(f"{quote(line)}: the hole cards of position {position} are missing")
    for other, cards in enumerate(deal.hole):
        if cards and other != position and not state.finished:
            raise WireError(f"{quote(line)}: shows the hole cards of position {other} before the hand is over")
        if not cards and state.showdown and not state.folded[other]:
            raise WireError(f"{quote(line)}: the hole cards of position {other} are missing at the showdown")
    return MatchState(Position(position), hand, state, deal)


def _follow(betting: str, game: Game, previous: State | None) -> State:
    if previous is not None and betting.startswith(previous.betting):
        # If the rest cannot be read alone (`r30` is no step towards `r300`), the whole is read, for a whole message.
        with contextlib.suppress(WireError):
            return read_betting(previous, betting[len(previous.betting) :])
    return read_betting(start(game), betting)


def parse_deal(text: str, state: State) -> Deal:
    """Read a cards field; the board must be dealt exactly as far as `state` says."""
    game = state.game
    deal = _plain_deal(text, game, len(state.history))
    if deal is not None:
        return deal
    fields = text.split("/", 1)
    hole_texts = fields[0].split("|")
    board_part = "/" + fields[1] if len(fields) > 1 else ""
    if game.num_board_cards[0]:
        # Board cards on the first street follow the last hole cards, if these are known, without a separator.
        known = len(hole_texts[-1]) != 2 * game.num_board_cards[0]
        cut = 2 * game.num_hole_cards if known else 0
        board_part, hole_texts[-1] = hole_texts[-1][cut:] + board_part, hole_texts[-1][:cut]
    if len(hole_texts) != game.num_players:
        raise WireError(f"cards {quote(text)}: expected {game.num_players} hands of hole cards, joined by |")
    try:
        hole = tuple([_cards(hand) for hand in hole_texts])
        board = _cards(board_part.replace("/", ""))
    except CardError as error:
        raise WireError(f"cards {quote(text)}: {error}") from None
    for cards in hole:
        if cards and len(cards) != game.num_hole_cards:
            raise WireError(f"cards {quote(text)}: expected {game.num_hole_cards} hole cards a player")
    dealt = len(board) == game.board_cards_by(state.street)
    if not dealt or board_text(game, board, len(state.history)) != board_part:
        expected = game.num_board_cards[: len(state.history)]
        raise WireError(f"cards {quote(text)}: expected a board of {'/'.join(map(str, expected))} cards")
    everything = [card for cards in hole for card in cards]
    everything += board
    if len(set(everything)) != len(everything):
        raise WireError(f"cards {quote(text)}: the same card twice")
    if not _in_deck(game.num_suits, game.num_ranks).issuperset(everything):
        raise WireError(f"cards {quote(text)}: a card that is not in this game's deck")
    return Deal(hole, board)


def _plain_deal(text: str, game: Game, streets: int) -> Deal | None:
    """What nearly every line is, in one pass: all hole cards known, and nothing wrong. None: read it with care."""
    pattern = _plain_cards(game.num_players, game.num_hole_cards, game.num_board_cards, streets)
    if not pattern.fullmatch(text):
        return None
    everything = [_CARD_OF[found] for found in _CARD.findall(text)]
    if len(set(everything)) != len(everything) or not _in_deck(game.num_suits, game.num_ranks).issuperset(everything):
        return None
    each, board = game.num_hole_cards, game.num_hole_cards * game.num_players
    hole = tuple([tuple(everything[at : at + each]) for at in range(0, board, each)])
    return Deal(hole, tuple(everything[board:]))


_CARD = re.compile("[2-9TJQKA][cdhs]")
_CARD_OF = {card_text(card): card for card in deck()}


@cache
def _plain_cards(players: int, each: int, board: tuple[int, ...], streets: int) -> re.Pattern[str]:
    card = _CARD.pattern
    hole = r"\|".join([f"(?:{card}){{{each}}}"] * players)
    return re.compile(hole + "/".join([f"(?:{card}){{{count}}}" for count in board[:streets]]))


_cards = lru_cache(maxsize=256)(parse_cards)  # the states of a hand repeat its cards


@cache
def _in_deck(num_suits: int, num_ranks: int) -> frozenset[Card]:
    return frozenset(deck(num_suits, num_ranks))


def reply_text(match_state: MatchState, action: Action) -> str:
    """The client's answer, without its end."""
    return f"{match_state_text(match_state)}:{action_text(action, match_state.state.game)}"
