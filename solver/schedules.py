"""Schedules: what a sum over iterations keeps of itself, and how much the next iteration adds to it.

Regrets and average strategies are such sums. At iteration n = 1, 2, … a sum is first multiplied by what is kept of it,
then what is new is added, times a weight:

    sum ← keep(n) · sum + add(n) · new

There are two ways to let late iterations count more than early ones, which differ by the scale of the sum alone. A
*discount* keeps less than all and adds new numbers as they are; a *weighting* keeps all and adds more each time.
Keeping ((n - 1) / n)^p at iteration n is the same as a weight of n^p: `Power` is both. The solver discounts, which
leaves sums in the range of one iteration's numbers, as short floats want it, and costs nothing where each sum is
visited anyway. The trainer of blueprints weighs, since a period visits only the sums that its walks come to.

    schedule         kept                 added               used by
    Power(p)         ((n - 1) / n)^p      1                   averages of DCFR; linear CFR; the trainer, as weights n^p
    Fading(p)        s^p / (s^p + 1)      1, with s = n - 1   regrets of DCFR
    Constant(c)      c                    1                   negative regrets of CFR+
    Delayed(d)       1                    max(0, n - d)       averages of CFR+ and DCFR+

`solver.algorithms` puts schedules together to algorithms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol


class Update(NamedTuple):
    """What an iteration does to a sum."""

    keep: float
    add: float


class Averaging(Protocol):
    """The schedule of a sum that is only proportional to what is wanted, as average strategies are."""

    def update(self, iteration: int) -> Update:
        """That of iteration 1, 2, …"""
        ...


class Weighting(Protocol):
    """A schedule for sums of which all is kept."""

    def weight(self, iteration: int) -> float:
        """How much iteration 1, 2, … counts."""
        ...


class Discount(ABC):
    """A schedule for sums to which new numbers are added as they are: what regrets take, and averages may."""

    __slots__ = ()

    @abstractmethod
    def kept(self, iteration: int) -> float:
        """The share of the sum that is kept when iteration 1, 2, … adds to it."""

    def update(self, iteration: int) -> Update:
        """As an averaging."""
        return Update(self.kept(iteration), 1.0)


@dataclass(frozen=True, slots=True)
class Power(Discount):
    """Iteration n counts n^p: as a discount or as a weighting."""

    power: float

    def kept(self, iteration: int) -> float:
        if iteration == 1:  # nothing is kept of nothing, whatever the power
            return float(self.power == 0)
        share: float = ((iteration - 1) / iteration) ** self.power
        return share

    def weight(self, iteration: int) -> float:
        """In proportion to the first iteration's."""
        weight: float = iteration**self.power
        return weight


UNIFORM: Final = Power(0.0)
"""All iterations count alike."""
LINEAR: Final = Power(1.0)
"""Iteration n counts n times."""


@dataclass(frozen=True, slots=True)
class Fading(Discount):
    """More is kept each time: s^p / (s^p + 1) after s iterations, nothing of nothing."""

    power: float

    def kept(self, iteration: int) -> float:
        if iteration == 1:
            return 0.0
        past: float = (iteration - 1) ** self.power
        return past / (past + 1)


@dataclass(frozen=True, slots=True)
class Constant(Discount):
    """The same share each time."""

    share: float

    def kept(self, iteration: int) -> float:
        return self.share


FLOOR: Final = Constant(0.0)
"""For negative regrets: to keep nothing of a negative sum before the next is added is to floor the sum at zero."""


@dataclass(frozen=True, slots=True)
class Delayed:
    """A linear weighting that begins after a delay; until then nothing is added, and an average is uniform."""

    delay: int = 0

    def weight(self, iteration: int) -> float:
        """How much more than the last of the delay it counts."""
        return float(max(0, iteration - self.delay))

    def update(self, iteration: int) -> Update:
        """As an averaging."""
        return Update(1.0, self.weight(iteration))


def total_weight(averaging: Averaging, iterations: range, before: float = 0.0) -> float:
    """What a sum of ones comes to by these iterations, from what it was before them."""
    total = before
    for iteration in iterations:
        keep, add = averaging.update(iteration)
        total = total * keep + add
    return total
