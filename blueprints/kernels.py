"""Average strategies as numbers of 8 bits: for each node and bucket the actions' numbers add up to exactly 255.

By largest remainders, so that each is off by less than 1/255; of equal remainders the earlier action's is rounded up.
An action that is never taken keeps 0. Where nothing is known (all zero: never reached) all actions are alike.

averages float32[edge, bucket]; first int64[node + 1], the first edge of each node; total int64, 255; out uint8[edge,
bucket]. Nothing may alias.
"""

from __future__ import annotations

import numpy as np

from solver.kernels.compiled import kernels_in

kernel = kernels_in(__file__)


@kernel
def round_nodes(averages, first, total, out):
    """All nodes of a street; returns how many numbers are negative or not finite (then `out` means nothing)."""
    buckets = averages.shape[1]
    most = 0
    for node in range(len(first) - 1):
        most = max(most, first[node + 1] - first[node])
    left = np.empty(most, np.float64)
    wrong = 0
    for node in range(len(first) - 1):
        begin, end = first[node], first[node + 1]
        for bucket in range(buckets):
            summed = 0.0
            for edge in range(begin, end):
                value = np.float64(averages[edge, bucket])
                if not (value >= 0.0 and value < np.inf):
                    wrong += 1
                    value = 0.0
                summed += value
            missing = total
            for edge in range(begin, end):
                share = total / (end - begin) if summed == 0.0 else averages[edge, bucket] * (total / summed)
                whole = np.floor(share)
                left[edge - begin] = share - whole if share > 0.0 else -1.0
                out[edge, bucket] = np.uint8(whole)
                missing -= np.int64(whole)
            while missing > 0:
                best = 0
                for action in range(1, end - begin):
                    if left[action] > left[best]:
                        best = action
                left[best] = -1.0
                out[begin + best, bucket] += np.uint8(1)
                missing -= 1
    return wrong
