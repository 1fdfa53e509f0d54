"""How long it still takes, on stderr: a bar, or a line every ten seconds where stderr is no terminal."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from solver.engine import Progress

_LINE_EVERY_S: Final = 10.0
_BAR_EVERY_S: Final = 0.1
_POINTS: Final = 8
"""So many of the last measurements say how fast exploitability falls."""


@dataclass(frozen=True, slots=True)
class Goal:
    """When to stop: at whichever comes first."""

    target_chips: float | None
    iterations: int | None
    seconds: float | None


class Estimate:
    """How long it will still take, from what was measured so far.

    Exploitability falls about as a power of the number of iterations: the last few measurements say which, and how many
    iterations the target needs. With several goals, the nearest counts.
    """

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._points: deque[tuple[float, float]] = deque(maxlen=_POINTS)

    def left_s(self, iterations: int, seconds: float, exploitability_chips: float | None) -> float | None:
        """Seconds to go; None while nothing can be said."""
        goal = self._goal
        if iterations < 1 or seconds <= 0:
            return goal.seconds
        if exploitability_chips is not None and exploitability_chips > 0:
            point = (math.log(iterations), math.log(exploitability_chips))
            if not self._points or point[0] > self._points[-1][0]:
                self._points.append(point)
        rate = iterations / seconds
        ends = [] if goal.seconds is None else [goal.seconds - seconds]
        if goal.iterations is not None:
            ends.append((goal.iterations - iterations) / rate)
        if goal.target_chips is not None:
            wanted = self._iterations_wanted(math.log(goal.target_chips))
            if wanted is not None:
                ends.append((wanted - iterations) / rate)
        return max(min(ends), 0.0) if ends else None

    def _iterations_wanted(self, target: float) -> float | None:
        if len(self._points) < 2:
            return None
        (x0, y0), (x1, y1) = self._points[0], self._points[-1]
        slope = (y1 - y0) / (x1 - x0)
        if slope > -0.05:  # not falling
            return None
        return math.exp(min(x1 + (target - y1) / slope, 50.0))


class _Line:
    """One line of text with a bar before it."""

    def __init__(self, first: str, command: str = "paratus solve") -> None:
        self._first, self._command = first, command
        self._next_s = time.monotonic() + _LINE_EVERY_S
        self._bar: Bar | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        console = Console(stderr=True)
        if console.is_terminal:
            self._bar = Bar(BarColumn(16), TextColumn("{task.description}"), console=console, transient=True)
            self._bar.start()
            self._next_s = 0.0
            self._task = self._bar.add_task(self._first, total=None)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _due(self) -> bool:
        """Whether there is something to show again."""
        due = time.monotonic() >= self._next_s
        if due:
            self._next_s = time.monotonic() + (_LINE_EVERY_S if self._bar is None else _BAR_EVERY_S)
        return due

    def _show(self, text: str, done: float, total: float | None) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=text, completed=done, total=total)
        else:
            print(f"{self._command}: {text}", file=sys.stderr, flush=True)


class ShareBar(_Line):
    """Work of a known size."""

    def __init__(self, title: str, command: str = "paratus solve") -> None:
        super().__init__(title, command)
        self._title, self._begun = title, time.monotonic()

    def show(self, share: float, title: str | None = None) -> None:
        """So much is done, of what has a title of its own if one is given."""
        if title is not None and title != self._title:
            self._title, self._begun = title, time.monotonic()
        if not self._due():
            return
        left_s = (1 / share - 1) * (time.monotonic() - self._begun) if share > 0 else math.inf
        left = f", {duration_text(left_s)} left" if share > 0 else ""
        self._show(f"{self._title}: {100 * share:.0f}%{left}", share, 1.0)


class CountBar(_Line):
    """Work of a size that nobody knows."""

    def __init__(self, title: str, command: str) -> None:
        super().__init__(title, command)
        self._title = title

    def show(self, count: int) -> None:
        """So much is done."""
        if self._due():
            self._show(f"{self._title}: {count:,} so far", count, None)


class SolveBar(_Line):
    """Iteration, exploitability, time left."""

    def __init__(self, goal: Goal) -> None:
        super().__init__("getting ready (the first time kernels are compiled)")
        self._estimate = Estimate(goal)

    def show(self, progress: Progress) -> None:
        """So far."""
        left_s = self._estimate.left_s(progress.iterations, progress.seconds, _chips(progress))
        if not self._due():
            return
        # What matters most comes first: narrow terminals cut the end off.
        text = f"{duration_text(left_s)} left, " if left_s is not None else ""
        text += f"iteration {progress.iterations:,}"
        if progress.exploitability is not None:
            text += f", exploitability {short(progress.exploitability.mbb)} mbb/g"
            text += f" ({short(100 * progress.exploitability.pot_share)}% of the pot)"
        text += f", after {duration_text(progress.seconds)}"
        self._show(text, progress.seconds, None if left_s is None else progress.seconds + left_s)


def short(number: float) -> str:
    """Three digits or all before the point: `0.291`, `44.8`, `1,531`."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _chips(progress: Progress) -> float | None:
    return None if progress.exploitability is None else progress.exploitability.chips


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
