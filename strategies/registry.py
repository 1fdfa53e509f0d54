"""The players by name."""

from __future__ import annotations

from typing import Final

from machine.errors import ConfigError, quote
from protocol.game import Game
from strategies.baselines import AllIn, AlwaysCall, AlwaysFold, AlwaysRaise, Random
from strategies.settings import StrategySettings
from strategies.strategy import Strategy, StrategyFactory

DEFAULT_AGENT: Final = "paratus"


def _plain(kind: type[Strategy]) -> StrategyFactory:
    return lambda game, settings: kind()


def _nested(game: Game, settings: StrategySettings) -> Strategy:
    from strategies.search.nested import NestedSearch  # the solver, which is slow to import

    return NestedSearch(game, settings.nested, make_strategy(_base(settings), game, settings))


def _base(settings: StrategySettings) -> str:
    name = settings.nested.base
    others = [other for other in STRATEGIES if other not in ("nested", DEFAULT_AGENT)]
    if name not in others:
        raise ConfigError(f"nested.base = {quote(name)}: expected one of {', '.join(others)}")
    return name


def _blueprint(game: Game, settings: StrategySettings) -> Strategy:
    from strategies.blueprint import BlueprintLookup  # numpy, files, kernels

    return BlueprintLookup(game, settings.blueprint)


def _slumbot_style(game: Game, settings: StrategySettings) -> Strategy:
    from strategies.slumbot_style import SlumbotStyle

    return SlumbotStyle(game, settings.slumbot_style)


def _limited(game: Game, settings: StrategySettings) -> Strategy:
    from strategies.blueprint import BlueprintLookup
    from strategies.search.depth_limited import LimitedSearch

    return LimitedSearch(game, settings.limited, BlueprintLookup(game, settings.blueprint))


def _paratus(game: Game, settings: StrategySettings) -> Strategy:
    from strategies.router import Router

    return Router(game, settings)


STRATEGIES: Final[dict[str, StrategyFactory]] = {
    **{kind.name: _plain(kind) for kind in (AlwaysFold, AlwaysCall, AlwaysRaise, AllIn, Random)},
    "blueprint": _blueprint,
    "slumbot-style": _slumbot_style,
    "nested": _nested,
    "limited": _limited,
    "paratus": _paratus,
}


def check_agent(name: str, game: Game, settings: StrategySettings | None = None) -> None:
    """Refuse what `make_strategy` would refuse, without the tables and kernels that make it slow."""
    settings = settings or StrategySettings()
    if name in ("nested", "limited", DEFAULT_AGENT):
        from strategies.suitable import check_searchable  # numpy

        check_searchable(name, game)
    if name == "nested":
        check_agent(_base(settings), game, settings)
    if name in ("blueprint", "limited", DEFAULT_AGENT):
        from strategies.suitable import open_blueprint

        open_blueprint(game, settings.blueprint)
    if name == "slumbot-style":
        from strategies.suitable import open_blueprint

        open_blueprint(game, settings.slumbot_style)


def make_strategy(name: str, game: Game, settings: StrategySettings | None = None) -> Strategy:
    """The player of that name, ready for `game`."""
    factory = STRATEGIES.get(name)
    if factory is None:
        raise ConfigError(f"agent {quote(name)} is not known: expected one of {', '.join(STRATEGIES)}")
    return factory(game, settings or StrategySettings())
