"""The command line: `paratus COMMAND …`. Each command's module is imported only when that command is asked for."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from machine.errors import ConfigError, ParatusError, quote

COMMANDS: Final = {
    "bot": ("bot.play", "play a match against an ACPC dealer"),
    "serve": ("bot.serve.command", "play many matches at once, as a server"),
    "ctl": ("bot.serve.ctl", "tell a running server what to do"),
    "deal": ("dealer_tools.deal", "be the dealer of a match"),
    "play": ("dealer_tools.play.command", "play against an agent yourself, in the terminal"),
    "match": ("dealer_tools.match", "play a match between two bots and score it"),
    "experiment": ("dealer_tools.experiment.command", "play many matches by a plan, and say who beats whom"),
    "score": ("dealer_tools.scoring.command", "say who is better: win rates with the luck taken out"),
    "replay": ("dealer_tools.replay.command", "show a hand of a log step by step, and what was luck in it"),
    "lbr": ("dealer_tools.lbr.command", "measure how much a local best response wins against an agent"),
    "exploitability": (
        "dealer_tools.exploitability",
        "compute what best responses win against an agent, in a small game",
    ),
    "slumbot": ("dealer_tools.slumbot.command", "play hands with slumbot.com over HTTP, and score them"),
    "slumbot-server": ("dealer_tools.slumbot.server_command", "be slumbot.com for clients on this machine"),
    "solve": ("bot.solve.command", "solve one spot and look at the answer"),
    "blueprint": ("bot.blueprints.command", "look at a blueprint: what it is, whether it is whole, what it plays"),
    "bench": ("bot.bench", "measure how fast this machine is (from the source only)"),
    "doctor": ("bot.doctor", "check this machine and installation"),
    "warm": ("bot.warm", "compile the kernels now, so that later starts are quick"),
}
_INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code: 0 done, 1 failed, 2 bad usage or input, others by command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Nothing here multiplies large matrices: numpy's threads for that would cost every start a tenth of a second.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that lack a character
    try:
        try:
            return _run(given)
        finally:
            print(end="", flush=True)  # here, where a failure can still be handled
    except ConfigError as error:
        return _fail(given, str(error), 2)
    except ParatusError as error:
        return _fail(given, str(error), 1)
    except OSError as error:
        _drop_output()
        return 1 if isinstance(error, BrokenPipeError) else _fail(given, str(error), 1)
    except MemoryError as error:
        return _fail(given, f"out of memory: {error}: expected a machine that has more", 1)
    except KeyboardInterrupt:
        return _fail(given, "interrupted", _INTERRUPTED)


def _run(given: list[str]) -> int:
    if not given:
        print(_overview(), file=sys.stderr)
        return 2
    if given[0] in ("-h", "--help"):
        print(_overview())
        return 0
    if given[0] == "--version":
        from importlib.metadata import version

        print(f"paratus {version('paratus')}")
        return 0
    command = COMMANDS.get(given[0])
    if command is None:
        print(f"paratus: {quote(given[0])} is not a command: expected one of {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    module = importlib.import_module(command[0])
    parser = _Parser(prog=f"paratus {given[0]}", description=command[1])
    module.add_arguments(parser)
    code: int = module.run_command(parser.parse_args(given[1:]))
    return code


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; so do the parsers of its subcommands."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.register("type", int, _whole_number)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (`{self.prog} --help` says more)\n")


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{quote(text)}: expected a whole number") from None


def _fail(given: list[str], message: str, code: int) -> int:
    print(" ".join(["paratus", *given[:1]]) + f": {message}", file=sys.stderr)
    return code


def _drop_output() -> None:
    """What stdout still holds cannot be written: the interpreter would try again as it exits, and complain."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _overview() -> str:
    lines = [f"  {name:14} {what}" for name, (_, what) in COMMANDS.items()]
    return "usage: paratus COMMAND …\n\n" + "\n".join(lines) + "\n\n`paratus COMMAND --help` says more."


def player() -> int:
    """`paratus-player IP PORT`, for match scripts that start each bot so; PARATUS_* variables configure it."""
    if len(sys.argv) != 3:
        print(
            "usage: paratus-player IP PORT (agent, configuration, game: PARATUS_AGENT, _CONFIG, _GAME)", file=sys.stderr
        )
        return 2
    arguments = ["bot", *sys.argv[1:]]
    for variable, option in (("PARATUS_AGENT", "--agent"), ("PARATUS_CONFIG", "--config")):
        if os.environ.get(variable):
            arguments += [option, os.environ[variable]]
    return main(arguments)


if __name__ == "__main__":
    sys.exit(main())
