"""How many buckets, and how they are found."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_BUCKETS: Final = 65_535
MAX_GROUPS: Final = 16
"""One lane of a vector each."""


class CardSettings(BaseModel):
    """The card abstraction of full hold'em, apart from the 169 classes of the first street."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    flop: int = Field(default=1000, ge=1, le=MAX_BUCKETS)
    """Buckets of the flop."""
    turn: int = Field(default=1000, ge=1, le=MAX_BUCKETS)
    river: int = Field(default=500, ge=1, le=MAX_BUCKETS)
    quantiles: int = Field(default=16, ge=1, le=16)
    """Equal shares of probability in which the distribution of strength to come is told."""
    turn_share: float = Field(default=0.5, ge=0.0, le=1.0)
    """On the flop, the weight of the strength on the turn; the rest is that of the strength on the river."""
    opponents: int = Field(default=8, ge=1, le=MAX_GROUPS)
    """Clusters of opposing hands against which hands are measured on the river."""
    halvings: int = Field(default=4, ge=0, le=15)
    """As well as against the strongest half, quarter, … of hands on the board: so many such groups."""
    emphasis: float = Field(default=0.5, ge=0.0, le=4.0)
    """On the flop and the turn, how much more differences between strong hands count; 0 is not at all."""
    sample: int = Field(default=400_000, ge=1_000)
    """Hands on boards, of each street, among which centres are sought; never more than there are."""
    starts: int = Field(default=3, ge=1)
    """Searches from different beginnings, over a part of the sample; the best goes on over all of it."""
    rounds: int = Field(default=50, ge=1)
    """Rounds of k-means at most, in each search."""
    seed: int = Field(default=1, ge=0)

    @model_validator(mode="after")
    def _check_groups(self) -> CardSettings:
        if self.opponents + self.halvings > MAX_GROUPS:
            raise ValueError(
                f"opponents = {self.opponents} and halvings = {self.halvings}: expected {MAX_GROUPS} together at most"
            )
        return self

    @property
    def dimensions(self) -> tuple[int, int, int, int]:
        """Of the features, by street."""
        return 0, 2 * self.quantiles, self.quantiles, self.opponents + self.halvings

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Buckets by street."""
        return 169, self.flop, self.turn, self.river
