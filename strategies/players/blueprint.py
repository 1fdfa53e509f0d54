"""Plays a blueprint as it is: look the spot up, do what stands there.

Bets that the blueprint does not know are taken for bets that it knows (`blueprints.lookup` says how); the draw for that
belongs to the hand and to the place of the bet in it, never to cards. Numbers of 8 bits add up to 255 for every hand,
which 257 times over is exactly the scale of policies: what is played is what is stored.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from blueprints.lookup import Draw, Lookup
from blueprints.rounding import TOTAL
from blueprints.shipped import tables_folder
from machine.errors import ConfigError
from protocol.errors import BlueprintError
from protocol.game import Game
from protocol.state import Action, start
from strategies.draws import Draws
from strategies.players.off_tree import off_tree_details
from strategies.policy import SCALE, Origin, Policy, check_or_fold
from strategies.requirements import open_blueprint
from strategies.settings import LookupSettings
from strategies.strategy import Budget, Spot

_ROUTE: Final = "blueprint"
_BITS: Final = 53
_TELL_EVERY_S: Final = 10.0

_log = logging.getLogger(__name__)


class BlueprintLookup:
    """The strategy; see the head of this file."""

    def __init__(self, game: Game, settings: LookupSettings) -> None:
        """Open the file, whole, and the tables of its cards; the first time, tables are built, which takes a minute."""
        self.name = settings.agent
        folder = Path(settings.tables) if settings.tables else tables_folder()
        blueprint = open_blueprint(game, settings)
        try:
            blueprint.check_content()  # a damaged byte would be played as if it had been trained
            self.lookup = Lookup(blueprint, blueprint.cards(folder, _Telling(), rivers=settings.rivers))
        except BlueprintError as error:
            raise ConfigError(f"agent {self.name}: {error}") from None
        self._warm_up(game)

    def identity(self) -> dict[str, str]:
        blueprint = self.lookup.blueprint
        return {"kind": _ROUTE, "blueprint": blueprint.name, "hash": blueprint.digest}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        blueprint = self.lookup.blueprint
        found = self.lookup.policy(spot.state, spot.board, draw_of(draws))
        if found is None:
            return check_or_fold(spot.state, f"blueprint {blueprint.name} has no decision of this player and street")
        origin = Origin(_ROUTE, model=blueprint.digest, details=off_tree_details(found))
        return Policy(found.actions, found.shares * np.uint16(SCALE // TOTAL), origin)

    def likelihood(self, spot: Spot, action: Action, draws: Draws) -> NDArray[np.float32] | None:
        """[hand] how likely each hand takes what `action` is taken for; None where nothing can be said.

        Unlike `Policy.likelihood` it knows bets that the blueprint does not have.
        """
        return self.lookup.likelihood(spot.state, action, spot.board, draw_of(draws))

    def _warm_up(self, game: Game) -> None:
        """Look up a board of each street, so that everything is compiled and loaded."""
        cards = game.deck()
        for street in range(game.num_rounds):
            self.lookup.cards.buckets(cards[: game.board_cards_by(street)])
        self.lookup.policy(start(game), (), lambda place: 0.0)


def draw_of(draws: Draws) -> Draw:
    """What `Lookup` draws from: for each place in the hand a number that is the same at all decisions of the hand."""
    return lambda place: (draws.of_hand(f"translation {place}").word() >> 64 - _BITS) / (1 << _BITS)


class _Telling:
    """Progress of work that takes a minute, for whoever waits: a line every ten seconds."""

    def __init__(self) -> None:
        self._next_s = time.monotonic() + 1.0

    def __call__(self, task: str, share: float, left_s: float) -> None:
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _TELL_EVERY_S
            _log.warning("tables of the blueprint's cards (once): %s, %d%%, %.0f s left", task, 100 * share, left_s)
