"""The written rules of `bot.serve.turns`: whose turn it is, and how much time there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.serve.turns import LEAST_S, MOST_S, MOST_SHARES, USEFUL_S, Waiting, WaitingLine
from strategies.strategy import Budget


def waiting(ask: int, match: str, asked_s: float = 0.0, deadline_s: float = 100.0, share_s: float = 4.0) -> Waiting:
    return Waiting(ask, match, asked_s, Budget(deadline_s, share_s))


def served(line: WaitingLine, now_s: float = 0.0) -> str:
    taken = line.take(now_s)
    assert taken is not None
    return taken[0].match


def test_alone_it_has_its_whole_time():
    line = WaitingLine()
    line.add(waiting(1, "a", deadline_s=3.0))
    assert line.take(1.0) == (waiting(1, "a", deadline_s=3.0), Budget(3.0, 4.0))
    assert line.take(1.0) is None
    assert len(line) == 0


def test_the_match_that_was_served_longest_ago_is_next():
    line, ask, order = WaitingLine(), 0, []
    for match in "abc":
        ask += 1
        line.add(waiting(ask, match))
    for _ in range(9):
        order.append(served(line))
        ask += 1
        line.add(waiting(ask, order[-1]))  # asks again at once
    assert "".join(order) == "abcabcabc"


def test_one_that_asks_often_never_passes_one_that_waits():
    line = WaitingLine()
    line.add(waiting(1, "often"))
    assert served(line) == "often"
    line.add(waiting(2, "often", asked_s=0.1))
    line.add(waiting(3, "seldom", asked_s=0.2))
    assert served(line, 0.2) == "seldom"


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_think_times_shrink_with_the_number_that_waits(count):
    line = WaitingLine()
    for ask in range(count):
        line.add(waiting(ask, f"m{ask}", share_s=4.0, deadline_s=1e6))
    taken = line.take(0.0)
    assert taken is not None
    assert taken[1].fair_share_s == pytest.approx(max(4.0 / count, USEFUL_S))


@pytest.mark.parametrize("share_s", [2 * USEFUL_S, USEFUL_S, USEFUL_S / 2])
def test_a_search_that_is_worth_nothing_is_not_begun_for_all(share_s):
    line = WaitingLine()
    for ask in range(10):
        line.add(waiting(ask, f"m{ask}", share_s=share_s, deadline_s=1e6))
    taken = line.take(0.0)
    assert taken is not None
    assert taken[1].fair_share_s == min(share_s, USEFUL_S)


def test_a_deadline_leaves_room_for_those_behind():
    line = WaitingLine()
    line.add(waiting(1, "a", deadline_s=10.0))
    line.add(waiting(2, "b", deadline_s=3.0))
    line.add(waiting(3, "c", deadline_s=6.0))
    taken = line.take(0.0)
    assert taken is not None
    assert taken[1].deadline_s == pytest.approx(1.5)  # min(10/1, 3/2, 6/3)


@given(st.lists(st.tuples(st.floats(0.05, 10), st.floats(0.01, 5)), min_size=1, max_size=30))
def test_nobody_is_late_if_all_keep_to_their_time(spots):
    """Each that is taken up uses all that it is given: no other's deadline passes before its own turn ends."""
    line, now_s = WaitingLine(), 0.0
    for ask, (deadline_s, share_s) in enumerate(spots):
        line.add(waiting(ask, f"m{ask}", deadline_s=deadline_s, share_s=share_s))
    while (taken := line.take(now_s)) is not None:
        decision, budget = taken
        assert now_s < budget.deadline_s <= decision.budget.deadline_s + 1e-9
        assert budget.deadline_s - now_s <= max(MOST_SHARES * decision.budget.fair_share_s, MOST_S) + 1e-9
        assert budget.fair_share_s <= decision.budget.fair_share_s
        now_s = budget.deadline_s


def test_waiting_is_bounded():
    assert waiting(1, "a", asked_s=1.0, share_s=4.0).expires_s == 5.0
    assert waiting(1, "a", asked_s=1.0, share_s=4.0, deadline_s=2.0).expires_s == 2.0 - LEAST_S
    line = WaitingLine()
    line.add(waiting(1, "a", share_s=1.0))
    assert line.take(1.0) is None
    assert line.remove(1)
    assert not line.remove(1)


def test_a_match_that_is_over_waits_for_nothing():
    line = WaitingLine()
    line.add(waiting(1, "a"))
    line.add(waiting(2, "b"))
    line.forget("a")
    assert served(line) == "b"
    assert line.take(0.0) is None
