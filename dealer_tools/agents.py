"""Options that say how an agent plays which is asked in this process: a configuration, a blueprint, iterations.

A file is one of `paratus bot --config`. The sections of agents are read; those about the connection, the clock and the
store mean nothing here.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from machine.errors import ConfigError
from machine.refusals import problem_words
from machine.toml import read_toml
from protocol.game import Game, load_game
from strategies.agents import Agent
from strategies.registry import find_agent, open_agent
from strategies.settings import StrategySettings

_ELSEWHERE: Final = ("bot", "store", "clock", "wait", "slumbot")
_MOST_ITERATIONS: Final = 1_000_000
CONFIGURATION: Final = "a configuration file"
"""What is asked for with --config."""


def add_agent_options(parser: argparse.ArgumentParser) -> None:
    """How the agent plays."""
    parser.add_argument("--config", metavar="FILE", type=Path, help="settings, as of `paratus bot --config`")
    parser.add_argument(
        "--blueprint", metavar="FILE", type=Path, help="what agent blueprint plays (default: the one that ships)"
    )
    parser.add_argument(
        "--iterations", metavar="N", type=int, help="of every search (default: as in the settings, whatever they take)"
    )


def agent_settings(options: argparse.Namespace, *, keep: bool = False) -> StrategySettings:
    """What the options say. What other matches have left on disk is used only if `keep` allows it: it would count as
    iterations of this one.
    """
    document: dict[str, Any] = read_toml(options.config, CONFIGURATION) if options.config is not None else {}
    sections = {name: part for name, part in document.items() if name not in _ELSEWHERE}
    try:
        settings = StrategySettings.model_validate(sections)
    except ValidationError as error:
        raise ConfigError(f"{options.config}: {problem_words(error, StrategySettings)}") from None
    if options.blueprint is not None:
        blueprint = settings.blueprint.model_copy(update={"file": str(options.blueprint)})
        settings = settings.model_copy(update={"blueprint": blueprint})
    if options.iterations is not None:
        settings = _with_iterations(settings, options.iterations)
    return settings if keep else settings.without_memory()


def load_two_player_game(name: str, command: str) -> Game:
    """A game that the command can be about."""
    game = load_game(name).game
    if game.num_players != 2:
        raise ConfigError(f"{name}: {game.num_players} players: expected a game for two (`paratus {command}`)")
    return game


def agent_for(name: str, game: Game, options: argparse.Namespace) -> Agent:
    """The agent as the options say; refuses a name that is none before anything is loaded."""
    find_agent(name, allow_code=True)
    return open_agent(name, game, agent_settings(options), allow_code=True)


def _with_iterations(settings: StrategySettings, iterations: int) -> StrategySettings:
    if not 1 <= iterations <= _MOST_ITERATIONS:
        raise ConfigError(f"--iterations {iterations}: expected 1 to {_MOST_ITERATIONS:,}")
    return settings.with_iterations(iterations)
