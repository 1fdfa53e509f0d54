"""Poker hand histories (PHH): a hand as a TOML document, `.phhs` files with one hand a section, read and written.

    variant = "NT"                          NT no-limit hold'em, FT limit hold'em; others are refused
    antes = [0, 0]                          ACPC games have none: others are refused
    blinds_or_straddles = [50, 100]         see below
    min_bet = 100                           NT; the big blind.  FT: small_bet and big_bet
    starting_stacks = [20000, 20000]
    actions = ["d dh p1 AhKd", "p2 cbr 300", …]
    players = ["Alice", "Bob"]              optional, as are hand, seats (numbers from 1) and finishing_stacks

Players p1, p2, … are ACPC's positions 0, 1, … . With two of them p1 has the big blind and p2 the button, but blinds are
listed the small one first: that list alone is turned round. Actions are `d dh p1 AhKd` and `d db 2c3c4c` (the dealer
deals hole cards, a board; `?` is an unknown card), `p1 f`, `p1 cc`, `p1 cbr N` (check or call, bet or raise to N chips
ON THIS STREET), `p1 sm AhKd` (shows; without cards: mucks). What follows `#` is commentary.

The rules are ours (`protocol.state`). pokerkit, whose format this is, plays by those of live tournaments; where stacks
are equal and there are two players that is the same. Elsewhere it leaves out checks of players whom nobody could raise
any more: they are put in.

Values come from the cards. Where a hand that went to showdown was never shown they come from `finishing_stacks`, and
without these the hand is refused. Hands of other games or players make sessions of their own.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from dealer_tools.formats.betting import chips_before_street
from dealer_tools.formats.phh_table import HistoryError, PhhTable
from dealer_tools.formats.reading import FormatError, damaged, distinct, read_lines, write_text
from dealer_tools.formats.records import PlayedHand, RecordedSession, RefusedHand
from machine.errors import ParatusError, quote
from protocol.cards import cards_text
from protocol.game import DEFAULT_MAX_RAISES, MAX_PLAYERS, UNLIMITED, Game, Position, load_game, shipped_games
from protocol.log import HandRecord, value_text, values_text
from protocol.state import Call, Deal, Fold, Raise, State, apply, payoffs, start
from protocol.wire import MAX_HAND_NUMBER

SECTION: Final = re.compile(r"\[([0-9]{1,10})\]\s*(?:#.*)?")
_BOARD: Final = (0, 3, 1, 1)
_LIMIT_RAISES: Final = 4
"""Bets and raises on a street of limit hold'em, where the file does not say."""
_ROUNDING: Final = 6e-7


@dataclass(frozen=True, slots=True)
class History:
    """One hand as its document tells it."""

    record: HandRecord
    seats: tuple[int, ...] | None
    """By position."""


# --- Files ----------------------------------------------------------------------------------------------------------


def read_sessions(path: Path) -> list[RecordedSession]:
    """The hands of a `.phh` or `.phhs` file, one session for each game and set of players."""
    hands: list[tuple[PlayedHand, History]] = []
    refused: list[RefusedHand] = []
    for number, place, text in _documents(read_lines(path).lines):
        where = f"{path}:{place}"
        try:
            hand = parse_hand(text, number)
        except HistoryError as error:
            refused.append(RefusedHand(where, str(error)))
            continue
        hands.append((PlayedHand(where, hand.record), hand))
    if not hands:
        reason = f"{refused[0].where}: {refused[0].reason}" if refused else f"{path}: no hands"
        raise FormatError(f"{reason}: expected a poker hand history")
    groups: dict[tuple[Game, frozenset[str]], list[tuple[PlayedHand, History]]] = {}
    for played, hand in hands:
        groups.setdefault((hand.record.state.game, frozenset(hand.record.names)), []).append((played, hand))
    sessions = []
    for (game, _), members in groups.items():
        kept, clashes, notes = distinct([played for played, _ in members])
        everything = sorted([*clashes, *refused], key=_line_of)
        refused = []  # nobody knows whose they are: told once
        sessions.append(
            RecordedSession(str(path), game, _players(members), tuple(kept), tuple(everything), tuple(notes))
        )
    return sessions


