"""One solved subgame of a hand, and what the next solve needs from it.

Values are net chips of the whole hand, for each hand of the game; NaN where the subgame knows nothing about a hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Position
from protocol.hands import hands_of
from protocol.state import Action, State, apply
from solver.gadget_kinds import Kind
from solver.gadgets import Gadget, gift
from solver.menu import Menu
from solver.subgame import ROOT, Place, Storage, Subgame, SubgameError, SubgameLimits
from solver.subgame_solver import Solver
from strategies.search.actions import nearest

PLAY: Final = Storage(16, later_averages=False)
MOST_NODES: Final = 5_000
"""Of the betting of a street: trees grow in Python, some thousands of nodes a second, and more could not be solved."""


@dataclass(frozen=True, slots=True)
class SubgameQuestion:
    """A subgame to solve."""

    root: State
    board: tuple[Card, ...]
    opponent: Position
    kind: Kind
    ranges: tuple[F64, F64]
    """By position. With a gadget the opponent's counts for nothing."""
    payoffs: F64
    """[hand] the alternative payoffs; zeros without a gadget."""
    gifts: F64
    """[hand] what the opponent gave away before the root."""

    def subgame(self, menu: Menu, max_bytes: int, storage: Storage = PLAY, *, max_nodes: int = MOST_NODES) -> Subgame:
        """Ready to be solved."""
        ranges, marks = list(self.ranges), []
        if self.kind.form:
            ranges[self.opponent] = np.ones_like(ranges[self.opponent])
            marks = [self.shifted]
        return Subgame(
            self.root, self.board, ranges, menu,
            limits=SubgameLimits(max_nodes, max_bytes), storage=storage, marks=marks,
        )  # fmt: skip

    def solver(self, subgame: Subgame, threads: int | None) -> Solver:
        """With its gadget, and keeping the values that later solves will want."""
        gadget = None
        if self.kind.form:
            payoffs = self.shifted[subgame.hand_index[self.opponent]]
            gadget = Gadget(self.opponent, payoffs, self.kind.form)
        solver = Solver(subgame, threads=threads, gadget=gadget)
        self.keep(solver)
        return solver

    def keep(self, solver: Solver) -> None:
        """Have it keep what the opponent wins at its decisions, and where the next street begins."""
        subgame = solver.subgame
        solver.keep_values(self.opponent, [ROOT, *_next_street(subgame)], _decisions(subgame, self.opponent))

    @property
    def shifted(self) -> F64:
        """The alternative payoffs with gifts, if the kind has them."""
        return self.payoffs + self.gifts if self.kind.reach else self.payoffs


def _decisions(subgame: Subgame, player: int) -> list[Place]:
    """Those of a player on the first street."""
    return [Place(0, node, 0) for node, actor in enumerate(subgame.forests[0].player) if actor == player]


def _next_street(subgame: Subgame) -> list[Place]:
    """Where the second street begins, on every board that is solved."""
    if len(subgame.forests) == 1:
        return []
    forest = subgame.forests[1]
    roots = [forest.root(number) for number in range(sum(part.num_roots for part in forest.parts))]
    return [Place(1, root, board) for board in range(len(subgame.boards[1])) for root in roots]


class SolvedSubgame:
    """A subgame after its solve."""

    def __init__(self, question: SubgameQuestion, solver: Solver) -> None:
        self.question = question
        self.solver = solver

    def place(self, state: State, board: Sequence[Card]) -> Place | None:
        """Where a state is in the tree, `board` being that of the state or a later one; None if some action is not
        there.
        """
        root = self.question.root
        done = state.actions[len(root.actions) :]
        cards = board[len(self.question.board) : root.game.board_cards_by(state.street)]
        if state.actions[: len(root.actions)] != root.actions:
            return None
        try:
            return self.solver.place(done, cards)
        except SubgameError:
            return None

    def strategy(self, place: Place) -> tuple[tuple[Action, ...], F64]:
        """The actions there, and the average strategy [action, hand of the game]; NaN for hands that are not in it."""
        node = self.solver.node(place)
        assert node.state.actor is not None
        return node.actions, self._whole(node.state.actor, self.solver.strategy(place))

    def likelihood(self, place: Place, action: Action) -> F64:
        """[hand] how probably whoever acts there takes an action, or the one most like it that the tree has."""
        actions, strategy = self.strategy(place)
        at = nearest(actions, action)
        likelihood: F64 = np.ones(strategy.shape[1]) if at is None else strategy[at]
        return likelihood

    def opponents_values(self, place: Place) -> F64:
        """[hand] what the opponent wins from one of its decisions on, by its best action on average; or from the
        beginning of the next street."""
        opponent = self.question.opponent
        if place.street:
            return self._whole(opponent, self.solver.kept_values(opponent, place))
        values = self.solver.kept_action_values(opponent, place)
        return self._whole(opponent, values.max(axis=0))

    def gifts_left(self) -> F64:
        """[hand] what the solve has not let the opponent have of what it gave away before the root.

        The solve may leave it the payoff and the gift; what it left counts as given back from there on.
        """
        question = self.question
        if not question.kind.reach:
            return np.zeros_like(question.gifts)
        values = self._whole(question.opponent, self.solver.kept_values(question.opponent, ROOT))
        return np.clip(np.nan_to_num(question.shifted - values), 0.0, question.gifts)

    def gift(self, place: Place, action: Action, scale: float, *, bound: bool) -> F64:
        """[hand] what the opponent gave away by an action at one of its decisions; 0 for one that the tree has not."""
        opponent, node = self.question.opponent, self.solver.node(place)
        if action not in node.actions:
            return np.zeros(len(hands_of(self.question.root.game)))
        ends = [number for number, each in enumerate(node.actions) if apply(node.state, each).finished]
        values = self.solver.kept_action_values(opponent, place)
        given = gift(values, node.actions.index(action), ends if bound else None, scale)
        return np.nan_to_num(self._whole(opponent, given))

    def quality(self) -> dict[str, float]:
        """How well it is solved, where that can be said: all averages of a river are there, those after a turn are not.

        The exploitability as a share of the pot, with the gadget if there is one; then its least margin too.
        """
        solver = self.solver
        if len(solver.subgame.forests) > 1:
            return {}
        found = {"exploitability": round(solver.exploitability().pot_share, 6)}
        if self.question.kind.form:
            found["margin"] = round(float(solver.margins().min()) / self.question.root.pot, 6)
        return found

    def _whole(self, player: int, numbers: F64) -> F64:
        """[..., hand of the subgame] to [..., hand of the game]."""
        whole = np.full((*numbers.shape[:-1], len(hands_of(self.question.root.game))), np.nan)
        whole[..., self.solver.subgame.hand_index[player]] = numbers
        return whole
