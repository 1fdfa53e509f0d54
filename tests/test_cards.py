"""Cards and their text, all of them; everything else refused with a reason."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from machine.errors import ParatusError, quote
from protocol.cards import (
    NUM_CARDS,
    RANKS,
    SUITS,
    CardError,
    card_text,
    cards_text,
    deck,
    make_card,
    parse_card,
    parse_cards,
    rank_of,
    suit_of,
)


def test_every_card_round_trips() -> None:
    texts = [rank + suit for rank, suit in product("23456789TJQKA", "cdhs")]
    assert [parse_card(text) for text in texts] == list(range(52))
    assert [card_text(parse_card(text)) for text in texts] == texts
    for text in texts:
        card = parse_card(text)
        assert RANKS[rank_of(card)] + SUITS[suit_of(card)] == text
        assert make_card(rank_of(card), suit_of(card)) == card
    assert len(texts) == NUM_CARDS


def test_every_other_text_of_two_characters_is_no_card() -> None:
    characters = [chr(code) for code in range(128)] + ["\ufffd", "２", "Ａ"]
    refused = 0
    for text in map("".join, product(characters, repeat=2)):
        if text[0] in RANKS and text[1] in SUITS:
            continue
        with pytest.raises(CardError):
            parse_card(text)
        refused += 1
    assert refused == len(characters) ** 2 - 52


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1c", "'1c' is not a card: expected a rank of 23456789TJQKA and a suit of cdhs, as in Th"),
        ("10h", "'10h' does not spell cards: expected two characters each, as in QhJhTh"),
        ("th", "'th' is not a card"),
        ("TH", "'TH' is not a card"),
        ("hT", "'hT' is not a card"),
        ("AsKsA", "'AsKsA' does not spell cards"),
        ("As Ks", "does not spell cards"),
        ("As  Ks", "'  ' is not a card"),
        ("AsKsAs", "'AsKsAs' holds the same card twice"),
        ("AsKs\n\n", r"'\n\n' is not a card"),
        ("Ks" * 27, "holds the same card twice"),
        ("x" * 1001, "… (1001 in all)"),
    ],
)
def test_bad_cards(text: str, reason: str) -> None:
    with pytest.raises(CardError) as caught:
        parse_cards(text)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_random_cards_round_trip_in_their_order() -> None:
    rng = Random(1)
    for count in range(53):
        cards = tuple(rng.sample(deck(), count))
        assert parse_cards(cards_text(cards)) == cards
        assert len(cards_text(cards)) == 2 * count


def test_the_deck_is_dealt_from_in_this_order() -> None:
    """Suits outer, ranks inner; a small deck keeps the last suits and the top ranks."""
    assert cards_text(deck()) == "".join(rank + suit for suit in "cdhs" for rank in "23456789TJQKA")
    assert cards_text(deck(2, 3)) == "QhKhAhQsKsAs"
    assert cards_text(deck(1, 4)) == "JsQsKsAs"
    for suits, ranks in product(range(1, 5), range(1, 14)):
        cards = deck(suits, ranks)
        assert len(set(cards)) == len(cards) == suits * ranks


@pytest.mark.parametrize(("rank", "suit"), [(-1, 0), (13, 0), (0, -1), (0, 4), (99, 99)])
def test_no_card_outside_the_deck(rank: int, suit: int) -> None:
    with pytest.raises(CardError, match=f"no card has rank {rank} and suit {suit}: ranks are 0-12, suits 0-3"):
        make_card(rank, suit)


def test_what_is_quoted_is_one_bounded_line() -> None:
    assert quote("abc") == "'abc'"
    assert quote(b"\x00\r\n") == r"b'\x00\r\n'"
    assert quote("x" * 120) == repr("x" * 120)
    assert quote("x" * 121) == repr("x" * 120) + "… (121 in all)"
    assert len(quote("\U0010ffff" * 10**6)) < 1500
    assert issubclass(CardError, ParatusError)
