"""From what a search has found to the policy that is played and logged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protocol.arrays import F64
from protocol.state import CALL, Action
from strategies.policy import Origin, Policy, round_columns
from strategies.search.ranges import alive
from strategies.strategy import Spot


def answer(spot: Spot, actions: Sequence[Action], strategy: F64, least: float, origin: Origin) -> Policy:
    """The policy for every hand, by a strategy [action, hand of the game].

    A hand that the search knows nothing of (NaN), because our earlier play excludes it, checks or calls. What a hand
    does less often than `least` it never does. Hands that the board excludes do nothing.
    """
    checks = np.array([[float(action == CALL)] for action in actions])
    strategy = np.where(np.isnan(strategy).any(axis=0), checks, strategy)
    bound = np.minimum(least, strategy.max(axis=0))
    kept = np.where(strategy < bound, 0.0, strategy) * alive(spot.state.game, spot.board)
    return Policy(tuple(actions), round_columns(kept), origin)
