"""The file that a command is about."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from machine.files import check_can_write
from machine.progress import ShareBar

if TYPE_CHECKING:
    from blueprints.cards.interface import Cards
    from blueprints.storage import Blueprint


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
