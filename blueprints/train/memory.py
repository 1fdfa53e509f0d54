"""How much memory arrays take."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def bytes_of(*groups: Iterable[object]) -> int:
    """Of all arrays in tuples of what kernels work with; numbers among them do not count."""
    return sum(each.nbytes for group in groups for each in group if isinstance(each, np.ndarray))
