"""`paratus blueprint info FILE`: what a file says about itself."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, Final

from bot.blueprints.files import add_file, open_file

if TYPE_CHECKING:
    from blueprints.storage import Blueprint

_STREETS: Final = ("preflop", "flop", "turn", "river")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file."""
    add_file(parser)


def run_command(options: argparse.Namespace) -> int:
    """Print it."""
    blueprint = open_file(options)
    if options.json:
        print(json.dumps(info_data(blueprint), indent=1))
    else:
        _print(blueprint)
    return 0


def info_data(blueprint: Blueprint) -> dict[str, Any]:
    """All that a file says about itself, and how large everything is."""
    header, tree = blueprint.header, blueprint.tree
    streets = []
    for street, buckets in enumerate(blueprint.buckets):
        nodes, rows = len(tree.nodes_of(street)), blueprint.strategy(street)
        streets.append(
            {
                "street": _STREETS[street],
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
