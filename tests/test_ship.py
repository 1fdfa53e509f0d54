"""`python -m release.ship`: on no-limit Leduc through the real dealer, and what is demanded, on made-up numbers."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from blueprints.settings import load_settings, settings_text, shipped_settings
from blueprints.shipped import shipped_blueprint
from blueprints.storage import Blueprint
from bot import cli
from release import ship
from release.blueprint import Report
from release.ship import OPPONENTS, demands, main

CONFIG = """\
name = "leduc"
game = "leduc"
menu = "100%,a / a"
[trainer]
walks = 50
periods = 20
"""


def test_a_configuration_is_written_as_it_is_read(tmp_path):
    for name in shipped_settings():
        settings = load_settings(name)
        path = tmp_path / f"{name}.toml"
        path.write_text(settings_text(settings), "utf-8")
        assert load_settings(str(path)) == settings
        assert path.read_text("utf-8").count(" = ") == 3 + len(settings.cards.model_dump()) + len(
            settings.trainer.model_dump()
        )
    odd = settings.model_copy(update={"game": 'folder "a"\\b/é.game'})
    path.write_text(settings_text(odd), "utf-8")
    assert load_settings(str(path)) == odd


def test_runs_that_were_merged_ship_with_all_their_logs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ship, "play_matches", lambda *_: GOOD["matches"])
    monkeypatch.chdir(tmp_path)
    Path("leduc.toml").write_text(CONFIG)
    for seed in ("1", "2"):
        train = ["blueprint", "train", "leduc.toml", "--seed", seed, "--folder", seed, "--periods", seed]
        assert cli.main([*train, "--threads", "1"]) == 0
    assert cli.main(["blueprint", "merge", "1/leduc.blueprint", "2/leduc.blueprint", "--out", "both.blueprint"]) == 0
    command = ["-", "data", "--file", "both.blueprint", "--boards", "20", "--self-boards", "20", "--threads", "1"]
    parts = ["--part", "1/leduc.blueprint", "--part", "2/leduc.blueprint"]
    main([*command, *parts, "--log", "1/log.jsonl", "--log", "2/log.jsonl"])
    assert [json.loads(line)["number"] for line in Path("data/leduc.log.jsonl").read_text().splitlines()] == [1, 1, 2]
    report = json.loads(Path("data/leduc.json").read_text())
    assert [run["walks"] for run in report["training"]["runs"]] == [50, 100]
    assert report["run"] == "merged"
    assert 0 < report["8 bits against 32"]["interval_95"] < 5
    assert abs(report["8 bits against 32"]["mbb"]) < 5
    logs = ["--log", "1/log.jsonl", "--log", "2/log.jsonl"]
    capsys.readouterr()
    for wrong, said in (
        ([*command, *logs[:2]], "logs of [50] walks: expected those of the file's runs, [50, 100]"),
        ([*command, *logs[2:], *logs[:2]], "logs of [100, 50] walks: expected those of the file's runs, [50, 100]"),
        (
            [*command, *parts[2:], *logs],
            "both.blueprint: not what 2/leduc.blueprint merge to on 2,000 boards: expected that",
        ),
        (["1", "data", *logs], "--log and --part with the run 1: expected - in its place, or neither"),
        (["1", shipped_blueprint().parent], "holds what ships now, which this is compared with: expected another"),
    ):
        assert main([*map(str, wrong)]) == 2
        err = capsys.readouterr().err
        assert said in err.splitlines()[-1]


def test_a_run_becomes_four_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    monkeypatch.chdir(tmp_path)
    Path("leduc.toml").write_text(CONFIG)
    assert cli.main(["blueprint", "train", "leduc.toml", "--folder", "run", "--threads", "1"]) == 0
    command = ["run", "data", "--hands", "60", "--boards", "20", "--self-boards", "20", "--threads", "1"]
    capsys.readouterr()
    code = main(command)
    out, err = capsys.readouterr()
    assert sorted(path.name for path in Path("data").iterdir()) == [
        "leduc.blueprint",
        "leduc.json",
        "leduc.log.jsonl",
        "leduc.toml",
    ]
    blueprint = Blueprint.open(Path("data/leduc.blueprint"), verify=True)
    assert blueprint.digest == Blueprint.open(Path("run/leduc.blueprint")).digest
    assert load_settings("data/leduc.toml") == blueprint.settings
    log = Path("data/leduc.log.jsonl").read_text().splitlines()
    assert log == Path("run/log.jsonl").read_text().splitlines()
    assert len(log) == 20
    report = json.loads(Path("data/leduc.json").read_text())
    assert report["hash"] == blueprint.digest
    assert report["training"] == blueprint.header.training.model_dump(mode="json")
    assert report["self-play"]["boards"] == 20
    assert "8 bits against 32" in report
    assert report["matches"]["decisions not made as they should have been"] == 0
    for opponent in OPPONENTS:
        match = report["matches"][opponent]
        low, high = match["interval_95_mbb"]
        assert match["hands"] == 120
        assert low < match["mbb"] < high
    # Against these two it never leaves its tree: the match, and the walk over all hands, measure the same.
    for opponent in ("always-call", "always-fold"):
        expected, match = report["expectation"][opponent], report["matches"][opponent]
        assert abs(expected["mbb"] - match["mbb"]) < 4 * match["se_mbb"] + 2 * expected["interval_95"]
    assert report["met"] == all(demand["met"] for demand in report["demands"])
    assert code == (0 if report["met"] else 1)
    assert out.count("\n") == len(report["demands"]) == 4
    assert "match 3 of 3, " in err
    assert " left: 120 hands against random" in err
    assert json.loads(Path("data/leduc.json").read_text()) == report
    Path("data/leduc.json").unlink()
    assert main(command) == code  # the matches are not played again
    again = json.loads(Path("data/leduc.json").read_text())
    assert {**again, "revision": ""} == {**report, "revision": ""}


def test_the_file_of_another_run_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("leduc.toml").write_text(CONFIG)
    train = ["blueprint", "train", "leduc.toml", "--folder", "run", "--threads", "1"]
    assert cli.main([*train, "--periods", "1", "--out", "early.blueprint"]) == 0
    assert cli.main([*train, "--periods", "2"]) == 0
    capsys.readouterr()
    assert main(["run", "data", "--file", "early.blueprint"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "100 walks: expected 50 as in early.blueprint" in err
    assert main(["-", "data"]) == 2
    assert capsys.readouterr().err == "ship: no run and no --file: expected one of them at least\n"
    assert not Path("data").exists()


def test_a_file_whose_run_is_gone_ships_with_what_it_says_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(ship, "play_matches", lambda *_: GOOD["matches"])  # as the test above plays them
    monkeypatch.chdir(tmp_path)
    Path("leduc.toml").write_text(CONFIG)
    assert (
        cli.main(["blueprint", "train", "leduc.toml", "--folder", "run", "--threads", "1", "--out", "a.blueprint"]) == 0
    )
    last = json.loads(Path("run/log.jsonl").read_text().splitlines()[-1])
    sizes = ["--hands", "10", "--boards", "5", "--self-boards", "5", "--threads", "1"]
    main(["-", "data", "--file", "a.blueprint", *sizes])
    (line,) = Path("data/leduc.log.jsonl").read_text().splitlines()
    assert json.loads(line) == {key: last[key] for key in ("number", "walks", "updates", "core_seconds")}
    report = json.loads(Path("data/leduc.json").read_text())
    assert report["run"] == "gone"
    assert "8 bits against 32" not in report
    assert main(["nothing", "data"]) == 2


GOOD: Report = {
    "expectation": {},
    "always-fold, all boards": {"mbb": 720.0},
    "preflop": {"most folds to one raise": {"AA": 0.0, "KK": 0.0, "QQ": 0.0}},
    "matches": {
        "always-call": {"interval_95_mbb": [1000.0, 3000.0]},
        "always-fold": {"interval_95_mbb": [715.0, 725.0]},
        "random": {"interval_95_mbb": [1000.1, 9000.0]},
    },
    "buckets": {"river": {"live hands": 145_350_179, "highest": 999, "buckets": 1000}},
    "responder": {
        "this": {"interval_95_mbb": [300.0, 310.0]},
        "ships": {"interval_95_mbb": [290.0, 300.0]},
    },
    "local best response": {
        "this": {"interval_95_mbb": [2000.0, 4000.0]},
        "ships": {"interval_95_mbb": [-50.0, 2000.0]},
    },
}


@pytest.mark.parametrize(
    ("place", "value", "unmet"),
    [
        ((), None, []),
        (("matches", "always-call", "interval_95_mbb"), [999.9, 9999.0], [0]),
        (("matches", "always-fold", "interval_95_mbb"), [720.1, 725.0], [1]),
        (("matches", "always-fold", "interval_95_mbb"), [715.0, 719.9], [1]),
        (("always-fold, all boards", "mbb"), 549.9, [1, 2]),
        (("matches", "random", "interval_95_mbb"), [1000.0, 9000.0], [3]),
        (("preflop", "most folds to one raise", "QQ"), 1 / 255, [4]),
        (("preflop", "most folds to one raise"), {"AA": 0.0004, "KK": 0.0004, "QQ": 0.0004}, [4]),
        (("responder", "this", "interval_95_mbb"), [300.1, 310.0], [6]),
        (("local best response", "this", "interval_95_mbb"), [2000.1, 4000.0], [7]),
        (("buckets", "river", "highest"), 1000, [5]),
    ],
)
def test_what_is_demanded(place, value, unmet):
    report = copy.deepcopy(GOOD)
    if place:
        *keys, last = place
        inner = report
        for key in keys:
            inner = inner[key]
        inner[last] = value
    assert [number for number, demand in enumerate(demands(report)) if not demand["met"]] == unmet


def test_without_an_exact_value_an_estimate_says_so():
    report = copy.deepcopy(GOOD)
    del report["always-fold, all boards"], report["preflop"], report["local best response"]["ships"]
    del report["responder"], report["buckets"]
    report["expectation"]["always-fold"] = {"mbb": 727.0, "interval_95": 3.0}
    found = demands(report)
    assert [demand["met"] for demand in found] == [True] * 4
    assert found[1]["estimate"]
    report["expectation"]["always-fold"]["interval_95"] = 1.0
    assert not demands(report)[1]["met"]
