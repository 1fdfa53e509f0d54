"""TOML files that people write: read into pydantic models, refused in one line that names file, key and value.

And written: a part of one file (the settings of an agent in the plan of an experiment) may become a file of its own.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from protocol.errors import ConfigError, quote

_EXPECTED: Final = {
    "bool_type": "true or false",
    "enum": "{expected}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "missing": "a value",
    "string_pattern_mismatch": "text like {pattern}",
    "string_too_long": "at most {max_length} characters",
    "string_type": "a text",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entries",
    "tuple_type": "a list",
}
"""By pydantic's name for what is wrong."""


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """What a file says; `what` it should be is said if it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: expected {what}") from None
    except (ValueError, RecursionError) as error:  # also what tomllib lets through: huge integers, deep nesting
        raise ConfigError(f"{path}: not a TOML file: {error}") from None


def problem_line(problem: ErrorDetails, model: type[BaseModel], place: Callable[[Sequence[str]], object]) -> str:
    """The first thing that is wrong: where (`place` of a key), key, value, and what was expected."""
    return f"{place([*map(str, problem['loc'])])}: {problem_words(problem, model)}"


def problem_words(problem: ErrorDetails, model: type[BaseModel]) -> str:
    """The same without the place."""
    words = [*map(str, problem["loc"])]
    key, value, expected = ".".join(words), problem["input"], _expected(problem)
    if problem["type"] == "extra_forbidden":
        expected = f"unknown key: expected one of {', '.join(_keys(model, problem['loc'][:-1]))}"
    elif problem["type"] == "model_type":
        expected = f"expected a section [{words[0]}]"
    shown_key = key if key.isprintable() and len(key) <= 100 else quote(key)
    shown_value = quote(value) if isinstance(value, str) else repr(value)[:100]
    return f"{shown_key} = {shown_value}: {expected}"


def _expected(problem: ErrorDetails) -> str:
    """What pydantic wanted, in our words; what a validator of ours says is in them already."""
    context = problem.get("ctx", {})
    if "error" in context:
        return str(context["error"])
    known = _EXPECTED.get(problem["type"])
    if known is None:
        return f"expected something else: {problem['msg']}"
    shown = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in context.items()}
    return f"expected {known.format(**shown)}"


def _keys(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The keys of the section at a path; numbers count the entries of a list."""
    found: Any = model
    for key in path:
        if isinstance(key, str):
            found = found.model_fields[key].annotation
        while get_args(found):
            found = get_args(found)[0]
    return list(found.model_fields)


def toml_text(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Sections as a file that reads back to them."""
    lines = []
    for name, values in sections.items():
        lines += [f"[{name}]", *[f"{key} = {_value(value)}" for key, value in values.items()], ""]
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join([f"{key} = {_value(each)}" for key, each in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
