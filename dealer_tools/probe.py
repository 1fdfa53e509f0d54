"""Asks an agent what it would do, as a bot does in a match, for every hand it could hold.

Spots, draws and what happens when an agent fails are those of a match: one that raises or offers something illegal is
replaced by what answers in its place, or by check or fold, and that is counted.

Questions about bets that are only considered ("imagined") are asked with draws of their own. A strategy may draw how it
takes a bet of an odd size; an opponent that could see that draw before it bets would choose the size that is taken
wrongly this time, and win more than a best response to the strategy does. (Against the blueprint that ships, 56-late,
the same 1,000 deals: 5,427 mbb/g, standard error 550, with the draws known, 1,404, standard error 668, with one draw
apart.) What a bet meets is the mean over several draws: a strategy that answers at once is asked until it has given the
same answer three times, or eight times in all. One that searches is asked once. The draws of decisions that were made
are known: the range is that of the policies as they were played.

Time. Without `think_s` a decision has all the time there is, and a search ends with the iterations that its settings
say: so equal plans give equal hands. With it a hand may take so long on average, as with `paratus bot --think`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Position
from protocol.state import FOLD, Action, State
from strategies.agents import Agent
from strategies.identity import DrawKey
from strategies.policy import Policy
from strategies.strategy import Budget, Decided, Spot

_ALL_DAY_S: Final = 1e9
_RESPONSE_S: Final = 600.0
"""The limit on a response that `paratus bot` assumes."""
_QUESTIONS: Final = 3
"""After so many equal answers about a bet it is taken to have no others."""
_MOST_QUESTIONS: Final = 8


@dataclass(frozen=True, slots=True)
class Probe:
    """An agent, and what its draws are keyed by."""

    agent: Agent
    key: DrawKey
    think_s: float = 0.0
    """How long a hand may take on average; 0: as long as its iterations take."""

    def policy(
        self, hand: int, position: Position, state: State, board: tuple[Card, ...], past: tuple[Decided, ...]
    ) -> Policy:
        """What it does at a decision of the match."""
        return self._ask(Spot(hand, position, state, board, past), self.key)

    def folding(
        self, hand: int, position: Position, state: State, board: tuple[Card, ...], past: tuple[Decided, ...]
    ) -> F64:
        """[hand] how likely it folds at a decision that may never come, on average over what it draws."""
        spot, answers = Spot(hand, position, state, board, past), []
        for number in range(_MOST_QUESTIONS if self.agent.on_loop else 1):
            imagined = DrawKey(self.key.seed, f"{self.key.match} imagined {number}")
            answer = self._ask(spot, imagined).likelihood(FOLD).astype(np.float64)
            answers.append(answer)
            if number + 1 == _QUESTIONS and all(np.array_equal(answer, each) for each in answers):
                break
        mean: F64 = sum(answers, np.zeros(1)) / len(answers)  # a fallback may answer for all hands at once
        return mean

    def drawn(self, hand: int, state: State, policy: Policy, column: int) -> Action:
        """The action of the hand that it holds."""
        return policy.sample(column, self.key.draws(hand, state, "action"))

    def _ask(self, spot: Spot, key: DrawKey) -> Policy:
        return self.agent.policy(spot, self._budget(), key.draws(spot.hand, spot.state, "strategy"))

    def _budget(self) -> Budget:
        if self.think_s:
            return Budget(time.monotonic() + _RESPONSE_S, self.think_s)
        return Budget(time.monotonic() + _ALL_DAY_S, _ALL_DAY_S)
