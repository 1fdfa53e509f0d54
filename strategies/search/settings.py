"""What can be set about search: sections [nested] and [limited]; `bot/paratus.toml` documents every key."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from protocol.game import STREET_NAMES
from solver.gadget_kinds import Kind
from solver.menu import MenuError, parse_menu


def _menu(text: str) -> str:
    try:
        parse_menu(text)
    except MenuError as error:
        raise ValueError(str(error)) from None
    return text


MenuText = Annotated[str, AfterValidator(_menu)]
"""A betting menu as text (`solver.menu`)."""


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, ser_json_inf_nan="constants"
    )


class MenuRule(_Section):
    """The bets to consider in some subgames."""

    street: Literal["turn", "river", "any"] = "any"
    """Where the subgame begins."""
    spr: float = Field(default=float("inf"), ge=0, allow_inf_nan=True)
    """The rule holds for a stack-to-pot ratio up to this at the root: chips behind over chips in the pot."""
    menu: MenuText


class Effort(_Section):
    """How long to think about one decision of a street: whatever ends first."""

    iterations: int = Field(ge=1, le=1_000_000)
    share: float = Field(gt=0, le=1)
    """Of what a hand may take on average."""


class SearchSettings(_Section):
    """What all searches have: an `Effort` for each street that they solve."""

    def effort(self, street: int) -> Effort:
        """That of a street."""
        effort: Effort = getattr(self, STREET_NAMES[street])
        return effort

    @field_validator("preflop", "flop", "turn", "river", mode="before", check_fields=False)
    @classmethod
    def _whole_effort(cls, value: object, info: ValidationInfo) -> object:
        """What a section about one street leaves out is as it is by default."""
        assert info.field_name is not None
        default: Effort = cls.model_fields[info.field_name].default
        return {**default.model_dump(), **value} if isinstance(value, dict) else value


class NestedSettings(SearchSettings):
    """Nested search."""

    base: str = "always-call"
    """The agent that plays before the turn, and by which the opponent is taken to play there."""
    kind: Annotated[Kind, Field(strict=False)] = Kind.REACH_MAXMARGIN
    """How subgames after the first are solved."""
    nesting: Literal["inexpensive", "expensive"] = "inexpensive"
    """From after the opponent's bet, or from before it with the bet added."""
    trusted_iterations: int = Field(default=100, ge=0, le=1_000_000)
    """What a solve of fewer says of the opponent's hands is no alternative payoff: the next one is unsafe."""
    gifts: Literal["estimate", "bound"] = "estimate"
    """What the opponent gave away earlier: by all its actions, or by those that end the hand (thesis 5.1.3)."""
    gift_scale: float = Field(default=1.0, ge=0)
    coarser: Annotated[tuple[MenuText, ...], Field(strict=False)] = ("75%,a / a", "-")
    """What is solved instead if there is no time for that, in order."""
    perturb_percent: float = Field(default=0.0, ge=0, le=8)
    """Bet sizes are raised by up to so much, drawn once a hand."""
    least_probability: float = Field(default=0.01, ge=0, lt=0.5)
    """Actions that a hand takes less often than this it never takes."""
    floor: float = Field(default=1e-4, gt=0, le=0.1)
    """The least weight that an action of the opponent leaves a hand, relative to the hand that likes it most."""
    threads: int = Field(default=0, ge=0, le=256)
    """0: as many as measure faster."""
    memory_mb: int = Field(default=2048, ge=16)
    turn: Effort = Effort(iterations=500, share=0.5)
    river: Effort = Effort(iterations=3000, share=0.25)
    menus: Annotated[tuple[MenuRule, ...], Field(strict=False)] = (
        MenuRule(street="river", menu="33%,67%,100%,200%,a / 50%,100%,a / 100%,a / a"),
        MenuRule(street="turn", spr=4.0, menu="50%,100%,a / 100%,a"),
        MenuRule(menu="turn 50%,100% / 100% / a; river 75%,150% / 100% / a"),
    )
    """The first rule that fits holds."""


class Chooser(StrEnum):
    """Who chooses a continuation at the leaves of a depth-limited game."""

    BOTH = "both"
    OPPONENT = "opponent"
    NOBODY = "nobody"


class LimitedSettings(SearchSettings):
    """Depth-limited search."""

    menu: Annotated[str, AfterValidator(lambda text: _menu(text) if text else text)] = ""
    """Empty: the blueprint's own, so that leaves are the blueprint's."""
    chooser: Annotated[Chooser, Field(strict=False)] = Chooser.BOTH
    continuations: int = Field(default=4, ge=1, le=4)
    """The blueprint; it biased to fold, to call, to raise."""
    bias_factor: float = Field(default=10.0, gt=0, le=1000)
    run_outs: int = Field(default=1, ge=1, le=64)
    """Samples of the cards to come in each iteration."""
    reuse: int = Field(default=1, ge=1, le=1000)
    """Iterations that a sample serves."""
    exact_spr: float = Field(default=50.0, ge=0, allow_inf_nan=True)
    """From this stack-to-pot ratio on folds and all-ins of a flop are exact, not of the sample."""
    leaves: Literal["roll-outs", "learned"] = "roll-outs"
    """How leaves of the flop are valued."""
    network: str = ""
    """The file of learned values; empty: where `paratus blueprint leaves` puts it."""
    begin_iterations: int = Field(default=30, ge=0, le=10_000)
    """The blueprint's strategy counts as so many iterations."""
    begin_weight: float = Field(default=4.0, ge=0, le=1e6)
    """And is held to by regrets of so many pots."""
    least_probability: float = Field(default=0.02, ge=0, lt=0.5)
    floor: float = Field(default=1e-4, gt=0, le=0.1)
    threads: int = Field(default=0, ge=0, le=256)
    """0: all cores."""
    keep: bool = True
    """Whether solved betting before the flop is kept on disk."""
    kept: str = ""
    """The folder for that; empty: in the user's cache."""
    preflop: Effort = Effort(iterations=2000, share=0.5)
    flop: Effort = Effort(iterations=1000, share=0.3)
    turn: Effort = Effort(iterations=2000, share=0.5)
