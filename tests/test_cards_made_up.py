"""Made-up buckets are as many a board as those of the blueprint that ships."""

from __future__ import annotations

import numpy as np

from blueprints.cards.made_up import made_up_rows, made_up_tables
from blueprints.cards.settings import CardSettings
from blueprints.settings import load_settings
from protocol.hands import hand_cards_array, hand_classes_array

BOARD = (0, 13, 26, 39, 51)
LIVE = ~np.isin(hand_cards_array(), BOARD).any(axis=1)


def seen(settings: CardSettings) -> list[int]:
    """Buckets of a street that some hand of the board has."""
    deal = made_up_rows(settings).deal(BOARD)
    return [len(np.unique(row[LIVE])) for row in deal]


def test_rows_have_as_many_buckets_a_board_as_real_ones() -> None:
    """Those of `standard` were counted twice, by somebody else as 169, 122, 86 and 78: see docs/decisions/0005."""
    standard = load_settings("standard").cards
    assert standard.counts == (169, 1000, 1500, 1000)
    for found, counted in zip(seen(standard), (169, 122, 86, 78), strict=True):
        assert abs(found - counted) <= 4
    assert seen(CardSettings(flop=1000, turn=1000, river=500, opponents=8)) == [169, 123, 74, 24]
    assert seen(standard.model_copy(update={"flop": 5, "turn": 1, "river": 250})) == [169, 5, 1, 38]
    deal = made_up_rows(standard).deal(BOARD)
    assert np.array_equal(deal[0], hand_classes_array())
    assert (deal.max(axis=1) < standard.counts).all()


def test_tables_have_any_bucket_anywhere() -> None:
    settings = CardSettings(flop=30, turn=20, river=10, opponents=1)
    cards = made_up_tables(settings)
    assert cards.counts == (169, 30, 20, 10)
    for row, count in zip(cards.deal(BOARD)[1:], cards.counts[1:], strict=True):
        assert sorted(set(row[LIVE].tolist())) == list(range(count))
    assert cards.digest == made_up_tables(settings).digest
    assert cards.digest != made_up_tables(settings, seed=2).digest
