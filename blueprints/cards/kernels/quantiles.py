"""Features of the flop and the turn: how the strength to come is distributed, as a quantile function.

The distribution of a hand's stretched strength (`strengths`) over the cards to come is told by its quantile function:
the strengths in order, averaged over `Q` equal shares of the probability. The Euclidean distance between two quantile
functions (over √Q) IS the earth mover's distance with squared cost, Wasserstein-2: in one dimension the best transport
never crosses. And the mean of quantile functions is the quantile function of the W2 barycentre. So plain k-means on
these vectors is exact k-means in that distance: no approximate EMD, no medoids. The papers on potential-aware
abstraction use W1, whose barycentres are medians of quantile functions. W2 punishes a large move of a little
probability more: a draw (most of the time nothing, sometimes the nuts) is kept even further from a middling made hand
of the same mean.

    turn    strength on the river, over 46 cards
    flop    strength on the turn (the mean of its rivers), over 47 cards: what a player will know next; and beside it
            the strength on the river, over 1,081 run-outs. The setting `turn_share` weighs the squares of the two.

Sorting is a network of exchanges (Batcher's odd-even merges), 32 hands in the lanes of a vector. Values that cannot
come (`DEAD`, the hand's own cards) sort behind the others. A value that lies in two shares is divided in whole
numbers, so nothing is rounded before a coordinate is put on the grid.

rows    uint16 [value][hand], stride `stride`; a block of 32 hands is copied to `block` uint16 [value][HANDS]
points  as in `nearest`; coordinates of one part go to dimensions `at` and following
"""

from __future__ import annotations

import numpy as np

from blueprints.cards.kernels.compiled import kernel
from blueprints.cards.kernels.lanes import HANDS, POINTS, exchange, gather_weight
from blueprints.cards.kernels.places import live_hands, place_of
from solver.kernels.vectors import address, item

MAX_LIVE = 1184
"""1,176 live hands on a flop, in whole blocks."""


def exchanges(count):
    """Batcher's network for `count` values: int32[exchange, 2], places in units of a block's row."""
    pairs = []
    p = 1
    while p < count:
        k = p
        while k >= 1:
            for j in range(k % p, count - k, 2 * k):
                for i in range(j, j + min(k, count - j - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        pairs += [(i, i + k)]
            k //= 2
        p *= 2
    return np.array(pairs, np.int32).reshape(-1, 2) * HANDS


@kernel
def quantiles_of(rows, values, stride, hands, alive, network, quantiles, scale, middle, points, dimensions, at):
    """Quantile functions of `hands` columns with `alive` values each: round(mean * scale / alive) - middle."""
    block = np.empty(values * HANDS, np.uint16)
    sums = np.empty(HANDS, np.int32)
    b, n, s, r = address(block, 0), address(network, 0), address(sums, 0), 0
    for first in range(0, hands, HANDS):
        for value in range(values):
            r = value * stride + first
            for lane in range(HANDS):
                block[value * HANDS + lane] = rows[r + lane]
        for number in range(len(network)):
            exchange(b, item(n, 2 * number), item(n, 2 * number + 1))
        for quantile in range(quantiles):
            begin, end = quantile * alive, (quantile + 1) * alive
            sums[:] = 0
            for value in range(begin // quantiles, (end - 1) // quantiles + 1):
                weight = min((value + 1) * quantiles, end) - max(value * quantiles, begin)
                gather_weight(s, b, value * HANDS, weight)
            for lane in range(min(HANDS, hands - first)):
                hand = first + lane
                tile = (hand // POINTS) * dimensions + at + quantile
                points[tile * POINTS + hand % POINTS] = np.rint(sums[lane] * scale) - middle


@kernel
def _gather_turn(turns, keys, perms, board, live, count, rows, at):
    """Strengths of some hands on a turn board."""
    place, permutation = place_of(board, 4, keys)
    row, images = turns[place], perms[permutation]
    for number in range(count):
        rows[at + number] = row[images[live[number]]]


@kernel
def _gather_river(rivers, scale, keys, perms, board, live, count, rows, at):
    """Stretched strengths of some hands on a river."""
    place, permutation = place_of(board, 5, keys)
    row, images = rivers[place], perms[permutation]
    for number in range(count):
        rows[at + number] = scale[row[images[live[number]]]]


@kernel
def turn_points(shown, rivers, stretch, keys5, perms, network, quantiles, scale, middle, rows, points):
    """Features of all live hands of a turn board; returns how many."""
    live = np.empty(MAX_LIVE, np.int16)
    count = live_hands(shown, 4, live)
    board = np.empty(5, np.uint8)
    board[:4] = shown
    value = 0
    for card in range(52):
        if card != board[0] and card != board[1] and card != board[2] and card != board[3]:
            board[4] = card
            _gather_river(rivers, stretch, keys5, perms, board, live, count, rows, value * MAX_LIVE)
            value += 1
    quantiles_of(rows, 48, MAX_LIVE, count, 46, network, quantiles, scale, middle, points, quantiles, 0)
    return count


@kernel
def flop_points(shown, turns, rivers, stretch, keys4, keys5, perms, networks, quantiles, scales, middles, rows, points):
    """Features of all live hands of a flop; returns how many."""
    live = np.empty(MAX_LIVE, np.int16)
    count = live_hands(shown, 3, live)
    board = np.empty(5, np.uint8)
    board[:3] = shown
    left = np.empty(49, np.uint8)
    cards = 0
    for card in range(52):
        if card != board[0] and card != board[1] and card != board[2]:
            left[cards] = card
            cards += 1
    for turn in range(49):
        board[3] = left[turn]
        _gather_turn(turns, keys4, perms, board, live, count, rows, turn * MAX_LIVE)
    quantiles_of(rows, 49, MAX_LIVE, count, 47, networks[0], quantiles, scales[0], middles[0], points, 2 * quantiles, 0)
    value = 0
    for turn in range(49):
        for river in range(turn):
            board[3], board[4] = left[turn], left[river]
            _gather_river(rivers, stretch, keys5, perms, board, live, count, rows, value * MAX_LIVE)
            value += 1
    quantiles_of(
        rows,
        1176,
        MAX_LIVE,
        count,
        1081,
        networks[1],
        quantiles,
        scales[1],
        middles[1],
        points,
        2 * quantiles,
        quantiles,
    )
    return count
