"""An agent is one object: all that the house has to know about it, and nothing about it anywhere else.

    AgentSpec   what an agent is, before it is made: name, settings, what it needs, where it runs, what answers when it
                is late. `strategies.registry` has ours, `strategies.own_code` makes one of a file of the user's.
    Agent       an agent that is ready for a game, as sessions, matches and measurements use it.
    Agents      opens them, and makes each strategy once.

Two questions look alike and are not. *On the loop*: the agent answers in well under a millisecond, so it is called
directly; any other thinks in a thread or a worker, against the clock. *Repeatable*: asked again it decides the same, so
earlier decisions of a hand need no store; what an agent that thinks has decided is only known from its store.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from protocol.errors import IllegalAction
from protocol.game import Game, game_text
from strategies.draws import Draws
from strategies.policy import FALLBACK, Policy, check_or_fold, check_policy
from strategies.settings import StrategySettings
from strategies.strategy import Budget, KeepsHands, Spot, Strategy

LITTLE_MIB: Final = 150
"""Memory of a process that plays an agent without tables."""

Others = Callable[[str], Strategy]
"""Gives the strategy of another agent, which an agent stands on, for the same game and settings."""
Requirement = Callable[[str, Game, StrategySettings], None]
"""Raises `ConfigError` if the agent of that name cannot play; fast, so that it can be asked before anything starts."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What an agent is."""

    name: str
    summary: str
    """What it does, in a line of the documentation's table."""
    make: Callable[[Game, StrategySettings, Others], Strategy]
    """Imports what it needs when it is called; raises `ConfigError` if the agent cannot play the game."""
    sections: tuple[str, ...] = ()
    """Of the settings that it depends on, its own first."""
    requires: tuple[Requirement, ...] = ()
    on_loop: bool = False
    """Whether it answers in well under a millisecond."""
    repeatable: bool = False
    """Whether it decides the same when it is asked again, whatever has happened between. Asked again is only who is on
    the loop.
    """
    late: Callable[[StrategySettings], str] | None = None
    """Names the agent that answers in its place, at once, when it is late or fails; none: to check or fold."""
    memory_mib: int = LITTLE_MIB
    """What a process of it was seen to use, rounded up."""
    warm_parts: tuple[str, ...] = ("ranking",)
    """What `paratus warm` prepares for it."""

    def check(self, game: Game, settings: StrategySettings) -> None:
        """Refuse what `make` would refuse, without the tables and kernels that make it slow."""
        for requirement in self.requires:
            requirement(self.name, game, settings)

    def late_name(self, settings: StrategySettings) -> str:
        """The agent that answers in its place; empty: none."""
        return self.late(settings) if self.late is not None else ""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that is ready for a game."""

    spec: AgentSpec
    game: Game
    strategy: Strategy
    on_loop: bool
    """Whether it is called directly."""
    late: Strategy | None = None
    """What answers in its place, at once, whatever it is doing in another thread."""

    @classmethod
    def of(cls, spec: AgentSpec, game: Game, strategy: Strategy, late: Strategy | None = None) -> Agent:
        """One that plays here."""
        return cls(spec, game, strategy, spec.on_loop, late)

    @property
    def name(self) -> str:
        """As on the command line, or for code of the user's that of its class."""
        return self.spec.name

    @property
    def repeats(self) -> bool:
        """Whether it can be asked again here for what it decided before."""
        return self.spec.repeatable and self.on_loop

    def identity(self) -> dict[str, str]:
        """What made it: models, hashes, settings."""
        return self.strategy.identity()

    def for_another_match(self) -> Agent:
        """It knows of no hand that this one has played; what is large is shared."""
        strategy = self.strategy
        return replace(self, strategy=strategy.another()) if isinstance(strategy, KeepsHands) else self

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        """Its policy, or what stands in for one that it fails to give or that cannot be played."""
        try:
            policy = self.strategy.policy(spot, budget, draws)
            check_policy(policy, spot.state, spot.board)
        except Exception as error:  # whatever a strategy raises, a match goes on
            return self.stand_in(spot, draws, self.failure(error))
        return policy

    def failure(self, error: Exception) -> str:
        """Why its policy is not played, in words."""
        if isinstance(error, IllegalAction):
            return f"{self.name} offered an illegal action: {error}"
        if isinstance(error, TimeoutError):
            return f"{self.name} was not back in time"
        return f"{self.name} raised {type(error).__name__}: {error}"

    def stand_in(self, spot: Spot, draws: Draws, reason: str) -> Policy:
        """In place of a policy that is not to be had: of what answers when it is late, or to check or fold."""
        if self.late is not None:
            with contextlib.suppress(Exception):  # whatever a strategy raises, a match goes on
                policy = self.late.policy(spot, Budget(0.0, 0.0), draws)
                check_policy(policy, spot.state, spot.board)
                if not policy.origin.is_fallback:
                    route = f"{FALLBACK}/{policy.origin.route}"
                    return replace(policy, origin=replace(policy.origin, route=route, reason=reason))
        return check_or_fold(spot.state, reason)


class Agents:
    """Opens agents. Agents that stand on the same strategy share it, and so do matches of the same settings."""

    def __init__(self, find: Callable[[str], AgentSpec]) -> None:
        """`find` knows specs by name."""
        self._find = find
        self._made: dict[tuple[str, str, str], Strategy] = {}

    def open(self, name: str, game: Game, settings: StrategySettings) -> Agent:
        """Ready to play; raises `ConfigError` if it cannot."""
        spec = self._find(name)
        return Agent.of(spec, game, self.strategy(name, game, settings), self.late(name, game, settings))

    def late(self, name: str, game: Game, settings: StrategySettings) -> Strategy | None:
        """What answers in place of an agent, if anything does."""
        late = self._find(name).late_name(settings)
        return self.strategy(late, game, settings) if late else None

    def strategy(self, name: str, game: Game, settings: StrategySettings) -> Strategy:
        """Made the first time that it is asked for with these settings, all that it depends on."""
        spec = self._find(name)
        key = name, game_text(game), settings.model_dump_json(include={*spec.sections})
        if key not in self._made:
            self._made[key] = spec.make(game, settings, lambda other: self.strategy(other, game, settings))
        return self._made[key]
