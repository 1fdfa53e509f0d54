"""The decorator of this package's kernels, which counts all files whose code goes into them."""

from __future__ import annotations

from pathlib import Path

from protocol import kernels as ranking
from solver.kernels.compiled import kernels_in

_NAMES = ("compiled", "lanes", "nearest", "places", "quantiles", "rows", "showdowns", "strengths")

kernel = kernels_in(*[Path(__file__).with_name(f"{name}.py") for name in _NAMES], ranking.__file__)
