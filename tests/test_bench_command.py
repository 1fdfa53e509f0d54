"""`paratus bench`: what it refuses, and a run of the solver's benchmark too short to measure anything."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import trainer
from benchmarks.machine import Elsewhere, product_s
from benchmarks.solver import OWN, STORAGES, load_spots
from blueprints.cards.made_up import made_up_tables
from blueprints.settings import load_settings
from blueprints.tree import build_tree
from bot import bench, cli
from studies import convergence

ENDGAME = OWN / "river-large-pot.txt"
SHORT = ("--skip-compilation", "--measure-seconds", "0.01", "--goal-seconds", "0.05")


@pytest.fixture
def call(capsys):
    """Run a command in this process: its exit code, stdout and stderr."""

    def call_main(*arguments):
        try:
            code = cli.main(list(map(str, arguments)))
        except SystemExit as exit_:
            code = exit_.code
        return code, *capsys.readouterr()

    return call_main


@pytest.fixture
def endgames(tmp_path):
    """A folder with one endgame on the river."""
    folder = tmp_path / "endgames"
    folder.mkdir()
    shutil.copy(ENDGAME, folder)
    (folder / "README.md").write_text("not an endgame")
    return folder


def test_the_solver_in_json(call, endgames):
    code, out, err = call("bench", "solver", "--endgames", endgames, "--json", *SHORT)
    assert code == 0
    report = json.loads(out)
    assert list(report) == ["machine", "solver"]
    assert report["machine"]["matrix_product_ms"] > 0
    solver = report["solver"]
    assert len(solver["product_ms"]) == len(solver["copy_64_mb_ms"]) == 2  # before and after
    assert min(solver["product_ms"] + solver["copy_64_mb_ms"]) > 0
    assert solver["compile"] is None
    assert list(solver["endgames"]) == ["river-large-pot"]
    endgame = solver["endgames"]["river-large-pot"]
    assert endgame["boards"] == 1
    assert endgame["nodes"] > 10
    assert endgame["hands"] == list(load_spots(endgames)["river-large-pot"].hands)
    assert list(endgame["storages"]) == list(STORAGES)
    for name, storage in endgame["storages"].items():
        assert storage["bytes"] > 4 * endgame["pairs"] * STORAGES[name].bits // 16
        assert storage["bytes_allocated"] > 4 * endgame["pairs"] * STORAGES[name].bits // 16
        assert 0 < storage["ms"]["1"] < 1000
        assert storage["ms"]["2"] is None  # one board: nothing for a second thread
        assert storage["products"]["1"] == pytest.approx(storage["ms"]["1"] / min(solver["product_ms"]), rel=0.01)
        assert storage["copies"]["1"] == pytest.approx(storage["ms"]["1"] / min(solver["copy_64_mb_ms"]), rel=0.01)
        if STORAGES[name].later_averages:
            assert list(storage["to_mbb"]) == ["100", "10", "1"]
            assert storage["to_mbb"]["1"] is None  # too short
            assert storage["least"]["mbb"] > 1
            assert storage["least"]["iterations"] >= 1
        else:
            assert not {"to_mbb", "least"} & {*storage}
    assert endgame["storages"]["bf16"]["bytes"] < endgame["storages"]["f32"]["bytes"]
    assert "river-large-pot, 1 of 1" in err


def test_goals_are_reached_in_order(call, endgames):
    times = ("--skip-compilation", "--measure-seconds", "0.01", "--goal-seconds", "5")
    code, out, _ = call("bench", "solver", "--endgames", endgames, "--json", *times)
    assert code == 0
    (endgame,) = json.loads(out)["solver"]["endgames"].values()
    reached = list(endgame["storages"]["f32"]["to_mbb"].values())  # 16 bits do not come to 1 mbb/g here
    iterations, seconds = ([each[key] for each in reached] for key in ("iterations", "seconds"))
    assert iterations == sorted(iterations)
    assert 8 < iterations[0] < iterations[2] < 20_000
    assert seconds == sorted(seconds)
    assert 0 < seconds[2] < 5  # 0.1 s


def test_the_solver_as_a_table(call, endgames):
    code, out, _ = call("bench", "solver", "--endgames", endgames, *SHORT)
    assert code == 0
    assert out.startswith("machine\n")
    for word in ("river-large-pot", "decisions", "1 thread", "100 mbb/g", *STORAGES):
        assert word in out


def test_several_by_name_as_a_table(call, monkeypatch):
    class Fake:
        @staticmethod
        def run():
            return {"per_second": 12345, "runs": [1.5, 2.5]}

    monkeypatch.setitem(sys.modules, "benchmarks.rules", Fake)
    monkeypatch.setitem(sys.modules, "benchmarks.store", Fake)
    code, out, err = call("bench", "store", "rules", "store")
    assert code == 0
    assert out.index("\nstore\n") < out.index("\nrules\n")
    assert out.count("\nstore\n") == 1
    assert "12,345" in out
    assert "1.5, 2.5" in out
    assert "store …" in err


def refused(call, *arguments):
    code, out, err = call("bench", *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("paratus bench: ")
    assert err.count("\n") == 1
    return err


def test_what_is_refused(call, endgames, tmp_path):
    assert "expected some of rules, ranking," in refused(call, "rules", "solvers")
    assert "folder with endgames" in refused(call, "solver", "--endgames", tmp_path / "missing")
    assert "folder with endgames" in refused(call, "solver", "--endgames", tmp_path)
    assert "folder with endgames" in refused(call, "solver", "--endgames", endgames / ENDGAME.name)
    assert "--endgames without solver" in refused(call, "rules", "--endgames", endgames)
    assert "--goal-seconds 0" in refused(call, "solver", "--goal-seconds", "0")
    assert "--measure-seconds nan" in refused(call, "solver", "--measure-seconds", "nan")
    (endgames / "bad.txt").write_text("-round 4\n")
    assert "bad.txt" in refused(call, "solver", "--endgames", endgames, *SHORT).splitlines()[-1]


def test_outside_a_checkout(call, monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "CHECKOUT", tmp_path)
    assert "from its source" in refused(call, "rules")


def test_every_benchmark_is_there():
    assert {*bench.BENCHMARKS} <= {path.stem for path in (bench.CHECKOUT / "benchmarks").glob("*.py")}


def test_the_product_is_on_one_thread():
    elsewhere = Elsewhere()
    assert 0 < product_s() < 1
    cores = elsewhere.cores()
    assert cores is None or cores >= 0


def test_python_dash_m_still_works():
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nonsense"], cwd=bench.CHECKOUT, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("paratus bench: ")


# --- Convergence ----------------------------------------------------------------------------------------------------


def test_checkpoints():
    points = convergence.checkpoints(4096)
    assert points[:5] == [16, 19, 23, 27, 32]
    assert {16 << shift for shift in range(9)} <= {*points}
    assert points[-1] == 4096
    assert convergence.checkpoints(100)[-1] <= 100


def test_curves_are_written_drawn_and_resumed(endgames, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["--endgames", str(endgames), "--out", str(out), "--iterations", "32", "--threads", "1"]
    assert convergence.main(arguments) == 0
    table = capsys.readouterr().out
    assert "| dcfr:1.5,0,2 |" in table
    assert "| 16 | 32 |" in table
    written = (out / "curves.json").read_bytes()
    curves = json.loads(written)["endgames"]["river-large-pot"]["curves"]
    assert list(curves) == list(map(str, convergence.CURVES))
    for title, points in curves.items():
        assert list(points) == ["16", "19", "23", "27", "32"]
        assert 0 < points["32"] < 40_000, title
    assert curves["dcfr:1.5,0,2"]["32"] < curves["cfr"]["32"]
    assert 1000 < (out / "river-large-pot.svg").stat().st_size < 100_000
    assert convergence.main(arguments) == 0  # nothing left to run
    assert (out / "curves.json").read_bytes() == written
    assert Path(out / "river-large-pot.svg").is_file()


def test_the_trainer_in_json(call, monkeypatch):
    """Both forms, threads, and the contest, too short to say anything."""
    monkeypatch.setattr(trainer, "_MEASURED_S", 0.08)
    monkeypatch.setattr(trainer, "_CONTEST_BOARDS", 3)
    settings = load_settings("tiny")
    tables = made_up_tables(settings.cards)
    monkeypatch.setattr(trainer, "_subjects", lambda: {"tiny": (settings, lambda asked: tables)})
    code, out, _ = call("bench", "trainer", "--json", "--contest", "0.05")
    assert code == 0
    report = json.loads(out)["trainer"]
    tree = build_tree(settings.load_game(), settings.load_menu())
    found = report["speeds"]["tiny"]
    counts = settings.cards.counts
    pairs = sum(len(tree.edges(node)) * counts[int(tree.street[node])] for node in range(tree.num_nodes))
    assert (found["decisions"], found["pairs"]) == (tree.num_nodes, pairs)
    for form in ("public", "external"):
        assert found[form]["bytes"] >= 8 * pairs
        assert found[form]["two_threads_over_one"] > 0
        for threads in ("threads=1", "threads=2"):
            rates = found[form][threads]
            assert rates["updates_per_second"] > rates["walks_per_second"] > 0
            assert ("pairs_per_second" in rates) == (form == "public")
    rates = found["public"]["threads=1"]
    assert rates["pairs_per_second"] == pytest.approx(rates["walks_per_second"] * pairs, rel=1e-3)
    assert set(report["contest"]["walks"]) == {"public", "external"}
    assert report["contest"]["boards"] == 3
    code, out, _ = call("bench", "trainer")
    assert code == 0
    assert out.count("tiny") == 4
