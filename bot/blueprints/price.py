"""`paratus blueprint price CONFIG`: what a configuration will cost."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bot.blueprints.configs import add_config, add_threads, grow_tree
from bot.blueprints.info import quality_text
from machine.errors import ConfigError
from machine.progress import ShareBar
from protocol.game import STREET_NAMES

if TYPE_CHECKING:
    from blueprints.cards.quality import Quality
    from blueprints.price import Price
    from blueprints.settings import BlueprintSettings

_COMMAND: Final = "paratus blueprint price"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The configuration."""
    add_config(parser)
    add_threads(parser)
    parser.add_argument(
        "--quality",
        action="store_true",
        help="make its buckets, too, and measure how much they cannot tell apart (minutes)",
    )
    parser.add_argument("--json", action="store_true", help="print data instead of text")


def run_command(options: argparse.Namespace) -> int:
    """Measure for a few seconds and print it."""
    from blueprints.price import find_price, is_holdem
    from blueprints.settings import load_settings

    settings = load_settings(options.config)
    if options.quality and not is_holdem(settings.load_game()):
        raise ConfigError(f"--quality of {settings.game}: expected a game of hold'em's buckets")
    tree = grow_tree(settings, _COMMAND)
    with ShareBar("speed", _COMMAND) as bar:
        price = find_price(settings, tree, threads=options.threads, tell=bar.show)
    measured = _quality(settings, options.threads) if options.quality else None
    if options.json:
        data = {"settings": settings.model_dump(mode="json"), **_data(price, options.threads)}
        print(json.dumps(data | ({"quality": asdict(measured)} if measured else {}), indent=1))
    else:
        _print(settings, price, options.threads)
        if measured is not None:
            print(f"\n{quality_text(measured)}")
    return 0


def _quality(settings: BlueprintSettings, threads: int) -> Quality:
    """Of buckets that are made for this and dropped."""
    from tempfile import TemporaryDirectory

    from blueprints.cards.centroids import build_centroids
    from blueprints.cards.holdem import HoldemCards
    from blueprints.cards.quality import quality

    with TemporaryDirectory() as folder, ShareBar("buckets", _COMMAND) as bar:

        def show(task: str, share: float, left_s: float) -> None:
            bar.show(share, task)

        centroids = build_centroids(settings.cards, threads=threads, progress=show)
        cards = HoldemCards.open(centroids, Path(folder), rivers=False, threads=threads, progress=show)
        return quality(cards, threads=threads, progress=show)


def _data(price: Price, threads: int) -> dict[str, Any]:
    """All of it, sums and what follows from others too."""
    streets = [
        {**asdict(each), "information_sets": each.information_sets, "pairs": each.pairs} for each in price.streets
    ]
    sums = {key: sum(each[key] for each in streets) for key in ("decisions", "actions", "information_sets", "pairs")}
    return {**asdict(price), "streets": streets, **sums, "threads": threads, "hours": price.hours}


def _print(settings: BlueprintSettings, price: Price, threads: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(settings.name)
    for heading in ("decisions", "actions", "buckets", "information sets", "probabilities"):
        table.add_column(heading, justify="right")
    rows = [(each.decisions, each.actions, each.buckets, each.information_sets, each.pairs) for each in price.streets]
    for name, row in zip(STREET_NAMES, rows, strict=False):
        table.add_row(name, *[f"{number:,}" for number in row])
    total = [f"{sum(column):,}" for column in zip(*rows, strict=True)]
    table.add_row("all", total[0], total[1], "", *total[3:], style="bold")
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    console.print()
    for what, size, why in (
        ("memory while training", price.training_bytes, "regrets and averages"),
        ("  tables of buckets", price.tables_bytes, "mapped files, which other processes share"),
        ("  besides", price.working_bytes, "walks, or writing the file in the end; without the program itself"),
    ):
        console.print(f"{what:21}  {size / 1e6:,.{0 if size > 1e7 else 1}f} MB, {why}")
    console.print(f"file                   {price.file_bytes / 1e6:,.1f} MB and about 1 MB of tree and cards")
    console.print(
        f"speed                  {price.walks_a_second:,.1f} walks a second, {price.pairs_a_second:.3g} updates"
        f" (measured just now, {threads} thread{'s' if threads > 1 else ''})"
    )
    trainer = settings.trainer
    console.print(
        f"time                   {price.hours:,.1f} hours for the {price.walks:,} walks of the configuration "
        f"({trainer.periods:,} periods of {trainer.walks:,})"
    )
