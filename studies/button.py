"""What the button is worth, and what makes it so: `python -m studies.button`, the tables of `docs/button.md`.

Blueprints of several betting games are trained for as many walks each, with the buckets of the file that ships, and
play themselves over all pairs of hands on the same boards:

- limit hold'em, whose value is known: who plays first before the flop wins 87.7 to 89.7 mbb/g (Bowling, Burch,
  Johanson, Tammelin: Heads-up limit hold'em poker is solved, Science 347, 2015). What trains and what plays, and the
  buckets, have to come near this;
- no-limit hold'em with the bets of `small`; with more sizes for one player, and for the other; with those of
  `standard`; without calls of the blind before the flop; and with other stacks.

Intervals are of the boards that are played on alone: another `--seed` says what is luck of the training.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from benchmarks.machine import revision
from blueprints.cards.interface import Cards
from blueprints.settings import load_settings
from blueprints.shipped import shipped_blueprint, tables_folder
from blueprints.storage import Blueprint
from blueprints.train.measures.contest import WIDTH, Contestant, play
from blueprints.train.public.sampling import PublicSampling
from blueprints.tree import build_tree
from machine.errors import ParatusError
from machine.progress import ShareBar, short
from protocol.arrays import F64
from protocol.game import Game, load_game
from release.blueprint import class_weights
from solver.menu import Menu, parse_menu

KNOWN_MBB: Final = 87.7, 89.7
"""What the button wins in limit hold'em, at least and at most."""
BUTTON: Final = 1
_PERIODS: Final = 20
_OTHERS: Final = 1 << 40
"""Of the boards to play on, beside the numbers of periods."""
_FEW: Final = {
    "preflop": "2.5x,a / 100%,a / a",
    "flop": "75%,a / 100%,a / a",
    "turn": "75%,a / 100%,a / -",
    "river": "75%,a / 100%,a / -",
}
"""`small`, a test says."""
_MANY: Final = {
    "flop": "33%,75%,150%,a / 50%,100%,a / a",
    "turn": "33%,75%,150%,a / 50%,100%,a / -",
    "river": "33%,75%,150%,a / 50%,100%,a / -",
}
_MANY_BUTTON: Final = {"preflop": "2x,2.5x,3x,a / 75%,100%,150%,a / 75%,100%,a / a", **_MANY}
_MANY_BLIND: Final = {"preflop": "2.5x,4x,a / 75%,100%,150%,a / 75%,100%,a / a", **_MANY}
_DEPTHS: Final = 25, 50, 100


@dataclass(frozen=True, slots=True)
class ButtonSubject:
    """A betting game."""

    name: str
    game: Game
    menu: Menu


@dataclass(frozen=True, slots=True)
class ButtonResult:
    """What came of it."""

    name: str
    decisions: int
    button_mbb: F64
    """By board."""
    opens: dict[str, float]
    """How often the button does what."""
    seconds: float


def sizes(button: dict[str, str], blind: dict[str, str]) -> Menu:
    """A menu of what each player may bet; before the flop the button acts first, later the big blind."""
    parts = []
    for street in _FEW:
        first, second = (button, blind) if street == "preflop" else (blind, button)
        parts += [f"{street} oop {first[street]}", f"{street} ip {second[street]}"]
    return parse_menu("; ".join(parts))


def subjects() -> list[ButtonSubject]:
    """The rows of the table: limit hold'em first, then `small`, to which all others are compared."""
    limit = load_game("holdem.limit.2p.reverse_blinds").game
    game = load_game("holdem.nolimit.2p.reverse_blinds").game
    few = sizes(_FEW, _FEW)
    rows = [
        ButtonSubject("limit hold'em", limit, parse_menu("a")),
        ButtonSubject("few sizes (`small`)", game, few),
        ButtonSubject("more sizes for the big blind", game, sizes(_FEW, _MANY_BLIND)),
        ButtonSubject("more sizes for the button", game, sizes(_MANY_BUTTON, _FEW)),
        ButtonSubject("the sizes of `standard`, for both", game, load_settings("standard").load_menu()),
        ButtonSubject("few sizes, the button may not just call", game, replace(few, limp=False)),
    ]
    for depth in _DEPTHS:
        stack = depth * max(game.blind)
        rows.append(ButtonSubject(f"few sizes, {depth} big blinds", replace(game, stack=(stack, stack)), few))
    return rows


