"""CFR, values and best responses over all histories of a game, in float64: the twin of `solver.small`.

Nothing is known here of public trees, hands or matrices: a game is a tree of histories with the names of information
sets, of perfect recall. `histories` makes one of a public tree by dealing every pair of hands; an information set is
then the player, its hand and the path. Hands that a player picks become a decision of its own before the tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from solver.algorithms import Algorithm
from solver.small import Chance, Decision, Leaf, Node


@dataclass(frozen=True, slots=True)
class End:
    won: float
    """By player 0."""


@dataclass(frozen=True, slots=True)
class Nature:
    outcomes: list[tuple[float, History]]


@dataclass(frozen=True, slots=True)
class Act:
    player: int
    name: Hashable
    """The information set."""
    children: list[History]


History = End | Nature | Act


def histories(root: Node, joint: np.ndarray) -> History:
    """A public tree, hands dealt first."""
    pairs = np.argwhere(joint > 0).tolist()
    return Nature([(float(joint[pair]), _dealt(root, pair, ())) for pair in map(tuple, pairs)])


def picked(root: Node, joint: np.ndarray, player: int, sets: Sequence[int]) -> History:
    """The same, but `player` is only dealt a set and picks a hand of it."""
    mine = joint.sum(axis=1 - player)
    deals = []
    for each in sorted(set(sets)):
        choices: list[History] = []
        hands = [hand for hand, number in enumerate(sets) if number == each]
        for hand in hands:
            row = joint[hand] if player == 0 else joint[:, hand]
            pairs = [((hand, other) if player == 0 else (other, hand), p) for other, p in enumerate(row) if p > 0]
            choices.append(Nature([(p / mine[hand], _dealt(root, pair, ())) for pair, p in pairs]))
        deals.append((float(mine[hands].sum()), Act(player, ("set", each), choices)))
    return Nature(deals)


def _dealt(node: Node, hands: tuple[int, int], path: tuple[str, ...]) -> History:
    match node:
        case Leaf(payoff):
            return End(_for_hands(payoff, hands))
        case Decision(player, children):
            after = [_dealt(child, hands, (*path, name)) for name, child in children.items()]
            return Act(player, (player, path, hands[player]), after)
        case Chance(outcomes):
            shares = [(_for_hands(p, hands), child, name) for name, (p, child) in outcomes.items()]
            return Nature([(p, _dealt(child, hands, (*path, name))) for p, child, name in shares if p > 0])


def _for_hands(numbers: object, hands: tuple[int, int]) -> float:
    array = np.asarray(numbers, float)
    return float(array[hands] if array.ndim else array)


class SlowGame:
    """Regrets, averages and what both are worth, by information set."""

    def __init__(self, root: History, algorithm: Algorithm, *, simultaneous: bool = False) -> None:
        self.root, self.algorithm, self.simultaneous = root, algorithm, simultaneous
        self.regrets: dict[Hashable, np.ndarray] = {}
        self.averages: dict[Hashable, np.ndarray] = {}
        self.iterations = 0

    def iterate(self) -> None:
        self.iterations += 1
        weights = self.algorithm.weights(self.iterations)
        before = dict(self.regrets)
        for me in range(2):
            played = before if self.simultaneous else self.regrets
            values: dict[Hashable, np.ndarray] = defaultdict(lambda: np.zeros(1))
            reached: dict[Hashable, np.ndarray] = {}
            self._walk(self.root, me, 1.0, 1.0, dict(played), values, reached)
            for name, added in reached.items():
                kept = self.averages.get(name, np.zeros(len(added))) * weights.keep_average
                self.averages[name] = kept + added * weights.add_average
            for name, won in values.items():
                regrets = self.regrets.get(name, np.zeros(len(won)))
                keep = np.where(regrets > 0, weights.keep_positive, weights.keep_negative)
                self.regrets[name] = regrets * keep + won - matched(regrets) @ won

    def _walk(
        self,
        node: History,
        me: int,
        others: float,
        theirs: float,
        played: dict[Hashable, np.ndarray],
        values: dict[Hashable, np.ndarray],
        reached: dict[Hashable, np.ndarray],
    ) -> float:
        """What a history is worth to `me`, which all `others` reach so probably, chance among them, `theirs` without.

        Collects the values of my actions times the reach of others, and the other player's strategies times its own.
        """
        match node:
            case End(won):
                return won if me == 0 else -won
            case Nature(outcomes):
                return sum(
                    p * self._walk(child, me, others * p, theirs, played, values, reached) for p, child in outcomes
                )
            case Act(player, name, children):
                strategy = matched(played.get(name, np.zeros(len(children))))
                mine = np.where(player == me, 1.0, strategy)
                if player != me:
                    reached[name] = theirs * strategy
                won = np.array(
                    [
                        self._walk(child, me, others * p, theirs * p, played, values, reached)
                        for p, child in zip(mine, children, strict=True)
                    ]
                )
                if player == me:
                    values[name] = values[name] + others * won
                return float(strategy @ won)

    def value(self) -> float:
        """What player 0 wins when both play their averages."""
        return self._value(self.root)

    def _value(self, node: History) -> float:
        match node:
            case End(won):
                return won
            case Nature(outcomes):
                return sum(p * self._value(child) for p, child in outcomes)
            case Act(_, name, children):
                return sum(
                    p * self._value(child) for p, child in zip(self.average(name, children), children, strict=True)
                )

    def best_response(self, me: int) -> float:
        """What `me` wins by responding best to the other's average."""
        return self._best([(1.0, self.root)], me)

    def average(self, name: Hashable, children: Sequence[History]) -> np.ndarray:
        return matched(self.averages.get(name, np.zeros(len(children))))

    def _best(self, waiting: list[tuple[float, History]], me: int) -> float:
        """Histories that `me` reaches by the same actions of its own, weighted with the reach of others."""
        total, sets = 0.0, defaultdict(list)
        while waiting:
            reach, node = waiting.pop()
            match node:
                case End(won):
                    total += reach * (won if me == 0 else -won)
                case Nature(outcomes):
                    waiting += [(reach * p, child) for p, child in outcomes]
                case Act(player, name, children):
                    if player == me:
                        sets[name].append((reach, children))
                    else:
                        waiting += list(zip(reach * self.average(name, children), children, strict=True))
        for members in sets.values():
            count = len(members[0][1])
            total += max(self._best([(reach, after[a]) for reach, after in members], me) for a in range(count))
        return total


def matched(regrets: np.ndarray) -> np.ndarray:
    """Proportional to what is positive, uniform if nothing is."""
    positive = np.maximum(regrets, 0.0)
    return positive / positive.sum() if positive.sum() > 0 else np.full(len(regrets), 1 / len(regrets))
