"""Algorithms by name: their texts and refusals, their schedules, and a variant that this file alone adds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from small_games import kuhn

from blueprints.settings import TrainerSettings
from bot import cli
from solver import algorithms
from solver.algorithms import (
    CFR,
    CFR_PLUS,
    DCFR,
    DCFR_PLUS,
    LCFR,
    Algorithm,
    AlgorithmError,
    Parameter,
    Schedules,
    Variant,
    algorithms_text,
    parse_algorithm,
    register,
)
from solver.engine import Engine
from solver.schedules import LINEAR, UNIFORM, Delayed, Discount, Power, total_weight
from solver.small import SmallGame

EXPECTED = "expected cfr, cfr+, lcfr, dcfr, dcfr:1.5,0,2 or dcfr+:1.5,100, with a first number (α) above 0"


# Text


@pytest.mark.parametrize(
    ("text", "algorithm", "shown"),
    [
        ("cfr", CFR(), "cfr"),
        (" CFR+ ", CFR_PLUS(), "cfr+"),
        ("cfr+:0", CFR_PLUS(), "cfr+"),
        ("cfr+:100", CFR_PLUS(100), "cfr+:100"),
        ("lcfr", LCFR, "lcfr"),
        ("dcfr:1,1,1", LCFR, "lcfr"),
        ("dcfr", DCFR(), "dcfr:1.5,0,2"),
        ("dcfr:1.5,0.5,4", DCFR(1.5, 0.5, 4), "dcfr:1.5,0.5,4"),
        ("dcfr+", DCFR_PLUS(), "dcfr+:1.5,0"),
        ("dcfr+:2", DCFR_PLUS(2), "dcfr+:2,0"),
        ("dcfr+:1.5,100", DCFR_PLUS(1.5, 100), "dcfr+:1.5,100"),
    ],
)
def test_text_names_an_algorithm(text: str, algorithm: Algorithm, shown: str) -> None:
    assert parse_algorithm(text) == algorithm
    assert str(algorithm) == shown
    assert parse_algorithm(shown) == algorithm


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *[(text, EXPECTED) for text in ("", "magic", "cfr:1", "lcfr:1", "dcfr:1", "dcfr:1,2", "dcfr:0,0,2")],
        *[(text, EXPECTED) for text in ("cfr+:1,2", "dcfr+:0", "dcfr+:-1,5", "dcfr+:1,2,3")],
        ("cfr+:1.5", "delay 1.5: expected a whole number from 0 up"),
        ("dcfr+:1.5,-5", "delay -5: expected a whole number from 0 up"),
        ("dcfr:1,x,2", "parameters '1,x,2': expected numbers, as in dcfr:1.5,0,2"),
        ("dcfr:12345,0,2", "parameters '12345,0,2': expected numbers, as in dcfr:1.5,0,2"),
    ],
)
def test_text_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AlgorithmError) as refused:
        parse_algorithm(text)
    assert str(refused.value) == f"algorithm {text!r}: {problem}"


def test_help_begins_with_the_default() -> None:
    assert algorithms_text() == "dcfr (default), dcfr:1.5,0,2, lcfr, cfr, cfr+, dcfr+:1.5,100"


# Schedules


@pytest.mark.parametrize("power", [0, 1, 2, 3.5])
def test_discounts_and_weights_differ_by_a_scale_alone(power: float) -> None:
    numbers, schedule = np.random.default_rng(1).random(50), Power(power)
    discounted = 0.0
    for iteration, number in enumerate(numbers.tolist(), 1):
        keep, add = schedule.update(iteration)
        discounted = discounted * keep + add * number
    weights = np.array([schedule.weight(iteration) for iteration in range(1, 51)])
    assert discounted == pytest.approx(weights @ numbers / weights[-1])
    assert total_weight(schedule, range(1, 51)) == pytest.approx(weights.sum() / weights[-1])


def test_the_weight_of_an_average_adds_up_from_anywhere() -> None:
    assert total_weight(Delayed(3), range(1, 8)) == 1 + 2 + 3 + 4
    half = total_weight(LINEAR, range(1, 20))
    assert total_weight(LINEAR, range(20, 41), half) == total_weight(LINEAR, range(1, 41))


def test_the_trainer_weighs_as_linear_cfr_does() -> None:
    """What is kept of a sum before period n is the weight of period n - 1 over that of n, of regrets and averages."""
    weight = TrainerSettings(linear=True).weighting.weight
    for number in range(1, 100):
        weights = LCFR.weights(number)
        assert weights.add_average == 1.0
        for kept in (weights.keep_average, weights.keep_positive, weights.keep_negative):
            assert kept == weight(number - 1) / weight(number)
    assert TrainerSettings(linear=False).weighting is UNIFORM


# A variant of one's own


@dataclass(frozen=True, slots=True)
class Rising(Discount):
    """s^a / (s^a + 1), where a goes from `first` to `last` in so many iterations."""

    first: float
    last: float
    horizon: float

    def kept(self, iteration: int) -> float:
        before = iteration - 1
        power = self.first + (self.last - self.first) * min(1.0, iteration / self.horizon)
        return float(before**power / (before**power + 1)) if before else 0.0


SCHEDULED = Variant(
    "scheduled",
    lambda horizon, gamma: Schedules(Rising(1.0, 4.0, horizon), Rising(-1.0, -3.0, horizon), Power(gamma)),
    (Parameter("horizon", 500, positive=True, whole=True), Parameter("γ", 3.0)),
    partly=True,
    named={"scheduled-short": (50, 3)},
    examples=("scheduled", "scheduled:500,3"),
)
"""DCFR with parameters that move, as hyperparameter schedules do (Zhang, McAleer and Sandholm 2024)."""


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variant is registered for one test."""
    monkeypatch.setattr(algorithms, "_VARIANTS", dict(algorithms._VARIANTS))
    register(SCHEDULED)


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("text", ["scheduled", "scheduled:100", "scheduled-short"])
def test_a_new_variant_solves_kuhn_by_name(text: str) -> None:
    engine = Engine(SmallGame(*kuhn()), parse_algorithm(text), threads=1)
    engine.iterate(1000)
    exploitability = engine.exploitability().chips
    assert exploitability < 5e-4  # uniform play: 0.46
    assert engine.game_value(0) == pytest.approx(-1 / 18, abs=2 * exploitability)


@pytest.mark.usefixtures("known")
def test_a_new_variant_has_text_and_refusals() -> None:
    assert str(parse_algorithm("scheduled:500")) == "scheduled:500,3"
    assert str(parse_algorithm("scheduled:50,3")) == "scheduled-short"
    assert algorithms_text().endswith(", dcfr+:1.5,100, scheduled-short, scheduled, scheduled:500,3")
    with pytest.raises(AlgorithmError, match=r"^algorithm 'scheduled:1.5': horizon 1.5: expected a whole number"):
        parse_algorithm("scheduled:1.5")
    with pytest.raises(AlgorithmError, match=r"or scheduled:500,3, with .* \(α\) above 0 and .* \(horizon\) above 0$"):
        parse_algorithm("scheduled:0")


@pytest.mark.usefixtures("known")
def test_the_command_knows_a_new_variant(capsys: pytest.CaptureFixture[str]) -> None:
    spot = {"board": "Ks7h2d5cJh", "pot": "1000", "stack": "1000", "oop": "AA,QQ", "ip": "KK", "menu": "a"}
    words = [word for key, value in spot.items() for word in (f"--{key}", value)]
    assert cli.main(["solve", *words, "--iterations", "50", "--threads", "1", "--algorithm", "scheduled:50"]) == 0
    assert "scheduled-short, 50 iterations" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["solve", "--help"])
    assert "scheduled:500,3" in "".join(capsys.readouterr().out.split())


def test_what_is_not_registered_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AlgorithmError, match="algorithm 'scheduled': expected cfr"):
        parse_algorithm("scheduled")
    engine = Engine(SmallGame(*kuhn()), SCHEDULED(50, 2), threads=1)  # but may be used
    engine.iterate(200)
    assert engine.exploitability().chips < 1e-3


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("named", [{}, {"lcfr": (2.0,)}])
@pytest.mark.parametrize("name", ["dcfr", "Mine", "a,b", ""])
def test_names_are_new_and_plain(name: str, named: dict[str, tuple[float, ...]]) -> None:
    compose: Callable[..., Schedules] = SCHEDULED.compose
    with pytest.raises(AlgorithmError, match=r"expected a new one, of small letters, digits, - and \+$"):
        register(Variant(name, compose, SCHEDULED.parameters, named=named))


def test_the_example_of_the_docs_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithms, "_VARIANTS", dict(algorithms._VARIANTS))
    text = (Path(__file__).parent.parent / "docs" / "solver.md").read_text("utf-8")
    code = re.search(
        r"^    from solver\.algorithms import .*?^    solver = Solver\(subgame, (.*?)\)$", text, re.M | re.S
    )
    assert code
    names: dict[str, Any] = {}
    exec(dedent(code[0]).rpartition("\n")[0] + f"\nfound = {code[1]}", names)
    assert str(names["found"]) == "mine:0.5,20"
    engine = Engine(SmallGame(*kuhn()), names["found"], threads=1)
    engine.iterate(500)
    assert engine.exploitability().chips < 5e-3


def test_averages_may_weigh_later_iterations_less() -> None:
    algorithm = parse_algorithm("dcfr:1.5,0,-1")
    assert [algorithm.weights(iteration).keep_average for iteration in (1, 2, 4)] == [0.0, 2.0, 4 / 3]
