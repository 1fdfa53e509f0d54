"""Local best response over every deal of small games: the figures of REFERENCES, never above a best response."""

from __future__ import annotations

import pytest
from lbr_games import Ask, Everything, Written, ask, random_strategy, solved
from leduc import LEDUC, in_open_spiels_convention, leduc
from test_exploitability import KUHN, NO_LIMIT, values

from dealer_tools.lbr.settings import Setting
from dealer_tools.probe import Probe
from protocol.game import Position
from solver.algorithms import CFR
from strategies.identity import DrawKey
from strategies.registry import open_agent


@pytest.fixture(scope="module")
def ten_iterations() -> Written:
    subgame = leduc()
    return solved(LEDUC, subgame, in_open_spiels_convention(subgame, CFR(), 10))


def agent(name: str) -> Ask:
    probe = Probe(open_agent(name, LEDUC), DrawKey(0, "test"))
    return lambda state, board, past: probe.policy(0, Position(int(state.actor or 0)), state, board, past)


@pytest.mark.parametrize(("setting", "thousandths"), [("fc", 45), ("fcpa-late", 686)])
def test_against_ten_iterations_of_cfr(ten_iterations, setting, thousandths):
    """Fold/call; fold/call/raise. The best response takes 889 (`test_exploitability`)."""
    found = Everything(LEDUC, Setting(setting), ask(ten_iterations)).mean()
    assert 1000 * found == pytest.approx(thousandths, abs=0.5)


@pytest.mark.parametrize(
    ("name", "setting", "thousandths"),
    [
        ("always-call", "fc", 0),
        ("always-call", "fcpa-late", 1_466.7),  # and the best response 1,466.7
        ("always-fold", "fc", 0),
        ("always-fold", "fcpa-late", 1_000),
    ],
)
def test_against_baselines(name, setting, thousandths):
    assert 1000 * Everything(LEDUC, Setting(setting), agent(name)).mean() == pytest.approx(thousandths, abs=0.06)


@pytest.mark.parametrize("game", [KUHN, LEDUC, NO_LIMIT], ids=["kuhn", "leduc", "no-limit"])
def test_never_above_the_best_response(game):
    """In either position, against strategies that know no sense."""
    for seed, settings in ((1, ("fc", "fcpa-late", "modicum-b")), (2, ("56-late", "modicum-a", "56-flop"))):
        strategy = random_strategy(game, seed)
        best = values(game, strategy).best_response
        for setting in settings:
            wins = Everything(game, Setting(setting), ask(strategy)).wins()
            assert all(won <= most + 1e-9 for won, most in zip(wins, best, strict=True)), (seed, setting)
