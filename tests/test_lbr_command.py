"""`paratus lbr`: what it prints and refuses, and a file that survives its writer's death."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bot import cli
from bot.config import default_settings
from dealer_tools.lbr.hand import Players

PARATUS = [sys.executable, "-m", "bot.cli"]


@pytest.fixture
def call(capsys):
    def call_main(*arguments):
        try:
            code = cli.main(["lbr", *map(str, arguments)])
        except SystemExit as exit_:
            code = exit_.code
        return code, *capsys.readouterr()

    return call_main


OPTIONS = ("random", "--game", "leduc", "--setting", "56-late", "--hands")


def test_in_json(call):
    code, out, _ = call(*OPTIONS, 200, "--seed", 5, "--json")
    assert code == 0
    report = json.loads(out)
    assert (report["hands"], report["deals"], report["seed"]) == (400, 200, 5)
    for name in ("raw", "imaginary"):
        each = report[name]
        assert each["observations"] == 200
        assert each["low_mbb"] == pytest.approx(each["mean_mbb"] - 1.959964 * each["se_mbb"])
        assert each["se_mbb"] == pytest.approx(each["sd_mbb"] / math.sqrt(200))
    assert report["imaginary"]["mean_mbb"] > 0
    assert np.mean(report["by_position_mbb"]) == pytest.approx(report["imaginary"]["mean_mbb"])
    assert "proves nothing" in report["meaning"]


def test_as_people_read_it(call):
    code, out, _ = call(*OPTIONS, 1)
    assert code == 0
    assert out.startswith("local best response 56-late v random, leduc, 2 hands in 1 pairs, seed 0\n")
    assert "unknown" in out  # one pair says nothing about the error
    assert out.endswith("proves nothing: another opponent may still win.\n")


def without_time(text: str) -> dict[str, object]:
    return {key: value for key, value in json.loads(text).items() if key != "seconds"}


def test_a_killed_run_goes_on(call, tmp_path):
    """At any moment: the file comes out as that of a run which nobody disturbed."""
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    _, expected, _ = call(*OPTIONS, 300, "--json", "--out", whole)
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent)}
    for lines in (10, 100):
        runner = subprocess.Popen(
            [*PARATUS, "lbr", *OPTIONS, "300", "--out", str(broken)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not broken.exists() or broken.read_bytes().count(b"\n") < lines:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        assert whole.read_bytes().startswith(broken.read_bytes())
    code, found, _ = call(*OPTIONS, 300, "--json", "--out", broken)
    assert code == 0
    assert broken.read_bytes() == whole.read_bytes()
    assert without_time(found) == without_time(expected)


def test_on_two_cores_it_is_the_same(call, tmp_path):
    alone, shared = tmp_path / "alone.jsonl", tmp_path / "shared.jsonl"
    _, one, _ = call(*OPTIONS, 50, "--out", alone, "--json")
    call(*OPTIONS, 50, "--out", shared, "--cores", 2)
    assert shared.read_bytes() == alone.read_bytes()
    shared.write_bytes(b"".join(alone.read_bytes().splitlines(keepends=True)[:8]))
    code, two, _ = call(*OPTIONS, 50, "--out", shared, "--cores", 2, "--json")
    assert code == 0
    assert shared.read_bytes() == alone.read_bytes()
    assert without_time(two) == without_time(one)


def test_a_process_that_dies_ends_the_run_and_another_goes_on(call, tmp_path):
    path = tmp_path / "pairs.jsonl"
    command = [*PARATUS, "lbr", *OPTIONS, "20000", "--out", str(path), "--cores", "2"]
    run = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
    try:
        while not path.exists() or path.read_bytes().count(b"\n") < 3:
            assert run.poll() is None
            time.sleep(0.01)
        worker = next(child for child in children(run.pid) if b"spawn_main" in child.joinpath("cmdline").read_bytes())
        os.kill(int(worker.name), signal.SIGKILL)
        _, err = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 1
    assert "a process that plays has died" in err
    assert err.count("\n") == 1
    lines = path.read_bytes().splitlines(keepends=True)
    deals = len(lines) - 1
    path.write_bytes(lines[0].replace(b'"deals": 20000', f'"deals": {deals}'.encode()) + b"".join(lines[1:]))
    assert call(*OPTIONS, deals, "--out", path)[0] == 0
    again = tmp_path / "again.jsonl"
    call(*OPTIONS, deals, "--out", again)
    assert again.read_bytes() == path.read_bytes()


def test_no_process_is_left_by_a_run_that_is_killed(tmp_path):
    path = tmp_path / "pairs.jsonl"
    command = [*PARATUS, "lbr", *OPTIONS, "20000", "--out", str(path), "--cores", "2"]
    run = subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL)
    try:
        while not path.exists() or path.read_bytes().count(b"\n") < 3:
            assert run.poll() is None
            time.sleep(0.01)
        workers = [child for child in children(run.pid) if b"spawn_main" in child.joinpath("cmdline").read_bytes()]
    finally:
        run.kill()
        run.wait()
    assert len(workers) == 2
    until = time.monotonic() + 30
    while any(worker.exists() for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.01)


def children(pid: int) -> list[Path]:
    """Of a process, in /proc."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1] == str(pid):
                found.append(process)
    return found


