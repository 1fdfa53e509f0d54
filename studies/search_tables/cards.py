"""Table 5.1: search on every flop of a game whose strategy was computed with buckets.

A *trunk* is the solution of the game with buckets on the flop. Search solves each flop of each line on its own, without
buckets, from what the trunk knows when the flop is dealt; our strategies found so are put in the trunk's place, for
each seat. The methods differ in what they assume about the opponent at the root (`METHODS`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from machine.files import whole_file
from protocol.arrays import F32, F64, I32
from solver.algorithms import Algorithm
from solver.engine import Exploitability
from solver.gadget_kinds import Form
from solver.gadgets import Gadget
from solver.kernels.cfr import UPDATE
from solver.kernels.types import Batch
from solver.subgame import Subgame
from solver.subgame_solver import Solver
from studies.search_tables.abstract import AbstractSolver, Buckets, passes
from studies.search_tables.games import SEATS
from studies.search_tables.trunk import FLOP, Seam, Whole


@dataclass(frozen=True, slots=True)
class CardMethod:
    """What search assumes about the opponent at the root of a flop."""

    form: Form | None
    """None for unsafe: the opponent comes with the hands that the trunk brings."""
    estimated: bool = False
    """Alternative payoffs by the opponent's strategy within the abstraction; else by its best response."""
    distributed: bool = False
    reach: bool = False
    """Gifts on top."""
    split: bool = True
    """Gifts as they are; else times the number of flops that are solved."""
    scale: float = 1.0
    """Gifts times that too."""


METHODS: Final = {
    "Unsafe": CardMethod(None),
    "Resolve": CardMethod(Form.RESOLVE),
    "Maxmargin": CardMethod(Form.MAXMARGIN),
    "Reach-Maxmargin": CardMethod(Form.MAXMARGIN, reach=True),
    "Reach-Maxmargin (not split)": CardMethod(Form.MAXMARGIN, reach=True, split=False),
    "Estimate": CardMethod(Form.RESOLVE, estimated=True),
    "Estimate + Distributional": CardMethod(Form.RESOLVE, estimated=True, distributed=True),
    "Reach-Estimate + Distributional": CardMethod(Form.RESOLVE, estimated=True, distributed=True, reach=True),
    "Reach-Estimate + Distributional (not split)": CardMethod(
        Form.RESOLVE, estimated=True, distributed=True, reach=True, split=False
    ),
}


@dataclass(frozen=True, slots=True)
class Trunk:
    """What search starts from. Pairs are by player; values are those of the player as the opponent of search."""

    averages: tuple[F32, F32]
    """As the engine keeps them."""
    exact: tuple[F64, F64]
    """[flop, line, hand] by best response to the other's average."""
    estimate: tuple[F64, F64]
    """[flop, line, hand] with the strategy of the last iteration, against the other's average."""
    exact_gifts: tuple[F64, F64]
    """[line, hand]"""
    estimated_gifts: tuple[F64, F64]

    def save(self, path: Path) -> None:
        """As a file of numpy's."""
        arrays = {f"{name}{player}": getattr(self, name)[player] for name in self.__slots__ for player in SEATS}
        with whole_file(path) as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: Path) -> Trunk:
        """The inverse."""
        with np.load(path) as arrays:
            return cls(*[(arrays[f"{name}0"], arrays[f"{name}1"]) for name in cls.__slots__])


def solve_trunk(
    subgame: Subgame, buckets: Buckets | None, algorithm: Algorithm, iterations: int
) -> Iterator[int | Trunk]:
    """The solution with buckets, or without; yields the iterations done now and then, and at last the trunk."""
    solver = Solver(subgame, algorithm, threads=1) if buckets is None else AbstractSolver(subgame, buckets, algorithm)
    while solver.iterations < iterations:
        solver.iterate(min(10, iterations - solver.iterations))
        yield solver.iterations
    if isinstance(solver, AbstractSolver):
        solver.finish()
    averages = (solver.averages[0].view(np.float32), solver.averages[1].view(np.float32))
    regrets = (solver.regrets[0].view(np.float32), solver.regrets[1].view(np.float32))
    whole = put_in(subgame, averages)
    exact = [whole.flop_values(player, best=True) for player in SEATS]
    exact_gifts = [_gifts(whole, player, best=True) for player in SEATS]
    estimate, estimated_gifts = [], []
    for player in SEATS:
        last = put_in(subgame, (regrets[0], averages[1]) if player == 0 else (averages[0], regrets[1]))
        estimate.append(last.flop_values(player, best=False))
        estimated_gifts.append(_gifts(last, player, best=False))
    pairs = [(each[0], each[1]) for each in (exact, estimate, exact_gifts, estimated_gifts)]
    yield Trunk(averages, *pairs)