def measure(subject: ButtonSubject, cards: Cards, *, walks: int, boards: int, seed: int, threads: int) -> ButtonResult:
    """Train, play."""
    begun = time.monotonic()
    game, tree = subject.game, build_tree(subject.game, subject.menu)
    sampler = PublicSampling(game, tree, cards, seed=seed, threads=threads)
    with ShareBar(subject.name, "button") as bar:
        ends = np.linspace(0, walks, _PERIODS + 1).astype(int)
        for period, lot in enumerate(np.diff(ends).tolist(), 1):
            sampler.period(period, float(period), lot)
            bar.show(ends[period] / (walks + boards))
        averages = sampler.averages()
        side = Contestant(averages, cards)
        won = play(
            game, tree, side, side, boards=boards, rng=np.random.default_rng((seed, _OTHERS)), threads=threads,
            tell=lambda played: bar.show((walks + len(played)) / (walks + boards)),
        )  # fmt: skip
    chosen = averages[0][: int(tree.first[1])]  # where play begins
    shares = chosen / chosen.sum(axis=0) @ class_weights()
    opens = {str(action): round(float(share), 4) for action, share in zip(tree.actions(0), shares, strict=True)}
    return ButtonResult(
        subject.name, tree.num_nodes, won[:, BUTTON] * 1000 / max(game.blind), opens, time.monotonic() - begun
    )


def report(found: Sequence[ButtonResult], walks: int, seed: int) -> dict[str, Any]:
    """Means, with 95 % intervals of the boards alone; `more` than few sizes, on the same boards."""
    base = found[1].button_mbb if len(found) > 1 else None
    rows = []
    for number, each in enumerate(found):
        more = each.button_mbb - base if base is not None and number > 1 else None
        rows.append({
            "game": each.name, "decisions": each.decisions, "button_mbb": _mean(each.button_mbb),
            "more_mbb": None if more is None else _mean(more), "opens": each.opens, "seconds": round(each.seconds, 1),
        })  # fmt: skip
    boards = len(found[0].button_mbb)
    return {"revision": revision(), "seed": seed, "walks": walks, "boards": boards, "known_limit_mbb": KNOWN_MBB,
            "games": rows}  # fmt: skip


def _mean(values: F64) -> tuple[float, float]:
    return round(float(values.mean()), 1), round(float(WIDTH * values.std(ddof=1) / np.sqrt(len(values))), 1)


def text(data: dict[str, Any]) -> str:
    """In Markdown."""
    low, high = data["known_limit_mbb"]
    lines = [
        f"{data['walks']:,} walks each, {data['boards']:,} boards, seed {data['seed']}, mbb/g with 95 % intervals of "
        f"the boards alone; in limit hold'em the button is known to win {low} to {high}.",
        "",
        "| game | decisions | the button wins | more than with few sizes | the button opens with |",
        "|---|---:|---:|---:|---|",
    ]
    for row in data["games"]:
        opens = ", ".join([f"{name} {100 * share:.0f} %" for name, share in row["opens"].items() if share >= 0.005])
        more = "" if row["more_mbb"] is None else f"{row['more_mbb'][0]:+.1f} ± {row['more_mbb'][1]:.1f}"
        mbb, interval = row["button_mbb"]
        lines.append(f"| {row['game']} | {row['decisions']:,} | {mbb:+.1f} ± {interval:.1f} | {more} | {opens} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walks", type=int, default=10_000, help="of each; default: 10000")
    parser.add_argument("--boards", type=int, default=5_000, help="to play on; default: 5000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print data instead of a table")
    options = parser.parse_args(arguments)
    for name, least in (("walks", _PERIODS), ("boards", 2), ("seed", 0), ("threads", 1)):
        if getattr(options, name) < least:
            parser.error(f"--{name} {getattr(options, name)}: expected {least} at least")
    try:
        cards = Blueprint.open(shipped_blueprint()).cards(tables_folder())
    except ParatusError as error:
        print(f"button: {error}", file=sys.stderr)
        return 1
    found = []
    for subject in subjects():
        found.append(
            measure(subject, cards, walks=options.walks, boards=options.boards, seed=options.seed,
                    threads=options.threads)
        )  # fmt: skip
        print(f"button: {subject.name}: {short(found[-1].seconds)} s", file=sys.stderr, flush=True)
    data = report(found, options.walks, options.seed)
    print(json.dumps(data, indent=1) if options.json else text(data))
    return 0


if __name__ == "__main__":
    sys.exit(main())
