"""The agents of the registry, told to think briefly."""

from __future__ import annotations

import own_agents
from blueprint_files import settings_for

from protocol.game import Game
from strategies.agents import Agent, AgentSpec
from strategies.registry import open_agent
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


def open_quick(agent: str, game: Game) -> Agent:
    """For tests in which it matters little how well it plays; a blueprint is random."""
    if agent == own_agents.NAME:
        return open_agent(own_agents.documented_agent(), game, allow_code=True)
    over = agent in OVER_A_BLUEPRINT
    return open_agent(agent, game, over_a_blueprint(game) if over else QUICK)


def make_quick(agent: str, game: Game) -> Strategy:
    """What decides for it."""
    return open_quick(agent, game).strategy


def agent_of(
    strategy: Strategy, game: Game, *, on_loop: bool = True, late: Strategy | None = None, repeatable: bool = True
) -> Agent:
    """An agent around a strategy; on the loop it can be asked again for what it decided."""
    spec = AgentSpec(strategy.name, "", lambda game, settings, others: strategy, on_loop=on_loop, repeatable=repeatable)
    return Agent.of(spec, game, strategy, late)


def over_a_blueprint(game: Game) -> StrategySettings:
    """For agents that play over one: the same random one for all."""
    settings = settings_for(game)
    other = SlumbotStyleSettings(**settings.model_dump())
    return QUICK.model_copy(update={"blueprint": settings, "slumbot_style": other})
