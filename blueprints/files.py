"""Files that are there whole or not at all, and folders that one process writes at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Final

from protocol.errors import BlueprintError

_TOKEN_BYTES: Final = 4


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write: it takes its name only once everything is in it and on the disk; after an error nothing is left.

    Several processes may write the same file at once: one of them wins.
    """
    temporary = path.with_name(f".{path.name}.{token_hex(_TOKEN_BYTES)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes that ask for the folder out; however this one ends, the lock goes with it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlueprintError(f"{folder}: another process trains there: expected it to be alone") from None
        yield
    finally:
        os.close(descriptor)


def remove_leftovers(path: Path) -> None:
    """Delete what processes that were killed left of writing this file. Nobody else may be writing it now."""
    for leftover in path.parent.glob(f".{path.name}.{'[0-9a-f]' * 2 * _TOKEN_BYTES}"):
        leftover.unlink(missing_ok=True)
