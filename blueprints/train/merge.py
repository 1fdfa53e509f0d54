"""One strategy of several: each player plays one of them, drawn before the cards and kept for the whole hand.

So training adds up that was done apart: on machines that know nothing of each other, or on some that are long gone.
Against any opponent such a player wins the weighted mean of what the strategies win, so that it loses to its best
response at most the weighted mean of what they lose to theirs; and what in them is chance, not strategy, evens out.

Nothing need be drawn at the table: a player who remembers what it knew and did can as well play, at each decision, the
mean of the strategies' actions, each counting as often as it would have brought the player there (Kuhn 1953):

    merged(I, a)  ∝  Σ_k  weight_k · reach_k(I) · strategy_k(I, a)

reach_k(I) is the player's own part in coming to information set I. A walk that follows a strategy adds just this to its
averages, for the bucket of each hand that its board allows, and the same boards are walked for all. With imperfect
recall a bucket holds hands with different pasts, whose reaches are added up, as in training.

`merge` does this for any strategies of one tree, `FileMerge` for blueprint files and what they say of their training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from blueprints.cards.interface import Cards
from blueprints.storage import (
    REVISIONS_APART,
    Blueprint,
    TrainingRecord,
    revisions_text,
    write_blueprint,
)
from blueprints.train.public.sampling import PublicSampling
from blueprints.train.trainer import Tables
from blueprints.tree import BettingTree
from protocol.arrays import F32
from protocol.errors import BlueprintError
from protocol.game import Game

BOARDS: Final = 2000
"""On which reaches are estimated, if it is not said otherwise."""
_LOT: Final = 100
"""Boards that are walked one after another: a strategy is made ready for each lot anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A strategy, in any unit, and how much it counts."""

    tables: Tables
    weight: float


def merge(
    game: Game, tree: BettingTree, cards: Cards, shares: Sequence[Share], *, boards: int, seed: int = 0,
    threads: int = 1, tell: Callable[[float], None] = lambda share: None,
) -> tuple[F32, ...]:  # fmt: skip
    """Strategies of one tree and one card abstraction as one: by street [edge of the street, bucket], in some unit.

    `tell` hears which share of the work is done.
    """
    sampler = PublicSampling(game, tree, cards, seed=seed, threads=threads)
    total = sum(share.weight for share in shares)
    lots = [min(_LOT, boards - begin) for begin in range(0, boards, _LOT)]
    for number, lot in enumerate(lots):
        for done, share in enumerate(shares):
            sampler.period(number, share.weight / total, lot, share.tables)  # the same boards for each
            tell((number + (done + 1) / len(shares)) / len(lots))
    averages = sampler.averages()
    for street, average in enumerate(averages):
        if len(average):
            fill_in(average, tree, street, [(share.tables[street], share.weight / total) for share in shares])
    return averages


def fill_in(average: F32, tree: BettingTree, street: int, tables: Sequence[tuple[np.ndarray, float]]) -> None:
    """Buckets that none of the boards brought to a node: the plain mean, since nothing is known of their reach."""
    first = tree.first_edges(street)
    begins, counts = first[:-1], np.diff(first)

    def by_edge(of_nodes: np.ndarray) -> np.ndarray:
        return np.repeat(of_nodes, counts, axis=0)

    nowhere = by_edge(np.add.reduceat(average, begins, axis=0) == 0)
    for table, weight in tables:
        sums = np.add.reduceat(table, begins, axis=0, dtype=np.float32)
        known = np.float32(weight) / np.where(sums > 0, sums, 1)
        np.add(average, by_edge(known) * table, out=average, where=nowhere)


class FileMerge:
    """Blueprint files as one: strategies of one game, bets and buckets, learnt from different boards."""

    def __init__(self, files: Sequence[Blueprint]) -> None:
        """Raises `BlueprintError` unless they can be merged."""
        _check_alike(files)
        self._files, self._first, self.record = files, files[0], _record(files)

    def merge(
        self,
        cards: Cards,
        *,
        boards: int = BOARDS,
        threads: int = 1,
        tell: Callable[[float], None] = lambda share: None,
    ) -> tuple[F32, ...]:
        """Their strategies as one; each run counts by the square of its walks."""
        shares = [
            Share(file.strategies(), float(sum(max(run.walks, 1) ** 2 for run in file.runs))) for file in self._files
        ]
        return merge(self._first.game, self._first.tree, cards, shares, boards=boards, threads=threads, tell=tell)

    def write(self, path: Path, averages: Sequence[F32]) -> str:
        """A blueprint with the settings of the first; returns its digest."""
        first = self._first
        return write_blueprint(
            path,
            settings=first.settings,
            game=first.game,
            tree=first.tree,
            cards=first.abstraction(),
            averages=averages,
            training=self.record,
        )


def _check_alike(files: Sequence[Blueprint]) -> None:
    """Raise `BlueprintError` unless all are of one game, bets, buckets and trainer, and of different boards."""
    first, seen = files[0], dict.fromkeys(_seeds(files[0]), files[0])
    for file in files[1:]:
        for name, theirs, mine in (
            ("game", file.header.game_hash, first.header.game_hash),
            ("bets", file.tree.digest, first.tree.digest),
            ("buckets", file.header.cards, first.header.cards),
            ("sampling", file.settings.trainer.sampling, first.settings.trainer.sampling),
            ("linear", file.settings.trainer.linear, first.settings.trainer.linear),
        ):
            if theirs != mine:
                raise BlueprintError(f"{file.path}: {name} {theirs}: expected those of {first.path}: {mine}")
        for seed in _seeds(file):
            if seed in seen:
                raise BlueprintError(
                    f"{file.path}: trained with seed {seed}: expected another than that of {seen[seed].path}, "
                    "or both have learnt from the same boards"
                )
        seen |= dict.fromkeys(_seeds(file), file)


def _seeds(file: Blueprint) -> list[int]:
    return sorted({seed for run in file.runs for seed in run.seeds})


def _record(files: Sequence[Blueprint]) -> TrainingRecord:
    """What all of them cost."""
    records = [file.header.training for file in files]
    return TrainingRecord(
        walks=sum(record.walks for record in records),
        updates=sum(record.updates for record in records),
        periods=sum(record.periods for record in records),
        core_seconds=sum(record.core_seconds for record in records),
        revision=revisions_text([one for record in records for one in record.revision.split(REVISIONS_APART)]),
        runs=tuple(run for file in files for run in file.runs),
    )
