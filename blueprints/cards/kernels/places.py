"""Where a board and its hands stand in tables by canonical board, compiled.

A board's place is that of its canonical form among `protocol.hands.canonical_boards`, found by its key in the sorted
`keys`. Tables have a column for each *live* hand: the hands of the cards that are not on the canonical board, numbered
among themselves in the same colex order as all hands.

boards uint8[n, b]; keys uint64[canonical board]; perms int16[24, 1326], the hand that each hand becomes.
"""

from __future__ import annotations

import numpy as np

from blueprints.cards.kernels.compiled import kernel

_ONE = np.uint64(1)


@kernel
def place_of(board, length, keys):
    """The place of the first `length` cards of `board`, and the number of the permutation of suits that leads there."""
    masks = np.zeros(4, np.uint64)
    for place in range(length):
        masks[board[place] & 3] |= _ONE << np.uint64(board[place] >> 2)
    key = np.uint64(0)
    suits = np.zeros(4, np.int64)
    for suit in range(4):
        rank = 0
        for other in range(4):
            if masks[other] < masks[suit] or (masks[other] == masks[suit] and other < suit):
                rank += 1
        suits[suit] = rank
        key |= masks[suit] << np.uint64(13 * rank)
    low, high = 0, len(keys)
    while high - low > 1:
        middle = (low + high) >> 1
        if keys[middle] <= key:
            low = middle
        else:
            high = middle
    a, b = suits[0], suits[1]
    return low, 6 * a + 2 * (b - (1 if b > a else 0)) + (1 if suits[2] > suits[3] else 0)


@kernel
def live_place(board, length, suits, one, other):
    """The number of a hand among those that a canonical board leaves; `suits` lead there."""
    high, low = np.int64(one & ~3 | suits[one & 3]), np.int64(other & ~3 | suits[other & 3])
    if high < low:
        high, low = low, high
    under_high, under_low = 0, 0
    for place in range(length):
        card = board[place] & ~3 | suits[board[place] & 3]
        under_high += card < high
        under_low += card < low
    high, low = high - under_high, low - under_low
    return high * (high - 1) // 2 + low


@kernel
def live_hands(board, length, live):
    """The hands that do not meet the board, ascending, to `live`; returns how many."""
    dead = np.uint64(0)
    for place in range(length):
        dead |= _ONE << np.uint64(board[place])
    count = 0
    for high in range(52):
        if dead >> np.uint64(high) & _ONE:
            continue
        for low in range(high):
            if not dead >> np.uint64(low) & _ONE:
                live[count] = high * (high - 1) // 2 + low
                count += 1
    return count


@kernel
def spread(row, board, length, suits, out):
    """A row of a table to all hands of the board that it is read for: out uint16[1326], dead hands 0.

    `suits` uint8[4] is the permutation that leads to the canonical board.
    """
    dead = np.uint64(0)
    images = np.empty(52, np.int64)
    for place in range(length):
        card = board[place]
        dead |= _ONE << np.uint64(card & ~3 | suits[card & 3])
    below = 0
    number = np.empty(52, np.int64)
    for card in range(52):
        if dead >> np.uint64(card) & _ONE:
            number[card] = -1
            below += 1
        else:
            number[card] = card - below
    for card in range(52):
        images[card] = number[card & ~3 | suits[card & 3]]
    hand = 0
    for high in range(52):
        a = images[high]
        for low in range(high):
            b = images[low]
            if a < 0 or b < 0:
                out[hand] = 0
            else:
                larger, smaller = max(a, b), min(a, b)
                out[hand] = row[larger * (larger - 1) // 2 + smaller]
            hand += 1


@kernel
def look_up(table, keys, board, length, permutations, out):
    """The row of one board: table uint16[canonical board, live hand]."""
    place, number = place_of(board, length, keys)
    spread(table[place], board, length, permutations[number], out)


@kernel
def deal_into(classes, flops, turns, rivers, keys3, keys4, keys5, board, permutations, out):
    """All four streets of a board of five cards: out uint16[4, 1326]; no rivers if that table is empty."""
    out[0, :] = classes
    look_up(flops, keys3, board, 3, permutations, out[1])
    look_up(turns, keys4, board, 4, permutations, out[2])
    if len(rivers):
        look_up(rivers, keys5, board, 5, permutations, out[3])


@kernel
def look_up_hand(table, keys, boards, permutations, one, other, out):
    """The numbers of one hand on many boards that it does not meet: out uint16[n]."""
    length = boards.shape[1]
    for number in range(len(boards)):
        place, permutation = place_of(boards[number], length, keys)
        out[number] = table[place, live_place(boards[number], length, permutations[permutation], one, other)]
