"""`paratus blueprint COMMAND …`: everything about blueprint files."""

from __future__ import annotations

import argparse
from typing import Final, Protocol

from bot.blueprints import contest, export, info, leaves, merge, price, respond, train, verify


class _Command(Protocol):
    """What a module here must have; it imports what is heavy when it runs."""

    __doc__: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run_command(self, options: argparse.Namespace) -> int: ...


COMMANDS: Final[dict[str, tuple[_Command, str]]] = {
    "price": (price, "what a configuration will cost to train"),
    "train": (train, "train a configuration, or go on training"),
    "merge": (merge, "make one blueprint of several that were trained apart, with other seeds"),
    "leaves": (leaves, "teach a network what leaves of the flop are worth, for searches"),
    "contest": (contest, "what one blueprint wins against another, over all hands on sampled boards"),
    "respond": (respond, "what a player wins from a blueprint who learns to play against it"),
    "info": (info, "what a blueprint file is: game, bets, buckets, training"),
    "verify": (verify, "look at every number of a blueprint file"),
    "export": (export, "what a blueprint does in one spot, as text, JSON or picture"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of every command."""
    parser.description = "Train blueprints and look at them: strategies for a whole game, made ahead."
    commands = parser.add_subparsers(dest="blueprint_command", metavar="COMMAND")
    for name, (module, what) in COMMANDS.items():
        module.add_arguments(commands.add_parser(name, help=what, description=what[0].upper() + what[1:] + "."))


def run_command(options: argparse.Namespace) -> int:
    """Run the command that was named."""
    from machine.errors import ConfigError

    if options.blueprint_command is None:
        raise ConfigError(f"no command: expected one of {', '.join(COMMANDS)}")
    return COMMANDS[options.blueprint_command][0].run_command(options)
