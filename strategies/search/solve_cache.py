"""Solves that are kept on disk, by a key: what was learnt, to go on from when the same comes again.

Files are plain arrays (no pickle), written whole. One that is damaged or of something else counts as not there. The
oldest go when there are too many. Whatever is here can be computed again.
"""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from machine.files import whole_file

Arrays = dict[str, npt.NDArray[Any]]

_MOST_FILES: Final = 200
_MOST_KNOWN: Final = 20
_MOST_BYTES: Final = 64 << 20

_log = logging.getLogger(__name__)


class SolveCache:
    """A folder of solves, and those of this process."""

    def __init__(self, folder: Path | None) -> None:
        """None: in memory alone."""
        self._folder = folder
        self._known: dict[str, Arrays] = {}

    def load(self, key: str) -> Arrays | None:
        """What was kept last under a key."""
        known = self._known.get(key)
        path = self._path(key)
        if known is not None or path is None:
            return known
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise ValueError("too large")
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            _log.warning("%s: not a kept solve, which is solved again: %s", path, error)
            return None

    def save(self, key: str, arrays: Arrays) -> None:
        """Keep it; a disk that is full costs nothing but the time next time."""
        self._known.pop(key, None)
        self._known[key] = {name: array.copy() for name, array in arrays.items()}
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        path = self._path(key)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]  # its stub takes no mapping
            files = sorted(path.parent.glob("*.npz"), key=lambda each: each.stat().st_mtime)
            for old in files[: max(0, len(files) - _MOST_FILES)]:
                old.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s: not kept: %s", path, error)

    def _path(self, key: str) -> Path | None:
        return self._folder / f"{key}.npz" if self._folder else None
