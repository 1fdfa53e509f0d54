"""`paratus blueprint merge FILE FILE … --out FILE`: one blueprint of several that were trained apart."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from bot.blueprints.arguments import add_threads, check_out, open_whole, ready_cards
from machine.errors import ConfigError
from machine.progress import ShareBar

_COMMAND: Final = "paratus blueprint merge"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, and how well their reaches are estimated."""
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="two at least, of the same bets and buckets"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="write the blueprint here")
    parser.add_argument(
        "--boards", type=int, metavar="N", help="on which it is found how often each bucket is reached; default: 2000"
    )  # fmt: skip
    add_threads(parser)
    parser.add_argument("--json", action="store_true", help="print data instead of text")
    parser.epilog = (
        "Each run counts by the square of its walks, as its later walks count more than its first. The settings of the "
        "new file are those of the first."
    )


def run_command(options: argparse.Namespace) -> int:
    """Merge them and write the file."""
    from blueprints.train.merge import BOARDS, FileMerge

    if len(options.files) < 2:
        raise ConfigError(f"{options.files[0]} alone: expected two files at least")
    boards = BOARDS if options.boards is None else options.boards
    if boards < 1:
        raise ConfigError(f"--boards {boards}: expected 1 at least")
    check_out(options.out)
    files = list(map(open_whole, options.files))
    merge = FileMerge(files)
    cards = ready_cards(files[0], _COMMAND)
    with ShareBar("boards", _COMMAND) as bar:
        averages = merge.merge(cards, boards=boards, threads=options.threads, tell=bar.show)
    digest = merge.write(options.out, averages)
    if options.json:
        print(json.dumps({"file": str(options.out), "hash": digest, "training": merge.record.model_dump()}))
    else:
        print(f"written to {options.out}")
    return 0
