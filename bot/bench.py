"""`paratus bench`: how fast things are on this machine. The benchmarks are part of the source, not of wheels."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

from machine.errors import ConfigError, quote

BENCHMARKS: Final = (
    *("rules", "ranking", "store", "startup", "matches", "solver", "search", "trainer", "lookup", "lbr", "bot"),
    *("logs", "score", "serve", "fingerprint"),
)
CHECKOUT: Final = Path(__file__).resolve().parent.parent

_EPILOG: Final = """\
rules ranking store startup matches   what docs/speed.md lists
solver                                bytes, ms an iteration and seconds to 100, 10 and 1 mbb/g of every endgame in a
                                      folder (*.txt, as `paratus solve --endgame` reads), and the time to compile
search                                on 50 recorded decisions of the turn and river: seconds until the subgame is
                                      solved to 1 % and 0.3 % of the pot, and what its gadget costs
trainer                               both forms of sampling: walks and updates a second, one thread and two; with
                                      --contest which plays better after so many CPU seconds of training each
lookup                                files of a blueprint: written, opened, verified; decisions by it, with bets that
                                      its tree has, and with others
lbr                                   local best response: hands a second against the blueprint, chances of winning
bot                                   the default agent against itself: seconds a hand and a decision, iterations by
                                      route, run-outs a second, start, memory
logs                                  files of played hands, read and written: microseconds a hand by format
score                                 AIVAT of hands that the blueprint played: hands a second
serve                                 the server on fifty connections: decisions a second, latencies, memory of a match
fingerprint                           what Paratus does, one hash a part; exit code 1 if one is not as recorded

Programs beside it make all of it slower, two threads most: the report says how many cores they kept busy. Whether a
change made anything slower is a question for `python -m benchmarks.compare OLD NEW`, with two checkouts.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to measure, and how long."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "Measure speeds: all benchmarks, or those named. Needs the source of Paratus."
    parser.epilog = _EPILOG
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"some of {', '.join(BENCHMARKS)}")
    parser.add_argument("--json", action="store_true", help="print data instead of tables")
    solver = parser.add_argument_group("solver")
    solver.add_argument("--endgames", metavar="FOLDER", type=Path, help="default: the endgames in benchmarks/")
    solver.add_argument(
        "--goal-seconds", metavar="S", type=float, default=120.0, help="give up on an exploitability (default 120)"
    )
    solver.add_argument(
        "--measure-seconds", metavar="S", type=float, default=3.0, help="for each ms an iteration (default 3)"
    )
    solver.add_argument("--skip-compilation", action="store_true", help="do not measure that")

    search = parser.add_argument_group("search")
    trainer = parser.add_argument_group("trainer")
    trainer.add_argument("--contest", metavar="S", type=float, help="train both forms for S CPU seconds and compare")
    bot = parser.add_argument_group("bot")
    bot.add_argument("--hands", metavar="N", type=int, help="hands of self-play (default 60)")
    search.add_argument("--decisions", metavar="N", type=int, help="only so many of the 50, evenly spread")


def run_command(options: argparse.Namespace) -> int:
    """Measure, then print."""
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        raise ConfigError(f"{', '.join(map(quote, unknown))}: expected some of {', '.join(BENCHMARKS)}")
    if not (CHECKOUT / "benchmarks" / "solver.py").is_file():
        raise ConfigError(f"no benchmarks in {CHECKOUT}: expected Paratus to run from its source (`make bench`)")
    names = list(dict.fromkeys(options.names)) or list(BENCHMARKS)
    if "solver" not in names and options.endgames is not None:
        raise ConfigError("--endgames without solver: expected `paratus bench solver --endgames FOLDER`")
    settings = {"solver": _solver_settings(options)} if "solver" in names else {}
    if options.decisions is not None:
        if "search" not in names or not 2 <= options.decisions <= 50:
            raise ConfigError(f"--decisions {options.decisions}: expected 2 to 50, and `paratus bench search`")
        settings["search"] = {"decisions": options.decisions}
    if options.hands is not None:
        if "bot" not in names or not 1 <= options.hands <= 1_000_000:
            raise ConfigError(f"--hands {options.hands}: expected 1 or more, and `paratus bench bot`")
        settings["bot"] = {"hands": options.hands}
    if options.contest is not None:
        if "trainer" not in names or not 0 < options.contest < 1e6:
            raise ConfigError(f"--contest {options.contest:g}: expected seconds, and `paratus bench trainer`")
        settings["trainer"] = {"contest_seconds": options.contest}
    report: dict[str, Any] = {"machine": importlib.import_module("benchmarks.machine").describe()}
    for name in names:
        _tell(f"{name} …")
        begun = time.monotonic()
        report[name] = importlib.import_module(f"benchmarks.{name}").run(**settings.get(name, {}))
        _tell(f"{name}: {time.monotonic() - begun:.0f} s")
    print(json.dumps(report, indent=2) if options.json else "\n\n".join(_sections(report)))
    return int(bool(report.get("fingerprint", {}).get("changed")))


def _solver_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Checked before anything is measured."""
    for name in ("goal_seconds", "measure_seconds"):
        if not 0 < getattr(options, name) < 1e9:
            shown = name.replace("_", "-")
            raise ConfigError(f"--{shown} {getattr(options, name):g}: expected seconds, more than 0")
    module = importlib.import_module("benchmarks.solver")
    return {
        "spots": module.load_spots(options.endgames or module.OWN),
        "goal_s": options.goal_seconds,
        "measure_s": options.measure_seconds,
        "compilation": not options.skip_compilation,
    }


def _sections(report: dict[str, Any]) -> list[str]:
    """Each part of the report under its name; a benchmark may have a way of its own to print what it measured."""
    sections = []
    for name, part in report.items():
        printer = getattr(sys.modules.get(f"benchmarks.{name}"), "text", None)
        lines = printer(part) if printer else "\n".join(f"  {key:34} {_shown(value)}" for key, value in part.items())
        sections.append(f"{name}\n{lines}")
    return sections


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _tell(line: str) -> None:
    print(f"paratus bench: {line}", file=sys.stderr, flush=True)
