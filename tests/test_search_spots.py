"""The recorded decisions of `paratus bench search`: what they must have for times to be those of play."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import search
from benchmarks.search_spots.spots import load_spots
from solver.gadget_kinds import Kind
from solver.menu import menu_text, parse_menu
from strategies.search.actions import with_played
from strategies.search.settings import NestedSettings


def test_turns_and_rivers_with_every_kind_of_solve_that_is_played() -> None:
    spots = load_spots()
    assert [sum(spot.question.root.street == street for spot in spots) for street in (2, 3)] == [25, 25]
    assert {spot.question.kind for spot in spots} == {Kind.UNSAFE, Kind.REACH_MAXMARGIN}
    for spot in spots:
        root = spot.question.root
        assert spot.state.actions[: len(root.actions)] == root.actions
        assert all(weights.any() for weights in spot.question.ranges)


def test_trees_are_those_of_the_default_menus() -> None:
    """No coarser ones, which a machine with too little time would have played."""
    menus = {rule.street: parse_menu(rule.menu) for rule in NestedSettings().menus if rule.spr == np.inf}
    for spot in load_spots():
        menu = menus["river" if spot.question.root.street == 3 else "any"]
        assert menu_text(spot.menu) == menu_text(with_played(menu, spot.question.root, spot.state))


def test_rivers_come_with_gifts() -> None:
    """What the opponent gave away on the turn."""
    rivers = [spot.question for spot in load_spots() if spot.question.root.street == 3 and spot.question.kind.reach]
    assert all(np.isfinite(each.gifts).all() and (each.gifts >= 0).all() for each in rivers)
    given = [each for each in rivers if (each.gifts > 1).any()]
    assert len(given) >= len(rivers) // 2 >= 5
    assert all((each.shifted >= each.payoffs).all() and (each.shifted > each.payoffs).any() for each in given)


def test_every_kind_of_gadget_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_INSTANCES", 1)
    monkeypatch.setattr(search, "_BATCHES", 1)
    cost = search._gadget_cost(load_spots()[-1])
    assert list(cost) == ["resolve", "maxmargin", "normal", "hedge"]
    assert min(cost.values()) > 0.2  # of an iteration without: whatever else the machine does
