"""`paratus warm`: compile every kernel now, so that no later start has to wait for it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""
    parser.description = "Compile and cache all kernels. Run it once after an installation."


def run_command(options: argparse.Namespace) -> int:
    """Compile; prints how long each part took."""
    _step("hand ranking", warm_up)
    from solver.warm import BITS
    from solver.warm import warm_up as warm_solver

    for bits in BITS:
        _step(f"solver, {bits} bits", partial(_timed, partial(warm_solver, bits)))
    return 0


def warm_up() -> float:
    """Compile or load what every bot needs to start; returns the seconds it took."""

    def ranking() -> None:
        from protocol import kernels

        kernels.warm_up()

    return _timed(ranking)


def _step(name: str, warm: Callable[[], float]) -> None:
    print(f"{name}: compiling (up to half a minute after an installation) …", file=sys.stderr, flush=True)
    print(f"{name}: ready after {warm():.1f} s", file=sys.stderr, flush=True)


def _timed(work: Callable[[], None]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun
