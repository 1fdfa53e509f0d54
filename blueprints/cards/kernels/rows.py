"""What is done board by board: features of all live hands, then their nearest centres, or a sample of the features.

Each kernel goes over boards `begin` to `end`. With `packed` centres it writes a row of buckets for each board: table
uint16[board, live hand]. With `picks` int16[board, pick] it copies the features of these live hands to `sample`, points
as in `nearest`, `pick` points a board.
"""

from __future__ import annotations

import numpy as np

from blueprints.cards.kernels.compiled import kernel
from blueprints.cards.kernels.lanes import POINTS
from blueprints.cards.kernels.nearest import nearest_of
from blueprints.cards.kernels.places import live_hands
from blueprints.cards.kernels.quantiles import MAX_LIVE, flop_points, turn_points
from blueprints.cards.kernels.showdowns import river_points
from solver.kernels.vectors import LANES


@kernel
def _finish(points, count, dimensions, number, packed, norms, table, picks, sample, scores, scratch):
    if len(packed):
        nearest_of(points, 0, count, packed, norms, dimensions, table[number], 0, scores, scratch)
    for pick in range(picks.shape[1]):
        source, target = picks[number, pick], number * picks.shape[1] + pick
        for d in range(dimensions):
            at = (target // POINTS * dimensions + d) * POINTS + target % POINTS
            sample[at] = points[(source // POINTS * dimensions + d) * POINTS + source % POINTS]


@kernel
def flop_rows(
    boards, begin, end, turns, rivers, stretch, keys4, keys5, perms, networks, quantiles, scales, middles,
    packed, norms, table, picks, sample,
):  # fmt: skip
    """Flops."""
    rows = np.empty(1176 * MAX_LIVE, np.uint16)
    points = np.zeros(MAX_LIVE * 2 * quantiles, np.float32)
    scratch, scores = np.empty(2 * POINTS * LANES, np.float32), np.empty(0, np.float32)
    for number in range(begin, end):
        count = flop_points(
            boards[number],
            turns,
            rivers,
            stretch,
            keys4,
            keys5,
            perms,
            networks,
            quantiles,
            scales,
            middles,
            rows,
            points,
        )
        _finish(points, count, 2 * quantiles, number, packed, norms, table, picks, sample, scores, scratch)


@kernel
def turn_rows(
    boards,
    begin,
    end,
    rivers,
    stretch,
    keys5,
    perms,
    network,
    quantiles,
    scale,
    middle,
    packed,
    norms,
    table,
    picks,
    sample,
):
    """Boards of four cards."""
    rows = np.empty(48 * MAX_LIVE, np.uint16)
    points = np.zeros(MAX_LIVE * quantiles, np.float32)
    scratch, scores = np.empty(2 * POINTS * LANES, np.float32), np.empty(0, np.float32)
    for number in range(begin, end):
        count = turn_points(
            boards[number], rivers, stretch, keys5, perms, network, quantiles, scale, middle, rows, points
        )
        _finish(points, count, quantiles, number, packed, norms, table, picks, sample, scores, scratch)


@kernel
def river_rows(tables, boards, begin, end, hand_cards, units, halves, clusters, packed, norms, table, picks, sample):
    """Boards of five cards."""
    dimensions = clusters + len(halves) // LANES - 1
    points = np.zeros(MAX_LIVE * dimensions, np.float32)
    scratch, scores = np.empty(2 * POINTS * LANES, np.float32), np.empty(0, np.float32)
    for number in range(begin, end):
        count = river_points(tables, boards[number], hand_cards, units, halves, clusters, points)
        _finish(points, count, dimensions, number, packed, norms, table, picks, sample, scores, scratch)


@kernel
def river_buckets(board, tables, hand_cards, units, halves, clusters, packed, norms, out):
    """The buckets of one board as it is, without a table: out uint16[1326], dead hands 0."""
    dimensions = clusters + len(halves) // LANES - 1
    points = np.zeros(MAX_LIVE * dimensions, np.float32)
    labels, live = np.empty(1326, np.uint16), np.empty(1326, np.int16)
    scratch, scores = np.empty(2 * POINTS * LANES, np.float32), np.empty(0, np.float32)
    count = river_points(tables, board, hand_cards, units, halves, clusters, points)
    nearest_of(points, 0, count, packed, norms, dimensions, labels, 0, scores, scratch)
    live_hands(board, 5, live)
    out[:] = 0
    for number in range(count):
        out[live[number]] = labels[number]
