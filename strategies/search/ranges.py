"""Both players' ranges through a hand: weights over the hands of the game in `solver.subgame.hands_of` order.

Ours follow from our own logged policies. The opponent's follow from a model of it: its actions make the hands likelier
that would take them. A model is wrong sooner or later, so no action takes all weight from a hand: the hand keeps at
least `floor` of what the hand that likes the action most does. An action that no hand would take changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from protocol.cards import Card
from protocol.game import Game
from protocol.state import Action
from solver.subgame import hands_of
from solver.tables import F64
from strategies.strategy import Decided

_LEAST: Final = 1e-9
"""Weights never fall below this, however many actions speak against a hand."""


def everyone(game: Game) -> F64:
    """All hands alike."""
    return np.ones(len(hands_of(game)))


def alive(game: Game, board: Sequence[Card]) -> F64:
    """1 for every hand that the board allows, 0 for others."""
    blocked = set(board)
    return np.array([float(blocked.isdisjoint(hand)) for hand in hands_of(game)])


def by_policies(game: Game, past: Sequence[Decided], actions: Sequence[Action]) -> F64:
    """The weights of whoever decided so and then took, of the hand's `actions`, those that came after each decision."""
    weights = everyone(game)
    for decided in past:
        at = len(decided.state.actions)
        if at < len(actions):
            weights = weights * decided.policy.likelihood(actions[at])
    return weights


def after(weights: F64, likelihood: F64, floor: float) -> F64:
    """The weights after an action that each hand takes with such a probability; the largest weight is 1."""
    most = float(likelihood[weights > 0].max(initial=0.0))
    if most <= 0:
        return weights
    left = weights * np.maximum(likelihood / most, floor)
    scaled: F64 = np.maximum(left / left.max(), _LEAST * (weights > 0))
    return scaled
