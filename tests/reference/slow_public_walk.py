"""A walk of public chance sampling, written down plainly: recursion over the tree, hands by hands, no lanes, no parts.

Reaches and values are float64 by live hand; buckets are looked up where a strategy is read or something is learnt.
Showdowns and folds are products with the matrix of who beats whom, which has a row for each hand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blueprints.cards.interface import Cards
from blueprints.tree import NOBODY, BettingTree
from protocol.cards import Card
from protocol.game import Game
from protocol.hands import hands_of
from protocol.kernels import rank_hands

Tables = list[np.ndarray]
"""[street][edge of the street, bucket]."""


class SlowWalk:
    """One board of a game whose hands have two cards."""

    def __init__(self, game: Game, tree: BettingTree, cards: Cards, board: Sequence[Card]) -> None:
        held = np.array(hands_of(game))
        live = np.flatnonzero(~np.isin(held, board).any(axis=1))
        hands = held[live]
        whole = np.hstack([hands, np.tile(np.array(board), (len(live), 1))]).astype(np.uint8)
        ranks = rank_hands(np.ascontiguousarray(whole)).astype(np.int64)
        both = ~(hands[:, None, :, None] == hands[None, :, None, :]).any(axis=(2, 3))
        self._both = both.astype(np.float64)
        self._wins = np.sign(ranks[:, None] - ranks[None, :]) * self._both
        self._tree, self._counts = tree, cards.counts
        self._buckets = cards.deal(board)[:, live]
        starts = [int(tree.first[tree.nodes_of(street).start]) for street in range(game.num_rounds)]
        self._starts = [*starts, tree.num_edges]

    def zeros(self) -> Tables:
        """Nothing learnt."""
        sizes = np.diff(self._starts)
        return [np.zeros((size, count)) for size, count in zip(sizes, self._counts, strict=True)]

    def learn(self, played: tuple[Tables, Tables], weight: float) -> tuple[Tables, Tables]:
        """What is added to regrets and to averages where each player plays by regret matching on its tables."""
        self._played, self._weight = played, weight
        self._regrets, self._averages = self.zeros(), self.zeros()
        everything = np.ones(self._buckets.shape[1])
        self._values(0, [everything, everything])
        return self._regrets, self._averages

    def _values(self, node: int, reaches: list[np.ndarray]) -> list[np.ndarray]:
        """Both players' counterfactual values, by hand."""
        tree, street, player = self._tree, int(self._tree.street[node]), int(self._tree.player[node])
        edges, bucket = tree.edges(node), self._buckets[street]
        first = edges.start - self._starts[street]
        positive = np.maximum(self._played[player][street][first : first + len(edges)].astype(np.float64), 0)
        total = positive.sum(axis=0)
        matched = np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / len(edges))[:, bucket]
        values, mine = [np.zeros(len(bucket)), np.zeros(len(bucket))], []
        for action, edge in enumerate(edges):
            after = list(reaches)
            after[player] = reaches[player] * matched[action]
            self._averages[street][first + action] += self._weight * self._sums(after[player], street)
            follow = self._after(int(tree.leads[edge]), after)
            mine.append(follow[player])
            values[player] += matched[action] * follow[player]
            values[1 - player] += follow[1 - player]
        for action, value in enumerate(mine):
            self._regrets[street][first + action] += self._weight * self._sums(value - values[player], street)
        return values

    def _after(self, leads: int, reaches: list[np.ndarray]) -> list[np.ndarray]:
        if leads >= 0:
            return self._values(leads, reaches)
        folder, chips = int(self._tree.folder[~leads]), float(self._tree.pays[~leads])
        if folder == NOBODY:
            return [chips * (self._wins @ reaches[1 - player]) for player in range(2)]
        return [(-chips if folder == player else chips) * (self._both @ reaches[1 - player]) for player in range(2)]

    def _sums(self, by_hand: np.ndarray, street: int) -> np.ndarray:
        return np.bincount(self._buckets[street], by_hand, self._counts[street])
