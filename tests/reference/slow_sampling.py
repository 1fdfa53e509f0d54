"""The walks of both trainers, written down plainly: Python numbers, recursion, one pair of hands at a time.

Regrets and sums are arrays [bucket, action] by node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from blueprints.cards.interface import Cards
from blueprints.tree import NOBODY, BettingTree
from protocol.cards import Card
from protocol.game import Game
from protocol.hands import hands_of
from protocol.ranking import hand_rank

MASK = 2**64 - 1
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

Numbers = dict[int, np.ndarray]
"""[node] of an array [bucket, action]."""


def matched(regrets: np.ndarray) -> np.ndarray:
    """[action] of regrets [action]."""
    positive = np.maximum(regrets, 0)
    return positive / positive.sum() if positive.sum() > 0 else np.full(len(regrets), 1 / len(regrets))


def zeros(tree: BettingTree, counts: Sequence[int]) -> Numbers:
    """Nothing learnt."""
    return {
        node: np.zeros((counts[int(tree.street[node])], len(tree.edges(node)))) for node in range(tree.num_nodes)
    }  # fmt: skip


def by_edge(tree: BettingTree, counts: Sequence[int], numbers: Numbers) -> list[np.ndarray]:
    """[street][edge of the street, bucket], as trainers give their averages."""
    return [
        np.concatenate([np.zeros((0, counts[street])), *[numbers[node].T for node in tree.nodes_of(street)]])
        for street in range(tree.num_streets)
    ]


def leaf_value(tree: BettingTree, leaf: int, player: int, sign: int) -> float:
    """What a player wins; `sign` is 1 if player 0 has the better hand, -1 if player 1 has."""
    chips, folder = int(tree.pays[leaf]), int(tree.folder[leaf])
    first = chips * sign if folder == NOBODY else -chips if folder == 0 else chips
    return float(first if player == 0 else -first)


# --- External sampling ----------------------------------------------------------------------------------------------


class Stream:
    """splitmix64, begun at a hash of (seed, period, walk)."""

    def __init__(self, seed: int, period: int, walk: int) -> None:
        self.state = self.mixed(seed + GOLDEN)
        self.state = self.mixed(self.state + period * FIRST + GOLDEN)
        self.state = self.mixed(self.state + walk * SECOND + GOLDEN)

    @staticmethod
    def mixed(number: int) -> int:
        number &= MASK
        number = (number ^ number >> 30) * FIRST & MASK
        number = (number ^ number >> 27) * SECOND & MASK
        return number ^ number >> 31

    def bits(self) -> int:
        self.state = (self.state + GOLDEN) & MASK
        return self.mixed(self.state)

    def below(self, limit: int) -> int:
        return (self.bits() >> 32) * limit >> 32

    def unit(self) -> float:
        return (self.bits() >> 11) * 2.0**-53


@dataclass(frozen=True, slots=True)
class Dealt:
    board: tuple[Card, ...]
    hands: tuple[tuple[Card, ...], tuple[Card, ...]]

    @property
    def sign(self) -> int:
        mine, theirs = (hand_rank((*hand, *self.board)) for hand in self.hands)
        return (mine > theirs) - (mine < theirs)


def deal(game: Game, stream: Stream, board: Sequence[Card] = ()) -> Dealt:
    """The cards of a walk with every hand as likely as any other."""
    deck = sorted(set(game.deck()) - set(board))
    missing, holes = sum(game.num_board_cards) - len(board), game.num_hole_cards
    for place in range(missing + 2 * holes):
        other = place + stream.below(len(deck) - place)
        deck[place], deck[other] = deck[other], deck[place]
    first, second = deck[missing : missing + holes], deck[missing + holes : missing + 2 * holes]
    return Dealt((*board, *deck[:missing]), (tuple(sorted(first)), tuple(sorted(second))))


@dataclass
class SlowExternal:
    """External sampling on one tree."""

    game: Game
    tree: BettingTree
    cards: Cards
    regrets: Numbers
    sums: Numbers
    bound: float = 0.0
    skipping: float = 0.0

    def walk(self, stream: Stream, weight: float) -> None:
        """One deal, for both players."""
        dealt = deal(self.game, stream)
        hands = hands_of(self.game)
        whole = self.cards.deal(dealt.board)
        buckets = [[int(row[hands.index(hand)]) for row in whole] for hand in dealt.hands]
        skips = stream.unit() < self.skipping
        for player in range(2):
            self._below(0, player, _Walk(buckets, dealt.sign, weight, skips, stream), 1.0)

    def _below(self, node: int, player: int, walk: _Walk, scale: float) -> float:
        tree = self.tree
        if node < 0:
            return leaf_value(tree, ~node, player, walk.sign)
        actor, street = int(tree.player[node]), int(tree.street[node])
        bucket, edges = walk.buckets[actor][street], tree.edges(node)
        regrets = self.regrets[node][bucket]
        strategy = matched(regrets)
        leads = [int(tree.leads[edge]) for edge in edges]
        if actor != player:
            self.sums[node][bucket] += walk.weight * scale * strategy
            chosen = int(np.searchsorted(np.cumsum(strategy), walk.stream.unit(), side="right"))
            return self._below(leads[min(chosen, len(leads) - 1)], player, walk, scale)
        far = [
            self.skipping > 0
            and regrets.max() > 0
            and regret < self.bound
            and lead >= 0
            and street < tree.num_streets - 1
            for regret, lead in zip(regrets.tolist(), leads, strict=True)
        ]
        scales = [1 / (1 - self.skipping) if each else scale for each in far]
        values = {
            action: self._below(lead, player, walk, scales[action])
            for action, lead in enumerate(leads)
            if not (walk.skips and far[action])
        }
        value = sum(strategy[action] * won for action, won in values.items())
        for action, won in values.items():
            self.regrets[node][bucket, action] += walk.weight * scales[action] * (won - value)
        return float(value)


@dataclass(frozen=True, slots=True)
class _Walk:
    buckets: list[list[int]]
    sign: int
    weight: float
    skips: bool
    stream: Stream


# --- Public chance sampling -----------------------------------------------------------------------------------------


@dataclass
class AllDeals:
    """What one iteration of CFR adds, summed over all boards and pairs of hands, one after the other."""

    game: Game
    tree: BettingTree
    cards: Cards
    regrets: Numbers

    def __post_init__(self) -> None:
        self.added = zeros(self.tree, self.cards.counts)
        """Counterfactual regrets: [node][bucket, action]."""
        self.reached = zeros(self.tree, self.cards.counts)
        """The strategy, times how often its player comes there, by hands alone."""
        self.value = 0.0
        """What player 0 wins, in all."""

    def boards(self) -> Iterator[tuple[Card, ...]]:
        """Final boards as sets: with one street of board cards their order means nothing."""
        return combinations(sorted(self.game.deck()), sum(self.game.num_board_cards))

    def add(self, board: tuple[Card, ...]) -> None:
        """All pairs of hands on one board."""
        hands, buckets = hands_of(self.game), self.cards.deal(board).tolist()
        live = [number for number, hand in enumerate(hands) if not set(hand) & set(board)]
        ranks = {number: hand_rank((*hands[number], *board)) for number in live}
        beside = {a: [b for b in live if not set(hands[a]) & set(hands[b])] for a in live}
        for first in live:
            for second in beside[first]:
                sign = (ranks[first] > ranks[second]) - (ranks[first] < ranks[second])
                held = ([row[first] for row in buckets], [row[second] for row in buckets])
                self.value += self._below(0, held, sign, (1.0, 1.0), self._learn)
        for player in range(2):
            for hand in live:
                self._come(0, player, [row[hand] for row in buckets], 1.0)

    def _learn(self, node: int, bucket: int, gained: np.ndarray) -> None:
        self.added[node][bucket] += gained

    def _below(
        self,
        node: int,
        held: tuple[list[int], list[int]],
        sign: int,
        reach: tuple[float, float],
        learn: Callable[[int, int, np.ndarray], None],
    ) -> float:
        """What player 0 wins from here on."""
        tree = self.tree
        if node < 0:
            return leaf_value(tree, ~node, 0, sign)
        player = int(tree.player[node])
        bucket = held[player][int(tree.street[node])]
        strategy = matched(self.regrets[node][bucket])
        won = np.zeros(len(strategy))
        for action, edge in enumerate(tree.edges(node)):
            share = float(strategy[action])
            after = (reach[0] * share, reach[1]) if player == 0 else (reach[0], reach[1] * share)
            won[action] = self._below(int(tree.leads[edge]), held, sign, after, learn)
        value = float(strategy @ won)
        flip = 1 if player == 0 else -1
        learn(node, bucket, reach[1 - player] * flip * (won - value))
        return value

    def _come(self, node: int, player: int, buckets: list[int], reach: float) -> None:
        """One hand's part of the average."""
        if node < 0:
            return
        bucket, mine = buckets[int(self.tree.street[node])], int(self.tree.player[node]) == player
        strategy = matched(self.regrets[node][bucket])
        if mine:
            self.reached[node][bucket] += reach * strategy
        for action, edge in enumerate(self.tree.edges(node)):
            share = float(strategy[action]) if mine else 1.0
            self._come(int(self.tree.leads[edge]), player, buckets, reach * share)
