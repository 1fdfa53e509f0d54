"""A training run comes to the same numbers however often it is interrupted, and whatever the number of threads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from blueprints.cards.exact import ExactCards
from blueprints.settings import BlueprintSettings, Sampling, TrainerSettings, load_settings, shipped_settings
from blueprints.train.checkpoint import UNKNOWN, Begun
from blueprints.train.exploit import Measure
from blueprints.train.public import PublicSampling
from blueprints.train.trainer import FOLLOWED, Beginning, Run
from blueprints.tree import build_tree
from machine.errors import ConfigError, ParatusError
from machine.revision import code_revision
from protocol.errors import BlueprintError

LEDUC = BlueprintSettings(
    name="leduc", game="leduc", menu="100%,a / a", trainer=TrainerSettings(walks=20, periods=6, seed=7)
)
CONFIG = """\
name = "leduc"
game = "leduc"
menu = "100%,a / a"
[trainer]
walks = 300
periods = 1000
seed = 7
"""


def run_in(folder: Path, settings: BlueprintSettings = LEDUC, threads: int = 1) -> Run:
    """A run, new or going on."""
    game = settings.load_game()
    tree = build_tree(game, settings.load_menu())
    return Run(folder, settings, tree, ExactCards(game), threads=threads)


def train(run: Run, periods: int) -> dict[str, np.ndarray]:
    """All numbers after so many periods."""
    run.go_on(lambda last: last.number >= periods)
    return {name: array.copy() for name, array in run.sampler.state().items()}


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """Bit by bit."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert array.tobytes() == found[name].tobytes(), name


@pytest.mark.parametrize("sampling", Sampling)
def test_an_interrupted_run_comes_to_the_same_numbers(tmp_path: Path, sampling: Sampling) -> None:
    trainer = LEDUC.trainer.model_copy(update={"sampling": sampling})
    settings = LEDUC.model_copy(update={"trainer": trainer})
    whole = train(run_in(tmp_path / "whole", settings), 6)
    assert np.count_nonzero(whole["regrets"]) > 100
    for periods in (1, 4, 6):
        halves = train(run_in(tmp_path / "halves", settings), periods)
    assert_same(halves, whole)
    log = run_in(tmp_path / "halves", settings).log
    assert [period.number for period in log] == [1, 2, 3, 4, 5, 6]
    assert log[-1].walks == 120


def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    one = train(run_in(tmp_path / "one"), 3)
    two = train(run_in(tmp_path / "two", threads=2), 3)
    assert_same(two, one)


