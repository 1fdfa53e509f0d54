"""What the leaves of a depth-limited search are worth: by roll-outs, or by a network that learnt from them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from blueprints.learned.flops import Flop
from blueprints.learned.leaves import LearnedLeaves
from blueprints.learned.network import LeafNetwork, network_file
from blueprints.leaves import SampledLeaves, StreetGame
from blueprints.lookup import Lookup
from blueprints.rollouts import Rollouts
from protocol.cards import Card
from protocol.errors import ConfigError
from protocol.hands import hand_classes_array
from strategies.search.settings import LimitedSettings

_PREFLOP, _FLOP = 0, 1


class Leaves:
    """Makes them for one street after another."""

    def __init__(self, settings: LimitedSettings, lookup: Lookup, rollouts: Rollouts, threads: int) -> None:
        """Raises `ConfigError` if a network is asked for that is not there."""
        self._settings, self._lookup, self._rollouts, self._threads = settings, lookup, rollouts, threads
        self._flop: Flop | None = None
        self.network = _open(settings, lookup) if settings.leaves == "learned" else None
        self.made_in_s = 0.0
        """What a flop that is not known yet takes before the first iteration."""
        if self.network is not None:
            Flop.of(lookup.blueprint.game.deck()[:3])  # compiled before anything is measured

    def make(
        self, game: StreetGame, board: Sequence[Card], continuations: tuple[int, int], seed: int
    ) -> SampledLeaves | LearnedLeaves:
        """For a street; `seed` is that of roll-outs."""
        if self.network is None or game.street != _FLOP:
            classes = hand_classes_array() if game.street == _PREFLOP else None
            return SampledLeaves(
                game, self._rollouts, self._lookup, board, continuations, seed,
                run_outs=self._settings.run_outs, reuse=self._settings.reuse, classes=classes,
            )  # fmt: skip
        begun = time.monotonic()
        known = self._flop if self._flop is not None and self._flop.board == tuple(board) else None
        self._flop = known or Flop.of(board, self._threads)
        leaves = LearnedLeaves(game, self.network, self._flop, self._lookup, continuations)
        if known is None:
            self.made_in_s = time.monotonic() - begun
        return leaves


def _open(settings: LimitedSettings, lookup: Lookup) -> LeafNetwork:
    path = Path(settings.network) if settings.network else network_file(lookup.blueprint)
    if not path.is_file():
        raise ConfigError(
            f"limited.network: {path}: no such file: expected one that `paratus blueprint leaves` wrote, or "
            "leaves = 'roll-outs'"
        )
    network = LeafNetwork.open(path, lookup.blueprint)
    if network.bias_factor != settings.bias_factor:
        raise ConfigError(
            f"limited.bias_factor = {settings.bias_factor}: expected {network.bias_factor}, by which {path} was made"
        )
    return network
