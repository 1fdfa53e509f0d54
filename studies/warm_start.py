"""What a run is worth that begins from a file: against the file, against the run that wrote it and went on, and cold.

    python -m studies.warm_start [--config small] [--walks 450] [--periods 40] [--more 30]

Trains so many periods, writes the strategy in 8 bits, and goes on in four ways: with its own regrets; from the file, as
`paratus blueprint train --begin-from` does, for as many periods beyond those that follow the file; from nothing, for as
many as all of these; and from the file without counting what it cost (following it, and then learning as a run does
that has just begun). Prints what each wins against the file and against the first, over all pairs of hands on boards.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe
from blueprints.cards.interface import Cards
from blueprints.settings import BlueprintSettings, load_settings
from blueprints.shipped import tables_folder
from blueprints.storage import Blueprint
from blueprints.train.job import TrainingJob
from blueprints.train.measures.contest import Contestant, contest
from blueprints.train.trainer import FOLLOWED_PERIODS, Run, Tables, make_sampler
from blueprints.tree import BettingTree
from solver.schedules import LINEAR


def main() -> None:
    """Train, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="small")
    parser.add_argument("--walks", type=int, default=450, help="of a period")
    parser.add_argument("--periods", type=int, default=40, help="that the file has")
    parser.add_argument("--more", type=int, default=30, help="after them")
    parser.add_argument("--boards", type=int, default=300, help="on which strategies are compared")
    options = parser.parse_args()
    given = load_settings(options.config)
    settings = given.model_copy(update={"trainer": given.trainer.model_copy(update={"walks": options.walks})})
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(_measure(settings, Path(folder), options), indent=1))


def _measure(settings: BlueprintSettings, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    begun, first = time.monotonic(), TrainingJob(settings, folder / "first", tables_folder())
    game, tree, cards = settings.load_game(), first.run.tree, first.run.cards

    def tell(what: str) -> None:
        print(f"{time.monotonic() - begun:.0f} s: {what}", file=sys.stderr, flush=True)

    def train(what: Run, periods: int) -> Tables:
        what.go_on(lambda last: last.number >= periods)
        tell(f"{what.last.number} periods, {what.last.core_seconds:.0f} core seconds")
        return [table.copy() for table in what.sampler.averages()]

    train(first.run, options.periods)
    first.write()
    followed = Blueprint.open(first.file).strategies()
    started = TrainingJob(settings, folder / "started", tables_folder(), start_file=first.file)
    total = options.periods + options.more
    found = {
        "went on": train(first.run, total),
        "begun from the file": train(started.run, total + FOLLOWED_PERIODS),
        "from nothing": train(Run(folder / "cold", settings, tree, cards), FOLLOWED_PERIODS + options.more),
        "file followed only": _followed_only(settings, tree, cards, followed, options),
    }
    tell("comparing")

    def against(one: Tables, other: Tables) -> list[float]:
        score = contest(game, tree, Contestant(one, cards), Contestant(other, cards), boards=options.boards, seed=5)
        unit = 1000 / max(game.blind)
        return [round(unit * score.chips, 1), round(unit * score.interval_chips, 1)]

    rows = {
        name: {"against the file": against(each, followed), "against what went on": against(each, found["went on"])}
        for name, each in found.items()
    }
    return {"machine": describe(), **vars(options), "mbb a hand, 95 % intervals": rows}


def _followed_only(
    settings: BlueprintSettings, tree: BettingTree, cards: Cards, followed: Tables, options: argparse.Namespace
) -> Sequence[np.ndarray[Any, Any]]:
    """As runs started from a file until they counted what that had cost."""
    other = settings.model_copy(update={"trainer": settings.trainer.model_copy(update={"seed": 2})})
    sampler = make_sampler(other, tree, cards, 1)
    for number in range(1, FOLLOWED_PERIODS + options.more + 1):
        sampler.period(number, LINEAR.weight(number), options.walks, followed if number <= FOLLOWED_PERIODS else None)
    return sampler.averages()


if __name__ == "__main__":
    main()
