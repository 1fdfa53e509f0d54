"""Hidden actions, for games in which a player acts unseen before all else, or both act at once.

They have no public node. Two nodes with the edges of one information set would not do: kernels go node by node, so the
second would play what the first has just learnt, and discounts would count once a node. But an action that nobody sees
is a private hand that its player has picked instead of being dealt. `Chooser` lets a player pick: between passes it
matches regrets over hands, whose values at the root are what a pass returns, and hands in the result as the player's
range. That is CFR on the very game if hidden actions come before all else, as in Rock-Paper-Scissors+; one that comes
later would need hands that split on the way. It works on poker too: the gadget of Maxmargin search lets an opponent
choose so with which hand to enter a subgame (Brown's thesis, 5.1.10).
"""

from __future__ import annotations

from copy import copy

import numpy as np
import numpy.typing as npt

from protocol.errors import ParatusError
from solver.algorithms import Algorithm, Weights
from solver.engine import Engine, Exploitability
from solver.kernels import UPDATE
from solver.problem import Problem
from solver.tables import F32, F64, Batch

_BY_PASS = ("players", "weights", "watch_weights", "seeds")
"""What a batch has for each of its passes."""


class ChooserError(ParatusError):
    """A choice that makes no sense."""


class Chooser(Engine):
    """CFR on a problem in which `player` picks its hand itself, unseen, instead of being dealt it.

    With `sets` [hand] chance deals the number of a set, of which the player picks a hand. The opponent's hand is as
    probable as if the player's had been dealt. After each iteration `problem` is one in which hands come as often as
    they were picked on average, so that everything is asked as usual.
    """

    def __init__(
        self,
        problem: Problem,
        player: int,
        sets: npt.ArrayLike | None = None,
        algorithm: Algorithm | None = None,
        *,
        threads: int | None = None,
        seed: int = 0,
        simultaneous: bool = False,
    ) -> None:
        super().__init__(copy(problem), algorithm, threads=threads, seed=seed, simultaneous=simultaneous)
        self.player = player
        self.problem.ranges = (problem.ranges[0].copy(), problem.ranges[1].copy())
        self._dealt_weights, self._against = problem.weights[player], problem.compatible[player]
        self._dealt = problem.chance(self._dealt_weights, player)
        numbers = np.zeros(len(self._dealt)) if sets is None else np.asarray(sets)
        if numbers.shape != self._dealt.shape or not (self._dealt > 0).all():
            raise ChooserError(f"sets {numbers.shape}: expected {len(self._dealt)}, and no hand that is never dealt")
        self._set = np.unique(numbers, return_inverse=True)[1]
        self._hand_regrets, self._hand_sums, self._now = np.zeros((3, len(self._dealt)))
        self._settle()

    def choice(self) -> F64:
        """The average: [hand] its probability within its set."""
        return self._matched(self._hand_sums)

    def iterate(self, count: int = 1) -> None:
        try:
            super().iterate(count)
        finally:
            self._settle()

    def exploitability(self) -> Exploitability:
        """Of the average strategies and choice."""
        found = super().exploitability()
        most = np.full(len(self._dealt), -np.inf)
        np.maximum.at(most, self._set, self.best_response_values(self.player))
        best = list(found.best_response)
        best[self.player] = float(most[self._set] @ self._dealt)
        return Exploitability((best[0], best[1]), found.big_blind, found.pot)

    def _run(self, batch: Batch, threads: int) -> None:
        if batch.mode != UPDATE:
            super()._run(batch, threads)
            return
        for number, player in enumerate(batch.players.tolist()):
            if player == 0 or not self.simultaneous:
                self._now = self._matched(self._hand_regrets)
                self._deal(self._now)
            alone = {name: getattr(batch, name)[number : number + 1] for name in _BY_PASS}
            super()._run(batch._replace(**alone), threads)
            self._learn(player, batch.results[player], Weights(*batch.weights[number]))

    def _learn(self, player: int, values: F32, weights: Weights) -> None:
        if player == self.player:
            won = values[: len(self._against)] / self._against
            kept = np.where(self._hand_regrets > 0, weights.keep_positive, weights.keep_negative)
            self._hand_regrets = self._hand_regrets * kept + won - self._by_set(self._now * won)
        else:  # as the player's averages in the tree
            self._hand_sums = self._hand_sums * weights.keep_average + self._now * weights.add_average

    def _deal(self, choice: F64) -> F64:
        """Weights with which hands come as often as chosen."""
        weights: F64 = self._dealt_weights * choice * self._by_set(self._dealt) / self._dealt
        self.problem.ranges[self.player][: len(weights)] = weights
        return weights

    def _settle(self) -> None:
        """Make the average choice what hands come by."""
        problem, both = self.problem, list(self.problem.weights)
        both[self.player] = self._deal(self.choice())
        problem.weights = (both[0], both[1])
        problem.compatible = (problem.opposing(0, both[1]), problem.opposing(1, both[0]))

    def _matched(self, sums: F64) -> F64:
        positive = np.maximum(sums, 0.0)
        total = self._by_set(positive)
        return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1 / self._by_set(np.ones(len(sums))))

    def _by_set(self, numbers: F64) -> F64:
        """[hand] the sum over its set."""
        sums = np.bincount(self._set, numbers).astype(np.float64)
        return sums[self._set]
