"""Chances of winning against every hand at once: the kernels of `dealer_tools.lbr.equity`.

Arrays are C-contiguous and writable, outputs alias nothing; nothing is checked. The 1,326 hands are in the order of
`protocol.hands`. Ranks come from `protocol.kernels`, whose header says what keys and masks are.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from protocol.kernels import _NO_CARDS, _rank, rank_board_into

_NUM_CARDS = 52
_NUM_HANDS = 1326


@njit(cache=True, nogil=True)
def equity_into(tables, hole, board, out):
    """How often a hand beats each other hand (ties count half) over all completions of the board.

    hole uint8[2], board uint8[3 to 5]; out float64[1326], 0 for hands that share a card with hole or board.
    """
    known = np.uint64(0)
    for card in hole:
        known |= np.uint64(1) << np.uint64(card)
    board_key, board_mask = _NO_CARDS, np.uint64(0)
    for card in board:
        known |= np.uint64(1) << np.uint64(card)
        board_key += tables.card_key[card]
        board_mask |= tables.card_mask[card]
    hole_key = tables.card_key[hole[0]] + tables.card_key[hole[1]]
    hole_mask = tables.card_mask[hole[0]] | tables.card_mask[hole[1]]
    left, cards = np.empty(_NUM_CARDS, np.int64), 0
    for card in range(_NUM_CARDS):
        if not known >> np.uint64(card) & np.uint64(1):
            left[cards] = card
            cards += 1
    missing = 5 - board.shape[0]
    won = np.zeros(_NUM_HANDS, np.int32)
    others = np.empty(_NUM_CARDS, np.int64)
    keys, masks = np.empty(_NUM_CARDS, np.uint64), np.empty(_NUM_CARDS, np.uint64)
    # A place of -1 is no card: with none or one missing each loop that is not needed runs once.
    for first in range(cards) if missing > 0 else range(-1, 0):
        for second in range(first + 1, cards) if missing > 1 else range(-1, 0):
            key, mask = board_key, board_mask
            for place in (first, second):
                if place >= 0:
                    key += tables.card_key[left[place]]
                    mask |= tables.card_mask[left[place]]
            mine = _rank(tables, key + hole_key, mask | hole_mask)
            count = 0
            for place in range(cards):
                if place != first and place != second:
                    others[count] = left[place]
                    keys[count] = tables.card_key[left[place]]
                    masks[count] = tables.card_mask[left[place]]
                    count += 1
            for one in range(1, count):
                high_key, high_mask = key + keys[one], mask | masks[one]
                row = others[one] * (others[one] - 1) // 2
                for two in range(one):
                    theirs = _rank(tables, high_key + keys[two], high_mask | masks[two])
                    won[row + others[two]] += np.int32(mine > theirs) + np.int32(mine >= theirs)
    ways = 1
    if missing > 0:
        ways = cards - 2
    if missing > 1:
        ways = (cards - 2) * (cards - 3) // 2
    for hand in range(_NUM_HANDS):
        out[hand] = won[hand] / (2 * ways)


@njit(cache=True, nogil=True)
def duels_into(tables, boards, weights, begin, end, ranks, margins):
    """Add who beats whom on boards `begin` to `end`: +weight for the row's hand, −weight for the column's.

    boards uint8[n, 5], weights int32[n], ranks uint16[end - begin or more, 1326] for scratch, margins int32[1326, 1326]
    of which only columns below the row are written: it is antisymmetric.
    """
    for number in range(begin, end):
        rank_board_into(tables, boards[number], ranks[number - begin])
    for row in range(1, _NUM_HANDS):
        margin = margins[row]
        for number in range(begin, end):
            mine = ranks[number - begin, row]
            if mine == 0:
                continue
            others, weight = ranks[number - begin], weights[number]
            for column in range(row):
                theirs = others[column]
                sign = np.int32(mine > theirs) - np.int32(mine < theirs)
                margin[column] += weight * sign if theirs != 0 else np.int32(0)
