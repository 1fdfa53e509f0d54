"""Local best response in small games, by going through every deal with the production's decisions; table strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from open_spiel_names import average_policy
from solver_tables import decisions

from dealer_tools.best_response import legal
from dealer_tools.lbr.equity import Equities
from dealer_tools.lbr.response import LocalBestResponse
from dealer_tools.lbr.settings import Setting
from protocol.cards import Card
from protocol.game import Game, Position
from protocol.hands import hands_of
from protocol.ranking import hand_rank
from protocol.state import FOLD, State, apply, start
from solver.subgame import Subgame
from solver.subgame_solver import Solver
from strategies.draws import Draws
from strategies.policy import Origin, Policy, round_columns
from strategies.strategy import Budget, Decided, Spot

Board = tuple[Card, ...]
Past = tuple[Decided, ...]
Ask = Callable[[State, Board, Past], Policy]
"""An agent."""


@dataclass(frozen=True, slots=True)
class Written:
    """A strategy that is a table: by player, betting and board, what every hand does."""

    policies: dict[tuple[int, str, frozenset[Card]], Policy]

    name = "written"

    def identity(self) -> dict[str, str]:
        return {"kind": "written"}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        assert spot.position == spot.state.actor
        return self.policies[spot.position, spot.state.betting, frozenset(spot.board)]


def ask(strategy: Written) -> Ask:
    return lambda state, board, past: strategy.policies[int(state.actor or 0), state.betting, frozenset(board)]


def solved(game: Game, subgame: Subgame, solver: Solver) -> Written:
    """The averages of a solver, which stand for every board and every change of suits."""
    table, holes = average_policy(solver, subgame), hands_of(game)
    policies = {}
    for decision in decisions(subgame):
        for cards, _ in decision.images:
            board = frozenset(cards)
            columns = [
                table.get((decision.player, frozenset(hole), board, decision.betting), np.zeros(len(decision.actions)))
                for hole in holes
            ]
            weights = round_columns(np.array(columns).T)
            policies[decision.player, decision.betting, board] = Policy(decision.actions, weights, Origin("written"))
    return Written(policies)


def random_strategy(game: Game, seed: int) -> Written:
    """Any probabilities, three in ten of them zero, at every decision with every board."""
    rng, holes, policies = np.random.default_rng(seed), hands_of(game), {}
    for state, board in _every_decision(game, start(game), ()):
        actions = tuple(legal(state))
        shares = rng.random((len(actions), len(holes))) ** 2 * (rng.random((len(actions), len(holes))) < 0.7)
        shares[rng.integers(len(actions))] += 1e-3
        shares *= [float(not set(hole) & set(board)) for hole in holes]
        policy = Policy(actions, round_columns(shares), Origin("written"))
        policies[int(state.actor or 0), state.betting, frozenset(board)] = policy
    return Written(policies)


def _every_decision(game: Game, state: State, board: Board) -> Iterable[tuple[State, Board]]:
    if state.finished:
        return
    if game.board_cards_by(state.street) > len(board):
        for dealt, _ in _dealt(game, state, board, ()):
            yield from _every_decision(game, state, dealt)
        return
    yield state, board
    for action in legal(state):
        yield from _every_decision(game, apply(state, action), board)


def _dealt(game: Game, state: State, board: Board, hole: Board) -> list[tuple[Board, float]]:
    """The boards of the next street, and the probability of each for two hands that allow it."""
    street = next(each for each in range(game.num_rounds) if game.board_cards_by(each) > len(board))
    left = [card for card in sorted(game.deck()) if card not in (*board, *hole)]
    unseen = game.num_suits * game.num_ranks - len(board) - 2 * game.num_hole_cards
    cards = game.num_board_cards[street]
    return [((*board, *dealt), 1 / comb(unseen, cards)) for dealt in combinations(left, cards)]


class Everything:
    """What a local best response wins, over every deal: no luck, no sampling."""

    def __init__(self, game: Game, setting: Setting, agent: Ask) -> None:
        self._game, self._agent = game, agent
        self._equities = Equities(game)
        self._response = LocalBestResponse(setting, self._equities)
        self._holes = hands_of(game)

    def wins(self) -> tuple[float, float]:
        """Chips a hand in position 0, and in position 1."""
        first, second = (self._of(Position(seat)) for seat in (0, 1))
        return first, second

    def mean(self) -> float:
        return sum(self.wins()) / 2

    def _of(self, seat: Position) -> float:
        total = pairs = 0.0
        for hole in self._holes:
            weights = self._holes.live(hole).astype(np.float64)
            total += self._value(start(self._game), hole, (), weights, (), seat, first=True)
            pairs += weights.sum()
        return total / pairs

    def _value(
        self, state: State, hole: Board, board: Board, weights: np.ndarray, past: Past, seat: Position, *, first: bool
    ) -> float:
        """The sum over the agent's hands; `weights` are how likely each plays as it has so far."""
        weights = weights * self._holes.live((*hole, *board))
        if not weights.any():
            return 0.0
        if state.finished and not state.showdown:
            chips = -state.committed[seat] if state.folded[seat] else state.committed[1 - seat]
            return float(chips * weights.sum())
        if self._game.board_cards_by(state.street) > len(board):
            return sum(
                share * self._value(state, hole, dealt, weights, past, seat, first=first)
                for dealt, share in _dealt(self._game, state, board, hole)
            )
        if state.finished:
            mine = hand_rank((*hole, *board))
            signs = [np.sign(mine - hand_rank((*theirs, *board))) if weight else 0
                     for theirs, weight in zip(self._holes, weights, strict=True)]  # fmt: skip
            return float(min(state.committed) * (weights @ np.array(signs)))
        if state.actor == seat:
            action = self._response.action(
                state, hole, board, weights, lambda raised: self._folding(raised, board, past), first=first
            )
            return self._value(apply(state, action), hole, board, weights, past, seat, first=False)
        policy, total = self._agent(state, board, past), 0.0
        for action in legal(state):
            taken = weights * policy.likelihood(action).astype(np.float64)
            after = apply(state, action)
            total += self._value(after, hole, board, taken, (*past, Decided(state, policy)), seat, first=first)
        return total

    def _folding(self, raised: State, board: Board, past: Past) -> np.ndarray:
        return self._agent(raised, board, past).likelihood(FOLD).astype(np.float64)
