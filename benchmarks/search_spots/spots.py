"""The file of recorded decisions: what was solved, as numbers and text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from protocol.cards import cards_text, parse_cards
from protocol.game import DEFAULT_GAME, Position, load_game
from protocol.state import State, start
from protocol.wire import read_betting
from solver.gadget_kinds import Kind
from solver.menu import Menu, menu_text, parse_menu
from strategies.search.subgames import SubgameQuestion

FILE: Final = Path(__file__).with_name("spots.npz")


@dataclass(frozen=True, slots=True)
class RecordedSpot:
    """One solve."""

    question: SubgameQuestion
    menu: Menu
    state: State
    """Of the decision, at or below the root."""

    @property
    def pot(self) -> int:
        return self.question.root.pot


def save_spots(path: Path, spots: list[RecordedSpot]) -> None:
    """Ranges to three digits, chips to tenths."""
    about = [
        {
            "root": spot.question.root.betting,
            "state": spot.state.betting,
            "board": cards_text(spot.question.board),
            "opponent": int(spot.question.opponent),
            "kind": str(spot.question.kind),
            "menu": menu_text(spot.menu),
        }
        for spot in spots
    ]
    numbers = {
        "ranges": np.array([spot.question.ranges for spot in spots], np.float16),
        "payoffs": np.round(np.array([spot.question.payoffs for spot in spots]) * 10).astype(np.int32),
        "gifts": np.round(np.array([spot.question.gifts for spot in spots]) * 10).astype(np.int32),
    }
    np.savez_compressed(path, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **numbers)


def load_spots(path: Path = FILE) -> list[RecordedSpot]:
    """In the order of the file."""
    game, spots = load_game(DEFAULT_GAME).game, []
    with np.load(path, allow_pickle=False) as file:
        ranges, payoffs, gifts = file["ranges"].astype(np.float64), file["payoffs"] / 10, file["gifts"] / 10
        for number, about in enumerate(json.loads(file["about"].tobytes())):
            question = SubgameQuestion(
                root=read_betting(start(game), about["root"]),
                board=parse_cards(about["board"]),
                opponent=Position(about["opponent"]),
                kind=Kind(about["kind"]),
                ranges=(ranges[number, 0], ranges[number, 1]),
                payoffs=payoffs[number],
                gifts=gifts[number],
            )
            spots.append(RecordedSpot(question, parse_menu(about["menu"]), read_betting(start(game), about["state"])))
    return spots
