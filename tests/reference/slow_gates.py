"""What a gate does against distributed alternative payoffs, one hand at a time in float64: the twin of
`solver.kernels.gadgets`.

Normal distribution functions are `math.erf`'s and the logistic function is the same mixture of three of them, whose
distance from Hedge's integral is another test's business (`test_gadgets.py`, by quadrature).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import erf, exp, log, pi, sqrt

MIXTURE = ((0.25298233, 1.10207904), (0.58473591, 1.73163681), (0.16228176, 2.74753323))
"""Weights and standard deviations."""


@dataclass(slots=True)
class SlowHand:
    """One hand of the gate's player."""

    payoff: float
    spread: float
    hedge: bool
    values: list[float] = field(default_factory=list)
    """What entering has won, pass by pass."""

    def choose(self) -> tuple[float, float]:
        """The probability of entering, and what the alternative payoff brings where it is taken."""
        if not self.values:
            return 0.5, 0.5 * self.payoff
        if not self.hedge:
            return below(self.values[-1] - self.payoff, self.spread, 0.0, self.payoff)
        count, mean = len(self.values), sum(self.values) / len(self.values)
        squares = sum((value - mean) ** 2 for value in self.values)
        noise = sqrt(9 / log(2) * squares) / count
        share = outside = 0.0
        for weight, deviation in MIXTURE:
            part, out = below(mean - self.payoff, self.spread, deviation * noise, self.payoff)
            share += weight * part
            outside += weight * out
        return share, outside


def below(gain: float, spread: float, noise: float, mean: float) -> tuple[float, float]:
    """For X normal around `mean` and normal noise: P(X + noise <= mean + gain), and E X where that is not so."""
    width = sqrt(spread**2 + noise**2)
    if width == 0.0:
        share = 0.5 if gain == 0.0 else float(gain > 0.0)
        return share, (1.0 - share) * mean
    z = gain / width
    share = 0.5 * (1.0 + erf(z / sqrt(2)))
    return share, (1.0 - share) * mean + spread**2 / width / sqrt(2 * pi) * exp(-0.5 * z * z)
