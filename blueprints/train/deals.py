"""Boards as the walks need them: the hands they allow in order of strength, and the bucket of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt

from blueprints.cards.interface import Cards
from blueprints.train.buckets import number_buckets
from blueprints.train.walk import Deal
from protocol.arrays import F64, I32
from protocol.cards import Card
from protocol.game import Game
from protocol.hands import DeckHands, hands_of
from protocol.kernels import rank_hands
from solver.deals import opposing_weights
from solver.kernels.sweeps import NUM_CARD_ROWS
from solver.kernels.types import padded
from solver.kernels.vectors import LANES

_ADDED, _NEVER = NUM_CARD_ROWS - 2, NUM_CARD_ROWS - 1
"""Card rows of one-card hands: one that is added to, one that stays zero."""


Ranges = tuple[F64 | None, F64 | None]
"""Weights of both players' hands at the root; None for all alike."""


@dataclass(frozen=True, eq=False)
class Dealer:
    """Deals boards of a game, or of what follows a board."""

    game: Game
    cards: tuple[Cards, Cards]
    """Each player's abstraction."""
    board: tuple[Card, ...] = ()
    """What lies already."""

    @cached_property
    def _hands(self) -> DeckHands:
        return hands_of(self.game)

    @cached_property
    def num_hands(self) -> int:
        """Rows for hands: as many as a final board leaves, padded."""
        left = self.game.num_suits * self.game.num_ranks - sum(self.game.num_board_cards)
        return padded(comb(left, self.game.num_hole_cards))

    @cached_property
    def _deck(self) -> list[Card]:
        return sorted(self.game.deck())

    @cached_property
    def all_hands(self) -> int:
        """Hands of the whole deck."""
        return len(self._hands)

    def num_pairs(self, ranges: Ranges = (None, None)) -> float:
        """Pairs of hands that a final board leaves, by their weights: the mean over all boards."""
        hands, deck = self._hands, self.game.num_suits * self.game.num_ranks
        weights = [np.ones(len(hands)) if each is None else np.asarray(each, np.float64) for each in ranges]
        mine, theirs = (np.where(hands.live(self.board), each, 0.0) for each in weights)
        pairs = float(mine @ opposing_weights(hands, hands, theirs))
        left, missing = deck - len(self.board), sum(self.game.num_board_cards) - len(self.board)
        return pairs * comb(left - 2 * self.game.num_hole_cards, missing) / comb(left, missing)

    def draw(self, rng: np.random.Generator) -> tuple[Card, ...]:
        """A final board at random."""
        left = [card for card in self._deck if card not in self.board]
        missing = sum(self.game.num_board_cards) - len(self.board)
        drawn = rng.permutation(len(left))[:missing].tolist()
        return (*self.board, *[left[place] for place in drawn])

    def hands(self, board: tuple[Card, ...]) -> tuple[npt.NDArray[np.intp], I32]:
        """Numbers of the hands that a final board allows, by strength, and where each strength begins."""
        live = np.flatnonzero(self._hands.live(board))
        hole = self.game.num_hole_cards
        whole = np.empty((len(live), hole + len(board)), np.uint8)
        whole[:, :hole], whole[:, hole:] = self._hands.cards[live], board
        ranks = rank_hands(whole)
        order = np.argsort(ranks, kind="stable")
        sorted_ranks = ranks[order]
        begins = np.flatnonzero(np.concatenate(([True], sorted_ranks[1:] != sorted_ranks[:-1], [True])))
        return live[order], begins.astype(np.int32)

    def deal(self, board: tuple[Card, ...]) -> tuple[Deal, npt.NDArray[np.intp]]:
        """A final board for the kernels, and the numbers of its hands in order."""
        hands, begins = self.hands(board)
        size, live = self.num_hands, len(hands)
        cards = np.full((size, 2), _ADDED, np.int32)
        minus = np.full((size, 2), _NEVER, np.int32)
        held = self._hands.cards[hands]
        cards[:live, : held.shape[1]] = minus[:live, : held.shape[1]] = held
        order = np.arange(size, dtype=np.int32)
        twin = order if held.shape[1] == 2 else np.full(size, size, np.int32)
        bucket, meant = np.zeros((2, 2, self.game.num_rounds, size), np.int32)
        count, blocks = np.zeros((2, 2, self.game.num_rounds), np.int32)
        for player, abstraction in enumerate(self.cards):
            if player and abstraction is self.cards[0]:
                bucket[1], meant[1], count[1], blocks[1] = bucket[0], meant[0], count[0], blocks[0]
                continue
            counts = np.array(abstraction.counts)
            meant[player] = counts[:, None]
            number_buckets(abstraction.deal(board), hands, counts, bucket[player], meant[player], count[player])
            blocks[player] = -(-count[player] // LANES)
        deal = Deal(live, len(begins) - 1, begins, cards, minus, twin, order, bucket, count, blocks, meant)
        return deal, hands
