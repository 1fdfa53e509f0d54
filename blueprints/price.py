"""What a configuration will cost, before anything starts: nodes, memory, the size of the file, hours as measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from blueprints.cards.exact import ExactCards
from blueprints.cards.interface import Buckets, Cards
from blueprints.settings import BlueprintSettings
from blueprints.train.trainer import make_sampler
from blueprints.tree import BettingTree, build_tree
from protocol.cards import Card
from protocol.hands import hand_classes_array
from protocol.kernels import order_board

_WARM_UP: Final = 3
_MEASURED_S: Final = 3.0
_SEEN: Final = (169, 123, 74, 24)
"""Buckets that hands of one board have, by street, of 1,000, 1,000 and 500: measured on 300 boards."""


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
class Price:
    """Of a configuration."""

    streets: tuple[StreetPrice, ...]
    training_bytes: int
    """Regrets and averages."""
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


def find_price(settings: BlueprintSettings, *, threads: int) -> Price:
    """Build the tree, and train for a few seconds on buckets that are made up: as many a board as real ones."""
    game = settings.load_game()
    tree = build_tree(game, settings.load_menu())
    abstract = game.num_rounds == len(_SEEN) and game.num_ranks == 13
    cards = made_up_cards(settings) if abstract else ExactCards(game)
    counts = cards.counts
    streets = tuple([_street(tree, street, counts[street]) for street in range(game.num_rounds)])
    sampler = make_sampler(settings, tree, cards, threads)
    pairs = sum(street.pairs for street in streets)
    sampler.period(1, 1.0, _WARM_UP)
    walks, updates, began = 0, 0, time.perf_counter()
    while time.perf_counter() - began < _MEASURED_S:
        updates += sampler.period(2 + walks, 1.0, 10)
        walks += 10
    seconds = time.perf_counter() - began
    training = sum(array.nbytes for array in sampler.state().values())
    trainer = settings.trainer
    return Price(streets, training, pairs, walks / seconds, updates / seconds, trainer.periods * trainer.walks)


def made_up_cards(settings: BlueprintSettings) -> Cards:
    """Buckets of hold'em that cost nothing to make, for measuring: as many a board as real ones, by strength alone."""
    return _MadeUp(settings)


def _street(tree: BettingTree, street: int, buckets: int) -> StreetPrice:
    nodes = tree.nodes_of(street)
    return StreetPrice(len(nodes), int(tree.first[nodes.stop] - tree.first[nodes.start]), buckets)


class _MadeUp:
    """Buckets by strength on the final board alone: no abstraction, but the work is the same."""

    def __init__(self, settings: BlueprintSettings) -> None:
        self.counts: tuple[int, ...] = settings.cards.counts
        self.digest = "made up"
        self._seen = [min(seen * -(-count // usual), count) for seen, count, usual in
                      zip(_SEEN, self.counts, (169, 1000, 1000, 500), strict=True)]  # fmt: skip

    def buckets(self, board: Sequence[Card]) -> Buckets:
        """Nobody asks."""
        raise NotImplementedError

    def deal(self, board: Sequence[Card]) -> Buckets:
        """[street, hand]"""
        cards = np.array(board, np.uint8)
        _, order = order_board(cards)
        place = np.arange(len(order)) / len(order)
        found = np.zeros((len(self.counts), len(hand_classes_array())), np.uint16)
        found[0] = hand_classes_array()
        rng = np.random.default_rng(cards.tolist())
        for street in range(1, len(self.counts)):
            some = np.sort(rng.permutation(self.counts[street])[: self._seen[street]])
            found[street, order] = some[(place * len(some)).astype(np.intp)]
        return found
