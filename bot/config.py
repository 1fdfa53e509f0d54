"""The configuration of a bot: `paratus.toml` documents every key; unknown ones are refused."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from protocol.errors import ConfigError
from protocol.log import Limits
from strategies.registry import DEFAULT_AGENT

DEFAULT_FILE: Final = Path(__file__).with_name("paratus.toml")
GAME_VARIABLE: Final = "PARATUS_GAME"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class BotSection(_Section):
    """Who plays what."""

    agent: str = DEFAULT_AGENT
    game: str | None = None
    seed: int = Field(default=0, ge=0, lt=2**63)
    match: str = Field(default="", max_length=200)
    hands: int = Field(default=0, ge=0, le=2**31)


class StoreSection(_Section):
    """What is kept."""

    enabled: bool = True
    path: str = ""
    resume: bool = False


class ClockSection(_Section):
    """The dealer's limits on our thinking."""

    response_s: float = Field(default=600.0, gt=0)
    hand_s: float = Field(default=600.0, gt=0)
    per_hand_s: float = Field(default=7.0, gt=0)
    margin_s: float = Field(default=0.2, ge=0)
    assumed_hands: int = Field(default=3000, ge=1)

    @property
    def limits(self) -> Limits:
        """In the dealer's units."""
        return Limits(round(self.response_s * 1e3), round(self.hand_s * 1e3), round(self.per_hand_s * 1e3))


class WaitSection(_Section):
    """How long we wait for the dealer."""

    connect_s: float = Field(default=30.0, gt=0)
    first_state_s: float = Field(default=3600.0, gt=0)
    line_s: float = Field(default=1260.0, gt=0)


class BotConfig(_Section):
    """All of it."""

    bot: BotSection = BotSection()
    store: StoreSection = StoreSection()
    clock: ClockSection = ClockSection()
    wait: WaitSection = WaitSection()


def load_config(path: Path | None, overrides: dict[str, dict[str, Any]]) -> BotConfig:
    """The configuration from a file (or the defaults), with single settings replaced."""
    settings: dict[str, Any] = {}
    if path is not None:
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}: expected a configuration file") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not a TOML file: {error}") from None
    for section, values in overrides.items():
        given = settings.setdefault(section, {})
        if isinstance(given, dict):
            given.update(values)
    try:
        return BotConfig.model_validate(settings)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise ConfigError(f"{path or 'settings'}: {key} = {problem['input']!r}: {problem['msg']}") from None
