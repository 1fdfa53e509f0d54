"""What commands that train have in common: arguments, and the configuration's tree."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from machine.cores import available_cores
from machine.errors import quote
from machine.progress import CountBar

if TYPE_CHECKING:
    from blueprints.settings import BlueprintSettings
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
