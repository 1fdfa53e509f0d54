"""The boards of a subgame, one of each class that a change of suits makes alike.

Two boards of a street are alike if some permutation of the suits turns one into the other and changes nothing that went
before: neither the earlier boards nor either player's range. Only one of a class is solved. What it delivers to the
street before stands for the others too, with the hands permuted (`Board.images`). A range with every combination of a
class at one weight is unchanged by all permutations; ranges out of real play seldom are, and then nothing is saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from protocol.cards import Card, suit_of
from protocol.game import Game
from protocol.hands import SUIT_PERMUTATIONS, DeckHands, Hand, SuitPermutation, hands_of, permute_cards

_SAME: Final[SuitPermutation] = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class SolvedBoard:
    """A board that is solved."""

    cards: tuple[Card, ...]
    before: int
    """The number of the board that it continues, on the street before."""
    images: tuple[tuple[tuple[Card, ...], SuitPermutation], ...]
    """The boards that it stands for, itself first, and how the suits of each become its own."""


def boards_of(
    game: Game,
    street: int,
    board: tuple[Card, ...],
    ranges: Sequence[npt.NDArray[np.floating]],
    *,
    alike: bool = True,
) -> list[list[SolvedBoard]]:
    """The boards of each street from the root on; `alike=False` solves every one."""
    unused = {0, 1, 2, 3} - {suit_of(card) for card in game.deck()}
    symmetries = [_SAME]
    if alike:
        possible = [each for each in SUIT_PERMUTATIONS if all(each[suit] == suit for suit in unused)]
        symmetries = [each for each in possible if _keeps(each, board, hands_of(game), ranges)]
    streets = [[SolvedBoard(board, 0, ((board, _SAME),))]]
    groups = [[symmetries]]
    deck = sorted(game.deck())
    for later in range(street + 1, game.num_rounds):
        boards: list[SolvedBoard] = []
        of_boards: list[list[SuitPermutation]] = []
        for number, before in enumerate(streets[-1]):
            group = groups[-1][number]
            left = [card for card in deck if card not in before.cards]
            seen: set[tuple[Card, ...]] = set()
            for dealt in combinations(left, game.num_board_cards[later]):
                if dealt in seen:
                    continue
                images = _orbit(dealt, group)
                seen.update(images)
                whole = [((*before.cards, *cards), suits) for cards, suits in images.items()]
                boards.append(SolvedBoard((*before.cards, *dealt), number, tuple(whole)))
                of_boards.append([each for each in group if set(permute_cards(dealt, each)) == set(dealt)])
        streets.append(boards)
        groups.append(of_boards)
    return streets


def _orbit(dealt: tuple[Card, ...], group: list[SuitPermutation]) -> dict[tuple[Card, ...], SuitPermutation]:
    """Every set of cards that the group turns `dealt` into, with a permutation that turns it back."""
    images = {dealt: _SAME}
    for suits in group:
        image = tuple(sorted(permute_cards(dealt, suits)))
        if image not in images:
            images[image] = (suits.index(0), suits.index(1), suits.index(2), suits.index(3))
    return images


def _keeps(
    suits: SuitPermutation,
    board: tuple[Card, ...],
    hands: DeckHands,
    ranges: Sequence[npt.NDArray[np.floating]],
) -> bool:
    """Whether a change of suits leaves the board and both ranges as they are."""
    if set(permute_cards(board, suits)) != set(board):
        return False
    moved, live = permutation_of(hands, suits), hands.live(board)
    return all(np.array_equal(np.asarray(weights)[live], np.asarray(weights)[moved][live]) for weights in ranges)


def permutation_of(hands: Sequence[Hand], suits: SuitPermutation) -> npt.NDArray[np.int32]:
    """[hand] the number, in `hands`, that each hand has with its suits changed."""
    numbers = {hand: number for number, hand in enumerate(hands)}
    return np.array([numbers[tuple(sorted(permute_cards(hand, suits)))] for hand in hands], np.int32)
