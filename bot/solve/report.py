"""An answer as tables for people, and as plain data for machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from bot.solve.answers import Answer, HandGroup, by_class
from bot.solve.spots import PLAYERS
from protocol.cards import cards_text
from protocol.hands import HandClass, HandIndex, class_text, hand_text
from protocol.state import Action, Call, Fold, Raise

Row = TypeVar("Row")
NAMES: Final = ("OOP", "IP")
_FULL_NAMES: Final = ("out of position (OOP)", "in position (IP)")
_GAP: Final = 3
"""Columns between blocks of a table."""
_VERY_WIDE: Final = 10_000
_SELDOM: Final = 1e-3
"""Where fewer deals come, strategies are hardly settled: what is done there costs nothing."""


def print_answer(console: Console, answer: Answer, closing: str, hands: Sequence[int] | None) -> None:
    """The decision, how often what, and a table: of classes, or of the hands that were asked about."""
    for line in _heading(answer):
        console.print(line, soft_wrap=True)
    console.print(_choices(answer))
    console.print(_values(answer), soft_wrap=True)
    console.print(Text(closing), soft_wrap=True)
    console.print()
    if hands is None:
        print_classes(console, answer)
    else:
        print_hands(console, answer, hands)


def _heading(answer: Answer) -> list[Text]:
    state = answer.state
    money = f"pot {state.pot:,}, {f'{state.owed:,} to call, ' if state.owed else ''}{answer.behind:,} behind"
    lines = [Text.assemble((cards_text(answer.board), "bold"), f": {_FULL_NAMES[answer.actor]} acts; {money}")]
    if answer.line:
        lines.append(Text(f"after {answer.line}, where {_percent(answer.share)} of the deals come"))
    if answer.share == 0:
        lines.append(Text("never played: shares are over the range given, and say nothing", "yellow"))
    elif answer.share < _SELDOM:
        lines.append(Text("seldom played: a solver settles this last, take it with care", "yellow"))
    return lines


def _choices(answer: Answer) -> Table:
    """Every action with its share of all hands and how to type it."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right")
    for _ in range(2):
        table.add_column()
    for action, words, code, share in zip(answer.actions, answer.words, answer.codes, answer.frequencies, strict=True):
        table.add_row(Text(f"{100 * share:.1f}%", _style(action)), Text(words), Text(f"({code})", "dim"))
    return table


def _values(answer: Answer) -> Text:
    if answer.share == 0:
        return Text("EV unknown")
    chips = _chips_in(answer)
    evs = ", ".join([f"{name} {chips(ev)}" for name, ev in zip(NAMES, answer.player_ev, strict=True)])
    return Text(f"EV {evs} chips from here on: together the pot of {answer.state.pot:,}; folding is 0")


def print_classes(console: Console, answer: Answer) -> None:
    """Hand classes with what they do and win."""
    print_blocks(console, by_class(answer), lambda groups: _class_table(answer, groups))


