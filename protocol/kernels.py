"""Ranking hands by the million: the tables of `protocol.ranking.hand_rank` and the kernels that read them.

Every card has a 64-bit key, and a hand's key is the sum of its cards' keys: the key of a board is added up once and
hands are added to it.

    bits 0-31    rank key: weights whose sums differ for all 76,154 multisets of one to seven ranks, each four times
                 at most
    bits 32-47   a nibble for each suit, 3 more than its cards: five of a suit set the nibble's top bit

The rank key (25 bits) finds the hand's rank in a table packed by row displacement: its high bits name a row, its low
bits a column, and the rows are slid over one another until no two entries meet. With two bytes an entry the table stays
in the second-level cache. A flush (one random seven-card hand in 33) is looked up instead by the 13-bit mask of its
suit; `card_mask` gives each card one bit in four 16-bit lanes for that.

A table rank is the place of `hand_rank`'s value among all 9,841 values that hands of one to seven cards have, counted
from 1; 0 is free to mean "no such hand". So the order is `hand_rank`'s, and `hand_ranks[table rank]` is its value.

Rules of the file. All arrays are C-contiguous; shapes and dtypes stand in each docstring; outputs alias nothing. The
kernels (`..._into`) check nothing and release the GIL. The façades check, allocate and call them: Python should use
those, while other compiled code passes `rank_tables()` down to the kernels. That the cards of one hand differ is the
promise of whoever calls `rank_hands` or a kernel: if broken, ranks mean nothing, but no access is out of bounds.
Nothing is compiled or read at import. `python -m protocol.kernels` makes the file of the tables, `ranks.npz`, anew; the
tests compare it with what is built.
"""

from __future__ import annotations

import math
import operator
from functools import cache
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from protocol.arrays import U8, U16
from protocol.cards import NUM_CARDS, Card
from protocol.hands import NUM_HANDS
from protocol.ranking import MAX_CARDS, HandError, hand_rank

I16 = NDArray[np.int16]


# Found greedily: each is the smallest that keeps the sums of up to seven ranks (at most four of each) different.
_WEIGHTS = (1, 5, 24, 112, 521, 2247, 9244, 30823, 103066, 250154, 667453, 1526359, 3453520)

# A row of the packed table has 2 ** _ROW_BITS columns. From 8 bits to 13 the speed differs by a tenth at most; 10 and
# 11 make the smallest tables.
_ROW_BITS = 11

# The kernels' constants are uint64 because numba makes a float of an int64 and a uint64.
_ROW_SHIFT = np.uint64(_ROW_BITS)
_COLUMN_MASK = np.uint64((1 << _ROW_BITS) - 1)
_RANK_KEY_MASK = np.uint64((1 << 32) - 1)
# Each nibble of suits starts at 3, so that the fifth card of a suit sets its top bit.
_NO_CARDS = np.uint64(0x3333 << 32)
_FLUSH_BITS = np.uint64(0x8888 << 32)
_SUIT_MASK = np.uint64((1 << 13) - 1)

# Table ranks have 14 bits: the sort deals with 7 at a time.
_DIGIT_BITS = 7
_DIGITS = 1 << _DIGIT_BITS

_FILE = Path(__file__).with_name("ranks.npz")


class RankTables(NamedTuple):
    """What the kernels read. Shared and read-only."""

    card_key: NDArray[np.uint64]  # [card]
    card_mask: NDArray[np.uint64]  # [card], bit 16 * suit + rank
    row_start: NDArray[np.int32]  # [row of the rank key]
    by_rank_key: U16  # [row_start + column]
    by_suit_mask: U16  # [13-bit mask], 0 unless it holds five to seven ranks
    hand_ranks: NDArray[np.int64]  # [table rank], the value of hand_rank


@cache
def rank_tables() -> RankTables:
    """The tables, as they lie beside this file: to build them takes a second, and most processes want them."""
    with np.load(_FILE, allow_pickle=False) as stored:
        return _read_only(RankTables(*(stored[name] for name in RankTables._fields)))


def build_rank_tables() -> RankTables:
    """The tables, from `hand_rank` alone."""
    rank_of_key = dict(_rank_keys())
    rank_of_suit = dict(_suit_masks())
    hand_ranks = np.array([0, *sorted({*rank_of_key.values(), *rank_of_suit.values()})], np.int64)
    table_rank = {int(rank): place for place, rank in enumerate(hand_ranks)}

    row_start, by_rank_key = _pack({key: table_rank[rank] for key, rank in rank_of_key.items()})
    by_suit_mask = np.zeros(1 << 13, np.uint16)
    for mask, rank in rank_of_suit.items():
        by_suit_mask[mask] = table_rank[rank]
    cards = range(NUM_CARDS)
    return RankTables(
        card_key=np.array([_WEIGHTS[card >> 2] + (1 << 32 + 4 * (card & 3)) for card in cards], np.uint64),
        card_mask=np.array([1 << 16 * (card & 3) + (card >> 2) for card in cards], np.uint64),
        row_start=row_start,
        by_rank_key=by_rank_key,
        by_suit_mask=by_suit_mask,
        hand_ranks=hand_ranks,
    )


