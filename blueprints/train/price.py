"""What a configuration will cost, before anything starts: nodes, memory, the size of the file, hours as measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from blueprints.cards.exact import ExactCards
from blueprints.cards.holdem import is_holdem
from blueprints.cards.interface import Cards
from blueprints.cards.made_up import made_up_rows, made_up_tables
from blueprints.cards.tables import tables_bytes
from blueprints.settings import BlueprintSettings, Sampling
from blueprints.train.trainer import make_sampler
from blueprints.tree import BettingTree

_WARM_UP: Final = 3
_MEASURED_S: Final = 3.0
_WRITING_BYTES: Final = 4 + 1
"""A pair: the averages in the order of the tree, and rounded."""


@dataclass(frozen=True, slots=True)
class StreetPrice:
    """Of one street."""

    decisions: int
    actions: int
    buckets: int

    @property
    def information_sets(self) -> int:
        """Decisions by bucket."""
        return self.decisions * self.buckets

    @property
    def pairs(self) -> int:
        """(information set, action) pairs."""
        return self.actions * self.buckets


@dataclass(frozen=True, slots=True)
class TrainingPrice:
    """Of a configuration."""

    streets: tuple[StreetPrice, ...]
    training_bytes: int
    """Regrets and averages."""
    tables_bytes: int
    """Tables of buckets, mapped: shared by all processes that use them, and the system may take them back."""
    working_bytes: int
    """What walks use besides, or what it takes to write the file in the end if that is more."""
    file_bytes: int
    """A byte a probability; the tree and the cards come to about a megabyte more."""
    walks_a_second: float
    pairs_a_second: float
    """(information set, action) pairs of buckets that hands of the board have."""
    walks: int
    """That the configuration asks for."""

    @property
    def hours(self) -> float:
        """Of that many walks."""
        return self.walks / self.walks_a_second / 3600


def find_price(
    settings: BlueprintSettings, tree: BettingTree, *, threads: int, tell: Callable[[float], object] = id
) -> TrainingPrice:
    """Train for a few seconds on buckets that are made up: as many a board as real ones.

    `tell` hears which share of that is done.
    """
    game = settings.load_game()
    holdem = is_holdem(game)
    cards = made_up_cards(settings) if holdem else ExactCards(game)
    counts = cards.counts
    streets = tuple([_street(tree, street, counts[street]) for street in range(game.num_rounds)])
    sampler = make_sampler(settings, tree, cards, threads)
    pairs = sum(street.pairs for street in streets)
    batch = sampler.at_once
    sampler.period(1, 1.0, _WARM_UP)
    walks, updates, began = 0, 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < _MEASURED_S:
        tell(spent / _MEASURED_S)
        updates += sampler.period(2 + walks // batch, 1.0, batch)
        walks += batch
    seconds = time.perf_counter() - began
    trainer = settings.trainer
    return TrainingPrice(
        streets,
        training_bytes=sum(array.nbytes for array in sampler.state().values()),
        tables_bytes=tables_bytes() if holdem else 0,
        working_bytes=max(sampler.working_bytes(), _WRITING_BYTES * pairs),
        file_bytes=pairs,
        walks_a_second=walks / seconds,
        pairs_a_second=updates / seconds,
        walks=trainer.periods * trainer.walks,
    )


def made_up_cards(settings: BlueprintSettings) -> Cards:
    """Buckets of hold'em for measuring, as the form of sampling needs them."""
    if settings.trainer.sampling is Sampling.PUBLIC:
        return made_up_rows(settings.cards)
    return made_up_tables(settings.cards)


def _street(tree: BettingTree, street: int, buckets: int) -> StreetPrice:
    nodes = tree.nodes_of(street)
    return StreetPrice(len(nodes), int(tree.first[nodes.stop] - tree.first[nodes.start]), buckets)
