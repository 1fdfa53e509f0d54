"""What commands have in common: arguments, and what they open by them, with progress."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from machine.cores import available_cores
from machine.errors import quote
from machine.files import check_can_write
from machine.progress import CountBar, ShareBar

if TYPE_CHECKING:
    from blueprints.cards.interface import Cards
    from blueprints.settings import BlueprintSettings
    from blueprints.storage import Blueprint
    from blueprints.tree import BettingTree


def add_config(parser: argparse.ArgumentParser) -> None:
    """CONFIG."""
    parser.add_argument("config", metavar="CONFIG", help="tiny, small, standard, or a TOML file")


def add_threads(parser: argparse.ArgumentParser) -> None:
    """--threads."""
    cores = available_cores()
    parser.add_argument(
        "--threads", type=_threads, default=cores, metavar="N", help=f"default: {cores}, all cores of this machine"
    )


def add_seed(parser: argparse.ArgumentParser, what: str = "of the boards; default: 0", default: int | None = 0) -> None:
    """--seed."""
    parser.add_argument("--seed", type=_seed, default=default, metavar="N", help=what)


def grow_tree(settings: BlueprintSettings, command: str) -> BettingTree:
    """The betting of a configuration; some menus take minutes."""
    from blueprints.tree import build_tree

    with CountBar("decisions of the tree", command) as bar:
        return build_tree(settings.load_game(), settings.load_menu(), tell=bar.show)


def add_file(parser: argparse.ArgumentParser) -> None:
    """FILE and --json, which every command has."""
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help="default: the one that comes with Paratus")
    parser.add_argument("--json", action="store_true", help="print data instead of text")


def file_of(options: argparse.Namespace) -> Path:
    """The file that was asked for."""
    from blueprints.shipped import shipped_blueprint

    return options.file or shipped_blueprint()


def check_out(path: Path) -> None:
    """Refuse, before any work, a file that could not be written at its end; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    check_can_write(path, "--out")


def open_whole(path: Path) -> Blueprint:
    """A blueprint, every byte of it compared with its hash: nothing is said of a damaged strategy, or made of it."""
    from blueprints.storage import Blueprint

    blueprint = Blueprint.open(path)
    blueprint.check_content()
    return blueprint


def ready_cards(blueprint: Blueprint, command: str) -> Cards:
    """Its buckets, with progress where their tables must be built first."""
    from blueprints.shipped import tables_folder

    with ShareBar("tables of buckets", command) as bar:
        return blueprint.cards(tables_folder(), lambda task, share, left_s: bar.show(share, task))


def _threads(text: str) -> int:
    return _whole(text, 1, 256)


def _seed(text: str) -> int:
    return _whole(text, 0, 2**32 - 1)


def _whole(text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"{quote(text)}: expected {least} to {most:,}")
    return number
