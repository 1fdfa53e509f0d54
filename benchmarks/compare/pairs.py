"""Pairs of measurements, and the file that keeps them as they come: a comparison that was killed goes on from there.

JSON lines. The first says what is compared, and with which program; each other is one pair of one part, old and new
measured back to back. Half a pair is not kept: what was measured an hour later is no pair.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.compare.checkouts import Timings
from machine.errors import ConfigError, ParatusError
from machine.files import check_can_write

SIDES: Final = ("old", "new")


@dataclass(frozen=True)
class TimedPair:
    """One part, measured in both checkouts."""

    part: str
    number: int
    old: Timings
    new: Timings

    def __post_init__(self) -> None:
        if self.old.times_s.keys() != self.new.times_s.keys():
            raise ParatusError(f"{self.part}: old and new measured different things: expected the same names")


def order(number: int) -> Sequence[str]:
    """Which side of a pair goes first: old, new, new, old, old, new …, so that a drift favours neither."""
    return SIDES if number % 2 == 0 else SIDES[::-1]


class PairsFile:
    """The pairs of one comparison; without a path they are kept in memory alone."""

    def __init__(self, path: Path | None, compared: dict[str, Any]) -> None:
        """`compared` says, as JSON, what a pair has to share with those that are there already."""
        self._path = path
        self._pairs: dict[tuple[str, int], TimedPair] = {}
        if path is not None:
            check_can_write(path, "--out")
            self._go_on(path, compared)

    def has(self, part: str, number: int) -> bool:
        """Whether that pair is there."""
        return (part, number) in self._pairs

    def of_part(self, part: str) -> list[TimedPair]:
        """In order."""
        return [pair for (its_part, _), pair in sorted(self._pairs.items()) if its_part == part]

    def add(self, pair: TimedPair) -> None:
        """Keep it, on the disk too."""
        self._pairs[pair.part, pair.number] = pair
        if self._path is not None:
            _append(self._path, asdict(pair))

    def _go_on(self, path: Path, compared: dict[str, Any]) -> None:
        """Read what is there, but for a last line that is not whole: whoever wrote it was killed."""
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        try:
            if not whole and not json.dumps(compared).encode().startswith(text):
                raise ValueError("not even the beginning of a first line of ours")
            lines = [json.loads(line) for line in whole.splitlines()]
            pairs = [TimedPair(**{**line, **{side: Timings(**line[side]) for side in SIDES}}) for line in lines[1:]]
        except (ValueError, TypeError, KeyError):
            raise ConfigError(
                f"--out {path}: expected the pairs of a comparison, or a file that is not there"
            ) from None
        if lines and lines[0] != compared:
            differing = [
                key for key in compared if not isinstance(lines[0], dict) or lines[0].get(key) != compared[key]
            ]
            raise ConfigError(f"--out {path}: of another comparison ({', '.join(differing)}): expected another file")
        if whole != text:
            os.truncate(path, len(whole))
        if not lines:
            _append(path, compared)
        self._pairs = {(pair.part, pair.number): pair for pair in pairs}


def _append(path: Path, document: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(document) + "\n")
        file.flush()
        os.fsync(file.fileno())
