"""Slumbot's text for betting, both ways; its replies as played hands; the log of a session with it.

Slumbot plays heads-up no-limit hold'em with blinds of 50 and 100 and stacks of 20,000 that are new every hand. Its
positions are ACPC's: 0 posts the big blind, 1 the small one and has the button. Its actions are not:

    k   check            c   call         (ACPC: both c)
    f   fold             bN  bet or raise to N chips of that player ON THIS STREET, blind included
                             (ACPC: over the whole hand)

Streets are joined by `/`. Where a street has ended and nothing was done since, the slashes at the end (`b200c/`, and
`b20000c///` after an all-in call) may be left out; here they are written. Apart from them betting has one spelling,
and reading accepts nothing else.

A session log is ours: one JSON object a line, for a finished hand the server's last reply, for one that could not be
finished why not and, if there is one, the last reply that could be believed:

    {"hand": 0, "begun": "2026-11-19T06:17:27Z"}
    {"hand": 0, "reply": {"action": "b200c/kb200f", "client_pos": 0, …}}
    {"hand": 1, "begun": "2026-11-19T06:17:31Z"}
    {"hand": 1, "broken": "the server took longer than 60 s", "last": {"action": "b200", …}}

A client that writes down when it asks for a hand, so that one it did not live to finish is known, has lines for that
too. Of a hand with nothing else it is only known that it was begun: it is left out, as a broken one.

`baseline_winnings` of a reply is the server's own correction for luck, already a difference: what we won above what
Slumbot itself wins with the same cards. It is kept beside the hands, since they are what was played.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from dealer_tools.formats.betting import chips_before_street
from dealer_tools.formats.reading import FormatError, damaged, distinct, missing, read_lines, write_text
from dealer_tools.formats.records import PlayedHand, RecordedSession, RefusedHand
from machine.errors import ParatusError, quote
from protocol.cards import Card, CardError, card_text, parse_card
from protocol.errors import IllegalAction
from protocol.game import DEFAULT_GAME, Game, Position, load_game
from protocol.log import HandRecord, values_text
from protocol.state import CALL, FOLD, Action, Deal, Fold, Raise, State, apply, payoffs, start
from protocol.wire import MAX_HAND_NUMBER

SERVER: Final = "slumbot"
CLIENT: Final = "paratus"
_ACTION = re.compile(r"([kcf])|b([1-9][0-9]{0,9})")
_MAX_CHIPS: Final = 2**31
_MAX_DEPTH: Final = 100
"""Lists and objects in a line, far above what a reply has: nobody is to nest them as deep as Python can count."""


_KINDS: Final = ({"hand", "reply"}, {"hand", "broken"}, {"hand", "broken", "last"}, {"hand", "begun"})
"""The keys of a line."""


class SlumbotError(ParatusError):
    """Text or a reply that is not what slumbot.com sends."""


@cache
def slumbot_game() -> Game:
    """The game that Slumbot plays, which is the default one of ACPC."""
    return load_game(DEFAULT_GAME).game


# --- Betting --------------------------------------------------------------------------------------------------------


def action_to_text(state: State, action: Action) -> str:
    """How Slumbot spells `action`, taken at `state`."""
    if isinstance(action, Raise):
        return f"b{action.to - chips_before_street(state)}"
    if isinstance(action, Fold):
        return "f"
    return "c" if state.owed else "k"


def betting_to_text(state: State) -> str:
    """The whole betting that led to `state`."""
    at, streets = start(state.game), []
    for actions in state.history:
        texts = []
        for action in actions:
            texts.append(action_to_text(at, action))
            at = apply(at, action)
        streets.append("".join(texts))
    return "/".join(streets)


def read_action(text: str, state: State) -> Action:
    """The legal action that `text` spells at `state`."""
    found = _ACTION.fullmatch(text)
    if found is None:
        raise SlumbotError(f"action {quote(text)}: expected k, c, f or b with chips, as in b200")
    action = _action(found, state)
    try:
        apply(state, action)
    except IllegalAction as error:
        raise SlumbotError(f"action {quote(text)}: illegal {error}") from None
    return action


def _action(found: re.Match[str], state: State) -> Action:
    letter, size = found.groups()
    if size is not None:
        return Raise(int(size) + chips_before_street(state))
    if letter == "f":
        return FOLD
    if (letter == "c") != (state.owed > 0) and not state.finished:
        expected = "c, since chips are owed" if state.owed else "k, since nothing is owed"
        raise SlumbotError(f"action {quote(found.string)} at character {found.start()}: expected {expected}")
    return CALL


def read_betting(text: str, game: Game | None = None) -> State:
    """The state that `text`, the betting of a whole hand so far, leads to."""
    state, at, end = start(game or slumbot_game()), 0, len(text)
    while at < end:
        found = _ACTION.match(text, at)
        if found is None:
            raise SlumbotError(f"betting {quote(text)} at character {at}: expected k, c, f or b with chips")
        streets = len(state.history)
        try:
            state = apply(state, _action(found, state))
        except IllegalAction as error:
            raise SlumbotError(f"betting {quote(text)} at character {at}: illegal {error}") from None
        at = found.end()
        slashes = len(state.history) - streets
        if at < end and text[at : at + slashes] != "/" * slashes:
            raise SlumbotError(f"betting {quote(text)} at character {at}: expected / since the street is over")
        at += slashes
    return state


# --- Replies --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SlumbotHand:
    """A finished hand, as the server's last reply tells it."""

    record: HandRecord
    position: Position
    """Ours."""
    baseline_chips: float | None
    """What we won above Slumbot against itself with these cards, if the reply says."""


