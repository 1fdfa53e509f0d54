"""The solver on endgames: what they cost, how long an iteration takes, how long a solution, how long to compile.

Endgames are played with the sizes of Libratus (half the pot, the pot and all-in first; then the pot and all-in). For
float32, for 16 bits, and for 16 bits without averages of later streets, by DCFR(1.5, 0, 2), alternating:

- `ms`: an iteration (both players), by the number of threads; the fastest of many batches of at least 5 ms.
- `to_mbb`: solving on one thread until the exploitability is so small. Only iterations are timed. Exploitability is
  measured whenever their number has grown by a thirty-second and its own time is left out: the answer may be that much
  too large. None where the limit came first.

Every time stands also in products and in copies, the yardsticks of `benchmarks.machine`, measured before and after each
endgame; the fastest of them counts.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import Elsewhere, copy_s, product_s
from bot.solve.endgames import read_endgame
from bot.solve.progress import Goal, TimeEstimate
from bot.solve.spots import SolveSpot, root_state, spot_of_endgame
from machine.cores import available_cores
from machine.errors import ConfigError
from machine.progress import duration_text, short
from machine.revision import ROOT
from solver.menu import LIBRATUS
from solver.subgame import Storage, Subgame
from solver.subgame_solver import Solver

OWN = Path(__file__).parent / "endgames"
STORAGES = {"f32": Storage(), "bf16": Storage(16), "bf16_no_later_averages": Storage(16, later_averages=False)}

_GOALS_MBB = (100, 10, 1)
_BATCH_S = 0.005
_LEAST_BATCHES = 10
_SURE = 128
"""Iterations before which nothing can be said of a floor."""
_TELL_EVERY_S = 10.0
_CACHED_RUNS = 3

Report = dict[str, Any]


def run(spots: dict[str, SolveSpot], goal_s: float, measure_s: float, compilation: bool) -> Report:
    """Of endgames by name: at most `goal_s` to reach an exploitability, `measure_s` for each time."""
    elsewhere = Elsewhere()
    compiling = _compiling() if compilation else None
    products, copies, measured = [product_s()], [copy_s()], {}
    for number, (name, spot) in enumerate(spots.items(), 1):
        _tell(f"{name}, {number} of {len(spots)}")
        measured[name] = _endgame(name, spot, goal_s, measure_s)
        products.append(product_s())
        copies.append(copy_s())
    for endgame in measured.values():
        for storage in endgame["storages"].values():
            _compare(storage, min(products), min(copies))
    return {
        "product_ms": [round(seconds * 1e3, 3) for seconds in products],
        "copy_64_mb_ms": [round(seconds * 1e3, 3) for seconds in copies],
        "cores_busy_elsewhere": elsewhere.cores(),
        "compile": compiling,
        "endgames": measured,
    }


def load_spots(folder: Path) -> dict[str, SolveSpot]:
    """The endgames of a folder, by name."""
    paths = sorted(folder.glob("*.txt")) if folder.is_dir() else []
    if not paths:
        raise ConfigError(f"--endgames {folder}: expected a folder with endgames, *.txt")
    return {path.stem: spot_of_endgame(read_endgame(path), LIBRATUS) for path in paths}


def make_subgame(spot: SolveSpot, storage: Storage) -> Subgame:
    """As `paratus solve` makes it."""
    ranges = [weights.astype(np.float64) / most for weights, most in zip(spot.ranges, spot.largest, strict=True)]
    return Subgame(root_state(spot), spot.board, ranges, spot.menu, storage=storage)


def _endgame(name: str, spot: SolveSpot, goal_s: float, measure_s: float) -> Report:
    report: Report = {}
    for kind, storage in STORAGES.items():
        subgame = make_subgame(spot, storage)
        price = subgame.price
        if not report:
            report = {
                "nodes": price.decisions,
                "boards": price.boards,
                "hands": [len(hands) for hands in subgame.hands],
                "pairs": price.pairs,
                "storages": {},
            }
        elsewhere, solver = Elsewhere(), Solver(subgame, threads=1)
        found: Report = {"bytes": price.bytes, "bytes_allocated": _allocated(solver)}
        found["ms"] = {"1": _iteration_s(solver, measure_s) * 1e3, "2": None}
        del solver
        if available_cores() > 1:
            solver = Solver(subgame, threads=2)
            if solver.pace.most > 1:  # a river has one board: nothing to share
                found["ms"]["2"] = _iteration_s(solver, measure_s) * 1e3
            del solver
        if storage.later_averages:
            found.update(_goals(f"{name}, {kind}", subgame, goal_s))
        found["cores_busy_elsewhere"] = elsewhere.cores()
        report["storages"][kind] = found
    return report


def _iteration_s(solver: Solver, seconds: float) -> float:
    """The fastest batch, over its number of iterations."""
    solver.iterate(1)  # compiles, or touches memory for the first time
    begun = time.perf_counter()
    solver.iterate(1)
    count = math.ceil(_BATCH_S / (time.perf_counter() - begun))
    best, batches, end = math.inf, 0, time.perf_counter() + seconds
    while batches < _LEAST_BATCHES or time.perf_counter() < end:
        begun = time.perf_counter()
        solver.iterate(count)
        best, batches = min(best, time.perf_counter() - begun), batches + 1
    return best / count


def _goals(title: str, subgame: Subgame, most_s: float) -> Report:
    """What it took to reach each goal, on one thread."""
    solver, spent, left = Solver(subgame, threads=1), 0.0, list(_GOALS_MBB)
    reached: dict[str, Report | None] = {str(goal): None for goal in left}
    least: Report = {"mbb": math.inf, "iterations": 1}
    estimate = TimeEstimate(Goal(_GOALS_MBB[-1] * subgame.unit / 1000, None, most_s))
    told = time.monotonic()
    while left and spent < most_s and solver.iterations <= max(_SURE, 2 * least["iterations"]):
        begun = time.perf_counter()
        solver.iterate(max(1, solver.iterations // 32))
        spent += time.perf_counter() - begun
        found = solver.exploitability()
        if found.mbb < least["mbb"]:
            least = {"mbb": found.mbb, "iterations": solver.iterations}
        while left and found.mbb <= left[0]:
            reached[str(left.pop(0))] = {"iterations": solver.iterations, "ms": spent * 1e3}
        left_s = estimate.left_s(solver.iterations, spent, found.chips)
        if left and time.monotonic() - told > _TELL_EVERY_S:
            told = time.monotonic()
            ends = "" if left_s is None else f", {duration_text(left_s)} left"
            _tell(f"{title}: iteration {solver.iterations:,}, {short(found.mbb)} mbb/g{ends}")
    return {"to_mbb": reached, "least": {**least, "mbb": _rounded(least["mbb"])}}


def _allocated(solver: Solver) -> int:
    """The bytes of all arrays of a solver with one thread and its problem, hand texts and the like left out."""
    subgame, seen = solver.subgame, {}

    def add(thing: object) -> None:
        if isinstance(thing, np.ndarray):
            seen[thing.ctypes.data] = max(seen.get(thing.ctypes.data, 0), thing.nbytes)
        elif isinstance(thing, Iterable):
            for each in thing:
                add(each)

    arrays = [subgame.trees, subgame.deals, subgame.weights, subgame.compatible, subgame.ranges, subgame.hand_index]
    add([*arrays, subgame.top(), subgame.scratch(), solver.regrets, solver.averages])
    return sum(seen.values())


def _compare(storage: Report, product: float, copy: float) -> None:
    """Add what every time is in yardsticks; round."""
    for unit, seconds in (("products", product), ("copies", copy)):
        storage[unit] = {threads: _rounded(ms and ms / seconds / 1e3) for threads, ms in storage["ms"].items()}
    storage["ms"] = {threads: _rounded(ms) for threads, ms in storage["ms"].items()}
    for reached in filter(None, storage.get("to_mbb", {}).values()):
        ms = reached.pop("ms")
        reached["seconds"] = _rounded(ms / 1e3)
        reached["products"], reached["copies"] = _rounded(ms / 1e3 / product), _rounded(ms / 1e3 / copy)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


# Compilation


def _compiling() -> Report:
    """`paratus warm` with a fresh cache, and again with what that left there."""
    _tell("compiling in a fresh cache (half a minute or more)")
    with tempfile.TemporaryDirectory() as folder:
        fresh = _first_calls_elsewhere(folder)
        cached = min((_first_calls_elsewhere(folder) for _ in range(_CACHED_RUNS)), key=lambda parts: parts["calls_s"])
    return {"fresh": fresh, "cached": cached}


def _first_calls_elsewhere(cache: str) -> Report:
    code = "from benchmarks.solver import first_calls; first_calls()"
    begun = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    process_s, parts = time.perf_counter() - begun, json.loads(ran.stdout)
    return {"calls_s": round(sum(parts.values()), 3), "process_s": round(process_s, 3), "parts_s": parts}


def first_calls() -> None:
    """Print what `paratus warm` takes in this process, in its parts; imports are left out."""
    from protocol.kernels import warm_up as warm_ranking
    from solver.warm import BITS
    from solver.warm import warm_up as warm_solver

    parts = {}
    for name, warm in {
        "ranking": warm_ranking,
        **{f"{bits}_bits": partial(warm_solver, bits) for bits in BITS},
    }.items():
        begun = time.perf_counter()
        warm()
        parts[name] = round(time.perf_counter() - begun, 3)
    print(json.dumps(parts))


# Text


def text(report: Report) -> str:
    """The report as tables."""
    lines = [
        f"product {min(report['product_ms']):.2f} ms, copy of 64 MB {min(report['copy_64_mb_ms']):.2f} ms, "
        f"cores busy with other things {report['cores_busy_elsewhere']}"
    ]
    if report["compile"]:
        fresh, cached = report["compile"]["fresh"], report["compile"]["cached"]
        lines.append(f"first calls {fresh['calls_s']:.1f} s, from the cache {cached['calls_s']:.2f} s")
    for name, endgame in report["endgames"].items():
        hands = " × ".join(map(str, endgame["hands"]))
        lines += [
            "",
            f"{name}: {endgame['nodes']:,} decisions on {endgame['boards']} boards, {hands} hands, "
            f"{endgame['pairs']:,} (hand, action) pairs",
            f"{'':24}{'MB':>8}{'1 thread':>11}{'2 threads':>11}{'products':>10}{'copies':>8}"
            + "".join(f"{f'{goal} mbb/g':>12}" for goal in _GOALS_MBB),
        ]
        for kind, found in endgame["storages"].items():
            ms = [f"{ms:.3g} ms" if ms else "" for ms in found["ms"].values()]
            reached = [found.get("to_mbb", {}).get(str(goal)) for goal in _GOALS_MBB]
            seconds = [f"{each['seconds']:.3g} s" if each else "" for each in reached]
            lines.append(
                f"  {kind:22}{found['bytes'] / 1e6:8.1f}{ms[0]:>11}{ms[1]:>11}{found['products']['1']:10.3g}"
                f"{found['copies']['1']:8.3g}" + "".join(f"{each:>12}" for each in seconds)
            )
    return "\n".join(lines)


def _tell(line: str) -> None:
    print(f"solver: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    print(json.dumps(run(load_spots(OWN), 120.0, 3.0, True), indent=2))
