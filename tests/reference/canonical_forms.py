"""Canonical boards and hands as found from any board: the other way to what `protocol.hands` lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protocol.cards import Card, rank_of, suit_of
from protocol.hands import NUM_HANDS, SuitPermutation, canonical_hole_board, hand_cards_array


def canonical_board(board: Sequence[Card]) -> tuple[tuple[Card, ...], SuitPermutation]:
    """The canonical form of a board, its cards ascending, and the permutation that leads from the board to it."""
    _, canonical, permutation = canonical_hole_board((), board)
    return canonical, permutation


def board_keys(boards: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A number for each board, the same for two of them exactly if their canonical forms are: uint8[n, b] to uint64[n].

    It is the canonical form itself, the masks of the four suits in 13 bits each, spades highest.
    """
    rank_bit = np.uint64(1) << (boards >> 2).astype(np.uint64)
    masks = np.empty((4, len(boards)), np.uint64)
    for suit in range(4):
        masks[suit] = np.where(boards & 3 == suit, rank_bit, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    masks.sort(axis=0)
    keys: NDArray[np.uint64] = (
        masks[0] | masks[1] << np.uint64(13) | masks[2] << np.uint64(26) | masks[3] << np.uint64(39)
    )
    return keys


def canonical_hands(board: Sequence[Card]) -> NDArray[np.int16]:
    """For every hand the hand that `canonical_hole_board` makes of it with this board: int16[1326].

    Live hands with the same value are equal up to a permutation that leaves the board as it is. Hands that meet the
    board are permuted along and mean nothing.
    """
    hands = hand_cards_array()
    masks = np.zeros((NUM_HANDS, 4), np.int64)
    for card in board:
        masks[:, suit_of(card)] |= 1 << 13 + rank_of(card)
    every_hand = np.arange(NUM_HANDS)
    for cards in hands.T:
        masks[every_hand, cards & 3] |= 1 << (cards >> 2).astype(np.int64)
    # The first argsort gives the old suit for each place, the second its inverse: the place of each old suit.
    new_suit = masks.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    first, second = (cards & ~np.uint8(3) | new_suit[every_hand, cards & 3] for cards in hands.T)
    high, low = np.maximum(first, second), np.minimum(first, second)
    index: NDArray[np.int16] = (high * (high - 1) // 2 + low).astype(np.int16)
    return index
