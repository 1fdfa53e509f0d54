"""What strategies can be told: one section each, as in a configuration file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from blueprints.shipped import SHIPPED, SLUMBOT_STYLE
from machine.errors import ConfigError, quote
from strategies.search.settings import Effort, LimitedSettings, NestedSettings


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
    """Those of every agent that has any: a section each. A new agent's is added here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    router: RouterSettings = RouterSettings()
    limited: LimitedSettings = LimitedSettings()
    blueprint: LookupSettings = LookupSettings()
    slumbot_style: SlumbotStyleSettings = SlumbotStyleSettings()
    nested: NestedSettings = NestedSettings()
    own: dict[str, Any] = {}
    """Of an agent that the user wrote, as its class declares them."""

    def one_thread(self) -> StrategySettings:
        """With searches of one thread, where the number is not fixed: for several processes, one for each core."""
        return self._with({"threads": 1}, unless=lambda section: bool(getattr(section, "threads", 1)))

    def with_iterations(self, iterations: int) -> StrategySettings:
        """With so many iterations of every search."""
        changed = {}
        for name, section in self._sections():
            efforts = {key: value for key, value in section if isinstance(value, Effort)}
            told = {key: value.model_copy(update={"iterations": iterations}) for key, value in efforts.items()}
            changed[name] = section.model_copy(update=told)
        return self.model_copy(update=changed)

    def without_memory(self) -> StrategySettings:
        """Without what other matches have left on disk, which would count as iterations of this one."""
        return self._with({"keep": False})

    def _sections(self) -> Iterator[tuple[str, BaseModel]]:
        for name, section in self:
            if isinstance(section, BaseModel):
                yield name, section

    def _with(
        self, told: dict[str, Any], unless: Callable[[BaseModel], bool] = lambda section: False
    ) -> StrategySettings:
        """With keys changed in all sections that have them."""
        changed = {}
        for name, section in self._sections():
            known = {key: value for key, value in told.items() if key in type(section).model_fields}
            if known and not unless(section):
                changed[name] = section.model_copy(update=known)
        return self.model_copy(update=changed)


def think_seconds(text: str) -> float:
    """What `--think` says: how long a hand may take on average."""
    found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?s?", text.strip())
    if found is None or not float(found.group(1)):
        raise ConfigError(f"--think {quote(text)}: expected seconds above 0, as in 0.5s, 2s or 7s")
    return float(found.group(1))
