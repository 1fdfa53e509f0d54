"""What solution files and `--json` say about a spot and a solve; unknown keys are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from bot.solve.spots import PLAYERS, SolveSpot, parse_board, read_menu, read_range
from machine.errors import ConfigError, quote
from protocol.cards import cards_text
from protocol.game import UNLIMITED
from protocol.ranges import range_text
from solver.menu import menu_text

if TYPE_CHECKING:
    from solver.engine import Exploitability


class StrictRecord(BaseModel):
    """Exact types, no other keys, no numbers that are none."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class SpotRecord(StrictRecord):
    """A question, in text that reads back to exactly the same."""

    board: str = Field(max_length=20)
    pot_chips: int = Field(ge=1, le=UNLIMITED)
    stack_chips: int = Field(ge=1, le=UNLIMITED)
    big_blind_chips: int = Field(ge=1, le=UNLIMITED)
    menu: str
    oop: str
    ip: str


class ExploitabilityRecord(StrictRecord):
    """What best responses win, on average over both players."""

    chips: float
    mbb: float
    """Thousandths of a big blind a hand."""
    pot_share: float


class SolveRecord(StrictRecord):
    """How the answer was found."""

    algorithm: str = Field(max_length=200)
    iterations: int = Field(ge=0)
    seconds: float = Field(ge=0)
    bits: int
    """Of each regret and average while solving."""
    seed: int
    paratus: str = Field(max_length=100)
    """The version that solved it."""
    exploitability: ExploitabilityRecord


def spot_record(spot: SolveSpot) -> SpotRecord:
    """A spot as text."""
    oop, ip = (range_text(weights) for weights in spot.ranges)
    return SpotRecord(
        board=cards_text(spot.board),
        pot_chips=spot.pot,
        stack_chips=spot.stack,
        big_blind_chips=spot.big_blind,
        menu=menu_text(spot.menu),
        oop=oop,
        ip=ip,
    )


def recorded_spot(record: SpotRecord) -> SolveSpot:
    """The spot that a record describes."""
    for who, text in zip(PLAYERS, (record.oop, record.ip), strict=True):
        if text.startswith("@"):
            raise ConfigError(f"{who}: {quote(text)}: expected a range, not the name of a file")
    return SolveSpot(
        board=parse_board(record.board),
        pot=record.pot_chips,
        stack=record.stack_chips,
        ranges=(read_range(record.oop, PLAYERS[0]), read_range(record.ip, PLAYERS[1])),
        menu=read_menu(record.menu),
        big_blind=record.big_blind_chips,
    )


def exploitability_record(found: Exploitability) -> ExploitabilityRecord:
    """To seven digits, which is more than it is known to."""
    chips, mbb, pot_share = (float(f"{value:.7g}") for value in (found.chips, found.mbb, found.pot_share))
    return ExploitabilityRecord(chips=chips, mbb=mbb, pot_share=pot_share)
