"""One match of the server: from joining to its end, whatever that is.

    joining → playing → over          any → leaving → over

The session is that of `paratus bot`, unchanged. The match observes it to count decisions and hands, and tells it when
to leave. An end of one match, of whatever kind, is never an end of another.

Records are written on the loop, before the match goes on: so what was answered is never ahead of what is kept. That is
a copy into the kernel's memory. What waits for the disk (opening, closing, moving the file's log into the file) is done
in threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from bot.config import BotConfig
from bot.serve.agents import Distant, OpenAgents, Opened
from bot.serve.config import MatchSection
from bot.serve.gate import TurnGate
from bot.serve.metrics import Metrics
from bot.serve.pool import Pool
from bot.session import Ending, Observer, Session
from machine.errors import ParatusError
from protocol.game import load_game
from protocol.state import Action
from protocol.stream import connect
from protocol.wire import MatchState
from strategies.agents import Agent
from strategies.identity import DrawKey, stored_identity
from strategies.policy import Policy
from strategies.store import MatchStore, StoreError

_CHECKPOINT_HANDS: Final = 200
_RETRY_S: Final = 1.0
"""Between two tries to write what could not be written."""

Tell = Callable[..., None]
"""`tell(event, match=…, …)`: a line of the server's log."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What all matches share."""

    agents: OpenAgents
    pool: Pool
    metrics: Metrics
    disk: Executor
    """One thread for what waits for the disk: more would only take turns with the loop more often."""
    gate: TurnGate
    tell: Tell


class Stage(Enum):
    """Where a match is."""

    JOINING = "joining"
    PLAYING = "playing"
    LEAVING = "leaving"
    OVER = "over"


class Records:
    """Keeps what a match plays; where the disk is full, the match goes on and it is tried again."""

    def __init__(self, store: MatchStore, match: str, tell: Tell) -> None:
        self._store, self._match, self._tell = store, match, tell
        self._again_s = 0.0
        store.one_of_many()

    def add_decision(
        self, asked: MatchState, policy: Policy, action: Action, seconds: float, *, again: bool = False
    ) -> None:
        """Keep what was decided."""
        self._store.add_decision(asked, policy, action, seconds, again=again)

    def add_hand(self, last: MatchState, value: float) -> None:
        """Keep a finished hand."""
        self._store.add_hand(last, value)

    def policies(self, hand: int) -> dict[str, Policy]:
        """Those of an unfinished hand."""
        return self._store.policies(hand)

    def progress(self) -> tuple[int, float]:
        """Hands finished and seconds of thought so far."""
        return self._store.progress()

    @property
    def unwritten(self) -> int:
        """Records that wait to be written."""
        return self._store.unwritten

    def flush(self) -> None:
        """Write what waits. That the disk is full is told once, and so is that it is over."""
        before = self._store.error
        if before and time.monotonic() < self._again_s:
            return
        self._store.flush()
        if self._store.error:
            self._again_s = time.monotonic() + _RETRY_S
        if bool(self._store.error) != bool(before):
            event = "unwritten" if self._store.error else "written again"
            self._tell(event, match=self._match, records=self.unwritten, error=self._store.error)

    def checkpoint(self) -> None:
        """Move what was written into the file; waits for the disk."""
        self._store.checkpoint()

    def close(self) -> None:
        """Write everything, and close; waits for the disk."""
        self._store.close()


