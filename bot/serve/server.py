"""The server: one event loop with all sessions, the workers, the control interface, and the way it ends.

    start   open files as far as allowed, listen for control, start workers, join the matches of the file, say `ready`
    stop    (SIGTERM, SIGINT, `ctl stop`) take no more matches; leave each after its hand, or when `drain_s` is over;
            write everything; exit 0. A second signal does not wait for hands.

CPU work is not done here: strategies that need more than a moment think in the workers, files are opened in threads.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from bot.serve.agents import OpenAgents
from bot.serve.config import FILES_A_MATCH, FILES_BESIDE, MatchSection, ServeConfig
from bot.serve.control import Control
from bot.serve.gate import TurnGate
from bot.serve.matches import ServedMatch, Shared, Stage
from bot.serve.metrics import Metrics, resident_bytes
from bot.serve.pool import Patience, Pool
from machine.errors import ConfigError, quote
from protocol.game import load_game

_IMPORTED: Final = ("strategies.players.blueprint", "blueprints.cards.kernels.places")
_REMEMBERED: Final = 1000
"""So many matches that are over stay in the list."""


class Log:
    """What the server says, on stderr: never cards."""

    def __init__(self, form: str) -> None:
        self._json = form == "json"

    def tell(self, event: str, **fields: Any) -> None:
        """A line; `event` may be any word, fields anything that JSON can say."""
        if self._json:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            text = json.dumps({"time": stamp, "event": event, **fields})
        else:
            shown = " ".join(f"{name}={_plain(value)}" for name, value in fields.items() if value != "")
            text = f"paratus serve: {event} {shown}".rstrip()
        print(text, file=sys.stderr, flush=True)


class MatchServer:
    """What the control interface and signals act on."""

    def __init__(self, config: ServeConfig, log: Log) -> None:
        self.config, self.log = config, log
        self.metrics, self.agents = Metrics(), OpenAgents()
        self.pool = Pool(config.serve.workers, Patience(config.limits.hung_s, config.limits.ready_s))
        self._disk = ThreadPoolExecutor(1, "disk")
        self._gate = TurnGate()
        self._shared = Shared(self.agents, self.pool, self.metrics, self._disk, self._gate, log.tell)
        self.matches: dict[str, ServedMatch] = {}
        self._group: asyncio.TaskGroup | None = None
        self.stopping, self._changed = False, asyncio.Event()
        self._hurry = asyncio.Event()
        self._begun_s = time.monotonic()

    # What can be asked for

    def join(self, section: MatchSection) -> str:
        """Begin a match; returns what it is called."""
        if self.stopping or self._group is None:
            raise ConfigError("the server has not begun or is about to stop: expected one that serves to join a match")
        active, most = self.active(), self.most_matches()
        if len(active) >= most:
            raise ConfigError(
                f"{len(active)} matches are being played: expected fewer than {most} (limits) to join one"
            )
        if any(match.key == section.key for match in active):
            raise ConfigError(f"name = {quote(section.key)}: a match of that name is being played: expected another")
        match = ServedMatch(section, self.config.bot_config(section), self._shared)
        self.matches.pop(section.key, None)
        self.matches[section.key] = match
        match.task = self._group.create_task(match.play(), name=section.key)
        match.task.add_done_callback(lambda done: self._changed.set())
        for key in [key for key, each in self.matches.items() if each.stage is Stage.OVER][:-_REMEMBERED]:
            del self.matches[key]
        return section.key

    def describe(self) -> list[dict[str, Any]]:
        """All matches, the earliest first."""
        return [match.describe() for match in self.matches.values()]

    def drain(self, key: str = "") -> int:
        """Leave one match, or all, each after its hand; how many."""
        if key and key not in self.matches:
            raise ConfigError(f"match {quote(key)}: expected one of those that `list` shows")
        leaving = [match for match in self.active() if key in ("", match.key)]
        for match in leaving:
            match.leave()
        return len(leaving)

    def stop(self) -> None:
        """Leave all and end; at once if asked again."""
        if self.stopping:
            self._hurry.set()
        self.stopping = True
        self._changed.set()

    def health(self) -> dict[str, Any]:
        """Whether it is fit to play."""
        places = self.pool.places
        return {
            "state": "stopping" if self.stopping else "serving",
            "matches": len(self.active()),
            "workers": [{"pid": each.pid, "starts": each.starts, "matches": len(each.matches)} for each in places],
            "queue": self.pool.waiting,
            "seconds": round(time.monotonic() - self._begun_s, 1),
            "pid": os.getpid(),
        }

    def metrics_text(self) -> str:
        """For Prometheus."""
        workers = [place.pid for place in self.pool.places if place.pid is not None]
        return self.metrics.text(
            {
                "paratus_matches": len(self.active()),
                "paratus_queue_length": self.pool.waiting,
                "paratus_records_unwritten": sum(match.unwritten for match in self.active()),
                "paratus_turn_longest_wait_seconds": self._gate.longest_wait_s,
                "paratus_workers": len(workers),
                "paratus_workers_thinking": self.pool.thinking,
                "paratus_workers_replaced": self.pool.replaced,
                "paratus_resident_bytes": resident_bytes(),
                "paratus_workers_resident_bytes": sum(map(resident_bytes, workers)),
                "paratus_uptime_seconds": time.monotonic() - self._begun_s,
            }
        )

    def active(self) -> list[ServedMatch]:
        """Matches that are not over."""
        return [match for match in self.matches.values() if match.stage is not Stage.OVER]

    def most_matches(self) -> int:
        """By the limits, and by the files that the system allows."""
        files = (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - FILES_BESIDE) // FILES_A_MATCH
        return max(min(self.config.limits.matches, files), 1)

    # Its life

    async def run(self) -> int:
        """Serve until told to stop; returns the exit code."""
        _allow_files(self.config.limits.open_files)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        try:
            await self._open_agents()
            async with Control(self).open() as where, self.pool.open(), asyncio.TaskGroup() as group:
                self._group = group
                watching = group.create_task(self.metrics.watch_loop())
                for section in self.config.match:
                    if self.stopping:
                        break
                    self.join(section)
                    await asyncio.sleep(0)  # a hundred at once would hold the loop
                workers = len(self.pool.places)
                self.log.tell("ready", control=where, matches=len(self.matches), workers=workers)
                await self._until_told()
                told = self.stopping
                await self._leave_all()
                watching.cancel()
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
            self._disk.shutdown()
        self.log.tell("stopped", hands=self.metrics.hands, fallbacks=self.metrics.fallbacks)
        ended = +self.metrics.matches
        return int(self.config.serve.until_done and ended["complete"] < ended["begun"] and not told)

    async def _open_agents(self) -> None:
        """Those of the file, before anybody waits for us: imports, hashes and tables would hold up sessions.

        What agents that are needed later would import, too: they are opened in a thread, but a thread that imports
        keeps the interpreter to itself for a while now and then.
        """
        for module in _IMPORTED:
            await asyncio.to_thread(importlib.import_module, module)
        for section in self.config.match:
            game = load_game(section.game).game
            await asyncio.to_thread(self.agents.open, self.config.bot_config(section), game)
        gc.collect()
        gc.freeze()  # what is there now stays; looking through it again and again would hold up the loop

    async def _until_told(self) -> None:
        while not self.stopping and not (self.config.serve.until_done and not self.active()):
            await self._changed.wait()
            self._changed.clear()

    async def _leave_all(self) -> None:
        """Each after its hand, within the limit."""
        self.stopping = True
        tasks = [match.task for match in self.active() if match.task is not None]
        self.drain()
        waits = {asyncio.ensure_future(asyncio.wait(tasks))} if tasks else set()
        hurry = asyncio.ensure_future(self._hurry.wait())
        await asyncio.wait(
            {*waits, hurry}, timeout=self.config.serve.drain_s if tasks else 0, return_when="FIRST_COMPLETED"
        )
        for task in (*tasks, hurry, *waits):
            task.cancel()
        await asyncio.gather(*tasks, hurry, *waits, return_exceptions=True)


def _plain(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if text.isprintable() and " " not in text else quote(text)


def _allow_files(wanted: int) -> None:
    """As many open files as wanted, if the system lets us; fewer if it allows more than that."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
