"""A solve that begins at the blueprint's strategy, as if that had been played for some iterations.

So there is an answer at every moment: with no time it is the blueprint's, and with more it is more and more the
search's own. A size that the blueprint does not have begins with a part of what the sizes around it have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from blueprints.lookup import Lookup
from blueprints.translation import fraction, smaller_probability
from blueprints.values.leaves import StreetGame
from protocol.arrays import F64
from protocol.cards import Card
from protocol.hands import hands_of
from protocol.state import CALL, Action, Raise, State
from solver.deals import opposing_weights
from solver.depth_limited import LimitedSolver
from strategies.search.actions import nearest
from strategies.search.ranges import mean_by_class
from strategies.search.settings import LimitedSettings

_EVEN: Final = 0.5
_PREFLOP: Final = 0


def warm_start(
    solver: LimitedSolver,
    game: StreetGame,
    board: Sequence[Card],
    ranges: tuple[F64, F64],
    lookup: Lookup,
    settings: LimitedSettings,
) -> None:
    """Begin so; `ranges` are those [hand] at the root."""
    if not settings.begin_iterations:
        return
    root = game.nodes[0].state
    strategies = {node: _strategy(lookup, game, node, board) for node in range(len(game.nodes))}
    hands = hands_of(root.game)
    relative = [each / each.max() for each in ranges]
    weight = settings.begin_weight * root.pot
    against = (
        weight * opposing_weights(hands, hands, relative[1]),
        weight * opposing_weights(hands, hands, relative[0]),
    )
    if game.street == _PREFLOP:
        strategies = {node: mean_by_class(each) for node, each in strategies.items()}
        against = mean_by_class(against[0][None])[0], mean_by_class(against[1][None])[0]
    solver.begin(strategies, settings.begin_iterations, against)


def _strategy(lookup: Lookup, game: StreetGame, number: int, board: Sequence[Card]) -> F64:
    """[action, hand] what the blueprint does at a node, with its sizes as those of the tree."""
    node = game.nodes[number]
    found = lookup.policy(node.state, board, lambda place: _EVEN)
    strategy = np.zeros((len(node.actions), len(hands_of(node.state.game))))
    call = node.actions.index(CALL)
    if found is None:
        strategy[call] = 1.0
        return strategy
    for action, shares in zip(found.actions, found.probabilities, strict=True):
        at = nearest(node.actions, action)
        strategy[call if at is None else at] += shares
    known = [action for action in found.actions if action in node.actions]
    _spread(strategy, node.state, node.actions, known)
    return strategy


def _spread(strategy: F64, state: State, actions: Sequence[Action], known: Sequence[Action]) -> None:
    """Give sizes that the blueprint does not have half of what the mapping takes from the sizes around them."""
    assert state.actor is not None
    sizes = {
        action: fraction(action.to, state.committed, state.actor) for action in actions if isinstance(action, Raise)
    }
    there = sorted((size, action) for action, size in sizes.items() if action in known)
    for action, size in sizes.items():
        if action in known:
            continue
        below = [each for each in there if each[0] < size][-1:]
        above = [each for each in there if each[0] > size][:1]
        share = smaller_probability(below[0][0], size, above[0][0]) if below and above else 1.0
        for (_, neighbour), part in ((each, share) for each in below):
            _move(strategy, actions, neighbour, action, _EVEN * part)
        for (_, neighbour), part in ((each, 1 - share if below else 1.0) for each in above):
            _move(strategy, actions, neighbour, action, _EVEN * part)


def _move(strategy: F64, actions: Sequence[Action], source: Action, target: Action, part: float) -> None:
    taken = part * strategy[actions.index(source)]
    strategy[actions.index(source)] -= taken
    strategy[actions.index(target)] += taken
