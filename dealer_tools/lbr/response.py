"""One decision of a local best response: what each action wins if both then check and call to the end.

Values are chips won beyond those that a fold wins. With a pot of so many chips, of which the call asks so many, wp the
chance of winning against the agent's range, fp the probability that the agent folds to a bet of a beyond the call, and
wp' the chance of winning against what does not fold:

    fold   0
    call   wp · pot − (1 − wp) · asked
    bet    fp · pot + (1 − fp) · (wp' · (pot + a) − (1 − wp') · (asked + a))

The best is taken; of equal ones the first of fold, call, raises from small to large: so it folds if nothing is worth
more than nothing. Where stacks differ, chips that the agent cannot match are not at stake.

The range is what Bayes makes of the agent's policies: the weight of a hand is the product of the probabilities with
which it takes the actions that were seen; hands that share a card with ours or the board have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dealer_tools.lbr.equity import BoardEquity, Equities
from dealer_tools.lbr.settings import Setting, offered
from machine.errors import ParatusError
from protocol.arrays import F64
from protocol.cards import Card
from protocol.state import CALL, FOLD, Action, Raise, State, apply
from strategies.policy import Policy

Folding = Callable[[State], F64]
"""[hand] how likely each hand of the agent folds in a state in which it acts."""


class EmptyRange(ParatusError):
    """An action that the policy it was drawn from does not have."""


@dataclass(frozen=True, slots=True)
class LocalBestResponse:
    """The opponent itself: one setting, in one game."""

    setting: Setting
    equities: Equities

    def action(
        self,
        state: State,
        hole: Sequence[Card],
        board: Sequence[Card],
        weights: F64,
        folding: Folding,
        *,
        first: bool,
    ) -> Action:
        """What to do with a hand, against a range of weights [hand]; `folding` is asked about each bet."""
        actions = offered(self.setting, state, first=first)
        if len(actions) == 1:
            return actions[0]
        equity = self.equities.of(hole, board)
        return max(actions, key=lambda action: _chips(action, state, equity, weights, folding))


def _chips(action: Action, state: State, equity: BoardEquity, weights: F64, folding: Folding) -> float:
    """What an action is worth."""
    if action == FOLD:
        return 0.0
    if not isinstance(action, Raise):
        return _at_showdown(state, apply(state, CALL), equity.against(weights))
    raised = apply(state, action)
    alive = weights * equity.possible
    staying = alive * (1.0 - folding(raised))
    stays = float(staying.sum() / alive.sum())
    if not stays > 0:
        return float(state.pot)
    return (1.0 - stays) * state.pot + stays * _at_showdown(state, apply(raised, CALL), equity.against(staying))


def _at_showdown(state: State, called: State, win_probability: float) -> float:
    """Both turn their cards up with as many chips in the pot as both have put in after a call."""
    assert state.actor is not None  # who decides
    mine, at_stake = state.committed[state.actor], min(called.committed)
    return win_probability * (mine + at_stake) - (1.0 - win_probability) * (at_stake - mine)


def after(weights: F64, policy: Policy, action: Action) -> F64:
    """The range once the agent's policy has taken an action; the largest weight is 1."""
    left = weights * policy.likelihood(action).astype(np.float64)
    most = float(left.max())
    if not most > 0:
        raise EmptyRange(f"{action}: no hand of the range plays so by the policy of route {policy.origin.route}")
    return left / most


def showdown_chips(state: State, equity: BoardEquity, weights: F64) -> float:
    """What a showdown is worth on average over the agent's range; `equity` is that of the whole board."""
    return min(state.committed) * (2.0 * equity.against(weights) - 1.0)
