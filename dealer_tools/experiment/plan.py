"""The plan of an experiment: what its file may say (`example.toml` documents every key), and the matches that makes.

A match has a name that its pairing and seed make, and a folder of that name. Nothing in a plan depends on results: how
many hands are played is known before the first is dealt.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dealer_tools.plan import MatchPlan, PlayerSettings, entrant
from machine.cores import available_cores
from machine.errors import ConfigError, quote
from machine.refusals import problem_line
from machine.toml import read_toml, toml_text
from protocol.game import DEFAULT_GAME, Game, load_game, parse_game
from protocol.log import MAX_HANDS, MAX_SEED, Limits
from strategies.agents import LITTLE_MIB
from strategies.registry import AGENTS, check_agent, find_agent, is_agent
from strategies.settings import StrategySettings

EXAMPLE: Final = Path(__file__).with_name("example.toml")
_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$"
_SHARE_OF_MEMORY: Final = 0.75
_BUDGET: Final[dict[str, Any]] = {"cores": True, "memory_mib": True}
_FREE: Final[dict[str, Any]] = {**_BUDGET, "level": True, "agents": {"__all__": _BUDGET}}
"""What may change while an experiment is under way."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class DealerLimits(_Section):
    """The dealer's."""

    response_ms: int = Field(default=Limits().response_ms, ge=1, le=10**12)
    hand_ms: int = Field(default=Limits().hand_ms, ge=1, le=10**12)
    per_hand_ms: int = Field(default=Limits().per_hand_ms, ge=1, le=10**12)


class AgentSection(_Section):
    """One player."""

    name: str = Field(pattern=_NAME)
    agent: str
    think_s: float = Field(default=0.0, ge=0, le=1e6)
    cores: int = Field(default=1, ge=1, le=1024)
    memory_mib: int = Field(default=0, ge=0, le=2**31)
    settings: StrategySettings = StrategySettings()

    @property
    def ours(self) -> bool:
        """Whether its policies will be known."""
        return is_agent(self.agent)


class ExperimentPlan(_Section):
    """All of it."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    game: str = DEFAULT_GAME
    hands: int = Field(ge=2, le=MAX_HANDS)
    seeds: Annotated[tuple[Annotated[int, Field(ge=0, le=MAX_SEED)], ...], Field(strict=False, min_length=1)] = (0,)
    duplicate: bool = True
    estimator: Literal["raw", "aivat", "aivat-both"] = "raw"
    values: Literal["", "blueprint", "equity", "zero"] = ""
    level: float = Field(default=0.05, gt=0, lt=1)
    think_s: float = Field(default=4.0, gt=0, le=1e6)
    cores: int = Field(default=0, ge=0, le=1024)
    memory_mib: int = Field(default=0, ge=0, le=2**31)
    pairings: Annotated[tuple[Annotated[tuple[str, str], Field(strict=False)], ...], Field(strict=False)] = ()
    limits: DealerLimits = DealerLimits()
    agents: Annotated[tuple[AgentSection, ...], Field(strict=False, min_length=2)]

    def agent(self, name: str) -> AgentSection:
        """By name."""
        return next(agent for agent in self.agents if agent.name == name)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Who plays whom."""
        return self.pairings or tuple(combinations([agent.name for agent in self.agents], 2))

    @property
    def core_budget(self) -> int:
        """How many may be used."""
        return min(self.cores or available_cores(), available_cores())

    @property
    def memory_budget_mib(self) -> int:
        """How much may be used."""
        if self.memory_mib:
            return self.memory_mib
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20 * _SHARE_OF_MEMORY)


@dataclass(frozen=True, slots=True)
class Task:
    """One match of an experiment."""

    name: str
    """And that of its folder."""
    pair: tuple[str, str]
    match: MatchPlan
    cores: int
    memory_mib: int
    """What it needs while it is played."""


def load_plan(path: Path, *, allow_code: bool = False) -> ExperimentPlan:
    """Read and check a file; nothing is started that would be refused later. Code is named by it only if allowed."""
    values = read_toml(path, "the plan of an experiment (`paratus experiment --example` shows one)")
    try:
        plan = ExperimentPlan.model_validate(values)
    except ValidationError as error:
        raise ConfigError(problem_line(error, ExperimentPlan, lambda key: path)) from None
    try:
        check_code(allow_code, [agent.agent for agent in plan.agents])
        _check(plan)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return plan


def check_code(allowed: bool, agents: Iterable[str]) -> None:
    """A file that names code is no reason to run it."""
    for agent in agents:
        if agent not in AGENTS and is_agent(agent) and not allowed:
            raise ConfigError(f"agent = {quote(agent)}: code of a plan is only run with --allow-code")