def put_in(subgame: Subgame, averages: tuple[F32, F32]) -> Whole:
    """An engine with these averages. Regrets may stand for averages: the strategy of an iteration follows them."""
    whole = Whole(subgame)
    for player in SEATS:
        whole.averages[player][:] = averages[player]
    return whole


def _gifts(whole: Whole, player: int, *, best: bool) -> F64:
    return np.array([whole.gifts(player, line, best=best) for line in range(len(whole.lines))])


class Together(Solver):
    """All flops solved at once, our strategy before the flop being the trunk's: no search can come to less."""

    def __init__(self, subgame: Subgame, us: int, trunk: Trunk, algorithm: Algorithm) -> None:
        super().__init__(subgame, algorithm, threads=1)
        self._us = us
        self._first = trunk.averages[us][: int(self.problem.deals.base[us, 1])]
        self._restore()

    def _run(self, batch: Batch, threads: int) -> None:
        if batch.mode != UPDATE:
            super()._run(batch, threads)
            return
        for alone in passes(batch):
            super()._run(alone, threads)
            self._restore()

    def _restore(self) -> None:
        """Only proportions of regrets count, and those of an average are its strategy."""
        self.regrets[self._us].view(np.float32)[: len(self._first)] = self._first


class Search:
    """A method applied to every flop."""

    def __init__(
        self, subgame: Subgame, trunk: Trunk, method: CardMethod, algorithm: Algorithm, iterations: int
    ) -> None:
        self.whole = put_in(subgame, trunk.averages)
        self._trunk, self._method, self._algorithm, self._iterations = trunk, method, algorithm, iterations
        self._arrivals = [self.whole.arrivals(player) for player in SEATS]
        self._tables = [[self.whole.table(player, 1 + flop) for flop in range(self.whole.flops)] for player in SEATS]

    def run(self) -> Iterator[float]:
        """Search; yields what share of it is done."""
        jobs = [(us, line) for us in SEATS for line in range(len(self.whole.lines))]
        for number, (us, line) in enumerate(jobs):
            seam: Seam | None = None
            for flop in range(self.whole.flops):
                solver = self._solve(us, line, flop)
                if solver is None:
                    continue
                small = solver.subgame
                seam = seam or Seam.of(us, small.forests[0], self.whole.subgame.forests[FLOP])
                seam.copy(solver.table(us, 0), self._tables[us][flop], small.hand_index[us])
                yield (number + (flop + 1) / self.whole.flops) / len(jobs)
        for us in SEATS:
            for flop in range(self.whole.flops):
                self.whole.set_table(us, 1 + flop, self._tables[us][flop])

    def exploitability(self) -> Exploitability:
        """Of our strategies in both seats."""
        return self.whole.exploitability()

    def _solve(self, us: int, line: int, flop: int) -> Solver | None:
        """The solved subgame; None where our strategy never gets there."""
        subgame, opponent = self.whole.subgame, 1 - us
        ours = self._arrivals[us][line] * self.whole.possible(us, flop)
        theirs = self._arrivals[opponent][line] if self._method.form is None else np.ones(len(ours))
        theirs = theirs * self.whole.possible(opponent, flop)
        if not ours.any() or not theirs.any():
            return None
        ranges = (ours, theirs) if us == 0 else (theirs, ours)
        board = subgame.boards[FLOP][flop].cards
        small = Subgame(self.whole.lines[line], board, ranges, subgame.menu, alike=False)
        gadget = self._gadget(opponent, line, flop, small.hand_index[opponent])
        solver = Solver(small, self._algorithm, threads=1, gadget=gadget)
        solver.iterate(self._iterations)
        return solver

    def _gadget(self, opponent: int, line: int, flop: int, hands: I32) -> Gadget | None:
        method, trunk = self._method, self._trunk
        if method.form is None:
            return None
        exact = trunk.exact[opponent][flop, line][hands]
        payoffs = trunk.estimate[opponent][flop, line][hands] if method.estimated else exact
        spreads = np.abs(payoffs - exact) if method.distributed else None
        if method.reach:
            gifts = (trunk.estimated_gifts if method.estimated else trunk.exact_gifts)[opponent][line][hands]
            payoffs = payoffs + gifts * method.scale * (1 if method.split else self.whole.flops)
        return Gadget(opponent, payoffs, method.form, spreads)
