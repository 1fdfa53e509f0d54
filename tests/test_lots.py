"""Lots of independent work: the same by any workers, in bounded memory, kept, and ended by whatever goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lot_jobs
import pytest
from processes import PATIENCE_S

from machine import lots as seam
from machine.errors import ConfigError, ParatusError
from machine.journal import JournalFormat, open_journal
from machine.lots import Feed, LocalWorkers, Lot, ThreadWorkers, Workers, WorkerSpec, do_lots
from machine.processes import ProcessWorkers, workers_for

ROOT = Path(seam.__file__).parent.parent
Make = Callable[[WorkerSpec[Any, int, Any]], Workers[int, Any]]
FORMS: dict[str, Make] = {
    "local": LocalWorkers,
    "threads": lambda spec: ThreadWorkers(spec.make_ready(spec.job), 3),
    "processes": lambda spec: ProcessWorkers(spec, 2),
}
every_form = pytest.mark.parametrize("make", FORMS.values(), ids=FORMS)


def numbers(count: int) -> Iterator[Lot[int]]:
    return (Lot(f"n{number}", number, 1 + number % 3) for number in range(count))


@every_form
@pytest.mark.parametrize("at_once", [1, 7])
def test_who_does_them_changes_nothing(make: Make, at_once: int) -> None:
    workers = make(WorkerSpec(lot_jobs.squares, 5, "squares", at_once))
    expected = {f"n{number}": number * number + 5 for number in range(100)}
    assert dict(do_lots(workers, numbers(100))) == expected
    assert [*do_lots(workers, numbers(100), in_order=True)] == [*expected.items()]
    assert [*do_lots(workers, [])] == []


@every_form
def test_progress_counts_weights(make: Make) -> None:
    told: list[int] = []
    done = do_lots(make(WorkerSpec(lot_jobs.squares, 0, "squares")), numbers(9), tell=told.append)
    assert len([*done]) == 9
    assert told == sorted(told)
    assert (len(told), told[0], told[-1]) == (10, 0, 18)


@pytest.mark.parametrize("name", ["threads", "processes"])
def test_results_come_before_a_slow_one_unless_order_is_asked_for(name: str) -> None:
    workers = FORMS[name](WorkerSpec(lot_jobs.first_slow, 0.5, "waits"))
    unordered = [result for _, result in do_lots(workers, numbers(20))]
    assert unordered[0] != 0
    assert sorted(unordered) == [*range(20)]
    assert [result for _, result in do_lots(workers, numbers(20), in_order=True)] == [*range(20)]


@every_form
@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_lots_are_made_than_can_be_under_way(make: Make, at_once: int) -> None:
    made, given, most = 0, 0, 0

    def lazily() -> Iterator[Lot[int]]:
        nonlocal made, most
        for number in range(200):
            made += 1
            most = max(most, made - given)
            yield Lot(number, number)

    workers = make(WorkerSpec(lot_jobs.squares, 0, "squares", at_once))
    for _ in do_lots(workers, lazily()):
        given += 1
    assert (made, given) == (200, 200)
    assert most <= 2 * workers.capacity + 1 <= 13  # done and not given yet, then under way


@pytest.mark.parametrize("name", ["threads", "processes"])
def test_in_order_none_is_begun_far_ahead_of_a_slow_one(name: str) -> None:
    made = 0

    def lazily() -> Iterator[Lot[int]]:
        nonlocal made
        for number in range(1000):
            made += 1
            yield Lot(number, number)

    workers = FORMS[name](WorkerSpec(lot_jobs.first_slow, 1.0, "waits"))
    done = do_lots(workers, lazily(), in_order=True)
    assert next(done) == (0, 0)
    assert made <= 17 * workers.capacity + 1 < 1000
    assert [result for _, result in done] == [*range(1, 1000)]


def test_no_process_is_begun_without_a_lot_for_it() -> None:
    workers = ProcessWorkers(WorkerSpec(lot_jobs.process_of, None, "tells"), 5)
    assert len({pid for _, pid in do_lots(workers, numbers(2))}) == 2
    pids = {pid for _, pid in do_lots(ProcessWorkers(WorkerSpec(lot_jobs.process_of, None, "tells"), 2), numbers(8))}
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_what_all_need_is_built_by_the_first_lot_alone() -> None:
    spec = WorkerSpec(lot_jobs.process_of, None, "tells", first_alone=True)
    found = [pid for _, pid in do_lots(workers_for(spec, 2), numbers(6), in_order=True)]
    assert found[0] == os.getpid()
    assert os.getpid() not in found[1:]
    ready = [pid for _, pid in do_lots(workers_for(spec, 2, lambda number: -1), numbers(6), in_order=True)]
    assert (ready[0], -1 in ready[1:]) == (-1, False)
    assert {pid for _, pid in do_lots(workers_for(spec, 1), numbers(3))} == {os.getpid()}


def test_two_lots_with_one_key_are_refused() -> None:
    feed: Feed[int, int] = Feed([Lot("a", 1), Lot("a", 2)], None, None, None)
    feed.next()
    with pytest.raises(ValueError, match="two lots are called 'a'"):
        feed.next()


# --- What goes wrong ------------------------------------------------------------------------------------------------


@every_form
def test_an_exception_ends_all_and_names_its_lot(make: Make) -> None:
    with pytest.raises(ValueError, match="no 30") as raised:
        [*do_lots(make(WorkerSpec(lot_jobs.failing, 30, "fails")), numbers(10_000))]
    assert any("lot 'n30'" in note for note in raised.value.__notes__)


@pytest.mark.parametrize(
    ("spec", "error", "said"),
    [
        (WorkerSpec(lot_jobs.failing_oddly, None, "fails"), RuntimeError, "not carried"),
        (WorkerSpec(lot_jobs.without_pickle, None, "fails"), Exception, "pickle"),
        (WorkerSpec(lot_jobs.never_ready, "model", "fails"), RuntimeError, "no model"),
    ],
)
def test_what_a_process_cannot_do_or_carry_is_told(spec: WorkerSpec[Any, int, Any], error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        [*do_lots(ProcessWorkers(spec, 2), numbers(3))]


def test_a_process_that_dies_is_told_in_a_line() -> None:
    workers = ProcessWorkers(WorkerSpec(lot_jobs.dying, 4, "counts"), 2)
    with pytest.raises(ParatusError, match=r"^a process that counts has died: expected memory for each") as raised:
        [*do_lots(workers, numbers(1000))]
    assert "\n" not in str(raised.value)


def test_who_closes_early_waits_for_no_lot() -> None:
    """In the middle of others that would take for ever."""
    spec = WorkerSpec(lot_jobs.never, None, "sleeps", first_alone=True)
    done = do_lots(ProcessWorkers(spec, 2, lambda number: number), numbers(100))
    begun = time.monotonic()
    assert next(done)[1] == 0
    done.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < PATIENCE_S


def started(tmp_path: Path, text: str, **options: Any) -> subprocess.Popen[bytes]:
    """A program of its own that has lots done by two processes."""
    tmp_path.mkdir(exist_ok=True)
    program = tmp_path / "program.py"
    paths = [str(ROOT), str(Path(lot_jobs.__file__).parent)]
    program.write_text(
        f"import sys\nsys.path[1:1] = {paths!r}\nimport lot_jobs\n"
        "from machine.lots import *\nfrom machine.processes import *\nfrom machine.journal import *\n"
        f"from pathlib import Path\n\n\nif __name__ == '__main__':\n    {text}\n"
    )
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONSAFEPATH", "PYTHONPATH")}
    return subprocess.Popen([sys.executable, str(program)], env=environment, **options)


def children(pid: int) -> set[int]:
    """Of a process, by /proc."""
    return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def wait_until_gone(pids: set[int]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_who_asked(tmp_path: Path, number: int) -> None:
    """Ctrl-C reaches the whole group, as in a terminal, and only the caller says so."""
    text = "[*do_lots(ProcessWorkers(WorkerSpec(lot_jobs.never, None, 'sleeps'), 2), [Lot(1, 1), Lot(2, 2)])]"
    run = started(tmp_path, text, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + PATIENCE_S
    while len(children(run.pid)) < 3:  # one tracks resources
        assert time.monotonic() < deadline
        time.sleep(0.01)
    found = children(run.pid)
    if number == signal.SIGINT:
        os.killpg(run.pid, number)
    else:
        run.send_signal(number)
    _, err = run.communicate(timeout=PATIENCE_S)
    if number == signal.SIGINT:
        assert err.count(b"Traceback") == 1
    wait_until_gone(found)


def test_nothing_is_imported_from_the_current_folder(tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for name in ("json", "queue", "pickle", "multiprocessing", "numpy", "machine", "lot_jobs", "sitecustomize"):
        (hostile / f"{name}.py").write_text(f"open({str(tmp_path / 'taken')!r}, 'a').write({name!r} + chr(10))\n")
    text = "print(sum(n for _, n in do_lots(ProcessWorkers(WorkerSpec(lot_jobs.squares, 0, 'squares'), 2), lots)))"
    text = f"lots = [Lot(n, n) for n in range(10)]; {text}"
    run = started(tmp_path / "elsewhere", text, cwd=hostile, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = run.communicate(timeout=PATIENCE_S)
    assert not (tmp_path / "taken").exists(), (tmp_path / "taken").read_text()
    assert (run.returncode, out, err) == (0, b"285\n", b"")


# --- What is kept ---------------------------------------------------------------------------------------------------


def encode(key: object, result: int) -> dict[str, Any]:
    return {"number": key, "square": result}


def decode(line: int, document: dict[str, Any]) -> tuple[Any, int]:
    return document["number"], document["square"]


def journal(seed: int = 1) -> JournalFormat[int]:
    return JournalFormat({"squares": 1, "seed": seed}, encode, decode, "squares", "a test", "--out")


@pytest.mark.parametrize("in_order", [False, True])
def test_a_killed_run_goes_on_and_does_nothing_twice(tmp_path: Path, in_order: bool) -> None:
    path, log = tmp_path / "squares.jsonl", tmp_path / "done"
    text = (
        "encode = lambda key, result: {'number': key, 'square': result}\n"
        "    form = JournalFormat({'squares': 1, 'seed': 1}, encode, None, '', '')\n"
        f"    with open_journal(Path({str(path)!r}), form) as kept:\n"
        f"        workers = ProcessWorkers(WorkerSpec(lot_jobs.logged, {str(tmp_path)!r}, 'squares'), 2)\n"
        f"        [*do_lots(workers, [Lot(n, n) for n in range(1000)], kept=kept, in_order={in_order})]"
    )
    run = started(tmp_path, text)
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists() or path.read_bytes().count(b"\n") < 20:
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.001)
    found = children(run.pid)
    run.kill()
    run.wait()
    wait_until_gone(found)
    before = [json.loads(line) for line in path.read_bytes().splitlines()[1:] if line.endswith(b"}")]
    assert 19 <= len(before) < 100
    log.write_text("")
    lots = [Lot(number, number) for number in range(100)]
    with open_journal(path, journal()) as kept:
        workers = ProcessWorkers(WorkerSpec(lot_jobs.logged, str(tmp_path), "squares"), 2)
        told: list[int] = []
        results = dict(do_lots(workers, lots, kept=kept, in_order=in_order, tell=told.append))
    assert results == {number: number * number for number in range(100)}
    assert told[0] == len(before)
    again = [int(line) for line in log.read_text().split()]
    assert sorted([*again, *[row["number"] for row in before]]) == [*range(100)]
    with open_journal(path, journal()) as kept:  # and now there is nothing to do
        assert (
            dict(do_lots(LocalWorkers(WorkerSpec(lot_jobs.never_ready, "need", "squares")), lots, kept=kept)) == results
        )


def test_a_line_that_was_being_written_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "squares.jsonl"
    with open_journal(path, journal()) as kept:
        kept.keep(3, 9)
        kept.keep(1, 1)
    whole = path.read_bytes()
    assert whole == b'{"squares": 1, "seed": 1}\n{"number": 3, "square": 9}\n{"number": 1, "square": 1}\n'
    for cut, left in ((len(whole), {3: 9, 1: 1}), (len(whole) - 1, {3: 9}), (27, {}), (20, {}), (0, {})):
        path.write_bytes(whole[:cut])
        with open_journal(path, journal()) as kept:
            assert kept.results == left
        assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[: 1 + len(left)])


def test_files_of_something_else_are_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "squares.jsonl"
    for text, said in (
        ("a diary\n", "holds something else than squares of `a test`"),
        ('{"squares": 1, "seed": 2}\n', r"holds other squares: seed is '2', asked for '1'"),
        ('{"squares": 1, "seed": 1}\n{"number": 1}\n{"nu', r":2: 'square'"),
        ('{"squares": 1, "seed": 1}\nnumber\n{"nu', ":2: 'number': expected a JSON object"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=said) as raised, open_journal(path, journal()):
            pass
        assert "\n" not in str(raised.value)
        assert path.read_text() == text
    path.unlink()
    with (
        open_journal(path, journal()),
        pytest.raises(ConfigError, match="is being written"),
        open_journal(path, journal()),
    ):
        pass
