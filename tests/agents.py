"""The agents of the registry, told to think briefly."""

from __future__ import annotations

from blueprint_files import settings_for

from protocol.game import Game
from strategies.registry import make_strategy
from strategies.search.settings import Effort, LimitedSettings, MenuRule, NestedSettings
from strategies.settings import SlumbotStyleSettings, StrategySettings
from strategies.strategy import Strategy

QUICK = StrategySettings(
    nested=NestedSettings(
        turn=Effort(iterations=3, share=1.0),
        river=Effort(iterations=20, share=1.0),
        menus=(MenuRule(menu="100%,a / a"),),
        trusted_iterations=0,
    ),
    limited=LimitedSettings(
        preflop=Effort(iterations=2, share=1.0), flop=Effort(iterations=5, share=1.0), threads=1, keep=False
    ),
)
OVER_A_BLUEPRINT = ("blueprint", "slumbot-style", "limited", "paratus")


def make_quick(agent: str, game: Game) -> Strategy:
    """For tests in which it matters little how well it plays; a blueprint is random."""
    over = agent in OVER_A_BLUEPRINT
    return make_strategy(agent, game, over_a_blueprint(game) if over else QUICK)


def over_a_blueprint(game: Game) -> StrategySettings:
    """For agents that play over one: the same random one for all."""
    settings = settings_for(game)
    other = SlumbotStyleSettings(**settings.model_dump())
    return QUICK.model_copy(update={"blueprint": settings, "slumbot_style": other})