def test_a_run_that_is_killed_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """`kill -9` at moments of its own choosing, through the command."""
    config = tmp_path / "leduc.toml"
    config.write_text(CONFIG)
    folder = tmp_path / "killed"
    command = [sys.executable, "-m", "bot.cli", "blueprint", "train", str(config), "--folder", str(folder)]
    for kill in range(3):
        process = subprocess.Popen([*command, "--threads", "1"], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(f"period {2 * kill + 2}"):
                break
        time.sleep(0.05 * kill)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()
    settings = load_settings(str(config))
    after = run_in(folder, settings)
    assert after.last.number >= 6
    whole = train(run_in(tmp_path / "whole", settings), after.last.number)
    assert_same(dict(after.sampler.state()), whole)


class Killed(BaseException):
    """What `kill -9` is to files: nothing that was planned happens any more."""


def as_of_old(folder: Path) -> None:
    """Make its checkpoint one of the code that kept the log beside it alone, and no revision."""
    path = folder / "checkpoint.npz"
    with np.load(path) as file:
        arrays = dict(file)
    identity = json.loads(str(arrays["identity"]))
    del identity["log"], identity["revisions"]
    np.savez(path, **{**arrays, "identity": np.array(json.dumps(identity))})


def test_a_kill_between_checkpoint_and_log_loses_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(run_in(tmp_path / "whole"), 4)
    folder = tmp_path / "killed"
    train(run_in(folder), 2)
    run = run_in(folder)
    with monkeypatch.context() as patch:
        patch.setattr(Run, "_write_log", lambda run: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            run.go_on(lambda last: False)
    assert len((folder / "log.jsonl").read_text().splitlines()) == 2
    run = run_in(folder)
    assert len((folder / "log.jsonl").read_text().splitlines()) == 3
    train(run, 4)
    lines = (folder / "log.jsonl").read_text().splitlines()
    whole = (tmp_path / "whole" / "log.jsonl").read_text().splitlines()
    for found, expected in zip(map(json.loads, lines), map(json.loads, whole), strict=True):
        for key in ("number", "walks", "updates", "regret_mbb"):
            assert found[key] == expected[key]


def test_a_torn_log_is_written_again(tmp_path: Path) -> None:
    train(run_in(tmp_path), 3)
    log = tmp_path / "log.jsonl"
    whole = log.read_bytes()
    for damaged in (whole[:-20], b"", whole + b"{}", b"\xff\x00"):
        log.write_bytes(damaged)
        assert [period.number for period in run_in(tmp_path).log] == [1, 2, 3]
        assert log.read_bytes() == whole
    log.unlink()
    run_in(tmp_path)
    assert log.read_bytes() == whole


def test_checkpoints_of_earlier_code_go_on(tmp_path: Path) -> None:
    """Their log is what stands beside them; where that is torn nothing else has it, which is said in a line."""
    whole = train(run_in(tmp_path / "whole"), 4)
    folder = tmp_path / "old"
    train(run_in(folder), 3)
    as_of_old(folder)
    log = folder / "log.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    for torn, number in (("".join(lines)[:-20], 3), ("5\n", 1), (lines[0] + '{"number": 2}\n', 2)):
        log.write_text(torn)
        with pytest.raises(
            BlueprintError, match=f"log.jsonl:{number}: .*: expected a period, or no such file"
        ) as error:
            run_in(folder)
        assert "\n" not in str(error.value)
    log.write_text("".join(lines[:2]))  # a kill came between the two files
    run = run_in(folder)
    assert [period.number for period in run.log] == [1, 2, 3]
    assert run.revisions == (UNKNOWN,)
    assert_same(train(run, 4), whole)
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [1, 2, 3, 4]
    assert run_in(folder).revisions == (UNKNOWN, code_revision())


def test_a_checkpoint_whose_numbers_lie_otherwise_is_refused(tmp_path: Path) -> None:
    """As code laid them before it trained roots side by side."""
    train(run_in(tmp_path), 2)
    path = tmp_path / "checkpoint.npz"
    with np.load(path) as arrays:
        np.savez(path, **{name: arrays[name] for name in arrays if name != "layout"})
    with pytest.raises(BlueprintError, match=r"checkpoint\.npz: its numbers lie as in layout 1: expected 2") as error:
        run_in(tmp_path)
    assert "\n" not in str(error.value)


def test_code_of_another_revision_may_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def revisions() -> list[str]:
        found: list[str] = json.loads((tmp_path / "settings.json").read_text())["revisions"]
        return found

    train(run_in(tmp_path), 1)
    assert revisions() == [code_revision()]
    with monkeypatch.context() as patch:
        patch.setattr("blueprints.train.trainer.code_revision", lambda: "another")
        run = run_in(tmp_path)
        assert revisions() == [code_revision()]  # it has done nothing yet
        train(run, 3)
        assert run.revisions == (code_revision(), "another")
    assert revisions() == [code_revision(), "another"]
    train(run_in(tmp_path), 3)
    assert revisions() == [code_revision(), "another"]


def test_what_a_kill_leaves_behind_is_deleted_when_training_begins(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    mine = [".checkpoint.npz.0123abcd", ".checkpoint.npz.ffffffff", ".log.jsonl.0123abcd", ".settings.json.0123abcd"]
    others = ["checkpoint.npz.0123abcd", ".checkpoint.npz.backup", ".checkpoint.npz.0123abcd5", ".cards.npz.0123abcd"]
    for name in (*mine, *others):
        (tmp_path / name).write_bytes(b"some")
    train(run, 1)
    kept = {"checkpoint.npz", "log.jsonl", "settings.json"}
    assert {path.name for path in tmp_path.iterdir()} == {*others, *kept}


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path) -> None:
    first, second = run_in(tmp_path), run_in(tmp_path)

    def tell(period: object) -> None:
        with pytest.raises(ParatusError, match="another process trains there"):
            second.go_on(lambda last: last.number >= 1)

    first.go_on(lambda last: last.number >= 1, tell)
    assert not second.log


def test_a_run_of_something_else_is_refused(tmp_path: Path) -> None:
    train(run_in(tmp_path), 1)
    other = LEDUC.model_copy(update={"trainer": LEDUC.trainer.model_copy(update={"seed": 8})})
    with pytest.raises(BlueprintError, match="seed = 7 there, 8 here"):
        run_in(tmp_path, other)
    longer = LEDUC.model_copy(update={"trainer": LEDUC.trainer.model_copy(update={"periods": 60})})
    assert run_in(tmp_path, longer).last.number == 1


@pytest.mark.parametrize("keep", [0, 100, -100])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, keep: int) -> None:
    train(run_in(tmp_path), 1)
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BlueprintError, match="not a checkpoint"):
        run_in(tmp_path)


