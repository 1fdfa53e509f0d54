"""Blueprint files and decisions by them: a random strategy on a tree of 16,000 decisions with random tables of buckets,
and the file that ships with its own.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

from blueprints.cards.interface import Cards
from blueprints.cards.made_up import made_up_tables
from blueprints.lookup import Lookup
from blueprints.settings import BlueprintSettings
from blueprints.shipped import shipped_blueprint, tables_folder
from blueprints.storage import Blueprint, write_blueprint
from blueprints.tree import BettingTree, build_tree
from protocol.game import DEFAULT_GAME, STREET_NAMES, load_game
from protocol.state import CALL, FOLD, Action, Raise, State, apply, can_fold, raise_bounds, start
from solver.menu import parse_menu

_MENU = (
    "preflop 2.5x,4x,a / 75%,150%,a / 100%,a / a; flop 33%,75%,150%,a / 75%,a / a; "
    "turn 50%,100%,a / 100%,a / a; river 50%,100%,a / 100%,a / a; all-in 67%"
)
_DECISIONS = 3000


def run() -> dict[str, object]:
    """Milliseconds for files, microseconds for decisions (policies for all 1,326 hands) and boards, medians."""
    game, menu = load_game(DEFAULT_GAME).game, parse_menu(_MENU)
    settings = BlueprintSettings(name="benchmark", menu=_MENU)
    tree, rng = build_tree(game, menu), np.random.default_rng(1)
    cards = made_up_tables(settings.cards)
    averages = [rng.random((_edges(tree, street), cards.counts[street]), np.float32) for street in range(4)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.blueprint"

        def write() -> None:
            write_blueprint(
                path, settings=settings, game=game, tree=tree, cards=cards.centroids, averages=averages, training={}
            )

        write()  # compiles
        report: dict[str, object] = {
            "decisions_of_the_tree": tree.num_nodes,
            "megabytes": round(path.stat().st_size / 1e6, 1),
            "write_ms": _milliseconds(write, 3),
            "open_ms": _milliseconds(lambda: Blueprint.open(path), 20),
        }
        blueprint = Blueprint.open(path)
        report["verify_ms"] = _milliseconds(blueprint.verify, 3)
        report |= _decisions(Lookup(blueprint, cards))
    shipped = Blueprint.open(shipped_blueprint())
    its_cards = shipped.cards(tables_folder())
    speeds = _decisions(Lookup(shipped, its_cards)) | _buckets(its_cards)
    return report | {f"shipped_{name}": each for name, each in speeds.items()}


def _edges(tree: BettingTree, street: int) -> int:
    nodes = tree.nodes_of(street)
    return int(tree.first[nodes.stop] - tree.first[nodes.start])


def _milliseconds(work: Callable[[], object], times: int) -> float:
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        took.append(time.perf_counter() - begun)
    return round(1e3 * statistics.median(took), 2)


def _decisions(lookup: Lookup) -> dict[str, object]:
    """Of hands whose bets the tree has, then of hands whose bets it has not; each hand has a board of its own."""
    report: dict[str, object] = {}
    for name, known in (("in_tree", True), ("off_tree", False)):
        rng, took, jumps = Random(name), [], 0
        while len(took) < _DECISIONS:
            state, board = start(lookup.blueprint.game), rng.sample(lookup.blueprint.game.deck(), 5)
            while not state.finished:
                shown = tuple(board[: state.game.board_cards_by(state.street)])
                begun = time.perf_counter()
                found = lookup.policy(state, shown, lambda place: 0.5)
                took.append(time.perf_counter() - begun)
                assert found is not None
                jumps += found.place.jumps > 0
                action = rng.choice(found.actions) if known else _action(rng, state)
                state = apply(state, action)
        report |= {
            f"{name}_us": round(1e6 * statistics.median(took), 1),
            f"{name}_99_percent_us": round(1e6 * statistics.quantiles(took, n=100)[-1], 1),
            f"{name}_jumps_percent": round(100 * jumps / len(took), 1),
        }
    return report


def _buckets(cards: Cards) -> dict[str, object]:
    """Of all hands of a board: random boards."""
    rng, deck, report = np.random.default_rng(1), np.arange(52), {}
    for street, length in zip(STREET_NAMES[1:], (3, 4, 5), strict=True):
        took = []
        for _ in range(_DECISIONS):
            board = rng.permutation(deck)[:length].tolist()
            begun = time.perf_counter()
            cards.buckets(board)
            took.append(time.perf_counter() - begun)
        report |= {
            f"buckets_of_a_{street}_us": round(1e6 * statistics.median(took), 1),
            f"buckets_of_a_{street}_99_percent_us": round(1e6 * statistics.quantiles(took, n=100)[-1], 1),
        }
    return report


def _action(rng: Random, state: State) -> Action:
    """Any; raises of a third to three times the pot."""
    bounds, draw = raise_bounds(state), rng.random()
    if draw < 0.1 and can_fold(state):
        return FOLD
    if bounds is None or draw < 0.6:
        return CALL
    wanted = state.maximum + round(rng.uniform(0.33, 3) * (state.pot + state.owed))
    return Raise(min(max(wanted, bounds.low), bounds.high))


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
