"""How many threads to use: measured while working, since a machine that is shared may be faster with fewer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_RETRY = 32
"""After so many measurements of the faster number of threads the other is tried again."""


@dataclass(slots=True)
class Pace:
    """Chooses between one thread and `most`; results do not depend on the choice."""

    most: int
    fixed: bool
    _seconds: dict[int, float] = field(default_factory=dict)
    _measured: int = 0

    def threads(self) -> int:
        """The number to use next."""
        if self.fixed or self.most == 1:
            return self.most
        for count in (self.most, 1):
            if count not in self._seconds:
                return count
        faster, slower = (self.most, 1) if self._seconds[self.most] <= self._seconds[1] else (1, self.most)
        return slower if self._measured % _RETRY == 0 else faster

    def seconds(self) -> float | None:
        """What an iteration took lately."""
        return min(self._seconds.values(), default=None)

    @property
    def shared(self) -> bool:
        """Whether one thread turned out faster than several."""
        return self.most > 1 and not self.fixed and self._seconds.get(1, 1e9) < self._seconds.get(self.most, 0.0)

    @contextmanager
    def measure(self, threads: int, iterations: int) -> Iterator[None]:
        """Time what is done inside; not the first time, which may have to compile."""
        begun = time.perf_counter()
        yield
        if self._measured:
            self._seconds[threads] = (time.perf_counter() - begun) / iterations
        self._measured += 1
