"""Nested search on recorded decisions (`benchmarks/search_spots`): how long until a subgame is solved well enough.

For each decision and number of threads: seconds until the exploitability of the subgame, with its gadget, is 1 % and
0.3 % of the pot at its root. How many iterations that takes is measured first, on a solver that keeps all averages
(exploitability is asked whenever their number has grown by a sixteenth, so the answer may be that much too large). Then
the solver as it plays is timed from nothing: building the subgame, that many iterations, reading the policy.

- `bytes`: of the solver as it plays. `margin`: the least margin at 0.3 %, over the pot; only gadgets have it.
- `gadget`: what an iteration takes with each kind of gadget over what it takes without, on the same subgame and one
  thread; the fastest of many batches, which take turns. In the distributed kinds, `normal` and `hedge`, a tenth of the
  pot is the standard deviation of the decision's own payoffs.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.machine import Elsewhere
from benchmarks.search_spots.spots import RecordedSpot, load_spots
from machine.progress import duration_text
from protocol.arrays import I32
from protocol.game import STREET_NAMES
from solver.gadget_kinds import Form
from solver.gadgets import Gadget
from solver.subgame import Storage
from solver.subgame_solver import Solver
from strategies.search.subgames import Solved

_GOALS = {"1%": 0.01, "0.3%": 0.003}
_GROWTH = 16
_BATCH_S = 0.01
_INSTANCES, _BATCHES = 6, 4
_SPREAD = 0.1
_TELL_EVERY_S = 5.0
_MOST_BYTES = 4 << 30
_NONE = "none"

Report = dict[str, Any]


def run(decisions: int | None = None, most_s: float = 30.0, threads: Sequence[int] = (1, 2)) -> Report:
    """Each solve may take `most_s` on one thread; `decisions` takes only so many, evenly spread."""
    recorded = load_spots()
    if decisions is not None:
        recorded = [recorded[number] for number in np.linspace(0, len(recorded) - 1, decisions).astype(int).tolist()]
    elsewhere, begun, told, measured = Elsewhere(), time.monotonic(), 0.0, []
    for number, spot in enumerate(recorded):
        if time.monotonic() - told > _TELL_EVERY_S:
            told = time.monotonic()
            left = f", {duration_text((told - begun) / number * (len(recorded) - number))} left" if number else ""
            print(f"search: decision {number + 1} of {len(recorded)}{left}", file=sys.stderr, flush=True)
        measured.append(_measure(spot, most_s, threads))
    return {
        "cores_busy_elsewhere": elsewhere.cores(),
        "summary": {name: _summary([each for each in measured if each["street"] == name]) for name in STREET_NAMES[2:]},
        "decisions": measured,
    }


def _measure(spot: RecordedSpot, most_s: float, threads: Sequence[int]) -> Report:
    question = spot.question
    goals = _iterations(spot, most_s)
    subgame = question.subgame(spot.menu, _MOST_BYTES)
    return {
        "street": STREET_NAMES[question.root.street],
        "pot": spot.pot,
        "kind": str(question.kind),
        "bytes": subgame.price.bytes,
        "pairs": subgame.price.pairs,
        "iterations": {goal: found and found["iterations"] for goal, found in goals.items()},
        "margin": goals["0.3%"] and goals["0.3%"]["margin"],
        "seconds": {str(count): _seconds(spot, goals, count) for count in threads},
        "gadget": _gadget_cost(spot) if question.kind.form else None,
    }


def _iterations(spot: RecordedSpot, most_s: float) -> dict[str, Report | None]:
    """How many iterations each goal takes, and the least margin there."""
    question, left = spot.question, dict(_GOALS)
    subgame = question.subgame(spot.menu, _MOST_BYTES, Storage(16))
    solver, reached, spent = question.solver(subgame, 1), dict.fromkeys(_GOALS), 0.0
    found: dict[str, Report | None] = dict(reached)
    while left and spent < most_s:
        begun = time.perf_counter()
        solver.iterate(max(1, solver.iterations // _GROWTH))
        spent += time.perf_counter() - begun
        share = solver.exploitability().pot_share
        for goal in [goal for goal, limit in left.items() if share <= limit]:
            margin = float(solver.margins().min()) / spot.pot if question.kind.form else None
            found[goal] = {"iterations": solver.iterations, "margin": margin and round(margin, 4)}
            del left[goal]
    return found


def _seconds(spot: RecordedSpot, goals: dict[str, Report | None], threads: int) -> Report:
    """From the question to a policy, as the strategy plays."""
    seconds: Report = dict.fromkeys(goals)
    for goal, found in goals.items():
        if found is not None:
            begun = time.perf_counter()
            solver = spot.question.solver(spot.question.subgame(spot.menu, _MOST_BYTES), threads)
            solver.iterate(found["iterations"])
            solved = Solved(spot.question, solver)
            place = solved.place(spot.state, spot.question.board)
            assert place is not None
            solved.strategy(place)
            seconds[goal] = round(time.perf_counter() - begun, 4)
    return seconds


def _gadgets(spot: RecordedSpot, hands: I32) -> dict[str, Gadget]:
    """One of each kind, with the payoffs of the decision."""
    player, payoffs, spread = spot.question.opponent, spot.question.shifted[hands], _SPREAD * spot.pot
    return {
        "resolve": Gadget(player, payoffs),
        "maxmargin": Gadget(player, payoffs, Form.MAXMARGIN),
        "normal": Gadget(player, payoffs, spreads=spread, hedge=False),
        "hedge": Gadget(player, payoffs, spreads=spread),
    }


def _gadget_cost(spot: RecordedSpot) -> Report:
    """An iteration with a gadget over one without, by kind.

    Where arrays happen to lie changes the speed of small trees by up to half: several solvers are tried.
    """
    subgame = spot.question.subgame(spot.menu, _MOST_BYTES)
    gadgets = {_NONE: None, **_gadgets(spot, subgame.hand_index[spot.question.opponent])}
    best, count = dict.fromkeys(gadgets, math.inf), 0
    for _ in range(_INSTANCES):
        solvers = {kind: Solver(subgame, threads=1, gadget=gadget) for kind, gadget in gadgets.items()}
        for solver in solvers.values():
            spot.question.keep(solver)
            solver.iterate(2)
        if not count:
            begun = time.perf_counter()
            solvers[_NONE].iterate(2)
            count = max(1, math.ceil(2 * _BATCH_S / (time.perf_counter() - begun)))
        for _ in range(_BATCHES):
            for kind, solver in solvers.items():
                begun = time.perf_counter()
                solver.iterate(count)
                best[kind] = min(best[kind], time.perf_counter() - begun)
    return {kind: round(best[kind] / best[_NONE], 3) for kind in gadgets if kind != _NONE}


def _summary(measured: list[Report]) -> Report:
    """Medians and 99th percentiles; a goal that was not reached counts as infinitely late, and prints as null."""
    summary: Report = {"decisions": len(measured), "pots": [each["pot"] for each in measured]}
    for threads in measured[0]["seconds"]:
        for goal in _GOALS:
            seconds = [math.inf if (s := each["seconds"][threads][goal]) is None else s for each in measured]
            summary[f"{goal}, {threads} thread{'s' if threads != '1' else ''}"] = {
                "median_s": _finite(np.median(seconds)),
                "p99_s": _finite(np.percentile(seconds, 99, method="higher")),
                "missed": seconds.count(math.inf),
            }
    costs = [each["gadget"] for each in measured if each["gadget"]]
    summary["gadgets"] = {
        kind: {
            "median": round(float(np.median([cost[kind] for cost in costs])), 3),
            "most": max(cost[kind] for cost in costs),
        }
        for kind in (costs[0] if costs else ())
    }
    return summary


def _finite(value: float) -> float | None:
    return round(float(value), 3) if math.isfinite(value) else None


def text(report: Report) -> str:
    """The report as tables."""
    lines = [f"cores busy with other things {report['cores_busy_elsewhere']}"]
    for street, summary in report["summary"].items():
        pots = summary["pots"]
        lines.append(f"\n{street}: {summary['decisions']} decisions, pots {min(pots):,} to {max(pots):,}")
        for name, found in summary.items():
            if isinstance(found, dict) and "median_s" in found:
                missed = f", {found['missed']} not reached" if found["missed"] else ""
                lines.append(f"  {name:18} median {_s(found['median_s']):>9}   99th {_s(found['p99_s']):>9}{missed}")
        for kind, cost in summary["gadgets"].items():
            lines.append(f"  gadget {kind:11} median × {cost['median']}, most × {cost['most']}")
    lines += [
        "",
        f"{'street':7}{'pot':>7} {'kind':16}{'MB':>6}{'iterations':>14}{'1 thread':>16}{'2 threads':>16}  margin",
    ]
    for each in report["decisions"]:
        counts = " / ".join(str(count or "-") for count in each["iterations"].values())
        seconds = [" / ".join(_s(value) for value in found.values()) for found in each["seconds"].values()]
        margin = "" if each["margin"] is None else f"{100 * each['margin']:.2f}%"
        lines.append(
            f"{each['street']:7}{each['pot']:>7,} {each['kind']:16}{each['bytes'] / 1e6:6.1f}{counts:>14}"
            + "".join(f"{value:>16}" for value in seconds)
            + f"  {margin}"
        )
    return "\n".join(lines)


def _s(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g} s"


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
