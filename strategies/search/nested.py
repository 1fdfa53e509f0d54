"""Nested safe search: turn and river solved at the table, again after every bet of the opponent.

The rules (Brown's thesis, 5.1.7; docs/search.md):

- The first decision of the turn solves the turn and the river from the start of the street, unsafely: with both ranges
  so far, and with what the opponent has done on the street as it did it.
- A bet or raise of the opponent later on the street begins a new subgame after it (inexpensive nesting), or at the
  decision before it with the bet added (expensive). It is solved with a gadget: for each of its hands the opponent must
  win no more than it did by its best action before the bet, on average in the last solve.
- The river begins a new subgame whose alternative payoffs are what the turn's solve left there, for the card that came.
  If the opponent bets at once, that is a bet as above.
- Subgames go to the end of the hand; nothing is abstracted but bet sizes.
- A last solve of few iterations does not know what the opponent's hands were worth. The next is then unsafe too: a
  gadget defends most against the hand whose alternative payoff is the most wrong.

A hand's solves hang together: each needs the one before (`strategies.search.memory`). If an action is not where it
should be in the last tree (a decision fell back on something else), the street is solved anew from its start, unsafely,
with all actions as they were.

Time (`strategies.search.stopping`): a menu whose tree is too large for a useful number of iterations within the
decision's share gives way to a coarser one. The coarsest may take twice the share. If that leaves no iteration, the
answer is to check or fold. Iterations are logged, so that a replay can repeat them.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from machine.errors import ParatusError
from protocol.arrays import F64
from protocol.game import STREET_NAMES, Game, Position
from protocol.state import Raise, State, apply
from solver.betting import ForestError
from solver.gadget_kinds import Kind
from solver.menu import Menu, parse_menu
from solver.subgame import Subgame
from solver.warm import warm_up
from strategies.draws import Draws
from strategies.policy import Origin, Policy
from strategies.search.actions import perturbation, stack_to_pot, with_played
from strategies.search.answer import answer
from strategies.search.memory import EarlierSolve
from strategies.search.online import OnlineSearch
from strategies.search.ranges import modelled, narrowed, our_range, replayed, street_start
from strategies.search.settings import NestedSettings
from strategies.search.stopping import Forecast, Limit, RateForecast
from strategies.search.subgames import MOST_NODES, PLAY, SolvedSubgame, SubgameQuestion
from strategies.strategy import Budget, KeepsHands, Spot, Strategy

_TURN, _RIVER = 2, 3
_USEFUL: Final = {_TURN: 24, _RIVER: 120}
"""Fewer iterations on a street are worth less than a coarser tree."""
_BUILD_S: Final = {_TURN: 0.05, _RIVER: 0.015}
"""What building a subgame and reading a policy take, by street."""
_LATE_S: Final = 0.1
"""How late the last batch of iterations may end, and how much is kept for what else happens before the deadline."""
_NO_TIME: Final = "no time for the smallest search"
_OVERRUN: Final = 2.0
"""How many times its share a decision may take if there is no other way."""
_PAIR_S: Final = 1e-9
"""What a (hand, action) pair takes in an iteration, until it has been measured."""
_NODE_S: Final = 1 / 4000
"""What a node takes to build, until it has been measured."""
_BUILD_SHARE: Final = 0.5
"""Of the time that is left, for building a tree."""
_PAIRS_PER_BOARD: Final = 12
"""What a board takes, in pairs for each hand of both players."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the hand at a decision, and after it."""

    last: SolvedSubgame | None
    """The latest solve."""
    at_start: F64
    """[hand] the opponent's range where the decision's street began."""

    @property
    def iterations(self) -> int:
        return self.last.solver.iterations if self.last is not None else 0


