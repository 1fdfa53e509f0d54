"""Six agents, every pair, killed ten times at random moments: the same logs and results as without.

Agents that search think for a fixed number of iterations. Killed in the middle of a hand, they do the searches before
it again.
"""

from __future__ import annotations

import json

import pytest
from experiments import FAST, kill_and_resume, logs, plan_text, results, run_through, table

pytestmark = pytest.mark.proof

AGENTS = {**FAST, "again": "random"}
"""One of them twice: nobody should be better."""
GAMES = {"leduc": 60, "holdem.nolimit.2p.reverse_blinds": 40}
KILLS, PAIRS = 10, 15
SEARCHING = {
    "whole": ("paratus", 6, 12, 40), "coarse": ("paratus", 3, 5, 15), "flop": ("limited", 6, 10, 10),
    "late": ("nested", 3, 10, 30),
}  # fmt: skip
"""Agents, and their iterations before the turn, on it, and on the river."""
ALONE = {"trained": "blueprint", "other": "slumbot-style"}


def killed_and_not(tmp_path_factory, text, hands, seed, patience_s):
    """The experiment twice; returns the folder of the one that was left alone."""
    whole = run_through(tmp_path_factory.mktemp("whole"), text, patience_s)
    killed = kill_and_resume(tmp_path_factory.mktemp("killed"), text, KILLS, seed, PAIRS * 2 * hands, patience_s)
    assert len(logs(whole)) == PAIRS * 2 * 2
    assert logs(killed) == logs(whole)
    assert results(killed) == results(whole)
    assert table(killed) == table(whole)
    return whole


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("game", GAMES)
def test_ten_kills_change_nothing(tmp_path_factory, game):
    hands = GAMES[game]
    text = plan_text(AGENTS, game=game, hands=hands, seeds=[7], estimator="aivat", values="equity")
    whole = killed_and_not(tmp_path_factory, text, hands, 11, 600)
    pairs = {tuple(each["pair"]): each for each in json.loads((whole / "results.json").read_text())["pairs"]}
    assert len(pairs) == PAIRS
    assert not pairs["random", "again"]["significant"]
    assert pairs["random", "raiser"]["significant"] or game != "leduc"


def searching_plan(hands: int) -> str:
    """Agents that search for so long as it takes, two that look up, one deal after another."""
    text = plan_text(ALONE, game="holdem.nolimit.2p.reverse_blinds", hands=hands, seeds=[3], think_s=1e5)
    for name, (agent, early, turn, river) in SEARCHING.items():
        efforts = {"limited.preflop": early, "limited.flop": early, "nested.turn": turn, "nested.river": river}
        text += f'\n[[agents]]\nname = "{name}"\nagent = "{agent}"\n'
        text += "[agents.settings.limited]\nthreads = 1\nkeep = false\n[agents.settings.nested]\nthreads = 1\n"
        for section, iterations in efforts.items():
            text += f"[agents.settings.{section}]\niterations = {iterations}\nshare = 1.0\n"
    return text + "\n[limits]\nresponse_ms = 1_000_000_000\nhand_ms = 1_000_000_000\nper_hand_ms = 1_000_000_000\n"


@pytest.mark.timeout(3600)
def test_ten_kills_change_nothing_for_agents_that_search(tmp_path_factory):
    hands = 3
    text = searching_plan(hands)
    whole = killed_and_not(tmp_path_factory, text, hands, 5, 1800)
    assert not any(agent["fallbacks"] for agent in results(whole)["agents"].values())
