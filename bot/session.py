"""One match from a bot's chair: reads states, asks the agent, checks and sends the answer, keeps the record.

The promise is that a match never crashes for our fault and never gets an illegal or late action: an agent that raises,
offers something illegal or is not back in time is replaced, for that decision, by what answers in its place (the
blueprint, where it stands on one), else by check or fold; that is counted, stored as route `fallback`, and said at the
end.

Whoever runs many sessions watches each as an `Observer`, and keeps its records in a `Recorder` of its own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from bot.clock import Clock
from bot.config import BotConfig
from protocol.client import Client
from protocol.errors import DeadlineExceeded, Disconnected, RemoteProtocolError
from protocol.state import Action, payoffs
from protocol.stream import LineStream
from protocol.wire import MatchState
from strategies.agents import Agent
from strategies.chair import Chair
from strategies.identity import DrawKey
from strategies.policy import Policy
from strategies.strategy import Budget

_FLUSH_S: Final = 1.0
"""With so much time left a decision is written down before it is sent, with less after that."""


class Outcome(Enum):
    """How a match ended for us, with the exit code of `paratus bot`."""

    COMPLETE = 0
    DEALER_GONE = 3
    PROTOCOL_ERROR = 4
    SILENT = 5
    LEFT = 130
    """We went, as we were told."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What to tell the user when the connection is over."""

    outcome: Outcome
    message: str


class Recorder(Protocol):
    """Keeps what is played; a `MatchStore` is one."""

    def add_decision(
        self, asked: MatchState, policy: Policy, action: Action, seconds: float, *, again: bool = False
    ) -> None:
        """Keep what was decided; decided `again`, it replaces nothing."""

    def add_hand(self, last: MatchState, value: float) -> None:
        """Keep a finished hand."""

    def flush(self) -> None:
        """Write what waits."""

    def policies(self, hand: int) -> dict[str, Policy]:
        """Those of an unfinished hand, by the betting that they answered."""

    def progress(self) -> tuple[int, float]:
        """Hands finished and seconds of thought so far."""


class Observer:
    """Hears what happens in a session; this one does nothing with it."""

    def decided(self, policy: Policy, seconds: float) -> None:
        """A decision was made."""

    def hand_finished(self) -> None:
        """A hand was played to its end, and is with the recorder."""


