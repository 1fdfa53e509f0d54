"""What agents need before they can play: a game that they know, and a blueprint for it. Looked at by the agents
themselves and, before a match starts its processes, by whoever starts them: so nothing here is slow."""

from __future__ import annotations

from pathlib import Path

from blueprints.shipped import shipped_blueprint
from blueprints.storage import Blueprint
from machine.errors import ConfigError
from protocol.errors import BlueprintError
from protocol.game import Game
from strategies.settings import LookupSettings


def check_searchable(agent: str, game: Game) -> None:
    """Refuse games that agents which search do not play."""
    if game.num_players != 2 or not game.no_limit or game.num_rounds != 4 or game.num_hole_cards != 2:
        raise ConfigError(
            f"agent {agent} plays heads-up no-limit hold'em, not {game.name}: expected another agent (--agent)"
        )


def open_blueprint(game: Game, settings: LookupSettings) -> Blueprint:
    """The blueprint that is set, or the one that ships with the agent, if it is one for the game."""
    try:
        blueprint = Blueprint.open(Path(settings.file) if settings.file else shipped_blueprint(settings.shipped))
        blueprint.check_matches(game)
    except BlueprintError as error:
        raise ConfigError(f"agent {settings.agent}: {error}") from None
    return blueprint