def parse_reply(document: object, hand: int = 0, player: str = CLIENT) -> SlumbotHand:
    """Read the last reply of a hand: both hands are known, and what was won is what this hand pays."""
    if not isinstance(document, dict):
        raise SlumbotError(f"reply {quote(str(document))}: expected an object")
    if document.get("error_msg") is not None:
        raise SlumbotError(f"the server answered {quote(str(document['error_msg']))}")
    if document.get("winnings") is None:
        raise SlumbotError("no winnings: the hand is not over")
    position = integer_of(document, "client_pos", 0, 1)
    action = document.get("action")
    if not isinstance(action, str):
        raise SlumbotError(f"action {quote(repr(action))}: expected text")
    state = read_betting(action)
    if not state.finished:
        raise SlumbotError(f"action {quote(action)}: there are winnings, but the hand is not over")
    mine, theirs = cards_of(document, "hole_cards", 2), cards_of(document, "bot_hole_cards", 2)
    board = cards_of(document, "board", state.game.board_cards_by(state.street))
    if len({*mine, *theirs, *board}) != len(mine) + len(theirs) + len(board):
        raise SlumbotError(f"hole_cards, bot_hole_cards and board of {quote(action)}: expected no card twice")
    deal = Deal((mine, theirs) if position == 0 else (theirs, mine), board)
    values = payoffs(state, deal)
    winnings = number_of(document, "winnings")
    if winnings != values[position]:
        paid = values_text((values[position],))
        raise SlumbotError(f"winnings {values_text((winnings,))}: expected {paid}, what {quote(action)} pays")
    baseline = None if document.get("baseline_winnings") is None else number_of(document, "baseline_winnings")
    names = (player, SERVER) if position == 0 else (SERVER, player)
    return SlumbotHand(HandRecord(hand, state, deal, values, names), Position(position), baseline)


def parse_object(text: str) -> dict[str, Any]:
    """One JSON object, with no key twice and no deeper than any reply is."""
    if text.count("[") + text.count("{") > _MAX_DEPTH:
        raise SlumbotError(f"{quote(text)}: more than {_MAX_DEPTH} lists and objects: expected a reply")
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise SlumbotError(f"{quote(text)}: {error}: expected one JSON object") from None
    if not isinstance(document, dict):
        raise SlumbotError(f"{quote(text)}: expected one JSON object")
    return document


def reply_of(record: HandRecord, player: str = CLIENT) -> dict[str, Any]:
    """The last reply of a hand as the server would have sent it, for hands that were played elsewhere."""
    position = record.names.index(player)
    winnings = record.values[position]
    return {
        "action": betting_to_text(record.state),
        "client_pos": position,
        "hole_cards": [*map(card_text, record.deal.hole[position])],
        "board": [*map(card_text, record.deal.board)],
        "bot_hole_cards": [*map(card_text, record.deal.hole[1 - position])],
        "winnings": int(winnings) if winnings.is_integer() else winnings,
    }


def integer_of(document: Mapping[str, Any], key: str, low: int, high: int) -> int:
    value = document.get(key)
    if type(value) is not int or not low <= value <= high:
        raise SlumbotError(f"{key} {quote(repr(value))}: expected {low} to {high}")
    return value


def number_of(document: Mapping[str, Any], key: str) -> float:
    value = document.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_MAX_CHIPS < value < _MAX_CHIPS:
        raise SlumbotError(f"{key} {quote(repr(value))}: expected chips")
    return float(value)


def cards_of(document: Mapping[str, Any], key: str, count: int) -> tuple[Card, ...]:
    texts = document.get(key)
    if not isinstance(texts, list) or len(texts) != count:
        raise SlumbotError(f"{key} {quote(repr(texts))}: expected {count} cards")
    try:
        return tuple([parse_card(text if isinstance(text, str) else repr(text)) for text in texts])
    except CardError as error:
        raise SlumbotError(f"{key} {quote(repr(texts))}: {error}") from None


# --- Session logs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begun:
    """Numbers of hands in a session log."""

    finished: frozenset[int]
    broken: frozenset[int]
    open: frozenset[int]
    """Begun, and nothing else is known."""


def read_numbers(path: Path) -> Begun:
    """Which hands a session log has, for whoever goes on with it. Lines that cannot be read are for scoring to tell."""
    begun, finished, broken = set[int](), set[int](), set[int]()
    for line in read_lines(path).lines if path.exists() else ():
        try:
            number, entry = _parse_line(line)
        except SlumbotError:
            continue
        for key, numbers in (("begun", begun), ("reply", finished), ("broken", broken)):
            if key in entry:
                numbers.add(number)
    return Begun(frozenset(finished - broken), frozenset(broken), frozenset(begun - finished - broken))


