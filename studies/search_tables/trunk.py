"""A strategy for the whole game, what it is worth, and the strategies for its flops that search puts in its place.

Values are chips a hand, over the other player's compatible reach: what a hand wins if it is there. On the flop they are
[flop, line, hand] arrays: a *line* is a way in which betting before the flop leads to the flop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from protocol.arrays import F64, I32
from protocol.state import Action, Fold, State
from solver.algorithms import Algorithm
from solver.betting import Forest
from solver.gadgets import Gadget, gift
from solver.kernels.cfr import BEST, FOLLOW
from solver.kernels.types import Watch, aligned_zeros
from solver.subgame import Place, Subgame
from solver.subgame_solver import Solver

FLOP: Final = 1


@dataclass(frozen=True, slots=True)
class TrunkStep:
    """A decision before the flop on the way to a line, and the number of the action taken."""

    node: int
    action: int


class Whole(Solver):
    """The whole game, with averages that are put in from elsewhere."""

    def __init__(self, subgame: Subgame, algorithm: Algorithm | None = None, *, gadget: Gadget | None = None) -> None:
        super().__init__(subgame, algorithm, threads=1, gadget=gadget)

    @property
    def flops(self) -> int:
        """How many are solved; those that a change of suits makes alike count once."""
        return len(self.subgame.boards[FLOP])

    @property
    def lines(self) -> tuple[State, ...]:
        """The state in which the flop's betting begins, by line."""
        return self.subgame.forests[0].next_states

    def steps(self, line: int) -> list[TrunkStep]:
        """The decisions that lead to the flop."""
        found, before = [], self.subgame.before(Place(FLOP, self.subgame.forests[FLOP].root(line), 0))
        while before is not None:
            place, action = before
            found.append(TrunkStep(place.node, action))
            before = self.subgame.before(place)
        return found[::-1]

    def arrivals(self, player: int) -> F64:
        """[line, hand] the player's reach when the flop is dealt."""
        reach = np.ones((len(self.lines), len(self.subgame.hands[player])))
        for line in range(len(self.lines)):
            for step in self.steps(line):
                place = Place(0, step.node, 0)
                if self._actor(place) == player:
                    reach[line] *= self.strategy(place)[step.action]
        return reach

    def flop_values(self, player: int, *, best: bool) -> F64:
        """[flop, line, hand] what the player wins from there on: by a best response, or by its average."""
        roots = [self.subgame.forests[FLOP].find(self.subgame.forests[FLOP].root(k)) for k in range(len(self.lines))]
        values = self.all_values(player, [part for part, _ in roots], [row for _, row in roots], best=best)
        against = self.against(player, self.arrivals(1 - player))
        return np.divide(values, against, out=np.zeros_like(values), where=against > 0)

    def against(self, player: int, arrivals: F64) -> F64:
        """[flop, line, hand] the other player's reach with hands that can be held beside the player's."""
        found = np.zeros((self.flops, len(arrivals), len(self.subgame.hands[player])))
        for flop in range(self.flops):
            mine, theirs = (self.possible(each, flop) for each in (player, 1 - player))
            for line, reach in enumerate(arrivals):
                found[flop, line] = self.subgame.opposing(player, reach * theirs) * mine
        return found

    def possible(self, player: int, flop: int) -> F64:
        """[hand] 1, or 0 where the flop has one of its cards."""
        deals = self.subgame.deals
        number = len(self.subgame.boards[0]) + flop
        alive: F64 = deals.alive[player, number, : len(self.subgame.hands[player])].astype(np.float64)
        return alive

    def all_values(self, player: int, parts: Sequence[int], rows: Sequence[int], *, best: bool) -> F64:
        """[flop, row, hand] counterfactual values of rows of parts, on all flops at once."""
        problem = self.problem
        hands, count = int(problem.deals.hands[player]), len(rows)
        at = np.zeros(len(problem.deals.street) + 1, np.int32)
        at[2:] = count * np.arange(1, self.flops + 1)
        first = int(problem.trees.part_at[FLOP])
        watch = Watch(
            at,
            np.tile(np.array(parts, np.int32) + first, self.flops),
            np.tile(np.array(rows, np.int32), self.flops),
            aligned_zeros(self.flops * count * hands),
        )
        self._ask(player, BEST if best else FOLLOW, watch)
        values = watch.values.reshape(self.flops, count, hands)
        return values[:, :, : len(problem.weights[player])].astype(np.float64)

    def gifts(self, player: int, line: int, *, best: bool, ends_only: bool = True) -> F64:
        """[hand] what the player gave away before the flop by coming to a line: the bound of 5.1.3, or all."""
        total = np.zeros(len(self.subgame.hands[player]))
        for step in self.steps(line):
            place = Place(0, step.node, 0)
            if self._actor(place) == player:
                values = self.choice_values(player, place, best=best)
                actions = self.node(place).actions
                ends = [number for number, action in enumerate(actions) if isinstance(action, Fold)]
                total += gift(values, step.action, ends if ends_only else None)
        return total

    def choice_values(self, player: int, place: Place, *, best: bool) -> F64:
        """[action, hand] what the actions of a decision before the flop win."""
        part = self.subgame.forests[0].parts[0]
        rows = part.child[part.first[place.node] : part.first[place.node + 1]]
        values = self.row_values(player, 0, 0, rows.tolist(), best=best)
        against = self.subgame.opposing(player, self.reach(1 - player, place))
        return np.divide(values, against, out=np.zeros_like(values), where=against > 0)


@dataclass(frozen=True, slots=True)
class Seam:
    """Which edges of a player in a large tree's street those of a smaller tree are."""

    small: I32
    large: I32

    @classmethod
    def of(cls, player: int, small: Forest, large: Forest, after: Sequence[Action] = ()) -> Seam:
        """Decisions are the same if the betting before them is; the large tree may offer more.

        Only decisions that come `after` these first actions of the hand.
        """
        nodes = {node.state.betting: number for number, node in enumerate(large.nodes)}
        pairs = []
        for number, node in enumerate(small.nodes):
            if small.player[number] == player and node.state.actions[: len(after)] == tuple(after):
                there = nodes[node.state.betting]
                offered = large.nodes[there].actions
                pairs += [
                    (small.edge[number] + place, large.edge[there] + offered.index(action))
                    for place, action in enumerate(node.actions)
                ]
        found = np.array(pairs, np.int32).reshape(-1, 2)
        return cls(found[:, 0].copy(), found[:, 1].copy())

    def copy(self, source: F64, target: F64, hands: npt.NDArray[np.integer] | None = None) -> None:
        """Rows [edge, hand] of one table into another; `hands` are the target's numbers of the source's hands."""
        if hands is None:
            target[self.large] = source[self.small]
        else:
            target[np.ix_(self.large, hands)] = source[self.small]
