"""How far long work is, on stderr: a bar in a terminal, elsewhere a line every ten seconds. With the time left."""

from __future__ import annotations

import math
import sys
import time
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TaskID, TextColumn
from rich.progress import TimeRemainingColumn as TimeLeft

LINE_EVERY_S: Final = 10.0
_BAR_EVERY_S: Final = 0.1


class StatusLine:
    """One line of text with a bar before it, as a context manager."""

    def __init__(self, first: str, command: str = "") -> None:
        """`first` is shown before anything is known; `command` stands before each line where there is no terminal."""
        self._text, self._prefix = first, f"{command}: " if command else ""
        self._next_s = time.monotonic() + LINE_EVERY_S
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        console = Console(stderr=True)
        if console.is_terminal:
            self._bar = Progress(*self._columns(), console=console, transient=True)
            self._bar.start()
            self._next_s = 0.0
            self._task = self._bar.add_task(self._text, total=None)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _columns(self) -> list[ProgressColumn]:
        return [BarColumn(16), TextColumn("{task.description}")]

    def is_due(self) -> bool:
        """Whether there is something to show again."""
        due = time.monotonic() >= self._next_s
        if due:
            self._next_s = time.monotonic() + (LINE_EVERY_S if self._bar is None else _BAR_EVERY_S)
        return due

    def write(self, text: str, done: float, total: float | None) -> None:
        """Show a text, and how long the bar is."""
        if self._bar is not None:
            self._bar.update(self._task, description=text, completed=done, total=total)
        else:
            print(f"{self._prefix}{text}", file=sys.stderr, flush=True)


class ShareBar(StatusLine):
    """Work of a known size."""

    def __init__(self, title: str, command: str) -> None:
        super().__init__(title, command)
        self._title, self._begun = title, time.monotonic()

    def show(self, share: float, title: str | None = None) -> None:
        """So much is done, of what has a title of its own if one is given."""
        if title is not None and title != self._title:
            self._title, self._begun = title, time.monotonic()
        if not self.is_due():
            return
        left_s = (1 / share - 1) * (time.monotonic() - self._begun) if share > 0 else math.inf
        left = f", {duration_text(left_s)} left" if share > 0 else ""
        self.write(f"{self._title}: {100 * share:.0f}%{left}", share, 1.0)


class CountBar(StatusLine):
    """Work of a size that nobody knows."""

    def __init__(self, title: str, command: str) -> None:
        super().__init__(title, command)
        self._title = title

    def show(self, count: int) -> None:
        """So much is done."""
        if self.is_due():
            self.write(f"{self._title}: {count:,} so far", count, None)


class HandsBar(StatusLine):
    """Hands, or other things, done of a known total, and how many a second."""

    def __init__(self, title: str, total: int, things: str = "hands") -> None:
        super().__init__(title)
        self._title, self._total, self._things = title, total, things
        self._begun, self._first_done = time.monotonic(), -1

    def _columns(self) -> list[ProgressColumn]:
        return [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft(compact=True)]

    def show(self, done: int) -> None:
        """So many are done."""
        if self._first_done < 0:
            self._first_done, self._begun = done, time.monotonic()
        if not self.is_due():
            return
        rate = (done - self._first_done) / max(time.monotonic() - self._begun, 1e-9)
        shown = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
        if self._bar is not None:
            self.write(f"{self._title}, {shown} {self._things}/s", done, self._total)
            return
        left = f", {(self._total - done) / rate:.0f} s left" if rate > 0 else ""
        self.write(f"{self._title}: {done} of {self._total} {self._things}, {shown} a second{left}", done, self._total)


def short(number: float) -> str:
    """Three digits or all before the point: `0.291`, `44.8`, `1,531`."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def duration_text(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `2 h 5 min`, `3 days`."""
    whole = round(seconds)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole / 86400:,.0f} days"
