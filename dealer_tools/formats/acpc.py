"""Match logs of ACPC dealers, ours and the reference one, as played hands, and back.

A log is believed as far as it agrees with itself. What is checked, in this order:

- every line is what `protocol.log` reads: rules, cards, spelling;
- a number names one hand;
- the names sit where the dealer seats them: position p of hand h is seat p + h, or seat p in a match with fixed seats.
  Which of the two, and who has which seat, is what most hands say;
- the values are what betting and cards pay. A log whose values are all-in expectations is another thing than a record
  of a match, and refused as a whole: expectation is for whoever scores it;
- the totals by seat are those of the SCORE line. If no hand is missing and they are not, somebody changed the result:
  the whole file is refused.

None of it asks who won.
"""

from __future__ import annotations

import gc
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dealer_tools.formats.reading import FormatError, Lines, damaged, distinct, missing, read_lines, write_text
from dealer_tools.formats.records import PlayedHand, RecordedSession, RefusedHand
from machine.errors import ParatusError, quote
from protocol.game import Game, load_game
from protocol.log import (
    HandRecord,
    Limits,
    LogError,
    MatchHeader,
    MatchScore,
    parse_header,
    parse_score_line,
    parse_state_line,
    score_line,
    state_line,
    values_text,
)
from protocol.state import payoffs

HEADER_START: Final = "# name/game/hands/seed"
_ROUNDING: Final = 6e-7
"""Values are written with six decimals."""
_NUMBER = re.compile(r"STATE:([0-9]{1,10}):")


@dataclass(slots=True)
class _Found:
    """What a log says, line by line, before any of it is compared."""

    hands: list[PlayedHand] = field(default_factory=list)
    refused: list[RefusedHand] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    """Of all hands that are there, readable or not."""
    unreadable: int = 0
    score: MatchScore | None = None
    score_where: str = ""
    score_cut: bool = False
    notes: list[str] = field(default_factory=list)


def read_log(path: Path, game: Game | None = None) -> RecordedSession:
    """The hands of a log. Without `game` it is what the header names: a file beside the log, or a shipped game."""
    text = read_lines(path)
    header = _header(path, text.lines)
    notes: list[str] = []
    if game is None:
        game = _game_of(path, header, notes)
    collecting = gc.isenabled()
    gc.disable()  # half a million objects that all stay: looking through them again and again finds nothing
    try:
        found = _read(path, text, game)
        return _session(path, header, game, found, notes)
    finally:
        if collecting:
            gc.enable()


# --- The header and the game ----------------------------------------------------------------------------------------


def _header(path: Path, lines: Sequence[str]) -> MatchHeader | None:
    places = [place for place, line in enumerate(lines) if line.startswith(HEADER_START)]
    headers = []
    for place in places:
        try:
            headers.append(parse_header(list(lines[place : place + 4])))
        except LogError as error:
            raise FormatError(f"{path}:{place + 1}: {error}") from None
        if headers[-1] != headers[0]:
            raise FormatError(f"{path}:{place + 1}: a second header, unlike the first: expected one match a file")
    return headers[0] if headers else None


def _game_of(path: Path, header: MatchHeader | None, notes: list[str]) -> Game:
    if header is None:
        raise FormatError(
            f"{path}: no line {HEADER_START} that names the game: expected one, or a game to read it with"
        )
    name = Path(header.game).name
    beside = path.with_name(name if name.endswith(".game") else f"{name}.game")
    try:
        parsed = load_game(str(beside) if beside.is_file() else name)
    except ParatusError as error:
        raise FormatError(f"{path}: game {quote(header.game)} of the header: {error}") from None
    except (OSError, ValueError):  # a name that no file can have
        raise FormatError(f"{path}: game {quote(header.game)} of the header: expected the name of a game") from None
    notes += parsed.warnings
    return parsed.game


# --- Lines ----------------------------------------------------------------------------------------------------------


