"""Pairs on several cores: processes with an agent each, and each plays some pairs at a time.

A pair depends on nothing but its deal, and a search on nothing less for having one thread: so the bits are those of one
process.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from typing import Final

from dealer_tools.lbr.hand import Players
from dealer_tools.lbr.records import Pair, Plan
from protocol.errors import ParatusError
from protocol.state import Deal
from strategies.registry import make_strategy
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
    inline: bool
    """Whether the agent answers at once."""


def play_on(cores: int, job: Job, deals: Sequence[Numbered]) -> Iterator[Pair]:
    """The pairs of some deals, in order."""
    lot = _LOT if job.inline else 1
    lots = [deals[first : first + lot] for first in range(0, len(deals), lot)]
    with ProcessPoolExecutor(min(cores, len(lots)), get_context("spawn"), _begin, (job,)) as pool:
        try:
            for played in [pool.submit(_play, each) for each in lots]:
                yield from played.result()
        except BrokenProcessPool:
            raise ParatusError(
                "a process that plays has died: expected memory for each (--cores 1 takes least)"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():  # a pair may take a minute that nobody waits for any more
                child.terminate()


_here: Players | None = None
"""In a process that takes part."""


def _begin(job: Job) -> None:
    global _here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked hears it too, and ends us
    plan = job.plan
    strategy = make_strategy(plan.agent, plan.game, job.settings.one_thread())
    _here = Players(plan.game, plan.setting, strategy, plan.seed, plan.think_s)


def _play(lot: Sequence[Numbered]) -> list[Pair]:
    assert _here is not None
    return [_here.pair(number, deal) for number, deal in lot]
