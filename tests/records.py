"""The records of the reference dealer."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

from protocol.game import Game, load_game
from protocol.log import MatchHeader, parse_header

DATA = Path(__file__).parent / "data" / "acpc"
RECORDS = {"nl2p": 300, "l2p": 300, "nl3p": 200, "l3p": 200, "leduc": 300, "kuhn3p": 300}
"""Hands in each record."""

_CLOCK = re.compile(r" at [0-9]+\.[0-9]{6}")


def without_clock(line: str) -> str:
    """A line of the message record with its time replaced."""
    return _CLOCK.sub(" at T", line)


@dataclass(frozen=True)
class Record:
    """One match of the reference dealer."""

    name: str
    game: Game
    header: MatchHeader
    names: tuple[str, ...]
    log: tuple[str, ...]
    messages: tuple[str, ...]
    """Lines without their ends, with clock times replaced."""
    raw_messages: str
    """Exactly as recorded."""


def read_record(name: str) -> Record:
    log = (DATA / f"{name}.log").read_text().splitlines()
    raw = gzip.decompress((DATA / f"{name}.messages.gz").read_bytes()).decode()
    messages = [without_clock(line) for line in raw.replace("\r\n", "\n").splitlines()]
    header = parse_header(log[:4])
    names = tuple(log[-1].split(":")[2].split("|"))
    game = load_game(header.game).game
    return Record(name, game, header, names, tuple(log), tuple(messages), raw)
