"""A whole session: as many hands as were asked for, a few at a time, until done, stopped or given up."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dealer_tools.slumbot.client import GaveUp, SlumbotHttp, Stopping, Traffic
from dealer_tools.slumbot.lane import Lane, SharedByLanes
from dealer_tools.slumbot.record import SlumbotRecord
from dealer_tools.slumbot.settings import SlumbotSettings
from strategies.agents import Agent
from strategies.chair import Chair
from strategies.identity import DrawKey

_BROKEN_IN_A_ROW: Final = 50
"""After so many the session stops: something is wrong that going on does not mend."""
MATCH: Final = "slumbot"
"""Part of the key of every draw."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended."""

    hands: int
    """Finished, over all runs of the session."""
    broken: int
    played_now: int
    requests: int
    failures: dict[str, int]
    fallbacks: int
    stopped: bool
    gave_up: str
    """Why, if the server failed for too long."""


class SlumbotSession:
    """Plays with one server into one folder."""

    def __init__(
        self,
        settings: SlumbotSettings,
        agents: Sequence[Agent],
        record: SlumbotRecord,
        password: str,
        say: Callable[[str], None],
    ) -> None:
        """One agent for each hand in flight: a search remembers the hand that it is in."""
        self._settings, self._record, self._say, self._password = settings, record, say, password
        self._players = [Chair(agent, DrawKey(settings.seed, MATCH)) for agent in agents]
        self._stop = asyncio.Event()
        self._in_flight = self._broken_in_a_row = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def play(self, hands: int, show: Callable[[int], None] = lambda done: None) -> Ended:
        """Until the folder has so many finished hands."""
        traffic, record = Traffic(self._settings, self._say), self._record
        traffic.hide(self._password)
        table = SharedByLanes(traffic, self._settings, record, self._password, self._stop, asyncio.Lock())
        with self._interrupts():
            self._tasks = [asyncio.create_task(self._lane(table, player, hands, show)) for player in self._players]
            gave_up = _outcome(await asyncio.gather(*self._tasks, return_exceptions=True))
        return Ended(
            record.finished, record.broken, record.finished - record.finished_before, traffic.requests,
            dict(sorted(traffic.failures.items())), sum(player.fallbacks for player in self._players),
            self._stop.is_set(), gave_up,
        )  # fmt: skip

    async def _lane(self, table: SharedByLanes, player: Chair, hands: int, show: Callable[[int], None]) -> None:
        try:
            async with SlumbotHttp(self._settings, table.traffic) as http:
                lane = Lane(table, http, player)
                while not self._stop.is_set() and self._record.finished + self._in_flight < hands:
                    await self._hand(lane)
                    show(self._record.finished)
        except Stopping:
            return
        except BaseException:
            self._stop.set()  # the others end after the hands that they are in
            raise
        finally:
            player.leave()

    async def _hand(self, lane: Lane) -> None:
        self._in_flight += 1
        try:
            finished = await lane.play_hand()
        finally:
            self._in_flight -= 1
        self._broken_in_a_row = 0 if finished else self._broken_in_a_row + 1
        if self._broken_in_a_row >= _BROKEN_IN_A_ROW:
            raise GaveUp(f"{self._broken_in_a_row} broken hands in a row (the log says why)")

    @contextlib.contextmanager
    def _interrupts(self) -> Iterator[None]:
        """The first Ctrl-C ends the session after the hands in flight, the second at once."""
        loop, numbers = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
        try:
            for number in numbers:
                loop.add_signal_handler(number, self._interrupted)
        except (NotImplementedError, RuntimeError, ValueError):  # not in the main thread
            yield
            return
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _interrupted(self) -> None:
        if not self._stop.is_set():
            self._say("stopping after the hands in flight (once more: at once, and they are broken)")
            self._stop.set()
            return
        for task in self._tasks:
            task.cancel()


def _outcome(results: Sequence[BaseException | None]) -> str:
    """Why the session was given up, if it was; raises what is nobody's fault but ours."""
    gave_up = ""
    for result in results:
        if isinstance(result, GaveUp):
            gave_up = str(result)
        elif result is not None and not isinstance(result, asyncio.CancelledError):
            raise result
    return gave_up
