"""What pydantic refuses, said in one line of ours: the key, its value, and what was expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from machine.errors import quote

_EXPECTED: Final = {
    "bool_type": "true or false",
    "dict_type": "keys and values",
    "enum": "{expected}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_from_float": "a whole number",
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


def problem_line(error: ValidationError, model: type[BaseModel], place: Callable[[Sequence[str]], object]) -> str:
    """The first thing that is wrong: where (`place` of a key), key, value, and what was expected."""
    return f"{place([*map(str, error.errors()[0]['loc'])])}: {problem_words(error, model)}"


def problem_words(error: ValidationError, model: type[BaseModel]) -> str:
    """The same without the place."""
    problem = error.errors()[0]
    words = [*map(str, problem["loc"])]
    key, value, expected = ".".join(words), problem["input"], _expected(problem)
    if problem["type"] == "extra_forbidden":
        expected = f"unknown key: expected one of {', '.join(_keys(model, problem['loc'][:-1]))}"
    elif problem["type"] in ("model_type", "model_attributes_type"):
        expected = f"expected a section [{words[0]}]" if words else "expected an object with keys"
    if not words:  # about the whole
        return expected
    shown_key = key if key.isprintable() and len(key) <= 100 else quote(key)
    shown_value = quote(value) if isinstance(value, str) else repr(value)[:100]
    return f"{shown_key} = {shown_value}: {expected}"


def _expected(problem: ErrorDetails) -> str:
    """What pydantic wanted, in our words; what a validator of ours says is in them already."""
    context = problem.get("ctx", {})
    if problem["type"] == "json_invalid":
        return f"not JSON: {context['error']}"
    if "error" in context:
        return str(context["error"])
    known = _EXPECTED.get(problem["type"])
    if known is None:
        return f"expected something else: {problem['msg']}"
    shown = {name: f"{value:.12g}" if isinstance(value, float) else str(value) for name, value in context.items()}
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
