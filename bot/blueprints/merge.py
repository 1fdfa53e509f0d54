"""`paratus blueprint merge FILE FILE … --out FILE`: one blueprint of several that were trained apart."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.blueprints.configs import add_threads
from bot.blueprints.files import check_out, open_whole, ready_cards
from machine.errors import ConfigError
from machine.progress import ShareBar
from protocol.errors import BlueprintError

if TYPE_CHECKING:
    from blueprints.storage import Blueprint, TrainingRecord

_COMMAND: Final = "paratus blueprint merge"
BOARDS: Final = 2000
"""On which reaches are estimated, if it is not said otherwise."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, and how well their reaches are estimated."""
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="two at least, of the same bets and buckets"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="write the blueprint here")
    parser.add_argument(
        "--boards", type=int, default=BOARDS, metavar="N",
        help=f"on which it is found how often each bucket is come to; default: {BOARDS}",
    )  # fmt: skip
    add_threads(parser)
    parser.add_argument("--json", action="store_true", help="print data instead of text")
    parser.epilog = (
        "Each run counts by the square of its walks, as its later walks count more than its first. The settings of the "
        "new file are those of the first."
    )


def run_command(options: argparse.Namespace) -> int:
    """Merge them and write the file."""
    from blueprints.storage import write_blueprint
    from blueprints.train.merge import merge, share_of

    if len(options.files) < 2:
        raise ConfigError(f"{options.files[0]} alone: expected two files at least")
    if options.boards < 1:
        raise ConfigError(f"--boards {options.boards}: expected 1 at least")
    check_out(options.out)
    files = list(map(open_whole, options.files))
    first = files[0]
    check_alike(files)
    training = _training(files)
    cards = ready_cards(first, _COMMAND)
    with ShareBar("boards", _COMMAND) as bar:
        tables = merge(
            first.game, first.tree, cards, list(map(share_of, files)), boards=options.boards,
            threads=options.threads, tell=bar.show,
        )  # fmt: skip
    digest = write_blueprint(
        options.out, settings=first.settings, game=first.game, tree=first.tree, averages=tables, training=training,
        cards=first.abstraction(),
    )  # fmt: skip
    if options.json:
        print(json.dumps({"file": str(options.out), "hash": digest, "training": training.model_dump()}))
    else:
        print(f"written to {options.out}")
    return 0


def check_alike(files: Sequence[Blueprint]) -> None:
    """Raise `BlueprintError` unless all are strategies of the same runs' game, bets and buckets, learnt apart."""
    first, seen = files[0], dict.fromkeys(_seeds(files[0]), files[0])
    for file in files[1:]:
        for name, theirs, mine in (
            ("game", file.header.game_hash, first.header.game_hash),
            ("bets", file.tree.digest, first.tree.digest),
            ("buckets", file.header.cards, first.header.cards),
            ("sampling", file.settings.trainer.sampling, first.settings.trainer.sampling),
            ("linear", file.settings.trainer.linear, first.settings.trainer.linear),
        ):
            if theirs != mine:
                raise BlueprintError(f"{file.path}: {name} {theirs}: expected those of {first.path}: {mine}")
        for seed in _seeds(file):
            if seed in seen:
                raise BlueprintError(
                    f"{file.path}: trained with seed {seed}: expected another than that of {seen[seed].path}, "
                    "or both have learnt from the same boards"
                )
        seen |= dict.fromkeys(_seeds(file), file)


def _seeds(file: Blueprint) -> list[int]:
    return sorted({seed for run in file.runs for seed in run.seeds})


def _training(files: Sequence[Blueprint]) -> TrainingRecord:
    """What all of them cost."""
    from blueprints.storage import REVISIONS_APART, TrainingRecord, revisions_text

    each = [file.header.training for file in files]
    return TrainingRecord(
        walks=sum(training.walks for training in each),
        updates=sum(training.updates for training in each),
        periods=sum(training.periods for training in each),
        core_seconds=sum(training.core_seconds for training in each),
        revision=revisions_text([one for training in each for one in training.revision.split(REVISIONS_APART)]),
        runs=tuple(run for file in files for run in file.runs),
    )
