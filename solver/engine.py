"""Iterations of CFR on a problem, and what is asked of it as a whole: exploitability, values, tables.

Updates alternate (player 0, then player 1 against player 0's new strategy) or are simultaneous. A player's average is
weighted by its own reach, its regrets by the opponent's and chance's.

Values are net chips of the whole hand. Exploitability is the mean of what both players gain over the value of the game
by responding best to the average strategies: half the sum of both best-response values, which is zero in equilibrium.

Results repeat: the same problem, algorithm, seed and number of iterations give the same bits, whatever the number of
threads (the seed matters only for the dither of 16-bit storage).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain

import numpy as np

from machine.errors import ParatusError
from protocol.arrays import F32, F64, I64
from solver.algorithms import DEFAULT, Algorithm
from solver.gadgets import Entrance, Gadget, no_gate
from solver.kernels.cfr import BEST, FOLLOW, UPDATE
from solver.kernels.types import Batch, Watch, WeightArray, aligned_halves, aligned_zeros
from solver.problem import Problem
from solver.schedules import total_weight
from solver.tables import Span, WatchedRows, read_table, table_spans, write_table
from solver.threads import Pace, Threads

_BATCH_S = 0.05
"""Iterations are given to the kernels in batches of about so long: what Ctrl-C and deadlines wait for."""


class SolverError(ParatusError):
    """Something asked of a solver that it cannot give."""


@dataclass(frozen=True, slots=True)
class Exploitability:
    """What best responses win, in chips a hand."""

    best_response: tuple[float, float]
    """The value of each player's best response to the other's average."""
    big_blind: float
    pot: float

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


@dataclass(frozen=True, slots=True)
class SolveProgress:
    """How far a solve has come."""

    iterations: int
    seconds: float
    exploitability: Exploitability | None
    """As last measured; None before the first time, or where later averages are not kept."""


class Engine:
    """Regrets and averages of one problem, and what is done with them. One thread at a time may use it.

    With a gadget its player comes with the hands that it chooses at the root, on average over the iterations so far.

    `threads=None` uses as many as measure faster, up to all cores.
    """

    def __init__(
        self,
        problem: Problem,
        algorithm: Algorithm | None = None,
        *,
        threads: int | None = None,
        seed: int = 0,
        simultaneous: bool = False,
        gadget: Gadget | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise SolverError(f"threads {threads}: expected a number from 1 up, or None for what is fastest")
        self._problem = problem
        self.algorithm = algorithm or DEFAULT
        self._entrance: Entrance | None = None
        if gadget is not None:
            self._problem = copy(problem)
            self._problem.ranges = (problem.ranges[0].copy(), problem.ranges[1].copy())
            self._entrance = Entrance(gadget, self._problem)
        self.simultaneous = simultaneous
        self.iterations = 0
        self.seed = seed
        self.regrets = self._weights(len(problem.averaged))
        self.averages = self._weights(int(problem.averaged.sum()))
        self._threads = Threads(problem, threads)
        hands = problem.deals.hands
        self._results = (aligned_zeros(int(hands[0])), aligned_zeros(int(hands[1])))
        self._watched = [WatchedRows.of(problem, player) for player in range(2)]

    @property
    def problem(self) -> Problem:
        """With a gadget a copy of the one given, in which hands come as they were chosen on average so far."""
        if self._entrance:
            self._entrance.settle(self._problem)
        return self._problem

    @property
    def pace(self) -> Pace:
        """How many threads are used."""
        return self._threads.pace

    def _weights(self, streets: int) -> tuple[WeightArray, WeightArray]:
        sizes = [self.problem.pairs(player, streets) for player in range(2)]
        make = aligned_zeros if self.problem.bits == 32 else aligned_halves
        return make(sizes[0]), make(sizes[1])

    # Solving

    def solve(
        self,
        iterations: int | None = None,
        seconds: float | None = None,
        target: float | None = None,
        on_progress: Callable[[SolveProgress], None] | None = None,
        on_iteration: Callable[[int], None] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> SolveProgress:
        """Iterate until so many more iterations, seconds, or an exploitability in chips, or until `stopped` says so.

        Exploitability is measured now and then (at most an eighth of the work) and at the end, if there is a target or
        somebody to tell. `on_iteration` is told the number of every iteration, which costs small problems some speed.
        """
        if iterations is None and seconds is None and target is None:
            raise SolverError("nothing to stop at: expected iterations, seconds or a target")
        measures = bool(self.problem.averaged.all()) and (target is not None or on_progress is not None)
        if target is not None and not measures:
            raise SolverError("a target needs the averages of all streets: expected iterations or seconds")
        begun, last = time.monotonic(), self.iterations + iterations if iterations is not None else None
        found: Exploitability | None = None
        next_check = self.iterations + 8

        def passed() -> float:
            return time.monotonic() - begun

        while True:
            done = (last is not None and self.iterations >= last) or (seconds is not None and passed() >= seconds)
            done = done or stopped()
            if measures and (done or self.iterations >= next_check):
                found = self.exploitability()
                next_check = self.iterations + max(8, self.iterations // 8)
                done = done or (target is not None and found.chips <= target)
            if on_progress is not None:
                on_progress(SolveProgress(self.iterations, passed(), found))
            if done:
                return SolveProgress(self.iterations, passed(), found)
            count = 1 if on_iteration is not None else self._batch()
            if last is not None:
                count = min(count, last - self.iterations)
            self.iterate(min(count, next_check - self.iterations) if measures else count)
            if on_iteration is not None:
                on_iteration(self.iterations)

    def iterate(self, count: int = 1) -> None:
        """Run `count` iterations."""
        while count > 0:
            threads = self.pace.threads()
            now = 1 if self.simultaneous else min(count, self._batch())
            with self.pace.measure(threads, now):
                self._iterate(now, threads)
            count -= now

    def _batch(self) -> int:
        took = self.pace.seconds()
        return 1 if took is None else max(1, int(_BATCH_S / max(took, 1e-6)))

    def _iterate(self, count: int, threads: int) -> None:
        numbers = range(self.iterations + 1, self.iterations + count + 1)
        each = chain.from_iterable([self.algorithm.weights(number) for number in numbers])
        weights = np.fromiter(each, np.float64, 4 * count).reshape(count, 4).repeat(2, axis=0)
        order, theirs, ranges = [0, 1], (self.regrets[1], self.regrets[0]), self._problem.ranges
        if self._entrance:
            chosen = self._entrance.chosen
            ranges = (chosen, ranges[1]) if self._entrance.player == 0 else (ranges[0], chosen)
        if self.simultaneous:
            if self._entrance and self._entrance.player == 0:
                order = [1, 0]  # what a gate has learnt counts from the next iteration on
            theirs = (theirs[0].copy(), theirs[1]) if order[1] == 0 else (theirs[0], theirs[1].copy())
        batch = Batch(
            mode=UPDATE,
            players=np.array(order * count),
            weights=weights,
            watch_weights=weights[:, :2].copy(),
            seeds=self._seeds(numbers, order),
            ranges=ranges,
            mine=self.regrets,
            theirs=theirs,
            averages=self.averages,
            averaging=self._problem.averaged,
            watches=(self._watched[0].watch, self._watched[1].watch),
            gate=self._entrance.gate if self._entrance else no_gate(),
            results=self._results,
        )
        try:
            self._run(batch, threads)
        finally:
            if self._threads.finished:  # Ctrl-C comes out of compiled code when all is done
                self.iterations += count

    def _seeds(self, iterations: Sequence[int], players: Sequence[int]) -> I64:
        """For `vectors.noise`: in the upper half what the solver's own seed makes different, in the lower the step."""
        upper = [(self.seed * 0x3C6EF372 + player * 0x5DEECE66) % 2**30 << 32 for player in players]
        return np.array([half + number * 0x9E3779B9 % 2**32 for number in iterations for half in upper], np.int64)

    def _run(self, batch: Batch, threads: int) -> None:
        self._threads.run(batch, threads)

    # Asking

    def exploitability(self) -> Exploitability:
        """Of the average strategies, and of the choice at a gadget."""
        problem, entrance = self.problem, self._entrance
        if entrance:
            other = 1 - entrance.player
            inside = self.best_response_values(entrance.player)
            against = float(self.best_response_values(other) * problem.compatible[other] @ problem.weights[other])
            best = entrance.best_response(inside, against)
        else:
            first, second = (
                float(self.best_response_values(player) @ problem.chance(problem.weights[player], player))
                for player in range(2)
            )
            best = (first, second)
        return Exploitability(best, problem.unit, problem.pot)

    def entering(self) -> F64:
        """[hand] the average probability with which a gadget's player enters with it, or picks it."""
        return self._gadget().entering()

    def margins(self) -> F64:
        """[hand] by how much a gadget's alternative payoff exceeds what its player wins by responding best."""
        entrance = self._gadget()
        return entrance.margins(self.best_response_values(entrance.player))

    def _gadget(self) -> Entrance:
        if self._entrance is None:
            raise SolverError("no gadget: nobody chooses at the root")
        return self._entrance

    def best_response_values(self, player: int) -> F64:
        """What each hand of `player` wins by responding best to the other's average, in chips."""
        return self._root_values(player, BEST)

    def root_values(self, player: int) -> F64:
        """What each hand of `player` wins when both play their averages, in chips."""
        return self._root_values(player, FOLLOW)

    def game_value(self, player: int) -> float:
        """What `player` wins when both play their averages."""
        problem = self.problem
        return float(self.root_values(player) @ problem.chance(problem.weights[player], player))

    def row_values(self, player: int, board: int, part: int, rows: Sequence[int], *, best: bool = False) -> F64:
        """Counterfactual values [row][hand] of rows of a part of a board's street (nodes, or nodes + slots).

        Both averages are played, or with `best` the player responds best. The chance of the board is left out, the
        opponent's reach is in.
        """
        watched = WatchedRows.of(self.problem, player, [(board, part, row) for row in rows])
        self._ask(player, BEST if best else FOLLOW, watched.watch)
        return watched.values(range(len(rows)), len(self.problem.weights[player]))

    def watch(self, player: int, rows: Sequence[tuple[int, int, int]]) -> None:
        """From now on keep running averages of the player's counterfactual values of these rows and no others.

        A row is a board, a part of its street, and a row of the part. Iterations weigh as in average strategies.
        """
        self._watched[player] = WatchedRows.of(self.problem, player, rows, self.iterations)

    def watched(self, player: int, numbers: Sequence[int]) -> F64:
        """The running averages [row][hand] of some of the watched rows, by their numbers in the order given."""
        watched, average = self._watched[player], self.algorithm.schedules.average
        weight = total_weight(average, range(watched.since + 1, self.iterations + 1))
        return watched.values(numbers, len(self.problem.weights[player])) / (weight or 1.0)

    def table(self, player: int, board: int, *, regrets: bool = False) -> F64:
        """The sums that the player's average strategy on a board is proportional to, or the regrets: [edge, hand]."""
        weights = (self.regrets if regrets else self.averages)[player]
        return read_table(weights, self._spans(player, board, weights), len(self.problem.weights[player]))

    def set_table(self, player: int, board: int, table: F64, *, regrets: bool = False) -> None:
        """The inverse of `table`, for averages or regrets."""
        weights = (self.regrets if regrets else self.averages)[player]
        write_table(weights, self._spans(player, board, weights), table)

    def _spans(self, player: int, board: int, weights: WeightArray) -> list[Span]:
        spans = table_spans(self.problem, player, board)
        if any(span.stop > len(weights) for span, _ in spans):
            raise SolverError("the averages of later streets were not kept")
        return spans

    def _root_values(self, player: int, mode: int) -> F64:
        result = self._ask(player, mode, WatchedRows.of(self.problem, player).watch)
        compatible = self.problem.compatible[player]
        values = result[: len(compatible)].astype(np.float64)
        return np.divide(values, compatible, out=np.zeros_like(values), where=compatible > 0)

    def _ask(self, player: int, mode: int, watch: Watch) -> F32:
        if not self.problem.averaged.all():
            raise SolverError("the averages of later streets were not kept: values of the average cannot be computed")
        averages, numbers = self.averages, np.ones((1, 4))
        batch = Batch(
            mode=mode,
            players=np.array([player], np.int64),
            weights=numbers,
            watch_weights=np.array([[0.0, 1.0]]),
            seeds=np.zeros(1, np.int64),
            ranges=self.problem.ranges,
            mine=averages,
            theirs=(averages[1], averages[0]),
            averages=averages,
            averaging=np.zeros_like(self.problem.averaged),
            watches=(watch, watch),
            gate=no_gate(),
            results=self._results,
        )
        self._run(batch, self.pace.threads())
        return self._results[player]
