"""Every hand on every canonical board: a bucket, and on flop and turn one for each class that suits make."""

from __future__ import annotations

import numpy as np
import pytest
from abstractions import small_centroids
from reference.canonical_forms import canonical_hands

from blueprints.cards.features import BOARD_CARDS, FLOP, LIVE_HANDS, RIVER, TURN, keys, live_hands
from blueprints.cards.holdem import HoldemCards
from protocol.hands import canonical_boards

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def cards(tmp_path_factory):
    return HoldemCards.open(small_centroids(), tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize("street", [FLOP, TURN, RIVER])
def test_every_live_hand_of_every_board_has_a_bucket(cards, street):
    """Tables have one column for each live hand: what is left is that no bucket lies outside, and all are in use."""
    table = cards.tables[street - 1]
    assert table.shape == (len(keys(street)), LIVE_HANDS[street])
    assert table.max() < cards.counts[street]
    used = np.bincount(table[:: 10 ** (street - 1)].ravel(), minlength=cards.counts[street])
    assert len(used) == cards.counts[street]
    assert (used > 0).mean() > 0.9  # centres were found on a small sample


@pytest.mark.parametrize(("street", "classes"), [(FLOP, 1_286_792), (TURN, 13_960_050)])
def test_every_class_of_hands_has_one_bucket(cards, street, classes):
    count = 0
    for board in canonical_boards(BOARD_CARDS[street]).tolist():
        live = live_hands(board)
        forms, buckets = canonical_hands(board)[live], cards.buckets(board)
        _, first, of_hand = np.unique(forms, return_index=True, return_inverse=True)
        assert np.array_equal(buckets[live][first][of_hand], buckets[live])
        assert buckets.max() < cards.counts[street]
        count += len(first)
    assert count == classes
