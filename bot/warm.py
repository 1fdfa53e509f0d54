"""`paratus warm`: compile every kernel now, so that no later start has to wait for it."""

from __future__ import annotations

import argparse
import sys
import time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""
    parser.description = "Compile and cache all kernels. Run it once after an installation."


def run_command(options: argparse.Namespace) -> int:
    """Compile; prints how long it took."""
    print("hand ranking: compiling …", file=sys.stderr, flush=True)
    print(f"hand ranking: ready after {warm_up():.1f} s", file=sys.stderr)
    return 0


def warm_up() -> float:
    """Compile or load all kernels; returns the seconds it took."""
    begun = time.monotonic()
    from protocol import kernels

    kernels.warm_up()
    return time.monotonic() - begun
