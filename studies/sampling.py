"""Which form of sampling learns faster: `python -m studies.sampling`, the tables of `docs/sampling.md`.

Both forms, with linear weights and with equal ones, train on the same game without card abstraction; the exact
exploitability of the average strategy is measured whenever the CPU time spent on training has doubled. One thread, one
seed; measuring is not counted. Games: flop hold'em with 24 cards (`studies.search_tables.games`), and two endgames
of full hold'em from the turn on, with the ranges of `benchmarks/endgames`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks.solver import OWN, load_spots
from blueprints.cards.exact import ExactCards
from blueprints.cards.interface import Buckets, Cards
from blueprints.settings import Sampling, TrainerSettings
from blueprints.train.external.sampling import ExternalSampling
from blueprints.train.measures.exploitability import Measure
from blueprints.train.public.sampling import PublicSampling
from blueprints.train.trainer import Sampler
from blueprints.tree import build_tree
from bot.solve.spots import root_state
from machine.progress import short
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Game
from protocol.hands import hands_of
from protocol.state import State, start
from solver.menu import Menu, parse_menu
from studies.search_tables.games import flop_holdem

_FIRST_S: Final = 1.0
_BATCH_SHARE: Final = 0.05


class Apart:
    """No abstraction below a board: a bucket for every hand on every board that contains it, boards being sets."""

    def __init__(self, game: Game, board: Sequence[Card] = ()) -> None:
        self._hands = len(hands_of(game))
        self._lengths = [game.board_cards_by(street) for street in range(game.num_rounds)]
        left = sorted(set(game.deck()) - set(board))
        lengths = sorted({max(length, len(board)) for length in self._lengths})
        boards = [
            [frozenset((*board, *more)) for more in combinations(left, length - len(board))] for length in lengths
        ]
        self._places = {each: place for some in boards for place, each in enumerate(some)}
        sizes = [sum(len(each) == length for each in self._places) for length in self._lengths]
        self.counts = tuple([self._hands * max(size, 1) for size in sizes])
        self.digest = f"apart below {sorted(board)}"

    def buckets(self, board: Sequence[Card]) -> Buckets:
        """[hand] those of the board, one after another."""
        first = self._hands * self._places.get(frozenset(board), 0)
        return np.arange(first, first + self._hands).astype(np.uint16)

    def deal(self, board: Sequence[Card]) -> Buckets:
        """[street, hand]"""
        return np.stack([self.buckets(board[:length]) for length in self._lengths])


@dataclass(frozen=True, slots=True)
class Subject:
    """A game to train on."""

    game: Game
    menu: Menu
    cards: Cards
    root: State
    board: tuple[Card, ...] = ()
    ranges: tuple[F64, F64] | None = None


def subjects() -> dict[str, Subject]:
    """By name."""
    game = flop_holdem(6)
    found = {"flop hold'em, 24 cards": Subject(game, parse_menu("100% / 100% / -"), ExactCards(game), start(game))}
    for name, spot in load_spots(OWN).items():
        if name.startswith("turn"):
            root, board = root_state(spot), tuple(spot.board)
            ranges = [
                weights.astype(np.float64) / most for weights, most in zip(spot.ranges, spot.largest, strict=True)
            ]
            menu = parse_menu("100%,a / a")
            found[name] = Subject(root.game, menu, Apart(root.game, board), root, board, (ranges[0], ranges[1]))
    return found


def curve(subject: Subject, sampling: Sampling, linear: bool, most_s: float) -> list[tuple[float, int, float]]:
    """(CPU seconds, walks, exploitability in mbb a hand)."""
    game, root, board, ranges = subject.game, subject.root, subject.board, subject.ranges
    tree = build_tree(game, subject.menu, root=root)
    settings = TrainerSettings(sampling=sampling, linear=linear, skipping=False)
    sampler: Sampler
    if sampling is Sampling.PUBLIC:
        sampler = PublicSampling(game, tree, subject.cards, board=board, ranges=ranges or (None, None))
    else:
        sampler = ExternalSampling(game, tree, subject.cards, settings=settings, board=board, ranges=ranges)
    measure = Measure(game, subject.menu, tree, subject.cards, root=root, board=board, ranges=ranges)
    batch, number, walks, spent, goal, points = 1, 0, 0, 0.0, _FIRST_S, []
    sampler.period(0, 1e-6, 1)  # compiles
    while goal <= most_s:
        begun, number = time.process_time(), number + 1
        sampler.period(number, settings.weighting.weight(number), batch)
        took, walks = time.process_time() - begun, walks + batch
        spent += took
        if number < 3:
            batch = max(1, int(batch * _BATCH_SHARE * _FIRST_S / max(took, 1e-4)))
        if spent >= goal:
            points.append((spent, walks, sampler_mbb(measure, sampler)))
            goal *= 2
    return points


def sampler_mbb(measure: Measure, sampler: Sampler) -> float:
    """The exploitability of what was learnt."""
    return measure.exploitability(sampler.averages()).mbb


def table(name: str, curves: dict[str, list[tuple[float, int, float]]], say: Callable[[float], str] = short) -> str:
    """In Markdown."""
    lines = [f"**{name}**, exploitability in mbb a hand", "", "| CPU s | " + " | ".join(curves) + " |"]
    lines.append("|---:" * (len(curves) + 1) + "|")
    rows = zip(*curves.values(), strict=True)
    lines += [f"| {row[0][0]:.0f} | " + " | ".join([say(mbb) for _, _, mbb in row]) + " |" for row in rows]
    walks = " | ".join([f"{points[-1][1]:,}" for points in curves.values()])
    return "\n".join([*lines, f"| walks | {walks} |"])


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=64.0, help="of CPU for each curve (default 64)")
    parser.add_argument("--json", action="store_true", help="print data instead of tables")
    options = parser.parse_args()
    found = {}
    for name, subject in subjects().items():
        found[name] = {}
        for sampling in Sampling:
            for linear in (True, False):
                how = f"{sampling}, {'linear' if linear else 'equal'} weights"
                print(f"sampling: {name}: {how}, about {options.seconds:.0f} s", file=sys.stderr, flush=True)
                found[name][how] = curve(subject, sampling, linear, options.seconds)
    print(json.dumps(found) if options.json else "\n\n".join([table(*each) for each in found.items()]))


if __name__ == "__main__":
    main()
