"""Public chance sampling: regrets and averages of a blueprint, and periods of walks over them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import closing
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from blueprints.boards.dealer import Ranges
from blueprints.cards.interface import Cards
from blueprints.settings import BlueprintSettings
from blueprints.train.public.kernels.types import Learnt
from blueprints.train.public.walker import Dealt, Walker
from blueprints.tree import BettingTree
from protocol.arrays import F32
from protocol.cards import Card
from protocol.errors import BlueprintError
from protocol.game import Game
from solver.kernels.types import bytes_of

_NOISE: Final = 0.3
_LEAST, _TINY = 1.0, 1e-30
"""What keeps the strategy of buckets that never came, and what keeps from dividing by nothing."""
_LAYOUT: Final = 2
"""Of the numbers in a checkpoint: by lanes of roots."""


class PublicSampling:
    """Learns a strategy by public chance sampling.

    The boards of a period follow from the seed and the number of the period, and threads share out a walk without
    touching what is another's, so that a run gives the same numbers with any number of threads.
    """

    at_once = 10
    """Walks that take some hundredths of a second."""

    def __init__(
        self, game: Game, tree: BettingTree, cards: Cards, *, seed: int = 1, threads: int = 1,
        board: tuple[Card, ...] = (), ranges: Ranges = (None, None),
    ) -> None:  # fmt: skip
        self._seed, self._ranges = seed, ranges
        self._walker = Walker.of(game, tree, (cards, cards), board=board, threads=threads)
        self._tables = self._walker.tables(0)
        self._regrets, self._averages = np.zeros((2, self._tables.bases.size), np.float32)
        self._weight = 0.0
        self._pool = self._walker.helpers() if threads > 1 else None

    @classmethod
    def of(cls, settings: BlueprintSettings, tree: BettingTree, cards: Cards, threads: int) -> Self:
        """Of a whole game, with nothing learnt."""
        return cls(settings.load_game(), tree, cards, seed=settings.trainer.seed, threads=threads)

    def period(
        self, number: int, weight: float, walks: int, follow: Sequence[npt.NDArray[Any]] | None = None,
        learner: int | None = None,
    ) -> int:  # fmt: skip
        """So many walks that count `weight` times each. Returns the (bucket, action) pairs that were updated.

        With a strategy to `follow`, by street [edge of the street, bucket], both players play that one and learn what
        they regret: so a run can start where another ended (Brown and Sandholm 2016). Or one of them does, if the other
        is named as the `learner`, who learns to play against it.
        """
        rng = np.random.default_rng((self._seed, number))
        training = Learnt(self._regrets, self._averages, np.float32(weight), True)
        played = self._regrets if follow is None else self._tables.packed(follow)
        first, second = (self._regrets if player == learner else played for player in range(2))
        weights, updates = (first, second), 0
        with closing(self._dealt(rng, walks)) as boards:
            for dealt in boards:
                updates += self._walker.walk(dealt, weights, self._ranges, training, self._pool).pairs
        self._weight += weight * walks
        return updates

    def _dealt(self, rng: np.random.Generator, walks: int) -> Generator[Dealt, None, None]:
        """Boards, each dealt while the one before is walked: a thread that deals joins the walk when it has done so."""
        walker, coming = self._walker, None
        try:
            for number in range(walks):
                dealt = walker.ready(walker.dealer.draw(rng), number % 2) if coming is None else coming.result()
                if self._pool is not None and number + 1 < walks:
                    coming = self._pool.submit(walker.ready, walker.dealer.draw(rng), (number + 1) % 2)
                yield dealt
        finally:  # a walk that was broken off leaves nobody who deals
            if coming is not None and not coming.cancel():
                wait([coming])

    def warm_start(self, followed: Sequence[npt.NDArray[Any]], scale: float, noise: float) -> None:
        """After periods that followed a strategy: as if that had been learnt here, by `scale` times as much weight.

        Averages are `scale` times what they are: the strategy, as often as each bucket comes. Of regrets, those of
        actions that lose are as well. Positive ones are the strategy itself, so that it is what is played next, times
        what regrets of the bucket vary by: sums over so much weight, whose standard deviation is `noise` times as
        large. (Exactly how large does not matter: a third to three times as much came to the same.) So a strategy
        changes as easily as one that was learnt here, where no action is better than the others by more than luck.
        """
        played = self._tables.packed(followed)
        for part in range(len(self._tables.parts.street)):
            regrets, shares = (self._tables.of_part(each, part) for each in (self._regrets, played))
            begins = self._tables.begins(part)
            counts = np.diff([*begins, len(regrets)])
            spread = noise * np.sqrt(np.add.reduceat(regrets**2, begins, axis=0))
            positive = np.maximum(_NOISE * spread, _LEAST) / np.maximum(np.add.reduceat(shares, begins, axis=0), _TINY)
            regrets[:] = np.minimum(regrets, 0.0) * scale + shares * np.repeat(positive, counts, axis=0)
        self._averages *= np.float32(scale)
        self._weight *= scale

    def regret(self) -> float:
        """The average positive regret in chips a hand, the mean of both players.

        It bounds the exploitability within the abstraction, as far as nobody forgets anything.
        """
        total = 0.0
        for part in range(len(self._tables.parts.street)):
            table = self._tables.of_part(self._regrets, part)
            largest = np.maximum.reduceat(table, self._tables.begins(part), axis=0)
            total += float(np.maximum(largest, 0.0).sum(dtype=np.float64))
        return total / 2 / max(self._weight, 1.0) / self._walker.dealer.num_pairs(self._ranges)

    def averages(self) -> tuple[F32, ...]:
        """By street of the game [edge of the street, bucket], in the order of the tree."""
        return self._tables.unpacked(self._averages)

    def working_bytes(self) -> int:
        """The tree in parts, and what walks write into."""
        walker = self._walker
        return bytes_of(walker.parts, *walker.bases, walker.frame, *walker.scratches, *walker.pairs, [walker.shared])

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What a checkpoint must hold."""
        numbers = {"regrets": self._regrets, "averages": self._averages}
        return {**numbers, "weight": np.array(self._weight), "layout": np.array(_LAYOUT)}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The inverse of `state`."""
        layout = int(arrays.get("layout", np.array(1)))
        if layout != _LAYOUT:
            raise BlueprintError(
                f"its numbers lie as in layout {layout}: expected {_LAYOUT}; `--begin-from` takes its file"
            )
        self._regrets[:] = arrays["regrets"]  # one after the other: each is read whole
        self._averages[:] = arrays["averages"]
        self._weight = float(arrays["weight"])
