"""The workers: started, fed, watched and replaced.

A `WorkerPlace` is where one worker works: its process, the matches that sit there, the line of decisions that wait
(`bot.serve.turns` has the rules). A match keeps its place for life. A worker that ends, or has not answered
`hung_s` after the time that a decision had, is killed and another one starts at the same place; its decision fails at
once, and whoever asked is answered by what stands in. The matches of the place are seated again, decisions that
wait go on waiting within their bounds. A decision that nobody waits for any more (its match is over, or it is late) is
stopped: the worker then answers soon, and is free.

    absent → starting → seating → free ⇄ thinking         any → absent, when the process ends

Everything here runs on the event loop and waits for nothing but its sockets; processes are started in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from bot.serve.frames import HEAD, Data, FrameError, frame, read, sizes
from bot.serve.turns import Waiting, WaitingLine
from machine.errors import ParatusError, quote
from protocol.errors import DeadlineExceeded
from strategies.strategy import Budget

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 10.0
"""Between a worker's end and the next one's start, if they keep ending before they are ready."""
_SEATINGS: Final = 3
"""So often a match is tried whose worker ended before it was ready: for another's fault, or for the match's own."""
_HELD_S: Final = 0.5
"""An alarm that is later than that: we were suspended, and so was the worker perhaps."""

_log = logging.getLogger(__name__)


class WorkerLost(ParatusError):
    """The worker ended, or was taken for dead, while it was at work for us."""


class WorkerFailed(ParatusError):
    """The worker says that it cannot do that."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long workers may take beyond what they were told."""

    hung_s: float = 2.0
    ready_s: float = 600.0


@dataclass(slots=True)
class _Decision:
    """One that was asked for and is not answered."""

    match: str
    data: Data
    blob: bytes
    outcome: asyncio.Future[tuple[Data, bytes]]


class WorkerPlace:
    """One worker, and those that come after it."""

    def __init__(self, number: int, patience: Patience) -> None:
        self.number = number
        self.line = WaitingLine()
        self.matches: dict[str, Data] = {}
        self.starts = 0
        self.pid: int | None = None
        self.thinking: int | None = None
        """The decision that it has taken up."""
        self._patience = patience
        self._decisions: dict[int, _Decision] = {}
        self._seating: dict[str, asyncio.Future[Data] | None] = {}
        """Matches that the worker has not said to be ready for, and who waits for that."""
        self._writer: asyncio.StreamWriter | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    # Asked by matches

    async def seat(self, match: str, data: Data) -> Data:
        """Make the worker ready for a match; returns what the strategy says that it is."""
        for _ in range(_SEATINGS - 1):
            with contextlib.suppress(WorkerLost):
                return await self._seat(match, data)
        return await self._seat(match, data)

    async def _seat(self, match: str, data: Data) -> Data:
        self.matches[match] = data
        outcome: asyncio.Future[Data] = asyncio.get_running_loop().create_future()
        self._seating[match] = outcome
        self._send({"do": "seat", "match": match, **data})
        self._watch()
        try:
            async with asyncio.timeout(self._patience.ready_s):
                return await outcome
        except TimeoutError:
            self.kill(f"not ready for {match} within {self._patience.ready_s:g} s")
            raise DeadlineExceeded(f"worker {self.number}: not ready within {self._patience.ready_s:g} s") from None
        except BaseException:
            self.leave(match)
            raise

    def leave(self, match: str) -> None:
        """A match is over."""
        self.matches.pop(match, None)
        self.line.forget(match)
        self._seating.pop(match, None)
        for decision in [each for each in self._decisions.values() if each.match == match]:
            _fail(decision.outcome, WorkerLost("the match is over"))
        self._send({"do": "leave", "match": match})
        self._next()

    async def think(self, ask: int, match: str, data: Data, blob: bytes, budget: Budget) -> tuple[Data, bytes]:
        """A decision: a policy as plain data. Raises a `ParatusError` when there is none in time."""
        loop = asyncio.get_running_loop()
        decision = self._decisions[ask] = _Decision(match, data, blob, loop.create_future())
        waiting = Waiting(ask, match, time.monotonic(), budget)
        self.line.add(waiting)
        leaves = loop.call_later(max(waiting.expires_s - time.monotonic(), 0.0), self._expire, ask)
        self._next()
        try:
            async with asyncio.timeout(budget.left_s):
                return await decision.outcome
        except TimeoutError:
            raise DeadlineExceeded(f"worker {self.number} was not back in time") from None
        finally:
            leaves.cancel()
            self.line.remove(ask)
            self._decisions.pop(ask, None)
            if self.thinking == ask:  # the match is over, or the worker is late: others want it
                self._send({"do": "stop", "ask": ask})

    def _expire(self, ask: int) -> None:
        if self.line.remove(ask):
            _fail(self._decisions[ask].outcome, DeadlineExceeded(f"worker {self.number} was not free in time"))

    # The worker's life

    async def run(self) -> None:
        """Keep a worker at work until cancelled."""
        pause_s = _FIRST_PAUSE_S
        while True:
            was_ready = await self._live()
            pause_s = _FIRST_PAUSE_S if was_ready else min(2 * pause_s, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    async def _live(self) -> bool:
        """One worker from its start to its end; whether it was ever ready for something."""
        ready = False
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = self._process = await asyncio.to_thread(_start, theirs)
            self.pid, self.starts = process.pid, self.starts + 1
            reader, self._writer = await asyncio.open_unix_connection(sock=ours)
            for match, data in self.matches.items():
                self._seating.setdefault(match, None)
                self._send({"do": "seat", "match": match, **data})
            self._watch()
            self._next()
            async for said, blob in _messages(reader):
                self._hear(said, blob)
                ready = True
        except (OSError, FrameError) as error:
            _log.error("worker %d: %s", self.number, error)
        finally:
            await self._bury(ours)
        _log.error("worker %d ended: another one starts", self.number)
        return ready

    async def _bury(self, ours: socket.socket) -> None:
        """The process is over, whether it knows or not; nobody waits for it any more."""
        process, self._process, self.pid = self._process, None, None
        if self._writer is None:
            ours.close()
        else:
            self._writer.close()
        self._writer = None
        if self._alarm is not None:
            self._alarm.cancel()
        if self.thinking in self._decisions:
            _fail(self._decisions[self.thinking].outcome, WorkerLost(f"worker {self.number} ended"))
        self.thinking = None
        for match, outcome in list(self._seating.items()):
            if outcome is not None:  # it may be why the worker ended: whoever waits knows how often that was
                self.matches.pop(match, None)
                _fail(outcome, WorkerLost(f"worker {self.number} ended before it was ready"))
        self._seating.clear()
        if process is not None:
            process.kill()
            await asyncio.shield(asyncio.to_thread(process.wait))

    def kill(self, why: str) -> None:
        """Take the worker for dead."""
        _log.error("worker %d: %s: killed", self.number, why)
        if self._process is not None:
            self._process.kill()

    # The conversation

    def _send(self, data: Data, blob: bytes = b"") -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(data, blob))

    def _hear(self, said: Data, blob: bytes) -> None:
        match said.get("say"):
            case "ready" | "refused":
                self._hear_of_seat(said)
            case "answer" | "failed":
                if said["ask"] == self.thinking:
                    self.thinking = None
                decision = self._decisions.get(said["ask"])
                if decision is not None and "policy" in said and not decision.outcome.done():
                    decision.outcome.set_result((said["policy"], blob))
                elif decision is not None:
                    _fail(decision.outcome, WorkerFailed(str(said.get("error"))))
            case other:
                raise FrameError(f"worker {self.number} says {quote(str(other))}: expected ready or answer")
        self._watch()
        self._next()

    def _hear_of_seat(self, said: Data) -> None:
        outcome = self._seating.pop(said["match"], None)
        if said["say"] == "ready":
            if outcome is not None and not outcome.done():
                outcome.set_result(said["identity"])
            return
        self.matches.pop(said["match"], None)
        if outcome is not None:
            _fail(outcome, WorkerFailed(str(said.get("error"))))

    def _next(self) -> None:
        """Give the worker what comes next, if it is free."""
        if self._writer is None or self.thinking is not None or self._seating:
            return
        taken = self.line.take(time.monotonic())
        if taken is None:
            return
        waiting, budget = taken
        decision = self._decisions[waiting.ask]
        self.thinking = waiting.ask
        told = {"deadline_s": budget.deadline_s, "fair_share_s": budget.fair_share_s}
        self._send({"do": "decide", "ask": waiting.ask, "match": waiting.match, **told, **decision.data}, decision.blob)
        self._watch(budget.left_s + self._patience.hung_s)

    def _watch(self, most_s: float | None = None) -> None:
        """Set the alarm for what the worker is at now."""
        if self.thinking is not None and most_s is None:
            return
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if most_s is None and self._seating and self._writer is not None:
            most_s = self._patience.ready_s
        if most_s is not None:
            what = f"not back {most_s:.1f} s after it was asked"
            self._alarm_in(most_s, what)

    def _alarm_in(self, seconds: float, what: str) -> None:
        due_s = time.monotonic() + seconds
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._suspect, due_s, what)

    def _suspect(self, due_s: float, what: str) -> None:
        if time.monotonic() - due_s > _HELD_S:
            self._alarm_in(self._patience.hung_s, what)
        else:
            self.kill(what)


