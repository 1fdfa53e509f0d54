"""What strategies can be told: one section each, as in a configuration file."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from blueprints.shipped import SHIPPED, SLUMBOT_STYLE
from machine.errors import ConfigError, quote
from strategies.search.settings import LimitedSettings, NestedSettings


class LookupSettings(BaseModel):
    """Section [blueprint]; `bot/paratus.toml` documents every key."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    agent: ClassVar[str] = "blueprint"
    shipped: ClassVar[str] = SHIPPED

    file: str = ""
    """Empty: the blueprint that ships with the agent."""
    tables: str = ""
    """The folder of its tables of buckets; empty: in the user's cache."""
    rivers: bool = True
    """Whether buckets of rivers are kept in a table (291 MB) or computed each time."""


class SlumbotStyleSettings(LookupSettings):
    """Section [slumbot_style]."""

    agent: ClassVar[str] = "slumbot-style"
    shipped: ClassVar[str] = SLUMBOT_STYLE

    threshold: float = Field(default=0.0, ge=0, lt=0.5)
    """Actions that a hand would take less often than this it never takes."""
    purify: bool = False
    """Whether each hand takes its likeliest action alone."""


Early = Literal["blueprint", "limited"]
Middle = Literal["blueprint", "limited", "nested"]
Late = Literal["blueprint", "nested"]


class RouterSettings(BaseModel):
    """Section [router]: what agent `paratus` decides by."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    preflop: Early = "limited"
    """Where somebody has bet a size that the blueprint does not have; else it is the blueprint."""
    flop: Early = "limited"
    turn: Middle = "nested"
    river: Late = "nested"
    threshold: float = Field(default=0.0, ge=0, lt=0.5)
    """Actions that a hand would take less often than this it never takes."""
    purify: bool = False
    """Whether each hand takes its likeliest action alone."""


class StrategySettings(BaseModel):
    """Those of every strategy that has any."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    router: RouterSettings = RouterSettings()
    nested: NestedSettings = NestedSettings()
    limited: LimitedSettings = LimitedSettings()
    blueprint: LookupSettings = LookupSettings()
    slumbot_style: SlumbotStyleSettings = SlumbotStyleSettings()

    def one_thread(self) -> StrategySettings:
        """With searches of one thread, where the number is not fixed: for several processes, one for each core."""
        nested = self.nested.model_copy(update={"threads": self.nested.threads or 1})
        limited = self.limited.model_copy(update={"threads": self.limited.threads or 1})
        return self.model_copy(update={"nested": nested, "limited": limited})


def think_seconds(text: str) -> float:
    """What `--think` says: how long a hand may take on average."""
    found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?s?", text.strip())
    if found is None or not float(found.group(1)):
        raise ConfigError(f"--think {quote(text)}: expected seconds above 0, as in 0.5s, 2s or 7s")
    return float(found.group(1))
