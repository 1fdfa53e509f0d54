"""Nested search where it takes long: menus that are too large, and hands played on with shipped settings."""

from __future__ import annotations

import time
from random import Random

import numpy as np
import pytest
from random_play import random_hand

from protocol.cards import parse_cards
from protocol.game import DEFAULT_GAME, load_game
from protocol.state import start
from protocol.wire import read_betting
from solver.subgame import Storage
from strategies.draws import Draws
from strategies.players.baselines import AlwaysCall
from strategies.policy import check_policy
from strategies.search.nested import NestedSearch
from strategies.search.settings import Effort, MenuRule, NestedSettings
from strategies.strategy import Budget, Decided, Spot

pytestmark = pytest.mark.proof

HOLDEM = load_game(DEFAULT_GAME).game


def test_a_menu_that_is_far_too_large_costs_no_deadline() -> None:
    """It would have more decisions than a tree may have; a coarser one answers, or at least nothing is late."""
    menu = "25%,33%,50%,75%,100%,150%,200%,a / 33%,50%,75%,100%,150%,a"
    strategy = NestedSearch(HOLDEM, NestedSettings(menus=(MenuRule(menu=menu),), threads=1), AlwaysCall())
    state = read_betting(start(HOLDEM), "cc/cc/")
    spot = Spot(0, state.actor, state, parse_cards("KsQh9dTc"), ())
    begun = time.monotonic()
    policy = strategy.policy(spot, Budget(begun + 3.0, 7.0), Draws(0, "", 0, 4, "strategy"))
    assert time.monotonic() - begun < 3.2
    check_policy(policy, state, spot.board)


@pytest.mark.parametrize("limit_s", [0.3, 1.0])
def test_random_hands_are_answered_in_time(limit_s: float) -> None:
    """With the shipped menus, wherever a random opponent goes; 0.1 s for a busy machine."""
    strategy, rng = NestedSearch(HOLDEM, NestedSettings(), AlwaysCall()), Random(f"late {limit_s}")
    late: list[float] = []
    searched = 0
    for hand in range(40):
        played, past = random_hand(rng, HOLDEM), []
        for state in played.states[:-1]:
            if state.actor != hand % 2:
                continue
            board = played.deal.board[: HOLDEM.board_cards_by(state.street)]
            spot = Spot(hand, state.actor, state, board, tuple(past))
            begun = time.monotonic()
            policy = strategy.policy(spot, Budget(begun + limit_s, 600.0), Draws(0, "", hand, 0, "strategy"))
            late.append(time.monotonic() - begun - limit_s)
            check_policy(policy, state, board)
            past.append(Decided(state, policy))
            searched += policy.origin.route == "nested"
    assert searched > 15
    assert max(late) < 0.1, sorted(late)[-5:]


@pytest.mark.parametrize("betting", ["r300c/cc/cc/", "r300c/r900c/r2700c/"])
def test_a_river_of_hold_em_is_safe(betting: str) -> None:
    """1,000 iterations of the turn, 2,000 of the river: the least margin is above -0.5 % of the pot."""
    given = NestedSettings(
        kind="maxmargin", least_probability=0.0, threads=1, menus=(MenuRule(menu="100%,a / a"),),
        turn=Effort(iterations=1000, share=1.0), river=Effort(iterations=2000, share=1.0),
    )  # fmt: skip
    strategy, board = NestedSearch(HOLDEM, given, AlwaysCall()), parse_cards("KsQh7d2c5s")
    past: list[Decided] = []
    for line in (betting[: betting.index("/", betting.index("/") + 1) + 1], betting):
        state = read_betting(start(HOLDEM), line)
        spot = Spot(0, state.actor, state, board[: HOLDEM.board_cards_by(state.street)], tuple(past))
        ample = Budget(time.monotonic() + 600, 600.0)
        past.append(Decided(state, strategy.policy(spot, ample, Draws(0, "", 0, 0, "strategy"))))
    assert strategy._hand is not None
    assert strategy._hand.last is not None
    question = strategy._hand.last.question
    assert question.kind == "maxmargin"
    solver = question.solver(question.subgame(strategy._hand.last.solver.subgame.menu, 1 << 30, Storage()), 1)
    solver.iterate(2000)
    margins = solver.margins()
    assert np.isfinite(margins).sum() > 1000
    assert -0.005 * question.root.pot < margins.min() < 0.05 * question.root.pot
