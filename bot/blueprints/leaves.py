"""`paratus blueprint leaves FILE`: teach a network what the leaves of a flop are worth under a blueprint."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.blueprints.arguments import add_file, add_threads, file_of, open_whole, ready_cards
from machine.errors import ConfigError
from machine.progress import ShareBar

if TYPE_CHECKING:
    from blueprints.learned.training import LearningProgress

_COMMAND: Final = "paratus blueprint leaves"
_LEAST_FLOPS: Final = 200
_EPOCHS: Final = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The blueprint, how much is learnt from, and where it goes."""
    add_file(parser)
    add_threads(parser)
    parser.add_argument("--flops", type=int, default=1600, metavar="N", help="learn from so many (default 1600)")
    parser.add_argument("--epochs", type=int, default=_EPOCHS, metavar="N", help=f"so often (default {_EPOCHS})")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="of the examples; default: training/NAME-leaves")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: where agents look for it")
    parser.epilog = (
        "The same command goes on after an interruption. Then set leaves = 'learned' in section [limited] of an "
        "agent's configuration."
    )


def run_command(options: argparse.Namespace) -> int:
    """Play roll-outs, learn, write the file, say what is left of the error."""
    from blueprints.learned.examples import FLOPS, make_examples, read_shard
    from blueprints.learned.network import network_file, turn_roots, write_network
    from blueprints.learned.training import import_torch, learn
    from blueprints.values.rollouts import FACTOR, Rollouts
    from machine.revision import git_revision
    from strategies.requirements import check_searchable

    if options.flops < _LEAST_FLOPS:
        raise ConfigError(f"--flops {options.flops}: expected at least {_LEAST_FLOPS}")
    if options.epochs < 1:
        raise ConfigError(f"--epochs {options.epochs}: expected at least 1")
    import_torch()
    blueprint = open_whole(file_of(options))
    check_searchable("a network of leaves", blueprint.game)
    folder = options.folder or Path("training") / f"{blueprint.name}-leaves"
    cards = ready_cards(blueprint, _COMMAND)
    rollouts = Rollouts(blueprint.game, blueprint.tree, cards, blueprint.strategies(), threads=options.threads)
    count = -(-options.flops // FLOPS)
    with ShareBar(f"roll-outs of {count * FLOPS:,} flops", _COMMAND) as bar:
        paths = make_examples(blueprint, rollouts, folder, count, lambda done: bar.show(done / count))
    shards = [read_shard(path, blueprint) for path in paths]
    seen: list[LearningProgress] = []
    with ShareBar("learning", _COMMAND) as bar:

        def tell(progress: LearningProgress) -> None:
            seen.append(progress)
            bar.show(progress.epoch / progress.epochs)

        arrays = learn(shards, len(turn_roots(blueprint)), options.epochs, 0, options.threads, tell)
    out = options.out or network_file(blueprint)
    out.parent.mkdir(parents=True, exist_ok=True)
    said = {"flops": count * FLOPS, **asdict(seen[-1])}
    digest = write_network(out, blueprint, arrays, FACTOR, {**said, "revision": git_revision(full=True)})
    if options.json:
        print(json.dumps({"file": str(out), "hash": digest, **said}))
        return 0
    _print(seen[-1], count * FLOPS)
    print(f"written to {out}, hash {digest}", file=sys.stderr)
    return 0


def _print(last: LearningProgress, flops: int) -> None:
    print(f"learned from {flops:,} flops, less a tenth that it is tested on; in pots, the noise of roll-outs included:")
    print(f"  off by {last.rms:.3f} (root mean square), {last.rms_of_zero:.3f} if nobody bet any more")
    print(f"  Huber's loss {last.huber:.4f}, mean error {last.bias:+.4f}")
