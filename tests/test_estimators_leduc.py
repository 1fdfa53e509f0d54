"""AIVAT on Leduc against published standard deviations, and intervals that cover what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lbr_games import Written, ask, solved
from leduc import LEDUC, in_open_spiels_convention, leduc
from small_matches import NAMES, Play, every_hand, random_play, uniform_play
from test_aivat import TrueValues
from variants import some_of

from dealer_tools.results import Estimate
from dealer_tools.scoring.aivat import Aivat, Parts
from dealer_tools.scoring.estimators import ESTIMATORS, Scorer
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.values import Equity
from solver.algorithms import CFR, CFR_PLUS
from solver.subgame_solver import Solver


@pytest.fixture(scope="module")
def equilibrium() -> Play:
    subgame = leduc()
    solver = Solver(subgame, CFR_PLUS(), threads=1)
    solver.iterate(2000)
    return play_of(solved(LEDUC, subgame, solver))


@pytest.fixture(scope="module")
def ten_iterations() -> Play:
    subgame = leduc()
    return play_of(solved(LEDUC, subgame, in_open_spiels_convention(subgame, CFR(), 10)))


def play_of(strategy: Written) -> Play:
    asked = ask(strategy)
    return lambda state, board: asked(state, board, ())


def deviations(ours: Play, theirs: Play, values_of: Play) -> tuple[float, float, float]:
    """Mean over both positions of the variance of raw chips and of AIVAT, as deviations; and the largest error."""
    holdings = Holdings(LEDUC)
    scorer = Aivat(holdings, TrueValues(holdings, (values_of, values_of)))
    variances, error = np.zeros(2), 0.0
    for position in range(2):
        sums = np.zeros(4)
        for hand in every_hand(LEDUC, (ours, theirs) if position == 0 else (theirs, ours)):
            raw = hand.paid[position]
            found = scorer.score(hand.played, NAMES[position], Parts()).chips
            sums += hand.probability * np.array([raw, raw**2, found, found**2])
        variances += np.array([sums[1] - sums[0] ** 2, sums[3] - sums[2] ** 2]) / 2
        error = max(error, abs(sums[0] - sums[2]))
    return float(np.sqrt(variances[0])), float(np.sqrt(variances[1])), error


@pytest.mark.parametrize(
    ("opponent", "raw", "aivat"),
    some_of([("ten iterations", 4.49, 0.96), ("uniform", 4.38, 1.66), ("itself", 3.50, 0.09)]),
)
def test_standard_deviations(opponent: str, raw: float, aivat: float, equilibrium: Play, ten_iterations: Play) -> None:
    """Of equilibrium play, one side known, values from equilibrium: those of an independent program, in chips.

    Against itself nothing would be left at all if both were exact: so that figure is a bound.
    """
    theirs = {"uniform": uniform_play(LEDUC), "ten iterations": ten_iterations, "itself": equilibrium}[opponent]
    found_raw, found, error = deviations(equilibrium, theirs, equilibrium)
    assert error < 1e-9
    assert found_raw == pytest.approx(raw, abs=0.03)
    assert found < aivat + 0.03
    assert found > aivat - 0.03 or opponent == "itself"


MATCHES, MATCH_HANDS = 2000, 500


def test_intervals_cover(equilibrium: Play) -> None:
    """Of 2,000 matches 95 % have the expectation inside, by each estimator: within 1.5 %, three standard errors."""
    holdings = Holdings(LEDUC)
    names = list(ESTIMATORS)
    scorer = Scorer(holdings, Equity(holdings), names)
    hands = list(every_hand(LEDUC, (equilibrium, random_play(LEDUC, 3))))
    chips = {name: np.empty(len(hands)) for name in names}
    for number, hand in enumerate(hands):
        for name, value in scorer.score(hand.played, NAMES[0])[0].items():
            chips[name][number] = value
    probabilities = np.array([hand.probability for hand in hands])
    expected = 1000 * math.fsum(hand.probability * hand.paid[0] for hand in hands)
    drawn = np.random.default_rng(1).choice(len(hands), (MATCHES, MATCH_HANDS), p=probabilities / probabilities.sum())
    deviations_of = {}
    for name in names:
        found = [Estimate.of((1000 * chips[name][match]).tolist()) for match in drawn]
        inside = np.mean([each.low_mbb <= expected <= each.high_mbb for each in found])
        assert inside == pytest.approx(0.95, abs=0.015), name
        deviations_of[name] = np.mean([each.sd_mbb for each in found])
    assert deviations_of["aivat-both"] < deviations_of["aivat"] < deviations_of["imaginary"] < deviations_of["raw"]