class Pool:
    """All places."""

    def __init__(self, workers: int, patience: Patience) -> None:
        self.places = [WorkerPlace(number, patience) for number in range(1, workers + 1)]
        self._at: dict[str, WorkerPlace] = {}
        self._asks = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Pool]:
        """Workers work while this is open."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(place.run()) for place in self.places]
            try:
                yield self
            finally:
                for task in tasks:
                    task.cancel()

    @property
    def waiting(self) -> int:
        """Decisions in line."""
        return sum(len(place.line) for place in self.places)

    @property
    def thinking(self) -> int:
        """Decisions that are thought about."""
        return sum(place.thinking is not None for place in self.places)

    @property
    def replaced(self) -> int:
        """Workers that took another's place."""
        return sum(max(place.starts - 1, 0) for place in self.places)

    async def seat(self, match: str, data: Data) -> Data:
        """Give a match its place: that with the fewest."""
        place = self._at[match] = min(self.places, key=lambda each: len(each.matches))
        return await place.seat(match, data)

    def leave(self, match: str) -> None:
        """A match is over."""
        place = self._at.pop(match, None)
        if place is not None:
            place.leave(match)

    async def think(self, match: str, data: Data, blob: bytes, budget: Budget) -> tuple[Data, bytes]:
        """A decision of a match that has its place."""
        place = self._at.get(match)
        if place is None:
            raise WorkerLost("the match is over")
        self._asks += 1
        return await place.think(self._asks, match, data, blob, budget)


def _start(theirs: socket.socket) -> subprocess.Popen[bytes]:
    """A fresh interpreter: nothing of the server's memory, threads or files but that socket and stderr."""
    number = theirs.fileno()
    command = [sys.executable, "-m", "bot.serve.worker", str(number)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[number])


async def _messages(reader: asyncio.StreamReader) -> AsyncIterator[tuple[Data, bytes]]:
    """What a worker says, until it ends."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            text, blob = sizes(await reader.readexactly(HEAD.size))
            yield read(await reader.readexactly(text)), await reader.readexactly(blob)


def _fail(outcome: asyncio.Future[tuple[Data, bytes]] | asyncio.Future[Data], error: ParatusError) -> None:
    if not outcome.done():
        outcome.set_exception(error)
        outcome.exception()  # whoever waited may be gone: not to be reported as forgotten
