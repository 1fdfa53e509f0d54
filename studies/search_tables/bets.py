"""Table 5.4: what to do about a bet that our tree does not have.

We solve a tree with bets of half the pot and the pot. The opponent may also bet three quarters. When it does, search
makes and solves a subgame, again without bets of three quarters, and we go on with its solution; when the opponent
leaves that tree too, search is repeated from it (*nested*). All decisions after such bets, on every flop, are solved so
and put together; the exact best response to all of it, in the tree in which the opponent has all bets, says what it is
worth.

The *inexpensive* subgame begins after the bet; the opponent's alternative is what the best action of the tree it left
would have won. The *expensive* one begins with the decision before, to which the bet is added.

Those alternatives are estimates: the tree they come from knows no such bets later on either. To tell their errors from
other causes, some searches are made again with what the alternatives turned out to be worth (`PlayedPayoffs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from protocol.arrays import F32, F64
from protocol.state import Action, State
from solver.algorithms import Algorithm
from solver.betting import Forest
from solver.engine import Exploitability
from solver.gadget_kinds import Form
from solver.gadgets import Gadget
from solver.menu import Menu, parse_menu
from solver.subgame import Place, Subgame
from studies.search_tables.games import Field, whole
from studies.search_tables.nested import Arrival, Best, Departure, View, spread, tables_of
from studies.search_tables.trunk import FLOP, Seam, Whole


@dataclass(frozen=True, slots=True)
class BetMethod:
    """How a bet outside the tree is answered."""

    form: Form | None
    """None for unsafe: the opponent comes with the hands that it would have in the tree."""
    reach: bool = False
    expensive: bool = False
    played: bool = False
    """Alternative payoffs are what they are worth against the play that estimates gave."""


METHODS: Final = {
    "Resolve": BetMethod(Form.RESOLVE),
    "Reach-Maxmargin (expensive)": BetMethod(Form.MAXMARGIN, reach=True, expensive=True),
    "Unsafe (expensive)": BetMethod(None, expensive=True),
    "Maxmargin": BetMethod(Form.MAXMARGIN),
    "Reach-Maxmargin": BetMethod(Form.MAXMARGIN, reach=True),
}
LOOKED_INTO: Final = ("Resolve", "Maxmargin")
"""The two whose order is not the thesis's for a reason that is not plain."""
PLAYED: Final = {f"{name} (payoffs as played)": replace(METHODS[name], played=True) for name in LOOKED_INTO}
"""Not in the thesis: they need what nobody has at the table."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The bets of the trees, in percent of the pot."""

    ours: str = "50%,100%"
    theirs: str = "50%,75%,100%"
    bets: int = 3
    """On the flop; before it there is one."""

    @property
    def small(self) -> Menu:
        """What we solve."""
        return self._menu(self.ours, self.ours)

    @property
    def large(self) -> Menu:
        """Everything for both."""
        return self._menu(self.theirs, self.theirs)

    def mixed(self, us: int) -> Menu:
        """Everything for the opponent only."""
        return self._menu(*((self.ours, self.theirs) if us == 0 else (self.theirs, self.ours)))

    def _menu(self, big_blind: str, small_blind: str) -> Menu:
        """Player 0, the big blind, is first to act on the flop and last before it."""
        return parse_menu(
            f"preflop oop {small_blind} / -; preflop ip {big_blind} / -; flop oop {big_blind}; flop ip {small_blind}; "
            f"cap {self.bets}"
        )


@dataclass(frozen=True, slots=True)
class Tree:
    """A solved tree that begins before the flop."""

    solver: Whole
    lines: dict[int, Arrival]
    """How the flop is come to."""
    seam: Seam
    """Of its flops, to the tree in which all is put together."""
    rows: dict[tuple[int, int], int]
    """The numbers of (part, row of the part) in `best`."""
    best: F32
    """[flop, row, hand of the opponent] what its best responses win."""


class PlayedPayoffs:
    """What the opponent's hands win at its decisions by all but the bets that our tree does not have.

    Against a strategy of ours for the whole tree, with its answers to such bets later on: what estimates, which know
    the solved tree alone, are estimates of.
    """

    def __init__(self, us: int, play: Whole, small: Menu) -> None:
        self._us, self._play = us, play
        self._nodes: list[dict[str, int]] = []
        """By street, the opponent's decisions by the betting before them."""
        self._values: list[dict[int, F64]] = []
        """By street: [board, hand] counterfactual values of decisions."""
        opponent = 1 - us
        for street, forest in enumerate(play.subgame.forests[: FLOP + 1]):
            nodes = {node.state.betting: n for n, node in enumerate(forest.nodes) if forest.player[n] == opponent}
            wanted, owners = [], []
            for node in nodes.values():
                number, row = forest.find(node)
                part, offered = forest.parts[number], small.actions(forest.nodes[node].state)
                children = part.child[part.first[row] : part.first[row + 1]].tolist()
                for action, child in zip(forest.nodes[node].actions, children, strict=True):
                    if action in offered:
                        wanted.append((number, child))
                        owners.append(node)
            parts, rows = [part for part, _ in wanted], [row for _, row in wanted]
            if street == FLOP:
                values = play.all_values(opponent, parts, rows, best=True)
            else:
                values = play.row_values(opponent, 0, 0, rows, best=True)[None]
            self._nodes.append(nodes)
            self._values.append({n: values[:, np.array(owners) == n].max(axis=1) for n in nodes.values()})

    def at(self, state: State, flop: int | None, estimate: F64) -> F64:
        """[hand] chips; the estimate for hands that our play there tells nothing about."""
        street, board = (0, 0) if flop is None else (FLOP, flop)
        node = self._nodes[street][state.betting]
        reach = self._play.reach(self._us, Place(street, node, board))
        against = self._play.subgame.opposing(1 - self._us, reach)
        return np.divide(self._values[street][node][board], against, out=estimate.copy(), where=against > 0)


