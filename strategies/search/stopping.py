"""When a solve stops, and whether it is worth beginning.

A decision may take its share of what a hand may take on average, and never runs into the deadline. One that has no
other way may overrun its share, but not by much: more, hand after hand, would use up the time of the match. What work
will take is forecast by what it took before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from strategies.search.settings import Effort
from strategies.strategy import Budget

_NEW: Final = 0.5
"""How much the latest measurement counts; all earlier ones together count for the rest."""
_DOUBT: Final = 0.5
"""What a doubted forecast is multiplied by."""
_AGAIN: Final = 0.5
"""The share of the time until the deadline that solving one earlier decision again may take."""


class Forecast:
    """What work of a kind will take, by what it took."""

    def __init__(self, unit_s: float) -> None:
        """`unit_s` is what a unit of it takes, until it has been measured."""
        self.unit_s = unit_s

    def another(self) -> Forecast:
        """One that learns for itself from here on."""
        return Forecast(self.unit_s)

    def needed_s(self, work: float = 1.0) -> float:
        """For so much work."""
        return self.unit_s * work

    def possible(self, seconds: float) -> float:
        """How much work that long is enough for."""
        return seconds / self.unit_s

    def learn(self, took_s: float, work: float = 1.0) -> None:
        """So much work has taken that long."""
        if took_s > 0:
            self.unit_s = (1 - _NEW) * self.unit_s + _NEW * took_s / work

    def doubt(self) -> None:
        """It let nothing begin. Perhaps the process stood still when it was measured, and nothing that does not begin
        would ever be measured again."""
        self.unit_s *= _DOUBT


class RateForecast(Forecast):
    """Of work that is done piece by piece: what is averaged is how much a second is enough for.

    So one measurement while the process stood still halves the forecast at most, where the mean of times would follow
    it.
    """

    def another(self) -> RateForecast:
        """One that learns for itself from here on."""
        return RateForecast(self.unit_s)

    def learn(self, took_s: float, work: float = 1.0) -> None:
        """So much work has taken that long."""
        if took_s > 0:
            self.unit_s = 1 / ((1 - _NEW) / self.unit_s + _NEW * work / took_s)


@dataclass(frozen=True, slots=True)
class Limit:
    """When a solve stops, whatever comes first; on the scale of `time.monotonic`."""

    iterations: int
    share_s: float
    """When the decision's share of the time is used up."""
    last_s: float
    """When there must be an answer."""
    stopped: Callable[[], bool]
    """Whether nobody needs one any more."""

    @classmethod
    def of(cls, effort: Effort, budget: Budget, reserve_s: float, overrun: float = 1.0) -> Limit:
        """For a decision that ends `reserve_s` before its deadline, and takes at most `overrun` times its share."""
        now, share_s = time.monotonic(), budget.share_s(effort.share)
        last_s = min(budget.deadline_s - reserve_s, now + overrun * share_s)
        return cls(effort.iterations, now + share_s, last_s, budget.stopped)

    @classmethod
    def again(cls, iterations: int, budget: Budget) -> Limit:
        """For an earlier decision that is solved again, with as many iterations as it had."""
        last_s = time.monotonic() + _AGAIN * budget.left_s
        return cls(iterations, last_s, last_s, budget.stopped)

    def left_s(self, *, patient: bool) -> float:
        """Until the answer is due; until the share is used up, too, if not `patient`."""
        return (self.last_s if patient else min(self.last_s, self.share_s)) - time.monotonic()

    def until_s(self, iteration_s: float, reading_s: float, useful: int, *, patient: bool) -> float | None:
        """Until when iterations go on, after which one may end and the answer is read; None if that is not worth it.

        It is if `useful` iterations end within the share. Who is `patient` does with one, and overruns the share for
        `useful` ones.
        """
        now, around_s = time.monotonic(), reading_s + iteration_s
        last_s, share_s = self.last_s - around_s, self.share_s - around_s
        useful_s = now + min(useful, self.iterations) * iteration_s
        if last_s < now + iteration_s or (not patient and useful_s > min(share_s, last_s)):
            return None
        return min(last_s, max(share_s, useful_s))
