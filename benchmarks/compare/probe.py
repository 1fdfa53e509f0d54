"""What is timed in a checkout: `python -P probe.py PART`, by the checkout's own interpreter, in its folder.

This one file runs in old and new checkouts, whose modules have other names and places. So it imports nothing of them by
a name that may have moved: it starts their command line, or takes what it needs from their `benchmarks`, which stay
where they are while the house around them is rebuilt. Nothing of the program that compares is imported either.

Prints one JSON object: `times_s`, seconds by name (rates are inverted: less is faster everywhere), and `work`, hashes
of what was done where that can be told, which both checkouts must share for their times to mean anything.

Work is fixed, not time, so that a slower checkout does no less of it; only the trainer's benchmark repeats equal
batches for some seconds. Of batches that repeat the same work the fastest counts.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any, Final

Times = dict[str, float]
Report = tuple[Times, dict[str, str]]
"""Seconds and hashes of work, each by name."""

GAME: Final = "holdem.nolimit.2p.reverse_blinds"
_COMMAND: Final = (sys.executable, "-m", "bot.cli")
_NO_LIMIT_MS: Final = "1000000000"


def _benchmark(name: str, **replacements: object) -> Any:
    """A benchmark of the checkout, with some of its names replaced, so that it fits the time that there is."""
    module = importlib.import_module(f"benchmarks.{name}")
    for replaced, value in replacements.items():
        if not hasattr(module, replaced):
            raise AttributeError(f"benchmarks.{name} has no {replaced}")
        setattr(module, replaced, value)
    return module


def _unrounded(module: ModuleType) -> None:
    """Let a benchmark report all digits: a tenth of a microsecond is two percent of a fast lookup."""
    vars(module)["round"] = lambda number, digits=None: number  # found before the builtin of that name


# What has a benchmark


_ITERATIONS: Final = {"river-large-pot": 150, "river-small-pot": 150, "turn-large-pot": 8, "turn-small-pot": 2}
"""In a batch, which takes 10 to 100 ms."""
_SOLVERS: Final = 3
"""Where arrays happen to lie changes the speed of small trees by up to half."""


def solver(short: bool) -> Report:
    """An iteration on our endgames, one thread."""
    module, times = _benchmark("solver"), {}
    for name, spot in module.load_spots(module.OWN).items():
        if short and not name.startswith("river"):
            continue
        for storage in ("f32", "bf16"):
            subgame, best = module.make_subgame(spot, module.STORAGES[storage]), math.inf
            for _ in range(1 if short else _SOLVERS):
                solving = module.Solver(subgame, threads=1)
                solving.iterate(2)  # touches memory for the first time
                for _ in range(1 if short else 5):
                    begun = time.perf_counter()
                    solving.iterate(_ITERATIONS[name])
                    best = min(best, time.perf_counter() - begun)
            times[f"iteration, {name}, {storage}"] = best / _ITERATIONS[name]
    return times, {}


def lookup(short: bool) -> Report:
    """Decisions of a blueprint, and the buckets of all hands of a board: medians."""
    module = _benchmark("lookup", _DECISIONS=30 if short else 3000)
    _unrounded(module)
    report = module.run()
    names = {
        "policy in the tree, made-up": "in_tree_us",
        "policy off the tree, made-up": "off_tree_us",
        "policy in the tree": "shipped_in_tree_us",
        "policy off the tree": "shipped_off_tree_us",
        **{f"buckets of a {street}": f"shipped_buckets_of_a_{street}_us" for street in ("flop", "turn", "river")},
    }
    return {name: 1e-6 * report[key] for name, key in names.items()}, {}


def trainer(short: bool) -> Report:
    """A walk of each form of sampling on `tiny` with made-up buckets, one thread; the fastest of eight batches."""
    module = _benchmark("trainer")
    tiny = {"tiny": (module.load_settings("tiny"), module.made_up_cards)}
    _benchmark("trainer", _MEASURED_S=0.1 if short else 3.0, _subjects=lambda: tiny)
    _unrounded(module)
    speeds = module.run(threads=(1,))["speeds"]["tiny"]
    return {f"walk, {form}": 1 / speeds[form]["threads=1"]["walks_per_second"] for form in ("public", "external")}, {}


def score(short: bool) -> Report:
    """Scoring one hand of a match that the blueprint plays against itself here: CPU time of one thread."""
    module = _benchmark("score")
    one_pass, passes = module._rates, 2 if short else 20

    def rates(hands: Any, values: Any, estimators: list[str]) -> tuple[float, ...]:
        """Without AIVAT passes are short, with it a second one would find values cached."""
        repeated = [one_pass(hands, values, estimators) for _ in range(1 if "aivat" in estimators else passes)]
        return tuple(map(max, zip(*repeated, strict=True)))

    _benchmark("score", _rates=rates, _HANDS=30 if short else 400, _WARM_UP=10 if short else 50)
    _unrounded(module)
    report = module.run()
    names = {"AIVAT": "aivat", "AIVAT by equity": "aivat_by_equity", "chance and all-in": "chance"}
    return {f"hand, {name}": 1 / report[f"{key}_hands_a_core_second"] for name, key in names.items()}, {}


# Matches


def matches(short: bool) -> Report:
    """A hand through the dealer, two processes of bots, everything stored."""
    times, work = {}, {}
    for agent, hands in (("always-call", 2000), ("blueprint", 1000)):
        hands = 10 if short else hands
        seconds, work[agent] = _match(agent, agent, hands)
        times[f"hand of {agent}"] = seconds / hands
    return times, work


_SEARCHES: Final = """\
[clock]
response_s = 1e6
hand_s = 1e6
per_hand_s = 1e6
think_s = 1e6
[nested]
base = "blueprint"
threads = 1
turn = { iterations = 40 }
river = { iterations = 400 }
[limited]
threads = 1
keep = false
preflop = { iterations = 10 }
flop = { iterations = 10 }
turn = { iterations = 10 }
"""


def search(short: bool) -> Report:
    """A hand of an agent that searches by a fixed number of iterations, one thread, nothing kept from before."""
    times, work = {}, {}
    for agent, hands in (("nested", 6), ("limited", 2)):
        hands = 1 if short else hands
        with tempfile.TemporaryDirectory() as folder:
            settings, program = Path(folder) / "search.toml", Path(folder) / agent
            settings.write_text(_SEARCHES, "utf-8")
            words = [*_COMMAND, "bot", "--agent", agent, "--config", str(settings), "--seed", "1", "--no-store"]
            program.write_text(f'#!/bin/sh\ncd "{Path.cwd()}" && exec {" ".join(words)} "$@"\n', "utf-8")
            program.chmod(0o755)
            seconds, work[agent] = _match(str(program), "always-call", hands)
        times[f"hand of {agent}"] = seconds / hands
    return times, work


def _match(one: str, other: str, hands: int) -> tuple[float, str]:
    """Seconds from the dealer's first message to its last, as its record has them, and a hash of how it went."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        limits = [word for name in ("response", "hand", "per_hand") for word in (f"--t_{name}", _NO_LIMIT_MS)]
        play = [*_COMMAND, "match", GAME, one, other, "--hands", str(hands), "--seed", "3", "--out", str(out), *limits]
        subprocess.run(play, check=True, stdout=subprocess.DEVNULL)
        messages = (out / "match" / "match.messages").read_text("utf-8")
        log = (out / "match" / "match.log").read_bytes()
    begun, ended = re.findall(r"^(?:STARTED|FINISHED) at ([0-9.]+)", messages, re.MULTILINE)
    return float(ended) - float(begun), blake2b(log, digest_size=4).hexdigest()


