"""Our agents by name: one entry each. Whatever the house does with an agent follows from its entry.

Factories import what they need when they are called: who only wants names waits for no kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from machine.errors import ConfigError, quote
from protocol.game import Game
from strategies.agents import Agent, Agents, AgentSpec, Others
from strategies.own_code import is_code, is_installed, load_agent
from strategies.players.baselines import AllIn, AlwaysCall, AlwaysFold, AlwaysRaise, Baseline, Random
from strategies.settings import StrategySettings
from strategies.strategy import Strategy

if TYPE_CHECKING:
    from strategies.players.blueprint import BlueprintLookup

DEFAULT_AGENT: Final = "paratus"


# Factories


def _plain(kind: type[Baseline]) -> Callable[[Game, StrategySettings, Others], Strategy]:
    return lambda game, settings, others: kind()


def _blueprint(game: Game, settings: StrategySettings, others: Others) -> Strategy:
    from strategies.players.blueprint import BlueprintLookup

    return BlueprintLookup(game, settings.blueprint)


def _slumbot_style(game: Game, settings: StrategySettings, others: Others) -> Strategy:
    from strategies.players.slumbot_style import SlumbotStyle

    return SlumbotStyle(game, settings.slumbot_style)


def _nested(game: Game, settings: StrategySettings, others: Others) -> Strategy:
    from strategies.search.nested import NestedSearch

    return NestedSearch(game, settings.nested, others(_base(settings).name))


def _limited(game: Game, settings: StrategySettings, others: Others) -> Strategy:
    from strategies.search.depth_limited import LimitedSearch

    return LimitedSearch(game, settings.limited, _lookup(others))


def _paratus(game: Game, settings: StrategySettings, others: Others) -> Strategy:
    from strategies.players.router import Router

    return Router(game, settings, _lookup(others))


def _lookup(others: Others) -> BlueprintLookup:
    """What agent `blueprint` decides by, shared by those that stand on it."""
    from strategies.players.blueprint import BlueprintLookup

    base = others("blueprint")
    assert isinstance(base, BlueprintLookup)
    return base


# What they require, and what answers when they are late


def _searchable(agent: str, game: Game, settings: StrategySettings) -> None:
    from strategies.requirements import check_searchable

    check_searchable(agent, game)


def _a_blueprint(agent: str, game: Game, settings: StrategySettings) -> None:
    from strategies.requirements import open_blueprint

    open_blueprint(game, settings.blueprint)


def _slumbots_blueprint(agent: str, game: Game, settings: StrategySettings) -> None:
    from strategies.requirements import open_blueprint

    open_blueprint(game, settings.slumbot_style)


def _base(settings: StrategySettings) -> AgentSpec:
    """What agent `nested` plays before it searches."""
    name = settings.nested.base
    bases = [spec.name for spec in AGENTS.values() if "nested" not in spec.sections]
    if name not in bases:
        raise ConfigError(f"nested.base = {quote(name)}: expected one of {', '.join(bases)}")
    return AGENTS[name]


def _playable_base(agent: str, game: Game, settings: StrategySettings) -> None:
    _base(settings).check(game, settings)


def _late_base(settings: StrategySettings) -> str:
    base = _base(settings)
    return base.name if base.on_loop else base.late_name(settings)


_OURS: Final = (
    *(
        AgentSpec(kind.name, kind.summary, _plain(kind), on_loop=True, repeatable=True)
        for kind in (AlwaysFold, AlwaysCall, AlwaysRaise, AllIn, Random)
    ),
    AgentSpec(
        name="blueprint",
        summary="plays a strategy that was trained ahead ([Lookup](lookup.md))",
        make=_blueprint,
        sections=("blueprint",),
        requires=(_a_blueprint,),
        on_loop=True,
        repeatable=True,
        memory_mib=600,
        warm_parts=("ranking", "blueprint"),
    ),
    AgentSpec(
        name="slumbot-style",
        summary="the standing opponent: another such strategy, with other bets and buckets "
        "([which](blueprints.md#the-standing-opponent))",
        make=_slumbot_style,
        sections=("slumbot_style",),
        requires=(_slumbots_blueprint,),
        on_loop=True,
        repeatable=True,
        memory_mib=600,
        warm_parts=("ranking", "blueprint"),
    ),
    AgentSpec(
        name="nested",
        summary="searches the turn and the river to the end of the hand ([Search](search.md)); before the turn another "
        "agent plays, by default `always-call`",
        make=_nested,
        sections=("nested", "blueprint", "slumbot_style", "limited"),
        requires=(_searchable, _playable_base),
        late=_late_base,
        memory_mib=1200,
        warm_parts=("ranking", "solver"),
    ),
    AgentSpec(
        name="limited",
        summary="searches each street before the river to its end, with the blueprint's continuations after it "
        "([Depth-limited search](router.md#depth-limited-search))",
        make=_limited,
        sections=("limited", "blueprint"),
        requires=(_searchable, _a_blueprint),
        late=lambda settings: "blueprint",
        memory_mib=1200,
        warm_parts=("ranking", "blueprint", "agent"),
    ),
    AgentSpec(
        name=DEFAULT_AGENT,
        summary="the default: for each decision the strategy that decides it best ([how](router.md))",
        make=_paratus,
        sections=("router", "limited", "nested", "blueprint"),
        requires=(_searchable, _a_blueprint),
        late=lambda settings: "blueprint",
        memory_mib=1500,
        warm_parts=("ranking", "blueprint", "solver", "agent"),
    ),
)

AGENTS: Final[dict[str, AgentSpec]] = {spec.name: spec for spec in _OURS}


def find_agent(name: str, *, allow_code: bool = False) -> AgentSpec:
    """The agent of a name. Code of the user's is loaded only with `allow_code`: if the user has named it."""
    spec = AGENTS.get(name)
    if spec is None and allow_code:
        spec = load_agent(name)
    if spec is None:
        raise ConfigError(f"agent {quote(name)} is not known: expected one of {', '.join(AGENTS)}")
    return spec


def agents_help(more: str = "") -> str:
    """What may stand where an agent is asked for."""
    return f"{', '.join(AGENTS)}, or FILE.py:CLASS{more}"


def is_agent(name: str) -> bool:
    """Whether a name is that of an agent of ours or of the user's, whose code is not loaded here."""
    return name in AGENTS or is_code(name) or is_installed(name)


def check_agent(name: str, game: Game, settings: StrategySettings | None = None, *, allow_code: bool = False) -> None:
    """Refuse what `open_agent` would refuse, without the tables and kernels that make it slow."""
    find_agent(name, allow_code=allow_code).check(game, settings or StrategySettings())


def opener(*, allow_code: bool = False) -> Agents:
    """Opens agents by name."""
    return Agents(partial(find_agent, allow_code=allow_code))


def open_agent(name: str, game: Game, settings: StrategySettings | None = None, *, allow_code: bool = False) -> Agent:
    """The agent of that name, ready for `game`."""
    return opener(allow_code=allow_code).open(name, game, settings or StrategySettings())


def make_strategy(name: str, game: Game, settings: StrategySettings | None = None) -> Strategy:
    """What decides for one of our agents, alone."""
    return opener().strategy(name, game, settings or StrategySettings())
