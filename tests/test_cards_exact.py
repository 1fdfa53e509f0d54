"""Exact buckets of small games: two hands share one exactly if a renaming of the suits makes them equal."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import comb

import numpy as np
import pytest
from reference.canonical_forms import canonical_hands

from blueprints.cards.exact import ExactCards
from machine.errors import ConfigError
from protocol.cards import CardError
from protocol.game import parse_game
from protocol.hands import canonical_boards


def _game(suits, ranks, hole, board):
    rounds = len(board)
    return parse_game(
        f"nolimit\nnumPlayers 2\nnumRounds {rounds}\nblind 1 2\nstack 20 20\nfirstPlayer {'1 ' * rounds}\n"
        f"numSuits {suits}\nnumRanks {ranks}\nnumHoleCards {hole}\nnumBoardCards {' '.join(map(str, board))}\n"
        "end gamedef"
    ).game


def _holes(game):
    return sorted(combinations(sorted(game.deck()), game.num_hole_cards), key=lambda hole: hole[::-1])


def test_kuhn_has_three_and_leduc_three_and_nine():
    kuhn, leduc = ExactCards(_game(1, 3, 1, (0,))), ExactCards(_game(2, 3, 1, (0, 1)))
    assert kuhn.counts == (3,)
    assert kuhn.deal(()).tolist() == [[0, 1, 2]]
    assert leduc.counts == (3, 9)
    assert leduc.buckets(()).tolist() == [0, 0, 1, 1, 2, 2]
    # Bets of Leduc: 6 sequences before a decision on the first street; on the second 5 histories × 6: 288 in all.
    assert 3 * 6 + 9 * 5 * 6 == 288


@pytest.mark.parametrize(
    ("suits", "ranks", "hole", "board"),
    [
        (2, 3, 1, (0, 1)),
        (3, 3, 2, (0, 3)),
        (4, 3, 2, (0, 3)),
        (2, 4, 1, (0, 2, 2)),
        (2, 4, 3, (0, 2)),
        (1, 6, 2, (0, 1)),
    ],
)
def test_a_bucket_is_a_class(suits, ranks, hole, board):
    game = _game(suits, ranks, hole, board)
    cards, holes = ExactCards(game), _holes(game)
    flushes = hole + sum(board) >= 5
    names = sorted({card & 3 for card in game.deck()})
    renamings = [dict(zip(names, images, strict=True)) for images in permutations(names)]

    def renamed(cards, renaming):
        return tuple(sorted(card & ~3 | renaming[card & 3] for card in cards))

    for street in range(game.num_rounds):
        classes = {}
        for shown in combinations(sorted(game.deck()), game.board_cards_by(street)):
            row = cards.buckets(shown)
            assert row.dtype == np.uint16
            assert len(row) == len(holes) == comb(suits * ranks, hole)
            for held, bucket in zip(holes, row.tolist(), strict=True):
                if set(held) & set(shown):
                    assert bucket == 0
                elif flushes:
                    same = min((renamed(held, each), renamed(shown, each)) for each in renamings)
                    assert classes.setdefault(same, bucket) == bucket
                else:
                    same = tuple(sorted(c >> 2 for c in held)), tuple(sorted(c >> 2 for c in shown))
                    assert classes.setdefault(same, bucket) == bucket
        assert sorted(classes.values()) == list(range(cards.counts[street]))


def test_a_deal_is_the_buckets_of_its_streets():
    game = _game(2, 4, 1, (0, 2, 1))
    cards, deck = ExactCards(game), sorted(game.deck())
    for board in [(deck[5], deck[0], deck[3]), (deck[7], deck[6], deck[1])]:
        expected = [cards.buckets(board[:length]) for length in (0, 2, 3)]
        assert np.array_equal(cards.deal(board), expected)
        assert np.array_equal(cards.deal((board[1], board[0], board[2])), expected)


def test_the_flop_of_the_short_deck_counts_like_the_full_one():
    """Classes of hands on a flop, counted by `protocol.hands` on those boards of the full deck."""
    game = _game(4, 5, 2, (0, 3))
    least = min(game.deck())
    count = 0
    for board in canonical_boards(3):
        if board.min() >= least:
            hands = canonical_hands(board.tolist())
            kept = [
                index
                for index, (high, low) in enumerate((h, low) for h in range(52) for low in range(h))
                if low >= least and high not in board and low not in board
            ]
            count += len(set(hands[kept].tolist()))
    assert ExactCards(game).counts == (25, count)


def test_what_is_no_board_is_refused():
    cards = ExactCards(_game(2, 3, 1, (0, 1)))
    deck = sorted(_game(2, 3, 1, (0, 1)).deck())
    for board in [(0,), deck[:2], (deck[0], deck[0])]:
        with pytest.raises(CardError):
            cards.buckets(board)
    with pytest.raises(CardError):
        cards.deal(())


def test_digests_tell_decks_apart():
    digests = {ExactCards(_game(s, r, h, (0, 1))).digest for s, r, h in product((1, 2), (5, 6), (1, 2))}
    assert len(digests) == 8


def test_too_many_classes_are_refused():
    with pytest.raises(ConfigError, match="expected 65535 at most"):
        ExactCards(_game(4, 8, 2, (0, 3)))
