"""What a hand is worth: the definition that everything else in the project must agree with.

A hand of one to seven different cards is worth its best five (all of them when there are fewer). The rules hold for any
ACPC deck: Kuhn compares one card, Leduc two, and what needs more cards than there are simply does not occur.

    straight flush > quads > full house > flush > straight > trips > two pair > pair > high card

Straights and flushes take five cards; A2345 is the lowest straight. Suits never break a tie.

The rank of a hand is one integer, built so that comparing integers compares hands:

    bits 26-29  category, 0 high card to 8 straight flush
    bits 13-25  major ranks, one bit a rank: the ranks of the combination (two pair: both; full house: the trips;
                straight: its top card alone; flush and high card: all that count)
    bits  0-12  minor ranks: the kickers that count, or the pair of a full house

Within a category every set has the same number of ranks, and of two such sets the one that wins from the highest card
down is the one with the greater mask. So there are no tables of hands, and `describe` can read the rank back. Hands of
different numbers of cards have ranks too, but comparing them means nothing.

The sets come from the cards as one 52-bit word of four 13-bit suits: a rank held at least twice is a bit that two of
the suits share, and so on. `protocol.kernels` tabulates this function for batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from machine.errors import ParatusError
from protocol.cards import RANKS, Card, rank_of, suit_of

MAX_CARDS = 7

_SUIT_MASK = (1 << 13) - 1
_BIT = tuple(1 << (13 * suit_of(Card(card)) + rank_of(Card(card))) for card in range(52))


class HandError(ParatusError):
    """Cards that do not make a hand that can be ranked."""


class Category(IntEnum):
    """The kinds of hand, worst first."""

    HIGH_CARD = 0
    PAIR = 1
    TWO_PAIR = 2
    TRIPS = 3
    STRAIGHT = 4
    FLUSH = 5
    FULL_HOUSE = 6
    QUADS = 7
    STRAIGHT_FLUSH = 8

    @property
    def text(self) -> str:
        """`full house`."""
        return self.name.lower().replace("_", " ")


# Plain integers: the enumeration's members cost a lookup each in the function that every showdown calls.
_PAIR, _TWO_PAIR, _TRIPS, _STRAIGHT, _FLUSH, _FULL_HOUSE, _QUADS, _STRAIGHT_FLUSH = (c << 26 for c in range(1, 9))


def hand_rank(cards: Sequence[Card]) -> int:
    """The rank of one to seven different cards; the higher wins among hands of as many cards."""
    held = 0
    for card in cards:
        held |= _BIT[card]
    num_cards = len(cards)
    if not 1 <= num_cards <= MAX_CARDS or held.bit_count() != num_cards:
        raise HandError(f"a hand has one to seven different cards, not {list(cards)}")

    clubs = held & _SUIT_MASK
    diamonds = held >> 13 & _SUIT_MASK
    hearts = held >> 26 & _SUIT_MASK
    spades = held >> 39
    ranks = clubs | diamonds | hearts | spades
    if num_cards >= 5:
        # Five ranks of one suit leave two cards: too few to make quads or a full house as well.
        for suited in (clubs, diamonds, hearts, spades):
            if suited.bit_count() >= 5:
                top = _straight_top(suited)
                return _STRAIGHT_FLUSH | top << 13 if top else _FLUSH | _highest(suited, 5) << 13
    if ranks.bit_count() == num_cards:
        top = _straight_top(ranks)
        return _STRAIGHT | top << 13 if top else _highest(ranks, 5) << 13

    cd_both, hs_both = clubs & diamonds, hearts & spades
    cd_either, hs_either = clubs | diamonds, hearts | spades
    pairs = cd_both | hs_both | (cd_either & hs_either)
    trips = (cd_both & hs_either) | (hs_both & cd_either)
    if trips:
        quads = cd_both & hs_both
        if quads:
            return _QUADS | quads << 13 | _highest(ranks ^ quads, 1)
        best = _highest(trips, 1)
        if pairs != best:
            return _FULL_HOUSE | best << 13 | _highest(pairs ^ best, 1)
        top = _straight_top(ranks)
        return _STRAIGHT | top << 13 if top else _TRIPS | best << 13 | _highest(ranks ^ best, 2)
    top = _straight_top(ranks)
    if top:
        return _STRAIGHT | top << 13
    if pairs & (pairs - 1):
        best = _highest(pairs, 2)
        return _TWO_PAIR | best << 13 | _highest(ranks ^ best, 1)
    return _PAIR | pairs << 13 | _highest(ranks ^ pairs, 3)


def category(rank: int) -> Category:
    """The kind of hand a rank belongs to."""
    return Category(rank >> 26)


def describe(rank: int) -> str:
    """The rank in words, `two pair AK Q`: the category, its ranks, and the kickers that count."""
    parts = [category(rank).text, _ranks_text(rank >> 13 & _SUIT_MASK), _ranks_text(rank & _SUIT_MASK)]
    return " ".join([part for part in parts if part])


def _straight_top(ranks: int) -> int:
    """The bit of the top card of the best straight among these ranks, or 0."""
    with_low_ace = ranks << 1 | ranks >> 12
    lowest = with_low_ace & with_low_ace >> 1 & with_low_ace >> 2 & with_low_ace >> 3 & with_low_ace >> 4
    # Bit i of `lowest` is a straight from rank i - 1 (the low ace: -1) to rank i + 3.
    return 1 << (lowest.bit_length() + 2) if lowest else 0


def _highest(ranks: int, count: int) -> int:
    """The `count` highest of these ranks, or all of them if there are fewer."""
    for _ in range(ranks.bit_count() - count):
        ranks &= ranks - 1
    return ranks


def _ranks_text(ranks: int) -> str:
    return "".join([RANKS[rank] for rank in reversed(range(13)) if ranks >> rank & 1])
