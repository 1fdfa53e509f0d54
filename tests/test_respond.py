"""What a responder wins, against exact best responses in games without card abstraction."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from trained import Case, kuhn, leduc, no_limit_leduc, short_deck

from blueprints.train.measures.contest import Contestant
from blueprints.train.measures.respond import respond
from bot import cli


@pytest.mark.parametrize(
    ("make_case", "boards"), [(kuhn, 400), (leduc, 4000), (no_limit_leduc, 4000), (short_deck, 4000)]
)
def test_it_finds_nearly_all_that_a_best_response_wins_and_never_more(
    make_case: Callable[[], Case], boards: int
) -> None:
    here = make_case()
    tables = here.learnt(1, 5, 20)
    exact = here.measure().exploitability(tables).chips
    score = respond(here.game, here.tree, Contestant(tables, here.cards), boards=boards, test_boards=1500, seed=3)
    assert score.chips > 0.9 * exact
    assert score.chips < exact + score.interval_chips + 1e-6 * exact


def test_against_what_is_nearly_optimal_it_wins_nearly_nothing() -> None:
    here = leduc()
    tables = here.learnt(1, 200, 100)
    exact = here.measure().exploitability(tables).chips
    score = respond(here.game, here.tree, Contestant(tables, here.cards), boards=4000, test_boards=1500, seed=3)
    assert exact < 0.05
    assert score.chips < exact + score.interval_chips


def test_from_next_to_nothing_it_plays_as_the_strategy_does() -> None:
    """From one board nothing is learnt that is played: what the strategy wins from itself is nothing."""
    here, told = leduc(), []
    tables = here.learnt(1, 20, 50)
    score = respond(
        here.game,
        here.tree,
        Contestant(tables, here.cards),
        boards=1,
        test_boards=50,
        tell=lambda what, share: told.append(share),
    )
    assert abs(score.chips) < 1e-6
    assert max(told) == 1.0


def test_the_command(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leduc.toml").write_text('name = "leduc"\ngame = "leduc"\nmenu = "100%,a / a"\n[trainer]\nwalks = 50\n')
    for periods in (1, 40):
        out = f"{periods}.blueprint"
        command = ["blueprint", "train", "leduc.toml", "--periods", str(periods), "--threads", "1", "--out", out]
        assert cli.main(command) == 0
    capsys.readouterr()
    sizes = ["--boards", "2000", "--test-boards", "300", "--threads", "1"]
    won = {}
    for periods in (1, 40):
        assert cli.main(["blueprint", "respond", f"{periods}.blueprint", *sizes, "--json"]) == 0
        won[periods] = json.loads(capsys.readouterr().out)
        assert won[periods]["boards"] == 300
    assert won[1]["chips"] > 2 * won[40]["chips"] > 0
    assert np.isclose(won[1]["chips"], np.mean(won[1]["seats_chips"]))
    assert cli.main(["blueprint", "respond", "40.blueprint", *sizes]) == 0
    out = capsys.readouterr().out
    assert "both seats" in out
    assert "at least" in out
    for wrong, line in (("--boards=0", "--boards 0: expected 1"), ("--test-boards=1", "--test-boards 1: expected 2")):
        assert cli.main(["blueprint", "respond", "40.blueprint", wrong]) == 2
        err = capsys.readouterr().err
        assert line in err
        assert err.count("\n") == 1
