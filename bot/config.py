"""The configuration of a bot: `paratus.toml` documents every key; unknown ones are refused."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from protocol.errors import ConfigError, quote
from protocol.log import Limits
from strategies.registry import DEFAULT_AGENT
from strategies.search.settings import LimitedSettings, NestedSettings
from strategies.settings import LookupSettings, RouterSettings, StrategySettings

DEFAULT_FILE: Final = Path(__file__).with_name("paratus.toml")
GAME_VARIABLE: Final = "PARATUS_GAME"

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
    "string_too_long": "at most {max_length} characters",
    "string_type": "a text",
    "tuple_type": "a list",
}
"""By pydantic's name for what is wrong."""

Seconds = Annotated[float, Field(gt=0, le=1e9)]


class Section(BaseModel):
    """A part of a configuration file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Model = TypeVar("Model", bound=Section)


class BotSection(Section):
    """Who plays what."""

    agent: str = DEFAULT_AGENT
    game: str | None = None
    seed: int = Field(default=0, ge=0, lt=2**63)
    match: str = Field(default="", max_length=200)
    hands: int = Field(default=0, ge=0, le=2**31)


class StoreSection(Section):
    """What is kept."""

    enabled: bool = True
    path: str = ""
    resume: bool = False


class ClockSection(Section):
    """The dealer's limits on our thinking."""

    response_s: Seconds = 600.0
    hand_s: Seconds = 600.0
    per_hand_s: Seconds = 7.0
    margin_s: float = Field(default=0.2, ge=0, le=1e9)
    way_s: float = Field(default=0.005, ge=0, le=1e9)
    think_s: float = Field(default=4.0, ge=0, le=1e9)
    assumed_hands: int = Field(default=3000, ge=1)

    @property
    def limits(self) -> Limits:
        """In the dealer's units."""
        return Limits(round(self.response_s * 1e3), round(self.hand_s * 1e3), round(self.per_hand_s * 1e3))


class WaitSection(Section):
    """How long we wait for the dealer."""

    connect_s: Seconds = 30.0
    first_state_s: Seconds = 3600.0
    line_s: Seconds = 1260.0


class BotConfig(Section):
    """All of it."""

    bot: BotSection = BotSection()
    store: StoreSection = StoreSection()
    clock: ClockSection = ClockSection()
    wait: WaitSection = WaitSection()
    router: RouterSettings = RouterSettings()
    limited: LimitedSettings = LimitedSettings()
    blueprint: LookupSettings = LookupSettings()
    nested: NestedSettings = NestedSettings()

    @property
    def strategies(self) -> StrategySettings:
        """What strategies are told."""
        return StrategySettings(router=self.router, limited=self.limited, blueprint=self.blueprint, nested=self.nested)


def load_config(path: Path | None, overrides: dict[str, dict[str, Any]]) -> BotConfig:
    """The configuration from a file (or the defaults), with single settings replaced."""
    return read_settings(BotConfig, path, overrides)


def read_settings(kind: type[Model], path: Path | None, overrides: dict[str, dict[str, Any]]) -> Model:
    """The same for any kind of configuration."""
    settings: dict[str, Any] = {}
    if path is not None:
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}: expected a configuration file") from None
        except (ValueError, RecursionError) as error:  # also what tomllib lets through: huge integers, deep nesting
            raise ConfigError(f"{path}: not a TOML file: {error}") from None
    for section, values in overrides.items():
        given = settings.setdefault(section, {})
        if isinstance(given, dict):
            given.update(values)
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        problem = error.errors()[0]
        section, *rest = map(str, problem["loc"] or ("",))
        place = "options" if rest and rest[0] in overrides.get(section, ()) else path
        raise ConfigError(f"{place}: {explained(kind, problem)}") from None


def explained(kind: type[Section], problem: ErrorDetails) -> str:
    """What is wrong with a setting of a model, in one line."""
    section, *rest = map(str, problem["loc"] or ("",))
    key, value, expected = ".".join((section, *rest)), problem["input"], _expected(problem)
    if problem["type"] == "extra_forbidden":
        expected = f"unknown key: expected one of {', '.join(_keys(kind, problem['loc'][:-1]))}"
    elif problem["type"] == "model_type":
        expected = f"expected a section [{section}]"
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


def _keys(kind: type[Section], path: Sequence[str | int]) -> list[str]:
    """The keys of the section at a path; numbers count the entries of a list."""
    model: Any = kind
    for key in path:
        if isinstance(key, str):
            model = model.model_fields[key].annotation
        while get_args(model):
            model = get_args(model)[0]
    return list(model.model_fields)
