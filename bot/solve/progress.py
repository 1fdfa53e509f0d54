"""How long a solve still takes."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from machine.progress import StatusLine, duration_text, short

if TYPE_CHECKING:
    from solver.engine import SolveProgress

_POINTS: Final = 8
"""So many of the last measurements say how fast exploitability falls."""


@dataclass(frozen=True, slots=True)
class Goal:
    """When to stop: at whichever comes first."""

    target_chips: float | None
    iterations: int | None
    seconds: float | None


class TimeEstimate:
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


class SolveBar(StatusLine):
    """Iteration, exploitability, time left."""

    def __init__(self, goal: Goal) -> None:
        super().__init__("getting ready (the first time kernels are compiled)", "paratus solve")
        self._estimate = TimeEstimate(goal)

    def show(self, progress: SolveProgress) -> None:
        """So far."""
        left_s = self._estimate.left_s(progress.iterations, progress.seconds, _chips(progress))
        if not self.is_due():
            return
        # What matters most comes first: narrow terminals cut the end off.
        text = f"{duration_text(left_s)} left, " if left_s is not None else ""
        text += f"iteration {progress.iterations:,}"
        if progress.exploitability is not None:
            text += f", exploitability {short(progress.exploitability.mbb)} mbb/g"
            text += f" ({short(100 * progress.exploitability.pot_share)}% of the pot)"
        text += f", after {duration_text(progress.seconds)}"
        self.write(text, progress.seconds, None if left_s is None else progress.seconds + left_s)


def _chips(progress: SolveProgress) -> float | None:
    return None if progress.exploitability is None else progress.exploitability.chips
