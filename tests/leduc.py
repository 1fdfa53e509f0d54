"""Leduc, and averages of our solver put together as open_spiel gathers its own.

Which strategies an average contains is a convention. Both programs update player 0, then player 1 against player 0's
new strategy. open_spiel's average of iterations 1 to n holds the strategies that these iterations began with. Ours is
gathered where the *other* player is updated, so that player 0's is one iteration ahead: it leaves out the uniform
strategy of the first iteration and has one more at the end. Two runs of the solver give open_spiel's: n - 1 iterations,
weighted as the ones after them, for player 0, with the uniform strategy added, and n iterations for player 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from solver_tables import average, decisions, everyone, write

from protocol.game import parse_game
from protocol.state import apply, start
from solver.algorithms import Algorithm
from solver.menu import parse_menu
from solver.schedules import Averaging, Update
from solver.subgame import Subgame
from solver.subgame_solver import Solver

LEDUC = parse_game(
    "limit\nnumPlayers 2\nnumRounds 2\nblind 1 1\nraiseSize 2 4\nmaxRaises 2 2\n"
    "numSuits 2\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0 1\nend gamedef"
).game
MENU = parse_menu("small")
"""Any menu: a limit game has one size."""


def leduc() -> Subgame:
    """The whole game."""
    return Subgame(start(LEDUC), (), everyone(LEDUC), MENU)


def in_open_spiels_convention(subgame: Subgame, algorithm: Algorithm, iterations: int) -> Solver:
    """A solver after so many alternating iterations; see the head of this file."""
    solver, ahead = Solver(subgame, algorithm, threads=1), Solver(subgame, _one_ahead(algorithm), threads=1)
    solver.iterate(iterations)
    ahead.iterate(iterations - 1)
    reach = _uniform_reach(subgame, 0)
    kept = algorithm.weights(1).add_average
    for iteration in range(2, iterations + 1):
        kept *= algorithm.weights(iteration).keep_average
    for decision in decisions(subgame):
        if decision.player == 0:
            uniform = kept * reach[decision.betting] / len(decision.actions)
            write(solver, decision, average(ahead, decision) + uniform)
    return solver


@dataclass(frozen=True, slots=True)
class _OneAhead:
    """Averages are weighted as the next iteration's."""

    average: Averaging

    def update(self, iteration: int) -> Update:
        return self.average.update(iteration + 1)


def _one_ahead(algorithm: Algorithm) -> Algorithm:
    schedules = algorithm.schedules
    return Algorithm(f"{algorithm}, one ahead", schedules._replace(average=_OneAhead(schedules.average)))


def _uniform_reach(subgame: Subgame, player: int) -> dict[str, float]:
    """[betting] how probable uniform play of one player makes it."""
    reach = {subgame.root.betting: 1.0}
    for forest in subgame.forests:
        for number, node in enumerate(forest.nodes):
            share = len(node.actions) if forest.player[number] == player else 1
            for action in node.actions:
                reach[apply(node.state, action).betting] = reach[node.state.betting] / share
    return reach
