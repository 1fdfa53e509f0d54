"""Boards and hands as the arrays that the kernels read (`solver.kernels.types.Deals`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from protocol.arrays import F32, F64, I32, I64
from protocol.game import Game
from protocol.hands import Hand, SuitPermutation, hands_of
from protocol.kernels import rank_hands
from solver.boards import SolvedBoard, permutation_of
from solver.kernels.types import Deals, padded
from solver.kernels.vectors import BLOCK

_ANY, _NONE = 52, 53
"""Rows of card totals that stand for no card: one is added to and never read, one stays zero."""


@dataclass(frozen=True, slots=True)
class DealTable:
    """Who can hold what, and what can come."""

    game: Game
    street: int
    boards: list[list[SolvedBoard]]
    """By street from the root."""
    hand_index: tuple[I32, I32]
    """[player][hand] its column among all hands of the game."""
    hands: tuple[list[Hand], list[Hand]]

    @property
    def flat(self) -> list[SolvedBoard]:
        """The boards of all streets, numbered as the kernels do."""
        return [board for street in self.boards for board in street]


def build_deals(table: DealTable, edges: Sequence[tuple[int, int]]) -> Deals:
    """All arrays; `edges` [street from the root, player]."""
    boards = table.flat
    hands = np.array([padded(len(hands), BLOCK) for hands in table.hands], np.int32)
    widest = int(hands.max())
    streets = np.repeat(np.arange(len(table.boards)), [len(street) for street in table.boards]).astype(np.int32)
    cards, minus, twin = _cards(table, widest)
    alive = _alive(table, widest)
    order, group, groups = _orders(table, alive)
    last = len(boards) - len(table.boards[-1])
    task_at, steps = _tasks(table)
    image_at, images, permutations = _images(table, widest)
    return Deals(
        hands=hands,
        real=np.array([len(hands) for hands in table.hands], np.int32),
        cards=cards,
        minus=minus,
        twin=twin,
        street=streets,
        base=_bases(hands, streets, edges),
        alive=alive,
        final=np.where(streets == len(table.boards) - 1, np.arange(len(boards)) - last, -1).astype(np.int32),
        order=order,
        place=_places(order, group, groups, widest),
        in_order=np.arange(widest, dtype=np.int32),
        group=group,
        groups=groups,
        chance=_chances(table),
        task_at=task_at,
        steps=steps,
        image_at=image_at,
        images=images,
        permutations=permutations,
    )


def opposing_weights(mine: Sequence[Hand], theirs: Sequence[Hand], weights: F64) -> F64:
    """[hand of mine] the sum of the weights of their hands that share no card with it.

    The sum of all, less those with the first card, less those with the second, plus the hand itself if it is there.
    """
    by_card = np.zeros(53)
    held, other = np.array(mine), np.array(theirs)
    for column in other.T:
        np.add.at(by_card, column, weights)
    numbers = {hand: number for number, hand in enumerate(theirs)}
    twins = np.array([numbers.get(hand, -1) for hand in mine])
    twin = np.where(twins >= 0, weights[twins], 0.0) * (held.shape[1] - 1)
    result: F64 = weights.sum() - by_card[held].sum(axis=1) + twin
    return np.where(result > 1e-12 * weights.sum(), result, 0.0)


def _cards(table: DealTable, widest: int) -> tuple[I32, I32, I32]:
    cards = np.full((2, widest, 2), _ANY, np.int32)
    minus = np.full((2, widest, 2), _NONE, np.int32)
    twin = np.full((2, widest), widest, np.int32)
    numbers = [{hand: number for number, hand in enumerate(hands)} for hands in table.hands]
    for player in range(2):
        for number, hand in enumerate(table.hands[player]):
            cards[player, number, : len(hand)] = hand
            minus[player, number, : len(hand)] = hand
            if len(hand) == 2:
                twin[player, number] = numbers[1 - player].get(hand, widest)
    return cards, minus, twin


def _alive(table: DealTable, widest: int) -> F32:
    boards = table.flat
    alive = np.zeros((2, len(boards), widest), np.float32)
    for number, board in enumerate(boards):
        live = hands_of(table.game).live(board.cards)
        for player, columns in enumerate(table.hand_index):
            alive[player, number, : len(columns)] = live[columns]
    return alive


def _bases(hands: I32, streets: I32, edges: Sequence[tuple[int, int]]) -> I64:
    bases = np.zeros((2, len(streets)), np.int64)
    for player in range(2):
        sizes = np.array([edges[s][player] * int(hands[player]) for s in streets], np.int64)
        bases[player, 1:] = np.cumsum(sizes)[:-1]
    return bases


def _orders(table: DealTable, alive: F32) -> tuple[I32, I32, I32]:
    """Live hands by strength on each board of the last street, and where each strength begins."""
    last = table.boards[-1]
    order = np.zeros((2, len(last), alive.shape[2]), np.int32)
    groups = np.zeros(len(last), np.int32)
    starts: list[list[npt.NDArray[np.int64]]] = [[], []]
    held = [hands_of(table.game).cards[columns] for columns in table.hand_index]
    for number, (board, of_players) in enumerate(zip(last, alive[:, -len(last) :].swapaxes(0, 1), strict=True)):
        shown = np.array(board.cards, np.uint8)
        live = [np.flatnonzero(of_player) for of_player in of_players]
        ranks = [
            rank_hands(np.ascontiguousarray(np.hstack([held[p][live[p]], np.tile(shown, (len(live[p]), 1))])))
            for p in range(2)
        ]
        levels = np.unique(np.concatenate(ranks))
        groups[number] = len(levels)
        for player in range(2):
            by_rank = np.argsort(ranks[player], kind="stable")
            order[player, number, : len(by_rank)] = live[player][by_rank]
            begins = np.searchsorted(ranks[player][by_rank], levels)
            starts[player].append(np.append(begins, len(by_rank)))
    group = np.zeros((2, len(last), int(groups.max()) + 1), np.int32)
    for player in range(2):
        for number, begins in enumerate(starts[player]):
            group[player, number, : len(begins)] = begins
    return order, group, groups


def _places(order: I32, group: I32, groups: I32, widest: int) -> I32:
    """[player, final board, hand] where a hand stands in the order of strength."""
    place = np.full((2, len(groups), widest), widest, np.int32)
    for player in range(2):
        for board, last in enumerate(groups.tolist()):
            live = order[player, board, : group[player, board, last]]
            place[player, board, live] = np.arange(len(live))
    return place


def _chances(table: DealTable) -> F32:
    game = table.game
    chances = [1.0]
    for street in range(table.street + 1, game.num_rounds):
        unseen = game.num_suits * game.num_ranks - 2 * game.num_hole_cards - game.board_cards_by(street - 1)
        chances.append(1 / comb(unseen, game.num_board_cards[street]))
    return np.array(chances, np.float32)


def _tasks(table: DealTable) -> tuple[I32, I32]:
    """The boards below the root in depth-first order: a board is left after all boards that continue it."""
    first = np.cumsum([0, *[len(street) for street in table.boards]]).tolist()
    following: dict[int, list[int]] = {}
    for street in range(1, len(table.boards)):
        for place, board in enumerate(table.boards[street]):
            following.setdefault(first[street - 1] + board.before, []).append(first[street] + place)
    task_at, steps = [0], []
    for task in following.get(0, []):
        waiting = [2 * task]
        while waiting:
            step = waiting.pop()
            steps.append(step)
            if not step & 1 and step < 2 * first[-2]:
                waiting.append(step + 1)
                waiting += [2 * child for child in reversed(following.get(step >> 1, []))]
        task_at.append(len(steps))
    return np.array(task_at, np.int32), np.array(steps, np.int32)


def _images(table: DealTable, widest: int) -> tuple[I32, I32, I32]:
    """What each board stands for; see `solver.boards`."""
    image_at, images = [0], []
    rows: dict[SuitPermutation, int] = {}
    for board in table.flat:
        for cards, suits in board.images:
            same = cards == board.cards
            images.append(-1 if same else rows.setdefault(suits, len(rows)))
        image_at.append(len(images))
    permutations = np.zeros((len(rows), 2, widest), np.int32)
    for suits, row in rows.items():
        for player, hands in enumerate(table.hands):
            permutations[row, player, : len(hands)] = permutation_of(hands, suits)
    return np.array(image_at, np.int32), np.array(images, np.int32), permutations
