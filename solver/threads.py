"""The threads that do the passes of a solve, and how many of them.

One leads and the others help (`solver.kernels.cfr`); what comes out does not depend on how many there are. Their number
is measured while working, since a machine that is shared may be faster with fewer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from machine.cores import available_cores
from solver.kernels.cfr import OPEN, OVER, follow, lead
from solver.kernels.types import Batch
from solver.problem import Problem

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


class Threads:
    """So many threads, or as many as measure faster up to all cores, each with working memory of its own."""

    def __init__(self, problem: Problem, count: int | None) -> None:
        tasks = len(problem.deals.task_at) - 1
        most = min(count or available_cores(), max(tasks, 1))
        self.pace = Pace(most, fixed=count is not None)
        self.top = problem.top()
        self.scratch = [problem.scratch() for _ in range(most)]
        self.finished = False
        """Whether all passes of the latest batch were done."""
        self._trees, self._deals = problem.trees, problem.deals
        self._pool = ThreadPoolExecutor(most - 1, "solver") if most > 1 else None

    def run(self, batch: Batch, count: int) -> None:
        """Do all passes of a batch, by so many threads."""
        top = self.top
        top.counters[:] = 0
        self.finished = False
        helping = [
            self._pool.submit(follow, self._trees, self._deals, scratch, top, batch)
            for scratch in self.scratch[1:count]
            if self._pool
        ]
        try:
            lead(self._trees, self._deals, self.scratch[0], top, batch)
        finally:
            self.finished = bool(top.counters[OPEN] == OVER)
            top.counters[OPEN] = OVER  # also if Ctrl-C came before the leader did
            for each in helping:
                each.result()