class ServedMatch(Observer):
    """One match."""

    def __init__(self, section: MatchSection, config: BotConfig, shared: Shared) -> None:
        self.section, self.key = section, section.key
        self.stage = Stage.JOINING
        self.message = ""
        self.task: asyncio.Task[None] | None = None
        self._config, self._shared = config, shared
        self._session: Session | None = None
        self._records: Records | None = None
        self._hands = 0
        self._begun_s = time.monotonic()
        self._shown: dict[str, Any] | None = None

    def describe(self) -> dict[str, Any]:
        """For `list`."""
        if self._shown is not None:
            return self._shown
        return {
            "match": self.key,
            "host": self.section.host,
            "port": self.section.port,
            "agent": self.section.agent,
            "stage": self.stage.value,
            "hands": self._hands,
            "of": self.section.hands,
            "chips": self._session.total_chips if self._session else 0.0,
            "fallbacks": self._session.fallbacks if self._session else 0,
            "seconds": round(time.monotonic() - self._begun_s, 1),
            "message": self.message,
        }

    @property
    def unwritten(self) -> int:
        """Records that wait to be written."""
        return self._records.unwritten if self._records is not None else 0

    def leave(self) -> None:
        """Go after this hand; at once between two hands, or before the first."""
        if self.stage is Stage.OVER:
            return
        self.stage = Stage.LEAVING
        if self._session is not None and self._session.client.in_hand:
            self._session.leave()
        elif self.task is not None:
            self.task.cancel()

    async def play(self) -> None:
        """To its end; only cancellation is raised."""
        self._shared.metrics.matches["begun"] += 1
        outcome = "failed"
        try:
            ending = await self._play()
            outcome, self.message = ending.outcome.name.lower(), ending.message
        except asyncio.CancelledError:
            in_hand = self._session is not None and self._session.client.in_hand
            outcome, self.message = "left", "left in the middle of a hand" if in_hand else "left between hands"
            raise
        except ParatusError as error:
            self.message = str(error)
        except Exception as error:  # a fault of ours ends this match and no other
            self.message = f"{type(error).__name__}: {error}"
        finally:
            if self._records is not None:
                outcome = await self._close(self._records, outcome)
            self.stage = Stage.OVER
            self._shown = self.describe()
            self._session = self._records = None  # the list of what is over is long, and needs no more than that
            self._shared.metrics.matches[outcome] += 1
            self._shared.tell("over", match=self.key, outcome=outcome, **self._figures(), message=self.message)

    async def _play(self) -> Ending:
        shared, config, section, loop = self._shared, self._config, self.section, asyncio.get_running_loop()
        game = load_game(section.game).game
        opened = await asyncio.to_thread(shared.agents.open, config, game)
        try:
            agent = await self._agent(opened)
            records = self._records = await loop.run_in_executor(shared.disk, self._open_records, agent)
            self._session = Session(agent, config, records, self)
            stream = await connect(section.host, section.port, config.wait.connect_s, shared.gate.stream)
            try:
                if self.stage is Stage.JOINING:
                    self.stage = Stage.PLAYING
                self._shared.tell("joined", match=self.key, agent=section.agent, host=section.host, port=section.port)
                return await self._session.play(stream)
            finally:
                shared.pool.leave(self.key)  # before a peer that does not close makes us wait
                await stream.close()
        finally:
            shared.pool.leave(self.key)

    async def _agent(self, opened: Opened) -> Agent:
        if opened.here is not None:
            return opened.here.for_another_match()
        pool = self._shared.pool
        return opened.away(Distant(opened.spec.name, self.key, pool, await pool.seat(self.key, opened.seat())))

    def _open_records(self, agent: Agent) -> Records:
        config = self._config
        identity = stored_identity(agent.identity(), DrawKey(config.bot.seed, config.bot.match))
        store = MatchStore(Path(config.store.path), agent.game, agent.name, identity, resume=config.store.resume)
        return Records(store, self.key, self._shared.tell)

    def decided(self, policy: Policy, seconds: float) -> None:
        """The session has decided."""
        self._shared.metrics.decided(policy.origin.route, seconds, fallback=policy.origin.is_fallback)

    def hand_finished(self) -> None:
        """The session has finished a hand."""
        self._shared.metrics.hands += 1
        self._hands += 1
        if self._records is not None and self._hands % _CHECKPOINT_HANDS == 0:
            self._shared.disk.submit(self._records.checkpoint)

    async def _close(self, records: Records, outcome: str) -> str:
        """Everything is written; how the match ended."""
        try:
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._shared.disk, records.close))
        except StoreError as error:
            self.message = f"{self.message}; {error}"
            return "not stored"
        return outcome

    def _figures(self) -> dict[str, Any]:
        known = self.describe()
        return {name: known[name] for name in ("hands", "chips", "fallbacks")}
