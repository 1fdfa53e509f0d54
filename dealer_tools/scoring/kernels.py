"""Counts, over all boards that may still come, the hands that beat a given one. Full hold'em, up to two cards missing.

    theirs   index of the given hand
    board    uint8[3 to 5], the cards that lie
    rest     uint8[m], the cards that may still come: neither on the board nor in the given hand
    margin   int32[1326], boards on which a hand beats the given one, less those on which it loses; 0 for hands that
             meet the board, and of no meaning for hands that meet the given one

A board counts for the hands that do not meet it. Outputs are added to and alias nothing.
"""

from __future__ import annotations

import numpy as np

from protocol import kernels as ranking
from protocol.kernels import rank_board_into
from solver.kernels.compiled import kernels_in

kernel = kernels_in(__file__, ranking.__file__)

_HANDS = 1326


@kernel
def _compare(ranks, theirs, signs):
    """1 where a hand wins, -1 where it loses, 0 where it ties or meets the board."""
    given = ranks[theirs]
    for hand in range(_HANDS):
        rank = ranks[hand]
        signs[hand] = np.int32(rank > given) - np.int32((rank < given) & (rank > 0))


@kernel
def margins_into(tables, theirs, board, rest, margin):
    """See the head of this file."""
    ranks, signs = np.empty(_HANDS, np.uint16), np.empty(_HANDS, np.int32)
    whole = np.zeros(5, np.uint8)
    lying = len(board)
    whole[:lying] = board
    if lying == 5:
        rank_board_into(tables, whole, ranks)
        _compare(ranks, theirs, signs)
        margin += signs
        return
    for first in range(len(rest)):
        whole[lying] = rest[first]
        if lying == 4:
            rank_board_into(tables, whole, ranks)
            _compare(ranks, theirs, signs)
            margin += signs
            continue
        for second in range(first + 1, len(rest)):
            whole[4] = rest[second]
            rank_board_into(tables, whole, ranks)
            _compare(ranks, theirs, signs)
            margin += signs


@kernel
def add_signs(tables, boards, weights, totals):
    """For many whole boards: totals int32[1326, 1326] += weight × (1 if row beats column, -1 if it loses), halves only.

    boards uint8[n, 5], weights int32[n]; only columns below the row are written. Eight boards at a time, so that a row
    of totals is fetched once for all of them.
    """
    ranks = np.empty((8, _HANDS), np.uint16)
    for begin in range(0, len(boards), 8):
        count = min(8, len(boards) - begin)
        for number in range(count):
            rank_board_into(tables, boards[begin + number], ranks[number])
        for row in range(1, _HANDS):
            out = totals[row]
            for number in range(count):
                of_board, weight = ranks[number], weights[begin + number]
                given = of_board[row]
                if given:
                    for column in range(row):
                        rank = of_board[column]
                        won = np.int32((rank < given) & (rank > 0)) - np.int32(rank > given)
                        out[column] += weight * won


@kernel
def signs_into(tables, theirs, board, ranks, signs):
    """On a whole board uint8[5]: signs float32[1326], 1 where a hand beats the given one, -1 where it loses."""
    rank_board_into(tables, board, ranks)
    _compare(ranks, theirs, signs)


@kernel
def sums_by_cards(coming, values, with_card, with_pair):
    """Sums of values [n] by each card, and by each pair of cards, of coming uint8[n, cards].

    with_card float64[52]; with_pair float64[52, 52], the smaller card first.
    """
    for number in range(len(coming)):
        value = values[number]
        for one in range(coming.shape[1]):
            first = coming[number, one]
            with_card[first] += value
            for other in range(one + 1, coming.shape[1]):
                second = coming[number, other]
                with_pair[min(first, second), max(first, second)] += value
