"""What a blueprint is worth: `python -m release.blueprint FILE [--run FOLDER]`, in Markdown or as JSON.

All is expectation over every pair of hands on sampled boards (`blueprints.train.contest`), within the bets of the tree:

- against players who always fold, always call, or choose uniformly among the actions of the tree; the first in hold'em
  over all boards too, exactly (`release.always_fold`);
- against itself: what the button is worth;
- against the averages it was rounded from (`--run`, the folder of the training; or `--part`, the files that it was
  merged from, once for each): what 8 bits cost;
- what it does before the flop: how often AA, KK and QQ fold to a raise, and how often each position opens or defends.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.machine import revision
from blueprints.cards.holdem import HoldemCards
from blueprints.cards.interface import Cards
from blueprints.shipped import shipped_blueprint, tables_folder
from blueprints.storage import CENTROIDS, TOTAL, Blueprint, first_edges, quantise_nodes
from blueprints.train.checkpoint import CHECKPOINT, Checkpoint, Identity, Period, read_checkpoint
from blueprints.train.contest import Score, Side, contest
from blueprints.train.merge import merge, share_of
from blueprints.train.trainer import make_sampler
from blueprints.tree import CALLED, FOLDED, BettingTree
from bot.blueprints.merge import BOARDS, check_alike
from machine.errors import ParatusError
from machine.progress import ShareBar, short
from protocol.arrays import F32, F64
from protocol.errors import BlueprintError
from protocol.game import STREET_NAMES
from protocol.hands import NUM_CLASSES, NUM_HANDS, hand_classes_array, parse_class
from protocol.state import FOLD, Raise, start
from release.always_fold import exact_value

BASELINES: Final = ("always-fold", "always-call", "random")
_STRONG: Final = ("AA", "KK", "QQ")

Report = dict[str, Any]


def evaluate(
    blueprint: Blueprint, run: Path | None, parts: Sequence[Path], boards: int, self_boards: int, threads: int
) -> Report:
    """All that `text` shows."""
    cards = blueprint.cards(tables_folder())
    averages: Sequence[F32] | None = None  # first: they may be refused
    if run is not None:
        averages = averages_of(run, blueprint, cards)
    elif parts:
        averages = merged_averages(parts, blueprint, cards, threads)
    game, tree = blueprint.game, blueprint.tree
    streets = range(game.num_rounds)
    mine = Side([blueprint.strategy(street) for street in streets], cards)
    report: Report = {
        "blueprint": blueprint.name,
        "hash": blueprint.digest,
        "bytes": blueprint.size_bytes,
        "training": blueprint.header.training.model_dump(),
        "revision": revision(),
        "expectation": {},
    }
    if isinstance(cards, HoldemCards):
        report["buckets"] = highest_buckets(cards)
        report["preflop"] = preflop(blueprint)
        report["always-fold, all boards"] = against_folds(blueprint, cards)

    def play(name: str, other: Side, count: int) -> Score:
        with ShareBar(name, "blueprint") as bar:
            return contest(
                game, tree, mine, other, boards=count, seed=1, threads=threads,
                tell=lambda board, score: bar.show(board / count),
            )  # fmt: skip

    for name in BASELINES:
        other = Side([baseline(tree, street, cards.counts[street], name) for street in streets], cards)
        report["expectation"][name] = _mbb(play(name, other, boards), game.blind)
    report["self-play"] = _mbb(play("self-play", mine, self_boards), game.blind)
    if averages is not None:
        report["8 bits against 32"] = _mbb(play("8 bits", Side(averages, cards), boards), game.blind)
    return report


def is_holdem(blueprint: Blueprint) -> bool:
    """Whether hands are those of full hold'em."""
    return blueprint.header.card_kind == CENTROIDS


def against_folds(blueprint: Blueprint, cards: Cards) -> Report:
    """See `release.always_fold`."""
    per = 1000 / max(blueprint.game.blind)
    with ShareBar("always-fold, all boards", "blueprint") as bar:
        seats = [per * exact_value(blueprint, cards, player, bar.show) for player in range(2)]
    names = ("in the big blind", "on the button")
    return {"mbb": round(sum(seats) / 2, 3), **{name: round(mbb, 3) for name, mbb in zip(names, seats, strict=True)}}


