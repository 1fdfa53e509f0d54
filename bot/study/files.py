"""Files that are named on the command line."""

from __future__ import annotations

import os
from pathlib import Path

from protocol.errors import ConfigError


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