def _read(path: Path, text: Lines, game: Game) -> _Found:
    found = _Found()
    last = len(text.lines)
    for place, line in enumerate(text.lines, 1):
        if line.startswith(("#", ";")) or not line:
            continue
        where = f"{path}:{place}"
        cut = text.cut and place == last
        if line.startswith("SCORE"):
            _read_score(found, where, line, cut)
            continue
        try:
            if cut:  # even where it reads: its last name may be half a name
                raise LogError(f"{quote(line)}: the file ends in the middle of this line: expected a line end")
            record = parse_state_line(line, game)
            if not line.isprintable() or damaged(line):
                raise LogError(f"{quote(line)}: characters that cannot be printed, or bytes that are no UTF-8")
        except LogError as error:
            found.refused.append(RefusedHand(where, str(error)))
            found.unreadable += 1
            number = _NUMBER.match(line)
            if number:
                found.numbers.add(int(number.group(1)))
            continue
        found.hands.append(PlayedHand(where, record))
        found.numbers.add(record.hand)
    return found


def _read_score(found: _Found, where: str, line: str, cut: bool) -> None:
    try:
        score = parse_score_line(line)
    except LogError as error:
        if cut:
            return  # told as a log without its end
        raise FormatError(f"{where}: {error}") from None
    if found.score is not None and found.score != score:
        raise FormatError(f"{where}: {quote(line)}: a second score, unlike the first: expected one match a file")
    found.score, found.score_where, found.score_cut = score, where, cut


# --- What the lines say together ------------------------------------------------------------------------------------


def _session(path: Path, header: MatchHeader | None, game: Game, found: _Found, notes: list[str]) -> RecordedSession:
    hands, refused, more = distinct(found.hands)
    complete = not refused and not found.unreadable
    seats, fixed = _seats([hand.record for hand in hands], found.score)
    score = _score_of(path, found, seats)
    good: list[PlayedHand] = []
    for hand in hands:
        reason = _name_trouble(hand.record, seats, fixed, header) or _value_trouble(hand)
        if reason:
            refused.append(RefusedHand(hand.where, reason))
        else:
            good.append(hand)
    notes += more
    if len(set(seats)) < len(seats):
        notes.append(f"{path}: players {'|'.join(seats)}: two have one name, and nothing else tells them apart")
    if fixed and hands:
        notes.append(f"{path}: the seats are fixed: {seats[0]} has position 0 in every hand")
    absent, which = missing(found.numbers, header.hands if header else None)
    if absent:
        notes.append(f"{path}: {absent} hands are missing: {which}")
    if score is None:
        notes.append(f"{path}: no SCORE line: the match was not finished, or the log is cut")
    elif complete and not absent:
        _check_score(found.score_where, score, [hand.record for hand in hands], fixed)
    else:
        notes.append(f"{found.score_where}: the score cannot be checked, since hands are missing or unreadable")
    refused += found.refused
    return RecordedSession(str(path), game, seats, tuple(good), tuple(sorted(refused, key=_line_of)), tuple(notes))


def _line_of(refused: RefusedHand) -> int:
    return int(refused.where.rpartition(":")[2])


def _seats(records: Sequence[HandRecord], score: MatchScore | None) -> tuple[tuple[str, ...], bool]:
    """The players by seat, and whether the seats are fixed: as most hands have it."""
    if not records:
        return (score.names if score else ()), False
    players = len(records[0].names)
    votes: Counter[tuple[tuple[str, ...], bool]] = Counter()
    for (names, shift), count in Counter([(record.names, record.hand % players) for record in records]).items():
        votes[_rotated(names, -shift), False] += count
        votes[names, True] += count
    return max(votes, key=lambda vote: (votes[vote], not vote[1]))


def _rotated(names: tuple[str, ...], by: int) -> tuple[str, ...]:
    by %= len(names)
    return names[by:] + names[:by]


def _score_of(path: Path, found: _Found, seats: tuple[str, ...]) -> MatchScore | None:
    score = found.score
    if score is None or score.names == seats:
        return score
    if found.score_cut:
        return None
    raise FormatError(
        f"{found.score_where}: the score names {quote('|'.join(score.names))}: "
        f"expected the players in the order of their seats, {quote('|'.join(seats))}"
    )


