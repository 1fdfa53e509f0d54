"""Complete enumerations: every seven-card hand by category, every five-card hand against phevaluator, every spot."""

from __future__ import annotations

from itertools import chain, combinations, starmap

import numpy as np
import pytest
from phevaluator import evaluate_cards
from reference.canonical_forms import board_keys, canonical_hands

from protocol.hands import canonical_boards, hand_cards_array
from protocol.kernels import rank_hands, rank_runouts, rank_tables

pytestmark = pytest.mark.proof

# The textbook counts of C(52, 7) = 133,784,560, straight flush (royal included) to high card.
SEVEN_CARD_COUNTS = (
    41_584, 224_848, 3_473_184, 4_047_644, 6_180_020, 6_461_620, 31_433_400, 58_627_800, 23_294_460,
)  # fmt: skip


def test_every_seven_card_hand_by_category():
    tables = rank_tables()
    counts = np.zeros(tables.hand_ranks.size, np.int64)
    nothing = np.empty(0, np.uint8)
    # By the two lowest cards: these are a hole, completed by five of all the cards above.
    for low, high in combinations(range(47), 2):
        hole = np.array([[low, high]], np.uint8)
        ranks = rank_runouts(hole, nothing, 5, np.arange(high + 1, 52, dtype=np.uint8))
        counts += np.bincount(ranks[:, 0], minlength=counts.size)
    assert counts.sum() == 133_784_560
    by_category = np.bincount(tables.hand_ranks >> 26, weights=counts).astype(np.int64)
    assert tuple(by_category[::-1].tolist()) == SEVEN_CARD_COUNTS
    assert np.count_nonzero(counts) == 4824


def test_every_five_card_hand_against_phevaluator():
    hands = list(combinations(range(52), 5))
    theirs = -np.fromiter(starmap(evaluate_cards, hands), np.int64, len(hands))
    ours = rank_hands(np.array(hands, np.uint8)).astype(np.int64)
    pairs = np.unique(np.column_stack([ours, theirs]), axis=0)
    assert len(pairs) == 7462
    assert (np.diff(pairs, axis=0) > 0).all()


def test_every_river_up_to_suits():
    rivers = np.fromiter(chain.from_iterable(combinations(range(52), 5)), np.uint8, 5 * 2_598_960).reshape(-1, 5)
    keys = np.unique(board_keys(rivers))
    assert keys.size == 134_459
    np.testing.assert_array_equal(board_keys(canonical_boards(5)), keys)


def test_every_hole_and_turn_up_to_suits():
    hands = hand_cards_array()
    count = 0
    for board in canonical_boards(4).tolist():
        live = ~np.isin(hands, board).any(axis=1)
        count += np.unique(canonical_hands(board)[live]).size
    assert count == 13_960_050
