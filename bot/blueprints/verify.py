"""`paratus blueprint verify FILE`: every number of a file is what it should be."""

from __future__ import annotations

import argparse
import json
import time

from bot.blueprints.arguments import add_file, file_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file."""
    add_file(parser)
    parser.epilog = "exit codes: 0 whole, 1 damaged or no blueprint (one line says what differs), 2 bad usage"


def run_command(options: argparse.Namespace) -> int:
    """Raises `BlueprintError` if anything is wrong."""
    from blueprints.storage import Blueprint

    begun = time.monotonic()
    blueprint = Blueprint.open(file_of(options), verify=True)
    seconds = time.monotonic() - begun
    numbers = sum(blueprint.strategy(street).size for street in range(blueprint.game.num_rounds))
    if options.json:
        said = {"file": str(blueprint.path), "hash": blueprint.digest, "whole": True, "probabilities": numbers}
        print(json.dumps({**said, "seconds": round(seconds, 3)}))
    else:
        print(f"{blueprint.path}: whole: {numbers:,} probabilities, hash {blueprint.digest} ({seconds:.1f} s)")
    return 0
