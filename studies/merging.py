"""What merging is worth: `python -m studies.merging`, the tables of `docs/decisions/0009-runs-are-merged.md`.

On games whose exploitability is exact, without card abstraction, several times with other seeds: two runs of so many
periods, what `paratus blueprint merge` makes of them, and one run of twice as many; and a run with one that is twice as
long, by several weights. Means over the seeds, public chance sampling, linear weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from blueprints.cards.exact import ExactCards
from blueprints.train.measures.exploitability import Measure
from blueprints.train.merge import Share, merge
from blueprints.train.public.sampling import PublicSampling
from blueprints.train.trainer import Tables
from blueprints.tree import BettingTree, build_tree
from protocol.game import load_game
from protocol.state import start
from solver.menu import parse_menu
from solver.schedules import LINEAR
from studies.sampling import Subject, subjects

_WEIGHTS = ((1, 1), (1, 2), (1, 4), (1, 8))


def games() -> dict[str, tuple[Subject, int, tuple[int, ...]]]:
    """By name: the game, walks of a period, and after how many periods it is measured."""
    leduc = load_game("leduc").game
    flop = "flop hold'em, 24 cards"
    return {
        "no-limit Leduc": (
            Subject(leduc, parse_menu("100%,a / a"), ExactCards(leduc), start(leduc)),
            30,
            (10, 20, 40, 80),
        ),
        flop: (subjects()[flop], 100, (20, 40, 80)),
    }


class _Game:
    def __init__(self, subject: Subject, walks: int) -> None:
        self._subject, self._walks = subject, walks
        self._tree: BettingTree = build_tree(subject.game, subject.menu, root=subject.root)
        self._measure = Measure(subject.game, subject.menu, self._tree, subject.cards)

    def learnt(self, seed: int, periods: Sequence[int]) -> list[Tables]:
        """What a run has learnt after some numbers of periods."""
        sampler = PublicSampling(self._subject.game, self._tree, self._subject.cards, seed=seed)
        found: list[Tables] = []
        for number in range(1, max(periods) + 1):
            sampler.period(number, LINEAR.weight(number), self._walks)
            if number in periods:
                found.append([table.copy() for table in sampler.averages()])
        return found

    def merged(self, first: Tables, second: Tables, weights: tuple[float, float]) -> Tables:
        shares = [Share(tables, weight) for tables, weight in zip((first, second), weights, strict=True)]
        return merge(self._subject.game, self._tree, self._subject.cards, shares, boards=400)

    def mbb(self, tables: Tables) -> float:
        """Exploitability."""
        return self._measure.exploitability(tables).mbb


def run(seeds: int) -> dict[str, Any]:
    """Exploitabilities in mbb a hand, by game and number of periods."""
    found: dict[str, Any] = {}
    for name, (subject, walks, periods) in games().items():
        game = _Game(subject, walks)
        rows: dict[int, list[list[float]]] = {count: [] for count in periods}
        for seed in range(seeds):
            asked = sorted({*periods, *[2 * count for count in periods]})
            runs = [dict(zip(asked, game.learnt(2 * seed + which, asked), strict=True)) for which in (1, 2)]
            for count in periods:
                first, second, longer = runs[0][count], runs[1][count], runs[1][2 * count]
                strategies = [first, second, game.merged(first, second, (1, 1)), longer]
                strategies += [game.merged(first, longer, weights) for weights in _WEIGHTS]
                rows[count].append([game.mbb(each) for each in strategies])
            print(f"merging: {name}: seed {seed + 1} of {seeds}", file=sys.stderr, flush=True)
        found[name] = {count: np.mean(each, axis=0).round(1).tolist() for count, each in rows.items()}
    return found


def text(found: dict[str, Any]) -> str:
    """In Markdown."""
    parts = []
    for name, rows in found.items():
        heads = ["periods", "one run", "another", "both merged", "one of twice the periods"]
        heads += [f"one and that one, {a}:{b}" for a, b in _WEIGHTS]
        lines = [
            f"**{name}**, exploitability in mbb a hand",
            "",
            "| " + " | ".join(heads) + " |",
            "|---:" * len(heads) + "|",
        ]
        lines += [
            f"| {count} | " + " | ".join(f"{mbb:,.1f}" for mbb in values) + " |" for count, values in rows.items()
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def main() -> None:
    """Train, merge, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6, help="pairs of runs; default: 6")
    parser.add_argument("--json", action="store_true", help="print data instead of tables")
    options = parser.parse_args()
    found = run(options.seeds)
    print(json.dumps(found) if options.json else text(found))


if __name__ == "__main__":
    main()