def _name_trouble(record: HandRecord, seats: tuple[str, ...], fixed: bool, header: MatchHeader | None) -> str:
    if header is not None and record.hand >= header.hands:
        return f"hand {record.hand}: expected 0 to {header.hands - 1}, since the match has {header.hands} hands"
    expected = seats if fixed else _rotated(seats, record.hand % len(seats))
    if record.names == expected:
        return ""
    strangers = [name for name in record.names if name not in seats]
    if strangers:
        return f"hand {record.hand}: {quote(strangers[0])} does not play in this match: expected {'|'.join(expected)}"
    return (
        f"hand {record.hand}: names {quote('|'.join(record.names))}: expected {'|'.join(expected)} in these positions"
    )


def _value_trouble(hand: PlayedHand) -> str:
    record = hand.record
    paid = payoffs(record.state, record.deal)
    if paid == record.values or _close(paid, record.values):
        return ""
    if record.state.showdown and not record.state.history[-1]:
        from dealer_tools.expectation import expected_values

        if _close(expected_values(record), record.values):
            raise FormatError(
                f"{hand.where}: hand {record.hand}: the values {values_text(record.values)} are all-in expectations, "
                f"not what was won: expected the log as the dealer wrote it ({values_text(paid)})"
            )
    written = values_text(record.values)
    return f"hand {record.hand}: the values {written}: expected {values_text(paid)}, what this hand pays"


def _close(some: tuple[float, ...], others: tuple[float, ...]) -> bool:
    return all(abs(a - b) < _ROUNDING for a, b in zip(some, others, strict=True))


def _totals(records: Sequence[HandRecord], players: int, fixed: bool) -> tuple[float, ...]:
    """Chips by seat."""
    by_seat: list[list[float]] = [[] for _ in range(players)]
    for record in records:
        for position, value in enumerate(record.values):
            by_seat[position if fixed else (position + record.hand) % players].append(value)
    return tuple([math.fsum(values) for values in by_seat])


def _check_score(where: str, score: MatchScore, records: Sequence[HandRecord], fixed: bool) -> None:
    totals = _totals(records, len(score.names), fixed)
    for name, written, total in zip(score.names, score.values, totals, strict=True):
        if abs(written - total) > _ROUNDING * (len(records) + 1):
            raise FormatError(
                f"{where}: the score of {quote(name)} is {values_text((written,))}, but its hands add up to "
                f"{values_text((total,))}: the result was changed"
            )


# --- Writing --------------------------------------------------------------------------------------------------------


def log_text(session: RecordedSession, name: str = "converted", *, seed: int = 0, limits: Limits | None = None) -> str:
    """The session as a log that `read_log` reads back. The game is named, not written: `game_text` does that."""
    records = [hand.record for hand in session.hands]
    seats, fixed = _seats(records, None) if records else (session.players, False)
    hands = max([record.hand + 1 for record in records], default=0)
    bad = [name for name in seats if not name or not name.isprintable() or {*":|"} & {*name}]
    if bad:
        raise FormatError(f"{session.source}: player {quote(bad[0])}: expected printable characters without : and |")
    header = MatchHeader(name, f"{session.game.name}.game", hands, seed, limits or Limits())
    for hand in session.hands:
        trouble = _name_trouble(hand.record, seats, fixed, header) or _value_trouble(hand)
        if not all(hand.record.deal.hole):
            trouble = f"hand {hand.record.hand}: hole cards are unknown: a log shows those of all players"
        if trouble:
            raise FormatError(f"{hand.where}: {trouble}: not written as a log")
    score = MatchScore(_totals(records, len(seats), fixed), seats)
    return "\n".join([*header.lines(), *map(state_line, records), score_line(score), ""])


def write_log(
    path: Path, session: RecordedSession, name: str = "converted", *, seed: int = 0, limits: Limits | None = None
) -> None:
    """Write the session as a log, whole or not at all."""
    write_text(path, log_text(session, name, seed=seed, limits=limits))
