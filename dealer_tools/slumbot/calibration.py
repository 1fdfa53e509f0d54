"""`paratus slumbot --calibrate`: is what a server says of winnings what it seems to be?

A player who always folds loses its 50 in the small blind, every time, whatever the cards: a hand in which it does not
means that winnings are not chips of that hand. In the big blind it wins 50 where the other folds, and checks or folds
else, so nothing is certain there.

`baseline_winnings` is what we won above what the server's own player wins with the same cards against itself. Taken
from what we won it leaves that player's own result, which is small on average. If it were that result itself, and no
difference, then what is left would be near -50 in the small blind: so both means are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from dealer_tools.formats.records import PlayedHand
from protocol.game import Position
from strategies.players.baselines import AlwaysFold

AGENT: Final = AlwaysFold.name
SMALL_BLIND_CHIPS: Final = -50.0
_SHOWN: Final = 3
_SEATS: Final = {Position(1): "small blind", Position(0): "big blind"}


@dataclass(frozen=True, slots=True)
class Seat:
    """The hands in one position, in chips a hand."""

    hands: int
    mean: float | None
    least: float | None
    most: float | None
    baseline: float | None
    """The mean of baseline_winnings; None if a hand has none."""
    left: float | None
    """The mean of what we won less baseline_winnings."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the hands of an always-fold session say."""

    seats: dict[str, Seat]
    wrong: tuple[str, ...]
    """Hands in the small blind that do not read -50."""

    @property
    def passed(self) -> bool:
        """True if there were such hands, and all did."""
        return not self.wrong and self.seats["small blind"].hands > 0

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        seats = {name: asdict(seat) for name, seat in self.seats.items()}
        return {"passed": self.passed, "chips": seats, "wrong": list(self.wrong)}

    def lines(self) -> list[str]:
        """For people."""
        lines = [
            f"{'always-fold, chips a hand':26}{'hands':>9}{'mean':>9}{'from':>8}{'to':>8}{'baseline':>10}{'left':>9}"
        ]
        for name, seat in self.seats.items():
            cells = (f"{_chips(seat.mean):>9}{_chips(seat.least):>8}{_chips(seat.most):>8}"
                     f"{_chips(seat.baseline):>10}{_chips(seat.left):>9}")  # fmt: skip
            lines.append(f"{name:26}{seat.hands:>9,}{cells}")
        if self.wrong:
            lines += [f"small blind, expected -50: {each}" for each in self.wrong[:_SHOWN]]
            return [*lines, f"FAILED: {len(self.wrong)} hands in the small blind do not read -50"]
        if not self.passed:
            return [*lines, "FAILED: no hand in the small blind"]
        return [*lines, f"passed: every hand in the small blind reads {SMALL_BLIND_CHIPS:.0f}"]


def calibrate(hands: Iterable[PlayedHand], player: str) -> Calibration:
    """Look at the hands of a player who always folded."""
    by_seat: dict[Position, list[PlayedHand]] = {seat: [] for seat in _SEATS}
    for hand in hands:
        by_seat[Position(hand.record.names.index(player))].append(hand)
    wrong = [
        f"{hand.where}: hand {hand.record.hand}: {hand.record.values[1]:+g}"
        for hand in by_seat[Position(1)]
        if hand.record.values[1] != SMALL_BLIND_CHIPS
    ]
    return Calibration({name: _seat(by_seat[seat], seat) for seat, name in _SEATS.items()}, tuple(wrong))


def _seat(hands: list[PlayedHand], seat: Position) -> Seat:
    if not hands:
        return Seat(0, None, None, None, None, None)
    won = [hand.record.values[seat] for hand in hands]
    mean = math.fsum(won) / len(won)
    told = [hand.baseline_chips for hand in hands if hand.baseline_chips is not None]
    baseline = math.fsum(told) / len(told) if len(told) == len(hands) else None
    return Seat(len(hands), mean, min(won), max(won), baseline, None if baseline is None else mean - baseline)


def _chips(number: float | None) -> str:
    return "?" if number is None else f"{number:+.1f}"
