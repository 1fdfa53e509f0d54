"""TOML files that people write: read, or refused in one line that names the file.

And written: a part of one file (the settings of an agent in the plan of an experiment) may become a file of its own.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from datetime import date, time
from pathlib import Path
from typing import Any, Final

from machine.errors import ConfigError

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """What a file says; `what` it should be is said if it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: expected {what}") from None
    except (ValueError, RecursionError) as error:  # also what tomllib lets through: huge integers, deep nesting
        raise ConfigError(f"{path}: not a TOML file: {error}") from None


def toml_text(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Sections as a file that reads back to them."""
    lines = []
    for name, values in sections.items():
        lines += [f"[{name}]", *[f"{_key(key)} = {value_text(value)}" for key, value in values.items()], ""]
    return "\n".join(lines)


def value_text(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join([f"{_key(key)} = {value_text(each)}" for key, each in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, date | time):  # a moment is a date, too
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else value_text(key)
