"""The text of match logs: what the reference dealer writes to files, written and read.

    # name/game/hands/seed NAME GAME HANDS SEED      header, three lines of limits below it
    STATE:<hand>:<betting>:<cards>:<values>:<names>  one a finished hand, in POSITION order, all hole cards shown
    SCORE:<totals>:<names>                           last, in SEAT order
    <action> <hand> <sent> <received>                one an action, in the transaction log (times in seconds)

Values are chips with at most six decimals, trailing zeros trimmed (`88615.5`); those of the reference's rescoring tool,
with all six decimals, are read too. As in `wire.py` reading is strict and
total: whatever it is given, only `LogError` comes out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, cast

from machine.errors import ParatusError, quote
from protocol.game import Game
from protocol.state import Action, Deal, State, action_text, start
from protocol.wire import WireError, deal_text, parse_action, parse_deal, read_betting

MICROS: Final = 1_000_000
MAX_HANDS: Final = 2**32 - 1
MAX_SEED: Final = 2**32 - 1


class LogError(ParatusError):
    """A log line that is not what the format says."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a player may think, in milliseconds, as the dealer's options say."""

    response_ms: int = 600_000
    hand_ms: int = 600_000
    per_hand_ms: int = 7_000
    """The mean over the match: the whole match may take this times its number of hands."""


@dataclass(frozen=True, slots=True)
class MatchHeader:
    """The first four lines of a log. Blanks part its fields, so name and game have none."""

    name: str
    game: str
    hands: int
    seed: int
    limits: Limits

    def __post_init__(self) -> None:
        for what, text in (("name of the match", self.name), ("game", self.game)):
            if not text or not text.isprintable() or " " in text:
                raise LogError(f"{what} {quote(text)}: expected printable characters without blanks")

    def lines(self) -> list[str]:
        """As written."""
        return [
            f"# name/game/hands/seed {self.name} {self.game} {self.hands} {self.seed}",
            f"#--t_response {self.limits.response_ms}",
            f"#--t_hand {self.limits.hand_ms}",
            f"#--t_per_hand {self.limits.per_hand_ms}",
        ]


@dataclass(frozen=True, slots=True)
class HandRecord:
    """One finished hand of a log; cards, values and names in position order."""

    hand: int
    state: State
    deal: Deal
    values: tuple[float, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatchScore:
    """The totals of a match, in seat order."""

    values: tuple[float, ...]
    names: tuple[str, ...]


def value_text(value: float) -> str:
    """Six decimals, trailing zeros trimmed."""
    return f"{value:.6f}".rstrip("0").removesuffix(".")


def values_text(values: tuple[float, ...]) -> str:
    """Joined by `|`."""
    return "|".join([value_text(value) for value in values])


def state_line(record: HandRecord) -> str:
    """The STATE line of a hand."""
    return (
        f"STATE:{record.hand}:{record.state.betting}:{deal_text(record.state, record.deal)}:"
        f"{values_text(record.values)}:{'|'.join(record.names)}"
    )


def score_line(score: MatchScore) -> str:
    """The SCORE line of a match."""
    return f"SCORE:{values_text(score.values)}:{'|'.join(score.names)}"


_VALUE = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,6})?")
_STATE = re.compile(r"STATE:(0|[1-9][0-9]{0,9}):([^:]*):([^:]*):([^:]*):([^:]*)")
_SCORE = re.compile(r"SCORE:([^:]*):([^:]*)")
_HEADER = re.compile(r"# name/game/hands/seed (\S+) (\S+) ([0-9]{1,10}) ([0-9]{1,10})")
_LIMIT = re.compile(r"#--(t_response|t_hand|t_per_hand) ([0-9]{1,15})")


def parse_state_line(line: str, game: Game) -> HandRecord:
    """Read a STATE line. Values are taken as written: a scorer may have changed them."""
    found = _STATE.fullmatch(line)
    if found is None:
        raise LogError(f"{quote(line)}: expected STATE:<hand>:<betting>:<cards>:<values>:<names>")
    hand, betting, cards, value_texts, name_texts = found.groups()
    try:
        state = read_betting(start(game), betting)
        deal = parse_deal(cards, state)
    except WireError as error:
        raise LogError(f"{quote(line)}: {error}") from None
    if not state.finished:
        raise LogError(f"{quote(line)}: the hand is not over")
    if not all(deal.hole):
        raise LogError(f"{quote(line)}: hole cards are missing: a log shows those of all players")
    values, names = _values_and_names(line, value_texts, name_texts)
    if len(names) != game.num_players:
        raise LogError(f"{quote(line)}: expected {game.num_players} names")
    return HandRecord(int(hand), state, deal, values, names)


