"""Six agents, every pair, killed ten times at random moments: the same logs and results as without."""

from __future__ import annotations

import json

import pytest
from experiments import FAST, kill_and_resume, logs, plan_text, results, run_through, table

pytestmark = pytest.mark.proof

AGENTS = {**FAST, "again": "random"}
"""One of them twice: nobody should be better."""
GAMES = {"leduc": 60, "holdem.nolimit.2p.reverse_blinds": 40}
KILLS, PAIRS = 10, 15


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("game", GAMES)
def test_ten_kills_change_nothing(tmp_path_factory, game):
    hands = GAMES[game]
    text = plan_text(AGENTS, game=game, hands=hands, seeds=[7], estimator="aivat", values="equity")
    whole = run_through(tmp_path_factory.mktemp("whole"), text, 600)
    killed = kill_and_resume(tmp_path_factory.mktemp("killed"), text, KILLS, 11, PAIRS * 2 * hands, 600)
    assert len(logs(whole)) == PAIRS * 2 * 2
    assert logs(killed) == logs(whole)
    assert results(killed) == results(whole)
    assert table(killed) == table(whole)
    pairs = {tuple(each["pair"]): each for each in json.loads((whole / "results.json").read_text())["pairs"]}
    assert len(pairs) == PAIRS
    assert not pairs["random", "again"]["significant"]
    assert pairs["random", "raiser"]["significant"] or game != "leduc"
