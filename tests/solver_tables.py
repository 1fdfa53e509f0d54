"""Policies in and out of a solver of a poker subgame, one decision at a time.

Everything is read and written as sums [action, hand] in the solver's order; probabilities are made of them here, in
float64, so that tests do not lean on the solver's own idea of what its tables mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from protocol.cards import Card, suit_of
from protocol.game import Game
from protocol.hands import SuitPermutation, hands_of, permute_cards
from protocol.state import Action
from solver.subgame import Subgame
from solver.subgame_solver import Solver

Image = tuple[tuple[Card, ...], SuitPermutation]
"""A board that another one is solved for, and how its suits become that one's."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One public decision on one board that is solved."""

    board_number: int
    """Among those of all streets."""
    player: int
    betting: str
    actions: tuple[Action, ...]
    edge: int
    """Where its actions begin in the player's table of the board."""
    board: tuple[Card, ...]
    images: tuple[Image, ...]
    """The boards it stands for, itself among them."""


def decisions(subgame: Subgame) -> Iterator[Decision]:
    """Every decision on every board of its street."""
    images = _all_images(subgame)
    number = 0
    for forest, boards in zip(subgame.forests, subgame.boards, strict=True):
        for board in boards:
            for index, node in enumerate(forest.nodes):
                yield Decision(
                    number, int(forest.player[index]), node.state.betting, node.actions, int(forest.edge[index]),
                    board.cards, images[number],
                )  # fmt: skip
            number += 1


def _all_images(subgame: Subgame) -> list[tuple[Image, ...]]:
    """[board] what it stands for; the solver lists those that continue the same board before."""
    found: list[tuple[Image, ...]] = []
    before = 0
    for street, boards in enumerate(subgame.boards):
        for board in boards:
            earlier = found[before + board.before] if street else ((board.cards, (0, 1, 2, 3)),)
            found.append(tuple([_through(image, own) for image in earlier for own in board.images]))
        before = len(found) - len(boards)
    return found


def _through(earlier: Image, own: Image) -> Image:
    """`own`, a board after the solved one, as it looks after the image `earlier` of that."""
    first, second, third, fourth = [own[1][suit] for suit in earlier[1]]
    back = tuple([earlier[1].index(suit) for suit in range(4)])
    return permute_cards(own[0], back), (first, second, third, fourth)


def average(solver: Solver, decision: Decision) -> np.ndarray:
    """[action, hand]: what the average policy of a decision is proportional to."""
    table = solver.table(decision.player, decision.board_number)
    return table[decision.edge : decision.edge + len(decision.actions)]


def write(solver: Solver, decision: Decision, sums: np.ndarray) -> None:
    """Set what the average policy of a decision is proportional to."""
    table = solver.table(decision.player, decision.board_number)
    table[decision.edge : decision.edge + len(decision.actions)] = sums
    solver.set_table(decision.player, decision.board_number, table)


def matched(sums: np.ndarray) -> np.ndarray:
    """Probabilities [action, hand]: in proportion to what is positive, uniform where nothing is."""
    positive = np.maximum(sums, 0.0)
    total = positive.sum(axis=0)
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1 / len(sums))


def moved(hands: Sequence[Sequence[Card]], suits: SuitPermutation) -> list[int]:
    """[hand] the number of the hand that each becomes when its suits change places."""
    numbers = {frozenset(hand): number for number, hand in enumerate(hands)}
    return [numbers[frozenset(permute_cards(hand, suits))] for hand in hands]


def everyone(game: Game) -> list[np.ndarray]:
    """Both players hold every hand alike."""
    return [np.ones(len(hands_of(game)))] * 2


def set_random_averages(solver: Solver, subgame: Subgame, seed: int | None) -> None:
    """Random sums, three in ten of them zero; the same everywhere without a seed.

    Where boards that are alike are solved once, the policy on a board must not change when its suits change places: it
    is made so, for ranges that do not look at suits.
    """
    rng = np.random.default_rng(seed)
    edges = {}
    for decision in decisions(subgame):
        key = decision.player, decision.board_number, decision.board
        edges[key] = max(edges.get(key, 0), decision.edge + len(decision.actions))
    merged = any(len(board.images) > 1 for boards in subgame.boards for board in boards)
    for (player, number, board), count in edges.items():
        shape = (count, len(subgame.hands[player]))
        sums = np.ones(shape) if seed is None else rng.random(shape) * (rng.random(shape) < 0.7)
        if merged:
            changes = [moved(subgame.hands[player], suits) for suits in _changes(subgame, board)]
            sums = sum([sums[:, change] for change in changes]) / len(changes)
        solver.set_table(player, number, sums)


def _changes(subgame: Subgame, board: tuple[Card, ...]) -> list[SuitPermutation]:
    """The changes of suits that leave a board as it is, street by street."""
    game, root = subgame.root.game, subgame.root.street
    suits = sorted({suit_of(card) for card in game.deck()})
    cuts = [game.board_cards_by(street) for street in range(root, game.num_rounds)]
    found = []
    for places in permutations(suits):
        moved = dict(zip(suits, places, strict=True))
        first, second, third, fourth = [moved.get(suit, suit) for suit in range(4)]
        change = (first, second, third, fourth)
        if all(set(permute_cards(board[:cut], change)) == set(board[:cut]) for cut in cuts):
            found.append(change)
    return found
