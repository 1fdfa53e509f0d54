"""Files that are there whole or not at all, and folders that one process writes at a time."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, Final

from machine.errors import ConfigError, ParatusError

_TOKEN_BYTES: Final = 4
_LEFTOVER: Final = re.compile(r"\..+\.[0-9a-f]{8}|.+\.tmp")
"""Names of today's, and of those of older revisions."""


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
def alone_in(folder: Path, doing: str) -> Iterator[None]:
    """Keep other processes that ask for the folder out, saying what this one is doing; the lock ends with it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ParatusError(f"{folder}: another process {doing} there: expected it to be alone") from None
        yield
    finally:
        os.close(descriptor)


def is_leftover(name: str) -> bool:
    """Whether a file is what a process that was killed left of writing another."""
    return _LEFTOVER.fullmatch(name) is not None


def remove_leftovers(path: Path) -> None:
    """Delete what processes that were killed left of writing this file. Nobody else may be writing it now."""
    for leftover in path.parent.glob(f".{path.name}.{'[0-9a-f]' * 2 * _TOKEN_BYTES}"):
        leftover.unlink(missing_ok=True)


def check_can_write(path: Path, field: str) -> None:
    """Refuse, before any work, a file that could not be written at its end."""
    if path.is_dir():
        raise ConfigError(f"{field} {path}: is a folder: expected the name of a file")
    if not path.parent.is_dir():
        raise ConfigError(f"{field} {path}: no folder {path.parent}: expected a file in a folder that exists")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ConfigError(f"{field} {path}: folder {path.parent} cannot be written")


def read_bounded(path: Path, field: str, most_bytes: int) -> bytes:
    """The bytes of a file that should be small."""
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise ConfigError(f"{field} {path}: {error.strerror}: expected a file that can be read") from None
    if len(data) > most_bytes:
        raise ConfigError(f"{field} {path}: more than {most_bytes:,} bytes: expected a smaller file")
    return data


def read_document(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected a JSON object")
    return document


def write_document(path: Path, document: dict[str, Any]) -> None:
    """A JSON object to a file, all of it or nothing."""
    write_whole(path, json.dumps(document, indent=2) + "\n")


def write_whole(path: Path, text: str) -> None:
    """A text to a file, all of it or nothing."""
    with whole_file(path) as file:
        file.write(text.encode())