# What a user waits for


_IMPORTS: Final = {
    "protocol": ("protocol",),
    "the solver": ("solver.subgame_solver", "solver.cfr"),
    "the registry of agents": ("strategies.registry",),
    "the command line": ("bot.cli",),
    "`paratus bot`": ("bot.play",),
    "`paratus match`": ("dealer_tools.match",),
}
"""Where a module is today, then where it was."""
_TIMED_IMPORT: Final = "import time; begun = time.perf_counter(); import {}; print(time.perf_counter() - begun)"


def startup(short: bool) -> Report:
    """Imports, help, and a bot's first answer: the fastest of several starts."""
    starts, times = 1 if short else 5, {}
    for name, modules in _IMPORTS.items():
        command = [sys.executable, "-c", _TIMED_IMPORT.format(_first_there(modules))]
        times[f"import of {name}"] = min(float(_printed(command)) for _ in range(starts))
    for words in (("--help",), ("bot", "--help")):
        times[f"paratus {' '.join(words)}"] = min(_wall_times([*_COMMAND, *words], starts))
    module = _benchmark("startup")
    times["first answer of always-call"] = min(module.first_answer_s("always-call") for _ in range(starts))
    return times, {}


def _first_there(modules: Sequence[str]) -> str:
    for module in modules:
        with suppress(ModuleNotFoundError):  # of its package
            if importlib.util.find_spec(module) is not None:
                return module
    raise ModuleNotFoundError(f"none of {', '.join(modules)}")


def _printed(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _wall_times(command: list[str], times: int) -> Iterator[float]:
    for _ in range(times):
        begun = time.perf_counter()
        _printed(command)
        yield time.perf_counter() - begun


PROBES: Final[dict[str, Callable[[bool], Report]]] = {
    probe.__name__: probe for probe in (solver, lookup, matches, trainer, score, search, startup)
}


def main() -> None:
    """Time one part."""
    parser = argparse.ArgumentParser(description="Time one part of the checkout that this runs in.")
    parser.add_argument("part", choices=PROBES)
    parser.add_argument("--short", action="store_true", help="as little work as shows that it can be done")
    options = parser.parse_args()
    times, work = PROBES[options.part](options.short)
    print(json.dumps({"times_s": times, "work": work}))


if __name__ == "__main__":
    main()
