"""Buckets of all live hands on all canonical boards of a street, kept in a file that processes share.

uint16[canonical board, live hand], 4 MB for the flop, 37 MB for the turn, 291 MB for the river. A file is an `.npy`
array followed by a checksum, the sum of all its bytes as 64-bit numbers: fast enough to look at on every opening. It
is written under a temporary name, then renamed: whoever opens the name finds all of it or nothing, also when several
processes build it at once. The name holds the digest of the centroids, so other centroids have other files. What is
damaged nevertheless is built again.
"""

from __future__ import annotations

import os
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.centroids import Centroids
from blueprints.cards.features import BOARD_CARDS, FLOP, LIVE_HANDS, RIVER, Features, river_strengths
from blueprints.cards.points import pack
from blueprints.cards.work import PieceWork
from machine.files import whole_file
from protocol.game import STREET_NAMES
from protocol.hands import canonical_board_keys, canonical_boards

Table = NDArray[np.uint16]

_CHECKSUM_BYTES = 8


def open_tables(centroids: Centroids, folder: Path, streets: list[int], work: PieceWork) -> dict[int, Table]:
    """The tables of these streets, read-only; those that are missing or damaged are built and stored first."""
    tables: dict[int, Table] = {}
    rivers: Table | None = None
    for street in streets:
        path = _path(centroids, folder, street)
        table = _read(path, _shape(street))
        if table is None:
            if rivers is None and street != RIVER:
                rivers = river_strengths(work)
            folder.mkdir(parents=True, exist_ok=True)
            _write(path, build_table(centroids, street, rivers, work))
            table = _read(path, _shape(street))
            if table is None:
                raise OSError(f"{path}: written just now, but it cannot be read back")
        tables[street] = table
    return tables


def missing_tables(centroids: Centroids, folder: Path) -> list[Path]:
    """The files that are still to be built; whether those that are there are sound is seen when they are read."""
    paths = [_path(centroids, folder, street) for street in range(FLOP, RIVER + 1)]
    return [path for path in paths if not path.is_file()]


def _path(centroids: Centroids, folder: Path, street: int) -> Path:
    return folder / f"{STREET_NAMES[street]}-{centroids.digest}.npy"


def build_table(centroids: Centroids, street: int, rivers: Table | None, work: PieceWork) -> Table:
    """Compute the table of a street; that of the river needs no strengths of rivers."""
    table = np.empty(_shape(street), np.uint16)
    features = Features(centroids.settings, centroids.opponents, rivers)
    boards, packed = canonical_boards(BOARD_CARDS[street]), pack(centroids.centres(street))
    features.buckets(street, boards, packed, table, work, f"{STREET_NAMES[street]}: buckets of all hands")
    return table


def tables_bytes() -> int:
    """Of all three, once they are mapped."""
    return sum(prod(_shape(street)) for street in range(FLOP, RIVER + 1)) * np.dtype(np.uint16).itemsize


def _shape(street: int) -> tuple[int, int]:
    assert FLOP <= street <= RIVER
    return len(canonical_board_keys(BOARD_CARDS[street])), LIVE_HANDS[street]


def _checksum(table: Table) -> bytes:
    numbers = table.reshape(-1)
    whole = len(numbers) // 4 * 4
    total = int(numbers[:whole].view(np.uint64).sum(dtype=np.uint64)) + int(numbers[whole:].sum(dtype=np.uint64))
    return (total % 2**64).to_bytes(_CHECKSUM_BYTES, "little")


def _write(path: Path, table: Table) -> None:
    with whole_file(path) as file:
        np.save(file, table)
        file.write(_checksum(table))


def _read(path: Path, shape: tuple[int, int]) -> Table | None:
    """The table in a file, mapped into memory; None if there is none, or not this one, whole."""
    try:
        table: Table = np.asarray(np.load(path, mmap_mode="r"))
        with path.open("rb") as file:
            file.seek(-_CHECKSUM_BYTES, os.SEEK_END)
            stored = file.read()
    except (OSError, ValueError, EOFError):
        return None
    if table.dtype != np.uint16 or table.shape != shape or not table.flags.c_contiguous or _checksum(table) != stored:
        return None
    return table
