"""Deals of single hands for external sampling, whatever the game: façade of `blueprints.train.samples`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

import numpy as np
import numpy.typing as npt

from blueprints.cards.features import FLOP, RIVER, TURN, keys
from blueprints.cards.holdem import HoldemCards
from blueprints.cards.interface import Cards
from blueprints.train.samples import (
    MOST_CARDS,
    Canonical,
    Chance,
    Deals,
    Tables,
    deal_canonical,
    deal_tables,
)  # fmt: skip
from machine.errors import ConfigError
from protocol.cards import Card
from protocol.game import Game
from protocol.hands import SUIT_PERMUTATIONS, DeckHands, hand_classes_array, hands_of
from protocol.kernels import rank_tables

Table = npt.NDArray[np.uint16]
Range = npt.NDArray[np.floating]

_MOST_BUCKETS: Final = 1 << 26
"""Of the tables of a small game, or of the boards that follow one of hold'em."""


@dataclass(frozen=True, eq=False)
class SingleHands:
    """Deals a board and two hands, and finds their buckets."""

    chance: Chance
    tables: Tables | Canonical
    streets: tuple[int, int]
    """The street of the root, and how many the game has."""

    @classmethod
    def of(
        cls,
        game: Game,
        cards: Cards,
        *,
        street: int = 0,
        board: Sequence[Card] = (),
        ranges: Sequence[Range] | None = None,
    ) -> SingleHands:
        """Of what follows a board on a street; of ranges [player][hand] as in `solver.subgame`, if not all alike."""
        if len(board) != game.board_cards_by(street):
            raise ConfigError(
                f"a board of {len(board)} cards: expected {game.board_cards_by(street)} on street {street}"
            )
        streets = street, game.num_rounds
        chance = chance_of(game, tuple(board), ranges)
        tables = (
            canonical(*cards.tables) if isinstance(cards, HoldemCards) else _tables(game, cards, tuple(board), streets)
        )
        return cls(chance, tables, streets)

    def deal(self, seed: int, period: int, begin: int, count: int) -> Deals:
        """The deals of so many walks of a period, from number `begin` on."""
        deals = Deals(
            np.zeros((count, 2 * self.streets[1]), np.int32), np.zeros(count, np.int8), np.zeros(count, np.uint64)
        )
        kernel = deal_canonical if isinstance(self.tables, Canonical) else deal_tables
        kernel(self.chance, self.tables, rank_tables(), seed, period, begin, self.streets, deals)
        return deals


def chance_of(game: Game, board: tuple[Card, ...], ranges: Sequence[Range] | None) -> Chance:
    """What is dealt from, below a board."""
    if game.num_hole_cards > 2 or sum(game.num_board_cards) + 4 > MOST_CARDS:
        raise ConfigError(f"hands of {game.num_hole_cards} cards: expected one or two")
    whole = sorted(game.deck())
    place = np.full(52, -1, np.int64)
    place[whole] = np.arange(len(whole))
    hands = hands_of(game)
    first = second = np.zeros(0)
    if ranges is not None:
        mine, second = (np.asarray(each, np.float64) * hands.live(board) for each in ranges)
        first = np.cumsum(mine * _beside(hands, second))
        if not first[-1] > 0:
            raise ConfigError("the ranges block each other: no pair of hands can be dealt")
    return Chance(
        board=np.array(board, np.uint8),
        deck=np.array([card for card in whole if card not in board], np.uint8),
        place=place,
        holes=game.num_hole_cards,
        cards_by=np.array([game.board_cards_by(street) for street in range(game.num_rounds)], np.int64),
        held=hands.cards,
        first=first,
        second=second,
    )


def _beside(hands: DeckHands, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """[hand] the weight of all hands that can be held beside it; by twos, so that what is zero stays zero."""
    return np.array([weights[hands.live(hand)].sum() for hand in hands])


def canonical(flops: Table, turns: Table, rivers: Table) -> Canonical:
    """The tables of full hold'em, as `HoldemCards` has them."""
    if not len(rivers):
        raise ConfigError("external sampling looks up single hands: expected cards with a table of all rivers")
    classes = hand_classes_array().astype(np.uint16)
    permutations = np.array(SUIT_PERMUTATIONS, np.uint8)
    return Canonical(classes, flops, turns, rivers, keys(FLOP), keys(TURN), keys(RIVER), permutations)


def _tables(game: Game, cards: Cards, board: tuple[Card, ...], streets: tuple[int, int]) -> Tables:
    """A table of every board: small games, and the end of large ones."""
    left = sorted(set(game.deck()) - set(board))
    hands = len(hands_of(game))
    missing = [game.board_cards_by(street) - len(board) for street in range(streets[1])]
    sizes = [comb(len(left), count) * hands if count >= 0 else 0 for count in missing]
    if sum(sizes) > _MOST_BUCKETS:
        raise ConfigError(
            f"buckets of {sum(sizes):,} hands on all boards: external sampling expects at most {_MOST_BUCKETS:,}, "
            f"or the cards of full hold'em"
        )
    at = np.zeros(streets[1], np.int64)
    rows: list[npt.NDArray[np.uint16]] = []
    ends = 0
    for street in range(*streets):
        at[street] = ends
        ends += sizes[street]
        sets = sorted(combinations(range(len(left)), missing[street]), key=lambda places: places[::-1])
        rows += [cards.buckets((*board, *[left[place] for place in places])) for places in sets]
    choose = np.array([[comb(n, k) for k in range(MOST_CARDS)] for n in range(len(left) + 1)], np.int64)
    return Tables(np.stack([at, at]), np.concatenate(rows).astype(np.uint16), hands, choose)
