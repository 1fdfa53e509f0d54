"""Matches of agents that search, through the dealer: `python -m studies.search_matches AGENT --out FOLDER`.

`nested`: always-call before the turn, search on turn and river, against `random` and against `always-call`. `paratus`:
the default agent against `random`, whose bets have all sizes, with limits of 7 s, 500 ms and 50 ms for a response, and
with a match clock that leaves little.

All are real processes over TCP. The runner fails if the dealer has corrected a single action or has stopped a player
for being late; what the agent could not decide as it should is counted. The same command goes on with a match that was
interrupted. Prints the pages docs/search-matches.md and docs/router-matches.md.

It is a proof of conduct, not of strength: the opponents do not defend.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import cpu
from dealer_tools.match import play_match
from dealer_tools.plan import MatchPlan
from protocol.game import DEFAULT_GAME, STREET_NAMES, load_game
from protocol.log import Limits


@dataclass(frozen=True, slots=True)
class MatchSpec:
    """One match of the agent."""

    opponent: str
    hands: int
    limits: Limits


_PATIENT: Final = Limits(response_ms=5_000, hand_ms=20_000, per_hand_ms=250)
_MATCHES: Final = {
    "nested": (MatchSpec("random", 2000, _PATIENT), MatchSpec("always-call", 2000, _PATIENT)),
    "paratus": (
        MatchSpec("random", 200, Limits(response_ms=7_000, hand_ms=20_000, per_hand_ms=3_000)),
        MatchSpec("random", 5000, Limits(response_ms=500, hand_ms=10_000, per_hand_ms=150)),
        MatchSpec("random", 5000, Limits(response_ms=50, hand_ms=10_000, per_hand_ms=200)),
    ),
}
_TITLES: Final = {"nested": "Nested search through the dealer", "paratus": "The default agent through the dealer"}
_ROUTES: Final = """
    SELECT route, length(betting) - length(replace(betting, '/', '')), instr(reason, 'coarser') > 0,
           count(*), avg(iterations), avg(seconds), max(seconds)
    FROM decision GROUP BY 1, 2, 3 ORDER BY 2, 1, 3
"""


def main(arguments: list[str]) -> int:
    """Play what is missing, then print."""
    parser = argparse.ArgumentParser(prog="python -m studies.search_matches", description=__doc__.partition("\n")[0])
    parser.add_argument("agent", metavar="AGENT", choices=_MATCHES, help=f"one of {', '.join(_MATCHES)}")
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True, help="for the matches")
    parser.add_argument("--hands", metavar="N", type=int, help="of each match, at most")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    game = load_game(DEFAULT_GAME).game
    results = []
    for number, match in enumerate(_MATCHES[options.agent]):
        names, hands = (options.agent, match.opponent), min(match.hands, options.hands or match.hands)
        plan = MatchPlan(DEFAULT_GAME, game, names, names, hands, 40 + number, False, match.limits)
        folder = options.out / f"{match.opponent}-{match.limits.response_ms}-{hands}"
        results.append((play_match(plan, folder), folder))
    print("\n".join(_page(options.agent, results)))
    return 0


def _page(agent: str, results: list[tuple[dict[str, Any], Path]]) -> Iterator[str]:
    yield f"# {_TITLES[agent]}"
    yield ""
    yield f"Written by `python -m studies.search_matches {agent}`, which says what is played and checked. {cpu()}."
    yield ""
    columns = "against | ms a response / a hand | hands | illegal or late | fallbacks | mbb/g | 95 % interval"
    yield f"| {columns} | minutes | revision |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for (result, _), match in zip(results, _MATCHES[agent], strict=True):
        mine, opponent = result["players"][agent], result["agents"][1][0]
        limits = f"{match.limits.response_ms:,} / {match.limits.per_hand_ms:,}"
        interval = f"{mine['low_mbb']:+,.0f} to {mine['high_mbb']:+,.0f}"
        revision = (result["revision"] or "unknown")[:12]
        yield (
            f"| {opponent} | {limits} | {result['hands']:,} | 0 | {mine['fallbacks']} | {mine['mean_mbb']:+,.0f} | "
            f"{interval} | {result['seconds'] / 60:.0f} | {revision} |"
        )
    yield ""
    yield "A match in which an action is illegal or late ends with an error and has no row here. What decided:"
    yield ""
    yield "| ms a response, against | street | route | decisions | iterations (mean) | seconds (mean / most) |"
    yield "|---|---|---|---|---|---|"
    for (result, folder), match in zip(results, _MATCHES[agent], strict=True):
        with sqlite3.connect(folder / "match" / f"{agent}.sqlite") as store:
            for route, street, coarser, count, iterations, mean_s, most_s in store.execute(_ROUTES):
                name = f"{route}, coarser menu" if coarser else route
                which = f"{match.limits.response_ms:,}, {result['agents'][1][0]}"
                yield (
                    f"| {which} | {STREET_NAMES[street]} | {name} | {count:,} | {iterations:,.0f} | "
                    f"{mean_s:.3f} / {most_s:.3f} |"
                )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
