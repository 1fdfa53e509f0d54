"""Boards as the walks need them, against the plain way to say so."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from trained import kuhn, short_deck

from blueprints.cards.interface import Cards
from blueprints.cards.made_up import made_up_rows
from blueprints.cards.settings import CardSettings
from blueprints.train.buckets import find_pairs, number_buckets
from blueprints.train.deals import Dealer
from blueprints.train.public import Walker
from blueprints.tree import build_tree
from protocol.cards import Card
from protocol.game import DEFAULT_GAME, Game, load_game
from protocol.hands import hands_of
from protocol.kernels import rank_hands
from solver.menu import parse_menu

HOLDEM = load_game(DEFAULT_GAME).game


def subjects() -> list[tuple[Game, Cards]]:
    """Two hole cards and one, five cards on the board and none."""
    small = [(case().game, case().cards) for case in (short_deck, kuhn)]
    return [(HOLDEM, made_up_rows(CardSettings(flop=30, turn=40, river=20))), *small]


def boards_of(game: Game, cards: Cards) -> Iterator[tuple[Dealer, tuple[Card, ...]]]:
    """Some, each with who deals it."""
    dealer, rng = Dealer(game, (cards, cards)), np.random.default_rng(7)
    for _ in range(5):
        yield dealer, dealer.draw(rng)


@pytest.mark.parametrize("number", range(3))
def test_hands_stand_by_strength(number: int) -> None:
    game, cards = subjects()[number]
    for dealer, board in boards_of(game, cards):
        hands, begins = dealer.hands(board)
        live = [place for place, hand in enumerate(hands_of(game)) if not set(hand) & set(board)]
        ranks = rank_hands(np.array([[*hands_of(game)[place], *board] for place in live], np.uint8)).tolist()
        assert hands.tolist() == [place for _, place in sorted(zip(ranks, live, strict=True))]
        steps = np.flatnonzero(np.diff(sorted(ranks))) + 1
        assert begins.tolist() == [0, *steps.tolist(), len(live)]


@pytest.mark.parametrize("number", range(3))
def test_buckets_of_a_board_are_numbered_from_low_to_high(number: int) -> None:
    game, cards = subjects()[number]
    for dealer, board in boards_of(game, cards):
        deal, hands = dealer.deal(board)
        for street, buckets in enumerate(cards.deal(board)[:, hands]):
            there, numbers = np.unique(buckets, return_inverse=True)
            for player in range(2):
                count = deal.buckets[player, street]
                assert count == len(there)
                assert deal.blocks[player, street] == -(-count // 16)
                assert np.array_equal(deal.meant[player, street, :count], there)
                assert (deal.meant[player, street, count:] == cards.counts[street]).all()
                assert np.array_equal(deal.bucket[player, street, : deal.live], numbers)
                assert not deal.bucket[player, street, deal.live :].any()


def test_pairs_are_of_the_cards_and_buckets_that_hands_have() -> None:
    """Also on the second board in a place, which finds there what the first left."""
    game, cards = subjects()[0]
    walker = Walker.of(game, build_tree(game, parse_menu("a; cap 1")), (cards, cards))
    rng = np.random.default_rng(5)
    for _ in range(3):
        deal, hands, pairs = walker.ready(walker.dealer.draw(rng))
        held = [hands_of(game)[hand] for hand in hands]
        for street in range(game.num_rounds):
            at, numbers = pairs.at[0, street], deal.bucket[0, street]
            wanted = sorted({(card, int(numbers[place])) for place, hand in enumerate(held) for card in hand})
            rows = np.repeat(np.arange(len(at) - 1), np.diff(at)).tolist()
            found = list(zip(rows, pairs.bucket[0, street, : at[-1]].tolist(), strict=True))
            assert found == wanted
            for place, hand in enumerate(held):
                own = [found[pair] for pair in pairs.of_hand[0, street, place].tolist()]
                assert own == [(card, int(numbers[place])) for card in hand]


def test_kernels_are_compiled_once() -> None:
    """Whatever the game."""
    for game, cards in subjects():
        walker = Walker.of(game, build_tree(game, parse_menu("a; cap 1")), (cards, cards))
        walker.ready(walker.dealer.draw(np.random.default_rng(1)))
    assert len(number_buckets.signatures) == 1
    assert len(find_pairs.signatures) == 1
