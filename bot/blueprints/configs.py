"""Arguments of commands that train: the configuration, and threads."""

from __future__ import annotations

import argparse

from solver.threads import available_cores


def add_config(parser: argparse.ArgumentParser) -> None:
    """CONFIG."""
    parser.add_argument("config", metavar="CONFIG", help="tiny, small, standard, or a TOML file")


def add_threads(parser: argparse.ArgumentParser) -> None:
    """--threads."""
    cores = available_cores()
    parser.add_argument(
        "--threads", type=_threads, default=cores, metavar="N", help=f"default: {cores}, all cores of this machine"
    )


def _threads(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 256:
        raise argparse.ArgumentTypeError(f"'{text}': expected 1 to 256")
    return number
