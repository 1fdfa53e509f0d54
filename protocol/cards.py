"""Cards, decks and their canonical text.

A card is an integer, `rank * 4 + suit`: ranks 0–12 stand for 2–A, suits 0–3 for clubs, diamonds, hearts, spades.
Text is the rank's character and the suit's: `Th`, `As`. A small ACPC deck keeps the TOP ranks and the LAST suits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NewType

from machine.errors import ParatusError, quote

Card = NewType("Card", int)

RANKS = "23456789TJQKA"
SUITS = "cdhs"
NUM_CARDS = 52

_TEXT = tuple(rank + suit for rank in RANKS for suit in SUITS)
_CARD = {text: Card(card) for card, text in enumerate(_TEXT)}


class CardError(ParatusError):
    """Text that does not spell cards."""


def make_card(rank: int, suit: int) -> Card:
    """The card of a rank (0–12, deuce to ace) and a suit (0–3, clubs to spades)."""
    if not (0 <= rank < 13 and 0 <= suit < 4):
        raise CardError(f"no card has rank {rank} and suit {suit}: ranks are 0-12, suits 0-3")
    return Card(rank * 4 + suit)


def rank_of(card: Card) -> int:
    """0 for a deuce to 12 for an ace."""
    return card >> 2


def suit_of(card: Card) -> int:
    """0 clubs, 1 diamonds, 2 hearts, 3 spades."""
    return card & 3


def card_text(card: Card) -> str:
    """`Th`."""
    return _TEXT[card]


def cards_text(cards: Iterable[Card]) -> str:
    """`QhJhTh`, in the order given."""
    return "".join([_TEXT[card] for card in cards])


def parse_card(text: str) -> Card:
    """The card that `text` spells, exactly."""
    card = _CARD.get(text)
    if card is None:
        raise CardError(f"{quote(text)} is not a card: expected a rank of {RANKS} and a suit of {SUITS}, as in Th")
    return card


def parse_cards(text: str) -> tuple[Card, ...]:
    """The cards that `text` spells, exactly, all different."""
    if len(text) % 2:
        raise CardError(f"{quote(text)} does not spell cards: expected two characters each, as in QhJhTh")
    cards = tuple([parse_card(text[i : i + 2]) for i in range(0, len(text), 2)])
    if len(set(cards)) != len(cards):
        raise CardError(f"{quote(text)} holds the same card twice")
    return cards


def deck(num_suits: int = 4, num_ranks: int = 13) -> tuple[Card, ...]:
    """The ACPC deck in its dealing order: suits outer, ranks inner, top ranks and last suits of a small deck."""
    return tuple(Card(r * 4 + s) for s in range(4 - num_suits, 4) for r in range(13 - num_ranks, 13))
