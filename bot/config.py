"""The configuration of a bot: `paratus.toml` documents every key; unknown ones are refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from machine.errors import ConfigError
from machine.refusals import problem_line
from machine.toml import read_toml
from protocol.log import Limits
from strategies.registry import DEFAULT_AGENT
from strategies.settings import StrategySettings

DEFAULT_FILE: Final = Path(__file__).with_name("paratus.toml")
GAME_VARIABLE: Final = "PARATUS_GAME"

Seconds = Annotated[float, Field(gt=0, le=1e9)]


class Section(BaseModel):
    """A part of a configuration file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Model = TypeVar("Model", bound=BaseModel)


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


class _Own(Section):
    """What is not about an agent."""

    bot: BotSection = BotSection()
    store: StoreSection = StoreSection()
    clock: ClockSection = ClockSection()
    wait: WaitSection = WaitSection()


class BotConfig(StrategySettings, _Own):
    """All of it: after our own sections those of every agent."""

    @property
    def strategies(self) -> StrategySettings:
        """What strategies are told."""
        return StrategySettings(**{name: getattr(self, name) for name in StrategySettings.model_fields})


def load_config(path: Path | None, overrides: dict[str, dict[str, Any]]) -> BotConfig:
    """The configuration from a file (or the defaults), with single settings replaced."""
    return read_settings(BotConfig, path, overrides)


def read_settings(kind: type[Model], path: Path | None, overrides: dict[str, dict[str, Any]]) -> Model:
    """The same for any kind of configuration."""
    settings = {} if path is None else read_toml(path, "a configuration file")
    for section, values in overrides.items():
        given = settings.setdefault(section, {})
        if isinstance(given, dict):
            given.update(values)
    try:
        return kind.model_validate(settings)
    except ValidationError as error:

        def place(key: Sequence[str]) -> object:
            return "options" if len(key) > 1 and key[1] in overrides.get(key[0], ()) else path

        raise ConfigError(problem_line(error, kind, place)) from None
