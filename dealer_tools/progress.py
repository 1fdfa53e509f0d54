"""A progress bar on stderr: hands, rate, time left. Where stderr is no terminal, a line every ten seconds instead."""

from __future__ import annotations

import sys
import time
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

LINE_EVERY_S: Final = 10.0


class HandsBar:
    """Hands, or whatever it is, done of a known total."""

    def __init__(self, title: str, total: int, things: str = "hands") -> None:
        self._title, self._total, self._things = title, total, things
        self._begun = time.monotonic()
        self._first: int | None = None
        self._next_line_s = self._begun + LINE_EVERY_S
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> HandsBar:
        console = Console(stderr=True)
        if console.is_terminal:
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn(f"{{task.fields[rate]}} {self._things}/s"),
                TimeRemainingColumn(compact=True),
                console=console,
                transient=True,
            )
            self._progress.start()
            self._task = self._progress.add_task(self._title, total=self._total, rate="…")
        return self

    def __exit__(self, *error: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, done: int) -> None:
        """So many hands are done."""
        now = time.monotonic()
        if self._first is None:
            self._first, self._begun = done, now
        rate = (done - self._first) / max(now - self._begun, 1e-9)
        if self._progress is not None:
            self._progress.update(self._task, completed=done, rate=_plain(rate))
        elif now >= self._next_line_s:
            self._next_line_s = now + LINE_EVERY_S
            left = f", {(self._total - done) / rate:.0f} s left" if rate > 0 else ""
            print(
                f"{self._title}: {done} of {self._total} {self._things}, {_plain(rate)} a second{left}",
                file=sys.stderr,
                flush=True,
            )


def _plain(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
