"""The strength of every hand on every canonical board: whole numbers, from which all features come.

On the river, two for each opposing hand that it beats and one for each that it ties, of the 990 that can be: 0 to
`RIVER_STRENGTH` = 1,980, its equity against a random hand times 1,980. One walk over the hands in order of strength
with a total by card counts them (`solver.kernels.sweeps` has the idea).

Before the river this scale is stretched (`stretched`), since opponents hold no random hands: whoever puts chips into
the pot has more strong hands than chance deals, and between the best sixteenth of hands and the nuts there is more to
win or lose than between two hands that never win. Strengths are replaced by places on a scale of `FULL` steps that is
steeper above each of ½, ¾, ⅞, …: the same groups as on the river (`showdowns`), which there have dimensions of their
own. Measured in games of turn and river, ranges as in play, 100 buckets for 10 to 12 turn boards, what best responses
win of the pot: without stretching 2.4, 2.5 and 3.6 % on three sets of boards, with an emphasis of ½ 1.8, 2.0 and 2.6 %
(0.3 % without buckets).

On the turn the strength is the sum of the stretched ones over 46 rivers, over 16 to fit 16 bits. Tables are temporary:
uint16[canonical board, 1326], `DEAD` where hand and board share a card.
"""

from __future__ import annotations

import numpy as np

from blueprints.cards.kernels.compiled import kernel
from blueprints.cards.kernels.places import place_of
from protocol.kernels import order_ranks_into, rank_board_into

DEAD = 65535
RIVER_STRENGTH = 2 * 990
FULL = 11 * RIVER_STRENGTH
"""The largest stretched strength; without stretching every step of the river's is eleven."""
TURN_STRENGTH = 46 * FULL / 16
"""The largest sum over 46 rivers, as it is stored."""


def stretched(emphasis, halvings):
    """[strength] its place on the stretched scale, uint16[65536]; `DEAD` stays.

    The slope is √(1 + emphasis · Σ 4^k) over the k up to `halvings` for which the strength lies in the best 2^-k.
    """
    middles = (np.arange(RIVER_STRENGTH) + 0.5) / RIVER_STRENGTH
    squares = np.ones(RIVER_STRENGTH)
    for halving in range(1, halvings + 1):
        squares += emphasis * 4.0**halving * (middles > 1 - 0.5**halving)
    places = np.cumsum(np.sqrt(squares))
    scale = np.full(65536, DEAD, np.uint16)
    scale[0] = 0
    scale[1 : RIVER_STRENGTH + 1] = np.rint(places * (FULL / places[-1]))
    scale.setflags(write=False)
    return scale


@kernel
def river_strengths(tables, boards, begin, end, hand_cards, out):
    """Rows `begin` to `end` of the river's table; hand_cards uint8[1326, 2]."""
    ranks = np.empty(1326, np.uint16)
    scratch, order = np.empty(1326, np.int16), np.empty(1326, np.int16)
    by_card = np.empty(52, np.int64)
    for number in range(begin, end):
        rank_board_into(tables, boards[number], ranks)
        live = order_ranks_into(ranks, scratch, order)
        row = out[number]
        row[:] = DEAD
        by_card[:] = 0
        first = 0
        while first < live:
            last = first
            rank = ranks[order[first]]
            while last < live and ranks[order[last]] == rank:
                hand = order[last]
                row[hand] = first - by_card[hand_cards[hand, 0]] - by_card[hand_cards[hand, 1]]
                last += 1
            for place in range(first, last):
                hand = order[place]
                by_card[hand_cards[hand, 0]] += 1
                by_card[hand_cards[hand, 1]] += 1
            for place in range(first, last):
                hand = order[place]
                # The hand itself is once among all and twice among those of its cards.
                row[hand] += last - by_card[hand_cards[hand, 0]] - by_card[hand_cards[hand, 1]] + 1
            first = last


@kernel
def turn_strengths(boards, begin, end, keys, rivers, scale, perms, out):
    """Rows `begin` to `end` of the turn's table, from that of the river and its keys, on the stretched scale."""
    sums = np.empty(1326, np.int64)
    board = np.empty(5, np.uint8)
    for number in range(begin, end):
        sums[:] = 0
        board[:4] = boards[number]
        dead = np.uint64(0)
        for place in range(4):
            dead |= np.uint64(1) << np.uint64(board[place])
        for card in range(52):
            if dead >> np.uint64(card) & np.uint64(1):
                continue
            board[4] = card
            place, permutation = place_of(board, 5, keys)
            row, images = rivers[place], perms[permutation]
            for hand in range(1326):
                strength = scale[row[images[hand]]]
                if strength != DEAD:
                    sums[hand] += strength
        hand = 0
        for high in range(52):
            for low in range(high):
                met = (dead >> np.uint64(high) | dead >> np.uint64(low)) & np.uint64(1)
                out[number, hand] = DEAD if met else sums[hand] >> 4
                hand += 1


@kernel
def count_strengths(rivers, weights, begin, end, classes, counts):
    """How often hands of each class have each strength: counts int64[169, RIVER_STRENGTH + 1]."""
    for number in range(begin, end):
        for hand in range(1326):
            strength = rivers[number, hand]
            if strength != DEAD:
                counts[classes[hand], strength] += weights[number]
