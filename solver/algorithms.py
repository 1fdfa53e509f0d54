"""The CFR family: what is kept of regrets and averages, and what is added, at each iteration.

Every member is the same pass with four numbers an iteration (Brown and Sandholm 2019, "Solving imperfect-information
games via discounted regret minimization"). At iteration t, before its regrets are added, with s = t - 1:

    name            positive and negative regrets kept     average kept       added
    cfr             1, 1                                   1                  1
    cfr+            1, 0                                   1                  max(0, t - delay)
    lcfr            s/t, s/t                               s/t                1
    dcfr:α,β,γ      s^α/(s^α + 1), s^β/(s^β + 1)           (s/t)^γ            1
    dcfr+:α,d       s^α/(s^α + 1), 0                       1                  max(0, t - d)

CFR+ floors the sum of regrets at zero; keeping nothing of a negative sum before the next is added is the same. While
nothing is added to an average (t ≤ d) it is uniform. LCFR is DCFR(1, 1, 1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from machine.errors import ParatusError, quote


class AlgorithmError(ParatusError):
    """Text that names no algorithm."""


class Weights(NamedTuple):
    """The numbers of one iteration."""

    keep_average: float
    add_average: float
    keep_positive: float
    keep_negative: float


class Algorithm(Protocol):
    """A member of the family; `str` gives the text that `parse_algorithm` reads."""

    def weights(self, iteration: int) -> Weights:
        """Those of iteration 1, 2, …"""
        ...


@dataclass(frozen=True, slots=True)
class CFR:
    """Plain counterfactual regret minimisation; `plus` makes it CFR+."""

    plus: bool = False
    delay: int = 0

    def weights(self, iteration: int) -> Weights:
        if not self.plus:
            return Weights(1.0, 1.0, 1.0, 1.0)
        return Weights(1.0, float(max(0, iteration - self.delay)), 1.0, 0.0)

    def __str__(self) -> str:
        return ("cfr+" + (f":{self.delay}" if self.delay else "")) if self.plus else "cfr"


@dataclass(frozen=True, slots=True)
class DCFR:
    """Discounted CFR; (1, 1, 1) is LCFR."""

    alpha: float = 1.5
    beta: float = 0.0
    gamma: float = 2.0

    def weights(self, iteration: int) -> Weights:
        before = iteration - 1
        return Weights(
            (before / iteration) ** self.gamma if before else 0.0,
            1.0,
            _discount(before, self.alpha),
            _discount(before, self.beta),
        )

    def __str__(self) -> str:
        if (self.alpha, self.beta, self.gamma) == (1, 1, 1):
            return "lcfr"
        return f"dcfr:{self.alpha:g},{self.beta:g},{self.gamma:g}"


@dataclass(frozen=True, slots=True)
class DCFRPlus:
    """Discounted CFR+: regrets are discounted and floored, the average begins after a delay."""

    alpha: float = 1.5
    delay: int = 0

    def weights(self, iteration: int) -> Weights:
        return Weights(1.0, float(max(0, iteration - self.delay)), _discount(iteration - 1, self.alpha), 0.0)

    def __str__(self) -> str:
        return f"dcfr+:{self.alpha:g},{self.delay}"


def _discount(before: int, power: float) -> float:
    """before^power / (before^power + 1); nothing is kept of nothing."""
    return before**power / (before**power + 1) if before else 0.0


_NUMBER: Final = re.compile(r"-?[0-9]{1,4}(?:\.[0-9]{1,6})?")
_EXPECTED: Final = "cfr, cfr+, lcfr, dcfr, dcfr:1.5,0,2 or dcfr+:1.5,100, with a first number (α) above 0"


def parse_algorithm(text: str) -> Algorithm:
    """The algorithm that `text` names, with its parameters after a colon."""
    name, _, rest = text.strip().lower().partition(":")
    parts = rest.split(",") if rest else []
    if not all(_NUMBER.fullmatch(part) for part in parts):
        raise AlgorithmError(f"algorithm {quote(text)}: parameters {quote(rest)}: expected numbers, as in dcfr:1.5,0,2")
    numbers = [float(part) for part in parts]
    match name, len(numbers):
        case "cfr", 0:
            return CFR()
        case "cfr+", 0 | 1:
            return CFR(plus=True, delay=_delay(numbers, text))
        case "lcfr", 0:
            return DCFR(1.0, 1.0, 1.0)
        case "dcfr", 0 | 3 if not numbers or numbers[0] > 0:
            return DCFR(*numbers)
        case "dcfr+", 0 | 1 | 2 if not numbers or numbers[0] > 0:
            return DCFRPlus(numbers[0] if numbers else 1.5, _delay(numbers[1:], text))
    raise AlgorithmError(f"algorithm {quote(text)}: expected {_EXPECTED}")


def _delay(numbers: list[float], text: str) -> int:
    if not numbers:
        return 0
    if numbers[0] < 0 or numbers[0] != int(numbers[0]):
        raise AlgorithmError(f"algorithm {quote(text)}: delay {numbers[0]:g}: expected a whole number from 0 up")
    return int(numbers[0])
