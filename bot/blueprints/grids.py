"""A decision of a blueprint as text: for every action a grid of the 169 classes, or a list where there are none."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.blueprints.answers import Shown, by_class, hand_texts, has_classes
from protocol.cards import cards_text
from protocol.state import action_text
from strategies.grids import action_colour, grid, print_beside


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
    grids = []
    for number, action in enumerate(shown.found.actions):
        shares = {group.hand_class: float(group.frequencies[number]) for group in by_class(shown)}
        title = f"{shown.words[number]}: {100 * shown.frequencies[number]:.1f}%"
        grids.append(grid(title, shares, action_colour(action)))
    print_beside(console, grids)


def _print_hands(console: Console, shown: Shown) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("hand")
    table.add_column("reach", justify="right")
    for action, frequency in zip(shown.found.actions, shown.frequencies, strict=True):
        table.add_column(f"{action_text(action, shown.state.game)} {100 * frequency:.1f}%", justify="right")
    for column, hand in enumerate(hand_texts(shown)):
        if shown.found.shares[:, column].any():
            shares = shown.found.probabilities[:, column]
            table.add_row(hand, f"{shown.reach[column]:.2f}", *[f"{100 * share:.1f}" for share in shares])
    console.print(table)