def test_the_configurations_that_ship_can_be_read() -> None:
    assert {"tiny", "small", "standard"} <= shipped_settings().keys()
    for name in shipped_settings():
        settings = load_settings(name)
        assert settings.name == name
        settings.load_menu()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 'x'", "menu"),
        ("name = 'x'\nmenu = '50%'\nspeed = 1", "speed"),
        ("name = 'x'\nmenu = '50'", "menu"),
        ("name = 'x'\nmenu = '50%'\n[cards]\nriver = 0", "cards.river = 0"),
        ("name = ", "end of document"),
    ],
)
def test_a_configuration_that_is_none_is_refused_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_settings(str(path))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match="expected one of"):
        load_settings("nothing-of-the-kind")


def test_a_run_that_begins_from_a_file_goes_on_with_what_that_has_learnt(tmp_path: Path) -> None:
    """Its first periods play the file; then it is where the file's own run was, and as good as that after as many."""
    settings = LEDUC.model_copy(update={"trainer": TrainerSettings(walks=100, seed=7)})
    earlier = run_in(tmp_path / "earlier", settings)
    earlier.go_on(lambda last: last.number >= 40)
    tables = tuple([table.copy() for table in earlier.sampler.averages()])
    game, tree, cards = settings.load_game(), earlier.tree, earlier.cards
    file = Begun("1234", earlier.last.number, earlier.last.walks, earlier.last.updates, earlier.last.core_seconds)

    def begun(folder: str) -> Run:
        return Run(tmp_path / folder, settings, tree, cards, beginning=Beginning(tables, file))

    run = begun("later")
    run.go_on(lambda last: last.number >= 40 + FOLLOWED - 1)
    assert [period.number for period in run.log] == list(range(41, 40 + FOLLOWED))
    assert (run.last.walks, run.last.updates > earlier.last.updates) == (100 * (40 + FOLLOWED - 1), True)
    with pytest.raises(BlueprintError, match="begun from 1234: expected the same again, not nothing"):
        run_in(tmp_path / "later", settings)
    with pytest.raises(BlueprintError, match="begun from nothing: expected the same again, not 1234"):
        begun("earlier")
    begun("later").go_on(lambda last: last.number >= 40 + FOLLOWED)
    measure = Measure(game, settings.load_menu(), tree, cards)
    before = measure.exploitability(tables).mbb
    taken_up = run_in(tmp_path / "later", settings)  # what it began from is needed no more
    assert measure.exploitability(taken_up.sampler.averages()).mbb == pytest.approx(before, abs=1e-3)
    weights = sum(range(1, 41 + FOLLOWED)) * 100
    assert taken_up.sampler.state()["weight"] == pytest.approx(weights)
    taken_up.go_on(lambda last: last.number >= 120)
    earlier.go_on(lambda last: last.number >= 120 - FOLLOWED)  # learnt as often
    cold = run_in(tmp_path / "cold", settings)
    cold.go_on(lambda last: last.number >= 80)
    after, same, less = (measure.exploitability(each.sampler.averages()).mbb for each in (taken_up, earlier, cold))
    assert after < before
    assert after < less
    assert after < 1.15 * same


def test_what_is_taken_up_is_played_next(tmp_path: Path) -> None:
    """Regrets are in proportion to the strategy, less what actions lose over so many periods."""
    settings = LEDUC.model_copy(update={"trainer": TrainerSettings(walks=200, seed=7)})
    earlier = run_in(tmp_path / "earlier", settings)
    earlier.go_on(lambda last: last.number >= 30)
    tables = tuple([table.copy() for table in earlier.sampler.averages()])
    sampler = run_in(tmp_path / "later", settings).sampler
    for number in (31, 32):
        sampler.period(number, float(number), 200, tables)
    before = {name: array.copy() for name, array in sampler.state().items()}
    sampler.take_up(tables, 8.0, 3.0)
    after = sampler.state()
    np.testing.assert_allclose(after["averages"], 8 * before["averages"], rtol=1e-6)
    assert isinstance(sampler, PublicSampling)
    compared = 0
    for part in range(len(sampler._tables.parts.street)):
        old, new, shares = (
            sampler._tables.of_part(each, part)
            for each in (before["regrets"], after["regrets"], sampler._tables.packed(tables))
        )
        for begin, end in pairwise([*sampler._tables.begins(part), len(old)]):
            lost, played = np.minimum(old[begin:end], 0) * 8, shares[begin:end]
            added = new[begin:end] - lost
            total = played.sum(axis=0)
            there = total > 0
            expected = np.maximum(0.9 * np.sqrt((old[begin:end] ** 2).sum(axis=0)), 1)
            np.testing.assert_allclose(added[:, there].sum(axis=0), expected[there], rtol=1e-3, atol=1e-2)
            np.testing.assert_allclose(
                added[:, there] / added[:, there].sum(axis=0), played[:, there] / total[there], atol=1e-3
            )
            compared += int(there.sum())
    assert compared > 100
