"""How many values a leaf needs (thesis, Figure 5.8): `python -m studies.limited_values --out FOLDER`.

Flop hold'em with a short deck, small enough to know everything exactly. Our tree, for the big blind, has opening bets
of half the pot and the pot. The small blind also opens with three quarters of it. What the big blind does then is found

- by randomised pseudo-harmonic translation,
- by depth-limited search: before the flop, with the roll-outs of the blueprint's continuations that agent `limited`
  uses, where both players or only the opponent choose among 1, 2, 4, 8 or 16 of them,
- by the same with known values at leaves (`studies.known_leaves`), where the opponent chooses among biased or among
  self-generated continuations,
- or is known: the bet is in the tree.

After the search the flop is solved to the end by safe subgame solving (Resolve, exact alternative payoffs), with what
was found before the flop held fixed. All of it together is a strategy of the big blind in the game in which the small
blind has the third bet, and the exact best response to it is what the table says, above the game's value.

Rows are written down one by one, and the same command goes on with what is missing. Prints docs/limited-values.md and
writes its picture.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.machine import cpu, revision
from blueprints.cards.exact import ExactCards
from blueprints.lookup import Lookup
from blueprints.settings import BlueprintSettings
from blueprints.storage import Blueprint, write_blueprint
from blueprints.tree import BettingTree, build_tree
from blueprints.values.leaves import RunOutDraws, SampledLeaves, StreetGame
from blueprints.values.rollouts import Bias, Rollouts
from machine.files import whole_file
from machine.progress import duration_text
from protocol.arrays import F32, F64
from protocol.cards import Card
from protocol.game import Game
from protocol.hands import hands_of
from protocol.state import start
from solver.algorithms import DCFR
from solver.depth_limited import LimitedSolver
from solver.gadget_kinds import Form
from solver.gadgets import Gadget
from solver.menu import Menu, menu_text, parse_menu
from solver.subgame import Subgame
from studies.known_leaves import KnownFlops, biased, generated, solved
from studies.search_tables.bets import BetMethod, NestedPlay, Sizes, opponent_mbb
from studies.search_tables.games import Field, flop_holdem, whole
from studies.search_tables.nested import Departure, normalised
from studies.search_tables.translation import Translation, pseudo_harmonic
from studies.search_tables.trunk import Whole

US: Final = 0
"""The big blind."""
RANKS: Final = 6
SUITS: Final = 3
ITERATIONS: Final = 500
"""Of the blueprint, of the tree with the bet in it, and of the flop's solve."""
SEARCHED: Final = 8000
"""Iterations of depth-limited search: one run-out each."""
KNOWN: Final = 2000
"""Iterations of depth-limited search where values are known."""
SEEDS: Final = (1, 2, 3)
COUNTS: Final = (1, 2, 4, 8, 16)
FACTORS: Final = (10.0, 3.0, 30.0, 100.0, 1000.0)
CHOOSERS: Final = ("opponent", "both")
KINDS: Final = ("biased", "generated")
"""Of continuations whose values are known."""
ALGORITHM: Final = DCFR(1.5, 0.0, 2.0)
_HEAVY: Final = 1e15
"""Regrets beside which those of an iteration are nothing: so a strategy is held fixed."""

Row = dict[str, Any]


class OneBet(Sizes):
    """Trees that differ in one opening bet before the flop."""

    @property
    def small(self) -> Menu:
        return _menu("50%,100%")

    def mixed(self, us: int) -> Menu:
        return _menu("50%,75%,100%")


def _menu(opening: str) -> Menu:
    """The big blind may raise an opening bet once by the pot; on the flop two bets, one of two sizes, then the pot."""
    return parse_menu(f"preflop oop {opening} / -; preflop ip 100% / 100% / -; flop 50%,100% / 100%; cap 2")


def biases(count: int) -> tuple[Bias, ...]:
    """The blueprint, then biased to fold, to call and to raise by ten, then by other factors."""
    every = [Bias()]
    for factor in FACTORS:
        every += [Bias(fold=factor), Bias(call=factor), Bias(raises=factor)]
    return tuple(every[:count])


def continuations(chooser: str, count: int) -> tuple[int, int]:
    """How many each player chooses from."""
    return (1, count) if chooser == "opponent" else (count, count)


