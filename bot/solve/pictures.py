"""Strategies as pictures: for every action a grid of the 169 classes, suited above the diagonal, offsuit below."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bot.solve.answers import Answer, by_class
from machine.errors import ConfigError
from machine.files import whole_file
from protocol.cards import RANKS, cards_text
from protocol.hands import HandClass, class_text
from protocol.state import Action, Call, Fold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE: Final = len(RANKS)
_ABSENT: Final = (0.93, 0.93, 0.93)
_FOLD, _CALL, _RAISE = (0.25, 0.47, 0.75), (0.30, 0.62, 0.33), (0.80, 0.27, 0.24)
_PANEL_INCHES: Final = 5.2
_MAX_COLUMNS: Final = 3


@dataclass(frozen=True, slots=True)
class Panel:
    """One action."""

    title: str
    action: Action
    shares: Mapping[int, float]
    """By class, how often it takes the action; classes that never come here are missing."""


def check_can_draw(asked: str = "--png") -> None:
    """Refuse what was asked for, before any work, if the library is missing."""
    if find_spec("matplotlib") is None:
        raise ConfigError(f"{asked}: matplotlib is not installed: pip install 'paratus[plots]'")


def draw(path: Path, answer: Answer, closing: str) -> None:
    """Write the picture of an answer, all of it or nothing."""
    groups = by_class(answer)
    panels = [
        Panel(
            f"{words}: {100 * answer.frequencies[number]:.1f}%",
            action,
            {group.hand_class: float(group.frequencies[number]) for group in groups},
        )
        for number, (action, words) in enumerate(zip(answer.actions, answer.words, strict=True))
    ]
    draw_panels(path, f"{_title(answer)}\n{closing}", panels)


def draw_panels(path: Path, title: str, panels: Sequence[Panel]) -> None:
    """Write a picture, all of it or nothing."""
    check_can_draw()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    count = len(panels)
    columns = 2 if count == 4 else min(count, _MAX_COLUMNS)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(_PANEL_INCHES * columns, _PANEL_INCHES * rows + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11)
    for number, panel in enumerate(panels, 1):
        axes = figure.add_subplot(rows, columns, number)
        axes.set_title(panel.title, fontsize=11)
        _grid(axes, panel.shares, _colour(panel.action))
    with whole_file(path) as file:
        figure.savefig(file, format="png", dpi=110)


def _title(answer: Answer) -> str:
    who = ("out of position", "in position")[answer.actor]
    after = f" after {answer.line}" if answer.line else ""
    return f"{cards_text(answer.board)}{after}: {who} acts, pot {answer.state.pot:,}, {answer.behind:,} behind"


def _grid(axes: Axes, shares: Mapping[int, float], colour: tuple[float, float, float]) -> None:
    """One panel: the fuller a cell, the more often the class takes the action; grey classes never come here."""
    image = np.empty((_SIZE, _SIZE, 3))
    for row in range(_SIZE):
        for column in range(_SIZE):
            number = 13 * (_SIZE - 1 - row) + _SIZE - 1 - column
            share = shares.get(number, 0.0)
            image[row, column] = 1 - share * (1 - np.array(colour)) if number in shares else _ABSENT
            text = class_text(HandClass(number)) + (f"\n{100 * share:.0f}" if share >= 0.005 else "")
            shade = "0.65" if number not in shares else "white" if share > 0.7 else "black"
            axes.text(column, row, text, ha="center", va="center", fontsize=6.5, color=shade)
    axes.imshow(image, interpolation="nearest")
    axes.set_xticks(np.arange(_SIZE + 1) - 0.5, labels=[])
    axes.set_yticks(np.arange(_SIZE + 1) - 0.5, labels=[])
    axes.grid(color="white", linewidth=1)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _colour(action: Action) -> tuple[float, float, float]:
    if isinstance(action, Fold):
        return _FOLD
    return _CALL if isinstance(action, Call) else _RAISE
