"""What a board has of buckets: numbered for one walk, and by the cards of hands.

Arrays as in `blueprints.train.walk`, whose rules hold here too.
"""

from __future__ import annotations

import numpy as np

from blueprints.train.compiled import kernel
from solver.kernels.sweeps import NUM_CARD_ROWS


@kernel
def number_buckets(buckets, hands, counts, bucket, meant, found):
    """By street, the buckets of a board from low to high, which are `counts` in all; `buckets` has those of all hands.

    `bucket` becomes the numbers of the hands in their order, `meant` what they stand for, `found` how many there are.
    """
    for street in range(counts.size):
        numbers = np.zeros(counts[street], np.int32)
        for hand in hands:
            numbers[buckets[street, hand]] = 1
        number = 0
        for each in range(counts[street]):
            if numbers[each]:
                numbers[each] = number
                meant[street, number] = each
                number += 1
        for place in range(hands.size):
            bucket[street, place] = numbers[buckets[street, hands[place]]]
        found[street] = number


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
