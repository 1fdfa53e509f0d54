"""What strategies can be told: one section each, as in a configuration file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from strategies.search.settings import NestedSettings


class LookupSettings(BaseModel):
    """Section [blueprint]; `bot/paratus.toml` documents every key."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    file: str = ""
    """Empty: the blueprint that ships."""
    tables: str = ""
    """The folder of its tables of buckets; empty: in the user's cache."""
    rivers: bool = True
    """Whether buckets of rivers are kept in a table (291 MB) or computed each time."""


class StrategySettings(BaseModel):
    """Those of every strategy that has any."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nested: NestedSettings = NestedSettings()
    blueprint: LookupSettings = LookupSettings()
