"""What a match says: the hands of its logs, and how sure the win rates are.

A win rate is in thousandths of a big blind per hand (mbb/g). Its standard error comes from the spread between hands or,
in a duplicate match, between pairs: the two hands with the same cards and swapped seats are one observation (their
mean), so that the luck of the cards cancels. The 95 % interval is the mean ± 1.96 standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from machine.errors import ParatusError
from protocol.game import Game
from protocol.log import LogError, parse_score_line, parse_state_line
from protocol.state import payoffs

Z95: Final = 1.959964


class MatchError(ParatusError):
    """A match that was not played as it should have been."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over independent observations, in mbb/g."""

    observations: int
    mean_mbb: float
    sd_mbb: float
    se_mbb: float
    low_mbb: float
    high_mbb: float

    @classmethod
    def of(cls, values_mbb: Sequence[float]) -> Estimate:
        """The estimate from its observations; without two of them nothing is known about the error."""
        n = len(values_mbb)
        mean = math.fsum(values_mbb) / n
        if n < 2:
            return cls(n, mean, math.nan, math.nan, -math.inf, math.inf)
        sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values_mbb) / (n - 1))
        se = sd / math.sqrt(n)
        return cls(n, mean, sd, se, mean - Z95 * se, mean + Z95 * se)

    def as_json(self) -> dict[str, Any]:
        """For `result.json`, where what is not known is null."""
        return {key: value if math.isfinite(value) else None for key, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Leg:
    """One dealt match of the whole: with fixed names in the seats."""

    name: str
    players: tuple[str, ...]
    """In seat order."""


def read_values(path: Path, game: Game, players: Sequence[str], hands: int) -> dict[str, list[float]]:
    """Chips won in each hand by each player; refuses a log that lacks a hand or disagrees with its own score."""
    values: dict[str, list[float]] = {player: [] for player in players}
    score = None
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise MatchError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        try:
            if line.startswith("SCORE"):
                score = parse_score_line(line)
                continue
            record = parse_state_line(line, game)
        except LogError as error:
            raise MatchError(f"{path}:{number}: {error}") from None
        if any(abs(a - b) > 1e-6 for a, b in zip(record.values, payoffs(record.state, record.deal), strict=True)):
            raise MatchError(f"{path}:{number}: the values are not what this hand pays: {record.values}")
        dealt = len(values[players[0]])
        if record.hand != dealt or score is not None or set(record.names) != set(players):
            raise MatchError(f"{path}:{number}: hand {record.hand} of {record.names}: expected hand {dealt}")
        for name, value in zip(record.names, record.values, strict=True):
            values[name].append(value)
    dealt = len(values[players[0]])
    if dealt != hands:
        raise MatchError(f"{path}: {dealt} hands: expected {hands}")
    if score is None or score.names != tuple(players):
        raise MatchError(f"{path}: no SCORE line of {', '.join(players)} at the end")
    for name, total in zip(score.names, score.values, strict=True):
        if abs(total - math.fsum(values[name])) > 1e-6 * hands:
            raise MatchError(
                f"{path}: the score of {name} is {total}, but its hands add up to {math.fsum(values[name])}"
            )
    return values


def estimates(game: Game, legs: Sequence[dict[str, list[float]]]) -> dict[str, Estimate]:
    """The win rate of each player, from one leg or from the two of a duplicate match."""
    unit = 1000 / game.big_blind / len(legs)
    return {
        player: Estimate.of([unit * sum(hand) for hand in zip(*(leg[player] for leg in legs), strict=True)])
        for player in legs[0]
    }
