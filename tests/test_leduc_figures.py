"""The CFR family in Leduc, iteration by iteration, against open_spiel's and the figures made with it.

Once averages are gathered alike (`leduc.py`) the strategies of both programs agree in every information set, and the
figures of REFERENCES are met. In our own convention averages are better at first, 812 for 889 thousandths of a chip
after ten iterations of CFR, and no different in the long run; a float64 twin says what they should be.

How close. After a hundred iterations rounding decides: exact ties between actions leave regrets of zero whose sign is
the last bit's, and strategies follow signs. `proof/test_leduc_rounding.py` disturbs a float64 twin at every node by
6e-8 of its values, the last bit of float32. Five runs, in thousandths of a chip:

                     CFR 10   100            1,000          CFR+ 10   100            1,000
    open_spiel       888.58   95.72          11.82          610.44    13.42          0.257
    disturbed        888.58   95.71-95.72    12.11-12.75    610.44    13.38-13.67    0.240-0.249

So figures are held to their digits at ten iterations of both and at a hundred of CFR; then to 10 % for CFR, 3 and 10 %
for CFR+; and to the one digit there is for CFR+ at 10,000.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyspiel
import pytest
from leduc import LEDUC, MENU, in_open_spiels_convention, leduc
from open_spiel.python.algorithms import cfr, discounted_cfr
from open_spiel_names import Policy, average_policy, leduc_names, their_policy
from reference.vector_cfr import VectorCFR

from solver.algorithms import CFR, CFR_PLUS, DCFR, Algorithm
from solver.subgame import Subgame
from solver.subgame_solver import Solver

PLAIN, PLUS, LINEAR = CFR(), CFR_PLUS(), DCFR(1, 1, 1)
FIGURES = [
    (PLAIN, 10, 889, 0.5),
    (PLAIN, 100, 96, 0.5),
    (PLAIN, 1_000, 11.8, 1.18),
    (PLAIN, 10_000, 2.0, 0.2),
    (PLUS, 10, 610, 0.5),
    (PLUS, 100, 13.4, 0.4),
    (PLUS, 1_000, 0.25, 0.025),
    (PLUS, 10_000, 0.01, 0.005),
]
"""Iterations, thousandths of a chip, and how close: REFERENCES, "Leduc (limit)"."""


GAME = pyspiel.load_game("leduc_poker")


def theirs(solver: Any) -> Policy:
    """The average policy of an open_spiel solver, C++ or Python: 936 information sets."""
    every_set = pyspiel.CFRSolver(GAME).tabular_average_policy().policy_table()
    assert len(every_set) == 936
    if hasattr(solver, "tabular_average_policy"):
        return solver.tabular_average_policy().policy_table()
    table = solver.average_policy()
    return {
        text: [(action, float(table.policy_for_key(text)[action])) for action, _ in actions]
        for text, actions in every_set.items()
    }


def assert_alike(solver: Solver, subgame: Subgame, wanted: Policy, tolerance: float) -> None:
    """Every strategy of the averages."""
    found = their_policy(wanted, average_policy(solver, subgame), leduc_names)
    for text, actions in wanted.items():
        assert [p for _, p in found[text]] == pytest.approx([p for _, p in actions], abs=tolerance), text


@pytest.mark.parametrize(
    ("algorithm", "make", "iterations", "tolerance"),
    [
        (PLAIN, pyspiel.CFRSolver, (1, 2, 5, 10), 1e-5),
        (PLUS, pyspiel.CFRPlusSolver, (1, 2, 5, 10), 1e-4),
        (DCFR(), discounted_cfr.DCFRSolver, (1, 2, 5), 1e-5),
        (LINEAR, discounted_cfr.LCFRSolver, (1, 2, 5), 1e-5),
    ],
    ids=["cfr", "cfr+", "dcfr", "lcfr"],
)
def test_every_strategy_equals_open_spiels(
    algorithm: Algorithm, make: Callable[..., Any], iterations: Sequence[int], tolerance: float
) -> None:
    subgame, other, done = leduc(), make(GAME), 0
    for count in iterations:
        for _ in range(count - done):
            other.evaluate_and_update_policy()
        done = count
        assert_alike(in_open_spiels_convention(subgame, algorithm, count), subgame, theirs(other), tolerance)


def test_every_strategy_equals_open_spiels_when_updates_are_simultaneous() -> None:
    """Nobody's average is ahead then."""
    subgame = leduc()
    solver = Solver(subgame, PLAIN, threads=1, simultaneous=True)
    other = cfr._CFRSolver(GAME, alternating_updates=False, linear_averaging=False, regret_matching_plus=False)
    for _ in range(5):
        solver.iterate()
        other.evaluate_and_update_policy()
    assert_alike(solver, subgame, theirs(other), 1e-5)


@pytest.mark.parametrize(("algorithm", "iterations", "thousandths", "tolerance"), FIGURES, ids=str)
def test_figures(algorithm: Algorithm, iterations: int, thousandths: float, tolerance: float) -> None:
    solver = in_open_spiels_convention(leduc(), algorithm, iterations)
    assert solver.exploitability().mbb == pytest.approx(thousandths, abs=tolerance)


@pytest.mark.parametrize(("algorithm", "by_100"), [(PLAIN, 1e-3), (PLUS, 0.03)], ids=["cfr", "cfr+"])
def test_convergence_in_our_convention_equals_the_twins(algorithm: Algorithm, by_100: float) -> None:
    solver, twin = Solver(leduc(), algorithm, threads=1), VectorCFR(LEDUC, MENU, algorithm, own_average=False)
    for iterations, tolerance in ((1, 1e-6), (10, 1e-5), (100, by_100)):
        solver.iterate(iterations - solver.iterations)
        twin.iterate(iterations - twin.iterations)
        assert solver.exploitability().chips == pytest.approx(twin.exploitability(), rel=tolerance)


@pytest.mark.parametrize(
    ("algorithm", "make"), [(PLAIN, pyspiel.CFRSolver), (PLUS, pyspiel.CFRPlusSolver)], ids=["cfr", "cfr+"]
)
def test_the_twin_is_open_spiels_cfr(algorithm: Algorithm, make: Callable[..., Any]) -> None:
    other, twin = make(GAME), VectorCFR(LEDUC, MENU, algorithm, own_average=True)
    for _ in range(10):
        other.evaluate_and_update_policy()
        twin.iterate()
    assert twin.exploitability() == pytest.approx(pyspiel.nash_conv(GAME, theirs(other)) / 2, abs=1e-12)
