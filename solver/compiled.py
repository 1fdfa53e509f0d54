"""The decorator of every kernel: compiled on first use, cached on disk, without the interpreter's lock.

numba recompiles a function whose own file has changed, but not one whose *callees* in other files have: it would go on
running what it once inlined. The stamp here covers all files that kernels are written in.
"""

from __future__ import annotations

from pathlib import Path

from numba import njit

_FILES = ("compiled", "vectors", "tiles", "sweeps", "kernels")


def _stamp():
    """When each of the files was last changed, and how long it is: what numba stores of one file."""
    states = [Path(__file__).with_name(f"{name}.py").stat() for name in _FILES]
    return tuple((state.st_mtime, state.st_size) for state in states)


_STAMP = _stamp()


def kernel(function):
    """Compile `function` when it is first called, or load it from the cache."""
    compiled = njit(cache=True, nogil=True)(function)
    compiled._cache._cache_file._source_stamp = _STAMP
    return compiled
