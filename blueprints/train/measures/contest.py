"""What one strategy wins against another, over all pairs of hands on sampled boards.

Every board is walked twice, each strategy in either seat, so that what the seats are worth cancels. Boards are drawn
independently: the interval is that of a mean. Hands and betting are not sampled at all, which is why a few hundred
boards say what millions of hands would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprints.cards.interface import Cards
from blueprints.train.public.walker import Walker
from blueprints.tree import BettingTree
from protocol.arrays import F64
from protocol.game import Game

WIDTH = 1.96
"""Of a 95 % interval, in standard errors."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A strategy: by street [edge of the street, bucket], in any unit, and what its buckets are."""

    tables: Sequence[npt.NDArray[Any]]
    cards: Cards


@dataclass(frozen=True, slots=True)
class ContestScore:
    """Chips a hand that the first side wins, with 95 % intervals."""

    boards: int
    chips: float
    interval_chips: float
    seats_chips: tuple[float, float]
    """In the first and in the second position."""
    seats_interval_chips: tuple[float, float]


def contest(
    game: Game, tree: BettingTree, first: Contestant, second: Contestant, *, boards: int, seed: int = 0,
    threads: int = 1, tell: Callable[[int, ContestScore], None] = lambda board, score: None,
) -> ContestScore:  # fmt: skip
    """Play two strategies for the same betting against each other."""

    def told(won: F64) -> None:
        if len(won) > 1:
            tell(len(won), _score(won))

    rng = np.random.default_rng((seed, boards))
    return _score(play(game, tree, first, second, boards=boards, rng=rng, threads=threads, tell=told))


def play(
    game: Game, tree: BettingTree, first: Contestant, second: Contestant, *, boards: int, rng: np.random.Generator,
    threads: int = 1, tell: Callable[[F64], None] = lambda won: None,
) -> F64:  # fmt: skip
    """[board, position of the first side] chips a hand that it wins; `tell` hears what has been played so far."""
    seats = [(first, second), (second, first)]
    tables = seats[:1] if first is second else seats  # one walk then says what both positions win
    walkers = [Walker.of(game, tree, (a.cards, b.cards), threads=threads) for a, b in tables]
    one, two = (walkers[0].tables(player).packed(side.tables) for player, side in enumerate(seats[0]))
    weights = [(one, two), (two, one)]  # how a strategy lies depends on its own buckets alone
    won, pairs = np.zeros((boards, 2)), walkers[0].dealer.num_pairs()
    with walkers[0].helpers() as pool:
        for number in range(boards):
            board = walkers[0].dealer.draw(rng)
            values = [walker.walk(walker.ready(board), weights[seat], pool=pool).values
                      for seat, walker in enumerate(walkers)]  # fmt: skip
            won[number] = values[0][0].sum() / pairs, values[-1][1].sum() / pairs
            tell(won[: number + 1])
    return won


def _score(won: F64) -> ContestScore:
    both = won.mean(axis=1)
    errors = [float(WIDTH * each.std(ddof=1) / np.sqrt(len(won))) for each in (both, won[:, 0], won[:, 1])]
    return ContestScore(
        len(won), float(both.mean()), errors[0], (float(won[:, 0].mean()), float(won[:, 1].mean())),
        (errors[1], errors[2]),
    )  # fmt: skip
