"""`paratus blueprint info FILE`: what a file says about itself."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bot.blueprints.files import add_file, file_of
from protocol.game import STREET_NAMES

if TYPE_CHECKING:
    from blueprints.cards.quality import Quality
    from blueprints.storage import Blueprint, OneRun


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file."""
    add_file(parser)
    parser.add_argument(
        "--quality", action="store_true", help="measure, too, how much its buckets cannot tell apart (a minute)"
    )


def run_command(options: argparse.Namespace) -> int:
    """Print it."""
    from blueprints.storage import Blueprint

    blueprint = Blueprint.open(file_of(options))
    measured = _quality(blueprint) if options.quality else None
    if options.json:
        data = info_data(blueprint)
        if measured is not None:
            data["quality"] = asdict(measured)
        print(json.dumps(data, indent=1))
    else:
        _print(blueprint)
        if measured is not None:
            print(f"\n{quality_text(measured)}")
    return 0


def quality_text(measured: Quality) -> str:
    """A line a street."""
    return f"on {measured.sample:,} hands on boards of each street:\n{measured}"


def _quality(blueprint: Blueprint) -> Quality:
    """See `blueprints.cards.quality`; hold'em only."""
    from blueprints.cards.quality import quality
    from blueprints.shipped import tables_folder
    from machine.progress import ShareBar

    blueprint.centroids()  # or an error that says that this is a small game
    with ShareBar("buckets", "paratus blueprint info") as bar:

        def show(task: str, share: float, left_s: float) -> None:
            bar.show(share, task)

        return quality(blueprint.cards(tables_folder(), show), progress=show)


def info_data(blueprint: Blueprint) -> dict[str, Any]:
    """All that a file says about itself, and how large everything is."""
    header, tree = blueprint.header, blueprint.tree
    streets = []
    for street, buckets in enumerate(blueprint.buckets):
        nodes, rows = len(tree.nodes_of(street)), blueprint.strategy(street)
        streets.append(
            {
                "street": STREET_NAMES[street],
                "decisions": nodes,
                "actions": len(rows),
                "buckets": buckets,
                "information_sets": nodes * buckets,
                "probabilities": rows.size,
            }
        )
    return {
        "file": str(blueprint.path),
        "bytes": blueprint.size_bytes,
        "hash": blueprint.digest,
        "name": header.name,
        "game": header.game_name,
        "game_definition": header.game,
        "menu": header.menu,
        "tree_hash": header.tree,
        "card_abstraction": header.card_kind,
        "card_abstraction_hash": header.cards,
        "streets": streets,
        "settings": header.settings.model_dump(mode="json"),
        "training": header.training.model_dump(),
    }


def _run_text(run: OneRun) -> str:
    before = f", begun from a file of seed {', '.join(map(str, run.before))}" if run.before else ""
    return f"{run.walks:,} walks with seed {run.seed}{before}"


def _print(blueprint: Blueprint) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    data, training = info_data(blueprint), blueprint.header.training
    lines = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    hours = training.core_seconds / 3600
    touched = f"{training.updates:.3g} updates, {training.walks:,} walks, {training.periods:,} periods"
    for name, text in (
        ("blueprint", f"{data['name']}, {data['bytes'] / 1e6:.1f} MB, {data['hash']}"),
        ("game", f"{data['game']} ({data['game_definition'].splitlines()[1]})"),
        ("bets", data["menu"]),
        ("tree", data["tree_hash"]),
        ("cards", f"{data['card_abstraction']}, {data['card_abstraction_hash']}"),
        ("training", f"{touched}, {hours:.2f} core-hours"),
        ("runs", ", ".join(map(_run_text, training.runs)) or "one"),
        ("code", training.revision or "not said"),
    ):
        lines.add_row(Text(name, "bold"), Text(text))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("street")
    for heading in ("decisions", "actions", "buckets", "information sets", "probabilities"):
        table.add_column(heading, justify="right")
    for row in data["streets"]:
        table.add_row(row["street"], *[f"{row[key]:,}" for key in list(row)[1:]])
    total = {key: sum(row[key] for row in data["streets"]) for key in ("decisions", "actions", "information_sets")}
    probabilities = sum(row["probabilities"] for row in data["streets"])
    cells = f"{total['decisions']:,}", f"{total['actions']:,}", "", f"{total['information_sets']:,}"
    table.add_row("all", *cells, f"{probabilities:,}", style="bold")
    console = Console(highlight=False)
    console.print(lines)
    console.print()
    console.print(table)