def _documents(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Number, line and text of every hand: what is between two headers of sections, or everything."""
    starts = [(place, found) for place, line in enumerate(lines) if (found := SECTION.fullmatch(line))]
    if not starts:
        return [(0, 1, "\n".join(lines))] if any(lines) else []
    documents = []
    before = "\n".join(lines[: starts[0][0]])
    if any(line and not line.startswith("#") for line in lines[: starts[0][0]]):
        documents.append((0, 1, before))
    ends = [*[place for place, _ in starts[1:]], len(lines)]
    for (place, found), end in zip(starts, ends, strict=True):
        documents.append((int(found.group(1)), place + 1, "\n".join(lines[place + 1 : end])))
    return documents


def _players(members: Sequence[tuple[PlayedHand, History]]) -> tuple[str, ...]:
    """By seat if the first hand tells them, else as they sat in it."""
    first = members[0][1]
    if first.seats is None:
        return first.record.names
    return tuple([name for _, name in sorted(zip(first.seats, first.record.names, strict=True))])


def _line_of(refused: RefusedHand) -> int:
    return int(refused.where.rpartition(":")[2])


# --- One hand -------------------------------------------------------------------------------------------------------


def parse_hand(text: str, number: int = 0) -> History:
    """Read one hand; `number` is its number if it has none of its own."""
    if damaged(text):
        raise HistoryError("bytes that are no UTF-8")
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise HistoryError(f"not TOML: {quote(str(error))}") from None
    game = _game(document)
    deal, state, mucked = _play(game, document)
    values = _values(document, game, state, deal, mucked)
    own = document.get("hand")
    if isinstance(own, str) and own.isascii() and own.isdecimal():
        own = int(own) if len(own) < 12 else None
    if type(own) is int and 0 <= own <= MAX_HAND_NUMBER:
        number = own
    names = _names(document, game.num_players)
    return History(HandRecord(number, state, deal, values, names), _seats(document, game.num_players))


def _game(document: Mapping[str, Any]) -> Game:
    variant = document.get("variant")
    if variant not in ("NT", "FT"):
        raise HistoryError(f"variant {quote(repr(variant))}: expected 'NT' or 'FT', hold'em")
    stacks = _integers(document, "starting_stacks", None)
    players = len(stacks)
    if not 2 <= players <= MAX_PLAYERS:
        raise HistoryError(f"starting_stacks: {players} players: expected 2 to {MAX_PLAYERS}")
    if any(_integers(document, "antes", players)):
        raise HistoryError("antes: ACPC games have none: expected zeros")
    listed = _integers(document, "blinds_or_straddles", players)
    blinds = tuple([min(blind, stack) for blind, stack in zip(_turned(listed), stacks, strict=True)])
    no_limit = variant == "NT"
    if no_limit and _integer(document, "min_bet") != max(blinds):
        raise HistoryError(f"min_bet {document['min_bet']}: expected {max(blinds)}, the largest blind posted")
    sizes = () if no_limit else tuple([_integer(document, f"{size}_bet") for size in ("small", "small", "big", "big")])
    default = (DEFAULT_MAX_RAISES if no_limit else _LIMIT_RAISES,) * 4
    raises = _integers(document, "_max_raises", 4) if "_max_raises" in document else default
    try:
        game = Game(
            no_limit=no_limit,
            num_players=players,
            num_rounds=4,
            blind=blinds,
            stack=stacks,
            first_player=(_opener(blinds), Position(0), Position(0), Position(0)),
            raise_size=sizes,
            max_raises=raises,
            num_suits=4,
            num_ranks=13,
            num_hole_cards=2,
            num_board_cards=_BOARD,
            name="phh",
        )
    except ParatusError as error:
        raise HistoryError(str(error)) from None
    return next((known for known in _shipped() if replace(game, name=known.name) == known), game)


def _turned(blinds: tuple[int, ...]) -> tuple[int, ...]:
    """Between the order of the list and that of positions."""
    return blinds[::-1] if len(blinds) == 2 else blinds


def _opener(blinds: tuple[int, ...]) -> Position:
    """Who acts first before the flop: whoever sits behind the largest blind, the last of them if they are equal."""
    largest = max(range(len(blinds)), key=lambda position: (blinds[position], position))
    return Position((largest + 1) % len(blinds))


@cache
def _shipped() -> tuple[Game, ...]:
    return tuple([load_game(name).game for name in shipped_games()])


def _play(game: Game, document: Mapping[str, Any]) -> tuple[Deal, State, set[int]]:
    """Follow the actions: the cards, the end of the betting, and who threw the cards away at the end."""
    texts = document.get("actions")
    if not isinstance(texts, list):
        raise HistoryError("actions: expected a list of texts")
    table = PhhTable(start(game), [() for _ in range(game.num_players)])
    for index, text in enumerate(texts, 1):
        try:
            table.act(text.partition("#")[0].strip() if isinstance(text, str) else "no text")
        except ParatusError as error:
            raise HistoryError(f"action {index}, {_shown(text)}: {error}") from None
    table.check_through()
    state, board = table.state, table.board
    if not state.finished:
        raise HistoryError(f"betting {quote(state.betting)}: the hand is not over")
    expected = game.board_cards_by(state.street)
    if len(board) != expected or any(len(hole) not in (0, 2) for hole in table.hole):
        raise HistoryError(f"at the end {len(board)} board cards: expected {expected}, and two hole cards a player")
    return Deal(tuple(table.hole), board), state, table.mucked


def _values(document: Mapping[str, Any], game: Game, state: State, deal: Deal, mucked: set[int]) -> tuple[float, ...]:
    """What the cards pay, or what the stacks say where cards are unknown that would decide."""
    told = None
    if "finishing_stacks" in document:
        stacks = _numbers(document, "finishing_stacks", game.num_players)
        told = tuple([after - before for after, before in zip(stacks, game.stack, strict=True)])
    in_play = [position for position, gone in enumerate(state.folded) if not gone]
    if state.showdown and not all(deal.hole[position] for position in in_play):
        if told is None:
            raise HistoryError("hole cards at the showdown are unknown: expected them, or finishing_stacks")
        lost = [-chips for chips in state.committed]
        short = any(value < least - _ROUNDING for value, least in zip(told, lost, strict=True))
        folded = any(abs(told[p] - lost[p]) > _ROUNDING for p, gone in enumerate(state.folded) if gone)
        if short or folded or abs(sum(told)) > _ROUNDING * len(told):
            raise HistoryError(f"finishing_stacks: {values_text(told)} won: expected shares of a pot of {state.pot}")
        return told
    paid = payoffs(state, deal)
    if told is not None and any(abs(a - b) > _ROUNDING for a, b in zip(told, paid, strict=True)):
        raise HistoryError(
            f"finishing_stacks: {values_text(told)} won: expected {values_text(paid)}, what this hand pays"
        )
    wasted = [position for position in mucked if paid[position] >= 0 and deal.hole[position]]
    if wasted:
        raise HistoryError(f"p{wasted[0] + 1} mucks a hand that wins or ties: nobody can say what it was worth")
    return paid


# --- Fields ---------------------------------------------------------------------------------------------------------


def _shown(value: object) -> str:
    return quote(value if isinstance(value, str) else repr(value))


def _whole(value: object) -> int | None:
    """A number of chips, or None if it is something else."""
    if isinstance(value, float) and value.is_integer() and 0 <= value <= UNLIMITED:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= UNLIMITED:
        return value
    return None


def _integer(document: Mapping[str, Any], key: str) -> int:
    value = _whole(document.get(key))
    if value is None:
        raise HistoryError(f"{key} {_shown(document.get(key))}: expected a whole number of chips")
    return value


def _integers(document: Mapping[str, Any], key: str, count: int | None) -> tuple[int, ...]:
    values = document.get(key)
    numbers = [_whole(value) for value in values] if isinstance(values, list) else [None]
    whole = tuple([number for number in numbers if number is not None])
    if len(whole) < len(numbers) or count not in (None, len(whole)):
        raise HistoryError(f"{key} {_shown(values)}: expected {count or 'some'} whole numbers")
    return whole


def _numbers(document: Mapping[str, Any], key: str, count: int) -> tuple[float, ...]:
    values = document.get(key)
    if not isinstance(values, list) or len(values) != count:
        raise HistoryError(f"{key} {_shown(values)}: expected {count} numbers")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_PLAYERS * UNLIMITED:
            raise HistoryError(f"{key} {_shown(value)}: expected chips")
    return tuple(map(float, values))


def _names(document: Mapping[str, Any], players: int) -> tuple[str, ...]:
    names = document.get("players")
    if names is None:
        return tuple([f"p{position + 1}" for position in range(players)])
    good = isinstance(names, list) and all(isinstance(name, str) and name and name.isprintable() for name in names)
    if not good or len(set(names)) != players or len(names) != players:
        raise HistoryError(f"players {_shown(names)}: expected {players} different names")
    return tuple(names)


def _seats(document: Mapping[str, Any], players: int) -> tuple[int, ...] | None:
    if "seats" not in document:
        return None
    seats = _integers(document, "seats", players)
    if len(set(seats)) != players:
        raise HistoryError(f"seats {_shown(document['seats'])}: expected {players} different numbers")
    return seats


# --- Writing --------------------------------------------------------------------------------------------------------


def hand_text(record: HandRecord, players: Sequence[str] = ()) -> str:
    """The document of a hand; `players`, by seat, say who sits where."""
    game = record.state.game
    variant = _variant(game)
    lines = {"variant": _text(variant), "antes": _list(0 for _ in record.names)}
    lines["blinds_or_straddles"] = _list(_turned(game.blind))
    if variant == "NT":
        lines["min_bet"] = str(game.big_blind)
    else:
        lines |= {"small_bet": str(game.raise_size[0]), "big_bet": str(game.raise_size[2])}
    lines["starting_stacks"] = _list(game.stack)
    lines["actions"] = _list(map(_text, _actions(record)))
    lines["hand"] = str(record.hand)
    if players:
        lines["seats"] = _list(players.index(name) + 1 for name in record.names)
    lines["players"] = _list(map(_text, record.names))
    finishing = [stack + value for stack, value in zip(game.stack, record.values, strict=True)]
    lines["finishing_stacks"] = _list(map(value_text, finishing))
    if set(game.max_raises) != {DEFAULT_MAX_RAISES if variant == "NT" else _LIMIT_RAISES}:
        lines["_max_raises"] = _list(game.max_raises)
    return "".join([f"{key} = {value}\n" for key, value in lines.items()])


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _variant(game: Game) -> str:
    first = (_opener(game.blind), Position(0), Position(0), Position(0))
    holdem = (game.num_hole_cards, game.num_board_cards, game.num_suits, game.num_ranks) == (2, _BOARD, 4, 13)
    small, big = (0, 0) if game.no_limit else (game.raise_size[0], game.raise_size[-1])
    if not holdem or game.first_player != first or (not game.no_limit and game.raise_size != (small, small, big, big)):
        raise FormatError(f"game {game.name}: no variant of PHH: expected hold'em, limit or no-limit")
    if max(game.blind) == 0:
        raise FormatError(f"game {game.name}: no blinds: expected some")
    return "NT" if game.no_limit else "FT"


def _actions(record: HandRecord) -> list[str]:
    state, (hole, board) = record.state, record.deal
    game, at = state.game, start(state.game)
    texts = [f"d dh p{player} {cards_text(cards) or '????'}" for player, cards in enumerate(hole, 1)]
    dealt = 0
    shows = [
        f"p{position + 1} sm{' ' if cards else ''}{cards_text(cards)}"
        for position, cards in enumerate(hole)
        if state.showdown and not state.folded[position]
    ]
    for street, actions in enumerate(state.history):
        if at.finished and shows:  # all-in: hands are shown before the rest of the board comes
            texts += shows
            shows = []
        count = game.num_board_cards[street]
        if count:
            texts.append(f"d db {cards_text(board[dealt : dealt + count])}")
            dealt += count
        for action in actions:
            player = 0 if at.actor is None else at.actor + 1
            match action:
                case Fold():
                    texts.append(f"p{player} f")
                case Call():
                    texts.append(f"p{player} cc")
                case Raise(to):
                    texts.append(f"p{player} cbr {to - chips_before_street(at)}")
            at = apply(at, action)
    return texts + shows


def session_text(session: RecordedSession, *, sections: bool = True) -> str:
    """All hands, each a section; without sections there can be but one."""
    if not sections and len(session.hands) != 1:
        raise FormatError(f"{session.source}: {len(session.hands)} hands: a .phh file holds one, expected .phhs")
    texts = [hand_text(hand.record, session.players) for hand in session.hands]
    return "\n".join([f"[{number}]\n{text}" for number, text in enumerate(texts, 1)]) if sections else texts[0]


def write_session(path: Path, session: RecordedSession) -> None:
    """Write the session, whole or not at all: as one document if the name ends `.phh`, else in sections (`.phhs`)."""
    write_text(path, session_text(session, sections=path.suffix != ".phh"))