class LimitedPlay(NestedPlay):
    """Before the flop by depth-limited search, after it by Resolve."""

    def __init__(self, field: Field, averages: tuple[F32, F32], strategies: dict[str, F64]) -> None:
        """`strategies` are ours before the flop after the third bet: by betting, [action, hand]."""
        super().__init__(field, OneBet(), US, averages, BetMethod(Form.RESOLVE), ALGORITHM, ITERATIONS)
        self._strategies = strategies

    def _search(self, departure: Departure, board: Sequence[Card]) -> Whole | None:
        assert not board, "there is one bet outside the tree, before the flop"
        value = self.field.symmetric(departure.value)
        everyone = np.ones(self._count)
        subgame = Subgame(departure.after, (), (everyone, everyone), self._small)
        gadget = Gadget(1 - US, value[subgame.hand_index[1 - US]], Form.RESOLVE)
        solver = Whole(subgame, ALGORITHM, gadget=gadget)
        forest = subgame.forests[0]
        fixed = solver.table(US, 0, regrets=True)
        for node, here in enumerate(forest.nodes):
            if forest.player[node] == US:
                edge = int(forest.edge[node])
                known = self._strategies[here.state.betting][:, subgame.hand_index[US]]
                fixed[edge : edge + len(here.actions)] = _HEAVY * known
        for _ in range(ITERATIONS):
            solver.set_table(US, 0, fixed, regrets=True)
            solver.iterate(1)
        self.searches += 1
        return solver


class ValuesExperiment:
    """The game, and what all rows need."""

    def __init__(self, ranks: int = RANKS, suits: int = SUITS, iterations: int = ITERATIONS) -> None:
        self.game: Game = flop_holdem(ranks, suits)
        self.field = Field.of(self.game)
        self.iterations = iterations
        self._blueprint: Whole | None = None
        self._lookup: Lookup | None = None
        self._strategies: list[F32] = []
        self._worth: dict[str, F32] = {}

    @property
    def blueprint(self) -> Whole:
        """The small tree, solved."""
        if self._blueprint is None:
            self._blueprint = self.solved(OneBet().small)
        return self._blueprint

    def solved(self, menu: Menu) -> Whole:
        solver = Whole(whole(self.game, menu), ALGORITHM)
        solver.iterate(self.iterations)
        return solver

    def opened(self) -> tuple[Lookup, list[F32]]:
        """The blueprint as agents have it, with a bucket for each hand: its tree and, in float32, its strategy."""
        if self._lookup is None:
            cards, menu = ExactCards(self.game), OneBet().small
            tree = build_tree(self.game, menu)
            self._strategies = by_bucket(self.blueprint, tree, cards, self.game)
            settings = BlueprintSettings(name="exact", game=self.game.name, menu=menu_text(menu))
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "exact.blueprint"
                write_blueprint(
                    path, settings=settings, game=self.game, tree=tree, cards=cards,
                    averages=self._strategies, training={},
                )  # fmt: skip
                self._lookup = Lookup(Blueprint.open(path), cards)
        return self._lookup, self._strategies

    def searched(self, chooser: str, count: int, seed: int, iterations: int) -> dict[str, F64]:
        """What the big blind does after the third bet, by depth-limited search of the hand from its start."""
        lookup, strategies = self.opened()
        rollouts = Rollouts(self.game, lookup.blueprint.tree, lookup.cards, strategies, biases=biases(count), threads=1)
        street = StreetGame.of(start(self.game), OneBet().mixed(US), max_nodes=100)
        chosen = continuations(chooser, count)
        leaves = SampledLeaves(street, rollouts, lookup, (), chosen, RunOutDraws(seed))
        everyone = np.ones(len(hands_of(self.game)))
        solver = LimitedSolver(street.tree(chosen), (everyone, everyone), leaves)
        solver.solve(iterations)
        return self._ours(street, solver)

    def known(self, kind: str, count: int, iterations: int) -> dict[str, F64]:
        """The same with known values at the leaves, and so many continuations of a kind for the opponent."""
        flops = self._flops
        if kind not in self._worth:
            most = max(COUNTS)
            made = biased(flops, biases(most)) if kind == "biased" else generated(flops, OneBet().small, most, KNOWN)
            self._worth[kind] = made
        return self._ours(*solved(flops, OneBet().mixed(US), self._worth[kind][:, :count], iterations))

    @cached_property
    def _flops(self) -> KnownFlops:
        lookup, strategies = self.opened()
        return KnownFlops(self.game, lookup, strategies[1], US)

    def _ours(self, street: StreetGame, solver: LimitedSolver) -> dict[str, F64]:
        """Our strategy before the flop, by betting: [action, hand]."""
        return {
            node.state.betting: np.stack([self.field.symmetric(row) for row in solver.strategy(number)])
            for number, node in enumerate(street.nodes)
            if node.state.actor == US
        }


