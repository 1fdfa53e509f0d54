"""`python -m benchmarks.compare`: its statistics on made-up times, and comparisons of checkouts that are fakes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from processes import Process, Processes
from scipy import stats

from benchmarks.compare import probe
from benchmarks.compare.__main__ import main
from benchmarks.compare.checkouts import PARTS, PROBE, Checkout, Timings
from benchmarks.compare.pairs import TimedPair, order
from benchmarks.compare.ratios import (
    LIMIT,
    SpeedRatio,
    Verdict,
    compare_part,
    conclusion,
    speed_ratio,
    student_quantile,
    time_text,
)
from machine.errors import ParatusError
from machine.revision import ROOT

# --- Statistics -----------------------------------------------------------------------------------------------------


def test_student_quantiles() -> None:
    """Two of any printed table, then all that matter against scipy."""
    assert student_quantile(0.95, 1) == pytest.approx(12.706, abs=5e-4)
    assert student_quantile(0.95, 11) == pytest.approx(2.201, abs=5e-4)
    for freedom in [*range(1, 41), 99, 500]:
        assert student_quantile(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)
        assert student_quantile(0.5, freedom) == pytest.approx(stats.t.ppf(0.75, freedom), rel=1e-9)


def test_a_ratio_by_hand() -> None:
    """Ratios 1 and 1.21: the mean is 1.1, and a standard error half their distance."""
    found = speed_ratio([0.0, math.log(1.21)])
    half = math.log(1.1) * 12.7062047
    assert found.mean == pytest.approx(1.1)
    assert (found.low, found.high) == pytest.approx((1.1 * math.exp(-half), 1.1 * math.exp(half)))


def test_an_interval_of_twelve_pairs() -> None:
    rng = Random(1)
    logs = [rng.gauss(0.02, 0.05) for _ in range(12)]
    low, high = stats.t.interval(0.95, 11, loc=stats.tmean(logs), scale=stats.sem(logs))
    found = speed_ratio(logs)
    assert (found.low, found.high) == pytest.approx((math.exp(low), math.exp(high)))


def test_intervals_hold_what_they_should() -> None:
    """Of 2,000 comparisons with a true ratio of 1.05, 95 % within three standard errors of that share (0.5 %)."""
    rng, held = Random(2), 0
    for _ in range(2000):
        found = speed_ratio([rng.gauss(math.log(1.05), 0.1) for _ in range(5)])
        held += found.low < 1.05 < found.high
    assert 0.935 < held / 2000 < 0.965


def test_verdicts() -> None:
    assert SpeedRatio(1.05, LIMIT + 1e-9, 1.1).verdict is Verdict.FAILS
    assert SpeedRatio(1.05, LIMIT, 1.1).verdict is Verdict.UNSURE
    assert SpeedRatio(1.0, 0.97, LIMIT + 1e-9).verdict is Verdict.UNSURE
    assert SpeedRatio(1.0, 0.97, LIMIT).verdict is Verdict.PASSES
    assert SpeedRatio(0.5, 0.4, 0.6).verdict is Verdict.PASSES


def made_up(ratios: list[dict[str, float]], work: tuple[str, str] = ("a", "a")) -> list[TimedPair]:
    """Pairs of one part, the machine a tenth slower each time."""
    pairs = []
    for number, ratio in enumerate(ratios):
        slower = 1.1**number
        old = dict.fromkeys(ratio, slower * 2.0)
        new = {name: slower * 2.0 * each for name, each in ratio.items()}
        sides = (Timings(old, {"match": work[0]}, 0.25), Timings(new, {"match": work[1]}, None))
        pairs.append(TimedPair("solver", number, *sides))
    return pairs


def test_a_part_is_the_geometric_mean_of_its_numbers() -> None:
    found = compare_part(made_up([{"one": 1.2, "other": 1 / 1.2}] * 3))
    assert found.ratio.mean == pytest.approx(1.0)
    assert found.numbers["one"].ratio.mean == pytest.approx(1.2)
    assert found.numbers["one"].old_s == pytest.approx(2.0 * 1.1)
    assert found.numbers["one"].new_s == pytest.approx(1.2 * 2.0 * 1.1)
    assert found.ratio.verdict is Verdict.PASSES
    assert found.failed, "one of its numbers does"
    assert found.busy_elsewhere == {"old": 0.25, "new": None}
    assert found.other_work == ()


def test_a_drift_of_the_machine_changes_nothing() -> None:
    """Both sides of a pair have it."""
    found = compare_part(made_up([{"one": 1.0}] * 12))
    assert (found.ratio.low, found.ratio.high) == pytest.approx((1.0, 1.0))
    assert not found.failed


def test_noise_does_not_fail() -> None:
    assert not compare_part(made_up([{"one": ratio} for ratio in (1.0, 1.2, 0.95, 1.1)])).failed
    assert compare_part(made_up([{"one": ratio} for ratio in (1.05, 1.06, 1.05, 1.06)])).failed


def test_what_could_not_be_told_is_no_pass() -> None:
    noisy = compare_part(made_up([{"one": ratio, "other": 1.0} for ratio in (0.8, 1.4)]))
    assert conclusion({"solver": noisy}).startswith("nothing fails; 2 of 3 ratios are unsure")
    slow = compare_part(made_up([{"one": 1.2}] * 2))
    assert conclusion({"solver": noisy, "score": slow}).startswith("slower: score; 2 of 5 ratios are unsure")


def test_other_work_is_told() -> None:
    assert compare_part(made_up([{"one": 1.0}] * 2, work=("a", "b"))).other_work == ("match",)


def test_sides_alternate() -> None:
    assert [side for number in range(4) for side in order(number)] == [*("old", "new", "new", "old") * 2]


def test_times_as_text() -> None:
    assert list(map(time_text, (12.345, 0.0456, 7.89e-6))) == ["12.3 s", "45.6 ms", "7.89 µs"]


# --- Whole comparisons ----------------------------------------------------------------------------------------------

FAKE = """\
import json, os, pathlib, signal, sys
folder, part = pathlib.Path.cwd(), sys.argv[-1]
calls = folder.parent / "calls"
with calls.open("a") as file:
    file.write(f"{folder.name} {part}\\n")
