"""Processes that do lots: each makes itself ready once, then takes one lot after another over a pipe.

A process has lots under way or waits for some, never more, so nothing piles up in a pipe; it gets its next lots before
anybody looks at its results. They, and what they start, run with Python's safe path: nothing is imported from the
folder that the user works in, whatever lies there, unless the caller's own `sys.path` names it (`python -m`). If the
caller is killed they end with it: left alone they would compute for nobody, with an agent's memory each.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Final, Generic, TypeVar

from machine.errors import ParatusError
from machine.lots import Feed, LocalWorkers, Lot, Workers, WorkerSpec, do_named

What = TypeVar("What")
Result = TypeVar("Result")

_CONTEXT: Final = get_context("spawn")
_SAFE_PATH: Final = "PYTHONSAFEPATH"


def workers_for(
    spec: WorkerSpec[Any, What, Result], cores: int, here: Callable[[What], Result] | None = None
) -> Workers[What, Result]:
    """This process for one core, else processes. `here` is what does a lot in this one, if the caller has it ready."""
    if cores <= 1:
        return LocalWorkers(spec, here)
    return ProcessWorkers(spec, cores, here)


class ProcessWorkers(Generic[What, Result]):
    """So many processes at most: none is begun for which there is no lot."""

    def __init__(
        self, spec: WorkerSpec[Any, What, Result], count: int, here: Callable[[What], Result] | None = None
    ) -> None:
        self._spec, self._count, self._here = spec, count, here

    @property
    def capacity(self) -> int:
        """What is under way in all of them."""
        return self._count * self._spec.at_once

    def do(self, feed: Feed[What, Result]) -> Generator[tuple[Lot[What], Result], None, None]:
        """As `Workers` says; closing it ends them, in the middle of a lot too."""
        if self._spec.first_alone and (lot := feed.next()) is not None:
            yield lot, do_named(self._here or self._spec.make_ready(self._spec.job), lot)
        crew: list[_Member] = []
        try:
            while True:
                for member in crew:
                    if not member.lots:
                        member.begin(self._taken(feed))
                while len(crew) < self._count and (lots := self._taken(feed)):
                    crew.append(_Member(self._spec))
                    crew[-1].begin(lots)
                busy = {member.connection: member for member in crew if member.lots}
                if not busy:
                    return
                for connection in wait([*busy]):
                    member = busy[connection]  # type: ignore[index]
                    done = [*zip(member.lots, member.results(), strict=True)]
                    member.begin(self._taken(feed))
                    yield from done
        finally:
            for member in crew:
                member.process.terminate()  # a lot may take a minute that nobody waits for any more
            for member in crew:
                member.process.join()
                member.connection.close()

    def _taken(self, feed: Feed[What, Result]) -> list[Lot[What]]:
        lots: list[Lot[What]] = []
        while len(lots) < self._spec.at_once and (lot := feed.next()) is not None:
            lots.append(lot)
        return lots


class _Member:
    """One of the processes, and what it has to do."""

    def __init__(self, spec: WorkerSpec[Any, Any, Any]) -> None:
        self._doing = spec.doing
        self.lots: Sequence[Lot[Any]] = ()
        self.connection, there = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(spec.make_ready, spec.job, there), daemon=True)
        with _apart():
            self.process.start()
        there.close()  # so that the pipe ends with the process

    def begin(self, lots: Sequence[Lot[Any]]) -> None:
        """Give it lots, or nothing to do."""
        self.lots = lots
        if lots:
            try:
                self.connection.send(lots)
            except OSError:
                raise self._died() from None

    def results(self) -> list[Any]:
        """Of all that it was given."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            raise self._died() from None
        if isinstance(answer, _Failure):
            raise answer.error
        results: list[Any] = answer
        return results

    def _died(self) -> ParatusError:
        return ParatusError(f"a process that {self._doing} has died: expected memory for each (--cores 1 takes least)")


@dataclass(frozen=True, slots=True)
class _Failure:
    """What went wrong in a process."""

    error: BaseException


@contextmanager
def _apart() -> Iterator[None]:
    """Where processes are started: they import nothing from the current folder, and Ctrl-C is the caller's to hear."""
    with _safe_path():
        resource_tracker.ensure_running()  # a process too, started with the first; it would let Ctrl-C through
        held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def _safe_path() -> Iterator[None]:
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


# In the processes


def _serve(make_ready: Callable[[Any], Callable[[Any], Any]], job: object, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked hears it too, and ends us
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    end_with_parent()
    do_lot: Callable[[Any], Any] | None = None
    while True:
        try:
            lots: list[Lot[Any]] = connection.recv()
        except EOFError:
            return
        try:
            do_lot = do_lot or make_ready(job)
            answer = pickle.dumps([do_named(do_lot, lot) for lot in lots])
        except Exception as error:
            answer = pickle.dumps(_failure(error))
        connection.send_bytes(answer)


def _failure(error: Exception) -> _Failure:
    """What was raised, with where; an exception that cannot be carried is told in words."""
    error.add_note("".join(traceback.format_exception(error)).rstrip())
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return _Failure(RuntimeError("\n".join([repr(error), *error.__notes__])))
    return _Failure(error)


def end_with_parent() -> None:
    """End this process as soon as the one that began it is gone."""
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_end_after, args=(parent.sentinel,), name="parent", daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
