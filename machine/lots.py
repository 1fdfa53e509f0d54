"""Work in lots on several cores: processes that each make ready once, then take one lot after another.

A lot's result depends on nothing but the lot, so what comes out has the same bits however many there are. What a
process needs it makes for itself from a small description: agents, open stores and compiled kernels must not be
carried into another process. If whoever asked is killed, its processes end with it: left alone they would wait for lots
that never come, with an agent's memory each.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from typing import Any, TypeVar

from machine.errors import ParatusError

Job = TypeVar("Job")
Lot = TypeVar("Lot")
Result = TypeVar("Result")


def shared_out(
    cores: int, make_ready: Callable[[Job], Callable[[Lot], Result]], job: Job, lots: Sequence[Lot], doing: str
) -> Iterator[Result]:
    """The results of some lots, in order, by so many processes at most.

    `make_ready` is called in each with the job and gives what does a lot; it must be a function of a module. `doing`
    is what a process does, for whoever reads that one has died.
    """
    with ProcessPoolExecutor(min(cores, len(lots)), get_context("spawn"), _begin, (make_ready, job)) as pool:
        try:
            for done in [pool.submit(_do, lot) for lot in lots]:
                yield done.result()
        except BrokenProcessPool:
            raise ParatusError(
                f"a process that {doing} has died: expected memory for each (--cores 1 takes least)"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():  # a lot may take a minute that nobody waits for any more
                child.terminate()


_here: Callable[[Any], Any] | None = None
"""In a process that takes part: what does a lot."""


def _begin(make_ready: Callable[[Any], Callable[[Any], Any]], job: object) -> None:
    global _here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked hears it too, and ends us
    end_with_parent()
    _here = make_ready(job)


def end_with_parent() -> None:
    """End this process as soon as the one that began it is gone."""
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_end_after, args=(parent.sentinel,), name="parent", daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _do(lot: Any) -> Any:
    assert _here is not None
    return _here(lot)
