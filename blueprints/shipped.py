"""Where the blueprints that ship lie, and where tables of buckets are kept."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import Final

from machine.errors import ConfigError

SHIPPED: Final = "standard.blueprint"
"""That of the default agent."""
SLUMBOT_STYLE: Final = "slumbot-style.blueprint"


def shipped_blueprint(name: str = SHIPPED) -> Path:
    """The file; raises `ConfigError` if it did not ship."""
    path = Path(str(resources.files("blueprints"))) / "data" / name
    if not path.is_file():
        raise ConfigError(
            f"{path}: no blueprint came with this installation: train one (`paratus blueprint train`) "
            "and name its file (`blueprint.file` in the configuration of a bot)"
        )
    return path


def tables_folder() -> Path:
    """Where tables of buckets are kept, 330 MB for each card abstraction; whatever is there can be built again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paratus" / "blueprint"
