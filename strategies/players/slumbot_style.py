"""Agent `slumbot-style`: a large strategy computed ahead, and no search; what Slumbot was among programs.

It is the standing opponent by which changes of strength are measured. Its blueprint (configuration `slumbot-style`)
has other bets and other buckets than the default agent's, so that each meets sizes the other was not trained with; it
takes them for its own by the same randomised mapping. Its policies can be purified.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from protocol.game import Game
from protocol.state import Action
from strategies.draws import Draws
from strategies.players.blueprint import BlueprintLookup
from strategies.players.processing import processed
from strategies.policy import Policy
from strategies.settings import SlumbotStyleSettings
from strategies.strategy import Budget, Spot


class SlumbotStyle(BlueprintLookup):
    """The strategy; see the head of this file."""

    def __init__(self, game: Game, settings: SlumbotStyleSettings) -> None:
        super().__init__(game, settings)
        self._settings = settings

    def identity(self) -> dict[str, str]:
        done = {"threshold": f"{self._settings.threshold:g}", "purify": str(self._settings.purify).lower()}
        return {**super().identity(), "kind": self.name, **done}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        policy = super().policy(spot, budget, draws)
        settings = self._settings
        return replace(policy, weights=processed(policy.weights, threshold=settings.threshold, purify=settings.purify))

    def likelihood(self, spot: Spot, action: Action, draws: Draws) -> NDArray[np.float32] | None:
        """Nothing where policies are not what stands in the file: then they speak for themselves."""
        if self._settings.threshold or self._settings.purify:
            return None
        return super().likelihood(spot, action, draws)
