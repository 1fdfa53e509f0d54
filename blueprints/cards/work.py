"""Long work in pieces: over all cores, with progress. Results never depend on how it was cut."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from machine.cores import available_cores

Progress = Callable[[str, float, float], None]
"""Called with what is being done, the share that is done, and the seconds that are left."""

_Result = TypeVar("_Result")


class Work:
    """Threads (kernels let go of the interpreter's lock) and where to report to. A context manager."""

    def __init__(self, threads: int | None = None, progress: Progress | None = None) -> None:
        self.threads = threads or available_cores()
        self._progress = progress
        self._pool = ThreadPoolExecutor(self.threads)
        self._begun: dict[str, float] = {}

    def __enter__(self) -> Work:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def report(self, task: str, share: float) -> None:
        """Progress of a task, with an estimate from the time it took so far."""
        if self._progress is not None:
            spent = time.perf_counter() - self._begun.setdefault(task, time.perf_counter())
            self._progress(task, share, spent / share * (1 - share) if share else 0.0)

    def pieces(
        self, count: int, run: Callable[[int, int], _Result], *, grain: int = 1, task: str = ""
    ) -> list[_Result]:
        """Call `run(begin, end)` on pieces of `range(count)`, each but the last a multiple of `grain` long."""
        length = -(-count // (grain * self.threads * 16)) * grain
        begins = range(0, count, length)
        if task:
            self.report(task, 0.0)
        futures = [self._pool.submit(run, begin, min(begin + length, count)) for begin in begins]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if task:
                    self.report(task, done / len(futures))
        finally:
            for future in futures:
                future.cancel()
        return [future.result() for future in futures]
