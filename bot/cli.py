"""The command line: `paratus COMMAND …`. Each command's module is imported only when that command is asked for."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

from protocol.errors import ConfigError, ParatusError

COMMANDS: Final = {
    "bot": ("bot.play", "play a match against an ACPC dealer"),
    "deal": ("dealer_tools.deal", "be the dealer of a match"),
    "match": ("dealer_tools.match", "play a match between two bots and score it"),
    "doctor": ("bot.doctor", "check this machine and installation"),
    "warm": ("bot.warm", "compile the kernels now, so that later starts are quick"),
}
_INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code: 0 done, 1 failed, 2 bad usage or input, others by command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(_overview())
        return 0 if given else 2
    if given[0] == "--version":
        from importlib.metadata import version

        print(f"paratus {version('paratus')}")
        return 0
    command = COMMANDS.get(given[0])
    if command is None:
        print(f"paratus: {given[0]!r} is not a command: expected one of {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    module = importlib.import_module(command[0])
    parser = argparse.ArgumentParser(prog=f"paratus {given[0]}", description=command[1])
    module.add_arguments(parser)
    try:
        code: int = module.run_command(parser.parse_args(given[1:]))
        return code
    except ConfigError as error:
        print(f"paratus {given[0]}: {error}", file=sys.stderr)
        return 2
    except ParatusError as error:
        print(f"paratus {given[0]}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"paratus {given[0]}: interrupted", file=sys.stderr)
        return _INTERRUPTED


def _overview() -> str:
    lines = [f"  {name:8} {what}" for name, (_, what) in COMMANDS.items()]
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
