"""`paratus blueprint train CONFIG`: train, or go on training."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bot.blueprints.configs import add_config, add_seed, add_threads, grow_tree
from bot.blueprints.files import check_out, open_whole
from machine.errors import ConfigError
from machine.progress import ShareBar, duration_text, short

if TYPE_CHECKING:
    from blueprints.cards.centroids import Centroids
    from blueprints.cards.exact import ExactCards
    from blueprints.cards.interface import Cards
    from blueprints.settings import BlueprintSettings
    from blueprints.storage import Blueprint, TrainingRun
    from blueprints.train.checkpoint import Period
    from blueprints.train.trainer import Beginning, Run

_CARDS: Final = "cards.npz"
_COMMAND: Final = "paratus blueprint train"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Configuration, folder, and when to stop."""
    add_config(parser)
    add_threads(parser)
    add_seed(parser, "deal other boards, for a run to be merged with; default: the configuration's", None)
    parser.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="of the run; default: training/NAME, with --seed training/NAME-N"
    )
    parser.add_argument(
        "--hours", type=float, metavar="H", help="stop after so many hours of training, earlier runs included"
    )
    parser.add_argument(
        "--periods", type=int, metavar="N", help="stop after so many periods; default: the configuration's"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the blueprint here; default: FOLDER/NAME.blueprint"
    )
    parser.add_argument(
        "--begin-from",
        type=Path,
        metavar="FILE",
        help="a blueprint of the same bets and buckets to go on from; ask `paratus lbr` before it is used",
    )
    parser.add_argument("--json", action="store_true", help="print data instead of text")


def run_command(options: argparse.Namespace) -> int:
    """Train until it is enough, or until Ctrl-C; then write the file."""
    from blueprints.settings import load_settings
    from blueprints.shipped import tables_folder
    from blueprints.train.trainer import Run

    settings = _seeded(load_settings(options.config), options.seed)
    if options.hours is not None and not options.hours > 0:
        raise ConfigError(f"--hours {options.hours}: expected more than 0")
    apart = "" if options.seed is None else f"-{options.seed}"
    folder = options.folder or Path("training") / f"{settings.name}{apart}"
    if options.out is not None:
        check_out(options.out)
    tree = grow_tree(settings, _COMMAND)
    begin = _beginning(options.begin_from, settings)
    made, cards = _cards(settings, folder, tables_folder(), options.threads, begin)
    run = Run(folder, settings, tree, cards, threads=options.threads, beginning=_taken_up(begin) if begin else None)
    if run.log:
        print(f"{_COMMAND}: goes on after period {run.last.number:,}", file=sys.stderr)
    elif begin:
        print(f"{_COMMAND}: begins after the file's period {run.last.number:,}", file=sys.stderr)
    periods = options.periods or settings.trainer.periods
    if begin and not run.log and run.last.number >= periods:
        raise ConfigError(f"--periods {periods:,}: {options.begin_from} has {run.last.number:,}: expected more")
    seconds = float("inf") if options.hours is None else 3600 * options.hours
    stopped = _train(run, periods, seconds)
    if not run.log:
        raise ConfigError(f"{folder}: stopped before the first period was done: nothing was written")
    out = options.out or folder / f"{settings.name}.blueprint"
    digest = _write(out, run, made)
    if options.json:
        print(json.dumps({"file": str(out), "hash": digest, "done": not stopped, **asdict(run.last)}))
    else:
        print(f"written to {out}")
    return 130 if stopped else 0


def _seeded(settings: BlueprintSettings, seed: int | None) -> BlueprintSettings:
    """With the seed of the command line, if there is one."""
    if seed is None:
        return settings
    return settings.model_copy(update={"trainer": settings.trainer.model_copy(update={"seed": seed})})


def _beginning(path: Path | None, settings: BlueprintSettings) -> Blueprint | None:
    """The blueprint to begin from, if it fits."""
    if path is None:
        return None
    found = open_whole(path)
    for name in ("game", "menu", "cards"):
        theirs, mine = getattr(found.settings, name), getattr(settings, name)
        if theirs != mine:
            raise ConfigError(f"{path}: {name} = {theirs}: expected {mine}")
    return found


