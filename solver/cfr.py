"""The solver of a poker subgame: CFR on it, and what is asked of the result at any place of the tree.

A place's hands are those of the whole subgame; a hand that its board makes impossible has no reach, and its strategy
and values mean nothing. Values are expected net chips of the whole hand for each hand of a player, if the place is
reached with it and both play their average strategies from there on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protocol.cards import Card
from protocol.state import Action
from solver.algorithms import Algorithm
from solver.betting import Node
from solver.engine import Engine, SolverError
from solver.gadgets import Gadget
from solver.subgame import ROOT, Place, Subgame
from solver.tables import F64


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
        assert isinstance(self.problem, Subgame)  # the one given, or a copy with the ranges that a gadget lets through
        self.subgame = self.problem
        if gadget is not None and not subgame.treats_alike(gadget.player, np.asarray(gadget.payoffs)):
            raise SolverError("payoffs of boards that are alike differ: expected them among the `marks` of the subgame")
        self._kept: list[dict[Place, int]] = [{}, {}]

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
        cards = subgame.cards(place)
        possible = [not set(hand) & set(cards) for hand in subgame.hands[player]]
        weights: F64 = subgame.weights[player] * np.array(possible)
        step = subgame.before(place)
        while step is not None:
            earlier, action = step
            if self._actor(earlier) == player:
                weights = weights * self.strategy(earlier)[action]
            step = subgame.before(earlier)
        return weights

    def values(self, player: int, place: Place = ROOT) -> F64:
        """[hand] what a player wins from a place on."""
        part, node = self.subgame.forests[place.street].find(place.node)
        values: F64 = self._row_values(player, place, part, [node])[0]
        return values

    def action_values(self, place: Place) -> F64:
        """[action, hand] what each action wins for whoever acts."""
        forest = self.subgame.forests[place.street]
        number, node = forest.find(place.node)
        part = forest.parts[number]
        rows = part.child[part.first[node] : part.first[node + 1]]
        return self._row_values(self._actor(place), place, number, rows.tolist())

    def keep_values(self, player: int, places: Sequence[Place]) -> None:
        """From now on keep running averages of the player's counterfactual values at these places.

        For searches that will be repeated there: the opponent's reach is in the values, the probability of the board is
        not, and iterations weigh as they do in the average strategy. Name them before the next iteration.
        """
        for place in sorted(places, key=self.subgame.number):
            board = self.subgame.number(place)
            part, node = self.subgame.forests[place.street].find(place.node)
            self._kept[player][place] = self.watched(player, board).shape[0]
            self.watch(player, board, part, [node])

    def kept_values(self, player: int, place: Place) -> F64:
        """[hand] those of one of the places."""
        values = self.watched(player, self.subgame.number(place))[self._kept[player][place]]
        kept: F64 = values[self.subgame.permutation(place, player)]
        return kept

    def _row_values(self, player: int, place: Place, part: int, rows: Sequence[int]) -> F64:
        """[row, hand] counterfactual values over the opponent's reach at the place, which is the same for all rows."""
        subgame = self.subgame
        values = self.row_values(player, subgame.number(place), part, rows)[:, subgame.permutation(place, player)]
        against = subgame.opposing(player, self.reach(1 - player, place))
        return np.divide(values, against, out=np.zeros_like(values), where=against > 0)

    def _actor(self, place: Place) -> int:
        return int(self.subgame.forests[place.street].player[place.node])

    def _sums(self, place: Place) -> F64:
        """What the average strategy is proportional to: [action, hand]."""
        player, subgame = self._actor(place), self.subgame
        edge, count = int(subgame.forests[place.street].edge[place.node]), len(self.node(place).actions)
        table = self.table(player, subgame.number(place))[edge : edge + count]
        return table[:, subgame.permutation(place, player)]
