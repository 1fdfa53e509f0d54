"""What a blueprint wins from a player who folds as soon as chips are owed: hold'em, exactly, over all boards.

Such a player never bets, so little of the tree is played: the blueprint folds, bets (and has won), or checks on, street
by street, to a showdown against a random hand. Buckets know a board as a set of cards. So for each of the 134,459
canonical boards the ten flops and five turns in it are looked up once, and with the means over flop and turn of every
order in which the five cards can come nothing is sampled at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from blueprints.cards.features import RIVER, multiplicities
from blueprints.cards.interface import Cards
from blueprints.cards.kernels.strengths import DEAD, RIVER_STRENGTH, river_strengths
from blueprints.rounding import TOTAL
from blueprints.storage import Blueprint
from blueprints.tree import CALLED, FOLDED, NOBODY, BettingTree
from protocol.arrays import F64
from protocol.cards import Card
from protocol.errors import BlueprintError
from protocol.hands import NUM_HANDS, canonical_boards, hand_cards_array
from protocol.kernels import rank_tables

_AT_ONCE: Final = 256
"""Boards; progress is told after so many."""
_STREETS: Final = 4


@dataclass(frozen=True, eq=False)
class FoldedStreet:
    """The blueprint's decision of a street, after nothing but checks and calls."""

    gains: F64
    """[bucket] chips won by bets, which end the hand, less those lost by folds."""
    goes_on: F64
    """[bucket] how likely it checks or calls."""


@dataclass(frozen=True)
class FoldedHand:
    """What can happen to the blueprint in one seat."""

    steps: tuple[FoldedStreet, ...]
    """By street, as far as the hand goes."""
    ends: int
    """Chips: won, where the other folds before the blueprint acts; else what a showdown pays."""


def line_of(blueprint: Blueprint, player: int) -> FoldedHand:
    """Follow the tree: the other folds where it can and checks where it cannot."""
    tree, node, steps = blueprint.tree, 0, []
    while True:
        edges = tree.edges(node)
        does = tree.does[edges.start : edges.stop]
        if tree.player[node] != player:
            passive = edges[int(np.flatnonzero(does == (FOLDED if FOLDED in does else CALLED))[0])]
        else:
            if int(tree.street[node]) != len(steps):
                raise BlueprintError(f"{blueprint.path}: more than one decision a street against a player who folds")
            shares = blueprint.rows(node) / TOTAL
            won = [0 if what == CALLED else _chips(tree, edge) for what, edge in zip(does, edges, strict=True)]
            steps.append(FoldedStreet(np.array(won) @ shares, shares[does == CALLED].sum(axis=0)))
            if CALLED not in does:
                return FoldedHand(tuple(steps), 0)
            passive = edges[int(np.flatnonzero(does == CALLED)[0])]
        leads = int(tree.leads[passive])
        if leads < 0:
            return FoldedHand(tuple(steps), int(tree.pays[~leads]))
        node = leads


def _chips(tree: BettingTree, edge: int) -> int:
    """What a fold loses, or a raise wins, which makes the other fold."""
    if tree.does[edge] == FOLDED:
        return -int(tree.pays[~tree.leads[edge]])
    answers = tree.edges(int(tree.leads[edge]))
    leaf = ~int(tree.leads[next(answer for answer in answers if tree.does[answer] == FOLDED)])
    assert tree.folder[leaf] != NOBODY
    return int(tree.pays[leaf])


def on_board(line: FoldedHand, cards: Cards, board: Sequence[Card], strengths: npt.NDArray[np.uint16]) -> float:
    """Chips a hand: the mean over all pairs of hands that a board of five allows, and over the orders of its cards.

    `strengths` [hand] are those of `blueprints.cards.kernels.strengths`.
    """
    live = strengths != DEAD
    classes = cards.buckets(())
    first, flop, turn, river = line.steps
    flop_gains, flop_on = np.zeros(NUM_HANDS), {}
    for some in combinations(board, 3):
        buckets = cards.buckets(some)
        flop_gains += flop.gains[buckets]
        flop_on[some] = flop.goes_on[buckets]
    turn_gains, turn_on = np.zeros(NUM_HANDS), np.zeros(NUM_HANDS)
    for some in combinations(board, 4):
        buckets = cards.buckets(some)
        there = sum(flop_on[flop_cards] for flop_cards in combinations(some, 3))
        turn_gains += there * turn.gains[buckets]
        turn_on += there * turn.goes_on[buckets]
    buckets = cards.buckets(board)
    shown = line.ends * (2 * strengths.astype(np.float64) / RIVER_STRENGTH - 1)
    last = river.gains[buckets] + river.goes_on[buckets] * shown
    # Ten flops, and of each turn's five four flops: twenty orders.
    later = flop_gains / 10 + turn_gains / 20 + turn_on / 20 * last
    chips = first.gains[classes] + first.goes_on[classes] * later
    return float(chips[live].mean())


def exact_value(
    blueprint: Blueprint, cards: Cards, player: int, tell: Callable[[float], None] = lambda share: None
) -> float:
    """Chips a hand in one seat; `tell` hears the share of the work that is done."""
    line = line_of(blueprint, player)
    if not line.steps:
        return float(line.ends)
    if len(line.steps) < _STREETS:  # it cannot limp: nobody sees a flop
        classes = cards.buckets(())
        return float(line.steps[0].gains[classes].mean())
    boards, weights, total = canonical_boards(5), multiplicities(RIVER), 0.0
    strengths = np.empty((_AT_ONCE, NUM_HANDS), np.uint16)
    for begin in range(0, len(boards), _AT_ONCE):
        some = np.ascontiguousarray(boards[begin : begin + _AT_ONCE])
        river_strengths(rank_tables(), some, 0, len(some), hand_cards_array(), strengths)
        for board, weight, row in zip(some.tolist(), weights[begin : begin + len(some)], strengths, strict=False):
            total += float(weight) * on_board(line, cards, board, row)
        tell((begin + len(some)) / len(boards))
    return total / float(weights.sum())