number = len(calls.read_text().splitlines())
{BEHAVIOUR}
print("measuring …")
print(json.dumps({"times_s": {"step": {SECONDS} * (1 + number % 3 / 1000)}, "work": {"step": "{WORK}"}}))
"""


def checkout(folder: Path, seconds: float, behaviour: str = "", work: str = "same") -> Path:
    """A folder whose interpreter is a small program: notes that it was called, then says what it took."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    program = folder / "fake.py"
    text = FAKE.replace("{BEHAVIOUR}", behaviour).replace("{SECONDS}", str(seconds)).replace("{WORK}", work)
    program.write_text(text, "utf-8")
    python = folder / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{program}" "$@"\n', "utf-8")
    python.chmod(0o755)
    for part in PARTS.values():
        (folder / part.needs).parent.mkdir(exist_ok=True)
        (folder / part.needs).touch()
    return folder


def start(processes: Processes, *arguments: object) -> Process:
    return processes.start("compare", sys.executable, "-m", "benchmarks.compare", *arguments, cwd=ROOT)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text("utf-8").splitlines()


def test_a_slower_checkout_fails(tmp_path: Path) -> None:
    """In turns, after one unmeasured run of each."""
    old, new = checkout(tmp_path / "old", 0.010), checkout(tmp_path / "new", 0.011, work="other")
    with Processes(tmp_path) as processes:
        ended = start(processes, old, new, "--pairs", 3, "--parts", "solver", "score").wait()
    assert ended.code == 1
    one_pair, other_pair = ["old solver", "new solver", "old score", "new score"], []
    other_pair = [one_pair[place] for place in (1, 0, 3, 2)]
    assert calls(tmp_path) == one_pair + one_pair + other_pair + one_pair
    assert "slower: solver, score; 0 of 4 ratios are unsure (an interval wholly above 1.03 fails)" in ended.out
    assert "1.100" in ended.out
    assert "not the same work in old and new: step" in ended.out
    assert "3 pairs of solver, score: about " in ended.err


def test_an_equal_checkout_passes(tmp_path: Path) -> None:
    """And as JSON, times of each side beside ratios."""
    old, new = checkout(tmp_path / "old", 0.010), checkout(tmp_path / "new", 0.010)
    with Processes(tmp_path) as processes:
        ended = start(processes, old, new, "--pairs", 2, "--parts", "search", "--json").wait()
    assert ended.code == 0
    report = json.loads(ended.out)
    assert report["failed"] == []
    assert report["new"] == {"folder": str(new), "revision": "unknown"}
    found = report["parts"]["search"]
    assert found["pairs"] == 2
    assert found["numbers"]["step"]["old_s"] == pytest.approx(0.010, rel=0.01)
    low, high = found["interval_95"]
    assert low <= found["ratio"] <= high


