"""What the leaves of a depth-limited search are worth: by roll-outs, or by a network that learnt from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from blueprints.learned.flops import Flop
from blueprints.learned.leaves import LearnedLeaves
from blueprints.learned.network import LeafNetwork, network_file
from blueprints.lookup import Lookup
from blueprints.values.leaves import RunOutDraws, SampledLeaves, Settled, StreetGame
from blueprints.values.margins import margins_of, run_out_ranks
from blueprints.values.rollouts import Rollouts
from machine.errors import ConfigError
from protocol.cards import Card
from protocol.hands import hand_classes_array
from protocol.state import State
from strategies.search.actions import stack_to_pot
from strategies.search.settings import LimitedSettings

Made = TypeVar("Made")

_PREFLOP, _FLOP = 0, 1


class Leaves:
    """Makes them for one street after another."""

    def __init__(self, settings: LimitedSettings, lookup: Lookup, rollouts: Rollouts, threads: int) -> None:
        """Raises `ConfigError` if a network is asked for that is not there."""
        self._settings, self._lookup, self._rollouts = settings, lookup, rollouts
        self._flops = _Last(lambda board: Flop.of(board, threads))
        self._margins = _Last(lambda board: margins_of(run_out_ranks(board), threads))
        self.network = _open(settings, lookup) if settings.leaves == "learned" else None
        flop = lookup.blueprint.game.deck()[:3]
        margins_of(run_out_ranks(flop)[:1], threads)  # compiled before anything is measured
        (self._margins if self.network is None else self._flops).of(flop)

    def late_s(self, root: State, board: Sequence[Card]) -> float:
        """What a street may take before its first iteration, however little time there is."""
        if root.street != _FLOP:
            return 0.0
        if self.network is not None:
            return self._flops.needed_s(board)
        return self._margins.needed_s(board) if self._is_deep(root) else 0.0

    def make(
        self, game: StreetGame, board: Sequence[Card], continuations: tuple[int, int], seed: int
    ) -> SampledLeaves | LearnedLeaves:
        """For a street; `seed` is that of roll-outs."""
        if self.network is not None and game.street == _FLOP:
            return LearnedLeaves(game, self.network, self._flops.of(board), self._lookup, continuations)
        deep = game.street == _FLOP and self._is_deep(game.nodes[0].state)
        return SampledLeaves(
            game, self._rollouts, self._lookup, board, continuations,
            RunOutDraws(seed, self._settings.run_outs, self._settings.reuse),
            classes=hand_classes_array() if game.street == _PREFLOP else None,
            settled=Settled(game, board, self._margins.of(board)) if deep else None,
        )  # fmt: skip

    def _is_deep(self, root: State) -> bool:
        return stack_to_pot(root) >= self._settings.exact_spr


class _Last(Generic[Made]):
    """What was made of the last board."""

    def __init__(self, make: Callable[[Sequence[Card]], Made]) -> None:
        self._make, self._known = make, dict[tuple[Card, ...], Made]()
        self.took_s = 0.0
        """To make the one that is known."""

    def of(self, board: Sequence[Card]) -> Made:
        """Known, or made."""
        key = tuple(board)
        if key not in self._known:
            begun = time.monotonic()
            self._known = {key: self._make(board)}
            self.took_s = time.monotonic() - begun
        return self._known[key]

    def needed_s(self, board: Sequence[Card]) -> float:
        """As long as the last took; nothing if it is this one."""
        return 0.0 if tuple(board) in self._known else self.took_s


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
