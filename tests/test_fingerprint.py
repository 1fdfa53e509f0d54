"""The fingerprint is the one on record, and notices changes that are smaller than anybody would see at the table."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import fingerprint
from benchmarks.fingerprint import PARTS, Mark, recorded
from bot import bench, cli


def test_what_paratus_does_is_what_is_on_record() -> None:
    command = [sys.executable, "-m", "bot.cli", "bench", "fingerprint", "--json"]
    ran = subprocess.run(command, cwd=bench.CHECKOUT, capture_output=True, text=True, timeout=280)
    assert ran.returncode == 0, ran.stderr[-2000:]
    report = json.loads(ran.stdout)["fingerprint"]
    assert report["changed"] == []
    assert {name: report[name] for name in PARTS} == recorded()["hashes"]
    assert {*report} == {*PARTS, "all", "changed"}


def test_a_change_fails_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(fingerprint, "PARTS", {name: lambda mark: mark.add("something else") for name in PARTS})
    assert cli.main(["bench", "fingerprint", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["fingerprint"]["changed"] == [*PARTS]


def marked(*things: object, known: tuple[float, ...] = ()) -> Mark:
    mark = Mark(known)
    mark.add(*things)
    return mark


def test_numbers_that_other_processors_come_to_count_as_those_on_record() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(50, 70))
    known = marked(numbers, 123.455)
    for _ in range(100):
        other = numbers * (1 + 1e-7 * rng.normal(size=numbers.shape))
        assert marked(other, 123.455 + 1e-5 * rng.normal(), known=tuple(known.numbers)).digest() == known.digest()


@pytest.mark.parametrize("change", [1e-3, -1e-3])
def test_smaller_changes_than_anybody_sees_are_noticed(change: float) -> None:
    numbers = np.random.default_rng(1).normal(size=(5, 7))
    known = marked(numbers)
    numbers[3, 2] += change
    assert marked(numbers, known=tuple(known.numbers)).digest() != known.digest()
    assert marked(1.0 + change, known=(1.0,)).digest() != marked(1.0).digest()


def test_texts_whole_numbers_and_shapes_count_as_they_are() -> None:
    different = ["c", "r300", 1, 2, (1, 2), np.zeros((2, 3)), np.zeros((3, 2)), np.zeros(6)]
    assert len({marked(each).digest() for each in different}) == len(different)
    assert marked("a", "b").digest() != marked("ab").digest()
