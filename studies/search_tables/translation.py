"""Action translation: a bet that our tree does not have is taken for one that it has.

The randomised pseudo-harmonic mapping (Ganzfried and Sandholm): a bet of x, between the sizes A and B of the tree, all
as fractions of the pot, is taken for A with probability (B - x)(1 + A) / ((B - A)(1 + x)), which makes an opponent
indifferent in a game of one bet. What it was taken for is drawn when the bet is made and kept for the rest of the hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from protocol.arrays import F64
from protocol.state import Action, Raise
from solver.betting import Forest
from studies.search_tables.nested import normalised
from studies.search_tables.trunk import FLOP, Whole


def pseudo_harmonic(bet: float, smaller: float, larger: float) -> float:
    """The probability that a bet is taken for the smaller size; all in pots."""
    return (larger - bet) * (1 + smaller) / ((larger - smaller) * (1 + bet))


@dataclass(frozen=True, slots=True)
class Taken:
    """One of the things that the betting so far may have been taken for."""

    node: int
    """In the street of our tree, or a root of its next street."""
    weight: F64
    """[hand] the probability of this and of our own actions."""


class Translation:
    """Our strategy in a tree in which the opponent has one bet between the two of ours.

    Both trees offer the same but for that bet: their raises are matched by rank, not by chips, since pots differ once
    something was taken for what it is not.
    """

    def __init__(self, us: int, blueprint: Whole, mixed: Whole, smaller: float) -> None:
        """`smaller` is the probability that the bet is taken for the smaller one."""
        self._us, self._blueprint, self._mixed, self._smaller = us, blueprint, mixed, smaller

    def put_in(self) -> None:
        """Make it our average in the mixed tree."""
        hands = len(self._mixed.subgame.hands[self._us])
        table, lines = self._street(0, 0, {0: [Taken(0, np.ones(hands))]})
        self._mixed.set_table(self._us, 0, table)
        for flop in range(self._mixed.flops):
            possible = self._mixed.possible(self._us, flop)
            roots = {
                root: [Taken(self._forest(FLOP).root(taken.node), taken.weight * possible) for taken in all_taken]
                for root, all_taken in lines.items()
            }
            table, _ = self._street(FLOP, 1 + flop, roots)
            self._mixed.set_table(self._us, 1 + flop, table)

    def _forest(self, street: int) -> Forest:
        return self._blueprint.subgame.forests[street]

    def _street(self, street: int, board: int, roots: dict[int, list[Taken]]) -> tuple[F64, dict[int, list[Taken]]]:
        """Our table in the mixed tree, and what its lines are taken for, given what the street's roots are."""
        small, large = self._forest(street), self._mixed.subgame.forests[street]
        ours = self._blueprint.table(self._us, board)
        table = np.zeros((large.edges[self._us], len(self._mixed.subgame.hands[self._us])))
        lines: dict[int, list[Taken]] = {}
        waiting = [(large.root(root), all_taken) for root, all_taken in roots.items()]
        for node, all_taken in waiting:
            actions, player = large.nodes[node].actions, int(large.player[node])
            after: list[list[Taken]] = [[] for _ in actions]
            for taken in all_taken:
                offered = small.nodes[taken.node].actions
                edge = int(small.edge[taken.node])
                strategy = normalised(ours[edge : edge + len(offered)]) if player == self._us else None
                for place, share in self._shares(actions, offered):
                    for there, part in share:
                        weight = taken.weight * (part if strategy is None else strategy[there])
                        if strategy is not None:
                            table[large.edge[node] + place] += weight
                        after[place].append(Taken(_child(small, taken.node, there), weight))
            for place, found in enumerate(after):
                child = _child(large, node, place)
                if child < 0:
                    lines[-1 - child] = [Taken(-1 - each.node, each.weight) for each in found]
                elif child < len(large.nodes):
                    waiting.append((child, found))
        return table, lines

    def _shares(
        self, actions: Sequence[Action], offered: Sequence[Action]
    ) -> list[tuple[int, list[tuple[int, float]]]]:
        """For each action here what it is taken for there, with probabilities."""
        plain = sum(not isinstance(action, Raise) for action in actions)
        if len(actions) == len(offered):
            return [(place, [(place, 1.0)]) for place in range(len(actions))]
        assert len(actions) == len(offered) + 1 == plain + 3  # two bets of ours around one of theirs
        between = [(plain, self._smaller), (plain + 1, 1 - self._smaller)]
        return [
            *[(place, [(place, 1.0)]) for place in range(plain + 1)],
            (plain + 1, between),
            (plain + 2, [(plain + 1, 1.0)]),
        ]


def _child(forest: Forest, node: int, place: int) -> int:
    """A node of the street; for a root of the next street one less than minus its number; else beyond all nodes."""
    number, row = forest.find(node)
    part = forest.parts[number]
    child = int(part.child[part.first[row] + place])
    if child < len(part.nodes):
        return forest.number(number, child)
    root = child - len(part.nodes) - part.showdown_lanes - part.fold_lanes
    if 0 <= root < part.num_next:
        return -1 - sum(each.num_next for each in forest.parts[:number]) - root
    return len(forest.nodes)
