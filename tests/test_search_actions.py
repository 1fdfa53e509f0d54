"""Menus with what was played, the nearest action, stack-to-pot ratios; and from a strategy to a policy."""

from __future__ import annotations

import numpy as np
import pytest

from protocol.cards import parse_cards
from protocol.game import DEFAULT_GAME, Position, load_game
from protocol.state import CALL, FOLD, Action, Raise, State, start
from protocol.wire import read_betting
from solver.menu import menu_text, parse_menu
from solver.subgame import hands_of
from strategies.policy import SCALE, Origin, RaiseBetween, alike
from strategies.search.actions import nearest, stack_to_pot, with_played
from strategies.search.answer import answer
from strategies.strategy import Decided, Spot

HOLDEM = load_game(DEFAULT_GAME).game
MENU = "100%,a / 100%,a"


def at(betting: str) -> State:
    return read_betting(start(HOLDEM), betting)


@pytest.mark.parametrize(
    ("root", "betting", "added"),
    [
        ("cc/cc/", "cc/cc/", ""),
        ("cc/cc/", "cc/cc/cr300", ""),  # the pot
        ("cc/cc/", "cc/cc/cr257", "; also cc/cc/cr257"),
        ("cc/cc/", "cc/cc/r257r800", "; also cc/cc/r257; also cc/cc/r257r800"),
        ("cc/cc/r257", "cc/cc/r257r800", "; also cc/cc/r257r800"),
    ],
)
def test_sizes_that_were_played_are_in_the_menu(root: str, betting: str, added: str) -> None:
    assert menu_text(with_played(parse_menu(MENU), at(root), at(betting))) == MENU + added


def test_sizes_that_we_might_have_played_are_in_the_menu() -> None:
    """Where we decided, and no others: not those of other lines, and no ranges of sizes."""
    ours = [
        Decided(at("cc/cc/"), alike((CALL, Raise(250), Raise(300)), (0.2, 0.3, 0.5), Origin("any"))),
        Decided(at("cc/cc/r300r900"), alike((FOLD, RaiseBetween(3000, 4000)), (0.5, 0.5), Origin("any"))),
        Decided(at("cc/r300c/"), alike((Raise(555),), (1.0,), Origin("any"))),
    ]
    menu = with_played(parse_menu(MENU), at("cc/cc/"), at("cc/cc/r275r900c/"), ours)
    assert menu_text(menu) == f"{MENU}; also cc/cc/r250; also cc/cc/r275; also cc/cc/r275r900"


@pytest.mark.parametrize(
    ("actions", "action", "place"),
    [
        ((FOLD, CALL, Raise(300), Raise(900)), CALL, 1),
        ((FOLD, CALL, Raise(300), Raise(900)), Raise(599), 2),
        ((FOLD, CALL, Raise(300), Raise(900)), Raise(601), 3),
        ((FOLD, CALL, Raise(300), Raise(900)), Raise(600), 2),
        ((FOLD, CALL), Raise(600), None),
        ((CALL, Raise(300)), FOLD, None),
    ],
)
def test_the_nearest_action(actions: tuple[Action, ...], action: Action, place: int | None) -> None:
    assert nearest(actions, action) == place


def test_stacks_to_pots() -> None:
    assert stack_to_pot(at("cc/")) == 19_900 / 200
    assert stack_to_pot(at("cc/r300")) == 19_700 / 400  # the shorter stack
    assert stack_to_pot(at("cr20000")) == 0


def test_from_a_strategy_to_a_policy() -> None:
    """What is done too seldom is not done, unknown hands call, dead hands do nothing."""
    board = parse_cards("Ks7h2d5c")
    state, hands = at("cc/cc/r300"), list(hands_of(HOLDEM))
    actions = (FOLD, CALL, Raise(900))
    strategy = np.tile(np.array([[0.04], [0.36], [0.6]]), len(hands))
    index = {text: hands.index(tuple(sorted(parse_cards(text)))) for text in ("AhAd", "QhQd", "KsKd", "JhJd")}
    strategy[:, index["QhQd"]] = np.nan
    strategy[:, index["JhJd"]] = [0.03, 0.03, 0.03]
    origin = Origin("any", iterations=3)
    policy = answer(Spot(0, Position(0), state, board, ()), actions, strategy, 0.05, origin)
    assert (policy.support, policy.origin) == (actions, origin)
    shares = policy.weights / SCALE
    np.testing.assert_allclose(shares[:, index["AhAd"]], [0, 0.375, 0.625], atol=1e-4)
    np.testing.assert_allclose(shares[:, index["QhQd"]], [0, 1, 0])
    np.testing.assert_allclose(shares[:, index["JhJd"]], [1 / 3] * 3, atol=1e-4)
    assert not policy.weights[:, index["KsKd"]].any()
    assert policy.weights.any(axis=0).sum() == 48 * 47 // 2
