"""What strategies can be told: one section each, as in a configuration file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from strategies.search.settings import NestedSettings


class StrategySettings(BaseModel):
    """Those of every strategy that has any."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nested: NestedSettings = NestedSettings()
