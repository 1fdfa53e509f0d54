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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from blueprints.cards.interface import Cards
from blueprints.storage import Blueprint, first_edges
from blueprints.train.public.sampling import PublicSampling
from blueprints.train.trainer import Tables
from blueprints.tree import BettingTree
from protocol.arrays import F32
from protocol.game import Game

_LOT: Final = 100
"""Boards that are walked one after another: a strategy is made ready for each lot anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A strategy, in any unit, and how much it counts."""

    tables: Tables
    weight: float


def share_of(file: Blueprint) -> Share:
    """Runs count by the square of their walks."""
    return Share(file.strategies(), float(sum(max(run.walks, 1) ** 2 for run in file.runs)))


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
    first = first_edges(tree, street)
    begins, counts = first[:-1], np.diff(first)

    def by_edge(of_nodes: np.ndarray) -> np.ndarray:
        return np.repeat(of_nodes, counts, axis=0)

    nowhere = by_edge(np.add.reduceat(average, begins, axis=0) == 0)
    for table, weight in tables:
        sums = np.add.reduceat(table, begins, axis=0, dtype=np.float32)
        known = np.float32(weight) / np.where(sums > 0, sums, 1)
        np.add(average, by_edge(known) * table, out=average, where=nowhere)
