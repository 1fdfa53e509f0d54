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
    """Section [blueprint].

    Agent `blueprint`: plays a strategy that was trained ahead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    agent: ClassVar[str] = "blueprint"
    shipped: ClassVar[str] = SHIPPED

    file: str = ""
    """The strategy's file; empty: the one that comes with Paratus."""
    tables: str = ""
    """The folder for tables that are computed from the file the first time (a minute); empty: in the user's cache
    folder.
    """
    rivers: bool = True
    """Keep the table of the river too, 291 MB on disk. Without it buckets of rivers are computed each time, which is
    slower.
    """


class SlumbotStyleSettings(LookupSettings):
    """Section [slumbot_style].

    Agent `slumbot-style`: another strategy that was trained ahead, with other bets and other groups of hands; the
    standing opponent.
    """

    agent: ClassVar[str] = "slumbot-style"
    shipped: ClassVar[str] = SLUMBOT_STYLE

    threshold: float = Field(default=0.0, ge=0, lt=0.5)
    """Actions that a hand would take less often than this it never takes (0 to 0.5)."""
    purify: bool = False
    """Each hand takes its likeliest action alone."""


Early = Literal["blueprint", "limited"]
Middle = Literal["blueprint", "limited", "nested"]
Late = Literal["blueprint", "nested"]


class RouterSettings(BaseModel):
    """Section [router].

    Agent `paratus`: which strategy decides where.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    preflop: Early = "limited"
    """Before the flop it is the blueprint as long as all sizes are its own; this is for when they are not: limited or
    blueprint.
    """
    flop: Early = "limited"
    """limited or blueprint."""
    turn: Middle = "nested"
    """nested, limited or blueprint."""
    river: Late = "nested"
    """nested or blueprint."""
    threshold: float = Field(default=0.0, ge=0, lt=0.5)
    """Actions that a hand would take less often than this it never takes (0 to 0.5), whoever decided; but for an answer
    that is given because it is late.
    """
    purify: bool = False
    """Each hand takes its likeliest action alone."""


class StrategySettings(BaseModel):
    """Those of every agent that has any: a section each. A new agent's is added here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    router: RouterSettings = RouterSettings()
    nested: NestedSettings = NestedSettings()
    limited: LimitedSettings = LimitedSettings()
    blueprint: LookupSettings = LookupSettings()
    slumbot_style: SlumbotStyleSettings = SlumbotStyleSettings()
    own: dict[str, Any] = {}
    """Agents in files of yours (`docs/bots.md`): the keys that the class declares. Other agents do not read them."""

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
