"""Every hand on every canonical flop and turn: one bucket for each class that suits make, none missing."""

from __future__ import annotations

import numpy as np
import pytest
from abstractions import small_centroids

from blueprints.cards.features import BOARD_CARDS, FLOP, TURN, live_hands
from blueprints.cards.holdem import HoldemCards
from protocol.hands import canonical_boards, canonical_hands

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def cards(tmp_path_factory):
    return HoldemCards.open(small_centroids(), tmp_path_factory.mktemp("tables"), rivers=False)


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
