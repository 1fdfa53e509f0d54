"""Regret matching on one decision with known payoffs, in float64, under the schedules that the solver uses."""

from __future__ import annotations

from collections.abc import Sequence

from solver.algorithms import Algorithm


def first_certain(algorithm: Algorithm, payoffs: Sequence[float], action: int, *, most: int) -> int:
    """The first iteration, counted from 1, that plays `action` with probability 1; fails after `most`."""
    regrets = [0.0] * len(payoffs)
    for iteration in range(1, most + 1):
        positive = [max(regret, 0.0) for regret in regrets]
        total = sum(positive)
        strategy = [regret / total for regret in positive] if total > 0 else [1 / len(payoffs)] * len(payoffs)
        if strategy[action] == 1:
            return iteration
        weights = algorithm.weights(iteration)
        value = sum([p * payoff for p, payoff in zip(strategy, payoffs, strict=True)])
        regrets = [
            regret * (weights.keep_positive if regret > 0 else weights.keep_negative) + payoff - value
            for regret, payoff in zip(regrets, payoffs, strict=True)
        ]
    raise AssertionError(f"action {action} is not certain after {most} iterations")
