"""Deals of external sampling: one board and one hand for each player, looked up at once.

A walk sees its deal only as the bucket of either hand on each street and as who wins at a showdown, so dealing is done
for many walks ahead, and the walks themselves know no cards. All that is drawn in a walk comes from one stream of
splitmix64 that begins at a hash of (seed, period, walk): no walk depends on those before it, and a run that is resumed
draws what it would have drawn.

Buckets come from tables. In a small game there is a table of all boards, [set of dealt cards in colex order][hand]; in
full hold'em those of `blueprints.cards`, by canonical board and live hand.

    deck uint8[n]  the cards that the given board leaves, ascending; place int64[52] of a card in the whole deck
    hand           its number among all hands, in colex order over the whole deck
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from blueprints.cards.kernels import places
from blueprints.cards.kernels.places import live_place, place_of
from protocol import kernels as ranking
from protocol.arrays import F64, I32, I64, U8, U16
from protocol.kernels import rank_hands_into
from solver.kernels.compiled import kernels_in

kernel = kernels_in(Path(__file__).parent, Path(places.__file__).parent, ranking.__file__)

U64 = npt.NDArray[np.uint64]
I8 = npt.NDArray[np.int8]

MOST_CARDS = 12
"""Of a deal: a board and two hands."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32), np.uint64(11)
_ONE = np.uint64(1)
_UNIT = 2.0**-53


class DealSource(NamedTuple):
    """What is dealt from."""

    board: U8  # what lies already
    deck: U8
    place: I64  # [card]
    holes: int  # cards of a hand
    cards_by: I64  # [street] cards of the board by then
    held: U8  # [hand, card]
    first: F64  # [hand] running sums of player 0's weights times what player 1 can hold beside it; empty: all alike
    second: F64  # [hand] player 1's weights


class SmallTables(NamedTuple):
    """Buckets of a small game."""

    at: I64  # [player, street] where it begins
    buckets: U16  # [set of dealt cards][hand], one table after another
    hands: int
    choose: I64  # [n, k] binomial coefficients


class CanonicalTables(NamedTuple):
    """Buckets of full hold'em."""

    classes: U16  # [hand]
    flops: U16  # [canonical board, live hand]
    turns: U16
    rivers: U16
    flop_keys: U64
    turn_keys: U64
    river_keys: U64
    permutations: U8  # [permutation, suit]


class SampledDeals(NamedTuple):
    """Of so many walks."""

    buckets: I32  # [walk, player * streets + street]
    sign: I8  # [walk] 1 if player 0 wins, -1 if player 1 does, 0 if neither
    state: U64  # [walk] where its stream goes on


@kernel
def mixed(number):
    """The output function of splitmix64."""
    number = (number ^ number >> _30) * _FIRST
    number = (number ^ number >> _27) * _SECOND
    return number ^ number >> _31


@kernel
def stream(seed, period, walk):
    """Where the stream of a walk begins."""
    state = mixed(np.uint64(seed) + _GOLDEN)
    state = mixed(state + np.uint64(period) * _FIRST + _GOLDEN)
    return mixed(state + np.uint64(walk) * _SECOND + _GOLDEN)


@kernel
def below(number, limit):
    """A number from 0 up to `limit`, out of 64 random bits; as good as uniform for small limits."""
    return np.int64((number >> _32) * np.uint64(limit) >> _32)


@kernel
def unit(number):
    """A number from 0 up to 1, out of 64 random bits."""
    return np.float64(number >> _11) * _UNIT


@kernel
def _hand(chance, one, other):
    """The number of a hand; of one card if the other is the same."""
    high, low = chance.place[one], chance.place[other]
    if chance.holes == 1:
        return high
    if high < low:
        high, low = low, high
    return high * (high - 1) // 2 + low


@kernel
def _hands_of_ranges(chance, state, cards):
    """Two hands by their weights, to `cards`."""
    state += _GOLDEN
    wanted = unit(mixed(state)) * chance.first[-1]
    mine = min(np.searchsorted(chance.first, wanted, side="right"), len(chance.first) - 1)
    dead = np.uint64(0)
    for place in range(chance.holes):
        dead |= _ONE << np.uint64(chance.held[mine, place])
    total, theirs = 0.0, -1
    state += _GOLDEN
    for half in range(2):  # what can be held beside it, then the one that the draw falls on
        wanted = unit(mixed(state)) * total
        total = 0.0
        for hand in range(len(chance.second)):
            weight = chance.second[hand]
            if weight > 0.0:
                free = True
                for place in range(chance.holes):
                    if dead >> np.uint64(chance.held[hand, place]) & _ONE:
                        free = False
                if free:
                    total += weight
                    if half:
                        theirs = hand
                        if total > wanted:
                            break
    for place in range(chance.holes):
        cards[0, place] = chance.held[mine, place]
        cards[1, place] = chance.held[theirs, place]
    return state


