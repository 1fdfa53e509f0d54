"""What revision bc451a0 wrote is read by the code of today; `tests/samples/README.md` says how each file was made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import Ended

from bot.config import BotConfig, load_config
from bot.serve.config import ServeConfig, load_serve_config

SAMPLES = Path(__file__).parent / "samples"
MATCH = SAMPLES / "experiment" / "matches" / "01-searcher-stranger-1"
Call = Callable[..., Ended]
LEDUC_MATCH = (
    "match",
    "leduc",
    "random",
    "always-call",
    "--hands",
    "20",
    "--seed",
    "3",
    "--duplicate",
    "--out",
    "match",
)


def done(ended: Ended) -> str:
    assert ended.code == 0, ended.err
    return ended.out


def test_settings(here: Call) -> None:
    assert load_config(SAMPLES / "bot.toml", {}) == BotConfig()
    assert load_serve_config(SAMPLES / "serve.toml") == ServeConfig()


def results() -> Any:
    return json.loads((SAMPLES / "experiment" / "results.json").read_text("utf-8"))


def test_stores_are_scored(here: Call) -> None:
    scored = json.loads(done(here("score", MATCH, "--values", "equity", "--json")))
    (known,) = results()["pairs"]
    assert (scored["player"], scored["hands"], scored["pairs"]) == ("searcher", 16, 8)
    aivat = scored["estimators"]["aivat"]
    assert aivat["mean_mbb"] == pytest.approx(known["mean_mbb"], rel=1e-9)
    assert aivat["se_mbb"] == pytest.approx(known["se_mbb"], rel=1e-9)


def test_a_hand_is_replayed(here: Call) -> None:
    assert "hand 3" in done(here("replay", MATCH, "--hand", "3", "--values", "equity"))


def test_a_match_that_is_over_is_shown_again(here: Call, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "match", tmp_path / "match")
    shown = json.loads(done(here(*LEDUC_MATCH, "--json")))
    assert shown == json.loads((SAMPLES / "match" / "result.json").read_text("utf-8"))


def test_a_match_without_its_result_is_read_to_the_same(here: Call, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "match", tmp_path / "match")
    known = json.loads((tmp_path / "match" / "result.json").read_text("utf-8"))
    (tmp_path / "match" / "result.json").unlink()
    assert json.loads(done(here(*LEDUC_MATCH, "--json")))["players"] == known["players"]


def test_an_experiment_that_is_over_is_shown_again(here: Call, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "experiment", tmp_path / "experiment")
    shown = json.loads(done(here("experiment", tmp_path / "experiment" / "plan.toml", "--out", "experiment", "--json")))
    assert shown["pairs"] == results()["pairs"]
    assert shown["agents"]["searcher"]["identities"] == results()["agents"]["searcher"]["identities"]


def test_solutions_are_asked(here: Call) -> None:
    for name, node, actions in (("river", "x", 4), ("turn", "x,x,[Td]", 3)):
        found = json.loads(done(here("solve", "--load", SAMPLES / f"{name}.solution", "--node", node, "--json")))
        assert found["answer"]["line"] == node
        assert len(found["answer"]["actions"]) == actions


def test_payoffs_and_ranges_are_solved_with(here: Call) -> None:
    spot = ("--board", "Ks 7h 2d 5c Td", "--pot", "1000", "--stack", "1500", "--menu", "100%,a / a")
    known = ("--oop", f"@{SAMPLES / 'range.npy'}", "--opponent", "ip", "--payoffs", SAMPLES / "payoffs.json")
    assert np.load(SAMPLES / "range.npy").shape == (1326,)
    solved = here(
        "solve", *spot, *known, "--gadget", "reach-maxmargin", "--iterations", "20", "--threads", "1", "--json"
    )
    assert json.loads(done(solved))["answer"]["actions"]


def test_a_run_goes_on(here: Call, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "run", tmp_path / "run")
    options = ("--folder", "run", "--periods", "3", "--threads", "1", "--json")
    went_on = here("blueprint", "train", "tiny", *options)
    assert json.loads(done(went_on))["number"] == 3
    assert "goes on after period 2" in went_on.err


def test_a_blueprint_is_verified(here: Call) -> None:
    done(here("blueprint", "verify", SAMPLES / "run" / "tiny.blueprint"))


def test_pairs_of_a_local_best_response_go_on(here: Call, tmp_path: Path) -> None:
    """From the middle of a line, as a killed writer leaves it."""
    whole = (SAMPLES / "pairs.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 6
    (tmp_path / "pairs.jsonl").write_bytes(b"".join(lines[:4]) + lines[4][:20])
    command = ("lbr", "blueprint", "--setting", "fc", "--hands", "5", "--out", "pairs.jsonl", "--json")
    assert json.loads(done(here(*command)))["hands"] == 10
    assert (tmp_path / "pairs.jsonl").read_bytes() == whole
