"""Solving a spot from the command line: what it costs, how far to go, and going there."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bot.solve.progress import Goal, SolveBar
from bot.solve.spots import SolveSpot, root_state
from machine.errors import ConfigError, ParatusError, quote
from protocol.cards import cards_text

if TYPE_CHECKING:
    from bot.solve.safety import Safety
    from solver.algorithms import Algorithm
    from solver.engine import SolveProgress
    from solver.subgame import SubgamePrice
    from solver.subgame_solver import Solver

_NUMBER: Final = r"([0-9]{1,12}(?:\.[0-9]{1,12})?)"
_TARGET: Final = re.compile(rf"{_NUMBER}\s*(%|mbb|c)")
_TIME: Final = re.compile(rf"{_NUMBER}\s*(s|m|h|)")
_MEMORY: Final = re.compile(rf"{_NUMBER}\s*([kMGT]?)i?B?")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}
_BYTES: Final = {"": 1, "k": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_target(text: str, spot: SolveSpot) -> float:
    """An exploitability, in chips: `0.5%` of the pot, `5mbb`, `20c`."""
    found = _TARGET.fullmatch(text.strip())
    if found is None or float(found.group(1)) <= 0:
        raise ConfigError(f"--target {quote(text)}: expected 0.5% (of the pot), 5mbb or 20c (chips), more than 0")
    number, unit = float(found.group(1)), found.group(2)
    return number * {"%": spot.pot / 100, "mbb": spot.big_blind / 1000, "c": 1}[unit]


def parse_time(text: str) -> float:
    """Seconds: `30s`, `5m`, `1h`, `30`."""
    found = _TIME.fullmatch(text.strip())
    if found is None or float(found.group(1)) <= 0:
        raise ConfigError(f"--time {quote(text)}: expected 30s, 5m or 1h, more than 0")
    return float(found.group(1)) * _SECONDS[found.group(2)]


def parse_memory(text: str) -> int:
    """Bytes: `8GB`, `800MB`; a GB is 2³⁰ bytes."""
    found = _MEMORY.fullmatch(text.strip())
    if found is None or float(found.group(1)) <= 0:
        raise ConfigError(f"--memory {quote(text)}: expected 8GB or 800MB, more than 0")
    return int(float(found.group(1)) * _BYTES[found.group(2)])


def usual_memory() -> int:
    """Three quarters of the machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
    except (AttributeError, ValueError, OSError):  # systems that do not say
        return 8 << 30


def bytes_text(count: float) -> str:
    """`39 MB`, `1.2 GB`."""
    for unit in ("kB", "MB", "GB"):
        count /= 1024
        if count < 999.5 or unit == "GB":
            break
    return f"{count:.0f} {unit}" if count >= 9.95 else f"{count:.1f} {unit}"


def find_price(spot: SolveSpot, bits: int, marks: Sequence[NDArray[np.floating]] = ()) -> SubgamePrice:
    """What a spot costs, before any memory is taken. Boards are alike only if `marks`, numbers by hand, are so too."""
    from solver.subgame import Storage, outline

    root, storage = root_state(spot), Storage(bits)
    try:
        return outline(root, spot.board, spot.ranges, spot.menu, storage=storage, marks=marks).price
    except ParatusError as error:  # what the spot's own checks cannot see: trees that are too large
        raise ConfigError(f"menu: {error}") from None


def price_text(spot: SolveSpot, price: SubgamePrice) -> str:
    """Spot and price in a line."""
    hands = " × ".join([str(count) for count in spot.hands])
    return (
        f"{cards_text(spot.board)}, pot {spot.pot:,}, {spot.stack:,} behind: {hands} hands, {price.decisions:,} "
        f"decisions on {price.boards:,} board{'s' * (price.boards > 1)}, {price.pairs:,} (hand, action) pairs, "
        f"{bytes_text(price.bytes)}"
    )


def check_memory(price: SubgamePrice, most_bytes: int) -> None:
    """Refuse a spot that is too large."""
    if price.bytes > most_bytes:
        raise ConfigError(
            f"--memory {bytes_text(most_bytes)}: the spot needs {bytes_text(price.bytes)}: expected fewer sizes, "
            f"smaller ranges, --bits 16, or more memory"
        )


@dataclass(frozen=True, slots=True)
class SolveSettings:
    """How to solve."""

    algorithm: Algorithm | None = None
    """None for the solver's own choice."""
    bits: int = 32
    threads: int | None = None
    """None for as many as measure faster."""
    seed: int = 0


def make_solver(
    spot: SolveSpot, settings: SolveSettings, safety: Safety | None = None, marks: Sequence[NDArray[np.floating]] = ()
) -> Solver:
    """A solver that has not begun; what it costs has been accepted."""
    from solver.subgame import Storage, Subgame, SubgameLimits
    from solver.subgame_solver import Solver

    storage, root = Storage(settings.bits), root_state(spot)
    ranges = [weights.astype(np.float64) / most for weights, most in zip(spot.ranges, spot.largest, strict=True)]
    marks = [*marks, *(safety.marks if safety else ())]
    limits = SubgameLimits(bytes=sys.maxsize)
    subgame = Subgame(root, spot.board, ranges, spot.menu, limits=limits, storage=storage, marks=marks)
    gadget = safety.gadget(subgame.hand_index) if safety else None
    return Solver(subgame, settings.algorithm, threads=settings.threads, seed=settings.seed, gadget=gadget)


def solve(
    spot: SolveSpot, settings: SolveSettings, goal: Goal, safety: Safety | None = None
) -> tuple[Solver, SolveProgress, bool]:
    """Solve with a bar on stderr: the solver, what it reached, and False if it was interrupted before the goal."""
    from solver.engine import SolveProgress

    with SolveBar(goal) as bar:
        solver = make_solver(spot, settings, safety)
        begun = time.monotonic()
        try:
            return solver, solver.solve(goal.iterations, goal.seconds, goal.target_chips, bar.show), True
        except KeyboardInterrupt:
            if solver.iterations == 0:
                raise
            return solver, SolveProgress(solver.iterations, time.monotonic() - begun, None), False
