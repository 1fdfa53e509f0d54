"""CFR on a game whose last street is abstracted: hands on boards that share a bucket share a strategy there.

The production kernels run on the game as it is. Before each pass all members of a bucket hold the same regrets, so that
they play alike; the pass adds to each what it regrets itself; then each is given the mean of all. Only proportions of
regrets count, so the mean will do for the sum that a bucket's regret is, and it keeps the numbers of a small bucket and
of a large one in one range: a sum over thousands of members would round away what one of them adds. Discounts are those
of one number, as all members held the same. That is CFR on the abstract game, with imperfect recall: on the last street
a player knows his bucket and the betting, and has forgotten his cards and the board.

A board counts as often as it has images: regrets leave out the chance of a board, and each image would add as much.
Averages are sums over iterations, so it is enough to put them together once, at the end (`finish`).

Averages are weighted by the reach of the member: a bucket plays what its members play on average.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from protocol.arrays import F32
from solver.algorithms import Algorithm
from solver.kernels.cfr import UPDATE
from solver.kernels.types import Batch
from solver.kernels.vectors import BLOCK
from solver.subgame import Subgame
from solver.subgame_solver import Solver

Buckets = npt.NDArray[np.int32]
"""[board of the last street, hand of the game]: a number from 0 up; -1 for a hand that the board makes impossible."""

_BY_PASS: Final = ("players", "weights", "watch_weights", "seeds")
"""What a batch has for each of its passes."""


def passes(batch: Batch) -> Iterator[Batch]:
    """The passes of a batch one by one."""
    for number in range(len(batch.players)):
        yield batch._replace(**{name: getattr(batch, name)[number : number + 1] for name in _BY_PASS})


class Pooled:
    """The members of buckets, sorted, and means over them."""

    def __init__(self, buckets: Buckets, multiplicity: npt.NDArray[np.int64], widest: int) -> None:
        boards, hands = buckets.shape
        padded = np.full((boards, widest), -1, np.int32)
        padded[:, :hands] = buckets
        flat = padded.ravel()
        self._rows = np.flatnonzero(flat >= 0)
        self._rows = self._rows[np.argsort(flat[self._rows], kind="stable")]
        numbers = flat[self._rows]
        begins = np.flatnonzero(np.diff(numbers, prepend=-1))
        self._begins = begins
        self._group = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(numbers))))
        weight = np.repeat(multiplicity, widest)[self._rows].astype(np.float64)
        self._share = (weight / np.add.reduceat(weight, begins)[self._group]).astype(np.float32)[:, None]

    def __len__(self) -> int:
        return len(self._begins)

    def pool(self, numbers: F32) -> None:
        """Give every member of `numbers` [board, block, edge, hand of the block] the mean of its bucket."""
        boards, blocks, edges, width = numbers.shape
        by_hand = numbers.transpose(0, 1, 3, 2).reshape(boards * blocks * width, edges)
        means = np.add.reduceat(by_hand[self._rows] * self._share, self._begins, axis=0, dtype=np.float64)
        by_hand[self._rows] = means[self._group]
        numbers[:] = by_hand.reshape(boards, blocks, width, edges).transpose(0, 1, 3, 2)


class AbstractSolver(Solver):
    """A solver whose strategies on the last of two streets are those of buckets."""

    def __init__(self, subgame: Subgame, buckets: Buckets, algorithm: Algorithm | None = None) -> None:
        super().__init__(subgame, algorithm, threads=1)
        multiplicity = np.array([len(board.images) for board in subgame.boards[1]])
        live = [buckets[:, subgame.hand_index[player]] for player in range(2)]
        self._pooled = [Pooled(live[player], multiplicity, int(subgame.deals.hands[player])) for player in range(2)]

    def finish(self) -> None:
        """Put the averages of members together; nothing may be solved on after that."""
        for player in range(2):
            self._put_together(player, self.averages[player].view(np.float32))

    def _run(self, batch: Batch, threads: int) -> None:
        if batch.mode != UPDATE:
            super()._run(batch, threads)
            return
        for alone in passes(batch):
            super()._run(alone, threads)
            player = int(alone.players[0])
            self._put_together(player, self.regrets[player].view(np.float32))

    def _put_together(self, player: int, weights: F32) -> None:
        problem = self.problem
        hands, first = int(problem.deals.hands[player]), int(problem.deals.base[player, 1])
        whole = weights[first:].reshape(len(self.subgame.boards[1]), -1)
        for at, edges in problem.part_edges(player, 1):
            if edges:
                part = whole[:, at * hands : (at + edges) * hands]
                self._pooled[player].pool(part.reshape(len(whole), hands // BLOCK, edges, BLOCK))
