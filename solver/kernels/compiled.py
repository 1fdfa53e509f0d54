"""The decorator of every kernel: compiled on first use, cached on disk, without the interpreter's lock.

numba's own cache would do two things wrong here, and code that works on addresses then writes where it should not:

- It recompiles a function whose own file has changed, but not one whose *callees* in other files have: it would go on
  running what it once inlined. Here all files that kernels are written in count.
- It numbers the compiled forms of a function: two processes that compile different ones at a time (32 and 16 bits) take
  the same number, and one is later given the other's code. Here a form's file is named by what it is.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from numba import njit
from numba.core.caching import IndexDataCacheFile

_HERE = Path(__file__).parent
_NAMES = ("compiled", "vectors", "tiles", "types", "sweeps", "gadgets", "cfr")
_FILES = tuple(_HERE / f"{name}.py" for name in _NAMES)


def _modules(places):
    """Files, and those of folders."""
    for place in places:
        yield from sorted(place.glob("*.py")) if place.is_dir() else (place,)


def _digest(value):
    return blake2b(repr(value).encode(), digest_size=8).hexdigest()


class _CacheFile(IndexDataCacheFile):
    """An index, and a file for each compiled form whose name no other form and no other version of the sources has."""

    def __init__(self, folder, name, stamp):
        super().__init__(folder, f"{name}-{_digest(stamp)}", stamp)

    def save(self, key, data):
        name = self._data_name(_digest(key))
        self._save_data(name, data)
        forms = self._load_index()
        forms[key] = name
        self._save_index(forms)

    def _data_name(self, digest):
        return f"{self._index_name.removesuffix('.nbi')}.{digest}.nbc"


def kernels_in(*places):
    """The decorator of kernels that are written in these files and folders, with the solver's: all that may be inlined.

    It compiles a function when it is first called, or loads it from the cache.
    """
    states = [path.stat() for path in (*_FILES, *_modules(map(Path, places)))]
    # When each of the files was last changed, and how long it is: what numba stores of one file.
    stamp = tuple((state.st_mtime, state.st_size) for state in states)

    def decorate(function):
        compiled = njit(cache=True, nogil=True)(function)
        cache = compiled._cache
        cache._cache_file = _CacheFile(cache._cache_path, cache._cache_file._index_name.removesuffix(".nbi"), stamp)
        return compiled

    return decorate


kernel = kernels_in()


def inlined(function):
    """The decorator of what is written into its callers before they are compiled; for what has few of them.

    A kernel is optimised and emitted with all that it calls: one more between a caller and much code costs seconds.
    """
    return njit(inline="always")(function)
