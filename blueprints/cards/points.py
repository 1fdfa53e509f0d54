"""Points and centres as the kernels of `nearest` read them, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.kernels.lanes import POINTS
from blueprints.cards.kernels.nearest import FAR, GRID, MAX_DIMENSIONS
from protocol.arrays import F32
from solver.kernels.vectors import LANES

I16 = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Points:
    """`count` points: whole numbers, float32 [tile][dimension][POINTS], flat."""

    values: F32
    count: int
    dimensions: int

    def select(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """Some of them as rows [point, dimension]."""
        tiles = self.values.reshape(-1, self.dimensions, POINTS)
        rows: F32 = tiles[chosen // POINTS, :, chosen % POINTS]
        return rows

    def rows(self) -> F32:
        """All of them."""
        return self.select(np.arange(self.count))


def empty_points(count: int, dimensions: int) -> Points:
    """Points to be filled in."""
    return Points(np.zeros(-(-count // POINTS) * POINTS * dimensions, np.float32), count, dimensions)


def points_of(rows: NDArray[np.floating] | NDArray[np.integer]) -> Points:
    """Points from rows [point, dimension]."""
    count, dimensions = rows.shape
    points = empty_points(count, dimensions)
    padded = np.zeros((points.values.size // dimensions, dimensions), np.float32)
    padded[:count] = rows
    points.values[:] = padded.reshape(-1, POINTS, dimensions).transpose(0, 2, 1).ravel()
    return points


@dataclass(frozen=True, slots=True)
class Packed:
    """Centres with their norms, read-only."""

    values: F32
    norms: F32


def pack(centres: I16) -> Packed:
    """Centres [centre, dimension] for the kernels."""
    count, dimensions = centres.shape
    assert dimensions <= MAX_DIMENSIONS
    assert np.abs(centres).max(initial=0) <= GRID // 2
    tiles = -(-count // LANES)
    padded = np.zeros((tiles * LANES, dimensions), np.float32)
    padded[:count] = centres
    values = np.ascontiguousarray(padded.reshape(tiles, LANES, dimensions).transpose(0, 2, 1)).reshape(-1)
    norms = np.full(tiles * LANES, FAR, np.float32)
    norms[:count] = -(centres.astype(np.float64) ** 2).sum(axis=1) / 2
    values.setflags(write=False)
    norms.setflags(write=False)
    return Packed(values, norms)


def no_centres() -> Packed:
    """For kernels that are to find no nearest centre."""
    nothing = np.empty(0, np.float32)
    nothing.setflags(write=False)
    return Packed(nothing, nothing)
