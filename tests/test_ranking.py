"""Ranks against a slow twin, phevaluator and published counts; then the kernels against the scalar function."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations, combinations_with_replacement, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.dispatcher import Dispatcher
from phevaluator import evaluate_cards

from protocol import kernels
from protocol.cards import NUM_CARDS, deck, parse_cards
from protocol.hands import NUM_HANDS, hand_cards, hand_cards_array
from protocol.kernels import (
    RankTables,
    build_rank_tables,
    order_board,
    rank_board,
    rank_hands,
    rank_runouts,
    rank_tables,
    warm_up,
)
from protocol.ranking import MAX_CARDS, Category, HandError, category, describe, hand_rank

WHEEL = (12, 3, 2, 1, 0)
NO_BOARD = np.empty(0, np.uint8)

# Five-card hands of each category, best first: the textbook counts of C(52, 5) = 2,598,960.
FIVE_CARD_COUNTS = (40, 624, 3_744, 5_108, 10_200, 54_912, 123_552, 1_098_240, 1_302_540)


# --- The slow twin-------------


def slow_rank(cards):
    """Something to compare hands by: the best of all fives, or of what there is, by the rules as a player says them."""
    return max(slow_rank_of_five(five) for five in combinations(cards, min(5, len(cards))))


def slow_rank_of_five(cards):
    ranks = tuple(sorted((card // 4 for card in cards), reverse=True))
    counts = Counter(ranks)
    grouped = tuple(sorted(ranks, key=lambda rank: (counts[rank], rank), reverse=True))
    pattern = sorted(counts.values(), reverse=True)
    straight = len(cards) == 5 and (ranks == WHEEL or all(a - b == 1 for a, b in pairwise(ranks)))
    flush = len(cards) == 5 and len({card % 4 for card in cards}) == 1
    if straight and ranks == WHEEL:
        grouped = (3, 2, 1, 0, -1)
    if straight and flush:
        return (8, grouped)
    if pattern[0] == 4:
        return (7, grouped)
    if pattern[:2] == [3, 2]:
        return (6, grouped)
    if flush:
        return (5, grouped)
    if straight:
        return (4, grouped)
    if pattern[0] == 3:
        return (3, grouped)
    if pattern[:2] == [2, 2]:
        return (2, grouped)
    return (1 if pattern[0] == 2 else 0, grouped)


def assert_same_order(ours, theirs):
    """Two lists of ranks order the hands alike: the map from one to the other is a strictly rising bijection."""
    pairs = sorted(set(zip(ours, theirs, strict=True)))
    assert len(pairs) > 1
    for (our_low, their_low), (our_high, their_high) in pairwise(pairs):
        assert our_low < our_high
        assert their_low < their_high
    return len(pairs)


# --- hand_rank


@pytest.mark.parametrize("num_cards", [1, 2, 3, 4])
def test_every_hand_of_up_to_four_cards(num_cards):
    hands = list(combinations(range(NUM_CARDS), num_cards))
    classes = assert_same_order([hand_rank(hand) for hand in hands], [slow_rank(hand) for hand in hands])
    assert classes == {1: 13, 2: 13 + 78, 3: 13 + 156 + 286, 4: 13 + 156 + 78 + 858 + 715}[num_cards]


@st.composite
def _two_hands(draw):
    """Two hands of as many cards from one deck; the small decks make ties, straights and flushes common."""
    cards = deck(draw(st.integers(1, 4)), draw(st.integers(3, 13)))
    num_cards = draw(st.integers(1, min(MAX_CARDS, len(cards))))
    hand = st.lists(st.sampled_from(cards), min_size=num_cards, max_size=num_cards, unique=True)
    return draw(hand), draw(hand)


@settings(max_examples=1500, deadline=None)
@given(_two_hands())
def test_hands_compare_as_the_slow_twin_says(hands):
    first, second = hands
    assert (hand_rank(first) > hand_rank(second)) == (slow_rank(first) > slow_rank(second))
    assert (hand_rank(first) == hand_rank(second)) == (slow_rank(first) == slow_rank(second))
    assert category(hand_rank(first)) == slow_rank(first)[0]


@pytest.mark.parametrize(
    ("cards", "text"),
    [
        ("As", "high card A"),
        ("AsAh", "pair A"),
        ("KsAsQs", "high card AKQ"),
        ("2s2h2d2c", "quads 2"),
        ("AsKsQsJs", "high card AKQJ"),
        ("As2h3d4c5c6s7d", "straight 7"),
        ("As2h3d4c5cKsKd", "straight 5"),
        ("AsKsQsJsTs9s8s", "straight flush A"),
        ("2s3s4s5sAs6d9c", "straight flush 5"),
        ("2s3s4s5s7s6dAc", "flush 75432"),
        ("QsKsAs2s3s4h5h", "flush AKQ32"),
        ("AsAhAdKcKdKs2c", "full house A K"),
        ("2s2h2dKcKdQsQc", "full house 2 K"),
        ("AsAhKdKcQcQd2h", "two pair AK Q"),
        ("2s2h2d2cKcKdAh", "quads 2 A"),
        ("2s2h2d9c8cKdAh", "trips 2 AK"),
        ("2s2h3d9c8cKdAh", "pair 2 AK9"),
        ("2s7h3d9c8cKdAh", "high card AK987"),
    ],
)
def test_examples(cards, text):
    assert describe(hand_rank(parse_cards(cards))) == text


def test_categories_are_named_best_last():
    assert [kind.text for kind in Category] == [
        "high card", "pair", "two pair", "trips", "straight", "flush", "full house", "quads", "straight flush",
    ]  # fmt: skip


@pytest.mark.parametrize("cards", [(), (3, 3), tuple(range(8)), (0, 1, 2, 3, 4, 5, 6, 0)])
def test_what_is_no_hand_is_refused(cards):
    with pytest.raises(HandError, match="one to seven different cards"):
        hand_rank(cards)


# --- The kernels' ranks


@pytest.fixture(scope="module")
def five_card_hands():
    flat = chain.from_iterable(combinations(range(NUM_CARDS), 5))
    return np.fromiter(flat, np.uint8, 5 * 2_598_960).reshape(-1, 5)


def _random_cards(rng, num_hands, num_cards):
    """Rows of different cards, uint8[num_hands, num_cards]."""
    shuffled = rng.random((num_hands, NUM_CARDS), np.float32).argpartition(num_cards, axis=1)
    return np.ascontiguousarray(shuffled[:, :num_cards], np.uint8)


def test_all_five_card_hands_by_category(five_card_hands):
    ranks = rank_hands(five_card_hands)
    counts = np.bincount(rank_tables().hand_ranks[ranks] >> 26)
    assert tuple(counts[::-1].tolist()) == FIVE_CARD_COUNTS
    assert np.unique(ranks).size == 7462
    # The same hands as runouts of nothing: the enumeration has the order of itertools.
    np.testing.assert_array_equal(rank_runouts(np.empty((1, 0), np.uint8), NO_BOARD, 5)[:, 0], ranks)


def test_a_million_seven_card_hands_against_phevaluator():
    cards = _random_cards(np.random.default_rng(20250101), 1_000_000, 7)
    # phevaluator counts 1 (best) to 7,462 and its cards are rank * 4 + suit too.
    theirs = [-evaluate_cards(*hand) for hand in cards.tolist()]
    classes = assert_same_order(rank_hands(cards).tolist(), theirs)
    # 4,824 of the 7,462 classes occur among seven cards; the rarest (straight flushes, low hands) may miss a million.
    assert 4500 < classes <= 4824


def _suit_up(rng, ranks, favourite):
    """Cards of these ranks with random suits; a favourite suit is given wherever it can be, which makes flushes."""
    cards = []
    for rank, count in Counter(ranks).items():
        suits = rng.permutation(4).tolist()
        if favourite is not None:
            suits.sort(key=lambda suit: suit != favourite)
        cards += [rank * 4 + suit for suit in suits[:count]]
    return cards


@pytest.mark.parametrize("num_cards", range(1, MAX_CARDS + 1))
def test_every_multiset_of_ranks_as_hand_rank_says(num_cards):
    rng = np.random.default_rng(num_cards)
    multisets = [
        ranks
        for ranks in combinations_with_replacement(range(13), num_cards)
        if max(Counter(ranks).values()) <= 4
    ]  # fmt: skip
    assert len(multisets) == (13, 91, 455, 1820, 6175, 18395, 49205)[num_cards - 1]
    hands = [_suit_up(rng, ranks, favourite) for ranks in multisets for favourite in (None, int(rng.integers(4)))]
    cards = np.array(hands, np.uint8)
    expected = [hand_rank(hand) for hand in hands]
    np.testing.assert_array_equal(rank_tables().hand_ranks[rank_hands(cards)], expected)
    if num_cards >= 5:
        assert sum(category(rank) in (Category.FLUSH, Category.STRAIGHT_FLUSH) for rank in expected) > 1000


def test_the_tables_that_lie_in_the_file_are_those_that_are_built():
    for name, stored, built in zip(RankTables._fields, rank_tables(), build_rank_tables(), strict=True):
        assert stored.dtype == built.dtype, name
        np.testing.assert_array_equal(stored, built, name)


def test_table_ranks_keep_the_order_and_leave_zero_free():
    tables = rank_tables()
    assert tables.hand_ranks.size == 9842
    assert (np.diff(tables.hand_ranks[1:]) > 0).all()
    assert not any(table.flags.writeable for table in tables)


def test_cards_that_repeat_stay_inside_the_tables():
    tables = rank_tables()
    worst_key = 7 * int(tables.card_key[-1] & np.uint64(2**32 - 1))
    assert worst_key >> kernels._ROW_BITS < tables.row_start.size
    assert int(tables.row_start.max()) + (1 << kernels._ROW_BITS) <= tables.by_rank_key.size
    assert rank_hands(np.full((1, 7), 51, np.uint8)).shape == (1,)


# --- Boards

BOARDS = ["", "As", "2c2d", "AsKsQs", "2c2d2h2s", "AsKsQsJsTs", "2c2d2h2s3c", "2c3c4c5c7c", "9c9d9hKcKd", "Th9h2c8h3d"]


def _boards():
    rng = np.random.default_rng(7)
    drawn = [rng.permutation(NUM_CARDS)[:size].tolist() for size in range(6) for _ in range(4)]
    return [list(parse_cards(text)) for text in BOARDS] + drawn


@pytest.mark.parametrize("board", _boards(), ids=str)
def test_hands_on_a_board_as_hand_rank_says(board):
    ranks, order = order_board(np.array(board, np.uint8))
    assert ranks.dtype == np.uint16
    assert order.dtype == np.int16
    live = [hand for hand in range(NUM_HANDS) if not set(hand_cards(hand)) & set(board)]
    assert len(live) == (52 - len(board)) * (51 - len(board)) // 2
    expected = [0] * NUM_HANDS
    for hand in live:
        expected[hand] = hand_rank([*hand_cards(hand), *board])
    assert all(expected[hand] > 0 for hand in live)
    np.testing.assert_array_equal(rank_tables().hand_ranks[ranks], expected)
    np.testing.assert_array_equal(np.flatnonzero(ranks), live)
    np.testing.assert_array_equal(rank_board(np.array(board, np.uint8)), ranks)
    assert order.tolist() == sorted(live, key=expected.__getitem__)


@pytest.mark.parametrize(
    ("holes", "board", "missing", "num_remaining"),
    [
        ([[0, 1], [50, 51]], [4, 9, 14, 19, 24], 0, 43),
        ([[0, 1], [50, 51], [17, 33]], [4, 9, 14, 19], 1, 42),
        ([[48, 44]], [40, 36, 33], 2, 47),
        ([[48, 44], [0, 5]], [40], 4, 14),
        ([[48, 44], [0, 5]], [], 5, 13),
        ([[48, 44], [0, 5]], [], 5, 5),
        ([[48], [44], [1]], [], 1, 3),
        ([[0, 4, 8, 12], [1, 5, 9, 13]], [16, 17, 18], 0, 0),
    ],
)
def test_runouts_as_hand_rank_says(holes, board, missing, num_remaining):
    used = {*chain.from_iterable(holes), *board}
    shuffled = np.random.default_rng(3).permutation([card for card in range(NUM_CARDS) if card not in used])
    remaining = shuffled[:num_remaining].astype(np.uint8)
    ranks = rank_runouts(np.array(holes, np.uint8), np.array(board, np.uint8), missing, remaining)
    expected = [
        [hand_rank([*hole, *board, *runout]) for hole in holes] for runout in combinations(remaining.tolist(), missing)
    ]
    np.testing.assert_array_equal(rank_tables().hand_ranks[ranks], expected)


def test_all_runouts_before_the_flop():
    holes = np.array([parse_cards("2c2d"), parse_cards("AhKh")], np.uint8)
    ranks = rank_runouts(holes, NO_BOARD, 5)
    assert ranks.shape == (1_712_304, 2)
    np.testing.assert_array_equal(rank_runouts(holes[::-1].copy(), NO_BOARD, 5), ranks[:, ::-1])
    rest = np.array([card for card in range(NUM_CARDS) if card not in holes], np.uint8)
    boards = rest[np.fromiter(chain.from_iterable(combinations(range(48), 5)), np.uint8).reshape(-1, 5)]
    for player in (0, 1):
        cards = np.column_stack([boards, np.tile(holes[player], (len(boards), 1))])
        np.testing.assert_array_equal(rank_hands(cards), ranks[:, player])


# --- Façades

HANDS = np.arange(14, dtype=np.uint8).reshape(2, 7)
HOLES = np.arange(4, dtype=np.uint8).reshape(2, 2)
FLOP = np.array([10, 20, 30], np.uint8)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: rank_hands(HANDS.astype(np.int64)), "cards must be an array of uint8, not int64"),
        (lambda: rank_hands(HANDS.tolist()), "cards must be an array of uint8, not list"),
        (lambda: rank_hands(HANDS[0]), "2 dimensions"),
        (lambda: rank_hands(HANDS[:, ::2]), "C-contiguous"),
        (lambda: rank_hands(np.asfortranarray(HANDS)), "C-contiguous"),
        (lambda: rank_hands(np.zeros((2, 0), np.uint8)), "one to 7 cards"),
        (lambda: rank_hands(np.zeros((2, 8), np.uint8)), "one to 7 cards"),
        (lambda: rank_hands(np.full((1, 7), 52, np.uint8)), "holds 52"),
        (lambda: rank_board(np.arange(6, dtype=np.uint8)), "at most 5 different cards"),
        (lambda: rank_board(np.array([3, 4, 3], np.uint8)), "different cards"),
        (lambda: rank_board(FLOP.astype(np.float64)), "not float64"),
        (lambda: order_board(np.array([3, 99], np.uint8)), "holds 99"),
        (lambda: order_board(HANDS), "1 dimensions"),
        (lambda: rank_runouts(HOLES, np.array([0], np.uint8), 1), "different cards"),
        (lambda: rank_runouts(HOLES, FLOP, 1, np.array([10, 11], np.uint8)), "different cards"),
        (lambda: rank_runouts(HOLES, FLOP, 3), "make no hand"),
        (lambda: rank_runouts(HOLES, FLOP, -1), "make no hand"),
        (lambda: rank_runouts(HOLES, FLOP, 2, np.array([40], np.uint8)), "only 1 remain"),
        (lambda: rank_runouts(HOLES[0], FLOP, 2), "2 dimensions"),
    ],
)
def test_facades_refuse(call, reason):
    with pytest.raises(HandError, match=reason):
        call()


def test_no_input_compiles_a_second_version():
    """Beyond what warming up leaves, and what kernels of other packages had compiled for themselves before."""
    warm_up()
    before = _forms()
    rank_hands(hand_cards_array())  # read-only
    rank_hands(HANDS[:1])
    rank_hands(np.empty((0, 3), np.uint8))
    rank_hands(np.zeros((5, 1), np.uint8))
    order_board(NO_BOARD)
    order_board(HANDS[1, :5])
    rank_runouts(HOLES, FLOP, np.int32(1))
    rank_runouts(HOLES[:, :1].copy(), NO_BOARD, True)
    assert _forms() == before
    assert set(before) == {"rank_hands_into", "rank_board_into", "order_ranks_into", "rank_runouts_into"}
    assert all(before.values())


def _forms():
    """Of each kernel."""
    return {
        name: list(kernel.signatures)
        for name, kernel in vars(kernels).items()
        if isinstance(kernel, Dispatcher) and name.endswith("_into")
    }


@njit
def _count_beaten(tables, board, hole):
    """How many live hands a hole beats: compiled code that is handed the tables."""
    ranks = np.empty(1326, np.uint16)
    kernels.rank_board_into(tables, board, ranks)
    cards = np.concatenate((hole, board)).reshape(1, -1)
    own = np.empty(1, np.uint16)
    kernels.rank_hands_into(tables, cards, own)
    beaten = 0
    for rank in ranks:
        beaten += 0 < rank < own[0]
    return beaten


def test_kernels_serve_compiled_code():
    board = np.array(parse_cards("AsKsQsJsTs"), np.uint8)
    assert _count_beaten(rank_tables(), board, np.array(parse_cards("2c2d"), np.uint8)) == 0
    board = np.array(parse_cards("AsKsQsJs2c"), np.uint8)
    # Only the royal flush itself ties: the ten of spades with any of the other 46 cards.
    assert _count_beaten(rank_tables(), board, np.array(parse_cards("Ts3c"), np.uint8)) == 1081 - 46
