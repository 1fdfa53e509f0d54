"""The players by name."""

from __future__ import annotations

from typing import Final

from protocol.errors import ConfigError, quote
from protocol.game import Game
from strategies.baselines import AllIn, AlwaysCall, AlwaysFold, AlwaysRaise, Random
from strategies.strategy import Strategy, StrategyFactory

DEFAULT_AGENT: Final = "random"


def _for_any_game(kind: type[Strategy]) -> StrategyFactory:
    return lambda game: kind()


STRATEGIES: Final[dict[str, StrategyFactory]] = {
    kind.name: _for_any_game(kind) for kind in (AlwaysFold, AlwaysCall, AlwaysRaise, AllIn, Random)
}


def make_strategy(name: str, game: Game) -> Strategy:
    """The player of that name, ready for `game`."""
    factory = STRATEGIES.get(name)
    if factory is None:
        raise ConfigError(f"agent {quote(name)} is not known: expected one of {', '.join(STRATEGIES)}")
    return factory(game)
