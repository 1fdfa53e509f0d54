"""What play is worth where it ends: showdowns and folds of a part, by hand, added to buckets and to roots at once.

The sweeps are those of `solver.kernels.sweeps` (read that first): hands in order of strength, running totals of the
opponent's reaches in all lanes and for each card. Here nothing is stored that one pass can do without:

- the reach of a hand at a slot is made where it is counted: how far the hand has come to the root, times how often its
  bucket comes from there to the slot;
- the totals of all hands are not counted hand by hand but by *pairs* of a card and a bucket, of which there are fewer:
  how far all hands of the bucket with that card have come, which is the same for all slots, times how often it goes on.
  Folds need nothing else. A showdown begins with minus half of them, so that what is read before and after a group of
  equal hands adds up to (weaker) + (weaker or equal) − (all), and is final;
- the value of a hand is added to its bucket, slot by slot, and to what the hand has at the root (weighed by how often
  its own bucket comes to the slot, the sum over slots), as soon as it is known.

A sweep is compiled for every width from 1 to `MAX_VECTORS` slots, each a vector of sixteen roots; wider parts are swept
in chunks of even width (`solver.kernels.sweeps.chunk`). Positions are in elements, `theirs`, `mine` and `sums` begin at
the first slot of the chunk and have so many elements for each bucket:

    root_reach  [hand][16]          how far the opponent's hands have come to the roots
    pair_reach  [pair][16]          the same, all hands of a bucket with a card together
    theirs   [bucket][slot][16]     how often the opponent's buckets come from the root to the slot
    mine     [bucket][slot][16]     the same of the player whose values these are
    sums     [bucket][slot][16]     values by bucket, added to
    root_value  [hand][16]          values at the roots, added to
    value    [hand of a group][slot][16]  scratch
    totals   [card row][slot][16]   scratch
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blueprints.boards import kernels as boards
from solver.kernels.compiled import kernels_in
from solver.kernels.sweeps import NUM_CARD_ROWS, totals_of
from solver.kernels.vectors import LANES, add, filler, item, load, loader, mul, repeater, store, together

kernel = kernels_in(Path(__file__).parent, boards.__file__)


@kernel
def find_pairs(deal, pairs, number):
    """The pairs of a board. `number` is scratch, [card row][bucket]."""
    for player in range(2):
        for street in range(deal.bucket.shape[1]):
            count = deal.buckets[player, street]
            number[:, :count] = 0
            for hand in range(deal.live):
                for side in range(2):
                    number[deal.cards[hand, side], deal.bucket[player, street, hand]] = 1
            found = 0
            for row in range(NUM_CARD_ROWS):
                pairs.at[player, street, row] = found
                for bucket in range(count):
                    if number[row, bucket]:
                        number[row, bucket] = found
                        pairs.bucket[player, street, found] = bucket
                        found += 1
            pairs.at[player, street, NUM_CARD_ROWS] = found
            for hand in range(deal.live):
                for side in range(2):
                    row = deal.cards[hand, side]
                    pairs.of_hand[player, street, hand, side] = number[row, deal.bucket[player, street, hand]]


def _sweeps_of(slots):
    """The two sweeps, so many slots wide."""
    width = slots * LANES
    load_row, fill_row, repeat_row = loader(slots), filler(slots), repeater(slots)
    compatible, count = totals_of(slots)

    @kernel
    def count_all(pairs, theirs, stride, factor, totals):
        """Totals of all the opponent's hands by card, times a factor; returns the grand total."""
        pair_at, buckets, pair_reach = pairs
        scale, total = fill_row(factor), fill_row(np.float32(0.0))
        for row in range(NUM_CARD_ROWS):
            of_card = fill_row(np.float32(0.0))
            for pair in range(item(pair_at, row), item(pair_at, row + 1)):
                reached = repeat_row(load(pair_reach, pair * LANES))
                of_card = add(of_card, mul(load_row(theirs, item(buckets, pair) * stride), reached))
            of_card = mul(of_card, scale)
            store(totals, row * width, of_card)
            total = add(total, of_card)
        return mul(total, fill_row(np.float32(0.5)))  # each hand was counted with two cards

    @kernel
    def reach(root_reach, theirs, bucket, stride, hand):
        return mul(load_row(theirs, item(bucket, hand) * stride), repeat_row(load(root_reach, hand * LANES)))

    @kernel
    def keep(won, bucket, mine, mine_stride, sums, sums_stride, root_value, hand):
        """The value of a hand, where it is wanted."""
        number = item(bucket, hand)
        store(sums, number * sums_stride, add(load_row(sums, number * sums_stride), won))
        weighed = together(mul(won, load_row(mine, number * mine_stride)))
        store(root_value, hand * LANES, add(load(root_value, hand * LANES), weighed))

    @kernel
    def showdowns(
        deal,
        pairs,
        root_reach,
        their_bucket,
        theirs,
        stride,
        chips,
        my_bucket,
        mine,
        sums,
        sums_stride,
        root_value,
        value,
        totals,
    ):
        """Chips × (weaker + (weaker or equal) − all).

        A hand's twin (the same cards with the opponent) is subtracted twice from "weaker or equal" and from "all",
        which cancels.
        """
        _, groups, group, cards, minus, _ = deal
        total, paid = count_all(pairs, theirs, stride, np.float32(-0.5), totals), load_row(chips, 0)
        for g in range(groups):
            first, last = item(group, g), item(group, g + 1)
            for hand in range(first, last):
                store(value, (hand - first) * width, compatible(total, totals, minus, hand))
            for hand in range(first, last):
                total = count(total, totals, cards, hand, reach(root_reach, theirs, their_bucket, stride, hand))
            for hand in range(first, last):
                won = add(load_row(value, (hand - first) * width), compatible(total, totals, minus, hand))
                keep(mul(won, paid), my_bucket, mine, stride, sums, sums_stride, root_value, hand)

    @kernel
    def folds(
        deal,
        pairs,
        root_reach,
        their_bucket,
        theirs,
        stride,
        chips,
        my_bucket,
        mine,
        sums,
        sums_stride,
        root_value,
        value,
        totals,
    ):
        """Chips × all compatible reaches; a hand of two cards is subtracted with both of them."""
        live, _, _, _, minus, twins = deal
        total, paid = count_all(pairs, theirs, stride, np.float32(1.0), totals), load_row(chips, 0)
        for hand in range(live):
            won = compatible(total, totals, minus, hand)
            if twins:
                won = add(won, reach(root_reach, theirs, their_bucket, stride, hand))
            keep(mul(won, paid), my_bucket, mine, stride, sums, sums_stride, root_value, hand)

    return showdowns, folds


