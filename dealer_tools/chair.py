"""The agent's chair: asks a strategy as a bot does in a match, for every hand it could hold.

Spots, draws and what happens when a strategy fails are those of a match: a strategy that raises or offers something
illegal is replaced by its spare, or by check or fold, and that is counted.

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
from strategies.chair import stand_in
from strategies.draws import Draws
from strategies.policy import Policy, check_policy
from strategies.strategy import Budget, Decided, Spot, Strategy

_ALL_DAY_S: Final = 1e9
_RESPONSE_S: Final = 600.0
"""The limit on a response that `paratus bot` assumes."""
_QUESTIONS: Final = 3
"""After so many equal answers about a bet it is taken to have no others."""
_MOST_QUESTIONS: Final = 8


@dataclass(frozen=True, slots=True)
class Chair:
    """A strategy with what its draws are keyed by."""

    strategy: Strategy
    seed: int
    match: str
    think_s: float = 0.0
    """How long a hand may take on average; 0: as long as its iterations take."""

    def policy(
        self, hand: int, position: Position, state: State, board: tuple[Card, ...], past: tuple[Decided, ...]
    ) -> Policy:
        """What it does at a decision of the match."""
        return self._ask(Spot(hand, position, state, board, past), self.match)

    def folding(
        self, hand: int, position: Position, state: State, board: tuple[Card, ...], past: tuple[Decided, ...]
    ) -> F64:
        """[hand] how likely it folds at a decision that may never come, on average over what it draws."""
        spot, answers = Spot(hand, position, state, board, past), []
        for number in range(_MOST_QUESTIONS if self.strategy.inline else 1):
            answer = self._ask(spot, f"{self.match} imagined {number}").likelihood(FOLD).astype(np.float64)
            answers.append(answer)
            if number + 1 == _QUESTIONS and all(np.array_equal(answer, each) for each in answers):
                break
        mean: F64 = sum(answers, np.zeros(1)) / len(answers)  # a fallback may answer for all hands at once
        return mean

    def drawn(self, hand: int, state: State, policy: Policy, column: int) -> Action:
        """The action of the hand that it holds."""
        return policy.sample(column, Draws(self.seed, self.match, hand, len(state.actions), "action"))

    def _ask(self, spot: Spot, match: str) -> Policy:
        draws = Draws(self.seed, match, spot.hand, len(spot.state.actions), "strategy")
        try:
            policy = self.strategy.policy(spot, self._budget(), draws)
            check_policy(policy, spot.state, spot.board)
        except Exception as error:  # whatever a strategy raises, a match would go on
            return stand_in(self.strategy, spot, draws, f"{self.strategy.name}: {type(error).__name__}: {error}")
        return policy

    def _budget(self) -> Budget:
        if self.think_s:
            return Budget(time.monotonic() + _RESPONSE_S, self.think_s)
        return Budget(time.monotonic() + _ALL_DAY_S, _ALL_DAY_S)
