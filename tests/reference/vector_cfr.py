"""CFR over vectors of hands in numpy and float64, for games of one hole card: a plain twin with two extra knobs.

`own_average` says when a strategy enters its player's average: while the player itself is updated, before the update
(open_spiel), or while the other is (the solver). `noise` disturbs the values of every node by so much of themselves, as
rounding would: with 6e-8, the last bit of float32, it shows what of a result float32 can know.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from protocol.cards import Card
from protocol.game import Game
from protocol.hands import hands_of
from protocol.state import Deal, State, apply, payoffs, start
from solver.algorithms import Algorithm, Weights
from solver.menu import Menu


@dataclass(slots=True)
class _Leaf:
    payoff: np.ndarray
    """[hand of player 0, hand of player 1] what player 0 wins; zero for hands that exclude each other."""


@dataclass(slots=True)
class _Chance:
    children: list[tuple[np.ndarray, _Node]]
    """Which hands each board leaves alive, and what follows."""
    probability: float


@dataclass(slots=True)
class _Choice:
    player: int
    children: list[_Node]
    regrets: np.ndarray
    """[action, hand]"""
    sums: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.sums = np.zeros_like(self.regrets)


_Node = _Leaf | _Chance | _Choice


class VectorCFR:
    """Regrets and averages of a whole game."""

    def __init__(
        self, game: Game, menu: Menu, algorithm: Algorithm, *, own_average: bool, noise: float = 0.0, seed: int = 0
    ) -> None:
        assert game.num_hole_cards == 1
        assert max(game.num_board_cards) <= 1
        self.game, self.menu, self.algorithm, self.own_average = game, menu, algorithm, own_average
        self.noise, self._rng = noise, np.random.default_rng(seed)
        self.hands = [hand[0] for hand in hands_of(game)]
        self.iterations = 0
        self._root = self._grow(start(game), ())

    def iterate(self, count: int = 1) -> None:
        ones = np.ones(len(self.hands))
        for _ in range(count):
            self.iterations += 1
            weights = self.algorithm.weights(self.iterations)
            for player in range(2):
                self._update(self._root, player, ones, ones, weights)

    def exploitability(self) -> float:
        """Of the averages, in chips: half of what both best responses win."""
        ones, pairs = np.ones(len(self.hands)), len(self.hands) * (len(self.hands) - 1)
        return sum([float(self._best(self._root, player, ones).sum()) for player in range(2)]) / pairs / 2

    def _grow(self, state: State, board: tuple[Card, ...]) -> _Node:
        game, hands = self.game, self.hands
        if len(board) < game.board_cards_by(state.street) and not (state.finished and not state.showdown):
            unseen = len(hands) - 2 - len(board)
            alive = [(card, np.array([float(hand != card) for hand in hands])) for card in hands if card not in board]
            return _Chance([(mask, self._grow(state, (*board, card))) for card, mask in alive], 1 / unseen)
        if state.finished:
            return _Leaf(self._payoff(state, board))
        children = [self._grow(apply(state, action), board) for action in self.menu.actions(state)]
        return _Choice(int(state.actor or 0), children, np.zeros((len(children), len(hands))))

    def _payoff(self, state: State, board: tuple[Card, ...]) -> np.ndarray:
        matrix = np.zeros((len(self.hands), len(self.hands)))
        for i, mine in enumerate(self.hands):
            for j, other in enumerate(self.hands):
                if mine != other and mine not in board and other not in board:
                    # A fold needs no board: any cards will do.
                    filler = [card for card in self.hands if card not in (mine, other)]
                    shown = board if state.showdown else tuple(filler[: sum(self.game.num_board_cards)])
                    matrix[i, j] = payoffs(state, Deal(((mine,), (other,)), shown))[0]
        return matrix

    def _update(self, node: _Node, me: int, theirs: np.ndarray, mine: np.ndarray, weights: Weights) -> np.ndarray:
        """[hand] values of player `me`, times the other's reach `theirs`; `mine` is its own."""
        match node:
            case _Leaf(payoff):
                value = _value(payoff, me, theirs)
            case _Chance(children, probability):
                value = np.zeros(len(self.hands))
                for alive, child in children:
                    value += alive * self._update(child, me, theirs * alive * probability, mine * alive, weights)
            case _Choice(player=player, children=children, regrets=regrets):
                strategy = matched(regrets)
                if (player == me) == self.own_average:
                    reach = mine if player == me else theirs
                    node.sums = node.sums * weights.keep_average + weights.add_average * reach * strategy
                if player == me:
                    pairs = zip(children, strategy, strict=True)
                    by_action = np.array([self._update(c, me, theirs, mine * p, weights) for c, p in pairs])
                    value = (strategy * by_action).sum(axis=0)
                    kept = np.where(regrets > 0, weights.keep_positive, weights.keep_negative)
                    node.regrets = regrets * kept + by_action - value
                else:
                    pairs = zip(children, strategy, strict=True)
                    value = sum([self._update(c, me, theirs * p, mine, weights) for c, p in pairs])
        return value * (1 + self.noise * self._rng.normal(size=value.shape)) if self.noise else value

    def _best(self, node: _Node, me: int, theirs: np.ndarray) -> np.ndarray:
        match node:
            case _Leaf(payoff):
                return _value(payoff, me, theirs)
            case _Chance(children, probability):
                return sum([alive * self._best(child, me, theirs * alive * probability) for alive, child in children])
            case _Choice(player=player, children=children, sums=sums):
                if player == me:
                    return np.max([self._best(child, me, theirs) for child in children], axis=0)
                return sum([self._best(c, me, theirs * p) for c, p in zip(children, matched(sums), strict=True)])


def matched(regrets: np.ndarray) -> np.ndarray:
    """Probabilities [action, hand]: in proportion to what is positive, uniform where nothing is."""
    positive = np.maximum(regrets, 0.0)
    total = positive.sum(axis=0)
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1 / len(regrets))


def _value(payoff: np.ndarray, me: int, theirs: np.ndarray) -> np.ndarray:
    return payoff @ theirs if me == 0 else -(theirs @ payoff)
