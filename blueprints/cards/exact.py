"""Small games without abstraction: hands that a renaming of the suits makes equal share a bucket, no others do.

The bucket of a hand on a board is its class of (hole, board) up to the names of the suits; each street numbers its own.
In games whose hands have fewer than five cards, holes and board together, suits mean nothing (there are no flushes),
and a class is told by ranks alone: Leduc has 3 buckets, then 9.

Boards are sets of cards, as in `holdem`. Where cards come to the board on one street only, nothing is lost by that.
Where they come on several, a player does not remember which came first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.interface import Buckets
from blueprints.cards.settings import MAX_BUCKETS
from machine.errors import ConfigError
from protocol.cards import Card, CardError, cards_text, rank_of
from protocol.game import Game
from protocol.hands import SuitPermutation, canonical_hole_board, hands_of, permute_cards

_Class = tuple[tuple[int, ...], tuple[int, ...]]

FLUSH_CARDS = 5


class ExactCards:
    """A bucket for every class of hands; see `interface.Cards`."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._hands = hands_of(game)
        self._suits = game.num_hole_cards + sum(game.num_board_cards) >= FLUSH_CARDS
        self._images: dict[SuitPermutation, NDArray[np.intp]] = {}
        lengths = [game.board_cards_by(street) for street in range(game.num_rounds)]
        self._tables = {length: self._table(length) for length in sorted(set(lengths))}
        self._lengths = lengths
        self.counts = tuple([1 + max(int(row.max()) for row in self._tables[length].values()) for length in lengths])

    @cached_property
    def digest(self) -> str:
        """Of the cards of the game: its buckets follow from them."""
        game = self._game
        cards = game.num_suits, game.num_ranks, game.num_hole_cards, game.num_board_cards
        return blake2b(f"exact {cards}".encode(), digest_size=16).hexdigest()

    def buckets(self, board: Sequence[Card]) -> Buckets:
        """[hand] on a board as it lies after some street."""
        if len(board) not in self._tables:
            raise CardError(f"a board of {len(board)} cards: expected one of {sorted(self._tables)}")
        if len(set(board)) != len(board) or not set(board) <= set(self._hands.deck):
            raise CardError(f"{cards_text(board)} is no board of this deck")
        _, canonical, suits = canonical_hole_board((), board)
        row = self._tables[len(board)][canonical]
        if suits not in self._images:
            images = [permute_cards(hand, suits) for hand in self._hands]
            self._images[suits] = np.array([self._hands.column(image) for image in images])
        return row[self._images[suits]]

    def deal(self, board: Sequence[Card]) -> Buckets:
        """[street, hand] for a board of all streets."""
        if len(board) != self._lengths[-1]:
            raise CardError(f"a deal of {len(board)} cards: expected {self._lengths[-1]}")
        return np.stack([self.buckets(board[:length]) for length in self._lengths])

    def _table(self, length: int) -> dict[tuple[Card, ...], Buckets]:
        """The buckets of all hands on every canonical board of so many cards."""
        boards = dict.fromkeys(canonical_hole_board((), board)[1] for board in combinations(self._hands.deck, length))
        numbers: dict[_Class, int] = {}
        table = {}
        for board in boards:
            row = np.zeros(len(self._hands), np.int64)
            for column in np.flatnonzero(self._hands.live(board)).tolist():
                row[column] = numbers.setdefault(self._class(self._hands[column], board), len(numbers))
            table[board] = row
        if len(numbers) > MAX_BUCKETS:
            raise ConfigError(
                f"{len(numbers)} classes of hands on boards of {length} cards: expected {MAX_BUCKETS} at most"
            )
        return {board: row.astype(np.uint16) for board, row in table.items()}

    def _class(self, hole: tuple[Card, ...], board: tuple[Card, ...]) -> _Class:
        if self._suits:
            own, shown, _ = canonical_hole_board(hole, board)
            return own, shown
        return tuple(sorted(map(rank_of, hole))), tuple(sorted(map(rank_of, board)))