class NestedSearch(OnlineSearch[NestedSettings, _Known]):
    """The strategy; see the head of this file."""

    name = route = "nested"
    solved_streets = (_TURN, _RIVER)

    def __init__(self, game: Game, settings: NestedSettings, base: Strategy) -> None:
        super().__init__(game, settings, base)
        self._iterating, self._building = Forecast(_PAIR_S), RateForecast(_NODE_S)
        warm_up(PLAY.bits)

    def another(self) -> NestedSearch:
        """For another match."""
        return self.over(self._base.another() if isinstance(self._base, KeepsHands) else self._base)

    def over(self, base: Strategy) -> NestedSearch:
        """For another match, whose actions before the turn `base` decides."""
        made = self._without_hands()
        made._base = base
        made._iterating, made._building = self._iterating.another(), self._building.another()
        return made

    def search(self, spot: Spot, budget: Budget, draws: Draws) -> Policy | str:
        """The policy by a search to the end of the hand, or why there is none."""
        street = spot.state.street
        if budget.left_s < _LATE_S + _BUILD_S[street]:
            return _NO_TIME
        known = self._known(spot, budget, draws)
        if known is None or budget.stopped():
            return _NO_TIME
        question, why = self._question(spot, known)
        factor = perturbation(self._settings.perturb_percent, draws)
        limit = Limit.of(self._settings.effort(street), budget, _LATE_S, _OVERRUN)
        trouble, menus = _NO_TIME, self._menus(question.root)
        for number, menu in enumerate(menus, 1):
            try:
                solved = self._solve(question, menu.scaled(factor), spot, limit, patient=number == len(menus))
            except ParatusError as error:  # a menu without sizes for this street, or a tree that is too large
                trouble = str(error)
                _log.warning("hand %d, %s: %s", spot.hand, spot.state.betting, trouble)
                continue
            if solved is not None:
                policy = self._answer(spot, solved, f"{why}; coarser menu" if number > 1 else why)
                return self._memory.remember(spot, policy, solved.solver.subgame.menu, replace(known, last=solved))
        _log.warning("hand %d, %s: not searched: %s", spot.hand, spot.state.betting, trouble)
        return trouble

    # What came before

    def _known(self, spot: Spot, budget: Budget, draws: Draws) -> _Known | None:
        """What is known of the hand at a decision; None if nobody wants to know any more."""

        def again(earlier: EarlierSolve, known: _Known | None) -> _Known | None:
            before = self._going_on(known, earlier.spot, budget, draws)
            question, _ = self._question(earlier.spot, before)
            limit = Limit.again(earlier.iterations, budget)
            solved = self._solve(question, earlier.menu, earlier.spot, limit, patient=True)
            return replace(before, last=solved) if solved is not None else None

        known = self._memory.recall(spot, self._memory.decisions(spot), budget, again)
        return self._going_on(known, spot, budget, draws) if not budget.stopped() else None

    def _going_on(self, known: _Known | None, spot: Spot, budget: Budget, draws: Draws) -> _Known:
        """What is known at a decision, by what was known after the one before.

        Where search begins, the base says what the opponent's actions before mean.
        """
        root = street_start(spot.state)
        if known is None or known.last is None:
            return _Known(None, modelled(self._base, spot, root.street, budget, draws, self._settings.floor))
        if known.last.question.root.street == root.street:
            return known
        return replace(known, at_start=self._followed(known.last, spot, root))

    # Ranges

    def _ranges(self, spot: Spot, known: _Known, root: State) -> tuple[F64, F64]:
        ours, theirs = our_range(spot, root), self._their_range(spot, known, root)
        return (ours, theirs) if spot.position == 0 else (theirs, ours)

    def _their_range(self, spot: Spot, known: _Known, root: State) -> F64:
        """The opponent's at a root: of its street's start, or by the last solve if that was after it."""
        if known.last is None:
            return known.at_start
        before = known.last.question.root
        if before.street < root.street or root.actions[: len(before.actions)] != before.actions:
            return known.at_start
        return self._followed(known.last, spot, root)

    def _followed(self, last: SolvedSubgame, spot: Spot, to: State) -> F64:
        """The opponent's range in a state after the last root, by the average strategies of that street."""
        opponent, state = last.question.opponent, last.question.root
        weights = last.question.ranges[opponent]
        for action in to.actions[len(state.actions) :]:
            place = last.place(state, spot.board) if state.actor == opponent else None
            if place is not None and place.street == 0:
                likelihood = last.likelihood(place, action)
                weights = narrowed(weights, likelihood, self._settings.floor, spot.hand, state, action)
            state = apply(state, action)
        return weights

    # Questions

    def _question(self, spot: Spot, known: _Known) -> tuple[SubgameQuestion, str]:
        """What to solve for a decision, and why so."""
        start, last, opponent = street_start(spot.state), known.last, Position(1 - spot.position)
        if last is None:
            return self._unsafe(spot, known, start), f"unsafe from the start of street {start.street}"
        if last.question.root.street < start.street:
            valued, root = start, _after_first_bet(start, spot.state, opponent) or start
        else:
            valued, root = _without_last(spot.state), spot.state
        place = last.place(valued, spot.board)
        if place is None:
            why = f"unsafe from the start of street {start.street}: not in the last tree"
            return self._unsafe(spot, known, start), why
        if last.solver.iterations < self._settings.trusted_iterations:
            return self._unsafe(spot, known, valued), f"unsafe: {last.solver.iterations} iterations before"
        kind = self._settings.kind
        if kind is Kind.UNSAFE:
            return self._unsafe(spot, known, valued), "unsafe"
        if self._settings.nesting == "expensive":
            root = valued
        question = SubgameQuestion(
            root=root,
            board=spot.board,
            opponent=opponent,
            kind=kind,
            ranges=self._ranges(spot, known, root),
            payoffs=np.nan_to_num(last.opponents_values(place)),
            gifts=last.gifts_left() + self._gifts(last, spot, valued),
        )
        return question, f"{kind} from {root.betting or 'the start'}"

    def _unsafe(self, spot: Spot, known: _Known, root: State) -> SubgameQuestion:
        nothing, ranges = np.zeros_like(known.at_start), self._ranges(spot, known, root)
        return SubgameQuestion(
            root, spot.board, Position(1 - spot.position), Kind.UNSAFE, ranges, payoffs=nothing, gifts=nothing
        )

    def _gifts(self, last: SolvedSubgame, spot: Spot, valued: State) -> F64:
        """What the opponent gave away between the last root and the state whose values are known."""
        given, state = np.zeros_like(last.question.gifts), last.question.root
        for action in valued.actions[len(state.actions) :]:
            place = last.place(state, spot.board) if state.actor == last.question.opponent else None
            if place is not None and place.street == 0:
                bound = self._settings.gifts == "bound"
                given = given + last.gift(place, action, self._settings.gift_scale, bound=bound)
            state = apply(state, action)
        return given

    # Solving

    def _menus(self, root: State) -> list[Menu]:
        """By the settings, the best first."""
        names, ratio = (STREET_NAMES[root.street], "any"), stack_to_pot(root)
        fitting = [rule.menu for rule in self._settings.menus if rule.street in names and ratio <= rule.spr]
        return [parse_menu(text) for text in (*fitting[:1], *self._settings.coarser)]

    def _solve(
        self, question: SubgameQuestion, menu: Menu, spot: Spot, limit: Limit, *, patient: bool
    ) -> SolvedSubgame | None:
        """The solved subgame, if the time is enough for it; see `Limit.until_s`."""
        subgame = self._built(question, with_played(menu, question.root, spot.state), limit, patient=patient)
        if subgame is None:
            return None
        street = spot.state.street
        work = subgame.price.pairs + _PAIRS_PER_BOARD * subgame.price.boards * sum(map(len, subgame.hands))
        iteration_s = self._iterating.needed_s(work)
        until_s = limit.until_s(iteration_s, _BUILD_S[street], _USEFUL[street], patient=patient)
        if until_s is None:
            if patient:
                self._iterating.doubt()
            return None
        solver = question.solver(subgame, self._settings.threads or None)
        begun = time.monotonic()
        solver.iterate()
        left_s = until_s - time.monotonic()
        if limit.iterations > 1 and left_s > 0:
            solver.solve(iterations=limit.iterations - 1, seconds=left_s, stopped=limit.stopped)
        self._iterating.learn(time.monotonic() - begun, work * solver.iterations)
        return SolvedSubgame(question, solver)

    def _built(self, question: SubgameQuestion, menu: Menu, limit: Limit, *, patient: bool) -> Subgame | None:
        """The subgame, if its tree can be built in a part of the time that is left."""
        possible = self._building.possible(_BUILD_SHARE * limit.left_s(patient=patient))
        most = int(min(max(possible, 1), MOST_NODES))
        begun = time.monotonic()
        try:
            subgame = question.subgame(menu, self._settings.memory_mb << 20, max_nodes=most)
        except ForestError:
            if most == MOST_NODES:
                raise
            if patient:
                self._building.doubt()
            return None
        self._building.learn(time.monotonic() - begun, sum(len(forest.nodes) for forest in subgame.forests))
        return subgame

    def _answer(self, spot: Spot, solved: SolvedSubgame, why: str) -> Policy:
        place = solved.place(spot.state, spot.board)
        assert place is not None  # the menu has all that was done since the root
        actions, strategy = solved.strategy(place)
        origin = Origin(self.route, why, solved.solver.iterations).with_notes(
            kind=solved.question.kind,
            root=solved.question.root.betting,
            pairs=solved.solver.subgame.price.pairs,
            **solved.quality(),
        )
        return answer(spot, actions, strategy, self._settings.least_probability, origin)


def _without_last(state: State) -> State:
    """The state before the last action."""
    return replayed(state, len(state.actions) - 1)


def _after_first_bet(root: State, state: State, opponent: Position) -> State | None:
    """The state after the opponent's first action of a street, if it is a bet."""
    action = state.history[-1][:1]
    if root.actor == opponent and action and isinstance(action[0], Raise):
        return apply(root, action[0])
    return None
