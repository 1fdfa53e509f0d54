"""Both players' ranges through a hand: weights over the hands of the game in `protocol.hands.hands_of` order.

Ours follow from our own logged policies. The opponent's follow from a model of it: its actions make the hands likelier
that would take them. A model is wrong sooner or later, so no action takes all weight from a hand: the hand keeps at
least `floor` of what the hand that likes the action most does. An action that no hand would take changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np

from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Game, Position
from protocol.hands import hands_of
from protocol.state import Action, State, replay, steps
from strategies.draws import Draws
from strategies.strategy import Budget, Decided, ReadsActions, Spot, Strategy

_LEAST: Final = 1e-9
"""Weights never fall below this, however many actions speak against a hand."""

_log = logging.getLogger(__name__)


@runtime_checkable
class KnowsRanges(Protocol):
    """A strategy that searches, and so has a model of the opponent of its own."""

    def their_range(self, spot: Spot, street: int, budget: Budget, draws: Draws) -> F64:
        """[hand] the opponent's range where a street of the spot's hand began, by all that it did before."""
        ...


def everyone(game: Game) -> F64:
    """All hands alike."""
    return np.ones(len(hands_of(game)))


def alive(game: Game, board: Sequence[Card]) -> F64:
    """1 for every hand that the board allows, 0 for others."""
    return hands_of(game).live(board).astype(np.float64)


def by_policies(game: Game, past: Sequence[Decided], actions: Sequence[Action]) -> F64:
    """The weights of whoever decided so and then took, of the hand's `actions`, those that came after each decision."""
    weights = everyone(game)
    for decided in past:
        at = len(decided.state.actions)
        if at < len(actions):
            weights = weights * decided.policy.likelihood(actions[at])
    return weights


def opponents_actions(spot: Spot, first: int, last: int) -> Iterator[tuple[State, Action]]:
    """What the opponent did on streets from `first` up to `last`, which is not included."""
    for state, action in steps(spot.state):
        if first <= state.street < last and state.actor != spot.position:
            yield state, action


def modelled(base: Strategy, spot: Spot, street: int, budget: Budget, draws: Draws, floor: float) -> F64:
    """The opponent's range where a street began, if it plays before as `base` does."""
    if isinstance(base, KnowsRanges):
        return base.their_range(spot, street, budget, draws)
    weights = everyone(spot.state.game)
    for state, action in opponents_actions(spot, 0, street):
        likelihood = base_likelihood(base, spot, state, action, budget, draws)
        weights = narrowed(weights, likelihood, floor, spot.hand, state, action)
    return weights


def base_likelihood(base: Strategy, spot: Spot, state: State, action: Action, budget: Budget, draws: Draws) -> F64:
    """[hand] how likely `base` would have done what the opponent did."""
    game = spot.state.game
    before = Spot(spot.hand, Position(1 - spot.position), state, spot.board[: game.board_cards_by(state.street)], ())
    known = base.likelihood(before, action, draws) if isinstance(base, ReadsActions) else None
    if known is None:
        known = base.policy(before, budget, draws).likelihood(action)
    return np.broadcast_to(known.astype(np.float64), len(hands_of(game)))


def narrowed(weights: F64, likelihood: F64, floor: float, hand: int, state: State, action: Action) -> F64:
    """The range of whoever took an action; one that nobody was expected to take says nothing, and is logged."""
    known = np.nan_to_num(likelihood)
    expected = float(known[weights > 0].max(initial=0.0))
    if expected >= floor:
        return after(weights, known, floor)
    _log.warning(
        "hand %d, %s: no hand was expected to %s (%.2g at most): the opponent's range stays as it was",
        hand, state.betting, action, expected,
    )  # fmt: skip
    return weights


def our_range(spot: Spot, root: State) -> F64:
    """Ours at a root, by our own policies before it; all hands if they leave none."""
    game = spot.state.game
    possible = alive(game, spot.board)
    weights = by_policies(game, spot.past, root.actions) * possible
    if weights.max() > 0:
        return weights
    _log.warning("hand %d, %s: no hand of ours plays so: all hands count alike", spot.hand, root.betting)
    return possible


def street_start(state: State) -> State:
    """The state in which a state's street began."""
    return replayed(state, sum(map(len, state.history[:-1])))


def replayed(state: State, count: int) -> State:
    """After the first `count` actions."""
    return replay(state.game, state.actions[:count])


def after(weights: F64, likelihood: F64, floor: float) -> F64:
    """The weights after an action that each hand takes with such a probability; the largest weight is 1."""
    most = float(likelihood[weights > 0].max(initial=0.0))
    if most <= 0:
        return weights
    left = weights * np.maximum(likelihood / most, floor)
    scaled: F64 = np.maximum(left / left.max(), _LEAST * (weights > 0))
    return scaled
