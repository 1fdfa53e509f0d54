"""CFR as its definition says, in float64, one pair of hands at a time: the twin of `solver`.

Nothing is shared with the solver but the menu of bets: states come from `protocol`, hands are looked at pair by pair,
boards card by card, and regrets live in a dictionary by (player, hand, betting, board).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

from protocol.cards import Card
from protocol.state import Deal, State, apply, payoffs
from solver.algorithms import Algorithm, Weights
from solver.menu import Menu

Hand = tuple[Card, ...]
Key = tuple[int, Hand, str, tuple[Card, ...]]


class SlowCFR:
    """Regrets and averages of a subgame."""

    def __init__(
        self,
        root: State,
        board: tuple[Card, ...],
        ranges: Sequence[dict[Hand, float]],
        menu: Menu,
        algorithm: Algorithm,
        *,
        simultaneous: bool = False,
    ) -> None:
        self.root, self.board, self.ranges, self.menu, self.algorithm = root, board, ranges, menu, algorithm
        self.regrets: dict[Key, list[float]] = {}
        self.averages: dict[Key, list[float]] = {}
        self.simultaneous = simultaneous
        self.iterations = 0
        self.pairs = [
            (mine, theirs)
            for mine in ranges[0]
            for theirs in ranges[1]
            if not set(mine) & set(theirs) and not set(mine + theirs) & set(board)
        ]

    def iterate(self) -> None:
        self.iterations += 1
        weights = self.algorithm.weights(self.iterations)
        before = {key: list(regrets) for key, regrets in self.regrets.items()}
        for me in range(2):
            played = before if self.simultaneous else self.regrets
            values: dict[Key, list[float]] = {}
            for hands in self.pairs:
                self._walk(self.root, self.board, hands, me, self.ranges[1 - me][hands[1 - me]], played, values)
            for hand in self.ranges[1 - me]:
                if not set(hand) & set(self.board):
                    self._average(self.root, self.board, 1 - me, hand, self.ranges[1 - me][hand], played, weights)
            for key, by_action in values.items():
                regrets = self.regrets.setdefault(key, [0.0] * len(by_action))
                strategy = matched(regrets)
                mean = sum(p * v for p, v in zip(strategy, by_action, strict=True))
                for action, value in enumerate(by_action):
                    kept = weights.keep_positive if regrets[action] > 0 else weights.keep_negative
                    regrets[action] = regrets[action] * kept + value - mean

    def best_response(self, me: int) -> float:
        """The value of the best response of `me` to the average strategy, by hands it cannot tell apart."""
        total = sum(self.ranges[0][a] * self.ranges[1][b] for a, b in self.pairs)
        value = 0.0
        for hand in self.ranges[me]:
            against = {pair[1 - me]: self.ranges[1 - me][pair[1 - me]] for pair in self.pairs if pair[me] == hand}
            if against:
                value += self.ranges[me][hand] * self._best(self.root, self.board, me, hand, against)
        return value / total

    def _walk(
        self,
        state: State,
        board: tuple[Card, ...],
        hands: tuple[Hand, Hand],
        me: int,
        reach: float,
        table: dict[Key, list[float]],
        values: dict[Key, list[float]],
    ) -> float:
        """The value of a pair for `me`, weighted by the opponent's and chance's reach; collects values by action."""
        if state.finished and len(board) == self.root.game.board_cards_by(state.street):
            return reach * payoffs(state, Deal(hands, board))[me]
        if len(board) < self.root.game.board_cards_by(state.street):
            return self._chance(state, board, hands, me, reach, table, values)
        actor = int(state.actor or 0)
        actions = self.menu.actions(state)
        key = (actor, hands[actor], state.betting, board)
        strategy = matched(table.get(key, [0.0] * len(actions)))
        total, by_action = 0.0, []
        for action, probability in zip(actions, strategy, strict=True):
            down = reach if actor == me else reach * probability
            value = self._walk(apply(state, action), board, hands, me, down, table, values)
            by_action.append(value)
            total += probability * value if actor == me else value
        if actor == me:
            known = values.get(key)
            values[key] = by_action if known is None else [a + b for a, b in zip(known, by_action, strict=True)]
        return total

    def _chance(
        self,
        state: State,
        board: tuple[Card, ...],
        hands: tuple[Hand, Hand],
        me: int,
        reach: float,
        table: dict[Key, list[float]],
        values: dict[Key, list[float]],
    ) -> float:
        boards = self._next_boards(board, hands[0] + hands[1])
        share = reach / len(boards)
        return sum(self._walk(state, after, hands, me, share, table, values) for after in boards)

    def _next_boards(self, board: tuple[Card, ...], dead: Hand) -> list[tuple[Card, ...]]:
        """All ways to deal the next street."""
        game = self.root.game
        dealt = next(s for s in range(game.num_rounds) if game.board_cards_by(s) > len(board))
        left = [card for card in sorted(game.deck()) if card not in board and card not in dead]
        boards = [(*board, *more) for more in combinations(left, game.num_board_cards[dealt])]
        assert len(boards) == comb(len(left), game.num_board_cards[dealt])
        return boards

    def _average(
        self,
        state: State,
        board: tuple[Card, ...],
        me: int,
        hand: Hand,
        reach: float,
        played: dict[Key, list[float]],
        weights: Weights,
    ) -> None:
        """Add the current strategy of `me`, weighted by its own reach."""
        if state.finished:
            return
        if len(board) < self.root.game.board_cards_by(state.street):
            for after in self._next_boards(board, hand):
                self._average(state, after, me, hand, reach, played, weights)
            return
        actions = self.menu.actions(state)
        strategy = [1.0] * len(actions)
        if state.actor == me:
            key = (me, hand, state.betting, board)
            strategy = matched(played.get(key, [0.0] * len(actions)))
            average = self.averages.setdefault(key, [0.0] * len(actions))
            for action, probability in enumerate(strategy):
                average[action] = average[action] * weights.keep_average + reach * probability * weights.add_average
        for action, probability in zip(actions, strategy, strict=True):
            self._average(apply(state, action), board, me, hand, reach * probability, played, weights)

    def _best(self, state: State, board: tuple[Card, ...], me: int, hand: Hand, against: dict[Hand, float]) -> float:
        """The best value of one hand against a weighting of the other's hands."""
        if state.finished and len(board) == self.root.game.board_cards_by(state.street):
            total = 0.0
            for other, reach in against.items():
                hands = (hand, other) if me == 0 else (other, hand)
                total += reach * payoffs(state, Deal(hands, board))[me]
            return total
        if len(board) < self.root.game.board_cards_by(state.street):
            total = 0.0
            count = len(self._next_boards(board, hand + next(iter(against))))
            for after in self._next_boards(board, hand):
                alive = {other: reach / count for other, reach in against.items() if not set(other) & set(after)}
                total += self._best(state, after, me, hand, alive) if alive else 0.0
            return total
        actions = self.menu.actions(state)
        if state.actor == me:
            return max(self._best(apply(state, action), board, me, hand, against) for action in actions)
        total = 0.0
        for number, action in enumerate(actions):
            down = {}
            for other, reach in against.items():
                key = (1 - me, other, state.betting, board)
                down[other] = reach * matched(self.averages.get(key, [0.0] * len(actions)))[number]
            total += self._best(apply(state, action), board, me, hand, down)
        return total


def matched(weights: Sequence[float]) -> list[float]:
    """Proportional to what is positive, uniform if nothing is."""
    positive = [max(weight, 0.0) for weight in weights]
    total = sum(positive)
    return [weight / total for weight in positive] if total > 0 else [1 / len(weights)] * len(weights)
