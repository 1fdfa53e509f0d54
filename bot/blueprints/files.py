"""The file that a command is about."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blueprints.storage import Blueprint


def add_file(parser: argparse.ArgumentParser) -> None:
    """FILE and --json, which every command has."""
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help="default: the one that comes with Paratus")
    parser.add_argument("--json", action="store_true", help="print data instead of text")


def open_file(options: argparse.Namespace) -> Blueprint:
    """The blueprint that was asked for."""
    from blueprints.shipped import shipped_blueprint
    from blueprints.storage import Blueprint

    return Blueprint.open(options.file or shipped_blueprint())
