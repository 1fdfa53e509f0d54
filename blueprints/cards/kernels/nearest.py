"""The nearest centre of every point, exactly.

Coordinates are whole numbers on a grid of `GRID` steps to one unit of equity, zero in the middle, held in float32; so
are those of centres. With at most `MAX_DIMENSIONS` dimensions every number below (x·c - |c|²/2, largest for the nearest
centre c of x) is a multiple of a half and smaller than 2 ** 23 in every case that can matter: float32 holds it exactly.
So the result depends on no order of additions, no fused multiplication, no machine. Of centres at the same distance
the first is taken.

points   float32 [tile][dimension][POINTS]
centres  float32 [tile of sixteen][dimension][LANES]; norms float32 [tile of sixteen][LANES]: -|c|²/2, of padding `FAR`
"""

from __future__ import annotations

import numpy as np

from blueprints.cards.kernels.compiled import kernel
from blueprints.cards.kernels.lanes import POINTS, centres, coordinates, fill_tile
from solver.kernels.vectors import LANES, add, address, if_positive, larger, mul, store, sub

GRID = 1024
MAX_DIMENSIONS = 32
FAR = -1e30

_LEAST = np.float32(-3e38)


@kernel
def nearest_of(points, first, count, packed, norms, dimensions, labels, at, scores, scratch):
    """The centres of `count` points from tile `first` on, to `labels` (and `scores`, if not empty) from `at` on.

    scratch float32 [2 * POINTS * LANES].
    """
    tiles, width = len(norms) // LANES, POINTS * LANES
    x, c, n, s = address(points, 0), address(packed, 0), address(norms, 0), address(scratch, 0)
    for begin in range(0, count, POINTS):
        here = (first + begin // POINTS) * dimensions * POINTS
        best, where = fill_tile(_LEAST), fill_tile(np.float32(0.0))
        for tile in range(tiles):
            score = centres(n, tile * LANES)
            there = tile * dimensions * LANES
            for d in range(dimensions):
                score = add(score, mul(coordinates(x, here + d * POINTS), centres(c, there + d * LANES)))
            where = if_positive(sub(score, best), fill_tile(np.float32(tile)), where)
            best = larger(score, best)
        store(s, 0, best)
        store(s, width, where)
        for point in range(min(POINTS, count - begin)):
            row = point * LANES
            most = scratch[row]
            for lane in range(1, LANES):
                most = max(most, scratch[row + lane])
            label = tiles * LANES
            for lane in range(LANES):
                if scratch[row + lane] == most:
                    label = min(label, int(scratch[width + row + lane]) * LANES + lane)
            labels[at + begin + point] = label
            if len(scores):
                scores[at + begin + point] = most


@kernel
def nearest(points, begin, end, packed, norms, dimensions, labels, scores):
    """The nearest centre of points `begin` (a multiple of POINTS) to `end`, and its score."""
    scratch = np.empty(2 * POINTS * LANES, np.float32)
    nearest_of(points, begin // POINTS, end - begin, packed, norms, dimensions, labels, begin, scores, scratch)


@kernel
def totals(points, begin, end, dimensions, labels, scores, weights, sums, counts):
    """Adds the weights of points to their centres, int64 [centre], and weighted points, int64 [centre, dimension].

    Returns the weighted sum of squared distances.
    """
    spent = 0
    for point in range(begin, end):
        at = point // POINTS * dimensions * POINTS + point % POINTS
        label, weight, square = labels[point], weights[point], 0
        counts[label] += weight
        for d in range(dimensions):
            value = int(points[at + d * POINTS])
            square += value * value
            sums[label, d] += weight * value
        spent += weight * (square - int(2 * scores[point]))
    return spent


@kernel
def approach(points, begin, end, dimensions, centre, weights, distances):
    """Lower the weighted squared distances, int64 [point], to what they are to one more centre, where it is nearer."""
    for tile in range(begin // POINTS, (end + POINTS - 1) // POINTS):
        squares = np.zeros(POINTS, np.float32)
        at = tile * dimensions * POINTS
        for d in range(dimensions):
            for p in range(POINTS):
                off = points[at + d * POINTS + p] - centre[d]
                squares[p] += off * off
        for point in range(tile * POINTS, min(end, (tile + 1) * POINTS)):
            distances[point] = min(distances[point], weights[point] * int(squares[point % POINTS]))
