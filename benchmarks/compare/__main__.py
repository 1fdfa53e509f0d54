"""The speeds of two checkouts, in alternating pairs: `python -m benchmarks.compare OLD NEW`.

Machines get faster and slower within minutes, by what else they do and how warm they are. So old and new are measured
back to back, many times, in alternating order (old, new, new, old, old, new …), and only ratios within pairs count
(`ratios.py` has the statistics). Each measurement is a process of its own checkout (`checkouts.py`), which runs
`probe.py`. Before, each part is run once in both, unmeasured: kernels are compiled then, and tables computed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from benchmarks.compare.checkouts import PARTS, PROBE, Checkout
from benchmarks.compare.pairs import SIDES, PairsFile, TimedPair, order
from benchmarks.compare.ratios import LEAST_PAIRS, LIMIT, ComparedPart, compare_part, conclusion, table
from benchmarks.machine import cpu
from machine.errors import ConfigError, ParatusError
from machine.progress import StatusLine, duration_text

_COMMAND: Final = "benchmarks.compare"
_PAIRS: Final = 12
_MOST_PAIRS: Final = 1000
_WARM_UP_S: Final = 1800.0
"""Kernels may have to be compiled, and tables computed."""
_PATIENCE: Final = 20.0
"""Times what a run usually takes."""
_SHORTEST_PATIENCE_S: Final = 300.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, print; exit code 1 if something is slower, 2 if nothing could be compared."""
    options = _options(arguments)
    try:
        return _run(options)
    except ParatusError as error:
        print(f"{_COMMAND}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{_COMMAND}: interrupted; with --out the same command goes on", file=sys.stderr)
        return 130


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    usual_s = sum(part.usual_s for part in PARTS.values())
    parser = argparse.ArgumentParser(
        prog=f"python -m {_COMMAND}",
        description="Compare the speeds of two checkouts, each with its own .venv. Exit code 1 if a ratio new / old of "
        f"times, of a part or one of its numbers, has a 95 % interval wholly above {LIMIT}.",
        epilog=f"A pair of all parts takes about {duration_text(2 * usual_s)} on two quiet cores. Programs beside it "
        "widen intervals; the report says how many cores they kept busy.",
    )
    parser.add_argument("old", metavar="OLD", type=Path, help="the folder of one checkout")
    parser.add_argument("new", metavar="NEW", type=Path, help="of the other")
    parser.add_argument("--pairs", metavar="N", type=int, default=_PAIRS, help=f"default {_PAIRS}")
    parser.add_argument("--parts", metavar="PART", nargs="+", choices=PARTS, default=[*PARTS], help=", ".join(PARTS))
    parser.add_argument("--json", action="store_true", help="print data instead of a table")
    parser.add_argument("--out", metavar="FILE", type=Path, help="keep pairs here, and go on if there are some already")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    if not LEAST_PAIRS <= options.pairs <= _MOST_PAIRS:
        raise ConfigError(f"--pairs {options.pairs}: expected {LEAST_PAIRS} to {_MOST_PAIRS}")
    parts = list(dict.fromkeys(options.parts))
    checkouts = {side: Checkout(side.upper(), getattr(options, side)) for side in SIDES}
    for checkout in checkouts.values():
        for part in parts:
            checkout.check_can_measure(part)
    compared = _what_is_compared(checkouts)
    kept = PairsFile(options.out, compared)
    load_before = os.getloadavg()
    _Comparison(checkouts, kept, compared).measure(parts, options.pairs)
    found = {part: compare_part(kept.of_part(part)) for part in parts}
    failed = [part for part, each in found.items() if each.failed]
    load = {"before": load_before, "after": os.getloadavg()}
    if options.json:
        documents = {part: each.document() for part, each in found.items()}
        print(json.dumps({**compared, "load": load, "limit": LIMIT, "parts": documents, "failed": failed}, indent=2))
    else:
        print(_text(compared, load, found))
    return int(bool(failed))