def test_a_killed_comparison_goes_on(tmp_path: Path) -> None:
    """Killed within its third pair: that one is measured again, as a whole, and the two before it are not."""
    kill = "if number == 8: os.kill(os.getppid(), signal.SIGKILL)"
    old, new = checkout(tmp_path / "old", 0.010, kill), checkout(tmp_path / "new", 0.009, kill)
    out = tmp_path / "pairs.jsonl"
    arguments = [old, new, "--pairs", 4, "--parts", "solver", "--out", out]
    with Processes(tmp_path) as processes:
        assert start(processes, *arguments).wait().code == -9
        before = calls(tmp_path)
        assert before == [f"{side} solver" for side in ("old", "new", "old", "new", "new", "old", "old", "new")]
        kept = out.read_bytes()
        assert kept.count(b"\n") == 1 + 2
        out.write_bytes(kept + b'{"part": "solv')  # as if it had been killed while it wrote
        ended = start(processes, *arguments).wait()
        assert ended.code == 0
        assert "2 kept" in ended.err
        sides = ("old", "new", "old", "new", "new", "old")  # warmed up, pairs three and four
        assert calls(tmp_path)[len(before) :] == [f"{side} solver" for side in sides]
        assert out.read_bytes().startswith(kept)
        assert [json.loads(line)["number"] for line in out.read_text("utf-8").splitlines()[1:]] == [0, 1, 2, 3]
        again = start(processes, *arguments).wait()
        assert again.out.split("\n\n", 1)[1] == ended.out.split("\n\n", 1)[1], "the same without another run"
        assert len(calls(tmp_path)) == len(before) + len(sides)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The line by which a comparison is refused."""

    def call(*arguments: object) -> str:
        assert main([str(word) for word in arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        line = err.splitlines()[-1]
        assert line.startswith("benchmarks.compare: ")
        return line

    return call


def test_what_is_refused_before_anything_runs(tmp_path: Path, refused: Callable[..., str]) -> None:
    old, new = checkout(tmp_path / "old", 0.010), checkout(tmp_path / "new", 0.010)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "NEW" in refused(old, empty)
    assert "no .venv/bin/python" in refused(empty, new)
    (new / PARTS["score"].needs).unlink()
    assert refused(old, new).endswith("no benchmarks/score.py: expected it, to measure score")
    assert "--pairs 1: expected 2 to" in refused(old, new, "--pairs", 1, "--parts", "solver")
    other = tmp_path / "other.jsonl"
    for text in ("pairs\n", "somebody's notes, without an end of line"):
        other.write_text(text, "utf-8")
        assert "expected the pairs of a comparison" in refused(old, new, "--parts", "solver", "--out", other)
        assert other.read_text("utf-8") == text
    other.write_text('{"old": "another"}\n', "utf-8")
    assert "of another comparison (old, new," in refused(old, new, "--parts", "solver", "--out", other)
    assert not (tmp_path / "calls").exists()


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("sys.exit('no such kernel')", "ended with code 1: 'no such kernel'"),
        ("print('fast enough'); sys.exit()", "expected times"),
        ("print(json.dumps({'times_s': {'step': 0}, 'work': {}})); sys.exit()", "expected seconds above 0"),
        ("if number > 2: print(json.dumps({'times_s': {'a': 1}, 'work': {}})); sys.exit()", "different things"),
    ],
)
def test_a_measurement_that_goes_wrong(tmp_path: Path, refused: Callable[..., str], behaviour: str, said: str) -> None:
    old, new = checkout(tmp_path / "old", 0.010), checkout(tmp_path / "new", 0.010, behaviour)
    assert said in refused(old, new, "--pairs", 2, "--parts", "lookup")


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, timeout=60)


def test_a_checkout_that_changes_meanwhile(tmp_path: Path, refused: Callable[..., str]) -> None:
    """Its revision names what differs from the commit, so that a pair of other code is not counted."""
    change = "if number == 5: (folder / 'bot' / 'cli.py').write_text('# another')"
    old, new = checkout(tmp_path / "old", 0.010), checkout(tmp_path / "new", 0.010, change)
    git(new, "init", "-q")
    git(new, "add", ".")
    git(new, "commit", "-qm", "All")
    clean = Checkout("NEW", new).revision()
    assert 7 <= len(clean) <= 12
    line = refused(old, new, "--pairs", 4, "--parts", "solver")
    assert f"expected {clean} until the end" in line
    dirty = Checkout("NEW", new).revision()
    assert dirty.startswith(f"{clean}-dirty-")
    (new / "bot" / "cli.py").write_text("# yet another", "utf-8")
    assert Checkout("NEW", new).revision().startswith(f"{clean}-dirty-")
    assert Checkout("NEW", new).revision() != dirty


def test_a_measurement_that_hangs_is_given_up(tmp_path: Path) -> None:
    """And ended, with what it had started."""
    hang = "import time; (folder / 'pid').write_text(str(os.getpid())); time.sleep(600)"
    hanging = Checkout("OLD", checkout(tmp_path / "old", 0.010, hang))
    with pytest.raises(ParatusError, match="no answer in 1 s"):
        hanging.measure("solver", most_s=1.0)
    pid = int((hanging.folder / "pid").read_text("utf-8"))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# --- What is timed --------------------------------------------------------------------------------------------------

LONGER = {"lookup", "matches", "score", "search"}
"""They start matches and open the blueprint: several seconds of both cores."""


def test_there_is_a_program_for_each_part() -> None:
    assert list(probe.PROBES) == list(PARTS)


@pytest.mark.parametrize("part", [pytest.param(p, marks=[pytest.mark.proof] * (p in LONGER)) for p in PARTS])
def test_each_part_can_be_timed_here(part: str) -> None:
    """In a process, as in any checkout: what it takes from benchmarks is there."""
    ran = subprocess.run(
        [sys.executable, "-P", PROBE, part, "--short"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout.splitlines()[-1])
    assert len(printed["times_s"]) >= 2
    assert all(1e-7 < seconds < 60 for seconds in printed["times_s"].values()), printed
    assert bool(printed["work"]) == (part in {"matches", "search"})
