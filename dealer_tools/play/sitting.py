"""A person and an agent at one table, in one process.

Cards come from the stream that a dealer would deal from, a hand whole before anybody acts. The agent is asked as in any
match (`strategies.chair`): it is given what both can see, returns a policy for every hand it could hold, and its own
cards only choose the column that the action is drawn from. The person has seat 0; positions rotate.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager
from typing import Final, Protocol

from dealer_tools.formats.records import PlayedHand
from dealer_tools.play.record import AgentDecision, SittingRecord
from protocol.dealing import CardStream
from protocol.game import Position
from protocol.log import HandRecord
from protocol.state import Action, Deal, State, apply, payoffs, start
from protocol.wire import MatchState, view
from strategies.chair import Chair
from strategies.strategy import Budget

YOU: Final = "you"
_PATIENCE_S: Final = 60.0
"""Nobody waits longer for a decision, however long a hand may take on average."""


class Left(Exception):
    """The person has left the table."""


class Person(Protocol):
    """Who sits in seat 0."""

    def act(self, seen: MatchState, names: tuple[str, ...]) -> Action:
        """Their action; raises `Left`."""
        ...

    def waiting(self) -> AbstractContextManager[object]:
        """While the agent is asked."""
        ...

    def finished(self, played: PlayedHand) -> None:
        """A hand is over."""
        ...


class Sitting:
    """Hands, one after another."""

    def __init__(self, chair: Chair, record: SittingRecord, cards: CardStream, think_s: float) -> None:
        self._game, self._chair, self._record, self._cards = chair.agent.game, chair, record, cards
        self._think_s = think_s

    def play(self, person: Person, hands: int | None) -> None:
        """So many hands, or until the person leaves."""
        with asyncio.Runner() as runner:
            try:
                while hands is None or self._record.hands < hands:
                    person.finished(self._hand(runner, person, self._record.hands))
            finally:
                self._chair.leave()

    def _hand(self, runner: asyncio.Runner, person: Person, number: int) -> PlayedHand:
        state, deal = start(self._game), self._cards.deal()
        mine = Position(number % 2)
        agent = self._chair.agent.name
        names = (YOU, agent) if mine == 0 else (agent, YOU)
        decisions: list[AgentDecision] = []
        self._chair.begin_hand()
        while state.actor is not None:
            seen = MatchState(state.actor, number, state, view(state, deal, state.actor))
            if state.actor == mine:
                action = person.act(seen, names)
            else:
                with person.waiting():
                    decisions.append(self._ask(runner, seen))
                action = decisions[-1].action
            state = apply(state, action)
        return self._record.add(_record(number, state, deal, names), decisions)

    def _ask(self, runner: asyncio.Runner, asked: MatchState) -> AgentDecision:
        begun = time.monotonic()
        budget = Budget(begun + max(_PATIENCE_S, 3 * self._think_s), self._think_s)
        action, policy = runner.run(self._chair.decide(asked, budget))
        return AgentDecision(asked, policy, action, time.monotonic() - begun)


def _record(number: int, state: State, deal: Deal, names: tuple[str, ...]) -> HandRecord:
    shown = deal._replace(board=deal.board[: state.game.board_cards_by(state.street)])
    return HandRecord(number, state, shown, payoffs(state, deal), names)
