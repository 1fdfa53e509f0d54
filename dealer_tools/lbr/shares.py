"""Pairs on several cores: processes with an agent each, and each plays some pairs at a time.

A pair depends on nothing but its deal, and a search on nothing less for having one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dealer_tools.lbr.hand import Players
from dealer_tools.lbr.records import Pair, Plan
from machine.lots import shared_out
from protocol.state import Deal
from strategies.registry import open_agent
from strategies.settings import StrategySettings

LEAST_PAIRS: Final = 500
"""Of an agent that answers at once: a process begins in some seconds, in which one that is there plays hundreds."""
_LOT: Final = 20
Numbered = tuple[int, Deal]


@dataclass(frozen=True, slots=True)
class Job:
    """What a process must know to take part."""

    plan: Plan
    settings: StrategySettings
    on_loop: bool
    """Whether the agent answers at once."""


def play_on(cores: int, job: Job, deals: Sequence[Numbered]) -> Iterator[Pair]:
    """The pairs of some deals, in order."""
    lot = _LOT if job.on_loop else 1
    lots = [deals[first : first + lot] for first in range(0, len(deals), lot)]
    for played in shared_out(cores, _player, job, lots, "plays"):
        yield from played


def _player(job: Job) -> Callable[[Sequence[Numbered]], list[Pair]]:
    plan = job.plan
    agent = open_agent(plan.agent, plan.game, job.settings.one_thread(), allow_code=True)
    players = Players(plan.setting, agent, plan.seed, plan.think_s)
    return lambda lot: [players.pair(number, deal) for number, deal in lot]