def by_bucket(solver: Whole, tree: BettingTree, cards: ExactCards, game: Game) -> list[F32]:
    """A solved tree's average strategies as a blueprint has them: by street [edge of the street, bucket]."""
    found = []
    for street in range(game.num_rounds):
        nodes, forest = tree.nodes_of(street), solver.subgame.forests[street]
        first = int(tree.first[nodes.start])
        table = np.zeros((int(tree.first[nodes.stop]) - first, cards.counts[street]), np.float32)
        places = {node.state.betting: number for number, node in enumerate(forest.nodes)}
        states = {node: state for node, state in tree.walk(start(game)) if state.street == street}
        for number, board in enumerate(solver.subgame.boards[street]):
            row = (0 if street == 0 else len(solver.subgame.boards[0])) + number
            tables = [solver.table(player, row) for player in range(2)]
            buckets = cards.buckets(board.cards)
            for node in nodes:
                player, place = int(tree.player[node]), places[states[node].betting]
                edge, count = int(forest.edge[place]), len(tree.edges(node))
                index = solver.subgame.hand_index[player]
                shares = normalised(tables[player][edge : edge + count])
                alive = solver.possible(player, number) > 0 if street else np.ones(len(index), bool)
                begin = int(tree.first[node]) - first
                table[begin : begin + count, buckets[index[alive]]] = shares[:, alive]
        found.append(table)
    return found


# --- Rows -----------------------------------------------------------------------------------------------------------


def rows_of(experiment: ValuesExperiment, searched: int = SEARCHED) -> dict[str, Callable[[], Row]]:
    """All of them by name."""

    def blueprint() -> Row:
        found = experiment.blueprint.exploitability()
        return {"mbb": found.mbb, "value_mbb": _small_blinds(experiment.blueprint)}

    def inside() -> Row:
        solver = experiment.solved(OneBet().mixed(US))
        return {"mbb": opponent_mbb(solver.exploitability(), US), "value_mbb": _small_blinds(solver)}

    def translation() -> Row:
        mixed = Whole(whole(experiment.game, OneBet().mixed(US)))
        Translation(US, experiment.blueprint, mixed, pseudo_harmonic(0.75, 0.5, 1.0)).put_in()
        return {"mbb": opponent_mbb(mixed.exploitability(), US)}

    def answered(strategies: dict[str, F64]) -> float:
        averages = experiment.blueprint.averages
        play = LimitedPlay(experiment.field, (averages[0], averages[1]), strategies)
        for _ in play.run():
            pass
        return play.best_response_mbb()

    def limited(chooser: str, count: int) -> Row:
        each = [answered(experiment.searched(chooser, count, seed, searched)) for seed in SEEDS]
        return {"mbb": float(np.mean(each)), "each": each}

    def known(kind: str, count: int) -> Row:
        return {"mbb": answered(experiment.known(kind, count, KNOWN))}

    rows: dict[str, Callable[[], Row]] = {"blueprint": blueprint, "inside": inside, "translation": translation}
    for count in COUNTS:
        rows |= {f"{chooser}-{count}": partial(limited, chooser, count) for chooser in CHOOSERS}
        rows |= {f"{kind}-{count}": partial(known, kind, count) for kind in KINDS}
    return rows


def _small_blinds(solver: Whole) -> float:
    """What the small blind wins, both playing their averages."""
    return 1000 * solver.game_value(1 - US) / solver.problem.unit


