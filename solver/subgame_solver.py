"""The solver of a poker subgame: CFR on it, and what is asked of the result at any place of the tree.

A place's hands are those of the whole subgame; a hand that its board makes impossible has no reach, and its strategy
and values mean nothing. Values are expected net chips of the whole hand for each hand of a player, if the place is
reached with it and both play their average strategies from there on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protocol.arrays import F64
from protocol.cards import Card
from protocol.hands import hands_of
from protocol.state import Action
from solver.algorithms import Algorithm
from solver.betting import Node
from solver.engine import Engine, SolverError
from solver.gadgets import Gadget
from solver.subgame import ROOT, Place, Subgame

_Kept = tuple[int, int, int, bool]
"""Street, node and solved board of a place, and whether by action."""


class Solver(Engine):
    """A solver that knows its subgame. One thread at a time may use it."""

    def __init__(
        self,
        subgame: Subgame,
        algorithm: Algorithm | None = None,
        *,
        threads: int | None = None,
        seed: int = 0,
        simultaneous: bool = False,
        gadget: Gadget | None = None,
    ) -> None:
        super().__init__(subgame, algorithm, threads=threads, seed=seed, simultaneous=simultaneous, gadget=gadget)
        if gadget is not None:
            numbers = [np.asarray(gadget.payoffs), np.asarray(0.0 if gadget.spreads is None else gadget.spreads)]
            if not all(subgame.treats_alike(gadget.player, each) for each in numbers):
                raise SolverError("payoffs differ where boards are alike: expected them in the subgame's `marks`")
        self._kept: list[dict[_Kept, slice]] = [{}, {}]

    @property
    def subgame(self) -> Subgame:
        """The problem, which is a subgame."""
        problem = self.problem
        assert isinstance(problem, Subgame)
        return problem

    def place(self, actions: Sequence[Action], cards: Sequence[Card] = ()) -> Place:
        """The decision that a line of actions leads to, with the cards dealt below the root."""
        return self.subgame.place(actions, cards)

    def node(self, place: Place) -> Node:
        """The state and the actions of a decision."""
        return self.subgame.node(place)

    def strategy(self, place: Place) -> F64:
        """The average strategy of whoever acts: [action, hand]."""
        sums = self._sums(place)
        total = sums.sum(axis=0)
        return np.where(total > 0, sums / np.where(total > 0, total, 1.0), 1 / len(sums))

    def reach(self, player: int, place: Place) -> F64:
        """[hand] the weight with which a player comes there: its range times its average strategy on the way."""
        subgame = self.subgame
        live = hands_of(subgame.root.game).live(subgame.cards(place))
        weights: F64 = subgame.weights[player] * live[subgame.hand_index[player]]
        step = subgame.before(place)
        while step is not None:
            earlier, action = step
            if self._actor(earlier) == player:
                weights = weights * self.strategy(earlier)[action]
            step = subgame.before(earlier)
        return weights

    def values(self, player: int, place: Place = ROOT, *, best: bool = False) -> F64:
        """[hand] what a player wins from a place on; with `best` by responding best there."""
        values: F64 = self._row_values(player, place, actions=False, best=best)[0]
        return values

    def action_values(self, place: Place, *, best: bool = False) -> F64:
        """[action, hand] what each action wins for whoever acts; with `best` if it responds best afterwards."""
        return self._row_values(self._actor(place), place, actions=True, best=best)

    def keep_values(self, player: int, places: Sequence[Place], decisions: Sequence[Place] = ()) -> None:
        """From now on keep running averages of what the player wins at these places and, by action, at its `decisions`.

        For searches that will be repeated there. Iterations weigh as in average strategies. Of boards that are alike
        one place is enough for all.
        """
        rows: list[tuple[int, int, int]] = []
        kept: dict[_Kept, slice] = {}
        for place, actions in [*((place, False) for place in places), *((place, True) for place in decisions)]:
            part, nodes = self._rows(place, actions)
            kept[_kept(place, actions)] = slice(len(rows), len(rows) + len(nodes))
            rows += [(self.subgame.number(place), part, node) for node in nodes]
        self._kept[player] = kept
        self.watch(player, rows)

    def kept_values(self, player: int, place: Place) -> F64:
        """[hand] what it wins at one of the places."""
        values: F64 = self._kept_values(player, place, actions=False)[0]
        return values

    def kept_action_values(self, player: int, place: Place) -> F64:
        """[action, hand] what it wins at one of the decisions."""
        return self._kept_values(player, place, actions=True)

    def _kept_values(self, player: int, place: Place, *, actions: bool) -> F64:
        kept = self._kept[player][_kept(place, actions)]
        return self._by_reach(player, place, self.watched(player, range(kept.start, kept.stop)))

    def _rows(self, place: Place, actions: bool) -> tuple[int, list[int]]:
        """The part of a place, and its row or those of its actions."""
        forest = self.subgame.forests[place.street]
        number, node = forest.find(place.node)
        part = forest.parts[number]
        return number, part.child[part.first[node] : part.first[node + 1]].tolist() if actions else [node]

    def _row_values(self, player: int, place: Place, *, actions: bool, best: bool) -> F64:
        part, rows = self._rows(place, actions)
        values = self.row_values(player, self.subgame.number(place), part, rows, best=best)
        return self._by_reach(player, place, values)

    def _by_reach(self, player: int, place: Place, values: F64) -> F64:
        """[row, hand] counterfactual values over the opponent's reach at the place, which is the same for all rows."""
        values = values[:, self.subgame.permutation(place, player)]
        against = self.subgame.opposing(player, self.reach(1 - player, place))
        return np.divide(values, against, out=np.zeros_like(values), where=against > 0)

    def _actor(self, place: Place) -> int:
        return int(self.subgame.forests[place.street].player[place.node])

    def _sums(self, place: Place) -> F64:
        """What the average strategy is proportional to: [action, hand]."""
        player, subgame = self._actor(place), self.subgame
        edge, count = int(subgame.forests[place.street].edge[place.node]), len(self.node(place).actions)
        table = self.table(player, subgame.number(place))[edge : edge + count]
        return table[:, subgame.permutation(place, player)]


def _kept(place: Place, actions: bool) -> _Kept:
    return place.street, place.node, place.board, actions
