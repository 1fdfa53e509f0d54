"""Scores of many hands on several cores: each process reads the match for itself, and scores a lot of hands at a time.

A hand's score depends on nothing but the hand, so the bits are those of one process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from dealer_tools.scoring.estimators import ESTIMATORS, Scorer
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.sources import Hands, first_hands, read_hands
from dealer_tools.scoring.values import Zero
from dealer_tools.scoring.valuing import values_for
from machine.lots import Lot, WorkerSpec, do_lots
from machine.processes import workers_for
from protocol.arrays import F64

LEAST_HANDS: Final = 2_000
"""A process begins in some seconds, in which one that is there scores hundreds of hands."""
LOT: Final = 100


@dataclass(frozen=True, slots=True)
class ScoreJob:
    """A score as it was asked for: what a process must know to take part."""

    paths: tuple[Path, ...]
    player: str | None
    both: bool
    """The policies of both are asked for."""
    first: int | None
    """So many hands; else all."""
    names: tuple[str, ...]
    """Of the estimators."""
    values: str | None
    blueprint: Path | None

    def read(self) -> Hands:
        """What is to be scored."""
        return first_hands(read_hands(self.paths, self.player, both=self.both), self.first)

    def scorer(self, hands: Hands) -> Scorer:
        """By what it is to be scored."""
        holdings = Holdings(hands.game)
        needed = any(ESTIMATORS[name].policies for name in self.names)
        values = values_for(hands.hands, self.values, self.blueprint, holdings) if needed else Zero()
        return Scorer(holdings, values, self.names)


def score_on(cores: int, job: ScoreJob, hands: Hands, scorer: Scorer, tell: Callable[[int], None]) -> dict[str, F64]:
    """Chips of each hand by estimator; `tell` hears how many are done."""
    count = len(hands.hands)
    lots = [Lot(first, slice(first, first + LOT), min(LOT, count - first)) for first in range(0, max(count, 1), LOT)]
    # The first lot here: what has to be compiled or built then is, and who asks what cannot be is told at once.
    spec = WorkerSpec(_ready, job, "scores", first_alone=True)
    workers = workers_for(spec, cores, _scoring(hands, scorer))
    parts = [part for _, part in do_lots(workers, lots, tell=tell, in_order=True)]
    return {name: np.concatenate([part[name] for part in parts]) for name in job.names}


def _ready(job: ScoreJob) -> Callable[[slice], dict[str, F64]]:
    hands = job.read()
    return _scoring(hands, job.scorer(hands))


def _scoring(hands: Hands, scorer: Scorer) -> Callable[[slice], dict[str, F64]]:
    return lambda lot: scorer.score_all(replace(hands, hands=hands.hands[lot]))
