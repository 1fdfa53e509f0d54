"""One match of the server: from joining to its end, whatever that is.

    joining → playing → over          any → leaving → over

The session is that of `paratus bot`, unchanged. What the server wants to know of it passes through the match's store,
which is where a hand ends: `Ledger` counts what it is given, and once the match is to be left it says so there, after
the hand has been written. An end of one match, of whatever kind, is never an end of another.

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
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from bot.config import BotConfig
from bot.serve.agents import Agents, Distant, Opened
from bot.serve.config import MatchSection
from bot.serve.gate import Gate
from bot.serve.metrics import Metrics
from bot.serve.pool import Pool
from bot.session import Ending, Session
from machine.errors import ParatusError
from protocol.game import Game, load_game
from protocol.state import Action
from protocol.stream import connect
from protocol.wire import MatchState
from strategies.policy import Policy
from strategies.store import MatchStore, StoreError
from strategies.strategy import Strategy

_CHECKPOINT_HANDS: Final = 200
_RETRY_S: Final = 1.0
"""Between two tries to write what could not be written."""

Tell = Callable[..., None]
"""`tell(event, match=…, …)`: a line of the server's log."""


@dataclass(frozen=True, slots=True)
class House:
    """What all matches share."""

    agents: Agents
    pool: Pool
    metrics: Metrics
    clerk: Executor
    """One thread for what waits for the disk: more would only take turns with the loop more often."""
    gate: Gate
    tell: Tell


class HandOver(Exception):
    """A match that is to be left has finished its hand."""


class Stage(Enum):
    """Where a match is."""

    JOINING = "joining"
    PLAYING = "playing"
    LEAVING = "leaving"
    OVER = "over"


class Ledger(MatchStore):
    """A match's store that counts, and that knows when to stop."""

    def __init__(self, house: House, config: BotConfig, game: Game, strategy: Strategy) -> None:
        identity = {
            **strategy.identity(),
            "paratus": version("paratus"),
            "seed": str(config.bot.seed),
            "match": config.bot.match,
        }
        super().__init__(Path(config.store.path), game, strategy.name, identity, resume=config.store.resume)
        self.one_of_many()
        self._house, self._match_key = house, config.bot.match
        self._again_s = 0.0
        self.hands = 0
        self.leaving = False
        self._hand_ended = False

    def add_decision(
        self, asked: MatchState, policy: Policy, action: Action, seconds: float, *, again: bool = False
    ) -> None:
        super().add_decision(asked, policy, action, seconds, again=again)
        if not again:
            self._house.metrics.decided(policy.origin.route, seconds, fallback=policy.origin.is_fallback)

    def add_hand(self, last: MatchState, value: float) -> None:
        super().add_hand(last, value)
        self._house.metrics.hands += 1
        self.hands += 1
        self._hand_ended = True

    def flush(self) -> None:
        if not self.error or time.monotonic() >= self._again_s:
            self._write()
        ended, self._hand_ended = self._hand_ended, False
        if ended and self.hands % _CHECKPOINT_HANDS == 0:
            self._house.clerk.submit(self.checkpoint)
        if ended and self.leaving:
            raise HandOver

    def _write(self) -> None:
        """A full disk is told once, and so is that it is over; the match goes on meanwhile."""
        before = self.error
        super().flush()
        if self.error:
            self._again_s = time.monotonic() + _RETRY_S
        if bool(self.error) != bool(before):
            event = "unwritten" if self.error else "written again"
            self._house.tell(event, match=self._match_key, records=self.unwritten, error=self.error)

    async def finish(self) -> None:
        """Write everything, and close."""
        await asyncio.get_running_loop().run_in_executor(self._house.clerk, self.close)


class Match:
    """One match."""

    def __init__(self, section: MatchSection, config: BotConfig, house: House) -> None:
        self.section, self.key = section, section.key
        self.stage = Stage.JOINING
        self.message = ""
        self.task: asyncio.Task[None] | None = None
        self._config, self._house = config, house
        self._session: Session | None = None
        self._ledger: Ledger | None = None
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
            "hands": self._ledger.hands if self._ledger else 0,
            "of": self.section.hands,
            "chips": self._session.total_chips if self._session else 0.0,
            "fallbacks": self._session.fallbacks if self._session else 0,
            "seconds": round(time.monotonic() - self._begun_s, 1),
            "message": self.message,
        }

    @property
    def unwritten(self) -> int:
        """Records that wait to be written."""
        return self._ledger.unwritten if self._ledger is not None else 0

    def leave(self) -> None:
        """Go after this hand; at once between two hands, or before the first."""
        if self.stage is Stage.OVER:
            return
        self.stage = Stage.LEAVING
        if self._ledger is not None and self._session is not None and self._session.client.in_hand:
            self._ledger.leaving = True
        elif self.task is not None:
            self.task.cancel()

    async def play(self) -> None:
        """To its end; only cancellation is raised."""
        self._house.metrics.matches["begun"] += 1
        outcome = "failed"
        try:
            ending = await self._play()
            outcome, self.message = ending.outcome.name.lower(), ending.message
        except HandOver:
            outcome, self.message = "left", "left after a hand"
        except asyncio.CancelledError:
            in_hand = self._session is not None and self._session.client.in_hand
            outcome, self.message = "left", "left in the middle of a hand" if in_hand else "left between hands"
            raise
        except ParatusError as error:
            self.message = str(error)
        except Exception as error:  # a fault of ours ends this match and no other
            self.message = f"{type(error).__name__}: {error}"
        finally:
            if self._ledger is not None:
                outcome = await self._close(self._ledger, outcome)
            self.stage = Stage.OVER
            self._shown = self.describe()
            self._session = self._ledger = None  # the list of what is over is long, and needs no more than that
            self._house.metrics.matches[outcome] += 1
            self._house.tell("over", match=self.key, outcome=outcome, **self._figures(), message=self.message)

    async def _play(self) -> Ending:
        house, config, section, loop = self._house, self._config, self.section, asyncio.get_running_loop()
        game = load_game(section.game).game
        opened = await asyncio.to_thread(house.agents.open, config, game)
        try:
            strategy = await self._strategy(opened)
            ledger = self._ledger = await loop.run_in_executor(house.clerk, Ledger, house, config, game, strategy)
            self._session = Session(game, strategy, config, ledger)
            stream = await connect(section.host, section.port, config.wait.connect_s, house.gate.stream)
            try:
                if self.stage is Stage.JOINING:
                    self.stage = Stage.PLAYING
                self._house.tell("joined", match=self.key, agent=section.agent, host=section.host, port=section.port)
                return await self._session.play(stream)
            finally:
                house.pool.leave(self.key)  # before a peer that does not close makes us wait
                await stream.close()
        finally:
            house.pool.leave(self.key)

    async def _strategy(self, opened: Opened) -> Strategy:
        if opened.here is not None:
            return opened.here
        pool = self._house.pool
        return Distant(opened, self.key, pool, await pool.seat(self.key, opened.seat()))

    async def _close(self, ledger: Ledger, outcome: str) -> str:
        """Everything is written; how the match ended."""
        try:
            await asyncio.shield(ledger.finish())
        except StoreError as error:
            self.message = f"{self.message}; {error}"
            return "not stored"
        return outcome

    def _figures(self) -> dict[str, Any]:
        known = self.describe()
        return {name: known[name] for name in ("hands", "chips", "fallbacks")}
