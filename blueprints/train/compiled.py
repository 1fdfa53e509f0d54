"""The decorator of this package's kernels."""

from __future__ import annotations

from pathlib import Path

from solver.kernels.compiled import kernels_in

kernel = kernels_in(
    *(Path(__file__).with_name(f"{name}.py") for name in ("layout", "tiles", "terminals", "buckets", "walk"))
)
