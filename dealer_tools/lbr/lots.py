"""The pairs of a plan as lots: on one core by the agent that is there, on several by processes with an agent each.

A pair depends on nothing but its deal, and a search on nothing less for having one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from dealer_tools.lbr.hand import LEGS, Players
from dealer_tools.lbr.records import LbrPlan, Pair
from machine.lots import Lot, Workers, WorkerSpec
from machine.processes import workers_for
from protocol.dealing import CardStream
from protocol.state import Deal
from strategies.agents import Agent
from strategies.registry import open_agent
from strategies.settings import StrategySettings

LEAST_PAIRS: Final = 500
"""Of an agent that answers at once: a process begins in some seconds, in which one that is there plays hundreds."""
_AT_ONCE: Final = 20
Numbered = tuple[int, Deal]


@dataclass(frozen=True, slots=True)
class LbrJob:
    """What a process must know to take part."""

    plan: LbrPlan
    settings: StrategySettings


def pairs_of(plan: LbrPlan) -> Iterator[Lot[Numbered]]:
    """All of a plan, weighed in hands."""
    stream = CardStream(plan.game, plan.seed)
    for number in range(plan.deals):
        yield Lot(number, (number, stream.deal()), len(LEGS))


def players_on(cores: int, job: LbrJob, agent: Agent) -> Workers[Numbered, Pair]:
    """Who plays them: the agent itself on one core."""
    plan = job.plan
    here = _playing(Players(plan.setting, agent, plan.seed, plan.think_s)) if cores == 1 else None
    return workers_for(WorkerSpec(_player, job, "plays", at_once=_AT_ONCE if agent.on_loop else 1), cores, here)


def _player(job: LbrJob) -> Callable[[Numbered], Pair]:
    plan = job.plan
    agent = open_agent(plan.agent, plan.game, job.settings.one_thread(), allow_code=True)
    return _playing(Players(plan.setting, agent, plan.seed, plan.think_s))


def _playing(players: Players) -> Callable[[Numbered], Pair]:
    return lambda numbered: players.pair(*numbered)
