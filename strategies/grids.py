"""The 169 classes of hands as grids for a terminal: suited above the diagonal, offsuit below, in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from protocol.cards import RANKS
from protocol.state import Action, Call, Fold
from strategies.policy import RaiseBetween

_SIZE: Final = len(RANKS)
_CELL: Final = 4
_FOLD, _CALL, _RAISE = (64, 120, 192), (77, 158, 84), (204, 69, 61)
_GAP: Final = 3
_LEAST: Final = 0.005

Colour = tuple[int, int, int]
RANGE_COLOUR: Final[Colour] = (140, 100, 180)


def action_colour(action: Action | RaiseBetween) -> Colour:
    """Folds are blue, calls green, raises red."""
    if isinstance(action, Fold):
        return _FOLD
    return _CALL if isinstance(action, Call) else _RAISE


def grid(title: str, shares: Mapping[int, float], colour: Colour) -> Text:
    """Percentages by class; a point stands for less than half of one, a blank for a class that is not there."""
    text = Text(no_wrap=True)
    text.append(f"{title}\n", "bold")
    text.append(" " * _CELL + "".join([f"{rank:>{_CELL}}" for rank in reversed(RANKS)]) + "\n", "dim")
    for row in range(_SIZE):
        text.append(f"{RANKS[_SIZE - 1 - row]:>{_CELL}}", "dim")
        for column in range(_SIZE):
            share = shares.get(13 * (_SIZE - 1 - row) + _SIZE - 1 - column)
            text.append(*_cell(share, colour))
        text.append("\n" if row < _SIZE - 1 else "")
    return text


def print_beside(console: Console, grids: Sequence[Text]) -> None:
    """As many in a row as the terminal is wide."""
    width = _CELL * (_SIZE + 1)
    beside = max(1, (console.width + _GAP) // (width + _GAP))
    for first in range(0, len(grids), beside):
        row = Table.grid(padding=(0, _GAP, 0, 0))
        row.add_row(*grids[first : first + beside])
        console.print(row)
        if first + beside < len(grids):
            console.print()


def _cell(share: float | None, colour: Colour) -> tuple[str, str]:
    if share is None:
        return " " * _CELL, ""
    shown = "·" if share < _LEAST else f"{100 * share:.0f}"
    shade = ",".join([str(round(share * part)) for part in colour])
    return f"{shown:>{_CELL}}", f"white on rgb({shade})" if share >= _LEAST else "dim"
