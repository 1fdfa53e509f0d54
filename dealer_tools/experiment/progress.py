"""How the matches of an experiment stand: read from their logs while they are being played.

What is shown of a match under way is for the eye. Nothing stops or goes on because of it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dealer_tools.experiment.plan import Task
from dealer_tools.results import Z95
from dealer_tools.tail import Tail
from machine.errors import ParatusError
from strategies.store import StoreReader

_FALLBACKS_EVERY_S: Final = 5.0


@dataclass(slots=True)
class Moments:
    """A running mean and its spread (Welford)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """One more observation."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)

    @property
    def half_width(self) -> float:
        """Of the 95 % interval; NaN without two observations."""
        if self.count < 2:
            return math.nan
        return Z95 * math.sqrt(self.squares / (self.count - 1) / self.count)


class MatchProgress:
    """One match."""

    def __init__(self, task: Task, folder: Path) -> None:
        self.task = task
        self.total = task.match.hands * len(task.match.legs)
        self.done = 0
        self.fallbacks = 0
        self._folder = folder
        self._logs = {leg.name: Tail(folder / leg.name / "match.log") for leg in task.match.legs}
        self._chips: dict[str, list[float]] = {name: [] for name in self._logs}
        """Of the first player."""
        self._alone, self._paired = Moments(), Moments()
        self._first: tuple[float, int] | None = None
        self._look_s = 0.0

    def look(self, *, last: bool = False) -> None:
        """Read what is new; `last`: it has ended."""
        for name, log in self._logs.items():
            for line in log.lines():
                if line.startswith(b"STATE:"):
                    self._hand(name, line.decode("utf-8", "replace"))
        now = time.monotonic()
        if self._first is None:
            self._first = now, self.done
        if last or now >= self._look_s:
            self._look_s = now + _FALLBACKS_EVERY_S
            self.fallbacks = self._count_fallbacks()

    @property
    def rate(self) -> float:
        """Hands a second since the first look."""
        if self._first is None:
            return 0.0
        begun, before = self._first
        return (self.done - before) / max(time.monotonic() - begun, 1e-9)

    @property
    def estimate(self) -> Moments:
        """In mbb/g, of the first player: of pairs where there are two, else of hands."""
        return self._paired if self._paired.count > 1 else self._alone

    def _hand(self, leg: str, line: str) -> None:
        values, names = (field.split("|") for field in line.split(":")[-2:])
        unit = 1000 / self.task.match.game.big_blind
        value = unit * float(values[names.index(self.task.pair[0])])
        number = len(self._chips[leg])
        self._chips[leg].append(value)
        self.done += 1
        self._alone.add(value)
        others = [chips for name, chips in self._chips.items() if name != leg]
        if others and number < len(others[0]):
            self._paired.add((value + others[0][number]) / 2)

    def _count_fallbacks(self) -> int:
        count = 0
        for leg in self.task.match.legs:
            for name in self.task.match.ours:
                path = self._folder / leg.name / f"{name}.sqlite"
                if not path.is_file():
                    continue
                try:
                    reader = StoreReader(path)
                except ParatusError:
                    continue  # it is just being made
                try:
                    count += reader.fallbacks()
                except ParatusError:
                    pass
                finally:
                    reader.close()
        return count