class Session:
    """One seat of one match."""

    def __init__(
        self,
        agent: Agent,
        config: BotConfig,
        store: Recorder | None,
        observer: Observer | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client = Client(agent.game)
        self.total_chips = 0.0
        self._chair = Chair(agent, DrawKey(config.bot.seed, config.bot.match), monotonic)
        self._agent, self._config, self._store = agent, config, store
        self._observer = observer or Observer()
        self._monotonic = monotonic
        self._leaving = False
        self._hands_before, used_s = store.progress() if store is not None and config.store.resume else (0, 0.0)
        hands = config.bot.hands or config.clock.assumed_hands
        self._clock = Clock(
            config.clock.limits,
            hands,
            config.clock.margin_s,
            monotonic,
            way_s=config.clock.way_s,
            think_s=config.clock.think_s,
            hands_begun=self._hands_before,
            used_s=used_s,
        )
        self._hand: int | None = None
        self._last_hand: int | None = None

    @property
    def fallbacks(self) -> int:
        """Decisions that were not made as they should have been."""
        return self._chair.fallbacks

    def leave(self) -> None:
        """Go after the hand that is being played."""
        self._leaving = True

    async def play(self, stream: LineStream) -> Ending:
        """Play until the connection ends, whoever ends it."""
        try:
            stream.write(self.client.hello())
            return await self._play(stream)
        except RemoteProtocolError as error:
            return Ending(Outcome.PROTOCOL_ERROR, f"protocol error: {error}")
        except DeadlineExceeded as error:
            if self._all_played():
                return Ending(Outcome.COMPLETE, f"all {self._config.bot.hands} hands played")
            return Ending(Outcome.SILENT, f"the dealer is silent: {error} ({self._where()})")
        except Disconnected as error:
            self.client.closed()
            return self._disconnected(error)
        finally:
            self._chair.leave()

    async def _play(self, stream: LineStream) -> Ending:
        wait_s = self._config.wait.first_state_s
        store = self._store
        while True:
            seen = await self._next_state(stream, wait_s)
            asked_s = self._monotonic()
            wait_s = self._config.wait.line_s
            if seen.hand != self._hand:
                self._begin_hand(seen)
            if seen.acting:
                budget = self._clock.budget(seen.hand)
                deciding = self._chair.decide(seen, budget)
                action, policy = await (deciding if self._agent.on_loop else stream.unless_lost(deciding))
                data = self.client.act(action)
                seconds = self._monotonic() - asked_s
                self._clock.spent(seconds)
                self._observer.decided(policy, seconds)
                if store is not None:
                    store.add_decision(seen, policy, action, seconds)
                hurry = budget.deadline_s - self._monotonic() < _FLUSH_S
                if hurry:  # a disk may be slow: late is worse than a decision that a kill at this moment loses
                    stream.write(data)
                if store is not None and not self._agent.repeats:
                    store.flush()
                if not hurry:
                    stream.write(data)
            elif seen.state.finished:
                self._finish_hand(seen)
                if self._leaving:
                    return Ending(Outcome.LEFT, "left after a hand")

    async def _next_state(self, stream: LineStream, wait_s: float) -> MatchState:
        """The next state; comments do not prolong the wait for it."""
        deadline_s = self._monotonic() + wait_s
        late = DeadlineExceeded(f"no state arrived within {wait_s:.1f} s")
        while True:
            try:
                line = await stream.read_line(deadline_s - self._monotonic())
            except DeadlineExceeded:
                raise late from None
            seen = self.client.receive(line)
            if seen is not None:
                return seen
            if self._monotonic() > deadline_s:
                raise late

    def _begin_hand(self, first: MatchState) -> None:
        """The first state that we see of a hand: in a match that resumes it may lie in its middle."""
        self._hand = first.hand
        self._chair.begin_hand()
        self._clock.begin_hand(first.hand)
        if first.state.actions:
            with contextlib.suppress(Exception):  # a strategy that raises: its earlier decisions are missing
                self._recover(first, self._clock.budget(first.hand))

    def _finish_hand(self, last: MatchState) -> None:
        value = payoffs(last.state, last.deal)[last.position]
        self.total_chips += value
        self._last_hand = last.hand
        if self._store is not None:
            self._store.add_hand(last, value)
            self._store.flush()
        self._observer.hand_finished()

    def _recover(self, joined: MatchState, budget: Budget) -> None:
        """Our decisions of this hand before we joined it, from the store or made again."""
        store, repeats = self._store, self._agent.repeats
        stored = store.policies(joined.hand) if store is not None and not repeats else {}
        for past in self._chair.catch_up(joined, budget, stored):
            if store is not None and repeats:
                store.add_decision(past.asked, past.policy, past.action, 0.0, again=True)

    def _all_played(self) -> bool:
        """True if the hands we know of are all that the match has. A match that resumes may have ended hands unseen."""
        wanted, last = self._config.bot.hands, self._last_hand
        if not wanted or self.client.in_hand or last is None:
            return False
        played = self._hands_before + self.client.hands_finished
        return played >= wanted or (self._config.store.resume and last + 1 == wanted)

    def _disconnected(self, error: Disconnected) -> Ending:
        wanted, played = self._config.bot.hands, self.client.hands_finished
        if self._all_played():
            return Ending(Outcome.COMPLETE, f"all {wanted} hands played")
        if error.clean and not wanted and not self.client.in_hand and played:
            return Ending(Outcome.COMPLETE, f"the dealer closed the match after {played} hands")
        return Ending(Outcome.DEALER_GONE, f"the dealer is gone: {error} ({self._where()})")

    def _where(self) -> str:
        played = self.client.hands_finished
        if self.client.in_hand:
            return f"in the middle of a hand, after {played} finished hands"
        wanted = self._config.bot.hands
        return f"after {played}{f' of {wanted}' if wanted else ''} hands" if played else "before the first hand"
