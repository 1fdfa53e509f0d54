"""`paratus warm`: do now what a later start would have to wait for: compile kernels, build the blueprint's tables.

There is a part for each thing that takes long. Which of them an agent needs stands in its spec.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from machine.errors import ConfigError, quote

TABLES_MB: Final = 350.0
"""What the blueprint's tables take on disk."""


@dataclass(frozen=True, slots=True)
class WarmPart:
    """Something that takes long the first time."""

    prepare: Callable[[bool, str], None]
    """Do it; told whether it was asked for by name, so that it is an error if there is nothing to prepare, and for
    which agent.
    """
    state: Callable[[], str]
    """Whether it is done, and what it costs if not."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which parts."""
    parser.description = (
        "Compile and cache all kernels, and build the tables of the blueprint. Run it once after an installation."
    )
    parser.add_argument("parts", metavar="PART", nargs="*", help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--agent", metavar="NAME", help="only what this agent needs")


def run_command(options: argparse.Namespace) -> int:
    """Do it; prints how long each part took."""
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        raise ConfigError(f"{', '.join(map(quote, unknown))}: expected some of {', '.join(PARTS)}")
    if options.agent is not None and options.parts:
        raise ConfigError("--agent with parts: expected one of them")
    parts = _parts_of(options.agent) if options.agent is not None else options.parts
    for name, part in PARTS.items():
        if name in parts or not parts:
            part.prepare(name in parts, options.agent or "")
    return 0


def _parts_of(agent: str) -> tuple[str, ...]:
    from strategies.registry import find_agent

    return find_agent(agent, allow_code=True).warm_parts


def warm_up() -> float:
    """Compile or load what every bot needs to start; returns the seconds it took."""

    def ranking() -> None:
        from protocol import kernels

        kernels.warm_up()

    return _timed(ranking)


def _ranking_state() -> str:
    """Run, since that shows whether numba works here; it does not take long."""
    from protocol import kernels

    if not kernels.cached():
        print("paratus doctor: compiling hand ranking (up to half a minute) …", file=sys.stderr, flush=True)
    return f"warm after {warm_up():.1f} s"


def _blueprint(required: bool, agent: str) -> None:
    """The tables of the blueprint that ships; if none does, that is an error for those who asked for them."""
    from blueprints.shipped import shipped_blueprint, tables_folder
    from blueprints.storage import Blueprint
    from machine.progress import ShareBar, duration_text

    try:
        blueprint = Blueprint.open(shipped_blueprint())
    except ConfigError as error:
        if required:
            raise
        print(f"blueprint: {error}", file=sys.stderr)
        return
    begun = time.monotonic()
    with ShareBar("tables of buckets (a minute or two)", "paratus warm") as bar:
        blueprint.cards(tables_folder(), lambda task, share, left_s: bar.show(share, task))
    print(f"blueprint: ready after {duration_text(time.monotonic() - begun)}", file=sys.stderr, flush=True)


def _blueprint_state() -> str:
    from blueprints.shipped import shipped_blueprint, tables_folder
    from blueprints.storage import Blueprint

    missing = Blueprint.open(shipped_blueprint()).missing_tables(tables_folder())
    if not missing:
        return f"cached in {tables_folder()}"
    cost = f"a minute or two and {TABLES_MB:.0f} MB"
    return f"cold: the first start builds its tables, {cost}; or `paratus warm blueprint`"


def _solver(required: bool, agent: str) -> None:
    from solver.warm import BITS
    from solver.warm import warm_up as warm_solver

    for bits in BITS:
        _step(f"solver, {bits} bits", partial(_timed, partial(warm_solver, bits)))


def _solver_state() -> str:
    from solver import warm

    return "cached" if warm.cached() else "cold: the first search compiles, a minute or two; or `paratus warm solver`"


def _agent(required: bool, agent: str) -> None:
    """The searches of an agent, by default the default one's, by making it; it needs a blueprint."""
    from protocol.game import DEFAULT_GAME, load_game
    from strategies.registry import DEFAULT_AGENT, open_agent

    name, game = agent or DEFAULT_AGENT, load_game(DEFAULT_GAME).game
    try:
        _step(f"agent {name}", partial(_timed, lambda: open_agent(name, game, allow_code=True)), "a minute or two")
    except ConfigError as error:
        if required:
            raise
        print(f"agent: {error}", file=sys.stderr)


def _agent_state() -> str:
    from solver import depth_limited

    if depth_limited.cached():
        return "cached"
    return "cold: the first start compiles, a minute or two; or `paratus warm agent`"


PARTS: Final[dict[str, WarmPart]] = {
    "ranking": WarmPart(lambda required, agent: _step("hand ranking", warm_up), _ranking_state),
    "blueprint": WarmPart(_blueprint, _blueprint_state),
    "solver": WarmPart(_solver, _solver_state),
    "agent": WarmPart(_agent, _agent_state),
}


def _step(name: str, warm: Callable[[], float], cost: str = "up to half a minute") -> None:
    print(f"{name}: compiling ({cost} after an installation) …", file=sys.stderr, flush=True)
    print(f"{name}: ready after {warm():.1f} s", file=sys.stderr, flush=True)


def _timed(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun
