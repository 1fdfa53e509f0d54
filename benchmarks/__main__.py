"""`make bench`: every benchmark, as one JSON document. Name some to run only those: `python -m benchmarks rules`."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np

BENCHMARKS = ("rules", "ranking", "store", "startup", "matches")


def main(names: list[str]) -> int:
    """Run benchmarks in order; progress goes to stderr."""
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(f"benchmarks: {', '.join(sorted(unknown))}: expected some of {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    report: dict[str, object] = {"machine": _machine()}
    for name in names or BENCHMARKS:
        print(f"{name} …", file=sys.stderr, flush=True)
        begun = time.monotonic()
        report[name] = importlib.import_module(f"benchmarks.{name}").run()
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    print(json.dumps(report, indent=2))
    return 0


def _machine() -> dict[str, object]:
    """What the numbers depend on, with a yardstick: a float32 product of 1024×1024 matrices."""
    matrix = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)
    best = min(_product_s(matrix) for _ in range(10))
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "matrix_product_ms": round(best * 1e3, 2),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def _product_s(matrix: np.ndarray) -> float:
    begun = time.perf_counter()
    matrix @ matrix
    return time.perf_counter() - begun


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
