"""When solves stop and whether they begin, on a clock that stands still; what is forecast of work."""

from __future__ import annotations

import pytest
from clocks import Clock

from strategies import strategy
from strategies.search import stopping
from strategies.search.settings import Effort
from strategies.search.stopping import Forecast, Limit, RateForecast
from strategies.strategy import Budget

EFFORT = Effort(iterations=100, share=0.5)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    clock.install(monkeypatch, strategy, stopping)
    return clock


def test_a_forecast_follows_what_was_measured() -> None:
    forecast = Forecast(1.0)
    assert (forecast.needed_s(), forecast.needed_s(3), forecast.possible(6.0)) == (1.0, 3.0, 6.0)
    forecast.learn(8.0, work=4)  # two seconds each
    assert forecast.needed_s(10) == 15.0
    forecast.learn(0.0)  # a clock that stands still says nothing
    assert forecast.needed_s() == 1.5
    other = forecast.another()
    forecast.doubt()
    assert (forecast.needed_s(), other.needed_s()) == (0.75, 1.5)


def test_a_decision_has_its_share_and_a_deadline(clock: Clock) -> None:
    limit = Limit.of(EFFORT, Budget(1010.0, 4.0), reserve_s=0.5, overrun=2.0)
    assert (limit.iterations, limit.share_s, limit.last_s) == (100, 1002.0, 1004.0)
    short = Limit.of(EFFORT, Budget(1001.0, 4.0), reserve_s=0.5, overrun=2.0)
    assert (short.share_s, short.last_s) == (1002.0, 1000.5)
    assert Limit.of(EFFORT, Budget(1010.0, 4.0), reserve_s=0.5).last_s == 1002.0
    clock.now_s = 1001.0
    assert (limit.left_s(patient=True), limit.left_s(patient=False)) == (3.0, 1.0)
    assert short.left_s(patient=False) == -0.5


def test_an_earlier_decision_has_half_of_the_time(clock: Clock) -> None:
    limit = Limit.again(7, Budget(1010.0, 0.1))
    assert (limit.iterations, limit.last_s) == (7, 1005.0)
    assert limit.until_s(1e-3, 0.25, 24, patient=True) == pytest.approx(1005.0 - 0.25 - 1e-3)


@pytest.mark.parametrize(
    ("iteration_s", "eager", "patient"),
    [
        (0.01, 1001.89, 1001.89),  # 24 of them end long before: the share is used
        (0.08, None, 1001.92),  # 24 take longer than the share, which patience overruns for them
        (0.2, None, 1003.7),  # up to the last moment
        (1.9, None, 1002.0),
        (1.96, None, None),  # not even one ends in time
    ],
)
def test_whether_a_solve_is_worth_it(
    clock: Clock, iteration_s: float, eager: float | None, patient: float | None
) -> None:
    """Its share ends after 2 s, there must be an answer after 4, and reading it takes 0.1."""
    limit = Limit.of(EFFORT, Budget(1010.0, 4.0), reserve_s=0.0, overrun=2.0)
    assert limit.until_s(iteration_s, 0.1, 24, patient=False) == (eager and pytest.approx(eager))
    assert limit.until_s(iteration_s, 0.1, 24, patient=True) == (patient and pytest.approx(patient))


def test_no_more_iterations_are_useful_than_are_wanted(clock: Clock) -> None:
    limit = Limit.of(Effort(iterations=3, share=0.5), Budget(1010.0, 4.0), reserve_s=0.0)
    assert limit.until_s(0.2, 0.1, 24, patient=False) is not None


def test_one_standstill_halves_a_rate_at_most() -> None:
    """A tree that was built while the process stood still is no reason to build none any more."""
    rate = RateForecast(1 / 4000)
    for _ in range(10):
        rate.learn(0.025, 500)  # 20,000 nodes a second
    assert rate.possible(1.0) == pytest.approx(20_000, rel=0.01)
    rate.learn(30.0, 500)
    assert rate.possible(1.0) > 9_900
    mean = Forecast(1 / 20_000)
    mean.learn(30.0, 500)
    assert mean.possible(1.0) < 50
    rate.another().doubt()
    assert rate.possible(1.0) < 10_100
    rate.doubt()
    assert rate.possible(1.0) > 19_800
