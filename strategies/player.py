"""One seat's decisions, hand after hand: asks a strategy, checks what it says, draws the action from it.

The promise is that there is always a legal answer in time: a strategy that raises, offers something illegal or is not
back by the deadline is replaced, for that decision, by its spare, or by check or fold; that is counted, and stored as
route `fallback`. A strategy that answers at once is asked on the event loop, another in a thread of its own.

Every draw is keyed by seed, match, hand and decision. What is sampled is the policy that is returned, which is what
whoever plays here has to store.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Final

from protocol.errors import IllegalAction
from protocol.game import Game
from protocol.state import Action, State, apply, start
from protocol.wire import MatchState
from strategies.baselines import check_or_fold
from strategies.draws import Draws
from strategies.policy import Policy, check_policy, hand_column
from strategies.store import MatchStore
from strategies.strategy import Budget, Decided, HasSpare, Spot, Strategy

_SPARE_S: Final = 0.1
"""Kept for a spare answer while the strategy's thread, which is late, is still at work."""


class Player:
    """A strategy at a table."""

    def __init__(
        self,
        game: Game,
        strategy: Strategy,
        seed: int,
        match: str,
        store: MatchStore | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`store` is where policies of a hand that is joined in its middle are looked up."""
        self.fallbacks = 0
        self.strategy = strategy
        self._game = game
        self._key = seed, match
        self._store = store
        self._monotonic = monotonic
        self._hand = 0
        self._past: list[Decided] = []
        self._thinking: asyncio.Future[Policy] | None = None

    def begin_hand(self, hand: int) -> None:
        """A hand of which nothing has been played yet."""
        self._hand, self._past = hand, []

    def join_hand(self, joined: MatchState, budget: Budget) -> None:
        """A hand in its middle: what we did in it before is found out, as far as that can be done."""
        self.begin_hand(joined.hand)
        with contextlib.suppress(Exception):  # a strategy that raises: its earlier decisions are missing
            self._past = self._recover(joined, budget)

    def close(self) -> None:
        """No answer is waited for any more."""
        if self._thinking is not None:
            self._thinking.cancel()

    async def decide(self, asked: MatchState, budget: Budget) -> tuple[Action, Policy]:
        """The action to take and the policy it was drawn from."""
        try:
            spot = Spot(asked.hand, asked.position, asked.state, asked.deal.board, tuple(self._past))
            policy = await self._think(spot, budget)
            check_policy(policy, asked.state, asked.deal.board)
            self.fallbacks += policy.origin.is_fallback
        except IllegalAction as error:
            policy = self._fall_back(asked, f"{self.strategy.name} offered an illegal action: {error}")
        except TimeoutError:
            policy = self._fall_back(asked, f"{self.strategy.name} was not back in time")
        except Exception as error:  # whatever a strategy raises, the match goes on
            policy = self._fall_back(asked, f"{self.strategy.name} raised {type(error).__name__}: {error}")
        column = hand_column(self._game, asked.deal.hole[asked.position])
        try:
            action = policy.sample(column, self._draws("action", asked.state))
        except Exception as error:  # a policy without a column for our hand
            policy = self._fall_back(asked, f"{self.strategy.name} has no policy for our hand: {error}")
            action = policy.sample(column, self._draws("action", asked.state))
        self._past.append(Decided(asked.state, policy))
        return action, policy

    def _recover(self, joined: MatchState, budget: Budget) -> list[Decided]:
        """Our decisions of this hand before we joined it.

        An inline strategy decides again (as it did: its draws are keyed), another's policies are in the store.
        """
        past: list[Decided] = []
        stored = None
        state = start(self._game)
        for action in joined.state.actions:
            if state.actor == joined.position:
                board = joined.deal.board[: self._game.board_cards_by(state.street)]
                if self.strategy.inline:
                    spot = Spot(joined.hand, joined.position, state, board, tuple(past))
                    policy: Policy | None = self._again(spot, budget)
                    if self._store is not None and policy is not None:
                        seen = replace(joined, state=state, deal=joined.deal._replace(board=board))
                        self._store.add_decision(seen, policy, action, 0.0, again=True)
                else:
                    if stored is None:
                        stored = self._store.policies(joined.hand) if self._store is not None else {}
                    policy = stored.get(state.betting)
                if policy is not None:
                    past.append(Decided(state, policy))
            state = apply(state, action)
        return past

    def _again(self, spot: Spot, budget: Budget) -> Policy:
        """An inline strategy's decision, made again as it was made."""
        try:
            policy = self.strategy.policy(spot, budget, self._draws("strategy", spot.state))
            check_policy(policy, spot.state, spot.board)
        except Exception as error:
            return check_or_fold(spot.state, f"{self.strategy.name}: {error}")
        return policy

    async def _think(self, spot: Spot, budget: Budget) -> Policy:
        draws = self._draws("strategy", spot.state)
        if self.strategy.inline:
            return self.strategy.policy(spot, budget, draws)
        left_s = budget.deadline_s - self._monotonic()
        spares = isinstance(self.strategy, HasSpare)
        if self._thinking is not None and not self._thinking.done():  # it was late, and may be back soon
            await asyncio.wait([self._thinking], timeout=max(left_s / 4 if spares else left_s, 0.0))
            if not self._thinking.done():
                raise TimeoutError
        self._thinking = asyncio.wrap_future(_in_thread(lambda: self.strategy.policy(spot, budget, draws)))
        self._thinking.add_done_callback(lambda done: done.cancelled() or done.exception())
        spare_s = min(_SPARE_S, left_s / 4) if spares else 0.0
        async with asyncio.timeout(budget.deadline_s - spare_s - self._monotonic()):
            return await asyncio.shield(self._thinking)

    def _draws(self, purpose: str, state: State) -> Draws:
        """The draws of a decision: its number is that of the actions before it in the hand."""
        return Draws(*self._key, self._hand, len(state.actions), purpose)

    def _fall_back(self, asked: MatchState, reason: str) -> Policy:
        """What the strategy has in reserve, or to check or fold."""
        self.fallbacks += 1
        if isinstance(self.strategy, HasSpare):
            with contextlib.suppress(Exception):  # whatever a strategy raises, the match goes on
                spot = Spot(asked.hand, asked.position, asked.state, asked.deal.board, tuple(self._past))
                policy = self.strategy.spare(spot, self._draws("strategy", asked.state))
                check_policy(policy, asked.state, asked.deal.board)
                return replace(policy, origin=replace(policy.origin, reason=reason))
        return check_or_fold(asked.state, reason)


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