_SHOWDOWNS_1, _FOLDS_1 = _sweeps_of(1)
_SHOWDOWNS_2, _FOLDS_2 = _sweeps_of(2)
_SHOWDOWNS_3, _FOLDS_3 = _sweeps_of(3)
_SHOWDOWNS_4, _FOLDS_4 = _sweeps_of(4)
_SHOWDOWNS_5, _FOLDS_5 = _sweeps_of(5)
_SHOWDOWNS_6, _FOLDS_6 = _sweeps_of(6)
_SHOWDOWNS_7, _FOLDS_7 = _sweeps_of(7)
_SHOWDOWNS_8, _FOLDS_8 = _sweeps_of(8)


@kernel
def showdowns(slots, *arguments):
    """The sweep of that width."""
    if slots == 8:
        _SHOWDOWNS_8(*arguments)
    elif slots == 7:
        _SHOWDOWNS_7(*arguments)
    elif slots == 6:
        _SHOWDOWNS_6(*arguments)
    elif slots == 5:
        _SHOWDOWNS_5(*arguments)
    elif slots == 4:
        _SHOWDOWNS_4(*arguments)
    elif slots == 3:
        _SHOWDOWNS_3(*arguments)
    elif slots == 2:
        _SHOWDOWNS_2(*arguments)
    else:
        _SHOWDOWNS_1(*arguments)


@kernel
def folds(slots, *arguments):
    """The sweep of that width."""
    if slots == 8:
        _FOLDS_8(*arguments)
    elif slots == 7:
        _FOLDS_7(*arguments)
    elif slots == 6:
        _FOLDS_6(*arguments)
    elif slots == 5:
        _FOLDS_5(*arguments)
    elif slots == 4:
        _FOLDS_4(*arguments)
    elif slots == 3:
        _FOLDS_3(*arguments)
    elif slots == 2:
        _FOLDS_2(*arguments)
    else:
        _FOLDS_1(*arguments)