def _check(plan: ExperimentPlan) -> None:
    names = [agent.name for agent in plan.agents]
    _check_different("agents.name", names)
    _check_different("seeds", plan.seeds)
    for pair in plan.pairings:
        for name in pair:
            if name not in names:
                raise ConfigError(f"pairings = {quote(name)}: expected two of {', '.join(names)}")
        if pair[0] == pair[1]:
            raise ConfigError(f"pairings = {list(pair)}: an agent against itself: expected two of {', '.join(names)}")
    _check_different("pairings", [" v ".join(sorted(pair)) for pair in plan.pairings])
    game = load_game(plan.game).game
    if game.num_players != 2:
        raise ConfigError(f"game = {quote(plan.game)}: played by {game.num_players}: expected a game for two")
    for agent in plan.agents:
        _check_agent(agent, game)
    for a, b in plan.pairs:
        known = [name for name in (a, b) if plan.agent(name).ours]
        if plan.estimator == "aivat" and not known:
            raise ConfigError(f"estimator = 'aivat': no policies of {a} nor of {b}: expected 'raw'")
        if plan.estimator == "aivat-both" and len(known) < 2:
            raise ConfigError(
                f"estimator = 'aivat-both': not the policies of both {a} and {b}: expected 'aivat' or 'raw'"
            )
    for task in tasks_of(plan, game):
        _check_budget(plan, task)


def _check_different(key: str, values: Iterable[object]) -> None:
    for value, count in Counter(values).items():
        if count > 1:
            raise ConfigError(f"{key} = {quote(str(value))}: given {count} times: expected different ones")


def _check_agent(agent: AgentSection, game: Game) -> None:
    place = f"agents.{agent.name}"
    if agent.ours:
        try:
            check_agent(agent.agent, game, agent.settings, allow_code=True)
        except ConfigError as error:
            raise ConfigError(f"{place}: {error}") from None
        return
    try:
        entrant(agent.agent)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    for key in ("settings", "think_s"):
        if key in agent.model_fields_set:
            raise ConfigError(f"{place}: {key}: {agent.agent} is not ours to tell: expected it without")


def _check_budget(plan: ExperimentPlan, task: Task) -> None:
    for key, budget, needs in (
        ("cores", plan.core_budget, task.cores),
        ("memory_mib", plan.memory_budget_mib, task.memory_mib),
    ):
        if needs > budget:
            raise ConfigError(f"{key} = {budget}: {' v '.join(task.pair)} needs {needs}: expected as much at least")


def tasks_of(plan: ExperimentPlan, game: Game) -> list[Task]:
    """All matches, in the order in which they are begun: seed by seed, so that every pair has some hands early."""
    return list(_tasks(plan, game))


def _tasks(plan: ExperimentPlan, game: Game) -> Iterator[Task]:
    limits = Limits(plan.limits.response_ms, plan.limits.hand_ms, plan.limits.per_hand_ms)
    for seed in plan.seeds:
        for number, pair in enumerate(plan.pairs, 1):
            agents = [plan.agent(name) for name in pair]
            match = MatchPlan(
                plan.game,
                game,
                tuple([entrant(agent.agent) for agent in agents]),
                pair,
                plan.hands,
                seed,
                plan.duplicate,
                limits,
                tuple([_own(plan, agent) for agent in agents]),
            )
            yield Task(
                f"{number:02}-{pair[0]}-{pair[1]}-{seed}",
                pair,
                match,
                max(agent.cores for agent in agents),  # one of them waits while the other thinks
                sum(map(_needed_mib, agents)) + LITTLE_MIB,
            )


def _needed_mib(agent: AgentSection) -> int:
    """Memory. Whether code may be loaded was asked when the plan was."""
    if agent.memory_mib or not agent.ours:
        return agent.memory_mib or LITTLE_MIB
    return find_agent(agent.agent, allow_code=True).memory_mib


def _own(plan: ExperimentPlan, agent: AgentSection) -> PlayerSettings:
    if not agent.ours:
        return PlayerSettings()
    sections: dict[str, Any] = agent.settings.model_dump(exclude_unset=True)
    return PlayerSettings(
        agent.think_s or plan.think_s, toml_text({name: values for name, values in sections.items() if values})
    )


def plan_document(plan: ExperimentPlan) -> dict[str, Any]:
    """For `plan.json`: what must not change while an experiment is under way."""
    definition = load_game(plan.game).game
    return {
        "plan": plan.model_dump(mode="json", exclude=_FREE),
        "matches": {task.name: task.match.as_json() for task in tasks_of(plan, definition)},
    }


def with_defaults(plan: object) -> dict[str, Any]:
    """The plan of a `plan.json`, with what its writer did not know yet; empty if it is no plan."""
    try:
        return ExperimentPlan.model_validate(plan).model_dump(mode="json", exclude=_FREE)
    except ValidationError:
        return {}


def match_plan(document: dict[str, Any]) -> MatchPlan:
    """A match's plan as `plan_document` wrote it down."""
    names, agents = zip(*[(name, agent) for name, agent, _ in document["agents"]], strict=True)
    return MatchPlan(
        document["game"],
        parse_game(document["definition"], document["game"]).game,
        agents,
        names,
        document["hands"],
        document["seed"],
        document["duplicate"],
        Limits(*document["limits_ms"]),
        tuple([PlayerSettings(think_s, sections) for think_s, sections in document["own"]]),
    )
