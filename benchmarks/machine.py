"""What speeds depend on: the machine, what else it does, and two yardsticks that other machines can be compared by.

The yardsticks: a float32 product of 1024×1024 matrices on one thread (arithmetic), and a copy of 64 MB (memory). Each
is the fastest of many, as every time in these benchmarks that is to be compared with them.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from machine.revision import ROOT, git_revision

_PRODUCTS = 30
_COPIES = 30
_COPIED_BYTES = 64 << 20
# numpy's library asks the environment how many threads to use, once, while it is loaded.
_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def describe() -> dict[str, object]:
    """The code, the machine, the product on one thread, and how many programs wanted a core of late."""
    return {
        "revision": revision(),
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "matrix_product_ms": round(product_s() * 1e3, 2),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def revision() -> str:
    """Of the code, as git names it."""
    return git_revision() or "unknown"


def cpu() -> str:
    """Its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def product_s() -> float:
    """Seconds of the product, in a process of its own: in this one the number of threads is settled already."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.machine"],
        cwd=ROOT,
        env={**os.environ, **_ONE_THREAD},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return float(ran.stdout)


def copy_s() -> float:
    """Seconds of the copy."""
    source, target = np.ones(_COPIED_BYTES, np.uint8), np.zeros(_COPIED_BYTES, np.uint8)
    times = []
    for _ in range(_COPIES):
        begun = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - begun)
    return min(times)


class Elsewhere:
    """How many cores other programs keep busy, or the host withholds; only Linux says."""

    def __init__(self) -> None:
        self._begun = self._now()

    def cores(self) -> float | None:
        """The mean since this was made."""
        before, now = self._begun, self._now()
        if before is None or now is None or now[0] <= before[0]:
            return None
        return round(max(0.0, (now[1] - before[1]) / (now[0] - before[0])), 2)

    @staticmethod
    def _now() -> tuple[float, float] | None:
        """Seconds by the clock, and those of all cores together that were not idle and not ours."""
        try:
            fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
        except OSError:
            return None
        user, nice, system, _, _, irq, soft, steal = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields)
        ours = os.times()
        busy = user + nice + system + irq + soft + steal
        own = ours.user + ours.system + ours.children_user + ours.children_system
        return time.monotonic(), busy - own


def _measure_product() -> None:
    matrix = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)
    times = []
    for _ in range(_PRODUCTS):
        begun = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - begun)
    print(min(times))


if __name__ == "__main__":
    _measure_product()
