"""The players by name."""

from __future__ import annotations

from typing import Final

from protocol.errors import ConfigError, quote
from protocol.game import Game
from strategies.baselines import AllIn, AlwaysCall, AlwaysFold, AlwaysRaise, Random
from strategies.settings import StrategySettings
from strategies.strategy import Strategy, StrategyFactory

DEFAULT_AGENT: Final = "paratus"


def _plain(kind: type[Strategy]) -> StrategyFactory:
    return lambda game, settings: kind()


def _nested(game: Game, settings: StrategySettings) -> Strategy:
    from strategies.search.nested import NestedSearch  # the solver, which is slow to import

    name = settings.nested.base
    others = [other for other in STRATEGIES if other not in (NestedSearch.name, DEFAULT_AGENT)]
    if name not in others:
        raise ConfigError(f"nested.base = {quote(name)}: expected one of {', '.join(others)}")
    return NestedSearch(game, settings.nested, make_strategy(name, game, settings))


def _blueprint(game: Game, settings: StrategySettings) -> Strategy:
    from strategies.blueprint import BlueprintLookup  # numpy, files, kernels

    return BlueprintLookup(game, settings.blueprint)


def _limited(game: Game, settings: StrategySettings) -> Strategy:
    from strategies.blueprint import BlueprintLookup
    from strategies.search.limited import LimitedSearch

    return LimitedSearch(game, settings.limited, BlueprintLookup(game, settings.blueprint))


def _paratus(game: Game, settings: StrategySettings) -> Strategy:
    from strategies.router import Router

    return Router(game, settings)


STRATEGIES: Final[dict[str, StrategyFactory]] = {
    **{kind.name: _plain(kind) for kind in (AlwaysFold, AlwaysCall, AlwaysRaise, AllIn, Random)},
    "blueprint": _blueprint,
    "nested": _nested,
    "limited": _limited,
    "paratus": _paratus,
}


def make_strategy(name: str, game: Game, settings: StrategySettings | None = None) -> Strategy:
    """The player of that name, ready for `game`."""
    factory = STRATEGIES.get(name)
    if factory is None:
        raise ConfigError(f"agent {quote(name)} is not known: expected one of {', '.join(STRATEGIES)}")
    return factory(game, settings or StrategySettings())