@kernel
def _deal(chance, state, cards, board, deck):
    """Two hands to `cards`, the missing cards of the board to `board` behind those that lie already."""
    size, used, ranged = len(chance.deck), np.uint64(0), len(chance.first) > 0
    deck[:size] = chance.deck
    if ranged:
        state = _hands_of_ranges(chance, state, cards)
        for player in range(2):
            for place in range(chance.holes):
                used |= _ONE << np.uint64(cards[player, place])
    lying, whole = len(chance.board), chance.cards_by[-1]
    wanted = whole - lying + (0 if ranged else 2 * chance.holes)
    drawn, done = 0, 0
    while done < wanted and drawn < size:
        state += _GOLDEN
        other = drawn + below(mixed(state), size - drawn)
        card = deck[other]
        deck[other] = deck[drawn]
        drawn += 1
        if used >> np.uint64(card) & _ONE:
            continue
        if done < whole - lying:
            board[lying + done] = card
        else:
            number = done - (whole - lying)
            cards[number // chance.holes, number % chance.holes] = card
        done += 1
    return state


@kernel
def _sign(chance, ranks, cards, board, whole, out):
    """Who wins at a showdown."""
    holes, shown = chance.holes, chance.cards_by[-1]
    for player in range(2):
        whole[player, :holes] = cards[player, :holes]
        whole[player, holes : holes + shown] = board[:shown]
    rank_hands_into(ranks, whole[:, : holes + shown], out)
    return np.int8(1 if out[0] > out[1] else -1 if out[0] < out[1] else 0)


@kernel
def deal_tables(chance, tables, ranks, seed, period, begin, streets, deals):
    """Deals of a small game, of walks numbered from `begin`. `streets`: the first that is walked, and the last + 1."""
    cards, board, deck = np.zeros((2, 2), np.uint8), np.zeros(MOST_CARDS, np.uint8), np.zeros(52, np.uint8)
    whole, out, dealt = np.zeros((2, MOST_CARDS), np.uint8), np.zeros(2, np.uint16), np.zeros(MOST_CARDS, np.int64)
    lying, count = len(chance.board), len(chance.cards_by)
    board[:lying] = chance.board
    among = np.zeros(52, np.int64)
    for place in range(len(chance.deck)):
        among[chance.deck[place]] = place
    for walk in range(len(deals.sign)):
        state = _deal(chance, stream(seed, period, begin + walk), cards, board, deck)
        for street in range(streets[0], streets[1]):
            missing = chance.cards_by[street] - lying
            for number in range(missing):  # sorted in
                place, to = among[board[lying + number]], number
                while to > 0 and dealt[to - 1] > place:
                    dealt[to] = dealt[to - 1]
                    to -= 1
                dealt[to] = place
            row = 0
            for number in range(missing):
                row += tables.choose[dealt[number], number + 1]
            for player in range(2):
                hand = _hand(chance, cards[player, 0], cards[player, chance.holes - 1])
                at = tables.at[player, street] + row * tables.hands + hand
                deals.buckets[walk, player * count + street] = tables.buckets[at]
        deals.sign[walk] = _sign(chance, ranks, cards, board, whole, out)
        deals.state[walk] = state


@kernel
def _street(table, keys, permutations, cards, board, length, found, street, count):
    """The buckets of both hands on one street."""
    place, number = place_of(board, length, keys)
    for player in range(2):
        column = live_place(board, length, permutations[number], cards[player, 0], cards[player, 1])
        found[player * count + street] = table[place, column]


@kernel
def deal_canonical(chance, tables, ranks, seed, period, begin, streets, deals):
    """Deals of full hold'em, as `deal_tables`."""
    cards, board, deck = np.zeros((2, 2), np.uint8), np.zeros(MOST_CARDS, np.uint8), np.zeros(52, np.uint8)
    whole, out = np.zeros((2, MOST_CARDS), np.uint8), np.zeros(2, np.uint16)
    board[: len(chance.board)] = chance.board
    for walk in range(len(deals.sign)):
        state = _deal(chance, stream(seed, period, begin + walk), cards, board, deck)
        found = deals.buckets[walk]
        for street in range(streets[0], streets[1]):
            if street == 0:
                for player in range(2):
                    found[player * 4] = tables.classes[_hand(chance, cards[player, 0], cards[player, 1])]
            elif street == 1:
                _street(tables.flops, tables.flop_keys, tables.permutations, cards, board, 3, found, 1, 4)
            elif street == 2:
                _street(tables.turns, tables.turn_keys, tables.permutations, cards, board, 4, found, 2, 4)
            else:
                _street(tables.rivers, tables.river_keys, tables.permutations, cards, board, 5, found, 3, 4)
        deals.sign[walk] = _sign(chance, ranks, cards, board, whole, out)
        deals.state[walk] = state
