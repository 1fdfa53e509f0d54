"""Lots of independent work: done by one process, by threads or by several processes, with the same results.

**What is described.** A worker is described by a `WorkerSpec`: a function of a module that makes it ready, and a job,
the plain data that the function needs. A `Lot` is plain data too: a key, what is to be done, and a weight (hands, say)
that progress counts in. Results are plain data. Agents, open stores and compiled kernels are never carried anywhere:
a worker makes for itself what it needs. So who does the lots may be on another machine.

**What is promised.** A result depends on nothing but the job and the lot: a lot that draws carries its own seed or
number. So it may be done anywhere and a second time, and what comes out has the same bits for any number of workers.

**How they are done.** `do_lots` gives each lot's key and result as soon as they are there, or in the order of the lots.
Lots may be made lazily: a worker gets the next one when it has given back the last (threads have one more waiting
each), so never more are made than can be under way. Where order is wanted no lot is begun that is far ahead of the
oldest that is not done: results do not pile up behind a slow one.

**What is kept.** With a place that keeps results (`machine.journal`, or a folder with a file each) those that are there
are given again and not made again, and a new one is kept before anybody sees it (in order, where that is asked for): a
run that is killed at any moment goes on where it was.

**What fails.** An exception of a lot ends all and is raised here, with a note that names the lot. A process that dies
ends all with one line. Ctrl-C, or an end of the caller, ends the processes at once.

Who does the lots is one of the `Workers`: `LocalWorkers` (this process), `ThreadWorkers` (for kernels that let go of
the interpreter's lock and share large arrays: such work cannot leave the process, so it is a function and has no
`WorkerSpec`) or `ProcessWorkers`; `machine.processes.workers_for` chooses. Two kinds of parallel work stay apart:
loops of milliseconds inside a computation (rollouts, margins, the walks of the trainer), where a lot would be all
overhead; and the matches of an experiment (`dealer_tools.experiment.runner`), which are trees of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

Key = int | str
Job = TypeVar("Job")
What = TypeVar("What")
Result = TypeVar("Result")

_AHEAD: Final = 16
"""Times as many lots as can be under way may be done before the oldest is: in order, their results wait for it."""


@dataclass(frozen=True, slots=True)
class Lot(Generic[What]):
    """A piece of work that needs no other."""

    key: Key
    """What it is known by: no two lots of a run share it."""
    what: What
    """What the function of a worker is called with."""
    weight: int = 1
    """In what progress counts."""


@dataclass(frozen=True, slots=True)
class WorkerSpec(Generic[Job, What, Result]):
    """What a worker must know to take part, wherever it is."""

    make_ready: Callable[[Job], Callable[[What], Result]]
    """Called once by each worker; gives what does a lot. A function of a module."""
    job: Job
    doing: str
    """What a worker does, for whoever reads that one has died."""
    at_once: int = 1
    """Lots that go to a worker together: more where each takes less than some milliseconds."""
    first_alone: bool = False
    """Whether the first lot compiles or builds what all others need: it is done here before other workers begin."""


class KeptResults(Protocol[Result]):
    """Results that outlive the process."""

    @property
    def results(self) -> Mapping[Key, Result]:
        """Those that were there, by the keys of their lots."""

    def keep(self, key: Key, result: Result) -> None:
        """One more."""


class Workers(Protocol[What, Result]):
    """Who does lots. A distributed form is one more class with these two."""

    @property
    def capacity(self) -> int:
        """Lots that can be under way at once."""

    def do(self, feed: Feed[What, Result]) -> Generator[tuple[Lot[What], Result], None, None]:
        """Take lots from the feed whenever one can be begun; give each with its result, in any order.

        Over once the feed gives nothing and nothing is under way. Closing it ends what is under way.
        """


def do_lots(
    workers: Workers[What, Result],
    lots: Iterable[Lot[What]],
    *,
    kept: KeptResults[Result] | None = None,
    tell: Callable[[int], None] | None = None,
    in_order: bool = False,
) -> Iterator[tuple[Key, Result]]:
    """Each lot's key and result as they come, or in the order of the lots.

    `kept` has results of an earlier run and gets the new ones; `tell` hears the weight of all that is done: first of
    what was kept, then after each lot.
    """
    feed = Feed(lots, kept, tell, _AHEAD * workers.capacity if in_order else None)
    done = workers.do(feed)
    try:
        for lot, result in done:
            feed.finish(lot, result)
            yield from feed.given()
        yield from feed.given()
    finally:
        done.close()


class Feed(Generic[What, Result]):
    """Lots on their way to workers, and results on their way back."""

    def __init__(
        self,
        lots: Iterable[Lot[What]],
        kept: KeptResults[Result] | None,
        tell: Callable[[int], None] | None,
        ahead: int | None,
    ) -> None:
        """With `ahead` results are given in order, and none is begun that comes so many after one under way."""
        self._lots, self._place = iter(lots), 0
        self._kept, self._tell, self._ahead = kept, tell, ahead
        self._there: Mapping[Key, Result] = dict(kept.results) if kept is not None else {}
        self._seen: set[Key] = set()
        self._under_way: dict[Key, int] = {}
        """Their places among all lots."""
        self._waiting: dict[int, tuple[Key, Result]] = {}
        """What nobody has been given yet, by place."""
        self._done, self._told, self._given = 0, False, 0

    def next(self) -> Lot[What] | None:
        """The lot to begin; None if there is no more, or none may be begun before one under way is done."""
        if self._ahead is not None and self._place - min(self._under_way.values(), default=self._place) >= self._ahead:
            return None
        for lot in self._lots:
            place, self._place = self._place, self._place + 1
            if lot.key in self._seen:
                raise ValueError(f"two lots are called {lot.key!r}")
            self._seen.add(lot.key)
            if lot.key in self._there:
                self._waiting[place] = lot.key, self._there[lot.key]
                self._done += lot.weight
                continue
            if not self._told:
                self._tell_all()
            self._under_way[lot.key] = place
            return lot
        return None

    def finish(self, lot: Lot[What], result: Result) -> None:
        """A lot is done."""
        self._waiting[self._under_way.pop(lot.key)] = lot.key, result
        self._done += lot.weight
        self._tell_all()

    def given(self) -> Iterator[tuple[Key, Result]]:
        """What may be given now, kept before it is."""
        while self._waiting:
            place = next(iter(self._waiting)) if self._ahead is None else self._given
            if place not in self._waiting:
                return
            key, result = self._waiting.pop(place)
            self._given += 1
            if self._kept is not None and key not in self._there:
                self._kept.keep(key, result)
            yield key, result

    def _tell_all(self) -> None:
        self._told = True
        if self._tell is not None:
            self._tell(self._done)


class LocalWorkers(Generic[What, Result]):
    """This process, one lot after another."""

    capacity = 1

    def __init__(self, spec: WorkerSpec[Any, What, Result], here: Callable[[What], Result] | None = None) -> None:
        """`here` is what does a lot, if the caller has it ready."""
        self._spec, self._here = spec, here

    def do(self, feed: Feed[What, Result]) -> Generator[tuple[Lot[What], Result], None, None]:
        """As `Workers` says; made ready for the first lot."""
        while (lot := feed.next()) is not None:
            self._here = self._here or self._spec.make_ready(self._spec.job)
            yield lot, do_named(self._here, lot)


class ThreadWorkers(Generic[What, Result]):
    """Threads that share all arrays of this process."""

    def __init__(self, do_lot: Callable[[What], Result], threads: int) -> None:
        self._do_lot, self._threads = do_lot, threads

    @property
    def capacity(self) -> int:
        """One in each thread and one that waits for it."""
        return 2 * self._threads

    def do(self, feed: Feed[What, Result]) -> Generator[tuple[Lot[What], Result], None, None]:
        """As `Workers` says; what is under way when it is closed is waited for: a thread cannot be ended."""
        under_way: dict[Future[Result], Lot[What]] = {}
        with ThreadPoolExecutor(self._threads) as pool:
            try:
                while True:
                    while len(under_way) < self.capacity and (lot := feed.next()) is not None:
                        under_way[pool.submit(do_named, self._do_lot, lot)] = lot
                    if not under_way:
                        return
                    for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                        yield under_way.pop(future), future.result()
            finally:
                for future in under_way:
                    future.cancel()


def do_named(do_lot: Callable[[What], Result], lot: Lot[What]) -> Result:
    """Do a lot; what goes wrong says in which."""
    try:
        return do_lot(lot.what)
    except Exception as error:
        error.add_note(f"lot {lot.key!r}")
        raise
