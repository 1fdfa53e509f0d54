"""What nested search must know of a solved tree: where the opponent may leave it, and what the tree is worth there.

A `View` is one street of a solved tree on one board. It walks down from the street's roots with both players' reaches
and collects the *departures*: decisions of the opponent at which it has a bet that the tree does not offer. With each
come our reach, the most that each of the opponent's hands wins by what the tree does offer (against our average: a best
response within the tree), and the gifts of its earlier decisions. Gifts are the estimates of 5.1.3, by all actions of
the tree, as the alternative payoffs are estimates; the bound, by actions that end the hand, hardly gives any here.

Arrays are over all hands of the game; impossible ones have no reach. Only proportions of reaches count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from protocol.arrays import F32, F64, I32
from protocol.state import Action, Raise, State, apply
from solver.betting import Forest
from solver.gadgets import gift
from solver.menu import Menu
from solver.subgame_solver import Solver

Best = Mapping[tuple[int, int], F64]
"""By (part, row of the part): [hand] the counterfactual values of the opponent's best responses."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a root of a street is come to."""

    ours: F64
    """[hand] our reach."""
    theirs: F64
    """[hand] the opponent's; 1 where it is taken to come with any hand."""
    gifts: F64
    """[hand] what the opponent gave away on the way, in chips."""


@dataclass(frozen=True, slots=True)
class Departure:
    """A bet of the opponent that the tree does not offer."""

    state: State
    """Before the bet."""
    bet: Raise
    arrival: Arrival
    """At the opponent's decision."""
    value: F64
    """[hand] what the best of the tree's actions wins."""

    @property
    def after(self) -> State:
        """With us to act."""
        return apply(self.state, self.bet)


class View:
    """One street of a solved tree, for the player that searches (`us`)."""

    def __init__(
        self,
        us: int,
        forest: Forest,
        tables: Sequence[F64],
        best: Best,
        wider: Menu,
        compatible: F32,
    ) -> None:
        """`tables` [player][edge, hand]; `best` has at least the rows that follow the opponent's decisions."""
        self.us, self._forest, self._tables, self._best = us, forest, tables, best
        self._wider, self._compatible = wider, compatible
        self.departures: list[Departure] = []
        self.arrivals: dict[int, Arrival] = {}
        """At the roots of the next street, by their number."""

    def walk(self, root: int, arrival: Arrival, only: Action | None = None) -> None:
        """Collect what is below a root, or below one action of its player."""
        self._visit(self._forest.root(root), arrival, only)

    def _visit(self, node: int, arrival: Arrival, only: Action | None = None) -> None:
        forest = self._forest
        player, here = int(forest.player[node]), forest.nodes[node]
        number, row = forest.find(node)
        part = forest.parts[number]
        rows = part.child[part.first[row] : part.first[row + 1]].tolist()
        values = None if player == self.us else self._values(number, rows, arrival.ours)
        if values is not None and only is None:
            for action in self._wider.actions(here.state):
                if isinstance(action, Raise) and action not in here.actions:
                    self.departures.append(Departure(here.state, action, arrival, values.max(axis=0)))
        strategy = self.strategy(node)
        first_next = len(part.nodes) + part.showdown_lanes + part.fold_lanes
        for place, (action, child) in enumerate(zip(here.actions, rows, strict=True)):
            if only not in (None, action) or (len(part.nodes) <= child < first_next):
                continue
            if child >= first_next + part.num_next:  # an all-in
                continue
            if values is None:
                after = Arrival(arrival.ours * strategy[place], arrival.theirs, arrival.gifts)
            else:
                gifts = arrival.gifts + gift(values, place)
                after = Arrival(arrival.ours, arrival.theirs * strategy[place], gifts)
            if child < len(part.nodes):
                self._visit(forest.number(number, child), after)
            else:
                before = sum(each.num_next for each in forest.parts[:number])
                self.arrivals[before + child - first_next] = after

    def strategy(self, node: int) -> F64:
        """[action, hand] the average; uniform where there is none."""
        forest = self._forest
        player, edge = int(forest.player[node]), int(forest.edge[node])
        return normalised(self._tables[player][edge : edge + len(forest.nodes[node].actions)])

    def _values(self, part: int, rows: Sequence[int], ours: F64) -> F64:
        """[action, hand] of the opponent."""
        against = self._compatible @ ours
        values: F64 = np.array([self._best[part, row] for row in rows])
        return np.divide(values, against, out=np.zeros_like(values), where=against > 0)


def normalised(sums: F64) -> F64:
    """Over the first axis."""
    total = sums.sum(axis=0)
    shares: F64 = np.where(total > 0, sums / np.where(total > 0, total, 1.0), 1 / len(sums))
    return shares


def spread(table: F64, index: I32, count: int) -> F64:
    """[row, hand of the game] of a table over some hands."""
    whole = np.zeros((len(table), count))
    whole[:, index] = table
    return whole


def tables_of(solver: Solver, board: int, count: int) -> list[F64]:
    """[player][edge, hand of the game] what the averages on a board are proportional to."""
    return [spread(solver.table(player, board), solver.subgame.hand_index[player], count) for player in range(2)]
