"""Values from a blueprint's play against itself.

On the last street what each of our hands wins against the opponent's is computed exactly, by walking the few decisions
that are left. Before it the blueprint's table (`blueprints.values.bucket_values`) says what a bucket of the opponent's
wins against all that a blueprint would hold in our place. Groups are means over all our hands, by our own
probabilities: so what such a group wins is close to what the opponent's hand loses, and no value for each of our hands
is needed there.

Bets that the tree does not have are taken for the nearest that it has, always the same; values are shares of the pot.
The mean over cards to come is exact, over every board: 19,600 flops, 48 turns, 46 rivers.
"""

from __future__ import annotations

import sys
import time
from functools import cache, lru_cache
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.holdem import HoldemCards
from blueprints.cards.interface import Cards
from blueprints.lookup import Lookup
from blueprints.storage import Blueprint
from blueprints.values.bucket_values import BOARDS, LastStreet, Worths, open_worths
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.values import KnownSide, mean_of_alike, mean_over_cards, missing_cards
from machine.cores import available_cores
from machine.progress import LINE_EVERY_S, HandsBar
from protocol.arrays import F64
from protocol.cards import Card
from protocol.hands import NUM_CLASSES, SUIT_PERMUTATIONS, hand_classes_array, hand_permutation, permute_cards
from protocol.state import State

_KEPT: Final = 64
"""So many rows of buckets stay in memory: those of a hand or two."""
_NODES: Final = 50_000
"""Bettings whose nodes stay in memory."""
_MIDDLE: Final = 0.5
"""The draw that takes a bet for whichever neighbour is likelier."""


class BlueprintValues:
    """See the head of this file."""

    name = "blueprint"

    def __init__(self, holdings: Holdings, lookup: Lookup, worths: Worths) -> None:
        self._holdings, self._lookup, self._worths = holdings, lookup, worths
        self.digest = worths.digest
        self._buckets = lru_cache(maxsize=_KEPT)(self._look_up)
        self._flops = lru_cache(maxsize=NUM_CLASSES)(self._look_up)
        self._last_street = LastStreet(lookup.blueprint)
        self._last: tuple[tuple[KnownSide, str, tuple[Card, ...]], F64] | None = None
        self._node = lru_cache(maxsize=_NODES)(self._find)

    def at(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        node = self._node(state)
        if node is None:
            return np.zeros(1)
        buckets = self._lookup.cards.buckets(board)
        if state.street == state.game.num_rounds - 1:
            return self._played_out(side, state, node, board, buckets)
        bucket = buckets[side.theirs]
        worth = float(self._worths.of(1 - side.position, node)[bucket])
        return np.array([-worth * state.pot])

    def before(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        node = self._node(state)
        if node is None:
            return np.zeros(1)
        if state.street == state.game.num_rounds - 1:
            return self._before_last(side, state, node, board)
        cards, buckets = self._to_come(side.theirs, board, missing_cards(state, board))
        worths = self._worths.of(1 - side.position, node).astype(np.float64)[buckets]
        return mean_of_alike(self._holdings, side, board, cards, worths * -state.pot)

    def _before_last(self, side: KnownSide, state: State, node: int, board: tuple[Card, ...]) -> F64:
        """The mean over all last boards; an action and the cards after it ask for the same, one after the other."""
        key = side, state.betting, board
        if self._last is None or self._last[0] != key:
            cards = self._lookup.cards
            mean = mean_over_cards(
                self._holdings, side, board, missing_cards(state, board),
                lambda whole: self._played_out(side, state, node, whole, cards.buckets(whole)),
            )  # fmt: skip
            self._last = key, mean
        return self._last[1]

    def _played_out(
        self, side: KnownSide, state: State, node: int, board: tuple[Card, ...], buckets: NDArray[np.uint16]
    ) -> F64:
        signs = self._holdings.signs(side.theirs, board)
        values = self._last_street.values(node, side.position, buckets, side.theirs, signs).astype(np.float64)
        return values * (state.pot / float(self._lookup.blueprint.tree.committed[node].sum()))

    def _find(self, state: State) -> int | None:
        place = self._lookup.place(state, lambda number: _MIDDLE)
        return None if place is None else place.node

    def _to_come(
        self, theirs: int, board: tuple[Card, ...], missing: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """All cards [n, card] that may come, and the buckets [n] of the opponent's hand then."""
        if board or not isinstance(self._lookup.cards, HoldemCards):
            return self._buckets(theirs, board, missing)
        first, suits = _first_of_class(theirs)
        cards, buckets = self._flops(first, board, missing)
        return suits[cards], buckets

    def _look_up(
        self, theirs: int, board: tuple[Card, ...], missing: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        coming = self._coming(theirs, board, missing)
        boards = np.hstack([np.broadcast_to(np.array(board, np.uint8), (len(coming), len(board))), coming])
        cards = self._lookup.cards
        if isinstance(cards, HoldemCards):
            return coming, cards.buckets_of(theirs, boards)
        return coming, np.array(
            [cards.buckets([Card(card) for card in each])[theirs] for each in boards.tolist()], np.uint16
        )

    def _coming(self, theirs: int, board: tuple[Card, ...], missing: int) -> NDArray[np.uint8]:
        """[n, cards] all that may come."""
        rest = np.array(self._holdings.rest(theirs, board), np.uint8)
        return rest[_choices(len(rest), missing)]


@cache
def _first_of_class(hand: int) -> tuple[int, NDArray[np.uint8]]:
    """The first hand of full hold'em that differs from a hand in the names of suits alone; and what each of the first
    one's cards is called [card] for the other.
    """
    classes = hand_classes_array()
    first = int(np.flatnonzero(classes == classes[hand])[0])
    names = next(each for each in SUIT_PERMUTATIONS if hand_permutation(each)[first] == hand)
    return first, np.array(permute_cards([Card(card) for card in range(52)], names), np.uint8)


@cache
def _choices(cards: int, missing: int) -> NDArray[np.intp]:
    """[n, card] the places of so many cards among all that may come."""
    return np.array(list(combinations(range(cards), missing)), np.intp).reshape(-1, missing)


def open_with_progress(blueprint: Blueprint, folder: Path) -> tuple[Cards, Worths]:
    """The cards of a blueprint and its table of values; what is missing is built first, saying how long it takes."""
    next_s = time.monotonic() + 1.0

    def tell(task: str, share: float, left_s: float) -> None:
        nonlocal next_s
        if time.monotonic() >= next_s:
            next_s = time.monotonic() + LINE_EVERY_S
            print(f"cards of {blueprint.name} (once): {task}, {share:.0%}, {left_s:.0f} s left", file=sys.stderr)

    cards = blueprint.cards(folder, tell)
    with HandsBar(f"values of {blueprint.name} (once)", BOARDS, "boards") as bar:
        worths = open_worths(blueprint, cards, folder, threads=available_cores(), tell=lambda done, _: bar.show(done))
    return cards, worths
