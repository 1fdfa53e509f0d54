"""What each estimator leaves of the luck: matches of the blueprint that ships, scored. Prints docs/score-tables.md.

    python -m studies.score_tables --out FOLDER

Matches and scores are kept in the folder and gone on with after an interruption.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from machine.revision import git_revision

_GAME = "holdem.nolimit.2p.reverse_blinds"


@dataclass(frozen=True, slots=True)
class _Match:
    """One opponent."""

    opponent: str
    pairs: int
    seed: int
    estimators: str


_ALL = "raw,all-in,chance,imaginary,imaginary+chance,aivat"
_MATCHES = (
    _Match("blueprint", 100_000, 77, f"{_ALL},aivat-both"),
    _Match("always-call", 5_000, 78, _ALL),
    _Match("random", 5_000, 78, _ALL),
)


def main() -> None:
    """Play, score, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    folder: Path = parser.parse_args().out
    print(_HEAD)
    for match in _MATCHES:
        print(_table(match, _scored(match, folder)), flush=True)
    print(f"Machine: {json.dumps(describe())}. Revision {git_revision(full=False)}.")


def _scored(match: _Match, folder: Path) -> dict[str, Any]:
    played, kept = folder / match.opponent, folder / f"{match.opponent}.json"
    _paratus(
        *("match", _GAME, "blueprint", match.opponent, "--hands", str(match.pairs), "--seed", str(match.seed)),
        *("--duplicate", "--out", str(played), "--t_per_hand", "100000"),
    )
    if not kept.exists():
        text = _paratus("score", str(played), "--player", "blueprint", "--estimators", match.estimators, "--json")
        kept.write_text(text, encoding="utf-8")
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def _paratus(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "bot.cli", *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def _table(match: _Match, score: dict[str, Any]) -> str:
    lines = [
        f"## Against {match.opponent if match.opponent != 'blueprint' else 'itself'}: {score['hands']:,} hands\n",
        "| estimator | mean, mbb/g | SD of a hand, bb | of raw | SE | 95 % interval | worth raw hands | less raw |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in score["estimators"].items():
        lines.append(
            f"| {name} | {row['mean_mbb']:+.1f} | {row['sd_mbb'] / 1000:.2f} | {row['share_of_raw_sd']:.1%} | "
            f"{row['se_mbb']:.1f} | {row['low_mbb']:+.1f} to {row['high_mbb']:+.1f} | {row['worth_raw_hands']:,.0f} | "
            f"{_apart(row['apart_from_raw'])} |"
        )
    lines.append(
        f"\nValues {score['values']['name']} `{score['values']['hash']}`; {len(score['excluded'])} hands left out.\n"
    )
    return "\n".join(lines)


def _apart(apart: dict[str, float | None]) -> str:
    """How far the mean is from that of raw, and the standard error of that."""
    mean, error = apart["mean_mbb"], apart["se_mbb"]
    return f"{mean:+.1f} ± {error:.1f}" if error else ""


_HEAD = """\
# What each estimator leaves of the luck

Written by `make proof-score`. Agent `blueprint`, as it ships, in duplicate matches of hold'em without limit, 200 big
blinds, through the dealer. Standard deviations are of single hands, errors of deals that were played twice: so `raw`
here is what duplicate alone brings. AIVAT knows the policies of one side, `aivat-both` those of both. *Less raw* is the
difference of the means with its standard error, hand by hand: zero, but for luck.
"""


if __name__ == "__main__":
    main()