def _taken_up(begin: Blueprint) -> Beginning:
    from blueprints.train.checkpoint import Begun
    from blueprints.train.trainer import Beginning

    training = begin.header.training
    facts = training.model_dump(include={"periods", "walks", "updates", "core_seconds"})
    seeds = sorted({seed for run in begin.runs for seed in run.seeds})
    return Beginning(begin.strategies(), Begun(begin.digest, **facts, seeds=tuple(seeds)))


def _cards(
    settings: BlueprintSettings, folder: Path, tables: Path, threads: int, begin: Blueprint | None
) -> tuple[Centroids | ExactCards, Cards]:
    """The card abstraction: what is written to the file, and what buckets come from."""
    from blueprints.cards.centroids import Centroids, build_centroids
    from blueprints.cards.exact import ExactCards
    from blueprints.cards.holdem import HoldemCards
    from machine.files import whole_file
    from protocol.game import DEFAULT_GAME, load_game

    game = settings.load_game()
    full = load_game(DEFAULT_GAME).game
    if (game.num_ranks, game.num_suits, game.num_board_cards) != (full.num_ranks, full.num_suits, full.num_board_cards):
        exact = ExactCards(game)
        return exact, exact
    kept = folder / _CARDS
    if kept.exists():
        with np.load(kept, allow_pickle=False) as arrays:
            centroids = Centroids.from_arrays(dict(arrays))
        if centroids.settings != settings.cards:
            raise ConfigError(f"{kept}: of another card abstraction: expected an empty folder, or the same settings")
    else:
        if begin is not None:
            centroids = begin.centroids()
        else:
            with ShareBar("card abstraction", _COMMAND) as bar:
                centroids = build_centroids(settings.cards, threads=threads, progress=_show(bar))
        folder.mkdir(parents=True, exist_ok=True)
        made: dict[str, Any] = dict(centroids.to_arrays())
        with whole_file(kept) as file:
            np.savez(file, **made)
    with ShareBar("tables of buckets", _COMMAND) as bar:
        return centroids, HoldemCards.open(centroids, tables, threads=threads, progress=_show(bar))


def _show(bar: ShareBar) -> Callable[[str, float, float], None]:
    return lambda task, share, left_s: bar.show(share, task)


def _train(run: Run, periods: int, seconds: float) -> bool:
    """Until enough is done; says whether it was stopped before."""
    begun, first = time.monotonic(), run.last

    def tell(period: Period) -> None:
        here = time.monotonic() - begun
        walks = (period.walks - first.walks) / here
        updates = (period.updates - first.updates) / here
        left = min((periods - period.number) * run.settings.trainer.walks / walks, seconds - period.seconds)
        print(
            f"period {period.number:,} of {periods:,}, {duration_text(max(left, 0.0))} left: {period.walks:,} walks "
            f"({short(walks)} a second), {period.updates:.2g} updates ({updates:.2g} a second), "
            f"positive regret {short(period.regret_mbb)} mbb a hand",
            file=sys.stderr,
            flush=True,
        )

    with _interrupted() as stop:
        run.go_on(lambda last: bool(stop) or last.number >= periods or last.seconds >= seconds, tell)
    return bool(stop)


@contextmanager
def _interrupted() -> Iterator[list[int]]:
    """Ctrl-C or SIGTERM ends after the period that is under way; a second one at once."""
    seen: list[int] = []

    def handle(number: int, frame: object) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)
        print(f"{_COMMAND}: stops after this period; again to stop at once, which loses it", file=sys.stderr)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write(out: Path, run: Run, cards: Centroids | ExactCards) -> str:
    from blueprints.storage import TrainingRecord, revisions_text, write_blueprint

    last = run.last
    training = TrainingRecord(
        walks=last.walks,
        updates=last.updates,
        periods=last.number,
        core_seconds=last.core_seconds,
        revision=revisions_text(run.revisions),
        runs=_runs(run),
    )
    return write_blueprint(
        out, settings=run.settings, game=run.settings.load_game(), tree=run.tree, cards=cards,
        averages=run.sampler.averages(), training=training,
    )  # fmt: skip


def _runs(run: Run) -> tuple[TrainingRun, ...]:
    """What the header says of a run that began from a file."""
    from blueprints.storage import TrainingRun

    if run.begun is None:
        return ()
    return (TrainingRun(seed=run.settings.trainer.seed, walks=run.last.walks, before=run.begun.seeds),)
