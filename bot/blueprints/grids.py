"""A decision of a blueprint as text: for every action a grid of the 169 classes, or a list where there are none."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.blueprints.answers import Shown, by_class, hands_of, has_classes
from protocol.cards import RANKS, cards_text
from protocol.state import Action, Call, Fold, action_text

_SIZE: Final = len(RANKS)
_CELL: Final = 4
_FOLD, _CALL, _RAISE = (64, 120, 192), (77, 158, 84), (204, 69, 61)
_GAP: Final = 3


def print_shown(console: Console, shown: Shown) -> None:
    """The decision, how often what, and all hands."""
    state, place = shown.state, shown.found.place
    board = (
        cards_text(shown.board) or "before the flop" if has_classes(shown) else cards_text(shown.board) or "no board"
    )
    owed = f", {state.owed:,} to call" if state.owed else ""
    after = f" after {state.betting}" if state.betting else ""
    console.print(
        Text.assemble((board, "bold"), f"{after}: position {state.actor} acts, pot {state.pot:,}{owed}"), soft_wrap=True
    )
    console.print(Text(f"{shown.blueprint.name} {shown.blueprint.digest}, decision {place.node}", "dim"))
    for note in shown.notes:
        console.print(Text(note, "yellow"), soft_wrap=True)
    console.print()
    if has_classes(shown):
        _print_grids(console, shown)
    else:
        _print_hands(console, shown)


def _print_grids(console: Console, shown: Shown) -> None:
    grids = [_grid(shown, number) for number in range(len(shown.found.actions))]
    width = _CELL * (_SIZE + 1)
    beside = max(1, (console.width + _GAP) // (width + _GAP))
    for first in range(0, len(grids), beside):
        row = Table.grid(padding=(0, _GAP, 0, 0))
        row.add_row(*grids[first : first + beside])
        console.print(row)
        if first + beside < len(grids):
            console.print()


def _grid(shown: Shown, number: int) -> Text:
    """Percentages, suited above the diagonal; a point stands for less than half of one, a blank for no such hand."""
    action = shown.found.actions[number]
    shares = {group.hand_class: float(group.frequencies[number]) for group in by_class(shown)}
    text = Text(no_wrap=True)
    text.append(f"{shown.words[number]}: {100 * shown.frequencies[number]:.1f}%\n", "bold")
    text.append(" " * _CELL + "".join([f"{rank:>{_CELL}}" for rank in reversed(RANKS)]) + "\n", "dim")
    for row in range(_SIZE):
        text.append(f"{RANKS[_SIZE - 1 - row]:>{_CELL}}", "dim")
        for column in range(_SIZE):
            share = shares.get(13 * (_SIZE - 1 - row) + _SIZE - 1 - column)
            text.append(*_cell(share, action))
        text.append("\n" if row < _SIZE - 1 else "")
    return text


def _cell(share: float | None, action: Action) -> tuple[str, str]:
    if share is None:
        return " " * _CELL, ""
    shown = "·" if share < 0.005 else f"{100 * share:.0f}"
    colour = ",".join([str(round(share * part)) for part in _colour(action)])
    return f"{shown:>{_CELL}}", f"white on rgb({colour})" if share >= 0.005 else "dim"


def _print_hands(console: Console, shown: Shown) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("hand")
    table.add_column("reach", justify="right")
    for action, frequency in zip(shown.found.actions, shown.frequencies, strict=True):
        table.add_column(f"{action_text(action, shown.state.game)} {100 * frequency:.1f}%", justify="right")
    for column, hand in enumerate(hands_of(shown)):
        if shown.found.shares[:, column].any():
            shares = shown.found.probabilities[:, column]
            table.add_row(hand, f"{shown.reach[column]:.2f}", *[f"{100 * share:.1f}" for share in shares])
    console.print(table)


def _colour(action: Action) -> tuple[int, int, int]:
    if isinstance(action, Fold):
        return _FOLD
    return _CALL if isinstance(action, Call) else _RAISE
