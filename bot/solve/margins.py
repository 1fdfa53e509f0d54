"""What came of a gadget: by how much each hand's alternative payoff exceeds what the hand can win by coming.

The mean of margins counts a hand by the share of the deals that come in which the opponent holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.solve.answers import class_order, shares
from bot.solve.report import NAMES, chips_in, number, print_blocks
from bot.solve.safety import Safety
from bot.solve.spots import PLAYERS, SolveSpot
from protocol.arrays import F64
from protocol.hands import HandClass, HandIndex, class_text, hand_classes_array, hand_text

if TYPE_CHECKING:
    from solver.subgame_solver import Solver

_ROUNDING = 1e-5
"""A margin is negative if it is below zero by more than this share of the pot, which is about what float32 leaves."""


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """Of the hands that the opponent can hold."""

    kind: str
    opponent: int
    picks: bool
    pot: int
    hands: NDArray[np.int64]
    """[hand] its index in the 1,326."""
    payoffs: F64
    """[hand] chips from the spot on, gifts included."""
    margins: F64
    """[hand] chips."""
    entering: F64
    """[hand] the average probability of coming with it, or of picking it."""
    weight: F64
    """[hand] the share of the deals that come."""
    share: float
    """Of the deals that could come, how many do."""

    @property
    def least(self) -> int:
        """Where the minimum is."""
        return int(self.margins.argmin())

    @property
    def mean(self) -> float:
        """Over the deals that come; nan if none do."""
        return float(self.weight @ self.margins) if self.weight.any() else np.nan

    @property
    def negative(self) -> int:
        """How many hands win more than their payoff by coming."""
        return int(np.count_nonzero(self.margins < -_ROUNDING * self.pot))


def find_margins(solver: Solver, safety: Safety, spot: SolveSpot) -> Margins:
    """What the average strategies leave to each hand."""
    opponent, subgame = safety.opponent, solver.subgame
    index = np.asarray(subgame.hand_index[opponent], np.int64)
    live = safety.live[index]
    against = subgame.compatible[opponent]
    entering = solver.entering()
    come = subgame.weights[opponent] * against
    return Margins(
        kind=safety.kind,
        opponent=opponent,
        picks=safety.picks,
        pot=spot.pot,
        hands=index[live],
        payoffs=(safety.payoffs[index] + spot.paid)[live],
        margins=solver.margins()[live],
        entering=entering[live],
        weight=shares(come[live]),
        share=1.0 if safety.picks else float(entering[live] @ shares(against[live])),
    )


def print_margins(console: Console, margins: Margins, *, grid: bool) -> None:
    """Two lines, and a table of classes."""
    for line in summary(margins):
        console.print(Text(line), soft_wrap=True)
    if grid:
        console.print()
        classes = hand_classes_array()[margins.hands]
        numbers = sorted(set(classes.tolist()), key=class_order)
        print_blocks(console, numbers, lambda some: _table(margins, classes, some))
        console.print(Text("chips from the spot on; mean and least margin of the class", "dim"), soft_wrap=True)


def summary(margins: Margins) -> list[str]:
    """What the opponent does, and what is left to it."""
    name, chips = NAMES[margins.opponent], chips_in(margins.pot)
    hand = hand_text(HandIndex(int(margins.hands[margins.least])))
    does = "picks the hand to come with" if margins.picks else f"comes in {100 * margins.share:.1f}% of the deals"
    return [
        f"gadget {margins.kind}: {name} {does}; a margin is its payoff elsewhere less its best response here",
        f"least margin {chips(margins.margins[margins.least])} ({hand}), mean {chips(margins.mean)} over what comes; "
        f"{margins.negative:,} of {len(margins.hands):,} hands below 0",
    ]


def _table(margins: Margins, classes: NDArray[np.uint8], numbers: Sequence[int]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("hand", min_width=4)
    for name, width in (("payoff", 7), ("margin", 7), ("least", 7), ("picked" if margins.picks else "comes", 6)):
        table.add_column(name, justify="right", min_width=width)
    chips = chips_in(margins.pot)
    for each in numbers:
        members = classes == each
        comes = margins.entering[members].sum() if margins.picks else margins.entering[members].mean()
        found = margins.margins[members]
        table.add_row(
            class_text(HandClass(each)),
            chips(margins.payoffs[members].mean()),
            chips(found.mean()),
            Text(chips(found.min()), "red" if found.min() < -_ROUNDING * margins.pot else ""),
            Text(f"{100 * comes:.1f}%" if comes >= 5e-4 else "·", "" if comes >= 5e-4 else "dim"),
        )
    return table


def margins_data(margins: Margins) -> dict[str, Any]:
    """By hand, in chips."""
    names = [hand_text(HandIndex(hand)) for hand in margins.hands.tolist()]
    return {
        "kind": margins.kind,
        "opponent": PLAYERS[margins.opponent],
        "minimum": number(margins.margins[margins.least]),
        "minimum_hand": names[margins.least],
        "negative": margins.negative,
        "mean": number(margins.mean),
        "payoffs": dict(zip(names, map(number, margins.payoffs), strict=True)),
        "margins": dict(zip(names, map(number, margins.margins), strict=True)),
        "entering": dict(zip(names, map(number, margins.entering), strict=True)),
    }
