"""A depth-limited game solved plainly, a hand and an action at a time: the slow twin of `solver.depth_limited`.

Written from the definition: simultaneous regret matching at decisions and at choices of continuations, counterfactual
values, averages by own reach. Leaves are matrices [continuation of 0, continuation of 1, hand of 0, hand of 1] of what
player 0 wins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Ends:
    """A leaf: what player 0 wins, and the choice that each player makes there; None for none."""

    payoffs: Array
    choices: tuple[int | None, int | None]


@dataclass(frozen=True)
class Acts:
    """A decision, with a number of its own."""

    number: int
    player: int
    children: Sequence[Acts | Ends]


class SlowLimited:
    def __init__(
        self, root: Acts, ranges: tuple[Array, Array], continuations: tuple[int, int], given: Mapping[int, Array]
    ) -> None:
        self.root, self.ranges, self.continuations, self.given = root, ranges, continuations, given
        self.regrets: dict[Any, Array] = defaultdict(lambda: np.zeros(0))
        self.sums: dict[Any, Array] = defaultdict(lambda: np.zeros(0))

    def iterate(self, keep_average: float, add_average: float, keep_positive: float, keep_negative: float) -> None:
        gained: dict[Any, Array] = {}
        played: dict[Any, Array] = {}

        def current(key: Any, count: int, hands: int) -> Array:
            if key in self.given:
                return self.given[key]
            regrets = self.regrets[key]
            strategy = np.empty((count, hands))
            for hand in range(hands):
                positive = [max(0.0, regrets[each, hand]) if regrets.size else 0.0 for each in range(count)]
                total = sum(positive)
                for each in range(count):
                    strategy[each, hand] = positive[each] / total if total > 0 else 1 / count
            return strategy

        def values(node: Acts | Ends, reach: tuple[Array, Array]) -> list[Array]:
            if isinstance(node, Ends):
                picks = []
                for player, choice in enumerate(node.choices):
                    if choice is None:
                        picks.append(np.eye(self.continuations[player])[:, :1] * np.ones(len(reach[player])))
                        continue
                    key = "choice", player, choice
                    picks.append(current(key, self.continuations[player], len(reach[player])))
                    played[key] = played.get(key, 0) + picks[-1] * reach[player]
                won = [
                    np.einsum("mjho,jo,o->mh", node.payoffs, picks[1], reach[1]),
                    -np.einsum("mjho,mh,h->jo", node.payoffs, picks[0], reach[0]),
                ]
                mean = [(picks[player] * won[player]).sum(axis=0) for player in range(2)]
                for player, choice in enumerate(node.choices):
                    if choice is not None:
                        key = "choice", player, choice
                        gained[key] = gained.get(key, 0) + won[player] - mean[player]
                return mean
            player = node.player
            strategy = current(node.number, len(node.children), len(reach[player]))
            played[node.number] = strategy * reach[player]
            below = []
            for share, child in zip(strategy, node.children, strict=True):
                to = (reach[0] * share, reach[1]) if player == 0 else (reach[0], reach[1] * share)
                below.append(values(child, to))
            mine = np.array([each[player] for each in below])
            total = [np.sum([each[other] for each in below], axis=0) for other in range(2)]
            total[player] = (strategy * mine).sum(axis=0)
            if node.number not in self.given:
                gained[node.number] = mine - total[player]
            return total

        values(self.root, self.ranges)
        for key, gain in gained.items():
            old = self.regrets[key] if self.regrets[key].size else np.zeros_like(gain)
            self.regrets[key] = np.where(old > 0, keep_positive, keep_negative) * old + gain
        for key, share in played.items():
            old = self.sums[key] if self.sums[key].size else np.zeros_like(share)
            self.sums[key] = keep_average * old + add_average * share

    def strategy(self, key: Any) -> Array:
        sums = self.sums[key]
        return sums / sums.sum(axis=0)