class NestedPlay:
    """Our strategy in the tree in which the opponent has all bets: a solution of the small tree, and search."""

    def __init__(
        self, field: Field, sizes: Sizes, us: int, averages: tuple[F32, F32], method: BetMethod, algorithm: Algorithm,
        iterations: int, played: PlayedPayoffs | None = None,
    ) -> None:  # fmt: skip
        """`played` are the payoffs of a method that wants them."""
        self.us, self.field, self.method = us, field, method
        self._played = played
        self.mixed = Whole(whole(field.game, sizes.mixed(us)))
        self.searches = 0
        self.gaining = 0
        """Those in which some hand wins more by the bet than its alternative payoff, whatever we do about it."""
        self.gains: list[tuple[float, float]] = []
        """How much more, in pots: on average over hands, as often as they are held beside ours, and the most of any."""
        self.empty_ranges = 0
        """Unsafe searches for which the opponent's range was empty: taken as every hand."""
        self._small, self._wider = sizes.small, sizes.mixed(us)
        self._algorithm, self._iterations = algorithm, iterations
        self._count = len(field.compatible)
        self._tables = [np.zeros_like(self.mixed.table(us, board)) for board in range(1 + self.mixed.flops)]
        self._blueprint = Whole(whole(field.game, self._small))
        for player, average in enumerate(averages):
            self._blueprint.averages[player][:] = average
        self._seams: dict[str, Seam] = {}
        self._departs: dict[str, bool] = {}

    def run(self) -> Iterator[float]:
        """Search wherever the opponent may leave a tree; yields what share of the flops is done."""
        trees = self._before_flop()
        for flop in range(self.mixed.flops):
            for tree in trees:
                self._on_flop(tree, flop)
            yield (flop + 1) / self.mixed.flops
        for board, table in enumerate(self._tables):
            self.mixed.set_table(self.us, board, table)

    def best_response_mbb(self) -> float:
        """What the opponent wins at most."""
        return opponent_mbb(self.mixed.exploitability(), self.us)

    def _before_flop(self) -> list[Tree]:
        everything = Arrival(np.ones(self._count), np.ones(self._count), np.zeros(self._count))
        waiting: list[tuple[Whole, Arrival, Departure | None]] = [(self._blueprint, everything, None)]
        trees = []
        for solver, arrival, cause in waiting:
            forest, after = solver.subgame.forests[0], cause.after.actions if cause else ()
            tables = tables_of(solver, 0, self._count)
            view = self._view(forest, tables, self._best(solver))
            view.walk(0, arrival, self._only(cause))
            seam = Seam.of(self.us, forest, self.mixed.subgame.forests[0], after)
            seam.copy(tables[self.us], self._tables[0])
            trees.append(self._tree(solver, view.arrivals, after))
            for departure in view.departures:
                found = self._search(departure, None)
                if found is not None:
                    waiting.append((found, self._arrival(found, departure), departure))
        return trees

    def _tree(self, solver: Whole, lines: dict[int, Arrival], after: Sequence[Action]) -> Tree:
        forest, opponent = solver.subgame.forests[FLOP], 1 - self.us
        wanted = []
        for number, part in enumerate(forest.parts):
            for node in np.flatnonzero(part.player == opponent):
                wanted += [(number, row) for row in part.child[part.first[node] : part.first[node + 1]].tolist()]
        best = solver.all_values(opponent, [part for part, _ in wanted], [row for _, row in wanted], best=True)
        seam = Seam.of(self.us, forest, self.mixed.subgame.forests[FLOP], after)
        return Tree(solver, lines, seam, {each: number for number, each in enumerate(wanted)}, best.astype(np.float32))

    def _on_flop(self, tree: Tree, flop: int) -> None:
        subgame, opponent = tree.solver.subgame, 1 - self.us
        tables = tables_of(tree.solver, 1 + flop, self._count)
        tree.seam.copy(tables[self.us], self._tables[1 + flop])
        best = spread(tree.best[flop].astype(np.float64), subgame.hand_index[opponent], self._count)
        view = self._view(subgame.forests[FLOP], tables, {row: best[number] for row, number in tree.rows.items()})
        ours, theirs = (self.mixed.possible(player, flop) for player in (self.us, opponent))
        for line, arrival in tree.lines.items():
            view.walk(line, Arrival(arrival.ours * ours, arrival.theirs * theirs, arrival.gifts))
        self._answer(view.departures, flop)

    def _answer(self, departures: Sequence[Departure], flop: int) -> None:
        """Search after each of these bets, and after those that leave the trees of that search."""
        for departure in departures:
            solver = self._search(departure, flop)
            if solver is None:
                continue
            forest, tables = solver.subgame.forests[0], tables_of(solver, 0, self._count)
            self._seam(departure, forest).copy(tables[self.us], self._tables[1 + flop])
            if self._may_depart(departure, forest):
                view = self._view(forest, tables, self._best(solver))
                view.walk(0, self._arrival(solver, departure), self._only(departure))
                self._answer(view.departures, flop)

    def _best(self, solver: Whole) -> Best:
        """What the opponent's best responses win on the first street."""
        opponent = 1 - self.us
        found: dict[tuple[int, int], F64] = {}
        for number, part in enumerate(solver.subgame.forests[0].parts):
            rows = solver.row_values(opponent, 0, number, range(len(part.nodes) + part.slots), best=True)
            whole_rows = spread(rows, solver.subgame.hand_index[opponent], self._count)
            found |= {(number, row): values for row, values in enumerate(whole_rows)}
        return found

    def _search(self, departure: Departure, flop: int | None) -> Whole | None:
        """The solved subgame, on a flop or before any; None where our strategy never gets there."""
        method, opponent, arrival = self.method, 1 - self.us, departure.arrival
        ours, value, gifts = arrival.ours, departure.value, arrival.gifts
        board = () if flop is None else self.mixed.subgame.boards[FLOP][flop].cards
        if method.played:
            assert self._played is not None
            value = self._played.at(departure.state, flop, value)
        theirs = arrival.theirs if method.form is None else np.ones(self._count)
        if not board:
            ours, theirs, value, gifts = (self.field.symmetric(each) for each in (ours, theirs, value, gifts))
        if not ours.any():
            return None
        if not (ours @ self.field.compatible @ theirs) > 0:
            theirs, self.empty_ranges = np.ones(self._count), self.empty_ranges + 1
        state, menu = departure.after, self._small
        if method.expensive:
            state = departure.state
            menu = menu.with_bet(state.betting, departure.bet.to)
        subgame = Subgame(state, board, (ours, theirs) if self.us == 0 else (theirs, ours), menu, alike=not board)
        gadget = None
        if method.form is not None:
            payoffs = value + gifts if method.reach else value
            gadget = Gadget(opponent, payoffs[subgame.hand_index[opponent]], method.form)
        solver = Whole(subgame, self._algorithm, gadget=gadget)
        solver.iterate(self._iterations)
        self.searches += 1
        if gadget is not None:
            gained = np.maximum(-solver.margins(), 0.0) / departure.state.pot
            held = (self.field.compatible @ ours)[subgame.hand_index[opponent]]
            self.gaining += bool(gained.any())
            self.gains.append((float(gained @ held / held.sum()), float(gained.max())))
        return solver

    def _arrival(self, solver: Whole, departure: Departure) -> Arrival:
        """At the root of a search, with its own weights."""
        subgame, opponent = solver.subgame, 1 - self.us
        ours, theirs = (
            spread(subgame.weights[player][None], subgame.hand_index[player], self._count)[0]
            for player in (self.us, opponent)
        )
        if self.method.form is not None:
            theirs = np.ones(self._count)
        won = spread(solver.best_response_values(opponent)[None], subgame.hand_index[opponent], self._count)[0]
        left = np.maximum(departure.value + departure.arrival.gifts - won, 0.0)  # what the solve has used is not given
        return Arrival(ours, theirs, left)

    def _only(self, cause: Departure | None) -> Action | None:
        return cause.bet if cause and self.method.expensive else None

    def _view(self, forest: Forest, tables: Sequence[F64], best: Best) -> View:
        return View(self.us, forest, tables, best, self._wider, self.field.compatible)

    def _seam(self, departure: Departure, forest: Forest) -> Seam:
        key = departure.after.betting
        if key not in self._seams:
            large = self.mixed.subgame.forests[FLOP]
            self._seams[key] = Seam.of(self.us, forest, large, departure.after.actions)
        return self._seams[key]

    def _may_depart(self, departure: Departure, forest: Forest) -> bool:
        key, after = departure.after.betting, departure.after.actions
        if key not in self._departs:
            self._departs[key] = any(
                set(self._wider.actions(node.state)) - set(node.actions)
                for node in forest.nodes
                if node.state.actions[: len(after)] == after
            )
        return self._departs[key]


def opponent_mbb(found: Exploitability, us: int) -> float:
    """What the best response to `us` wins."""
    return 1000 * found.best_response[1 - us] / found.big_blind
