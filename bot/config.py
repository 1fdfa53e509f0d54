"""The configuration of a bot. The docstring below each key is its explanation in the file that `--print-config` shows;
unknown keys are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from machine.errors import ConfigError
from machine.refusals import problem_line
from machine.toml import read_toml
from protocol.game import DEFAULT_GAME
from protocol.log import Limits
from strategies.registry import DEFAULT_AGENT
from strategies.settings import StrategySettings

_HEAD: Final = (
    "The settings of `paratus bot`, with their defaults. Give a copy with --config; options on the command line win."
)
GAME_VARIABLE: Final = "PARATUS_GAME"

Seconds = Annotated[float, Field(gt=0, le=1e9)]


class Section(BaseModel):
    """A part of a configuration file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Model = TypeVar("Model", bound=BaseModel)


class BotSection(Section):
    """Who plays what."""

    agent: str = DEFAULT_AGENT
    """Who plays: one of `paratus bot --list`, or FILE.py:CLASS, an agent of your own (`docs/bots.md`)."""
    game: str | None = Field(default=None, examples=[DEFAULT_GAME])
    """The game: a .game file or the name of a shipped definition. ACPC never sends it, so it must be known here. The
    environment variable PARATUS_GAME is used when neither this key nor --game is given.
    """
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Every random draw is keyed by this seed, the match's name, the hand and the decision."""
    match: str = Field(default="", max_length=200)
    """A name for the match, part of that key."""
    hands: int = Field(default=0, ge=0, le=2**31)
    """How many hands the match has. 0: unknown; then the end of the match is whenever the dealer closes between two
    hands.
    """


class StoreSection(Section):
    """What is kept."""

    enabled: bool = True
    """Keep every hand and decision with its policy."""
    path: str = ""
    """The SQLite file; empty: a new one in the user's data folder, which is printed."""
    resume: bool = False
    """Go on in the row of an interrupted match of the same agent, game, seed and name."""


class ClockSection(Section):
    """The dealer's limits on our thinking."""

    response_s: Seconds = 600.0
    """The dealer's limit on one response, in seconds."""
    hand_s: Seconds = 600.0
    """Its limit on the responses of one hand."""
    per_hand_s: Seconds = 7.0
    """Its limit on the mean of the hands of the match."""
    margin_s: float = Field(default=0.2, ge=0, le=1e9)
    """Taken off every limit for the way between dealer and bot, but at most a fifth of what is left."""
    way_s: float = Field(default=0.005, ge=0, le=1e9)
    """What each response takes on the way, beyond our thinking: counted as used, since thousands of them add up over
    a match. More than a round trip, for a dealer that is far away.
    """
    think_s: float = Field(default=4.0, ge=0, le=1e9)
    """How long a hand may take on average, even if there is more time than that; 0: as long as there is."""
    assumed_hands: int = Field(default=3000, ge=1)
    """Hands assumed for the limit over the match when `hands` is 0."""

    @property
    def limits(self) -> Limits:
        """In the dealer's units."""
        return Limits(round(self.response_s * 1e3), round(self.hand_s * 1e3), round(self.per_hand_s * 1e3))


class WaitSection(Section):
    """How long we wait for the dealer."""

    connect_s: Seconds = 30.0
    """How long to wait for the dealer, in seconds: to connect."""
    first_state_s: Seconds = 3600.0
    """For the first state."""
    line_s: Seconds = 1260.0
    """For each further state."""


class _SessionSections(Section):
    """What is not about an agent."""

    bot: BotSection = BotSection()
    store: StoreSection = StoreSection()
    clock: ClockSection = ClockSection()
    wait: WaitSection = WaitSection()


class BotConfig(StrategySettings, _SessionSections):
    """All of it: after our own sections those of every agent."""

    @property
    def strategies(self) -> StrategySettings:
        """What strategies are told."""
        return StrategySettings(**{name: getattr(self, name) for name in StrategySettings.model_fields})


def default_settings() -> str:
    """The file that says everything and changes nothing."""
    from machine.settings_text import documented_settings  # reads source, which no match needs

    return documented_settings(BotConfig, _HEAD)


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
