"""Payoff files: what an opponent has with each hand if it does not come, for the gadgets of `bot.solve.safety`.

    {
     "format": "paratus-payoffs", "version": 1,
     "player": "ip",                              whose payoffs: oop or ip
     "board": "Ks7h2d5cJh", "pot_chips": 1000, "stack_chips": 9500,       where
     "payoffs_chips": {"AhKd": 612.5, …},         by hand, in either order of its cards
     "gifts_chips": {"AhKd": 40, …},              optional; hands that are not named gave nothing away
     "spreads_chips": {"AhKd": 15, …},            optional: standard deviations; 0 for hands that are not named
     "response": "hedge",                         optional, with spreads: how the player answers them, hedge or normal
     "source": "…"                                optional, for people
    }

Chips are EVs as the answer prints them: from the spot on, what the player takes out of the pot less what it still puts
in. A solver counts net chips of the whole hand instead, which is half of the pot less (`Spot.paid`).

A file may also be a `.npy` of 1,326 numbers, NaN for hands without a payoff: nothing says then where it belongs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from bot.solve.records import StrictRecord
from bot.solve.spots import PLAYERS, parse_board, read_array
from machine.errors import ConfigError, quote
from machine.files import read_bounded, whole_file
from machine.refusals import problem_words
from protocol.arrays import F64
from protocol.cards import Card, CardError, cards_text
from protocol.game import UNLIMITED
from protocol.hands import NUM_HANDS, HandIndex, hand_text, parse_hand

FORMAT: Final = "paratus-payoffs"
VERSION: Final = 1
_MAX_BYTES: Final = 1 << 20

_Chips = Annotated[float, Field(ge=-UNLIMITED, le=UNLIMITED)]
_NoLoss = Annotated[float, Field(ge=0, le=UNLIMITED)]


class PayoffsError(ConfigError):
    """A file of payoffs that cannot be used, or not here."""


class PayoffsRecord(StrictRecord):
    """What a file holds."""

    format: Literal["paratus-payoffs"]
    version: Literal[1]
    player: Literal["oop", "ip"]
    board: str = Field(max_length=20)
    pot_chips: int = Field(ge=1, le=UNLIMITED)
    stack_chips: int = Field(ge=1, le=UNLIMITED)
    payoffs_chips: dict[str, _Chips]
    gifts_chips: dict[str, _NoLoss] | None = None
    spreads_chips: dict[str, _NoLoss] | None = None
    response: Literal["hedge", "normal"] | None = None
    source: str = Field(default="", max_length=2000)


@dataclass(frozen=True, slots=True)
class Where:
    """The spot and player that payoffs belong to."""

    player: int
    board: tuple[Card, ...]
    pot: int
    stack: int


@dataclass(frozen=True, slots=True, eq=False)
class Payoffs:
    """By hand of the 1,326."""

    where: Where | None
    """None if that is not known."""
    chips: F64
    """EVs from the spot on; NaN for hands without one."""
    gifts: F64 | None = None
    """What the player gave away on the way with each hand; None if that is not known."""
    spreads: F64 | None = None
    """Standard deviations; None if the payoffs are certain."""
    hedge: bool = True
    """With spreads the player comes as Hedge says (5.1.6 of Brown's thesis), else as Theorem 22 does."""


def read_payoffs(path: Path) -> Payoffs:
    """What a file holds; a message names file, key and value."""
    array = read_array(path, "--payoffs") if path.suffix == ".npy" else None
    data = b"" if array is not None else read_bounded(path, "--payoffs", _MAX_BYTES)
    try:
        return _payoffs(_record(data)) if array is None else Payoffs(None, _numbers(array.astype(np.float64)))
    except ConfigError as error:
        raise PayoffsError(f"--payoffs {path}: {error}") from None


def _numbers(numbers: F64) -> F64:
    if numbers.shape != (NUM_HANDS,):
        raise PayoffsError(f"{list(numbers.shape)} numbers: expected {NUM_HANDS}, by hand")
    bad = np.flatnonzero(np.abs(numbers) > UNLIMITED)
    if bad.size:
        raise PayoffsError(f"{_name(bad[0])} = {numbers[bad[0]]}: expected chips, or NaN for a hand without any")
    return numbers


def _name(hand: int | np.integer) -> str:
    return hand_text(HandIndex(int(hand)))


def _record(data: bytes) -> PayoffsRecord:
    try:
        fields = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise PayoffsError(
            "no JSON: expected a file that --save-payoffs wrote, or the 1,326 numbers of a .npy"
        ) from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise PayoffsError(f"no payoffs: expected an object with format = '{FORMAT}'")
    if fields.get("version") != VERSION:
        raise PayoffsError(f"version = {quote(str(fields.get('version')))[1:-1]}: expected {VERSION}")
    try:
        return PayoffsRecord.model_validate(fields)
    except ValidationError as error:
        raise PayoffsError(problem_words(error, PayoffsRecord)) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise PayoffsError(f"{quote(twice)} stands twice in an object: expected it once")
    return fields


def _payoffs(record: PayoffsRecord) -> Payoffs:
    if record.response is not None and record.spreads_chips is None:
        raise PayoffsError(f"response = {record.response} without spreads_chips, which it is to: expected both")
    return Payoffs(
        where=Where(
            player=PLAYERS.index(record.player),
            board=parse_board(record.board),
            pot=record.pot_chips,
            stack=record.stack_chips,
        ),
        chips=_by_hand("payoffs_chips", record.payoffs_chips, np.nan),
        gifts=None if record.gifts_chips is None else _by_hand("gifts_chips", record.gifts_chips, 0.0),
        spreads=None if record.spreads_chips is None else _by_hand("spreads_chips", record.spreads_chips, 0.0),
        hedge=record.response != "normal",
    )


def _by_hand(key: str, given: Mapping[str, float], missing: float) -> F64:
    numbers, named = np.full(NUM_HANDS, missing), np.zeros(NUM_HANDS, np.bool_)
    for text, number in given.items():
        try:
            hand = parse_hand(text)
        except CardError as error:
            raise PayoffsError(f"{key}: {error}") from None
        if named[hand]:
            raise PayoffsError(
                f"{key}: {hand_text(hand)} stands twice, with its cards in either order: expected it once"
            )
        numbers[hand], named[hand] = number, True
    return numbers


def write_payoffs(path: Path, payoffs: Payoffs, source: str) -> None:
    """Write a file, all of it or nothing."""
    where = payoffs.where
    assert where is not None
    record = PayoffsRecord(
        format="paratus-payoffs",
        version=1,
        player="ip" if where.player else "oop",
        board=cards_text(where.board),
        pot_chips=where.pot,
        stack_chips=where.stack,
        payoffs_chips=_named(payoffs.chips, ~np.isnan(payoffs.chips)),
        gifts_chips=None if payoffs.gifts is None else _named(payoffs.gifts, payoffs.gifts > 0),
        spreads_chips=None if payoffs.spreads is None else _named(payoffs.spreads, payoffs.spreads > 0),
        response=None if payoffs.spreads is None else "hedge" if payoffs.hedge else "normal",
        source=source,
    )
    with whole_file(path) as file:
        file.write(record.model_dump_json(indent=1, exclude_none=True).encode() + b"\n")


def _named(numbers: F64, which: NDArray[np.bool_]) -> dict[str, float]:
    """To seven significant digits, which is what float32 holds."""
    return {_name(hand): float(f"{numbers[hand]:.7g}") for hand in np.flatnonzero(which).tolist()}
