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

A hand's solves hang together. Each needs the one before, which is kept until the next. If it is missing (the match was
interrupted, or the same spot is asked again), the hand's earlier decisions are solved again, with the menus and numbers
of iterations that were logged with their policies. If an action is not where it should be in the last tree (a decision
fell back on something else), the street is solved anew from its start, unsafely, with all actions as they were.

Time: a decision may take its share of what a hand may take on average, and never runs into the deadline. A menu whose
tree is too large for a useful number of iterations within that share gives way to a coarser one. The coarsest may
take twice the share: more, hand after hand, would use up the time of the match. If that leaves no iteration, the answer
is to check or fold. Iterations are logged, so that a replay can repeat them.
"""

from __future__ import annotations

import copy
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from machine.errors import ParatusError
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Game, Position
from protocol.state import CALL, Raise, State, apply
from solver.betting import ForestError
from solver.gadget_kinds import Kind
from solver.menu import Menu, menu_text, parse_menu
from solver.subgame import Subgame
from solver.warm import warm_up
from strategies.baselines import check_or_fold
from strategies.draws import Draws
from strategies.policy import Origin, Policy, round_columns
from strategies.search.ranges import alive, everyone, modelled, narrowed, our_range, replayed, street_start
from strategies.search.settings import DOUBT, NestedSettings
from strategies.search.subgames import MOST_NODES, PLAY, Question, Solved
from strategies.strategy import Budget, KeepsHands, Spot, Strategy
from strategies.suitable import check_searchable

_TURN: Final = 2
_USEFUL: Final = {2: 24, 3: 120}
"""Fewer iterations than so many on a street are worth less than a coarser tree."""
_ALL: Final = 10**9
_BUILD_S: Final = {2: 0.05, 3: 0.015}
"""What building a subgame and reading a policy take, by street."""
_LATE_S: Final = 0.1
"""How late the last batch of iterations may end, and how much is kept for what else happens before the deadline."""
_NO_TIME: Final = "no time for the smallest search"
_OVERRUN: Final = 2.0
"""How many times its share a decision may take if there is no other way."""
_S_PER_PAIR: Final = 1e-9
"""What a (hand, action) pair takes in an iteration, until it has been measured."""
_NODES_PER_S: Final = 4000.0
"""How fast trees grow, until it has been measured."""
_PAIRS_PER_BOARD: Final = 12
"""What a board takes, in pairs for each hand of both players."""
_REMEMBERED: Final = 8
"""Decisions of a hand: more than one line has on the streets that are searched, with 5 to 40 MB each on the turn."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Hand:
    """What is known of the hand being played."""

    hand: int
    position: Position
    board: tuple[Card, ...]
    """As far as it was known at the latest decision."""
    factor: float
    """By which bet sizes are perturbed."""
    theirs: F64
    """The opponent's range at the last solve's root, or where search begins."""
    at_start: dict[str, F64] = field(default_factory=dict)
    """The opponent's range where a street began, by the betting before."""
    last: Solved | None = None
    policies: tuple[Policy, ...] = ()
    """Ours, up to the latest."""

    @property
    def opponent(self) -> Position:
        return Position(1 - self.position)

    def goes_on_in(self, spot: Spot) -> bool:
        """Whether that is the next decision of this hand, after the very policies that are known."""
        return (
            (self.hand, self.position) == (spot.hand, spot.position)
            and self.board == spot.board[: len(self.board)]
            and len(self.policies) == len(spot.past)
            and all(_same(mine, decided.policy) for mine, decided in zip(self.policies, spot.past, strict=True))
        )


@dataclass(frozen=True, slots=True)
class Limit:
    """When to stop, on the scale of `time.monotonic`."""

    iterations: int
    share_s: float
    """When the share of the time is used up."""
    last_s: float
    """When there must be an answer."""
    stopped: Callable[[], bool]
    """Whether nobody needs one any more."""


