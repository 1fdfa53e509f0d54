"""A final board as walks need it: its hands in order of strength, and the buckets they have.

A board has hands of few buckets (of 1,000 on the river some 75): they are numbered anew for a walk, from low to high.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from protocol.arrays import I32
from solver.kernels.compiled import kernels_in

kernel = kernels_in(__file__)


class FinalBoard(NamedTuple):
    """A board and the hands it allows, in order of strength; H of them with padding."""

    live: int
    groups: int
    group: I32  # [group + 1] where hands of equal strength begin
    cards: I32  # [hand, 2] rows of card totals to add to
    minus: I32  # [hand, 2] rows to subtract
    twin: I32  # [hand] the hand that both subtractions remove, or the row of zeros
    order: I32  # [hand] 0, 1, 2, …
    bucket: I32  # [player, street, hand] in the numbers of this walk; of padding 0
    buckets: I32  # [player, street] how many the board has
    blocks: I32  # [player, street] the same, in sixteens
    bucket_id: I32  # [player, street, number of this walk] which bucket of all; of padding the one that nobody has


@kernel
def number_buckets(buckets, hands, counts, bucket, bucket_id, found):
    """By street, the buckets of a board from low to high, which are `counts` in all; `buckets` has those of all hands.

    `bucket` becomes the numbers of the hands in their order, `bucket_id` the buckets they stand for, `found` how many.
    """
    for street in range(counts.size):
        numbers = np.zeros(counts[street], np.int32)
        for hand in hands:
            numbers[buckets[street, hand]] = 1
        number = 0
        for each in range(counts[street]):
            if numbers[each]:
                numbers[each] = number
                bucket_id[street, number] = each
                number += 1
        for place in range(hands.size):
            bucket[street, place] = numbers[buckets[street, hands[place]]]
        found[street] = number
