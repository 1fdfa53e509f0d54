"""k-means on weighted points of the grid, the same for a seed whatever the machine and the number of threads.

Points and centres are whole numbers (`nearest`), weights and sums too, so no sum depends on its order. Centres are
rounded to the grid after each round: at 1,024 steps to the unit that is far below the width of a bucket.

Searches begin with k-means++: each next centre is a point drawn with probability in proportion to its weight times its
squared distance from the centres so far. Most of what a good beginning is worth shows on a part of the points already:
`starts` searches run over a part of `PART` points for each centre, and the best of them goes on over all points. A
centre that loses all its points moves to the point that is farthest from its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.kernels import nearest
from blueprints.cards.kernels.lanes import POINTS
from blueprints.cards.points import I16, Points, pack, points_of
from blueprints.cards.work import PieceWork
from protocol.arrays import I64

PART = 64


@dataclass(frozen=True, slots=True)
class Clusters:
    """Centres [centre, dimension] and the weighted sum of squared distances from them."""

    centres: I16
    spent: int
    rounds: int


def cluster(
    points: Points,
    weights: I64,
    count: int,
    *,
    starts: int,
    rounds: int,
    seed: list[int],
    work: PieceWork,
    task: str = "",
) -> Clusters:
    """The best of `starts` searches for `count` centres."""
    draws = np.random.default_rng(seed)
    part, part_weights = points, weights
    if points.count > PART * count:
        chosen = np.sort(draws.choice(points.count, PART * count, replace=False))
        part, part_weights = points_of(points.select(chosen)), weights[chosen]
    whole = part is points
    # A round over all points counts as much as it is longer; searches that end early only make the estimate too long.
    share_of_starts = part.count * starts / (part.count * starts + (0 if whole else points.count))
    best: Clusters | None = None
    for start in range(starts):
        centres = _begin(part, part_weights, count, draws, work)
        begun, width = start / starts * share_of_starts, share_of_starts / starts
        found = _improve(part, part_weights, centres, rounds, work, task, begun, width)
        if best is None or found.spent < best.spent:
            best = found
    assert best is not None
    if not whole:
        best = _improve(points, weights, best.centres, rounds, work, task, share_of_starts, 1 - share_of_starts)
    if task:
        work.report(task, 1.0)
    return best


def assign(points: Points, centres: I16, work: PieceWork) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
    """The nearest centre of every point, and x·c - |c|²/2."""
    packed = pack(centres)
    labels, scores = np.empty(points.count, np.uint16), np.empty(points.count, np.float32)
    work.pieces(
        points.count,
        lambda begin, end: nearest.nearest(
            points.values, begin, end, packed.values, packed.norms, points.dimensions, labels, scores
        ),
        grain=POINTS,
    )
    return labels, scores


def _begin(points: Points, weights: I64, count: int, draws: np.random.Generator, work: PieceWork) -> I16:
    """k-means++."""
    distances = np.full(points.count, np.iinfo(np.int64).max)
    ends = np.cumsum(weights)
    centres = np.empty((count, points.dimensions), np.float32)
    for number in range(count):
        # If every point is a centre already, those that remain stay without points.
        ticket = draws.integers(max(int(ends[-1]), 1))
        chosen = min(int(np.searchsorted(ends, ticket, side="right")), points.count - 1)
        centres[number] = points.select(np.array([chosen]))[0]
        nearest.approach(points.values, 0, points.count, points.dimensions, centres[number], weights, distances)
        np.cumsum(distances, out=ends)
    return centres.astype(np.int16)


def _improve(
    points: Points, weights: I64, centres: I16, rounds: int, work: PieceWork, task: str, begun: float, width: float
) -> Clusters:
    """Rounds of k-means until nothing changes; progress goes from `begun` on by `width`."""
    count = len(centres)
    spent = 0
    for done in range(rounds):
        if task:
            work.report(task, begun + width * done / rounds)
        labels, scores = assign(points, centres, work)
        spent, sums, held = _totals(points, weights, labels, scores, count, work)
        moved = np.rint(sums / np.maximum(held, 1)[:, None]).astype(np.int16)
        empty = np.flatnonzero(held == 0)
        if len(empty):
            moved[empty] = _farthest(points, scores, len(empty))
        if np.array_equal(moved, centres):
            return Clusters(centres, spent, done + 1)
        centres = moved
    labels, scores = assign(points, centres, work)
    spent, _, _ = _totals(points, weights, labels, scores, count, work)
    return Clusters(centres, spent, rounds)


def _totals(
    points: Points, weights: I64, labels: NDArray[np.uint16], scores: NDArray[np.float32], count: int, work: PieceWork
) -> tuple[int, I64, I64]:
    def add_up(begin: int, end: int) -> tuple[int, I64, I64]:
        sums, held = np.zeros((count, points.dimensions), np.int64), np.zeros(count, np.int64)
        spent = nearest.totals(points.values, begin, end, points.dimensions, labels, scores, weights, sums, held)
        return int(spent), sums, held

    parts = work.pieces(points.count, add_up)
    return (
        sum([spent for spent, _, _ in parts]),
        np.sum([sums for _, sums, _ in parts], axis=0),
        np.sum([held for _, _, held in parts], axis=0),
    )


def _farthest(points: Points, scores: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Different points, the farthest from their centres first, as many as there are."""
    rows = points.rows()
    distances = (rows.astype(np.float64) ** 2).sum(axis=1) - 2 * scores.astype(np.float64)
    order = np.argsort(-distances, kind="stable")[: 16 * count]
    first = np.sort(np.unique(rows[order], axis=0, return_index=True)[1])
    chosen = order[first]
    return rows[np.resize(chosen, count)]
