"""What was asked for, and the file that keeps what was played.

    {"paratus lbr": 1, "game": …, "agent": …, "setting": …, …}      the plan, first
    {"pair": 0, "forward": {"chips": …, …}, "reverse": {…}}         a line for each deal, in order

Lines are written with one call each, after the pair is played. A file that ends in the middle of a line was being
written when its writer died: that line is dropped, and its pair is played again. The same plan goes on after the last
pair; another plan is refused, and so is a second writer.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from dealer_tools.lbr.hand import LEGS, Played
from dealer_tools.lbr.settings import Setting
from machine.errors import ConfigError, quote
from protocol.game import Game, game_text

_FORMAT: Final = "paratus lbr"
_VERSION: Final = 1
Pair = tuple[Played, Played]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be played."""

    game_name: str
    game: Game
    agent: str
    identity: dict[str, str]
    """Of the agent: models, hashes, settings."""
    setting: Setting
    deals: int
    seed: int
    think_s: float

    def as_json(self) -> dict[str, Any]:
        """The file's first line: equal plans, and only these, give equal documents."""
        return {
            _FORMAT: _VERSION,
            "game": self.game_name,
            "definition": game_text(self.game),
            "agent": self.agent,
            "identity": self.identity,
            "setting": str(self.setting),
            "deals": self.deals,
            "seed": self.seed,
            "think_s": self.think_s,
        }


class PairFile:
    """The file of a plan, open for the pairs that are missing."""

    def __init__(self, descriptor: int, pairs: list[Pair]) -> None:
        self._descriptor = descriptor
        self.pairs = pairs
        """Those that were there."""

    def append(self, number: int, pair: Pair) -> None:
        """Write the next pair."""
        _write_line(self._descriptor, {"pair": number, **dict(zip(LEGS, map(asdict, pair), strict=True))})


@contextlib.contextmanager
def open_pairs(path: Path, plan: Plan) -> Iterator[PairFile]:
    """The file, made if it is not there, without what is broken at its end."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise ConfigError(f"--out {path}: {error.strerror}: expected a file that can be written") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"--out {path}: is being written: wait for it, or choose another file") from None
        yield PairFile(descriptor, _resume(descriptor, path, plan))
    finally:
        os.close(descriptor)


def _resume(descriptor: int, path: Path, plan: Plan) -> list[Pair]:
    """The whole pairs of the file; a new file gets the plan."""
    with open(descriptor, "rb", closefd=False) as file:
        data = file.read()
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()
    if data and not data.startswith(f'{{"{_FORMAT}":'.encode()):
        raise ConfigError(f"--out {path}: holds something else than hands of `paratus lbr`: expected a new file")
    if whole < len(data):
        os.ftruncate(descriptor, whole)
    if not lines:
        _write_line(descriptor, plan.as_json())
        return []
    _check_plan(_parsed(lines[0], path, 1), path, plan)
    return [_pair(_parsed(line, path, number + 2), number, path) for number, line in enumerate(lines[1:])]


def _check_plan(there: dict[str, Any], path: Path, plan: Plan) -> None:
    wanted = plan.as_json()
    for key in (*wanted, *there):
        if there.get(key) != wanted.get(key):
            held, asked = (quote(json.dumps(each.get(key))) for each in (there, wanted))
            raise ConfigError(
                f"--out {path} holds other hands: {key} is {held}, asked for {asked}: expected a new file"
            )


def _pair(document: dict[str, Any], number: int, path: Path) -> Pair:
    try:
        if document["pair"] != number:
            raise ValueError(f"pair {document['pair']}")
        first, second = (Played(**document[leg]) for leg in LEGS)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}:{number + 2}: {error}: expected pair {number}") from None
    return first, second


def _parsed(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}:{number}: {quote(line.decode('utf-8', 'replace'))}: expected a JSON object")
    return document


def _write_line(descriptor: int, document: dict[str, Any]) -> None:
    data = json.dumps(document).encode() + b"\n"
    if os.write(descriptor, data) != len(data):
        raise OSError("the disk is full: the last line will be dropped and played again")
