"""`paratus blueprint respond FILE`: what a player wins from a blueprint who learns to play against it."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from bot.blueprints.arguments import add_file, add_seed, add_threads, file_of, open_whole, ready_cards
from bot.blueprints.contest import seat_lines
from machine.errors import ConfigError
from machine.progress import ShareBar, short

_COMMAND = "paratus blueprint respond"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, how long is learnt, and how it is tested."""
    add_file(parser)
    parser.add_argument(
        "--boards", type=int, default=10_000, metavar="N", help="to learn from, in each seat; default: 10000"
    )
    parser.add_argument("--test-boards", type=int, default=1000, metavar="N", help="to play on; default: 1000")
    add_seed(parser)
    add_threads(parser)
    parser.epilog = (
        "The responder has the bets and buckets of the file, and begins as the file plays. What it wins is a lower "
        "bound of what can be won; it grows with --boards, so files are compared at equal ones."
    )


def run_command(options: argparse.Namespace) -> int:
    """Learn, play, print."""
    from blueprints.train.measures.contest import Contestant
    from blueprints.train.measures.respond import respond

    for name, least in (("boards", 1), ("test_boards", 2)):
        if getattr(options, name) < least:
            raise ConfigError(f"--{name.replace('_', '-')} {getattr(options, name)}: expected {least} at least")
    blueprint = open_whole(file_of(options))
    game = blueprint.game
    strategy = Contestant(blueprint.strategies(), ready_cards(blueprint, _COMMAND))
    with ShareBar("learning", _COMMAND) as bar:
        score = respond(
            game, blueprint.tree, strategy, boards=options.boards, test_boards=options.test_boards,
            seed=options.seed, threads=options.threads, tell=lambda what, share: bar.show(share, what),
        )  # fmt: skip
    big_blind = max(game.blind)
    if options.json:
        said = {"file": blueprint.digest, "learnt_from": options.boards, "seed": options.seed, "big_blind": big_blind}
        print(json.dumps({**said, **asdict(score)}))
        return 0
    print(
        f"{blueprint.path}: a responder that learnt from {options.boards:,} boards in each seat wins, on "
        f"{score.boards:,} others,"
    )
    print("all pairs of hands, 95 % intervals")
    print("\n".join(seat_lines(score, big_blind)))
    surely = 1000 * (score.chips - score.interval_chips) / big_blind
    if surely > 0:
        print(f"within its bets and buckets it can be exploited by {short(surely)} mbb/g at least")
    else:
        print("that proves nothing: a player who learns longer may win (--boards)")
    return 0
