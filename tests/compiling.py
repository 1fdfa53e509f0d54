"""Workers that run tests at the same time compile each kernel once: the first that needs it does, others wait for it.

numba's cache is shared, but nothing keeps two processes from compiling the same at the same time, and that is what
workers that begin with an empty cache would do most of the time. A kernel is locked while it is compiled and written
to the cache. Those that it calls are compiled within: locks are taken from callers to callees, and never in a ring.
"""

from __future__ import annotations

import fcntl
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from numba.core.caching import Cache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

_held: set[int] = set()


def share(file: Path) -> None:
    """From now on this process takes turns with all others that lock the same file; it stays empty."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # Kept open: a process loses its locks on a file as soon as it closes any descriptor of it.
    locks = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    compile_form, save_form = Dispatcher.compile, Cache.save_overload

    @functools.wraps(compile_form)
    def compile_once(self: Dispatcher, signature: object) -> object:
        if not isinstance(self._cache, Cache):  # nothing to be shared
            return compile_form(self, signature)
        # numba's own lock first, in this order in every thread. Forms of one kernel may be compiled at the same time …
        with global_compiler_lock, _locked(locks, f"{self._cache._cache_file._index_path} {signature}"):
            return compile_form(self, signature)

    @functools.wraps(save_form)
    def save_in_turn(self: Cache, signature: object, form: object) -> None:
        with _locked(locks, self._cache_file._index_path):  # … but they are listed in one file
            save_form(self, signature, form)

    Dispatcher.compile, Cache.save_overload = compile_once, save_in_turn


@contextmanager
def _locked(locks: int, name: str) -> Iterator[None]:
    """Each name has a byte of the file to itself: locks need not be of bytes that are there."""
    byte = int.from_bytes(blake2b(name.encode(), digest_size=7).digest())
    if byte in _held:
        yield
        return
    fcntl.lockf(locks, fcntl.LOCK_EX, 1, byte)
    _held.add(byte)
    try:
        yield
    finally:
        _held.discard(byte)
        fcntl.lockf(locks, fcntl.LOCK_UN, 1, byte)