def _what_is_compared(checkouts: dict[str, Checkout]) -> dict[str, Any]:
    """What all pairs of one comparison share."""
    sides = {side: {"folder": str(each.folder), "revision": each.revision()} for side, each in checkouts.items()}
    probe = blake2b(PROBE.read_bytes(), digest_size=4).hexdigest()
    return {**sides, "cpu": cpu(), "cores": os.cpu_count(), "probe": probe}


class _PairsBar(StatusLine):
    """How much is measured, weighed by what parts usually take, and how long the rest takes."""

    def __init__(self, usual_s: float) -> None:
        super().__init__("", _COMMAND)
        self._usual_s, self._done_s, self._begun = usual_s, 0.0, time.monotonic()

    def show(self, doing: str) -> None:
        """What comes now."""
        if self.is_due():
            pace = (time.monotonic() - self._begun) / self._done_s if self._done_s else 1.0
            left = duration_text(pace * (self._usual_s - self._done_s))
            self.write(f"{doing}, {left} left", self._done_s, self._usual_s)

    def add(self, usual_s: float) -> None:
        """So much of it is done."""
        self._done_s += usual_s


class _Comparison:
    """Measures the pairs that are missing."""

    def __init__(self, checkouts: dict[str, Checkout], kept: PairsFile, compared: dict[str, Any]) -> None:
        self._checkouts, self._kept, self._compared = checkouts, kept, compared

    def measure(self, parts: Sequence[str], pairs: int) -> None:
        """Pair by pair of all parts, so that each part is spread over the whole time."""
        todo = [(part, number) for number in range(pairs) for part in parts if not self._kept.has(part, number)]
        if not todo:
            return
        to_warm = [part for part in parts if any(part == missing for missing, _ in todo)]
        usual_s = 2 * sum(PARTS[part].usual_s for part in [*to_warm, *[part for part, _ in todo]])
        kept = f", {len(parts) * pairs - len(todo)} kept" if len(todo) < len(parts) * pairs else ""
        print(
            f"{_COMMAND}: {pairs} pairs of {', '.join(parts)}{kept}: about {duration_text(usual_s)} on two quiet "
            "cores, and minutes more where kernels are not compiled yet",
            file=sys.stderr,
        )
        with _PairsBar(usual_s) as bar:
            for part in to_warm:
                for side, checkout in self._checkouts.items():
                    bar.show(f"warming up {part} of {side}")
                    checkout.measure(part, _WARM_UP_S)
                    bar.add(PARTS[part].usual_s)
            for part, number in todo:
                bar.show(f"pair {number + 1} of {pairs}, {part}")
                self._kept.add(self._pair(part, number))
                bar.add(2 * PARTS[part].usual_s)

    def _pair(self, part: str, number: int) -> TimedPair:
        most_s = max(_SHORTEST_PATIENCE_S, _PATIENCE * PARTS[part].usual_s)
        found = {side: self._checkouts[side].measure(part, most_s) for side in order(number)}
        for side, checkout in self._checkouts.items():
            begun, now = self._compared[side]["revision"], checkout.revision()
            if now != begun:
                raise ParatusError(f"{checkout.side} {checkout.folder}: became {now}: expected {begun} until the end")
        return TimedPair(part, number, found["old"], found["new"])


def _text(compared: dict[str, Any], load: Mapping[str, Sequence[float]], found: dict[str, ComparedPart]) -> str:
    sides = "\n".join(f"{side}  {compared[side]['revision']:24}  {compared[side]['folder']}" for side in SIDES)
    loads = ", ".join(f"{load[when][0]:.2f} {when}" for when in load)
    return (
        f"{sides}\n{compared['cpu']}, {compared['cores']} cores, load {loads}\n\n{table(found)}\n\n{conclusion(found)}"
    )


if __name__ == "__main__":
    sys.exit(main())