def parse_score_line(line: str) -> MatchScore:
    """Read a SCORE line."""
    found = _SCORE.fullmatch(line)
    if found is None:
        raise LogError(f"{quote(line)}: expected SCORE:<values>:<names>")
    return MatchScore(*_values_and_names(line, found.group(1), found.group(2)))


def _values_and_names(line: str, values: str, names: str) -> tuple[tuple[float, ...], tuple[str, ...]]:
    value_texts, all_names = values.split("|"), _names(names)
    if len(value_texts) != len(all_names):
        raise LogError(f"{quote(line)}: {len(value_texts)} values but {len(all_names)} names")
    read = tuple([_value(text) for text in value_texts])
    if None in read:
        text = value_texts[read.index(None)]
        raise LogError(f"{quote(line)}: value {quote(text)}: expected a number with at most six decimals")
    if not all(all_names):
        raise LogError(f"{quote(line)}: an empty name")
    return cast(tuple[float, ...], read), all_names


@lru_cache(maxsize=4096)
def _value(text: str) -> float | None:
    """The number, or None if this is not how one is written."""
    if not _VALUE.fullmatch(text):
        return None
    value = float(text)
    return value if text in (value_text(value), f"{value:.6f}") else None


@lru_cache(maxsize=64)
def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


def parse_header(lines: list[str]) -> MatchHeader:
    """Read the header from the first lines of a log."""
    found = _HEADER.fullmatch(lines[0]) if lines else None
    if found is None:
        raise LogError(f"{quote(lines[0] if lines else '')}: expected # name/game/hands/seed <name> <game> <n> <seed>")
    limits = {}
    for line in lines[1:4]:
        limit = _LIMIT.fullmatch(line)
        if limit is None:
            raise LogError(f"{quote(line)}: expected #--t_response, #--t_hand or #--t_per_hand")
        limits[limit.group(1)] = int(limit.group(2))
    if len(limits) != 3:
        raise LogError("the header ends early: expected #--t_response, #--t_hand and #--t_per_hand")
    name, game, hands, seed = found.groups()
    times = Limits(limits["t_response"], limits["t_hand"], limits["t_per_hand"])
    header = MatchHeader(name, game, int(hands), int(seed), times)
    if header.hands > MAX_HANDS or header.seed > MAX_SEED:
        raise LogError(f"{quote(lines[0])}: expected at most {MAX_HANDS} hands and a seed of 0 to {MAX_SEED}")
    if header.lines() != lines[:4]:
        raise LogError(f"{quote(' '.join(lines[:4]))}: expected it as it is written: {' '.join(header.lines())}")
    return header


class Transaction(NamedTuple):
    """One action of a match with the times of its state and of its reply, in microseconds of the wall clock."""

    action: Action
    hand: int
    sent_us: int
    received_us: int


def clock_text(micros: int) -> str:
    """`1795002385.445799`."""
    return f"{micros // MICROS}.{micros % MICROS:06d}"


def transaction_line(transaction: Transaction, game: Game) -> str:
    """As written to the transaction log."""
    action = action_text(transaction.action, game)
    return f"{action} {transaction.hand} {clock_text(transaction.sent_us)} {clock_text(transaction.received_us)}"


_TRANSACTION = re.compile(r"(\S{1,11}) ([0-9]{1,10}) ([0-9]{1,12})\.([0-9]{6}) ([0-9]{1,12})\.([0-9]{6})")


def parse_transaction(line: str, state: State) -> Transaction:
    """Read a transaction; `state` is where its action was taken."""
    found = _TRANSACTION.fullmatch(line)
    if found is None:
        raise LogError(f"{quote(line)}: expected <action> <hand> <sent> <received>")
    try:
        action = parse_action(found.group(1), state)
    except WireError as error:
        raise LogError(f"{quote(line)}: {error}") from None
    _, hand, sent, sent_us, received, received_us = found.groups()
    times = int(sent) * MICROS + int(sent_us), int(received) * MICROS + int(received_us)
    transaction = Transaction(action, int(hand), *times)
    if transaction_line(transaction, state.game) != line:
        raise LogError(f"{quote(line)}: expected numbers without leading zeros")
    return transaction