def test_a_broken_last_line_is_played_again(call, tmp_path):
    path = tmp_path / "pairs.jsonl"
    call(*OPTIONS, 5, "--out", path)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in (5, first - 1, first, first + 1, len(whole) - 30, len(whole) - 1):
        path.write_bytes(whole[:cut])
        code, _, err = call(*OPTIONS, 5, "--out", path)
        assert code == (0 if cut > 15 else 2), err
        if code == 0:
            assert path.read_bytes() == whole


def test_an_interrupted_run_says_how_to_go_on(call, tmp_path, monkeypatch):
    path, pair = tmp_path / "pairs.jsonl", Players.pair

    def interrupted(self, number, deal):
        if number == 3:
            raise KeyboardInterrupt
        return pair(self, number, deal)

    monkeypatch.setattr(Players, "pair", interrupted)
    code, out, err = call(*OPTIONS, 5, "--out", path)
    assert (code, out) == (130, "")
    assert f"stopped; the same command continues in {path}" in err
    assert path.read_bytes().count(b"\n") == 4


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (("random", "--game", "leduc", "--setting", "fc", "--hands", "5"), "setting"),
        ((*OPTIONS, "6"), "deals"),
        ((*OPTIONS, "5", "--seed", "1"), "seed"),
        (("always-call", *OPTIONS[1:], "5"), "agent"),
    ],
)
def test_another_plan_is_refused(call, tmp_path, options, key):
    path = tmp_path / "pairs.jsonl"
    call(*OPTIONS, 5, "--out", path)
    before = path.read_bytes()
    code, _, err = call(*options, "--out", path)
    assert code == 2
    assert f"holds other hands: {key} is" in err
    assert err.count("\n") == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["a diary\n", "{}\n", '{"paratus lbr": 1', "\n"])
def test_a_file_of_something_else_is_left_alone(call, tmp_path, text):
    path = tmp_path / "mine.txt"
    path.write_text(text)
    code, _, err = call(*OPTIONS, 5, "--out", path)
    if text.startswith('{"paratus'):
        assert code == 0  # a header that was being written
        return
    assert code == 2
    assert "holds something else" in err
    assert path.read_text() == text


def test_damage_in_the_middle_is_named(call, tmp_path):
    path = tmp_path / "pairs.jsonl"
    call(*OPTIONS, 5, "--out", path)
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line, said in ((2, b"x\n", "expected a JSON object"), (3, lines[1], "expected pair 2")):
        path.write_bytes(b"".join([*lines[:number], line, *lines[number + 1 :]]))
        code, _, err = call(*OPTIONS, 5, "--out", path)
        assert code == 2
        assert f":{number + 1}: " in err
        assert said in err


def test_two_writers_at_once_are_refused(call, tmp_path):
    import fcntl

    path = tmp_path / "pairs.jsonl"
    call(*OPTIONS, 2, "--out", path)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, _, err = call(*OPTIONS, 2, "--out", path)
    assert code == 2
    assert "is being written" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("random", "--setting", "fcc", "--hands", "1"), "invalid choice: 'fcc'"),
        (("random", "--setting", "fc"), "--hands"),
        (("random", "--setting", "fc", "--hands", "0"), "expected a number from 1 to"),
        (("nobody", "--setting", "fc", "--hands", "1"), "agent 'nobody' is not known: expected one of always-fold"),
        (
            ("random", "--setting", "fc", "--hands", "1", "--game", "kuhn.limit.3p"),
            "3 players: expected a game for two",
        ),
        (("random", "--setting", "fc", "--hands", "1", "--iterations", "0"), "--iterations 0: expected 1 to 1,000,000"),
        (("random", "--setting", "fc", "--hands", "1", "--think", "0"), "--think '0': expected seconds above 0"),
        (
            ("random", "--setting", "fc", "--hands", "1", "--think", "1s", "--iterations", "5"),
            "--think with --iterations: expected one of them",
        ),
        (("blueprint", "--setting", "fc", "--hands", "1", "--blueprint", "none"), "agent blueprint: none"),
        (("random", "--setting", "fc", "--hands", "1", "--config", "none.toml"), "none.toml: No such file"),
        (("random", *OPTIONS[1:], "1", "--cores", "0"), "--cores 0: expected at least 1"),
        (("random", *OPTIONS[1:], "1", "--out", "/nowhere/x"), "--out /nowhere/x: No such file or directory"),
    ],
)
def test_what_is_refused(call, options, said):
    code, out, err = call(*options)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[nested.turn]\niterations = 0\nshare = 1.0\n",
            "nested.turn.iterations = 0: expected at least 1",
        ),
        ("[netsed]\nbase = 'random'\n", "netsed = {'base': 'random'}: unknown key: expected one of router"),
        ("[router\n", "not a TOML file"),
    ],
)
def test_settings_that_are_refused(call, tmp_path, text, said):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    code, _, err = call("random", "--setting", "fc", "--hands", 1, "--config", path)
    assert code == 2
    assert str(path) in err
    assert said in err
    assert err.count("\n") == 1


def test_the_settings_of_a_bot_are_understood(call, tmp_path):
    path = tmp_path / "bot.toml"
    path.write_text(default_settings())
    code, out, _ = call(*OPTIONS, 2, "--config", path, "--json")
    assert code == 0
    assert json.loads(out)["agent"] == "random"
