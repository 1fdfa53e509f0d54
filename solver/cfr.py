"""The CFR family on a subgame: schedules of discounts and weights, iterations, exploitability, values, strategies.

Every member is the same pass with three numbers an iteration (Brown and Sandholm 2019, "Solving imperfect-information
games via discounted regret minimization"): positive and negative regrets kept, average strategy kept, weight of what is
added. At iteration t, before its regrets are added:

    CFR            1, 1                                average: 1,             1
    CFR+           1, 0                                average: 1,             t
    LCFR           (t-1)/t, (t-1)/t                    average: (t-1)/t,       1
    DCFR(α, β, γ)  s^α/(s^α+1), s^β/(s^β+1), s = t-1   average: ((t-1)/t)^γ,   1

CFR+ floors the sum of regrets at zero; keeping nothing of a negative sum before the next is added is the same. Updates
alternate: player 0, then player 1 against player 0's new strategy. A player's average is weighted by its own reach, its
regrets by the opponent's and chance's.

Values are net chips of the whole hand. Exploitability is the mean of what both players gain over the value of the game
by responding best to the average strategies: half the sum of both best-response values, which is zero in equilibrium.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from solver.betting import F32
from solver.kernels import BEST, FOLLOW, UPDATE, run
from solver.subgame import Subgame, aligned_zeros
from solver.vectors import LANES

F64 = npt.NDArray[np.float64]


class Weights(NamedTuple):
    """The numbers of one iteration."""

    keep_positive: float
    keep_negative: float
    keep_average: float
    add_average: float


class Algorithm(Protocol):
    """A member of the family."""

    def weights(self, iteration: int) -> Weights:
        """Those of iteration 1, 2, …"""
        ...


@dataclass(frozen=True, slots=True)
class CFR:
    """Plain counterfactual regret minimisation; `plus` makes it CFR+."""

    plus: bool = False

    def weights(self, iteration: int) -> Weights:
        return Weights(1.0, 0.0, 1.0, float(iteration)) if self.plus else Weights(1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class DCFR:
    """Discounted CFR; (1, 1, 1) is LCFR."""

    alpha: float = 1.5
    beta: float = 0.0
    gamma: float = 2.0

    def weights(self, iteration: int) -> Weights:
        before = iteration - 1
        if before == 0:
            return Weights(0.0, 0.0, 0.0, 1.0)
        return Weights(
            before**self.alpha / (before**self.alpha + 1),
            before**self.beta / (before**self.beta + 1),
            (before / iteration) ** self.gamma,
            1.0,
        )


@dataclass(frozen=True, slots=True)
class Exploitability:
    """What best responses win, in chips a hand."""

    best_response: tuple[float, float]
    """The value of each player's best response to the other's average."""
    big_blind: int
    pot: int

    @property
    def chips(self) -> float:
        """The mean gain of both players."""
        return sum(self.best_response) / 2

    @property
    def mbb(self) -> float:
        """In thousandths of a big blind."""
        return 1000 * self.chips / self.big_blind

    @property
    def pot_share(self) -> float:
        """As a fraction of the pot at the root."""
        return self.chips / self.pot


class Solver:
    """Regrets and averages of one subgame, and what is done with them. One thread at a time may use it."""

    def __init__(self, subgame: Subgame, algorithm: Algorithm | None = None) -> None:
        self.subgame = subgame
        self.algorithm: Algorithm = algorithm or DCFR()
        self.iterations = 0
        last = subgame.deals.base[:, -1]
        edges, hands = subgame.trees.edges[-1], subgame.deals.hands
        sizes = [int(last[player]) + int(edges[player]) * int(hands[player]) for player in range(2)]
        self.regrets = tuple([aligned_zeros(size) for size in sizes])
        self.averages = tuple([aligned_zeros(size) for size in sizes])
        self._scratch = subgame.scratch()
        self._result = tuple([aligned_zeros(int(count)) for count in hands])

    def iterate(self, count: int = 1) -> None:
        """Run `count` iterations."""
        for _ in range(count):
            self.iterations += 1
            weights = self.algorithm.weights(self.iterations)
            for player in range(2):
                self._run(player, self.regrets[player], self.regrets[1 - player], UPDATE, weights)

    def exploitability(self) -> Exploitability:
        """Of the average strategies."""
        best = [float(self.best_response_values(player) @ self._weights(player)) for player in range(2)]
        root = self.subgame.root
        return Exploitability((best[0], best[1]), root.game.big_blind, root.pot)

    def best_response_values(self, player: int) -> F64:
        """What each hand of `player` wins by responding best to the other's average, in chips."""
        return self._values(player, BEST)

    def values(self, player: int) -> F64:
        """What each hand of `player` wins when both play their averages, in chips."""
        return self._values(player, FOLLOW)

    def game_value(self, player: int) -> float:
        """What `player` wins when both play their averages."""
        return float(self.values(player) @ self._weights(player))

    def strategy(self, street: int, node: int, board: int = 0) -> F64:
        """The average strategy at a decision: [action, hand]; `board` counts those of the street."""
        subgame = self.subgame
        forest = subgame.forests[street]
        player, count = int(forest.player[node]), len(forest.nodes[node].actions)
        number = sum(len(boards) for boards in subgame.boards[:street]) + board
        size = forest.edges[player] * int(subgame.deals.hands[player])
        begin = int(subgame.deals.base[player, number])
        table = self.averages[player][begin : begin + size].reshape(-1, forest.edges[player], LANES)
        edge = int(forest.edge[node])
        weights = table[:, edge : edge + count].transpose(1, 0, 2).reshape(count, -1)[:, : len(subgame.hands[player])]
        total = weights.sum(axis=0, dtype=np.float64)
        return np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / count)

    def _weights(self, player: int) -> F64:
        """The probability of each hand of `player`, with a compatible opponent's hand dealt too."""
        subgame = self.subgame
        return subgame.ranges[player] * subgame.compatible[player] / subgame.total

    def _values(self, player: int, mode: int) -> F64:
        weights = Weights(1.0, 1.0, 1.0, 1.0)
        result = self._run(player, self.averages[player], self.averages[1 - player], mode, weights)
        compatible = self.subgame.compatible[player]
        return np.where(compatible > 0, result / np.where(compatible > 0, compatible, 1), 0.0)

    def _run(self, player: int, mine: F32, theirs: F32, mode: int, weights: Weights) -> F32:
        subgame, other, result = self.subgame, 1 - player, self._result[player]
        run(
            subgame.trees, subgame.deals, self._scratch, player, subgame.ranges[other], mine, theirs,
            self.averages[other], mode, weights.keep_average, weights.add_average,
            weights.keep_positive, weights.keep_negative, result,
        )  # fmt: skip
        return result