def baseline(tree: BettingTree, street: int, buckets: int, name: str) -> F32:
    """[edge, bucket] a player who looks at nothing."""
    nodes, rows = tree.nodes_of(street), []
    for node in nodes:
        does = tree.does[tree.first[node] : tree.first[node + 1]]
        wanted = FOLDED if name == "always-fold" and FOLDED in does else CALLED
        rows.append(np.ones(len(does)) if name == "random" else (does == wanted).astype(np.float64))
    table = np.concatenate(rows) if rows else np.zeros(0)
    return np.repeat(table.astype(np.float32)[:, None], buckets, axis=1)


def averages_of(run: Path, blueprint: Blueprint, cards: Cards) -> tuple[F32, ...]:
    """The averages in the checkpoint of the run that the file was written from; `BlueprintError` if it is another."""
    averages: list[tuple[F32, ...]] = []

    def take(found: Checkpoint, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        _check_run(run, found, blueprint)
        sampler = make_sampler(blueprint.settings, blueprint.tree, cards, 1)
        sampler.restore(arrays)
        averages.append(sampler.averages())

    read_checkpoint(run, take)
    return averages[0]


def merged_averages(parts: Sequence[Path], blueprint: Blueprint, cards: Cards, threads: int) -> tuple[F32, ...]:
    """What files were merged to before it was rounded; `BlueprintError` if that is not this blueprint."""
    files = [Blueprint.open(path, verify=True) for path in parts]
    check_alike(files)
    shares = list(map(share_of, files))
    first = files[0]
    if (first.tree.digest, first.header.cards) != (blueprint.tree.digest, blueprint.header.cards):
        raise BlueprintError(f"{first.path}: of other bets or buckets than {blueprint.path}: expected its parts")
    with ShareBar("merges again", "blueprint") as bar:
        averages = merge(
            blueprint.game, blueprint.tree, cards, shares, boards=BOARDS, threads=threads, tell=bar.show
        )  # fmt: skip
    for street, average in enumerate(averages):
        edges = first_edges(blueprint.tree, street)
        if len(average) and not np.array_equal(quantise_nodes(average, edges), blueprint.strategy(street)):
            raise BlueprintError(
                f"{blueprint.path}: not what {', '.join(map(str, parts))} merge to on {BOARDS:,} boards: expected that"
            )
    return averages


def log_of(run: Path, blueprint: Blueprint) -> tuple[Period, ...]:
    """The log of that run."""
    found = read_checkpoint(run)
    _check_run(run, found, blueprint)
    return found.log


def _check_run(run: Path, found: Checkpoint, blueprint: Blueprint) -> None:
    header, path = blueprint.header, run / CHECKPOINT
    found.identity.check_same(path, Identity.of(header.settings, header.tree, header.cards))
    if found.last.walks != header.training.walks:
        raise BlueprintError(
            f"{path}: {found.last.walks:,} walks: expected {header.training.walks:,} as in {blueprint.path}"
        )


def highest_buckets(cards: HoldemCards) -> Report:
    """By street: the highest bucket in the table of all live hands on all boards, which has no other entries."""
    streets = zip(STREET_NAMES[1:], cards.tables, cards.counts[1:], strict=True)
    return {
        name: {"live hands": table.size, "highest": int(table.max()), "buckets": count}
        for name, table, count in streets
    }


def class_weights() -> F64:
    """[class before the flop] its share of all hands."""
    return np.bincount(hand_classes_array(), minlength=NUM_CLASSES) / NUM_HANDS


def preflop(blueprint: Blueprint) -> Report:
    """How often the strongest hands fold to a raise, and how often each position plays on."""
    tree, weights = blueprint.tree, class_weights()
    folds = dict.fromkeys(_STRONG, 0.0)
    report: Report = {"most folds to one raise": folds}
    for node, state in tree.walk(start(blueprint.game)):
        if state.street or len(state.actions) > 2:
            continue
        actions, shares = tree.actions(node), blueprint.rows(node) / TOTAL
        if FOLD in actions and sum(isinstance(action, Raise) for action in state.actions) == 1:
            for name in folds:
                folds[name] = max(folds[name], float(shares[actions.index(FOLD), parse_class(name)]))
        if len(state.actions) < 2:
            name = f"big blind after {state.actions[0]}" if state.actions else "button"
            report[name] = {str(action): float(share @ weights) for action, share in zip(actions, shares, strict=True)}
    return report


def _mbb(score: Score, blind: tuple[int, ...]) -> Report:
    per = 1000 / max(blind)
    data = asdict(score)
    return {
        "boards": score.boards,
        "mbb": round(score.chips * per, 2),
        "interval_95": round(score.interval_chips * per, 2),
        "in the big blind": [round(data["seats_chips"][0] * per, 2), round(data["seats_interval_chips"][0] * per, 2)],
        "on the button": [round(data["seats_chips"][1] * per, 2), round(data["seats_interval_chips"][1] * per, 2)],
    }


def text(report: Report) -> str:
    """In Markdown."""
    training = report["training"]
    lines = [
        f"`{report['blueprint']}`, {report['bytes'] / 1e6:.1f} MB, hash {report['hash']}: {training['walks']:,} walks, "
        f"{training['core_seconds'] / 3600:.1f} core-hours, {training['updates']:.2g} updates.",
        "",
        "| against | boards | mbb/g, 95 % | in the big blind | on the button |",
        "|---|---:|---:|---:|---:|",
    ]
    rows = {**report["expectation"], "itself": report["self-play"]}
    if "8 bits against 32" in report:
        rows["its averages before rounding"] = report["8 bits against 32"]
    for name, each in rows.items():
        seats = [f"{mbb:+,.1f} ± {width:,.1f}" for mbb, width in (each["in the big blind"], each["on the button"])]
        both = f"{each['mbb']:+,.2f} ± {each['interval_95']:,.2f}"
        lines.append(f"| {name} | {each['boards']:,} | {both} | {' | '.join(seats)} |")
    if "always-fold, all boards" in report:
        each = report["always-fold, all boards"]
        seats = [f"{each[name]:+,.2f}" for name in ("in the big blind", "on the button")]
        lines.append(f"| always-fold | all | {each['mbb']:+,.2f} | {' | '.join(seats)} |")
    lines += ["", "| before the flop | |", "|---|---|"] if "preflop" in report else []
    for name, shares in report.get("preflop", {}).items():
        lines.append(f"| {name} | {', '.join([f'{what} {100 * share:.2f} %' for what, share in shares.items()])} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", help="default: the one that ships")
    parser.add_argument("--run", type=Path, help="the folder of its training, at the same period")
    add_part(parser)
    add_sizes(parser)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    try:
        if options.run is not None and options.part:
            raise BlueprintError("--run and --part: expected one of the two")
        blueprint = Blueprint.open(options.file or shipped_blueprint(), verify=True)
        report = evaluate(blueprint, options.run, options.part, options.boards, options.self_boards, options.threads)
    except ParatusError as error:
        print(f"blueprint: {error}", file=sys.stderr)
        return 1
    print(f"blueprint: {short(time.monotonic() - begun)} s", file=sys.stderr)
    print(json.dumps(report, indent=1) if options.json else text(report))
    return 0


def add_part(parser: argparse.ArgumentParser) -> None:
    """--part."""
    parser.add_argument(
        "--part", type=Path, action="append", default=[], metavar="FILE",
        help="that it was merged from, in the order in which they were named; once for each",
    )  # fmt: skip


def add_sizes(parser: argparse.ArgumentParser) -> None:
    """How much is measured."""
    parser.add_argument("--boards", type=int, default=500, help="default: 500")
    parser.add_argument("--self-boards", type=int, default=2000, help="default: 2000")
    parser.add_argument("--threads", type=int, default=2)


if __name__ == "__main__":
    sys.exit(main())