@dataclass(frozen=True, slots=True)
class SlumbotLog:
    """A session log: the hands, and what the server says of their luck."""

    session: RecordedSession
    baselines: Mapping[int, float]
    """`baseline_winnings` in chips by number of the hand, for those of the session that have it."""


def read_session(path: Path, player: str = CLIENT) -> RecordedSession:
    """The hands of a session log."""
    return read_session_log(path, player).session


def read_session_log(path: Path, player: str = CLIENT) -> SlumbotLog:
    """The hands of a session log with the server's corrections."""
    lines, _ = read_lines(path)
    hands: list[PlayedHand] = []
    refused: dict[str, str] = {}
    broken: dict[int, str] = {}
    baselines: dict[int, float | None] = {}
    numbers: set[int] = set()
    begun: dict[int, str] = {}
    ended: set[int] = set()
    for place, line in enumerate(lines, 1):
        where = f"{path}:{place}"
        if not line.strip():
            continue
        try:
            number, entry = _parse_line(line)
            numbers.add(number)
            if "begun" in entry:
                begun.setdefault(number, where)
                continue
            ended.add(number)
            if "broken" in entry:
                broken[number] = where
                raise SlumbotError(f"hand {number} is broken: {_why(entry)}")
            played = parse_reply(entry["reply"], number, player)
        except SlumbotError as error:
            refused[where] = str(error)
            continue
        hands.append(PlayedHand(where, played.record, baseline_chips=played.baseline_chips))
        baselines[number] = played.baseline_chips
    kept, clashes, notes = distinct(hands)
    refused |= {clash.where: clash.reason for clash in clashes}
    for hand in kept:
        if hand.record.hand in broken:
            refused[hand.where] = f"hand {hand.record.hand} is broken at {broken[hand.record.hand]}: not counted"
    for number in begun.keys() - ended:
        refused[begun[number]] = f"hand {number} was begun, and how it ended is not known: not counted"
    absent, which = missing(numbers)
    if absent:
        notes.append(f"{path}: {absent} hands are missing: {which}")
    good = tuple([hand for hand in kept if hand.where not in refused])
    in_order = tuple([RefusedHand(where, refused[where]) for where in sorted(refused, key=_line_of)])
    session = RecordedSession(str(path), slumbot_game(), (player, SERVER), good, in_order, tuple(notes))
    known = {hand.record.hand: baselines[hand.record.hand] for hand in good}
    return SlumbotLog(session, {number: chips for number, chips in known.items() if chips is not None})


def _line_of(where: str) -> int:
    return int(where.rpartition(":")[2])


def _parse_line(line: str) -> tuple[int, dict[str, Any]]:
    entry = parse_object(line)
    if damaged(line):
        raise SlumbotError(f"{quote(line)}: bytes that are no UTF-8")
    if set(entry) not in _KINDS:
        raise SlumbotError(
            f'{quote(line)}: expected {{"hand": …, "reply": …}}, {{"hand": …, "broken": …}}, {{"hand": …, "begun": …}}'
        )
    return integer_of(entry, "hand", 0, MAX_HAND_NUMBER), entry


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) != len(pairs):
        raise ValueError("a key twice in one object")
    return entry


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _why(entry: Mapping[str, Any]) -> str:
    why = entry["broken"]
    return quote(why if isinstance(why, str) else repr(why))


def hand_line(hand: int, reply: Mapping[str, Any]) -> str:
    """The line of a finished hand, without its end. The token is a password of sorts and stays out."""
    return _line({"hand": hand, "reply": _without_token(reply)})


def _without_token(reply: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in reply.items() if key != "token"}


def begun_line(hand: int, when: str) -> str:
    """The line of a hand that is about to be asked for, without its end."""
    return _line({"hand": hand, "begun": when})


def broken_line(hand: int, why: str, last: Mapping[str, Any] | None = None) -> str:
    """The line of a hand that could not be finished, without its end; `last` is the last reply that made sense."""
    if last is None:
        return _line({"hand": hand, "broken": why})
    return _line({"hand": hand, "broken": why, "last": _without_token(last)})


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=True, allow_nan=False)


def session_text(session: RecordedSession, player: str = CLIENT) -> str:
    """A session as the log of one with Slumbot: `player` is us, whoever sits opposite is the server."""
    if session.game != slumbot_game() or player not in session.players:
        raise FormatError(f"{session.source}: expected {DEFAULT_GAME} with {quote(player)}: not written for Slumbot")
    lines = []
    for hand in session.hands:
        if not all(hand.record.deal.hole):
            raise FormatError(f"{hand.where}: hole cards are unknown: not written for Slumbot")
        lines.append(hand_line(hand.record.hand, reply_of(hand.record, player)) + "\n")
    return "".join(lines)


def write_session(path: Path, session: RecordedSession, player: str = CLIENT) -> None:
    """Write the session as a session log, whole or not at all."""
    write_text(path, session_text(session, player))
