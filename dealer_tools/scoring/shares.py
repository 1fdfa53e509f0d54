"""Scores of many hands on several cores: each process reads the match for itself, and scores a lot of hands at a time.

A hand's score depends on nothing but the hand, so the bits are those of one process. Stores stay open while they are
read, and an open one must not be carried into a forked process: hence each reads its own.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import numpy as np

from dealer_tools.scoring.estimators import ESTIMATORS, Scorer
from dealer_tools.scoring.holdings import F64, Holdings, ScoreError
from dealer_tools.scoring.sources import Hands, first_hands, read_hands
from dealer_tools.scoring.values import Zero
from dealer_tools.scoring.valuing import values_for

LEAST_HANDS: Final = 2_000
"""A process begins in some seconds, in which one that is there scores hundreds of hands."""
LOT: Final = 100


@dataclass(frozen=True, slots=True)
class Job:
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


def score_on(cores: int, job: Job, hands: Hands, scorer: Scorer, tell: Callable[[int], None]) -> dict[str, F64]:
    """Chips of each hand by estimator; `tell` hears how many are done."""
    lots = [slice(first, first + LOT) for first in range(0, len(hands.hands), LOT)]
    if cores == 1 or len(lots) < 2:
        return scorer.score_all(hands, tell)
    # The first lot here: what has to be compiled or built then is, and who asks what cannot be is told at once.
    parts = {0: scorer.score_all(replace(hands, hands=hands.hands[lots[0]]), tell)}
    with ProcessPoolExecutor(min(cores, len(lots) - 1), get_context("spawn"), _begin, (job,)) as pool:
        running = {pool.submit(_score, lot): number for number, lot in enumerate(lots[1:], 1)}
        try:
            for future in as_completed(running):
                parts[running[future]] = future.result()
                tell(min(len(parts) * LOT, len(hands.hands)))
        except BrokenProcessPool:
            raise ScoreError(
                "a process that scores has died: expected memory for each (--cores 1 takes least)"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return {name: np.concatenate([parts[number][name] for number in range(len(lots))]) for name in job.names}


_here: tuple[Hands, Scorer] | None = None
"""In a process that takes part."""


def _begin(job: Job) -> None:
    global _here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked hears it too, and ends us
    hands = job.read()
    _here = hands, job.scorer(hands)


def _score(lot: slice) -> dict[str, F64]:
    assert _here is not None
    hands, scorer = _here
    return scorer.score_all(replace(hands, hands=hands.hands[lot]))