def _read_only(tables: RankTables) -> RankTables:
    for table in tables:
        table.flags.writeable = False
    return tables


def _rank_keys() -> list[tuple[int, int]]:
    """Rank key and hand_rank of every multiset of ranks, as held without a flush."""
    found = []
    for num_cards in range(1, MAX_CARDS + 1):
        for ranks in combinations_with_replacement(range(13), num_cards):
            if any(low == high for low, high in zip(ranks, ranks[4:], strict=False)):
                continue
            # Suits in turn: equal ranks are neighbours and get different suits, and no suit comes more than twice.
            cards = [Card(rank * 4 + place % 4) for place, rank in enumerate(ranks)]
            found.append((sum([_WEIGHTS[rank] for rank in ranks]), hand_rank(cards)))
    return found


def _suit_masks() -> list[tuple[int, int]]:
    """Mask and hand_rank of every set of five to seven ranks of one suit."""
    return [
        (sum([1 << rank for rank in ranks]), hand_rank([Card(rank * 4) for rank in ranks]))
        for num_cards in range(5, MAX_CARDS + 1)
        for ranks in combinations(range(13), num_cards)
    ]


def _pack(value_of_key: dict[int, int]) -> tuple[NDArray[np.int32], U16]:
    """Row displacement, first fit, fullest rows first: row starts and the packed table.

    The occupied places are one big integer. Its shifts by a row's columns, put together, show every start at which
    the row would meet another, and the lowest zero is the first fit.
    """
    columns_a_row = 1 << _ROW_BITS
    rows: dict[int, list[int]] = {}
    for key in value_of_key:
        rows.setdefault(key >> _ROW_BITS, []).append(key % columns_a_row)
    # Seven aces are no hand, but their key must not lead out of the tables.
    row_start = np.zeros((MAX_CARDS * _WEIGHTS[-1] >> _ROW_BITS) + 1, np.int32)
    occupied = 0
    for row, columns in sorted(rows.items(), key=lambda item: -len(item[1])):
        taken = 0
        for column in columns:
            taken |= occupied >> column
        start = (~taken & (taken + 1)).bit_length() - 1
        for column in columns:
            occupied |= 1 << (start + column)
        row_start[row] = start
    packed = np.zeros(int(row_start.max()) + columns_a_row, np.uint16)
    for key, value in value_of_key.items():
        place = row_start[key >> _ROW_BITS] + key % columns_a_row
        assert packed[place] == 0, "two rank keys meet: the weights or the packing are wrong"
        packed[place] = value
    return row_start, packed


@njit(cache=True, nogil=True)
def _flush_rank(tables: RankTables, key: np.uint64, mask: np.uint64) -> np.uint16:
    """The rank of a hand that has a flush, from its key and its suit masks."""
    suits = key & _FLUSH_BITS
    lane = np.uint64(0)
    while not suits >> (np.uint64(35) + np.uint64(4) * lane) & np.uint64(1):
        lane += np.uint64(1)
    rank: np.uint16 = tables.by_suit_mask[mask >> np.uint64(16) * lane & _SUIT_MASK]
    return rank


@njit(cache=True, nogil=True)
def _rank(tables: RankTables, key: np.uint64, mask: np.uint64) -> np.uint16:
    """The rank of the hand with this key and these suit masks."""
    if key & _FLUSH_BITS:
        return _flush_rank(tables, key, mask)
    rank_key = key & _RANK_KEY_MASK
    rank: np.uint16 = tables.by_rank_key[tables.row_start[rank_key >> _ROW_SHIFT] + (rank_key & _COLUMN_MASK)]
    return rank


@njit(cache=True, nogil=True)
def rank_hands_into(tables: RankTables, cards: U8, out: U16) -> None:
    """Rank each row of cards: cards uint8[n, k], k 1 to 7; out uint16[n]."""
    for hand in range(cards.shape[0]):
        key = _NO_CARDS
        for place in range(cards.shape[1]):
            key += tables.card_key[cards[hand, place]]
        mask = np.uint64(0)
        if key & _FLUSH_BITS:
            for place in range(cards.shape[1]):
                mask |= tables.card_mask[cards[hand, place]]
        out[hand] = _rank(tables, key, mask)


