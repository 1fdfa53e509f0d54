"""The order of hands, their classes, and canonical forms against published counts and against trying all 24 suits."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import chain, combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.canonical_forms import board_keys, canonical_board, canonical_hands

from protocol.cards import NUM_CARDS, CardError, deck, parse_card, parse_cards
from protocol.game import Game
from protocol.hands import (
    NUM_CLASSES,
    NUM_HANDS,
    SUIT_PERMUTATIONS,
    canonical_boards,
    canonical_hole_board,
    class_text,
    hand_cards,
    hand_cards_array,
    hand_class,
    hand_classes_array,
    hand_index,
    hand_permutation,
    hand_text,
    hands_of,
    holdem_hands,
    parse_class,
    parse_hand,
    permute_cards,
)
from protocol.kernels import rank_board

PERMUTATIONS = st.sampled_from(SUIT_PERMUTATIONS)


def _different_cards(least, most):
    return st.lists(st.integers(0, NUM_CARDS - 1), min_size=least, max_size=most, unique=True)


def test_the_definitions_load_nothing_heavy():
    check = "import sys, protocol.hands, protocol.ranking; sys.exit(bool({'numpy', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], check=False, timeout=60).returncode == 0


# --- The hands of a deck


def _game(suits, ranks, hole, name="any"):
    return Game(True, 2, 1, (1, 2), (9, 9), (0,), (), (255,), suits, ranks, hole, (0,), name)


DECKS = {"4 cards": (4, 1, 1), "6 cards": (2, 3, 1), "12 cards": (3, 4, 2), "20 cards, 3 held": (4, 5, 3)}


@pytest.mark.parametrize("shape", DECKS.values(), ids=DECKS)
def test_hands_of_a_deck_are_in_order_of_their_highest_card_then_the_next(shape):
    hands, cards = hands_of(_game(*shape)), sorted(deck(*shape[:2]))
    assert list(hands) == sorted(combinations(cards, shape[2]), key=lambda hole: hole[::-1])
    assert (len(hands), hands[0], hands[-1]) == (len(list(hands)), tuple(cards[: shape[2]]), tuple(cards[-shape[2] :]))
    assert hands.deck == tuple(cards)
    assert hands.cards.tolist() == [list(hand) for hand in hands]
    assert hands.cards.dtype == np.uint8
    for column, hand in enumerate(hands):
        assert {hands.column(order) for order in permutations(hand)} == {column}


@pytest.mark.parametrize("shape", DECKS.values(), ids=DECKS)
def test_hands_that_dead_cards_leave_and_hands_that_can_be_held_at_once(shape):
    hands = hands_of(_game(*shape))
    assert hands.holding.shape == (NUM_CARDS, len(hands))
    assert hands.holding.tolist() == [[card in hand for hand in hands] for card in range(NUM_CARDS)]
    assert hands.compatible.tolist() == [[float(not {*mine} & {*theirs}) for theirs in hands] for mine in hands]
    assert hands.compatible.dtype == np.float32
    assert hands.live(()).all()
    rng = np.random.default_rng(7)
    for number in range(len(hands.deck) + 1):
        dead = rng.permutation(hands.deck)[:number]
        expected = [not {*hand} & {*dead.tolist()} for hand in hands]
        assert hands.live(dead).tolist() == hands.live(tuple(dead[::-1].tolist())).tolist() == expected


def test_the_hands_of_holdem_have_the_hand_index_as_their_column():
    hands = holdem_hands()
    assert hands is hands_of(_game(4, 13, 2)) is hands_of(_game(4, 13, 2, "another"))
    assert [hand_index(low, high) for low, high in hands] == list(range(NUM_HANDS)) == list(range(len(hands)))
    assert np.array_equal(hand_cards_array(), hands.cards[:, ::-1])
    assert int(hands.compatible.sum()) == NUM_HANDS * comb(50, 2)


def test_the_arrays_of_hands_are_everybodys_and_cannot_be_written():
    hands = hands_of(_game(3, 4, 2))
    for array in (hands.cards, hands.holding, hands.compatible, hands.live(hands[0])):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("text", ["", "As", "AsKh9d", "2c3c"])
def test_cards_that_are_no_hand_of_the_deck_have_no_column(text):
    with pytest.raises(CardError, match="is no hand of 2 cards of this deck"):
        hands_of(_game(3, 4, 2)).column(parse_cards(text))


# --- The 1,326 and their classes


def test_hands_are_the_pairs_of_cards_by_high_then_low():
    pairs = [(high, low) for high in range(NUM_CARDS) for low in range(NUM_CARDS) if high > low]
    assert len(pairs) == NUM_HANDS
    assert [hand_cards(index) for index in range(NUM_HANDS)] == pairs
    assert [hand_index(high, low) for high, low in pairs] == list(range(NUM_HANDS))
    assert [hand_index(low, high) for high, low in pairs] == list(range(NUM_HANDS))
    assert hand_cards_array().tolist() == [list(pair) for pair in pairs]
    assert hand_cards_array().dtype == np.uint8
    assert not hand_cards_array().flags.writeable


def test_hands_as_text():
    assert hand_text(0) == "2d2c"
    assert hand_text(1325) == "AsAh"
    assert [parse_hand(hand_text(index)) for index in range(NUM_HANDS)] == list(range(NUM_HANDS))
    assert parse_hand("KhAs") == parse_hand("AsKh")


@pytest.mark.parametrize("text", ["As", "AsKhQd", "", "AsAs", "AsKx"])
def test_what_spells_no_hand_is_refused(text):
    with pytest.raises(CardError):
        parse_hand(text)


def test_a_hand_has_two_cards():
    with pytest.raises(CardError, match="AsAs"):
        hand_index(parse_card("As"), parse_card("As"))


def test_classes_have_6_4_or_12_hands():
    classes = [hand_class(index) for index in range(NUM_HANDS)]
    assert hand_classes_array().tolist() == classes
    assert hand_classes_array().dtype == np.uint8
    sizes = Counter(class_text(index) for index in classes)
    assert len(sizes) == NUM_CLASSES
    assert Counter((len(text), text[2:], size) for text, size in sizes.items()) == {
        (2, "", 6): 13,
        (3, "s", 4): 78,
        (3, "o", 12): 78,
    }


@pytest.mark.parametrize(
    ("hand", "name", "index"),
    [
        ("2c2d", "22", 0),
        ("AsAh", "AA", 168),
        ("KhAh", "AKs", 167),
        ("AsKh", "AKo", 155),
        ("9hTd", "T9o", 99),
        ("3c2c", "32s", 13),
        ("3c2d", "32o", 1),
    ],
)
def test_class_examples(hand, name, index):
    assert hand_class(parse_hand(hand)) == index
    assert class_text(index) == name


def test_class_names_are_read_back():
    assert [parse_class(class_text(index)) for index in range(NUM_CLASSES)] == list(range(NUM_CLASSES))
    for text in ("KAs", "AK", "QQs", "aks", ""):
        with pytest.raises(CardError, match="not a class"):
            parse_class(text)


# --- Permutations of suits


def test_there_are_24_permutations_and_the_first_changes_nothing():
    assert len(set(SUIT_PERMUTATIONS)) == 24
    assert list(SUIT_PERMUTATIONS) == sorted(SUIT_PERMUTATIONS)
    np.testing.assert_array_equal(hand_permutation(SUIT_PERMUTATIONS[0]), np.arange(NUM_HANDS))
    assert permute_cards(parse_cards("2c3d4h5s"), (1, 2, 3, 0)) == parse_cards("2d3h4s5c")


@pytest.mark.parametrize("permutation", SUIT_PERMUTATIONS)
def test_permuted_hands(permutation):
    permuted = hand_permutation(permutation)
    assert permuted.dtype == np.int16
    assert sorted(permuted.tolist()) == list(range(NUM_HANDS))
    for index in range(0, NUM_HANDS, 7):
        assert set(hand_cards(permuted[index])) == set(permute_cards(hand_cards(index), permutation))
    np.testing.assert_array_equal(hand_classes_array()[permuted], hand_classes_array())
    inverse = tuple(permutation.index(suit) for suit in range(4))
    np.testing.assert_array_equal(hand_permutation(inverse)[permuted], np.arange(NUM_HANDS))


@settings(max_examples=50, deadline=None)
@given(_different_cards(0, 5), PERMUTATIONS)
def test_permuting_board_and_hand_keeps_the_rank(board, permutation):
    permuted_board = np.array(permute_cards(board, permutation), np.uint8)
    permuted_ranks = rank_board(permuted_board)[hand_permutation(permutation)]
    np.testing.assert_array_equal(permuted_ranks, rank_board(np.array(board, np.uint8)))


# --- Canonical forms


@settings(max_examples=300, deadline=None)
@given(_different_cards(0, 7), PERMUTATIONS, st.randoms(use_true_random=False))
def test_equal_boards_have_one_canonical_form(board, permutation, random):
    canonical, found = canonical_board(board)
    assert tuple(sorted(permute_cards(board, found))) == canonical
    assert canonical_board(canonical) == (canonical, SUIT_PERMUTATIONS[0])
    other = list(permute_cards(board, permutation))
    random.shuffle(other)
    assert canonical_board(other)[0] == canonical


@st.composite
def _two_spots(draw):
    """Two holes and boards from few ranks, so that being equal up to suits is no rare accident."""
    cards = deck(4, draw(st.integers(2, 4)))
    spot = st.lists(st.sampled_from(cards), min_size=5, max_size=5, unique=True)
    first = draw(spot)
    second = draw(st.one_of(spot, PERMUTATIONS.map(lambda permutation: list(permute_cards(first, permutation)))))
    return first[:2], first[2:], second[:2], second[2:]


@settings(max_examples=500, deadline=None)
@given(_two_spots())
def test_spots_share_a_canonical_form_exactly_if_a_permutation_leads_from_one_to_the_other(spots):
    hole, board, other_hole, other_board = spots
    equal = any(
        set(permute_cards(hole, permutation)) == set(other_hole)
        and set(permute_cards(board, permutation)) == set(other_board)
        for permutation in SUIT_PERMUTATIONS
    )
    new_hole, new_board, found = canonical_hole_board(hole, board)
    assert (canonical_hole_board(other_hole, other_board)[:2] == (new_hole, new_board)) == equal
    assert tuple(sorted(permute_cards(hole, found))) == new_hole
    assert tuple(sorted(permute_cards(board, found))) == new_board
    assert canonical_board(board)[0] == new_board


def test_canonical_cards_of_a_small_deck_stay_in_it():
    cards = deck(2, 3)
    for board in combinations(cards, 3):
        assert set(canonical_board(board)[0]) <= set(cards)


def test_a_card_cannot_be_in_hole_and_board():
    with pytest.raises(CardError, match="same card twice"):
        canonical_hole_board(parse_cards("AsKs"), parse_cards("Ks2c3d"))


@pytest.mark.parametrize(("num_cards", "count"), [(1, 13), (2, 169), (3, 1_755), (4, 16_432)])
def test_number_of_boards(num_cards, count):
    flat = chain.from_iterable(combinations(range(NUM_CARDS), num_cards))
    boards = np.fromiter(flat, np.uint8, num_cards * comb(NUM_CARDS, num_cards)).reshape(-1, num_cards)
    keys = np.unique(board_keys(boards))
    assert keys.size == count
    canonical = canonical_boards(num_cards)
    np.testing.assert_array_equal(board_keys(canonical), keys)
    for board in canonical[:: 1 + count // 500].tolist():
        assert canonical_board(board) == (tuple(board), SUIT_PERMUTATIONS[0])


def test_number_of_rivers():
    assert canonical_boards(5).shape == (134_459, 5)
    assert canonical_boards(0).shape == (1, 0)
    with pytest.raises(CardError, match="up to five"):
        canonical_boards(6)


@pytest.mark.parametrize(("cards", "classes"), [(3, 1_286_792), (4, 13_960_050)])
def test_number_of_holes_and_boards(cards, classes):
    hands = hand_cards_array()
    count = 0
    for board in canonical_boards(cards).tolist():
        live = ~(hands[:, :, None] == board).any(axis=(1, 2))
        count += np.count_nonzero(np.bincount(canonical_hands(board)[live]))
    assert count == classes


@pytest.mark.parametrize(
    "board", ["", "As", "2c2d", "AsKsQh", "2c2d2h", "Tc9dJh2s", "KsKhQsQh", "AsKsQsJsTs", "2h7h9d9c3h"]
)
def test_canonical_hands_as_one_by_one(board):
    board = parse_cards(board)
    vector = canonical_hands(board)
    assert vector.dtype == np.int16
    for index in range(NUM_HANDS):
        if not set(hand_cards(index)) & set(board):
            assert vector[index] == hand_index(*canonical_hole_board(hand_cards(index), board)[0])
