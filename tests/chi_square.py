"""Do counts fit the shares they should have? Pearson's chi-square, with draws from fixed seeds."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

Z = 5.0
"""Standard deviations of a normal deviate: a right generator exceeds the critical value once in 3.5 million tests. The
seeds are fixed, so a test that passes once passes always; what the value sets is only how small a fault is found."""


def critical_value(freedom: int) -> float:
    """The chi-square that `Z` stands for (Wilson and Hilferty 1931; for one or two degrees a little too large)."""
    spread = 2 / (9 * freedom)
    return freedom * (1 - spread + Z * sqrt(spread)) ** 3


def assert_frequencies(counts: Sequence[int], shares: Sequence[float]) -> None:
    """Fail if `counts` are not those of draws with probabilities `shares`."""
    total = sum(counts)
    assert len(counts) == len(shares)
    assert abs(sum(shares) - 1) < 1e-9
    assert not any(count for count, share in zip(counts, shares, strict=True) if share == 0), "drawn without a share"
    expected = [(count, share * total) for count, share in zip(counts, shares, strict=True) if share > 0]
    assert min(mean for _, mean in expected) >= 5, "too few draws for the test to mean something"
    if len(expected) > 1:
        chi_square = sum((count - mean) ** 2 / mean for count, mean in expected)
        assert chi_square < critical_value(len(expected) - 1), f"chi-square {chi_square:.1f} of {counts}"
