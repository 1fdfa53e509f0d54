"""`paratus blueprint contest FIRST SECOND`: what one wins against the other, over all hands on sampled boards."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.blueprints.arguments import add_seed, add_threads, open_whole, ready_cards
from machine.errors import ConfigError
from machine.progress import ShareBar, short
from protocol.errors import BlueprintError

if TYPE_CHECKING:
    from blueprints.train.measures.contest import ContestScore

_COMMAND: Final = "paratus blueprint contest"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two files for the same bets."""
    parser.add_argument("first", type=Path, metavar="FIRST")
    parser.add_argument("second", type=Path, metavar="SECOND", help="a file for the same bets; may be FIRST too")
    parser.add_argument("--boards", type=int, default=1000, metavar="N", help="default: 1000")
    add_seed(parser)
    add_threads(parser)
    parser.add_argument("--json", action="store_true", help="print data instead of text")


def run_command(options: argparse.Namespace) -> int:
    """Play it out and print the score."""
    from blueprints.train.measures.contest import Contestant, contest

    if options.boards < 2:
        raise ConfigError(f"--boards {options.boards}: expected 2 at least")
    first, second = open_whole(options.first), open_whole(options.second)
    if first.tree.digest != second.tree.digest:
        raise BlueprintError(
            f"{options.second}: bets {second.header.menu}: expected those of {options.first}: {first.header.menu}"
        )
    sides = [Contestant(each.strategies(), ready_cards(each, _COMMAND)) for each in (first, second)]
    with ShareBar("boards", _COMMAND) as bar:

        def tell(board: int, score: ContestScore) -> None:
            bar.show(board / options.boards)

        score = contest(
            first.game, first.tree, *sides, boards=options.boards, seed=options.seed, threads=options.threads,
            tell=tell,
        )  # fmt: skip
    big_blind = max(first.game.blind)
    if options.json:
        print(json.dumps({"first": first.digest, "second": second.digest, "big_blind": big_blind, **asdict(score)}))
        return 0
    print(f"{options.first} against {options.second}, all pairs of hands on {score.boards:,} boards, 95 % intervals")
    print("\n".join(seat_lines(score, big_blind)))
    return 0


def seat_lines(score: ContestScore, big_blind: int) -> list[str]:
    """What was won in both seats and in each, in thousandths of a big blind."""
    per = 1000 / big_blind

    def text(chips: float, interval: float) -> str:
        return f"{'+' if chips >= 0 else '-'}{short(abs(chips) * per)} ± {short(interval * per)} mbb/g"

    seats = zip(("in the big blind", "on the button"), score.seats_chips, score.seats_interval_chips, strict=True)
    return [
        f"  both seats        {text(score.chips, score.interval_chips)}",
        *[f"  {name:16}  {text(chips, interval)}" for name, chips, interval in seats],
    ]