def print_blocks(console: Console, rows: Sequence[Row], table: Callable[[Sequence[Row]], Table]) -> None:
    """A table in as many blocks as the width allows, read down block by block."""
    width = _width(console, table(rows))
    blocks = max(1, min((console.width + _GAP) // (width + _GAP), math.ceil(len(rows) / 10)))
    height = math.ceil(len(rows) / blocks)
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    grid.add_row(*[table(rows[first : first + height]) for first in range(0, len(rows), height)])
    console.print(grid if blocks > 1 else table(rows))


def _width(console: Console, table: Table) -> int:
    """The columns a table would like to have."""
    return Measurement.get(console, console.options.update(max_width=_VERY_WIDE), table).maximum


def _class_table(answer: Answer, groups: Sequence[HandGroup]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("hand", min_width=4)
    table.add_column("combos", justify="right", min_width=6)
    for code in answer.codes:
        table.add_column(Text(code), justify="right", min_width=4)
    table.add_column("EV", justify="right", min_width=7)
    chips = _chips_in(answer)
    for group in groups:
        shares = [_share(share, action) for share, action in zip(group.frequencies, answer.actions, strict=True)]
        table.add_row(class_text(HandClass(group.hand_class)), _weight(group.reach), *shares, chips(group.ev))
    return table


def print_hands(console: Console, answer: Answer, hands: Sequence[int]) -> None:
    """Each hand with its share and EV of every action: in one row, or one below the other if that is too wide."""
    table = _wide_hands(answer, hands)
    console.print(table if _width(console, table) <= console.width else _long_hands(answer, hands))
    console.print(Text("EV in chips from here on, of each action if both then go on as solved", "dim"), soft_wrap=True)


def _wide_hands(answer: Answer, hands: Sequence[int]) -> Table:
    table = _hand_table()
    for code in answer.codes:
        table.add_column(Text(code), justify="right")
        table.add_column("EV", justify="right", style="dim")
    for place in hands:
        table.add_row(*_hand_cells(answer, place), *[cell for pair in _action_cells(answer, place) for cell in pair])
    return table


def _long_hands(answer: Answer, hands: Sequence[int]) -> Table:
    table = _hand_table()
    table.add_column("action")
    table.add_column("%", justify="right")
    table.add_column("EV", justify="right", style="dim")
    for place in hands:
        cells: Sequence[str] = _hand_cells(answer, place)
        for code, pair in zip(answer.codes, _action_cells(answer, place), strict=True):
            table.add_row(*cells, Text(code), *pair)
            cells = [""] * len(cells)
    return table


def _hand_table() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("hand")
    table.add_column("weight", justify="right")
    table.add_column("EV", justify="right")
    return table


def _hand_cells(answer: Answer, place: int) -> list[str]:
    hand = hand_text(HandIndex(int(answer.hands[place])))
    return [hand, _weight(answer.reach[place]), _chips_in(answer)(answer.hand_ev[place])]


def _action_cells(answer: Answer, place: int) -> list[tuple[Text, str]]:
    chips = _chips_in(answer)
    shares, evs = answer.strategy[:, place], answer.action_ev[:, place]
    return [(_share(s, action), chips(ev)) for s, ev, action in zip(shares, evs, answer.actions, strict=True)]


def _style(action: Action) -> str:
    if isinstance(action, Fold):
        return "blue"
    return "green" if isinstance(action, Call) else "red"


def _share(share: float, action: Action) -> Text:
    percent = 100 * float(share)
    if percent < 0.05:
        return Text("·", "dim")
    return Text("<1" if percent < 0.5 else f"{percent:.0f}", _style(action))


def _weight(weight: float) -> str:
    if weight >= 1e5:
        return f"{weight:.3g}"
    return f"{weight:.2f}" if weight >= 0.005 else "<0.01" if weight > 0 else "0"


def _chips_in(answer: Answer) -> Callable[[float], str]:
    return chips_in(answer.state.pot)


def chips_in(pot: int) -> Callable[[float], str]:
    """How chips are written: to about a thousandth of the pot."""
    digits = 0 if pot >= 2000 else 1 if pot >= 50 else 2
    return lambda chips: "?" if math.isnan(chips) else f"{round(float(chips), digits) + 0.0:,.{digits}f}"  # no -0


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= _SELDOM or share == 0 else f"{100 * share:.2g}%"


def answer_data(answer: Answer, hands: Sequence[int] | None) -> dict[str, Any]:
    """One decision. EVs are chips from here on; what is not known is null."""
    state, codes = answer.state, answer.codes
    shown = [place for place in range(len(answer.hands)) if answer.reach[place] > 0] if hands is None else hands
    return {
        "line": answer.line,
        "board": cards_text(answer.board),
        "player": PLAYERS[answer.actor],
        "pot_chips": state.pot,
        "to_call_chips": state.owed,
        "behind_chips": answer.behind,
        "share_of_deals": number(answer.share),
        "actions": [
            {
                "code": code,
                "words": words,
                "raise_to_chips": action.to if isinstance(action, Raise) else None,
                "frequency": number(share),
            }
            for action, code, words, share in zip(answer.actions, codes, answer.words, answer.frequencies, strict=True)
        ],
        "ev_chips": {who: number(ev) for who, ev in zip(PLAYERS, answer.player_ev, strict=True)},
        "classes": [] if hands is not None else [_class_data(group, codes) for group in by_class(answer)],
        "hands": [_hand_data(answer, place) for place in shown],
    }


def _class_data(group: HandGroup, codes: list[str]) -> dict[str, Any]:
    return {
        "class": class_text(HandClass(group.hand_class)),
        "hands": group.count,
        "reach": number(group.reach),
        "weight": number(group.weight),
        "frequencies": dict(zip(codes, map(number, group.frequencies), strict=True)),
        "ev_chips": number(group.ev),
    }


def _hand_data(answer: Answer, place: int) -> dict[str, Any]:
    codes = answer.codes
    return {
        "hand": hand_text(HandIndex(int(answer.hands[place]))),
        "reach": number(answer.reach[place]),
        "weight": number(answer.weight[place]),
        "frequencies": dict(zip(codes, map(number, answer.strategy[:, place]), strict=True)),
        "action_ev_chips": dict(zip(codes, map(number, answer.action_ev[:, place]), strict=True)),
        "ev_chips": number(answer.hand_ev[place]),
    }


def number(value: float | np.floating) -> float | None:
    """To seven significant digits, which is what float32 holds."""
    exact = float(value)
    return None if math.isnan(exact) else float(f"{exact:.7g}")