@njit(cache=True, nogil=True)
def rank_board_into(tables: RankTables, board: U8, out: U16) -> None:
    """Rank all hold'em hands on a board: board uint8[b], b 0 to 5; out uint16[1326], 0 for a hand that meets it."""
    board_key = _NO_CARDS
    board_mask = np.uint64(0)
    dead = np.uint64(0)
    for card in board:
        board_key += tables.card_key[card]
        board_mask |= tables.card_mask[card]
        dead |= np.uint64(1) << np.uint64(card)
    hand = 0
    for high in range(NUM_CARDS):
        high_is_dead = dead >> np.uint64(high) & np.uint64(1)
        high_key = board_key + tables.card_key[high]
        high_mask = board_mask | tables.card_mask[high]
        for low in range(high):
            if high_is_dead or dead >> np.uint64(low) & np.uint64(1):
                out[hand] = 0
            else:
                out[hand] = _rank(tables, high_key + tables.card_key[low], high_mask | tables.card_mask[low])
            hand += 1


@njit(cache=True, nogil=True)
def order_ranks_into(ranks: U16, scratch: I16, order: I16) -> int:
    """Sort the live hands by rank, worst first, equal ones by index, and return how many there are.

    ranks uint16[1326], 0 for a dead hand; scratch and order int16[1326], of which the first so many are written.
    A radix sort of two digits: each count becomes the end of its digit's run, which the hands fill from behind.
    """
    low_end = np.zeros(_DIGITS, np.int64)
    high_end = np.zeros(_DIGITS, np.int64)
    for hand in range(NUM_HANDS):
        if ranks[hand]:
            low_end[ranks[hand] & (_DIGITS - 1)] += 1
            high_end[ranks[hand] >> _DIGIT_BITS] += 1
    for digit in range(1, _DIGITS):
        low_end[digit] += low_end[digit - 1]
        high_end[digit] += high_end[digit - 1]
    num_live: int = low_end[_DIGITS - 1]
    for hand in range(NUM_HANDS - 1, -1, -1):
        if ranks[hand]:
            digit = ranks[hand] & (_DIGITS - 1)
            low_end[digit] -= 1
            scratch[low_end[digit]] = hand
    for place in range(num_live - 1, -1, -1):
        hand = scratch[place]
        digit = ranks[hand] >> _DIGIT_BITS
        high_end[digit] -= 1
        order[high_end[digit]] = hand
    return num_live


@njit(cache=True, nogil=True)
def rank_runouts_into(tables: RankTables, holes: U8, board: U8, remaining: U8, missing: int, out: U16) -> None:
    """Rank every player's hand on every completion of the board by `missing` of the remaining cards.

    holes uint8[p, h], board uint8[b], remaining uint8[m], h + b + missing at most 7; out uint16[C(m, missing), p], the
    completions in lexicographic order of places in `remaining` (that of itertools.combinations).
    """
    num_players = holes.shape[0]
    # Keys and masks of each player with the board and the first so many completing cards: [cards chosen, player].
    keys = np.empty((missing + 1, num_players), np.uint64)
    masks = np.empty((missing + 1, num_players), np.uint64)
    for player in range(num_players):
        keys[0, player] = _NO_CARDS
        masks[0, player] = np.uint64(0)
        for card in holes[player]:
            keys[0, player] += tables.card_key[card]
            masks[0, player] |= tables.card_mask[card]
        for card in board:
            keys[0, player] += tables.card_key[card]
            masks[0, player] |= tables.card_mask[card]
    if missing == 0:
        for player in range(num_players):
            out[0, player] = _rank(tables, keys[0, player], masks[0, player])
        return

    # next_place[chosen] is the place in `remaining` to try next, after so many cards have been chosen.
    next_place = np.zeros(missing, np.int64)
    chosen = 0
    runout = 0
    while chosen >= 0:
        if chosen == missing - 1:
            for place in range(next_place[chosen], remaining.shape[0]):
                card = remaining[place]
                for player in range(num_players):
                    key = keys[chosen, player] + tables.card_key[card]
                    out[runout, player] = _rank(tables, key, masks[chosen, player] | tables.card_mask[card])
                runout += 1
            chosen -= 1
        elif next_place[chosen] > remaining.shape[0] - (missing - chosen):
            chosen -= 1
        else:
            card = remaining[next_place[chosen]]
            for player in range(num_players):
                keys[chosen + 1, player] = keys[chosen, player] + tables.card_key[card]
                masks[chosen + 1, player] = masks[chosen, player] | tables.card_mask[card]
            next_place[chosen] += 1
            next_place[chosen + 1] = next_place[chosen]
            chosen += 1


