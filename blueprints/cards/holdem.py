"""Buckets of full hold'em: 169 classes before the flop, then clusters of hands that are alike.

Boards are unordered sets of cards: the bucket on the turn does not depend on which card came last, nor on the bucket
that the hand had before. A player who plays by these buckets forgets (imperfect recall), which the guarantees of
counterfactual regret minimisation do not cover; in return all buckets of a street tell hands apart by what they are
worth now and later, and every abstraction of no-limit hold'em that won a competition of its time was like this.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.centroids import Centroids
from blueprints.cards.features import FLOP, RIVER, TURN, groups_of, keys
from blueprints.cards.interface import Buckets
from blueprints.cards.kernels import places, rows
from blueprints.cards.points import pack
from blueprints.cards.tables import Table, open_tables
from blueprints.cards.work import PieceWork, Progress
from protocol.cards import NUM_CARDS, Card, CardError
from protocol.game import Game
from protocol.hands import NUM_HANDS, SUIT_PERMUTATIONS, hand_cards_array, hand_classes_array
from protocol.kernels import rank_tables

_STREET_OF = {0: 0, 3: FLOP, 4: TURN, 5: RIVER}


class HoldemCards:
    """Buckets by table; see `interface.Cards`."""

    counts: tuple[int, int, int, int]
    digest: str
    centroids: Centroids

    def __init__(self, centroids: Centroids, flop: Table, turn: Table, river: Table) -> None:
        """Tables as `open_tables` gives them; that of the river may be empty."""
        self.counts, self.digest = centroids.settings.counts, centroids.digest
        for table in (flop, turn, river):
            table.setflags(write=False)  # to numba, arrays that can be written are another type
        self._tables = flop, turn, river
        self._keys = keys(FLOP), keys(TURN), keys(RIVER)
        self._permutations = np.array(SUIT_PERMUTATIONS, np.uint8)
        self._classes = hand_classes_array().astype(np.uint16)
        self._classes.setflags(write=False)
        self.centroids = centroids

    @classmethod
    def open(
        cls,
        centroids: Centroids,
        folder: Path,
        *,
        rivers: bool = True,
        progress: Progress | None = None,
        threads: int | None = None,
    ) -> HoldemCards:
        """Tables out of `folder`; those that are missing or damaged are built there first.

        Without `rivers` the buckets of a river are computed each time, which takes longer but no memory.
        """
        streets = [FLOP, TURN, RIVER] if rivers else [FLOP, TURN]
        work = PieceWork(threads, progress)
        tables = open_tables(centroids, folder, streets, work)
        none = np.empty((0, 0), np.uint16)
        return cls(centroids, tables[FLOP], tables[TURN], tables.get(RIVER, none))

    @cached_property
    def _on_demand(self) -> tuple[Any, ...]:
        """What buckets of a river are computed from."""
        packed = pack(self.centroids.river)
        groups = groups_of(self.centroids.settings, self.centroids.opponents)
        return rank_tables(), hand_cards_array(), *groups, packed.values, packed.norms

    @property
    def tables(self) -> tuple[Table, Table, Table]:
        """Of flop, turn and river as `places` reads them, for kernels; that of the river may be empty."""
        return self._tables

    def buckets(self, board: Sequence[Card]) -> Buckets:
        """[hand] on a board of 0, 3, 4 or 5 cards in any order; dead hands have bucket 0."""
        street = _STREET_OF.get(len(board))
        if street is None:
            raise CardError(f"a board has 0, 3, 4 or 5 cards, not {len(board)}")
        if street == 0:
            return self._classes.copy()
        cards = _checked(board)
        out = np.empty(NUM_HANDS, np.uint16)
        if street == RIVER and not len(self._tables[2]):
            rows.river_buckets(cards, *self._on_demand, out)
        else:
            table = self._tables[street - 1]
            places.look_up(table, self._keys[street - 1], cards, len(cards), self._permutations, out)
        return out

    def buckets_of(self, hand: int, boards: NDArray[np.uint8]) -> Buckets:
        """[board] of one hand, on boards uint8[n, 3 to 5] that it does not meet."""
        street = _STREET_OF[boards.shape[1]]
        if street == RIVER and not len(self._tables[2]):
            return np.array([self.buckets(board)[hand] for board in boards.tolist()], np.uint16)
        out = np.empty(len(boards), np.uint16)
        one, other = (int(card) for card in hand_cards_array()[hand])
        table, keys = self._tables[street - 1], self._keys[street - 1]
        places.look_up_hand(table, keys, np.ascontiguousarray(boards), self._permutations, one, other, out)
        return out

    def deal(self, board: Sequence[Card]) -> Buckets:
        """[street, hand] on a board of five cards: the flop is the first three, the turn the first four."""
        if len(board) != 5:
            raise CardError(f"a deal has a board of five cards, not {len(board)}")
        cards = _checked(board)
        out = np.empty((4, NUM_HANDS), np.uint16)
        places.deal_into(self._classes, *self._tables, *self._keys, cards, self._permutations, out)
        if not len(self._tables[2]):
            rows.river_buckets(cards, *self._on_demand, out[3])
        return out


def is_holdem(game: Game) -> bool:
    """Whether these buckets, with their tables, are for this game."""
    return len(game.deck()) == NUM_CARDS and game.num_hole_cards == 2 and game.num_board_cards == (0, 3, 1, 1)


def _checked(board: Sequence[Card]) -> NDArray[np.uint8]:
    """Different cards, as an array."""
    if len(set(board)) != len(board) or not all(0 <= card < NUM_CARDS for card in board):
        raise CardError(f"a board has different cards of 0 to {NUM_CARDS - 1}, not {list(board)}")
    return np.array(board, np.uint8)
