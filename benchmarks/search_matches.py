"""Matches of nested search through the dealer: `python -m benchmarks.search_matches --out FOLDER`.

Agent `nested` (always-call before the turn, search on turn and river) against `random` and against `always-call`, as
real processes over TCP. The runner fails if the dealer has corrected a single action or has stopped a player for being
late; what the agent could not decide is counted. The same command goes on with a match that was interrupted. Prints the
page docs/search-matches.md.

It is a proof of conduct, not of strength: both opponents show how much is won from someone who does not defend.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import cpu
from dealer_tools.match import play_match
from dealer_tools.plan import Plan
from protocol.game import DEFAULT_GAME, load_game
from protocol.log import Limits

_OPPONENTS: Final = ("random", "always-call")
_LIMITS: Final = Limits(response_ms=5_000, hand_ms=20_000, per_hand_ms=250)
_ROUTES: Final = """
    SELECT route, length(betting) - length(replace(betting, '/', '')), instr(reason, 'coarser') > 0,
           count(*), avg(iterations), avg(seconds), max(seconds)
    FROM decision GROUP BY 1, 2, 3 ORDER BY 2, 1, 3
"""
_STREETS: Final = ("preflop", "flop", "turn", "river")


def main(arguments: list[str]) -> int:
    """Play what is missing, then print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_matches", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True, help="for the matches")
    parser.add_argument("--hands", metavar="N", type=int, default=2000, help="of each match (default 2000)")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    game = load_game(DEFAULT_GAME).game
    results = []
    for number, opponent in enumerate(_OPPONENTS):
        names = ("nested", opponent)
        plan = Plan(DEFAULT_GAME, game, names, names, options.hands, 40 + number, False, _LIMITS)
        folder = options.out / f"{opponent}-{options.hands}"
        results.append((play_match(plan, folder), folder))
    print("\n".join(_page(results)))
    return 0


def _page(results: list[tuple[dict[str, Any], Path]]) -> Iterator[str]:
    yield "# Nested search through the dealer"
    yield ""
    yield "Written by `python -m benchmarks.search_matches`, which says what is played and checked."
    yield ""
    yield f"Limits: {_LIMITS.response_ms} ms a response, {_LIMITS.per_hand_ms} ms a hand on average. {cpu()}."
    yield ""
    yield "| against | hands | illegal or late | fallbacks | mbb/g | 95 % interval | minutes | revision |"
    yield "|---|---|---|---|---|---|---|---|"
    for result, _ in results:
        mine, opponent = result["players"]["nested"], result["agents"][1][0]
        interval = f"{mine['low_mbb']:+,.0f} to {mine['high_mbb']:+,.0f}"
        revision = (result["revision"] or "unknown")[:12]
        yield (
            f"| {opponent} | {result['hands']:,} | 0 | {mine['fallbacks']} | {mine['mean_mbb']:+,.0f} | {interval} | "
            f"{result['seconds'] / 60:.0f} | {revision} |"
        )
    yield ""
    yield "A match in which an action is illegal or late ends with an error and has no row here. What decided:"
    yield ""
    yield "| against | street | route | decisions | iterations (mean) | seconds (mean / most) |"
    yield "|---|---|---|---|---|---|"
    for result, folder in results:
        with sqlite3.connect(folder / "match" / "nested.sqlite") as store:
            for route, street, coarser, count, iterations, mean_s, most_s in store.execute(_ROUTES):
                name = f"{route}, coarser menu" if coarser else route
                yield (
                    f"| {result['agents'][1][0]} | {_STREETS[street]} | {name} | {count:,} | {iterations:,.0f} | "
                    f"{mean_s:.3f} / {most_s:.3f} |"
                )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
