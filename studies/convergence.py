"""How fast each algorithm converges on endgames: `python -m studies.convergence --endgames FOLDER --out FOLDER`.

Every algorithm of `CURVES` plays every endgame (*.txt, with the sizes of Libratus); the exploitability of its averages
is measured after 16, 19, 23, 27, 32, … iterations, four times an octave. Alternating updates: player 0 (out of
position) first, then player 1 against player 0's new strategy. A player's average is brought up to date in the pass
that updates the *other* player, so after n iterations player 1's average holds its strategies of iterations 1 to n, and
player 0's those of 2 to n + 1. Simultaneous updates: both hold 1 to n.

`curves.json` in the output folder holds all numbers, with the revision that made each curve, and is written after each;
curves in it that go far enough are not run again, so a run that was interrupted goes on (take out what is to be made
anew). Then come a plot for each endgame, and on stdout the tables of
`docs/convergence.md`. Iterations repeat bit by bit, whatever the number of threads.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import revision
from benchmarks.solver import load_spots, make_subgame
from bot.solve.spots import SolveSpot
from machine.errors import ConfigError
from machine.files import whole_file
from machine.progress import duration_text
from solver.algorithms import parse_algorithm
from solver.subgame import Storage
from solver.subgame_solver import Solver
from solver.warm import warm_up

_FIRST, _LAST = 16, 4096
_POINTS_AN_OCTAVE = 4
_FIGURE_INCHES = (8.0, 5.0)

Curves = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Curve:
    """One way to solve."""

    algorithm: str
    simultaneous: bool = False
    bits: int = 32

    def __str__(self) -> str:
        marks = [self.algorithm, *["simultaneous"] * self.simultaneous, *[f"{self.bits} bits"] * (self.bits != 32)]
        return " ".join(marks)


CURVES = (
    Curve("dcfr:1.5,0,2"),
    Curve("cfr+"),
    Curve("dcfr:1.5,0.5,4"),
    Curve("lcfr"),
    Curve("dcfr:1.5,0,2", bits=16),
    Curve("dcfr+:1.5,0"),
    Curve("dcfr:1.5,0,2", simultaneous=True),
    Curve("cfr"),
    Curve("dcfr+:1.5,100"),
)


def main(arguments: list[str]) -> int:
    """Run what is missing, draw, print tables."""
    parser = argparse.ArgumentParser(prog="python -m studies.convergence", description=__doc__.partition("\n")[0])
    parser.add_argument("--endgames", metavar="FOLDER", type=Path, required=True, help="*.txt")
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True, help="for curves.json and the plots")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="of these endgames; others keep what they have")
    parser.add_argument("--iterations", metavar="N", type=int, default=_LAST, help=f"at most (default {_LAST})")
    parser.add_argument("--threads", metavar="N", type=int, help="default: as many as measure faster")
    options = parser.parse_args(arguments)
    try:
        spots = load_spots(options.endgames)
    except ConfigError as error:
        parser.error(str(error))
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "curves.json"
    known: Curves = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"endgames": {}}
    wanted = {name: spot for name, spot in spots.items() if options.only is None or name in options.only}
    _run_all(wanted, known, file, options.iterations, options.threads)
    for name, endgame in known["endgames"].items():
        _draw(options.out / f"{name}.svg", name, endgame)
    print(tables(known))
    return 0


def checkpoints(last: int) -> list[int]:
    """16, 19, 23, 27, 32, … up to `last`."""
    points: list[int] = []
    while not points or points[-1] < last:
        points.append(round(_FIRST * 2 ** (len(points) / _POINTS_AN_OCTAVE)))
    return [point for point in points if point <= last]


# Solving


def _run_all(spots: dict[str, SolveSpot], known: Curves, file: Path, last: int, threads: int | None) -> None:
    """Every curve that is not in `known`, small endgames first; the file is written after each."""
    prices = {name: make_subgame(spot, Storage()).price.pairs for name, spot in spots.items()}
    jobs = [
        (name, curve)
        for name in sorted(spots, key=lambda name: prices[name])
        for curve in CURVES
        if _reached(known, name, curve) < last
    ]
    for bits in {curve.bits for _, curve in jobs}:
        print(f"kernels for {bits} bits", file=sys.stderr, flush=True)
        warm_up(bits)
    progress = _Progress(sum(prices[name] * last for name, _ in jobs))
    for number, (name, curve) in enumerate(jobs, 1):
        spot = spots[name]
        endgame = known["endgames"].setdefault(name, {"pot": spot.pot, "hands": spot.hands, "curves": {}, "made": {}})
        points = {}
        for iterations, mbb in _curve(spot, curve, last, threads):
            points[str(iterations)] = mbb
            progress.show(f"{name}, {curve} ({number} of {len(jobs)}): {iterations:,}", iterations * prices[name])
        endgame["uniform_mbb"] = points.pop("0")
        progress.add(last * prices[name])
        endgame["curves"][str(curve)] = points
        endgame["made"][str(curve)] = revision()
        with whole_file(file) as out:
            out.write(json.dumps(known, indent=1).encode())


def _reached(known: Curves, name: str, curve: Curve) -> int:
    points = known["endgames"].get(name, {"curves": {}})["curves"].get(str(curve), {})
    return max(map(int, points), default=0)


def _curve(spot: SolveSpot, curve: Curve, last: int, threads: int | None) -> Iterator[tuple[int, float]]:
    """Iterations and exploitability in mbb/g; first that of uniform play."""
    solver = Solver(
        make_subgame(spot, Storage(curve.bits)),
        parse_algorithm(curve.algorithm),
        threads=threads,
        simultaneous=curve.simultaneous,
    )
    for point in [0, *checkpoints(last)]:
        solver.iterate(point - solver.iterations)
        yield point, float(f"{solver.exploitability().mbb:.8g}")


class _Progress:
    """Time left, on stderr: work counts (hand, action) pairs times iterations."""

    def __init__(self, total: float) -> None:
        self._total, self._done, self._begun, self._told = total, 0.0, time.monotonic(), 0.0

    def add(self, work: float) -> None:
        """A whole curve is done."""
        self._done += work

    def show(self, title: str, work: float) -> None:
        """So much of a curve is done; a line every ten seconds."""
        now, done = time.monotonic(), self._done + work
        if now - self._told > 10 and done:
            self._told = now
            left = duration_text((now - self._begun) * (self._total / done - 1))
            print(f"{title} iterations, about {left} left", file=sys.stderr, flush=True)


# Showing


def tables(known: Curves) -> str:
    """Markdown: exploitability by iterations, for each endgame."""
    parts = []
    for name, endgame in sorted(known["endgames"].items()):
        curves = {title: endgame["curves"][title] for title in map(str, CURVES) if title in endgame["curves"]}
        most = max(int(point) for points in curves.values() for point in points)
        octaves = [_FIRST << shift for shift in range(32) if _FIRST << shift <= most]
        hands = " × ".join(map(str, endgame["hands"]))
        parts += [
            f"### {name}",
            "",
            f"{hands} hands, pot {endgame['pot']:,}; uniform play {endgame['uniform_mbb']:,.1f} mbb/g.",
            "",
            "| iterations | " + " | ".join(f"{octave:,}" for octave in octaves) + " |",
            "|---|" + "---|" * len(octaves),
        ]
        best = {octave: min(points.get(str(octave), float("inf")) for points in curves.values()) for octave in octaves}
        for title, points in curves.items():
            cells = [_cell(points.get(str(octave)), best[octave]) for octave in octaves]
            parts.append(f"| {title} | " + " | ".join(cells) + " |")
        parts.append("")
    return "\n".join(parts)


def _cell(mbb: float | None, best: float) -> str:
    if mbb is None:
        return ""
    text = f"{mbb:,.0f}" if mbb >= 99.5 else f"{mbb:.3g}"
    return f"**{text}**" if mbb == best else text


def _draw(path: Path, name: str, endgame: Curves) -> None:
    """Both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import StrMethodFormatter

    mpl.rcParams["svg.hashsalt"] = name  # the same file every time
    figure, axes = pyplot.subplots(figsize=_FIGURE_INCHES, layout="constrained")
    for curve in CURVES:
        points = endgame["curves"].get(str(curve))
        if points:
            style = "--" if curve.simultaneous else ":" if curve.bits != 32 else "-"
            axes.plot([int(point) for point in points], list(points.values()), style, label=str(curve), linewidth=1.4)
    axes.set(title=name, xlabel="iterations", ylabel="exploitability, mbb/g", xscale="log", yscale="log")
    axes.set_xticks([tick for tick in (16 << shift for shift in range(9)) if tick <= axes.get_xlim()[1]], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.grid(which="both", alpha=0.25)
    axes.legend()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
