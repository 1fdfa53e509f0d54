"""Long work in pieces: over all cores, with progress. Results never depend on how it was cut."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from machine.cores import available_cores
from machine.lots import Lot, ThreadWorkers, do_lots

Progress = Callable[[str, float, float], None]
"""Called with what is being done, the share that is done, and the seconds that are left."""

_Result = TypeVar("_Result")
_PIECES: Final = 16
"""For each thread: what one does longer than others is a small part."""


class PieceWork:
    """Threads (kernels let go of the interpreter's lock, and fill arrays that they share) and where to report to."""

    def __init__(self, threads: int | None = None, progress: Progress | None = None) -> None:
        self.threads = threads or available_cores()
        self._progress = progress
        self._begun: dict[str, float] = {}

    def report(self, task: str, share: float) -> None:
        """Progress of a task, with an estimate from the time it took so far."""
        if self._progress is not None:
            spent = time.perf_counter() - self._begun.setdefault(task, time.perf_counter())
            self._progress(task, share, spent / share * (1 - share) if share else 0.0)

    def pieces(
        self, count: int, run: Callable[[int, int], _Result], *, grain: int = 1, task: str = ""
    ) -> list[_Result]:
        """Call `run(begin, end)` on pieces of `range(count)`, each but the last a multiple of `grain` long."""
        length = -(-count // (grain * self.threads * _PIECES)) * grain
        ends = [(begin, min(begin + length, count)) for begin in range(0, count, length)]
        lots = [Lot(begin, (begin, end), end - begin) for begin, end in ends]

        def do(piece: tuple[int, int]) -> _Result:
            return run(*piece)

        def tell(done: int) -> None:
            if task:
                self.report(task, done / count)

        return [result for _, result in do_lots(ThreadWorkers(do, self.threads), lots, tell=tell, in_order=True)]
