"""The decorator of this package's kernels, which counts all files whose code goes into them."""

from __future__ import annotations

from pathlib import Path

from protocol import kernels as ranking
from solver.kernels.compiled import kernels_in

kernel = kernels_in(Path(__file__).parent, ranking.__file__)
