"""What can be set about search: sections [nested] and [limited]."""

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
    """Where the subgame begins: turn, river or any."""
    spr: float = Field(default=float("inf"), ge=0, allow_inf_nan=True)
    """The rule holds up to this stack-to-pot ratio at the root: the chips behind over the chips in the pot."""
    menu: MenuText
    """Sizes of the first bet / of raises, by street and player (`paratus solve --help` explains menus)."""


class Effort(_Section):
    """How long to think about one decision of a street: whatever ends first."""

    iterations: int = Field(ge=1, le=1_000_000)
    """Iterations in all."""
    share: float = Field(gt=0, le=1)
    """A share of the time that a hand may take on average."""


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
    """Nested search.

    Agent `nested`, and what `paratus` plays on the turn and the river: safe search at the table to the end of the hand.
    """

    base: str = "always-call"
    """The agent that plays before the turn, and by which the opponent is taken to play there too."""
    kind: Annotated[Kind, Field(strict=False)] = Kind.REACH_MAXMARGIN
    """How subgames after the first are solved: unsafe, resolve, maxmargin, reach-resolve, reach-maxmargin."""
    nesting: Literal["inexpensive", "expensive"] = "inexpensive"
    """From after the opponent's bet (inexpensive), or from before it with the bet added (expensive)."""
    trusted_iterations: int = Field(default=100, ge=0, le=1_000_000)
    """A solve that had fewer iterations is not trusted to say what the opponent's hands were worth: the next is
    unsafe.
    """
    gifts: Literal["estimate", "bound"] = "estimate"
    """What the opponent gave away earlier in the hand, for the reach kinds: by all its actions (estimate), or only by
    those that would have ended the hand (bound; thesis 5.1.3).
    """
    gift_scale: float = Field(default=1.0, ge=0)
    """A factor for it."""
    coarser: Annotated[tuple[MenuText, ...], Field(strict=False)] = ("75%,a / a", "-")
    """Trees used when there is no time for the menus below, in order."""
    perturb_percent: float = Field(default=0.0, ge=0, le=8)
    """Bet sizes are raised by up to so many percent (0 to 8), drawn once a hand."""
    least_probability: float = Field(default=0.01, ge=0, lt=0.5)
    """Actions that a hand would take less often than this it never takes."""
    floor: float = Field(default=1e-4, gt=0, le=0.1)
    """The least weight that an action of the opponent leaves a hand, relative to the hand that likes it most."""
    threads: int = Field(default=0, ge=0, le=256)
    """Threads; 0: as many as measure faster."""
    memory_mb: int = Field(default=2048, ge=16)
    """The most memory for one subgame."""
    turn: Effort = Effort(iterations=500, share=0.5)
    """How long to think about a decision on the turn, whatever ends first."""
    river: Effort = Effort(iterations=3000, share=0.25)
    """How long to think about a decision on the river, whatever ends first."""
    menus: Annotated[tuple[MenuRule, ...], Field(strict=False)] = (
        MenuRule(street="river", menu="33%,67%,100%,200%,a / 50%,100%,a / 100%,a / a"),
        MenuRule(street="turn", spr=4.0, menu="50%,100%,a / 100%,a"),
        MenuRule(menu="turn 50%,100% / 100% / a; river 75%,150% / 100% / a"),
    )
    """The bets to consider: the first rule that fits the root of the subgame holds. Without one that fits, the first of
    `coarser` is used.
    """


class Chooser(StrEnum):
    """Who chooses a continuation at the leaves of a depth-limited game."""

    BOTH = "both"
    OPPONENT = "opponent"
    NOBODY = "nobody"


class LimitedSettings(SearchSettings):
    """Depth-limited search.

    Agent `limited`, and what `paratus` plays on the flop and against odd sizes before it: depth-limited search over the
    blueprint.
    """

    menu: Annotated[str, AfterValidator(lambda text: _menu(text) if text else text)] = ""
    """The bets to consider; empty: those of the blueprint. What was really bet is always there."""
    chooser: Annotated[Chooser, Field(strict=False)] = Chooser.BOTH
    """Who chooses, hand by hand, how it goes on after the street: both, opponent (who plays against us), nobody."""
    continuations: int = Field(default=4, ge=1, le=4)
    """Between how many continuations: the blueprint, and the blueprint biased to fold, to call and to raise."""
    bias_factor: float = Field(default=10.0, gt=0, le=1000)
    """What the bias multiplies probabilities by."""
    run_outs: int = Field(default=1, ge=1, le=64)
    """Samples of the cards to come in each iteration."""
    reuse: int = Field(default=1, ge=1, le=1000)
    """How many iterations a sample serves."""
    exact_spr: float = Field(default=50.0, ge=0, allow_inf_nan=True)
    """From this stack-to-pot ratio on folds and all-ins of a flop are exact, not of the sample: slower, without
    their luck.
    """
    leaves: Literal["roll-outs", "learned"] = "roll-outs"
    """How leaves of the flop are valued: by "roll-outs", or by a network that has "learned" from them, which
    `paratus blueprint leaves` makes.
    """
    network: str = ""
    """The network's file; empty: where that command puts it."""
    begin_iterations: int = Field(default=30, ge=0, le=10_000)
    """The warm start: the blueprint's strategy counts as if it had been played for so many iterations."""
    begin_weight: float = Field(default=4.0, ge=0, le=1e6)
    """The regrets of the warm start, in pots: how firmly the search holds to the blueprint at first."""
    least_probability: float = Field(default=0.02, ge=0, lt=0.5)
    """Actions that a hand would take less often than this it never takes."""
    floor: float = Field(default=1e-4, gt=0, le=0.1)
    """The least weight that an action of the opponent leaves a hand, relative to the hand that likes it most."""
    threads: int = Field(default=0, ge=0, le=256)
    """Threads; 0: all cores."""
    keep: bool = True
    """Keep what was solved before the flop on disk, to go on from there."""
    kept: str = ""
    """The folder for that; empty: in the user's cache folder."""
    preflop: Effort = Effort(iterations=2000, share=0.5)
    """How long to think about a decision before the flop, whatever ends first. A solve that goes on from the disk
    counts the iterations that it had.
    """
    flop: Effort = Effort(iterations=1000, share=0.3)
    """How long to think about a decision on the flop, whatever ends first."""
    turn: Effort = Effort(iterations=2000, share=0.5)
    """How long to think about a decision on the turn, whatever ends first."""
