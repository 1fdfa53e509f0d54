"""Average strategies in 8 bits a probability: a façade that checks what `blueprints.kernels` is given."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from protocol.arrays import F32, U8
from protocol.errors import BlueprintError

TOTAL: Final = 255
"""What the numbers of a node and bucket add up to."""


def quantise_nodes(averages: F32, first: NDArray[Any]) -> U8:
    """Average strategies of many nodes [edge, bucket], in 8 bits: a node's numbers for a bucket add up to 255.

    `first` is the first edge of each node, with the end.
    """
    from blueprints.kernels import round_nodes  # takes long to import

    if averages.ndim != 2 or averages.dtype != np.float32:
        raise BlueprintError(f"averages are {averages.dtype}{averages.shape}: expected float32 [edge, bucket]")
    first = np.ascontiguousarray(first, np.int64)
    if not len(first) or first[0] != 0 or first[-1] != len(averages) or (np.diff(first) < 1).any():
        raise BlueprintError(f"averages of {len(averages):,} edges: the nodes have {first[-1] if len(first) else 0:,}")
    out = np.zeros(averages.shape, np.uint8)
    wrong = round_nodes(np.ascontiguousarray(averages), first, TOTAL, out)
    if wrong:
        raise BlueprintError(f"averages: {wrong:,} are negative or not finite: expected numbers from 0 up")
    return out
