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
from typing import TYPE_CHECKING, Final

from bot.blueprints.arguments import add_config, add_seed, add_threads, check_out
from machine.errors import ConfigError
from machine.progress import CountBar, ShareBar, duration_text, short

if TYPE_CHECKING:
    from blueprints.cards.work import Progress
    from blueprints.settings import BlueprintSettings
    from blueprints.train.checkpoint import Period
    from blueprints.train.job import TrainingJob

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
    from blueprints.train.job import TrainingJob

    settings = _seeded(load_settings(options.config), options.seed)
    if options.hours is not None and not options.hours > 0:
        raise ConfigError(f"--hours {options.hours}: expected more than 0")
    apart = "" if options.seed is None else f"-{options.seed}"
    folder = options.folder or Path("training") / f"{settings.name}{apart}"
    if options.out is not None:
        check_out(options.out)
    job = TrainingJob(
        settings, folder, tables_folder(), threads=options.threads, start_file=options.begin_from, observer=_Bars()
    )
    if job.run.log:
        print(f"{_COMMAND}: goes on after period {job.run.last.number:,}", file=sys.stderr)
    elif job.start_file is not None:
        print(f"{_COMMAND}: begins after the file's period {job.run.last.number:,}", file=sys.stderr)
    stopped = _train(job, options.periods, float("inf") if options.hours is None else 3600 * options.hours)
    out = options.out or job.file
    digest = job.write(out)
    if options.json:
        print(json.dumps({"file": str(out), "hash": digest, "done": not stopped, **asdict(job.run.last)}))
    else:
        print(f"written to {out}")
    return 130 if stopped else 0


def _seeded(settings: BlueprintSettings, seed: int | None) -> BlueprintSettings:
    """With the seed of the command line, if there is one."""
    if seed is None:
        return settings
    return settings.model_copy(update={"trainer": settings.trainer.model_copy(update={"seed": seed})})


class _Bars:
    """Shows how far preparations are; a `JobObserver`."""

    @contextmanager
    def counter(self, what: str) -> Iterator[Callable[[int], object]]:
        with CountBar(what, _COMMAND) as bar:
            yield bar.show

    @contextmanager
    def progress(self, what: str) -> Iterator[Progress]:
        with ShareBar(what, _COMMAND) as bar:
            yield lambda task, share, left_s: bar.show(share, task)


def _train(job: TrainingJob, periods: int | None, seconds: float) -> bool:
    """Until enough is done; says whether it was stopped before."""
    begun, first, wanted = time.monotonic(), job.run.last, periods or job.settings.trainer.periods

    def tell(period: Period) -> None:
        here = time.monotonic() - begun
        walks = (period.walks - first.walks) / here
        updates = (period.updates - first.updates) / here
        left = min((wanted - period.number) * job.settings.trainer.walks / walks, seconds - period.seconds)
        print(
            f"period {period.number:,} of {wanted:,}, {duration_text(max(left, 0.0))} left: {period.walks:,} walks "
            f"({short(walks)} a second), {period.updates:.2g} updates ({updates:.2g} a second), "
            f"positive regret {short(period.regret_mbb)} mbb a hand",
            file=sys.stderr,
            flush=True,
        )

    with _interrupted() as stop:
        job.train(wanted, seconds=seconds, is_stopped=lambda: bool(stop), tell=tell)
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
