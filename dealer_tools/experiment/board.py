"""What an experiment shows while it runs, on stderr: a table that lives; where stderr is no terminal, lines."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Collection, Sequence
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.table import Table

from dealer_tools.experiment.progress import MatchProgress
from machine.progress import LINE_EVERY_S

_REFRESH: Final = 2
"""A second."""
_LATELY: Final = 3
"""So many of the matches that are over stay in the table."""


class Board:
    """All matches."""

    def __init__(self, matches: Sequence[MatchProgress]) -> None:
        self._matches = matches
        self._begun = time.monotonic()
        self._before: int | None = None
        self._next_line_s = self._begun + LINE_EVERY_S
        self._live: Live | None = None

    def __enter__(self) -> Board:
        console = Console(stderr=True)
        if console.is_terminal:
            self._live = Live(console=console, refresh_per_second=_REFRESH, transient=True)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, running: Collection[str]) -> None:
        """As they stand."""
        done = sum(match.done for match in self._matches)
        if self._before is None:
            self._before, self._begun = done, time.monotonic()
        if self._live is not None:
            self._live.update(self._table(running, done))
        elif time.monotonic() >= self._next_line_s:
            self._next_line_s = time.monotonic() + LINE_EVERY_S
            print(self._line(running, done), file=sys.stderr, flush=True)

    def _line(self, running: Collection[str], done: int) -> str:
        total, over = sum(match.total for match in self._matches), sum(m.done >= m.total for m in self._matches)
        fallbacks = sum(match.fallbacks for match in self._matches)
        assert self._before is not None
        rate = (done - self._before) / max(time.monotonic() - self._begun, 1e-9)
        return (
            f"{over} of {len(self._matches)} matches, {len(running)} under way; {done:,} of {total:,} hands, "
            f"{rate:,.0f} a second, {_left(total - done, rate)}; {fallbacks} fallbacks"
        )

    def _table(self, running: Collection[str], done: int) -> Table:
        table = Table(caption=self._line(running, done), caption_justify="left")
        table.add_column("match")
        for head in ("hands", "a second", "left", "raw mbb/g so far", "fallbacks"):
            table.add_column(head, justify="right")
        over = [match for match in self._matches if match.done >= match.total][-_LATELY:]
        for match in [*over, *[match for match in self._matches if match.task.name in running and match not in over]]:
            estimate = match.estimate
            width = f" ± {estimate.half_width:,.0f}" if math.isfinite(estimate.half_width) else ""
            table.add_row(
                match.task.name, f"{match.done:,} of {match.total:,}", f"{match.rate:,.1f}",
                _left(match.total - match.done, match.rate),
                f"{estimate.mean:+,.0f}{width}" if estimate.count else "", str(match.fallbacks),
            )  # fmt: skip
        return table


def _left(hands: int, rate: float) -> str:
    if not hands:
        return "done"
    if rate <= 0:
        return "?"
    seconds = hands / rate
    return f"{seconds:,.0f} s left" if seconds < 120 else f"{seconds / 60:,.0f} min left"
