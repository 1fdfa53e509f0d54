"""Scores over all pairs of hands, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from machine.progress import short

if TYPE_CHECKING:
    from blueprints.train.measures.contest import ContestScore


def seat_lines(score: ContestScore, big_blind: int) -> list[str]:
    """What was won in both seats and in each, in thousandths of a big blind."""
    per = 1000 / big_blind

    def text(chips: float, interval: float) -> str:
        return f"{'+' if chips >= 0 else '-'}{short(abs(chips) * per)} ± {short(interval * per)} mbb/g"

    seats = zip(("in the big blind", "on the button"), score.seats_chips, score.seats_interval_chips, strict=True)
    return [
        f"  both seats        {text(score.chips, score.interval_chips)}",
        *[f"  {name:16}  {text(chips, interval)}" for name, chips, interval in seats],
    ]
