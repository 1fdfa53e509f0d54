"""An agent in its chair: asked for one match, checked, replaced where it cannot be played, and drawn from.

Whoever plays an agent, over a wire or at the same table, plays it from here. The promise is that there is always a
legal action in time: an agent that raises, offers something illegal or is not back in time is replaced, for that
decision, by what answers in its place, or by check or fold. That is counted and has a route of its own, `fallback`.

A chair keeps no time and writes nothing down: that is for whoever sits in it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final

from protocol.hands import hands_of
from protocol.state import Action, steps
from protocol.wire import MatchState
from strategies.agents import Agent
from strategies.identity import DrawKey
from strategies.policy import Policy, check_policy
from strategies.strategy import Budget, Decided, Spot

_LATE_S: Final = 0.1
"""Kept for what answers in its place while the strategy's thread, which is late, is still at work."""


@dataclass(frozen=True, slots=True)
class Past:
    """A decision that was made before."""

    asked: MatchState
    policy: Policy
    action: Action


class Chair:
    """One seat of one match."""

    def __init__(self, agent: Agent, key: DrawKey, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.agent = agent
        self.fallbacks = 0
        self.past: list[Decided] = []
        """Our decisions of the hand so far."""
        self._game, self._key, self._monotonic = agent.game, key, monotonic
        self._thinking: asyncio.Future[Policy] | None = None

    def begin_hand(self) -> None:
        """The next decision is the first of a hand."""
        self.past = []

    async def decide(self, asked: MatchState, budget: Budget) -> tuple[Action, Policy]:
        """The action to take and the policy it was drawn from."""
        try:
            policy = await self._think(self._spot(asked), budget)
            check_policy(policy, asked.state, asked.deal.board)
            self.fallbacks += policy.origin.is_fallback
        except Exception as error:  # whatever a strategy raises, the match goes on
            policy = self._fall_back(asked, self.agent.failure(error))
        column = hands_of(self._game).column(asked.deal.hole[asked.position])
        try:
            action = policy.sample(column, self._key.draws(asked.hand, asked.state, "action"))
        except Exception as error:  # a policy without a column for our hand
            policy = self._fall_back(asked, f"{self.agent.name} has no policy for our hand: {error}")
            action = policy.sample(column, self._key.draws(asked.hand, asked.state, "action"))
        self.past.append(Decided(asked.state, policy))
        return action, policy

    def _decide_again(self, asked: MatchState, budget: Budget) -> Policy:
        """A decision, made again as it was made."""
        return self.agent.policy(self._spot(asked), budget, self._key.draws(asked.hand, asked.state, "strategy"))

    def catch_up(self, joined: MatchState, budget: Budget, stored: Mapping[str, Policy]) -> list[Past]:
        """Our decisions on the way to a state, when there was somebody else in this chair, or nobody any more.

        An agent that repeats itself decides again (as it did: its draws are keyed), another's have to be `stored`.
        """
        self.past = []
        found: list[Past] = []
        for state, action in steps(joined.state):
            if state.actor == joined.position:
                board = joined.deal.board[: self._game.board_cards_by(state.street)]
                asked = replace(joined, state=state, deal=joined.deal._replace(board=board))
                policy = self._decide_again(asked, budget) if self.agent.repeats else stored.get(state.betting)
                if policy is not None:
                    self.past.append(Decided(state, policy))
                    found.append(Past(asked, policy, action))
        return found

    def leave(self) -> None:
        """Wait no more for what is being thought."""
        if self._thinking is not None:
            self._thinking.cancel()

    def _spot(self, asked: MatchState) -> Spot:
        return Spot(asked.hand, asked.position, asked.state, asked.deal.board, tuple(self.past))

    async def _think(self, spot: Spot, budget: Budget) -> Policy:
        draws, strategy = self._key.draws(spot.hand, spot.state, "strategy"), self.agent.strategy
        if self.agent.on_loop:
            return strategy.policy(spot, budget, draws)
        left_s, replaced = budget.deadline_s - self._monotonic(), self.agent.late is not None
        if self._thinking is not None and not self._thinking.done():  # it was late, and may be back soon
            await asyncio.wait([self._thinking], timeout=max(left_s / 4 if replaced else left_s, 0.0))
            if not self._thinking.done():
                raise TimeoutError
        self._thinking = asyncio.wrap_future(_in_thread(lambda: strategy.policy(spot, budget, draws)))
        self._thinking.add_done_callback(lambda done: done.cancelled() or done.exception())
        kept_s = min(_LATE_S, left_s / 4) if replaced else 0.0
        async with asyncio.timeout(budget.deadline_s - kept_s - self._monotonic()):
            return await asyncio.shield(self._thinking)

    def _fall_back(self, asked: MatchState, reason: str) -> Policy:
        self.fallbacks += 1
        draws = self._key.draws(asked.hand, asked.state, "strategy")
        return self.agent.stand_in(self._spot(asked), draws, reason)


def _in_thread(decide: Callable[[], Policy]) -> Future[Policy]:
    """Run in a thread of its own, which does not keep the process alive: a strategy may never come back."""
    outcome: Future[Policy] = Future()
    outcome.set_running_or_notify_cancel()

    def work() -> None:
        try:
            outcome.set_result(decide())
        except BaseException as error:
            passes = isinstance(error, Exception) and not isinstance(error, StopIteration)  # futures refuse that one
            outcome.set_exception(error if passes else RuntimeError(repr(error)))

    threading.Thread(target=work, name="strategy", daemon=True).start()
    return outcome
