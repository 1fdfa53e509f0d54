"""The blueprints that ship are whole, small enough, and sensible where that can be seen at a glance.

What stands beside each (`python -m release.ship`) belongs to it. PARATUS_SHIPPED names another folder to look at.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprints.rounding import TOTAL
from blueprints.settings import load_settings
from blueprints.shipped import SHIPPED, SLUMBOT_STYLE, shipped_blueprint
from blueprints.storage import Blueprint
from protocol.game import DEFAULT_GAME, load_game
from protocol.hands import NUM_CLASSES, hand_classes_array, parse_class
from protocol.state import CALL, FOLD, Raise, start

MOST_BYTES = {SHIPPED: 40 * 1000 * 1000, SLUMBOT_STYLE: 10 * 1000 * 1000}
OPENING = {SHIPPED: "r300", SLUMBOT_STYLE: "r250"}
LEAST_SELF_BOARDS = 2000
LEAST_HANDS = 10_000
STRONG = ("AA", "KK", "QQ")


@pytest.fixture(scope="module", params=[SHIPPED, SLUMBOT_STYLE])
def blueprint(request: pytest.FixtureRequest) -> Blueprint:
    folder = os.environ.get("PARATUS_SHIPPED")
    return Blueprint.open(Path(folder) / request.param if folder else shipped_blueprint(request.param), verify=True)


def test_it_is_for_the_usual_game_and_fits(blueprint: Blueprint) -> None:
    blueprint.check_matches(load_game(DEFAULT_GAME).game)
    assert blueprint.size_bytes <= MOST_BYTES[blueprint.path.name]
    assert f"{blueprint.name}.blueprint" == blueprint.path.name
    assert {path.name for path in blueprint.path.parent.iterdir()} == {
        f"{name.removesuffix('.blueprint')}.{suffix}"
        for name in (SHIPPED, SLUMBOT_STYLE)
        for suffix in ("blueprint", "json", "log.jsonl", "toml")
    }


def test_the_configuration_beside_it_is_its_own(blueprint: Blueprint) -> None:
    assert load_settings(str(blueprint.path.with_suffix(".toml"))) == blueprint.header.settings


def runs_of(blueprint: Blueprint) -> list[list[dict[str, Any]]]:
    """The periods in the log beside it, by run: of each the numbers grow."""
    runs: list[list[dict[str, Any]]] = []
    for line in blueprint.path.with_suffix(".log.jsonl").read_text("utf-8").splitlines():
        period = json.loads(line)
        if not runs or period["number"] <= runs[-1][-1]["number"]:
            runs.append([])
        runs[-1].append(period)
    return runs


def test_the_log_beside_it_is_that_of_its_training(blueprint: Blueprint) -> None:
    """Those of all its runs, one after another."""
    training, runs = blueprint.header.training, runs_of(blueprint)
    assert len(runs) == max(1, len(training.runs))
    for run, said in zip(runs, training.runs, strict=False):
        assert run[-1]["walks"] == said.walks
    ends = [run[-1] for run in runs]
    assert sum(end["number"] for end in ends) == training.periods
    assert (
        sum(end["walks"] for end in ends) == training.walks == training.periods * blueprint.settings.trainer.walks > 0
    )
    assert sum(end["updates"] for end in ends) == training.updates
    assert sum(end["core_seconds"] for end in ends) == pytest.approx(training.core_seconds)


def test_the_evaluation_beside_it_is_of_this_file_and_meets_what_is_demanded(blueprint: Blueprint) -> None:
    report = json.loads(blueprint.path.with_suffix(".json").read_text("utf-8"))
    assert report["hash"] == blueprint.digest
    assert {"runs": [], **report["training"]} == blueprint.header.training.model_dump(mode="json")
    assert report["bytes"] == blueprint.size_bytes
    assert report["self-play"]["boards"] >= LEAST_SELF_BOARDS
    # Nothing can be compared with what was rounded once the run is gone; then the log is one line.
    runs = runs_of(blueprint)
    assert report["run"] == ("merged" if len(runs) > 1 else "there" if len(runs[0]) > 1 else "gone")
    assert ("8 bits against 32" in report) == (report["run"] != "gone")
    for opponent in ("always-call", "always-fold", "random"):
        match = report["matches"][opponent]
        low, high = match["interval_95_mbb"]
        assert low < match["mbb"] < high, opponent
        assert match["hands"] >= LEAST_HANDS, opponent
    assert report["matches"]["decisions not made as they should have been"] == 0
    # The standing opponent's file is from before tables, responders and local best responses were asked.
    assert len(report["demands"]) == (5 if blueprint.path.name == SLUMBOT_STYLE else 8)
    assert [demand["demand"] for demand in report["demands"] if not demand["met"]] == []
    assert report["met"] is True


def test_the_strongest_hands_do_not_fold_to_one_raise(blueprint: Blueprint) -> None:
    tree, spots = blueprint.tree, 0
    for node, state in tree.walk(start(blueprint.game)):
        actions = tree.actions(node)
        raises = sum(isinstance(action, Raise) for action in state.actions)
        if state.street == 0 and raises == 1 and FOLD in actions:
            spots += 1
            for name in STRONG:
                assert blueprint.rows(node)[actions.index(FOLD), parse_class(name)] < 0.001 * TOTAL, (
                    state.betting,
                    name,
                )
    assert spots >= 4


def test_it_opens_and_defends_as_any_textbook_would(blueprint: Blueprint) -> None:
    """Wide on the button, tighter against a raise, and the better hands more than the worse."""
    tree, classes = blueprint.tree, hand_classes_array()
    weights = np.bincount(classes, minlength=NUM_CLASSES) / len(classes)
    button = blueprint.rows(0) / TOTAL
    actions = tree.actions(0)
    folds = button[actions.index(FOLD)]
    assert 0.03 < folds @ weights < 0.35
    assert folds[parse_class("72o")] > 0.5
    for name in ("AA", "22", "AKs", "A2s", "KQo", "T9s", "AKo"):
        assert folds[parse_class(name)] < 0.02, name
    nodes = {state.betting: node for node, state in tree.walk(start(blueprint.game)) if state.street == 0}
    facing = nodes[OPENING[blueprint.path.name]]
    defend = blueprint.rows(facing) / TOTAL
    actions = tree.actions(facing)
    folded = defend[actions.index(FOLD)]
    assert 0.2 < folded @ weights < 0.7
    assert folded[parse_class("72o")] > 0.9
    for name in ("AA", "KK", "TT", "AKs", "AQo", "KQs", "JTs"):
        assert folded[parse_class(name)] < 0.05, name
    raised = defend[[isinstance(action, Raise) for action in actions]].sum(axis=0)
    assert raised[parse_class("AA")] > raised[parse_class("T9s")]
    assert raised[parse_class("KK")] > 0.6
    assert 0.25 < defend[actions.index(CALL)] @ weights < 0.7
