"""Our own time, by hand: what each limit leaves, with a clock that moves only when told to."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.clock import Clock
from protocol.log import Limits
from strategies.strategy import Budget

NOW = 1000.0
LIMITS = Limits(response_ms=10_000, hand_ms=15_000, per_hand_ms=7_000)


class Time:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def clock(hands=100, limits=LIMITS, margin_s=0.5, now=None):
    return Clock(limits, hands, margin_s, now or Time())


def left(budget: Budget) -> float:
    return budget.deadline_s - NOW


def test_the_response_limit_less_the_margin_comes_first():
    budget = clock().budget(0)
    assert left(budget) == 9.5
    assert budget.fair_share_s == 7.0  # 100 × 7 s for 100 hands


def test_then_what_is_left_of_the_hand():
    timer = clock()
    for used, expected in ((4.0, 9.5), (2.0, 8.5), (5.0, 3.5), (3.4, 0.48), (0.6, 0.0), (9.0, 0.0)):
        timer.budget(3)
        timer.spent(used)
        assert left(timer.budget(3)) == pytest.approx(expected)


def test_a_new_hand_has_its_whole_time():
    timer = clock()
    timer.budget(0)
    timer.spent(14.0)
    assert left(timer.budget(0)) == pytest.approx(0.8)  # of the last second the margin takes a fifth
    assert left(timer.budget(1)) == 9.5


def test_then_what_is_left_of_the_match():
    timer = clock(hands=3)  # 21 s
    for hand, used, expected, share in ((0, 9.0, 9.5, 7.0), (1, 9.0, 9.5, 6.0), (2, 2.0, 2.5, 3.0)):
        budget = timer.budget(hand)
        assert left(budget) == pytest.approx(expected)
        assert budget.fair_share_s == pytest.approx(share)
        timer.spent(used)
    assert timer.used_match_s == pytest.approx(20.0)
    budget = timer.budget(2)
    assert left(budget) == pytest.approx(0.8)
    assert budget.fair_share_s == pytest.approx(1.0)


def test_the_fair_share_counts_the_hand_that_is_being_played():
    timer = clock(hands=4)  # 28 s
    assert timer.budget(0).fair_share_s == 7.0
    timer.spent(4.0)
    assert timer.budget(0).fair_share_s == 6.0  # the same hand: 24 s for four
    assert timer.budget(1).fair_share_s == 8.0  # 24 s for three
    timer.spent(0.0)
    assert timer.budget(2).fair_share_s == 12.0
    assert timer.budget(3).fair_share_s == 24.0


def test_hands_that_never_asked_us_anything_do_not_count_as_begun():
    # A hand that the opponent folds at once is not seen here: the share errs on the careful side.
    timer = clock(hands=4)
    assert timer.budget(0).fair_share_s == 7.0
    assert timer.budget(3).fair_share_s == pytest.approx(28 / 3)


def test_more_hands_than_were_assumed():
    timer = clock(hands=2)  # 14 s
    for hand in range(5):
        budget = timer.budget(hand)
        timer.spent(1.0)
    assert budget.fair_share_s == pytest.approx(10.0)  # what is left, as for a last hand
    assert left(budget) == 9.5
    timer.spent(9.0)
    budget = timer.budget(5)
    assert budget.fair_share_s == 0.0
    assert left(budget) == 0.0


def test_the_deadline_is_on_the_given_clock():
    now = Time()
    timer = clock(now=now)
    timer.budget(0)
    now.now += 250.0
    assert timer.budget(0).deadline_s == NOW + 259.5  # only `spent` counts as used


def test_a_limit_shorter_than_the_margin_leaves_most_of_it():
    assert left(clock(limits=Limits(50, 1000, 1000), margin_s=0.2).budget(0)) == pytest.approx(0.04)


def test_what_an_interrupted_match_had_used():
    timer = Clock(LIMITS, 10, 0.5, Time(), hands_begun=8, used_s=60.0)  # 10 s are left for the last two hands
    assert timer.budget(8).fair_share_s == pytest.approx(5.0)
    assert timer.used_match_s == 60.0


def test_the_way_of_every_response_counts_as_used():
    """Half a millisecond of thought a response would never use up 5 s, 10 ms on the way do."""
    timer = Clock(Limits(5_000, 5_000, 50), 100, 0.2, Time(), way_s=0.01)
    for hand in range(100):
        for _ in range(4):
            timer.budget(hand)
            timer.spent(0.0005)
    assert timer.used_match_s == pytest.approx(100 * 4 * 0.0105)
    assert timer.budget(99).fair_share_s == pytest.approx(5.0 - 4.2)


def test_no_time_at_all():
    timer = clock(limits=Limits(1, 1, 1), margin_s=0.2)
    assert left(timer.budget(0)) == pytest.approx(8e-4)
    assert timer.budget(0).fair_share_s == pytest.approx(1e-3)


def test_the_budget_counts_down_on_the_real_clock():
    timer = Clock(LIMITS, 10, 0.5)
    first = timer.budget(0)
    assert 9.0 < first.left_s <= 9.5
    time.sleep(0.01)
    assert first.left_s <= 9.49


MS = st.integers(0, 10**6)
MOVES = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1000)), max_size=30)


@given(st.builds(Limits, MS, MS, MS), st.integers(1, 50), st.floats(0, 10), MOVES)
def test_never_negative_and_within_every_limit(limits, hands, margin_s, moves):
    timer = clock(hands, limits, margin_s)
    hand, used_hand, used_match = 0, 0.0, 0.0
    for step, seconds in moves:
        if step:
            hand, used_hand = hand + step, 0.0
        budget = timer.budget(hand)
        assert left(budget) >= 0
        assert budget.fair_share_s >= 0
        within = (
            limits.response_ms / 1e3,
            limits.hand_ms / 1e3 - used_hand,
            limits.per_hand_ms / 1e3 * hands - used_match,
        )
        assert left(budget) == pytest.approx(max(min(within) - min(margin_s, min(within) / 5), 0.0), abs=1e-6)
        assert budget.fair_share_s <= max(within[2], 0.0) + 1e-6
        timer.spent(seconds)
        used_hand += seconds
        used_match += seconds


def test_the_router_can_spend_its_share_without_running_out():
    """Whoever never spends more than the fair share of a hand never exceeds the match's limit."""
    timer = clock(hands=200, limits=Limits(600_000, 600_000, 7_000))
    for hand in range(200):
        budget = timer.budget(hand)
        assert left(budget) >= budget.fair_share_s - 0.5 - 1e-9
        timer.spent(budget.fair_share_s)
    assert timer.used_match_s == pytest.approx(1400.0)


@pytest.mark.parametrize(("think_s", "expected"), [(0.0, 7.0), (2.0, 2.0), (9.0, 7.0)])
def test_a_hand_may_be_told_to_take_less_than_is_allowed(think_s, expected):
    timer = Clock(Limits(600_000, 600_000, 7_000), 100, 0.2, lambda: 5.0, think_s=think_s)
    budget = timer.budget(0)
    assert budget.fair_share_s == pytest.approx(expected)
    assert budget.share_s(0.25) == pytest.approx(expected / 4)
    assert budget.deadline_s == pytest.approx(5.0 + 600.0 - 0.2)
