"""What is done to a policy last: thresholds and purification (Ganzfried, Sandholm and Waugh 2012)."""

from __future__ import annotations

import numpy as np

from strategies.policy import SCALE, Weights, round_columns


def processed(weights: Weights, *, threshold: float, purify: bool) -> Weights:
    """Every hand keeps an action, and its numbers still add up."""
    if not threshold and not purify:
        return weights
    most = weights.max(axis=0)
    if purify:
        first = np.arange(len(weights))[:, None] == weights.argmax(axis=0)
        return round_columns(np.where(first & (most > 0), 1.0, 0.0))
    least = np.minimum(threshold * SCALE, most)
    return round_columns(np.where(weights < least, 0.0, weights))
