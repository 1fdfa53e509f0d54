"""How much slower new is than old, from pairs of measurements.

Of each number the logarithms of the ratios new / old, one a pair, are taken as draws from one normal distribution:
their mean is the logarithm of the geometric mean, and Student's t gives its 95 % interval. A part as a whole counts, in
each pair, the geometric mean over its numbers. No pair is left out and none is trimmed.

A ratio fails if its whole interval lies above the limit. If only a piece of it does, the pairs were too few or too
noisy to tell, which is not held against it but said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from benchmarks.compare.pairs import SIDES, TimedPair

LIMIT: Final = 1.03
LEAST_PAIRS: Final = 2
_CONFIDENCE: Final = 0.95


class Verdict(StrEnum):
    """Of a ratio."""

    PASSES = "passes"
    UNSURE = "unsure"
    FAILS = "fails"


@dataclass(frozen=True)
class SpeedRatio:
    """Times of new over times of old: above 1 is slower. With its interval."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """Against the limit."""
        if self.low > LIMIT:
            return Verdict.FAILS
        return Verdict.PASSES if self.high <= LIMIT else Verdict.UNSURE


@dataclass(frozen=True)
class ComparedNumber:
    """One number of a part: geometric means of both sides, and their ratio."""

    old_s: float
    new_s: float
    ratio: SpeedRatio


@dataclass(frozen=True)
class ComparedPart:
    """A part: its numbers by name, and all of them as one ratio."""

    pairs: int
    ratio: SpeedRatio
    numbers: dict[str, ComparedNumber]
    other_work: tuple[str, ...]
    """What old and new did not do in the same way: these times are not of the same work."""
    busy_elsewhere: dict[str, float | None]
    """Cores that other programs kept busy, by side, in the mean."""

    @property
    def verdicts(self) -> list[Verdict]:
        """Of the part, then of its numbers."""
        return [self.ratio.verdict, *[number.ratio.verdict for number in self.numbers.values()]]

    @property
    def failed(self) -> bool:
        """Whether it fails, or one of its numbers."""
        return Verdict.FAILS in self.verdicts

    def document(self) -> dict[str, Any]:
        """As JSON."""
        numbers = {
            name: {"old_s": each.old_s, "new_s": each.new_s, **_ratio_document(each.ratio)}
            for name, each in self.numbers.items()
        }
        whole = {"pairs": self.pairs, **_ratio_document(self.ratio), "other_work": list(self.other_work)}
        return {**whole, "cores_busy_elsewhere": self.busy_elsewhere, "numbers": numbers}


def compare_part(pairs: Sequence[TimedPair]) -> ComparedPart:
    """Of all pairs of one part."""
    names = list(pairs[0].old.times_s)
    logs = {name: [math.log(pair.new.times_s[name] / pair.old.times_s[name]) for pair in pairs] for name in names}
    numbers = {
        name: ComparedNumber(
            _geometric_mean([pair.old.times_s[name] for pair in pairs]),
            _geometric_mean([pair.new.times_s[name] for pair in pairs]),
            speed_ratio(logs[name]),
        )
        for name in names
    }
    over_all = [math.fsum(of_pair) / len(names) for of_pair in zip(*logs.values(), strict=True)]
    other_work = {name for pair in pairs for name in pair.old.work if pair.old.work[name] != pair.new.work.get(name)}
    busy = {side: _mean([getattr(pair, side).busy_elsewhere for pair in pairs]) for side in SIDES}
    return ComparedPart(len(pairs), speed_ratio(over_all), numbers, tuple(sorted(other_work)), busy)


def speed_ratio(logs: Sequence[float]) -> SpeedRatio:
    """From logarithms of ratios, one a pair."""
    count = len(logs)
    mean = math.fsum(logs) / count
    variance = math.fsum((log - mean) ** 2 for log in logs) / (count - 1)
    half = student_quantile(_CONFIDENCE, count - 1) * math.sqrt(variance / count)
    return SpeedRatio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def student_quantile(confidence: float, freedom: int) -> float:
    """The t that Student's distribution does not exceed, either way, with such a probability.

    By bisection of the probability as a finite sum over the angle atan(t / √freedom), Abramowitz and Stegun 26.7.3
    and 26.7.4.
    """
    low, high = 0.0, math.pi / 2
    while (angle := (low + high) / 2) not in (low, high):
        low, high = (angle, high) if _student_probability(angle, freedom) < confidence else (low, angle)
    return math.sqrt(freedom) * math.tan(angle)


def _student_probability(angle: float, freedom: int) -> float:
    odd, square = freedom % 2, math.cos(angle) ** 2
    term = math.sin(angle) * (math.cos(angle) if odd else 1.0)
    total = 0.0
    for power in range(2 + odd, freedom + 1, 2):
        total += term
        term *= square * (power - 1) / power
    return (angle + total) * 2 / math.pi if odd else total


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(math.fsum(known) / len(known), 2) if known else None


def _ratio_document(ratio: SpeedRatio) -> dict[str, Any]:
    return {"ratio": ratio.mean, "interval_95": [ratio.low, ratio.high], "verdict": str(ratio.verdict)}


# Text


def table(parts: dict[str, ComparedPart]) -> str:
    """For people: each part as a whole, then its numbers."""
    width = max((len(name) for part in parts.values() for name in part.numbers), default=0) + 2
    lines = [f"{'':{width}}{'old':>10}{'new':>10}{'ratio':>9}   95 % interval"]
    for name, part in parts.items():
        lines += ["", f"{name:{width + 20}}{_ratio_text(part.ratio)}"]
        lines += [
            f"  {title:{width - 2}}{time_text(each.old_s):>10}{time_text(each.new_s):>10}{_ratio_text(each.ratio)}"
            for title, each in part.numbers.items()
        ]
        busy = " and ".join("unknown" if cores is None else f"{cores:.2f}" for cores in part.busy_elsewhere.values())
        lines.append(f"  {part.pairs} pairs; cores busy with other things beside old and new: {busy}")
        if part.other_work:
            lines.append(f"  not the same work in old and new: {', '.join(part.other_work)}")
    return "\n".join(lines)


def conclusion(parts: dict[str, ComparedPart]) -> str:
    """One line: what fails, and how much could not be told."""
    failed = [name for name, part in parts.items() if part.failed]
    verdicts = [verdict for part in parts.values() for verdict in part.verdicts]
    unsure = verdicts.count(Verdict.UNSURE)
    found = f"slower: {', '.join(failed)}" if failed else "nothing fails"
    return f"{found}; {unsure} of {len(verdicts)} ratios are unsure (an interval wholly above {LIMIT} fails)"


def time_text(seconds: float) -> str:
    """`1.23 s`, `45.6 ms`, `7.89 µs`."""
    unit, scale = ("s", 1.0) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)
    return f"{seconds * scale:.3g} {unit}"


def _ratio_text(ratio: SpeedRatio) -> str:
    return f"{ratio.mean:9.3f}   {ratio.low:.3f} to {ratio.high:.3f}   {ratio.verdict}"
