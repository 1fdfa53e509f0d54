"""What a blueprint is worth: `python -m benchmarks.blueprint FILE [--run FOLDER]`, in Markdown or as JSON.

All is expectation over every pair of hands on sampled boards (`blueprints.train.contest`), within the bets of the tree:

- against players who always fold, always call, or choose uniformly among the actions of the tree;
- against itself: what the button is worth;
- against the averages it was rounded from (`--run`, the folder of the training): what 8 bits cost;
- what it does before the flop: how often AA, KK and QQ fold to a raise, and how often each position opens or defends.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.machine import revision
from blueprints.shipped import shipped_blueprint, tables_folder
from blueprints.storage import TOTAL, Blueprint
from blueprints.train.contest import Score, Side, contest
from blueprints.train.layout import cut
from blueprints.train.public import Tables, bases_of
from blueprints.tree import CALLED, FOLDED, BettingTree
from bot.study.progress import ShareBar, short
from protocol.hands import NUM_CLASSES, hand_classes_array, parse_class
from protocol.state import FOLD, Raise, start
from solver.tables import F32

BASELINES: Final = ("always-fold", "always-call", "random")
_STRONG: Final = ("AA", "KK", "QQ")

Report = dict[str, Any]


def evaluate(blueprint: Blueprint, run: Path | None, boards: int, self_boards: int, threads: int) -> Report:
    """All that `text` shows."""
    cards = blueprint.cards(tables_folder())
    game, tree = blueprint.game, blueprint.tree
    streets = range(game.num_rounds)
    mine = Side([blueprint.strategy(street) for street in streets], cards)
    report: Report = {
        "blueprint": blueprint.name,
        "hash": blueprint.digest,
        "bytes": blueprint.size_bytes,
        "training": blueprint.header.training.model_dump(),
        "revision": revision(),
        "preflop": preflop(blueprint),
        "expectation": {},
    }

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
    if run is not None:
        averages = Side(averages_of(run, tree, cards.counts), cards)
        report["8 bits against 32"] = _mbb(play("8 bits", averages, boards), game.blind)
    return report


def baseline(tree: BettingTree, street: int, buckets: int, name: str) -> F32:
    """[edge, bucket] a player who looks at nothing."""
    nodes, rows = tree.nodes_of(street), []
    for node in nodes:
        does = tree.does[tree.first[node] : tree.first[node + 1]]
        wanted = FOLDED if name == "always-fold" and FOLDED in does else CALLED
        rows.append(np.ones(len(does)) if name == "random" else (does == wanted).astype(np.float64))
    table = np.concatenate(rows) if rows else np.zeros(0)
    return np.repeat(table.astype(np.float32)[:, None], buckets, axis=1)


def averages_of(run: Path, tree: BettingTree, buckets: tuple[int, ...]) -> tuple[F32, ...]:
    """The averages in a run's checkpoint."""
    parts = cut(tree)
    with (run / "checkpoint.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return Tables(parts, bases_of(parts, buckets), tuple(buckets)).unpacked(arrays["averages"])


def preflop(blueprint: Blueprint) -> Report:
    """How often the strongest hands fold to a raise, and how often each position plays on."""
    tree, classes = blueprint.tree, hand_classes_array()
    weights = np.bincount(classes, minlength=NUM_CLASSES) / len(classes)
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
    lines += ["", "| before the flop | |", "|---|---|"]
    for name, shares in report["preflop"].items():
        lines.append(f"| {name} | {', '.join([f'{what} {100 * share:.2f} %' for what, share in shares.items()])} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", help="default: the one that ships")
    parser.add_argument("--run", type=Path, help="the folder of its training, at the same period")
    parser.add_argument("--boards", type=int, default=500)
    parser.add_argument("--self-boards", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    blueprint = Blueprint.open(options.file or shipped_blueprint(), verify=True)
    begun = time.monotonic()
    report = evaluate(blueprint, options.run, options.boards, options.self_boards, options.threads)
    print(f"blueprint: {short(time.monotonic() - begun)} s", file=sys.stderr)
    print(json.dumps(report, indent=1) if options.json else text(report))


if __name__ == "__main__":
    main()