class NestedSearch:
    """The strategy; see the head of this file."""

    name = route = "nested"

    def __init__(self, game: Game, settings: NestedSettings, base: Strategy) -> None:
        check_searchable(self.name, game)
        self._game, self._settings, self._base = game, settings, base
        self._hands: list[_Hand] = []
        """The hand being played, as it was after each of our latest decisions; the one that was used last is last."""
        self._s_per_pair, self._nodes_per_s = _S_PER_PAIR, _NODES_PER_S
        warm_up(PLAY.bits)

    def another(self) -> NestedSearch:
        """For another match."""
        return self.over(self._base.another() if isinstance(self._base, KeepsHands) else self._base)

    def over(self, base: Strategy) -> NestedSearch:
        """For another match, whose actions before the turn `base` decides."""
        made = copy.copy(self)
        made._base, made._hands = base, []
        return made

    def identity(self) -> dict[str, str]:
        base = {f"base {key}": value for key, value in self._base.identity().items()}
        return {"kind": self.route, "settings": self._settings.model_dump_json(), **base}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        if spot.state.street < _TURN:
            return self._base.policy(spot, budget, draws)
        found = self.search(spot, budget, draws)
        return check_or_fold(spot.state, found) if isinstance(found, str) else found

    def search(self, spot: Spot, budget: Budget, draws: Draws) -> Policy | str:
        """The policy by a search to the end of the hand, or why there is none."""
        if budget.left_s < _LATE_S + _BUILD_S[spot.state.street]:
            return _NO_TIME
        hand = self._recall(spot, budget, draws)
        if budget.stopped():
            return _NO_TIME
        question, why = self._question(hand, spot)
        limit = self._limit(spot.state, budget)
        trouble = _NO_TIME
        menus, useful = self._menus(question.root), min(_USEFUL[spot.state.street], limit.iterations)
        for number, menu in enumerate(menus, 1):
            last = number == len(menus)
            try:
                solved = self._solve(question, menu.scaled(hand.factor), spot, limit, useful, patient=last)
            except ParatusError as error:  # a menu without sizes for this street, or a tree that is too large
                trouble = str(error)
                _log.warning("hand %d, %s: %s", spot.hand, spot.state.betting, trouble)
                continue
            if solved is not None:
                self._learn(hand, spot, solved)
                answer = self._answer(spot, solved, f"{why}; coarser menu" if number > 1 else why)
                hand.policies = (*(decided.policy for decided in spot.past), answer)
                self._hands = [*self._hands[1 - _REMEMBERED :], hand]
                return answer
        _log.warning("hand %d, %s: not searched: %s", spot.hand, spot.state.betting, trouble)
        return trouble

    # What came before

    def _recall(self, spot: Spot, budget: Budget, draws: Draws) -> _Hand:
        """The hand as it was after its earlier decisions, which are solved again if they are not remembered.

        Whoever asks what we would do along several lines (local best response does) so has each decision solved once.
        """
        searched = [decided for decided in spot.past if decided.policy.origin.route == self.route]
        self._hands = [each for each in self._hands if (each.hand, each.position) == (spot.hand, spot.position)]
        for known in reversed(self._hands) if searched else ():
            if known.goes_on_in(spot):
                self._hands.remove(known)
                self._hands.append(known)
                return replace(known, at_start=dict(known.at_start))
        first = searched[0].state.street if searched else spot.state.street
        hand = self._fresh(spot, first, budget, draws)
        for decided in searched:
            board = spot.board[: self._game.board_cards_by(decided.state.street)]
            before = replace(spot, state=decided.state, board=board, past=spot.past[: spot.past.index(decided)])
            now = time.monotonic()
            last_s = now + 0.5 * (budget.deadline_s - now)
            limit = Limit(decided.policy.origin.iterations, now, last_s, budget.stopped)
            menu = parse_menu(json.loads(decided.policy.origin.details)["menu"])
            solved = self._solve(self._question(hand, before)[0], menu, before, limit, _ALL, patient=True)
            done = solved.solver.iterations if solved else 0
            if done < limit.iterations:
                _log.warning(
                    "hand %d, %s: no time to solve it as before: %d of %d iterations",
                    spot.hand, decided.state.betting, done, limit.iterations,
                )  # fmt: skip
            if solved is None or budget.stopped():
                break
            self._learn(hand, before, solved)
        return hand

    def _fresh(self, spot: Spot, street: int, budget: Budget, draws: Draws) -> _Hand:
        """The hand on the street where search begins: the base says what the opponent's actions before mean."""
        most = self._settings.perturb_percent / 100
        factor = 1 + most * draws.of_hand("bet sizes").below(2**32) / 2**32
        hand = _Hand(spot.hand, spot.position, (), factor, everyone(self._game))
        hand.theirs = modelled(self._base, spot, street, budget, draws, self._settings.floor)
        return hand

    def _learn(self, hand: _Hand, spot: Spot, solved: Solved) -> None:
        """A decision of the hand has been solved."""
        hand.last, hand.theirs, hand.board = solved, solved.question.ranges[hand.opponent], spot.board

    # Ranges

    def _their_range(self, hand: _Hand, root: State, board: Sequence[Card]) -> F64:
        """The opponent's at a root: of its street's start, or by the last solve if that was after it."""
        last, start_of_street = hand.last, hand.at_start[street_start(root).betting]
        if last is None or last.question.root.street < root.street:
            return start_of_street
        if root.actions[: len(last.question.root.actions)] != last.question.root.actions:
            return start_of_street
        return self._followed(hand, last, root, board)

    def _followed(self, hand: _Hand, last: Solved, to: State, board: Sequence[Card]) -> F64:
        """The opponent's range in a state after the last root, by the average strategies of that street."""
        weights, state = hand.theirs, last.question.root
        for action in to.actions[len(state.actions) :]:
            place = last.place(state, board) if state.actor == hand.opponent else None
            if place is not None and place.street == 0:
                likelihood = last.likelihood(place, action)
                weights = narrowed(weights, likelihood, self._settings.floor, hand.hand, state, action)
            state = apply(state, action)
        return weights

    # Questions

    def _question(self, hand: _Hand, spot: Spot) -> tuple[Question, str]:
        """What to solve for a decision, and why so."""
        root = street_start(spot.state)
        last = hand.last
        if root.betting not in hand.at_start:
            hand.at_start[root.betting] = self._followed(hand, last, root, spot.board) if last else hand.theirs
        if last is None:
            return self._unsafe(hand, spot, root), f"unsafe from the start of street {root.street}"
        first_bet = _after_first_bet(root, spot.state, hand.opponent)
        if last.question.root.street < root.street:
            known, root = root, (first_bet or root)
        else:
            known, root = _without_last(spot.state), spot.state
        place = last.place(known, spot.board)
        if place is None:
            root = street_start(spot.state)
            why = f"unsafe from the start of street {root.street}: not in the last tree"
            return self._unsafe(hand, spot, root), why
        trusted = last.solver.iterations >= self._settings.trusted_iterations
        kind = self._settings.kind if trusted else Kind.UNSAFE
        if self._settings.nesting == "expensive" or kind is Kind.UNSAFE:
            root = known
        if kind is Kind.UNSAFE:
            why = "" if trusted else f": {last.solver.iterations} iterations before"
            return self._unsafe(hand, spot, root), f"unsafe{why}"
        question = Question(
            root=root,
            board=spot.board,
            opponent=hand.opponent,
            kind=kind,
            ranges=self._ranges(hand, spot, root),
            payoffs=np.nan_to_num(last.opponents_values(place)),
            gifts=last.gifts_left() + self._gifts(last, known, spot),
        )
        return question, f"{question.kind} from {root.betting or 'the start'}"

    def _unsafe(self, hand: _Hand, spot: Spot, root: State) -> Question:
        nothing = np.zeros_like(hand.theirs)
        ranges = self._ranges(hand, spot, root)
        return Question(root, spot.board, hand.opponent, Kind.UNSAFE, ranges, nothing, nothing)

    def _ranges(self, hand: _Hand, spot: Spot, root: State) -> tuple[F64, F64]:
        ours, theirs = our_range(spot, root), self._their_range(hand, root, spot.board)
        return (ours, theirs) if hand.position == 0 else (theirs, ours)

    def _gifts(self, last: Solved, known: State, spot: Spot) -> F64:
        """What the opponent gave away between the last root and the place whose values are known."""
        given, state = np.zeros_like(last.question.gifts), last.question.root
        for action in known.actions[len(state.actions) :]:
            place = last.place(state, spot.board) if state.actor == last.question.opponent else None
            if place is not None and place.street == 0:
                bound = self._settings.gifts == "bound"
                given = given + last.gift(place, action, self._settings.gift_scale, bound=bound)
            state = apply(state, action)
        return given

    # Solving

    def _menus(self, root: State) -> list[Menu]:
        """By the settings, the best first."""
        behind = min(stack - chips for stack, chips in zip(self._game.stack, root.committed, strict=True))
        names = ("turn" if root.street == _TURN else "river", "any")
        fitting = [rule.menu for rule in self._settings.menus if rule.street in names and behind <= rule.spr * root.pot]
        return [parse_menu(text) for text in (*fitting[:1], *self._settings.coarser)]

    def _limit(self, state: State, budget: Budget) -> Limit:
        effort = self._settings.turn if state.street == _TURN else self._settings.river
        now = time.monotonic()
        share_s = budget.share_s(effort.share)
        last_s = min(budget.deadline_s - _LATE_S, now + _OVERRUN * share_s)
        return Limit(effort.iterations, now + share_s, last_s, budget.stopped)

    def _solve(
        self, question: Question, menu: Menu, spot: Spot, limit: Limit, useful: int, *, patient: bool
    ) -> Solved | None:
        """The answer, if the share of the time is enough for a useful number of iterations; `patient` overruns it."""
        subgame = self._built(question, question.menu(menu, spot.state), limit, patient=patient)
        if subgame is None:
            return None
        work = subgame.price.pairs + _PAIRS_PER_BOARD * subgame.price.boards * sum(map(len, subgame.hands))
        iteration_s, now = self._s_per_pair * work, time.monotonic()
        around_s = _BUILD_S[spot.state.street] + iteration_s
        last_s, share_s, useful_s = limit.last_s - around_s, limit.share_s - around_s, now + useful * iteration_s
        if last_s < now + iteration_s or (not patient and useful_s > min(share_s, last_s)):
            if patient:
                self._s_per_pair *= DOUBT
            return None
        solver = question.solver(subgame, self._settings.threads or None)
        begun = time.monotonic()
        solver.iterate()
        left_s = min(last_s, max(share_s, useful_s)) - time.monotonic()
        if limit.iterations > 1 and left_s > 0:
            solver.solve(iterations=limit.iterations - 1, seconds=left_s, stopped=limit.stopped)
        took_s = (time.monotonic() - begun) / solver.iterations
        self._s_per_pair = 0.5 * (self._s_per_pair + took_s / work)
        return Solved(question, solver)

    def _built(self, question: Question, menu: Menu, limit: Limit, *, patient: bool) -> Subgame | None:
        """The subgame, if its tree can be built in half of the time that is left."""
        begun = time.monotonic()
        left_s = (limit.last_s if patient else min(limit.last_s, limit.share_s)) - begun
        most = int(min(max(0.5 * self._nodes_per_s * left_s, 1), MOST_NODES))
        try:
            subgame = question.subgame(menu, self._settings.memory_mb << 20, max_nodes=most)
        except ForestError:
            if most == MOST_NODES:
                raise
            return None
        took_s = time.monotonic() - begun
        if took_s > 0:
            self._nodes_per_s = 0.5 * (self._nodes_per_s + sum(len(each.nodes) for each in subgame.forests) / took_s)
        return subgame

    def _answer(self, spot: Spot, solved: Solved, why: str) -> Policy:
        """The policy for every hand; one that our earlier play excludes checks or calls."""
        place = solved.place(spot.state, spot.board)
        assert place is not None  # the menu has all that was done since the root
        actions, strategy = solved.strategy(place)
        unknown = np.isnan(strategy).any(axis=0)
        strategy[:, unknown] = np.array([[float(action == CALL)] for action in actions])
        least = np.minimum(self._settings.least_probability, strategy.max(axis=0))
        strategy = np.where(strategy < least, 0.0, strategy) * alive(self._game, spot.board)
        subgame = solved.solver.subgame
        details = {
            "kind": solved.question.kind,
            "root": solved.question.root.betting,
            "menu": menu_text(subgame.menu),
            "pairs": subgame.price.pairs,
            **solved.quality(),
        }
        origin = Origin(self.route, why, solved.solver.iterations, details=json.dumps(details))
        return Policy(actions, round_columns(strategy), origin)


def _same(mine: Policy, played: Policy) -> bool:
    """Whether a policy that was played is the one that was answered, whatever was made of its weights and reason."""
    return mine is played or (
        mine.support == played.support
        and (mine.origin.iterations, mine.origin.details) == (played.origin.iterations, played.origin.details)
    )


def _without_last(state: State) -> State:
    """The state before the last action."""
    return replayed(state, len(state.actions) - 1)


def _after_first_bet(root: State, state: State, opponent: Position) -> State | None:
    """The state after the opponent's first action of a street, if it is a bet."""
    action = state.history[-1][:1]
    if root.actor == opponent and action and isinstance(action[0], Raise):
        return apply(root, action[0])
    return None