def rank_hands(cards: U8) -> U16:
    """The table rank of each row of different cards: uint8[n, k], k 1 to 7, to uint16[n]."""
    cards = _cards(cards, "cards", 2)
    if not 1 <= cards.shape[1] <= MAX_CARDS:
        raise HandError(f"a hand has one to {MAX_CARDS} cards, but cards has shape {cards.shape}")
    ranks = np.empty(cards.shape[0], np.uint16)
    rank_hands_into(rank_tables(), cards, ranks)
    return ranks


def rank_board(board: U8) -> U16:
    """The table rank of each hold'em hand on a board of up to five cards, 0 if it meets the board: uint16[1326]."""
    board = _cards(board, "board", 1)
    _check_together(board, at_most=5)
    ranks = np.empty(NUM_HANDS, np.uint16)
    rank_board_into(rank_tables(), board, ranks)
    return ranks


def order_board(board: U8) -> tuple[U16, I16]:
    """`rank_board`, and the live hands from worst to best, equal ones by index: uint16[1326], int16[live]."""
    ranks = rank_board(board)
    order = np.empty(NUM_HANDS, np.int16)
    num_live = order_ranks_into(ranks, np.empty(NUM_HANDS, np.int16), order)
    return ranks, order[:num_live]


def rank_runouts(holes: U8, board: U8, missing: int, remaining: U8 | None = None) -> U16:
    """Table ranks uint16[runout, player] on all completions of the board by `missing` of the remaining cards.

    holes uint8[p, h], board uint8[b]; `remaining` uint8[m] defaults to every other card of the full deck, ascending.
    Runouts come in the order of itertools.combinations(remaining, missing).
    """
    holes = _cards(holes, "holes", 2)
    board = _cards(board, "board", 1)
    if remaining is None:
        seen = np.concatenate([holes.ravel(), board])
        remaining = np.setdiff1d(np.arange(NUM_CARDS, dtype=np.uint8), seen)
    remaining = _cards(remaining, "remaining", 1)
    _check_together(holes.ravel(), board, remaining, at_most=NUM_CARDS)
    num_cards = holes.shape[1] + board.size + missing
    if missing < 0 or not 1 <= num_cards <= MAX_CARDS:
        raise HandError(f"{holes.shape[1]} hole cards, {board.size} on the board and {missing} missing make no hand")
    if missing > remaining.size:
        raise HandError(f"{missing} cards are missing, but only {remaining.size} remain")
    missing = int(operator.index(missing))  # to numba a bool or NumPy's integers are other types
    ranks = np.empty((math.comb(remaining.size, missing), holes.shape[0]), np.uint16)
    rank_runouts_into(rank_tables(), holes, board, remaining, missing, ranks)
    return ranks


def warm_up() -> None:
    """Build the tables and compile (or load) every kernel, so that no later call has to."""
    board = np.arange(5, dtype=np.uint8)
    holes = np.arange(5, 9, dtype=np.uint8).reshape(2, 2)
    rank_hands(holes)
    order_board(board)
    rank_runouts(holes, board, 0)


def cached() -> bool:
    """True if `warm_up` has nothing to compile; loads nothing."""
    kernels: tuple[Any, ...] = (rank_hands_into, rank_board_into, order_ranks_into, rank_runouts_into)
    return all(kernel._cache._cache_file._load_index() for kernel in kernels)


def _cards(cards: U8, name: str, dimensions: int) -> U8:
    """The array, if it is of cards and compiles no second version of a kernel."""
    if not isinstance(cards, np.ndarray) or cards.dtype != np.uint8:
        raise HandError(f"{name} must be an array of uint8, not {getattr(cards, 'dtype', type(cards).__name__)}")
    if cards.ndim != dimensions or not cards.flags.c_contiguous:
        raise HandError(f"{name} must be C-contiguous and have {dimensions} dimensions, not shape {cards.shape}")
    if cards.size and cards.max() >= NUM_CARDS:
        raise HandError(f"{name} holds {cards.max()}: cards are 0-{NUM_CARDS - 1}")
    # To numba a read-only array is another type.
    return cards if cards.flags.writeable else cards.copy()


def _check_together(*parts: U8, at_most: int) -> None:
    """Refuse too many cards, or one that is there twice."""
    cards = [card for part in parts for card in part.tolist()]
    if len(cards) > at_most or len(set(cards)) != len(cards):
        raise HandError(f"expected at most {at_most} different cards, not {cards}")


if __name__ == "__main__":
    np.savez_compressed(_FILE, **build_rank_tables()._asdict())