def main(arguments: list[str]) -> int:
    """Compute what is missing, then print."""
    parser = argparse.ArgumentParser(prog="python -m studies.limited_values", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True, help="for the rows")
    parser.add_argument("--picture", metavar="FILE", type=Path, help="an SVG to write")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    rows, known = rows_of(ValuesExperiment()), dict[str, Row]()
    begun, done = time.monotonic(), 0
    for number, (name, compute) in enumerate(rows.items()):
        path = options.out / f"{name}.json"
        if not path.exists():
            left_s = (time.monotonic() - begun) / (done or 1) * (len(rows) - number)
            left = f", about {duration_text(left_s)} left" if done else ""
            print(f"limited_values: {name}, row {number + 1} of {len(rows)}{left}", file=sys.stderr, flush=True)
            at = time.monotonic()
            row = {**compute(), "seconds": 0.0, "revision": revision()}
            row["seconds"] = round(time.monotonic() - at, 1)
            with whole_file(path) as file:
                file.write(json.dumps(row, indent=1).encode())
            done += 1
        known[name] = json.loads(path.read_text(encoding="utf-8"))
    print("\n".join(page(known)))
    if options.picture:
        picture(known, options.picture)
    return 0


def above(rows: dict[str, Row], name: str) -> float:
    """What the small blind wins above what it does when the bet is in the tree and both play well."""
    return float(rows[name]["mbb"]) - float(rows["inside"]["value_mbb"])


def page(rows: dict[str, Row]) -> list[str]:
    """For docs."""
    lines = [
        "# How many values a leaf needs",
        "",
        "Written by `python -m studies.limited_values`, which says what is computed: the big blind's answer to an",
        "opening bet of three quarters of the pot that its tree does not have (thesis, Figure 5.8).",
        "",
        f"Flop hold'em with {RANKS} ranks of {SUITS} suits; the blueprint's exploitability in its own tree is "
        f"{rows['blueprint']['mbb']:.2f} mbb a hand.",
        f"What the best response wins above the value of the game, in mbb a hand; searches of {SEARCHED:,} iterations,",
        f"mean and range of {len(SEEDS)} seeds. Revision {rows['translation']['revision']}, {cpu()}.",
        "",
        "| answer | mbb a hand |",
        "|---|---:|",
        f"| pseudo-harmonic translation | {above(rows, 'translation'):.2f} |",
        f"| the bet in the tree | {above(rows, 'inside'):.2f} |",
        "",
        "Continuations are those of agent `limited`, by roll-outs; or only the opponent chooses and what each pair of",
        f"hands wins is known ({KNOWN:,} iterations): by the same continuations, or self-generated ones (thesis 5.2).",
        "",
        "| values a leaf | only the opponent chooses | both choose | known, biased | known, self-generated |",
        "|---:|---:|---:|---:|---:|",
    ]
    value = float(rows["inside"]["value_mbb"])
    for count in COUNTS:
        cells = []
        for chooser in CHOOSERS:
            row = rows[f"{chooser}-{count}"]
            low, high = min(row["each"]) - value, max(row["each"]) - value
            cells.append(f"{above(rows, f'{chooser}-{count}'):.2f} ({low:.2f} to {high:.2f})")
        cells += [f"{above(rows, f'{kind}-{count}'):.2f}" for kind in KINDS]
        lines.append(f"| {count} | {' | '.join(cells)} |")
    return [*lines, "", "![Exploitability against the number of values a leaf](limited-values.svg)"]


def picture(rows: dict[str, Row], path: Path) -> None:
    """The table as curves."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.0))
    labels = "only the opponent chooses", "both choose", "known, biased", "known, self-generated"
    for kind, label in zip((*CHOOSERS, *KINDS), labels, strict=True):
        axes.plot(COUNTS, [above(rows, f"{kind}-{count}") for count in COUNTS], marker="o", label=label)
    axes.axhline(above(rows, "translation"), color="gray", linestyle="--", label="translation")
    axes.axhline(above(rows, "inside"), color="black", linestyle=":", label="the bet in the tree")
    axes.set_xscale("log", base=2)
    axes.set_xticks(COUNTS, [str(count) for count in COUNTS])
    axes.set_xlabel("values a leaf")
    axes.set_ylabel("exploitability, mbb a hand")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
