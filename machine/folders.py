"""Where the user's data lives."""

from __future__ import annotations

import os
from pathlib import Path


def data_home() -> Path:
    """The folder in which the user's programs keep their data."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
