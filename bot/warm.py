"""`paratus warm`: do now what a later start would have to wait for: compile kernels, build the blueprint's tables."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from machine.errors import ConfigError, quote

PARTS: Final = ("ranking", "blueprint", "solver", "agent")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which parts."""
    parser.description = (
        "Compile and cache all kernels, and build the tables of the blueprint. Run it once after an installation."
    )
    parser.add_argument("parts", metavar="PART", nargs="*", help=f"some of {', '.join(PARTS)} (default: all)")


def run_command(options: argparse.Namespace) -> int:
    """Do it; prints how long each part took."""
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        raise ConfigError(f"{', '.join(map(quote, unknown))}: expected some of {', '.join(PARTS)}")
    parts = options.parts or PARTS
    if "ranking" in parts:
        _step("hand ranking", warm_up)
    if "blueprint" in parts:
        _blueprint(required="blueprint" in options.parts)
    if "solver" in parts:
        from solver.warm import BITS
        from solver.warm import warm_up as warm_solver

        for bits in BITS:
            _step(f"solver, {bits} bits", partial(_timed, partial(warm_solver, bits)))
    if "agent" in parts:
        _agent(required="agent" in options.parts)
    return 0


def warm_up() -> float:
    """Compile or load what every bot needs to start; returns the seconds it took."""

    def ranking() -> None:
        from protocol import kernels

        kernels.warm_up()

    return _timed(ranking)


def _blueprint(*, required: bool) -> None:
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


def _agent(*, required: bool) -> None:
    """The searches of the default agent, by making one; it needs a blueprint."""
    from protocol.game import DEFAULT_GAME, load_game
    from strategies.registry import DEFAULT_AGENT, make_strategy

    try:
        _step(
            f"agent {DEFAULT_AGENT}",
            partial(_timed, lambda: make_strategy(DEFAULT_AGENT, load_game(DEFAULT_GAME).game)),
            "a minute or two",
        )
    except ConfigError as error:
        if required:
            raise
        print(f"agent: {error}", file=sys.stderr)


def _step(name: str, warm: Callable[[], float], cost: str = "up to half a minute") -> None:
    print(f"{name}: compiling ({cost} after an installation) …", file=sys.stderr, flush=True)
    print(f"{name}: ready after {warm():.1f} s", file=sys.stderr, flush=True)


def _timed(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun
