"""Depth-limited search: a street solved at the table, with a blueprint's continuations where the next one begins.

The rules (thesis 5.2 and 6.6; `solver.depth_limited` has the game that is solved, `blueprints.values.leaves` what its
leaves are worth):

- The subgame is the street from its start, before the flop the hand from its start, with both ranges as they were
  there. What was done since is in the tree as it was done, of whatever size.
- Our own earlier decisions of the street stay as we played them; everything else is solved anew, the opponent's
  actions before us too: what it did here is explained by what it would do here, not by the blueprint.
- The solve begins at the blueprint's strategy, as if that had been played for some iterations, so that there is an
  answer at every moment: with no time it is the blueprint's, and with more it is more and more the search's own. A
  size that the blueprint does not have begins with a part of what the sizes around it have.
- Iterations go on until the decision's share of time is used up, or their number is reached.

Before the flop subgames depend on the betting alone. They are kept, in memory and on disk, and go on from where they
were when the same betting comes again: an opponent that always opens with the same odd size is answered better and
better (`strategies.search.kept`). What is learnt depends on the betting and on the number of iterations in all, not on
how they were spread over hands.
"""

from __future__ import annotations

import copy
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from blueprints.lookup import Lookup
from blueprints.shipped import tables_folder
from blueprints.translation import fraction, smaller_probability
from blueprints.values.leaves import StreetGame
from blueprints.values.rollouts import BIASES, Bias, Rollouts
from machine.cores import available_cores
from machine.errors import ConfigError, ParatusError
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import STREET_NAMES, Game
from protocol.hands import NUM_CLASSES, hand_classes_array, hands_of
from protocol.state import CALL, Action, Raise, State, apply, start
from solver.deals import opposing_weights
from solver.depth_limited import LimitedSolver
from solver.menu import Menu, menu_text, parse_menu
from strategies.baselines import check_or_fold
from strategies.blueprint import BlueprintLookup
from strategies.draws import Draws
from strategies.policy import Origin, Policy, round_columns, support_text
from strategies.search.kept import Kept, key_of
from strategies.search.leaves import Leaves
from strategies.search.ranges import (
    alive,
    base_likelihood,
    everyone,
    narrowed,
    opponents_actions,
    our_range,
    street_start,
)
from strategies.search.settings import DOUBT, Chooser, Effort, LimitedSettings
from strategies.strategy import Budget, Decided, Spot
from strategies.suitable import check_searchable

_PREFLOP, _RIVER = 0, 3
STREETS: Final = STREET_NAMES[:_RIVER]
"""Those that another follows, which can be searched."""
_MAX_NODES: Final = 400
_LATE_S: Final = 0.03
"""How late an iteration may end, and what is kept for what else happens before the deadline."""
_READ_S: Final = 0.02
"""What building the game and reading a policy take."""
_EVEN: Final = 0.5
_NOT_BEFORE_THE_FLOP: Final = {
    *(*STREETS, "threads", "keep", "kept", "floor", "leaves", "network", "exact_spr"),
}
"""Settings on which what is learnt there does not depend."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a decision solves, but for the ranges: enough to do it again."""

    root: State
    board: tuple[Card, ...]
    menu: Menu
    given: tuple[Decided, ...]
    """Our earlier decisions of the street."""


class Street:
    """A street that has been solved."""

    def __init__(self, game: StreetGame, solver: LimitedSolver, root: State) -> None:
        self.game, self.solver, self.root = game, solver, root

    def strategy(self, state: State) -> tuple[tuple[Action, ...], F64] | None:
        """The actions at a decision of the street, and the average strategy [action, hand of the game]."""
        node = self.game.node(state.actions[len(self.root.actions) :])
        if node is None:
            return None
        found = self.solver.strategy(node)
        if self.root.street == _PREFLOP:
            found = found[:, hand_classes_array()]
        return self.game.nodes[node].actions, found

    def likelihood(self, state: State, action: Action) -> F64 | None:
        """[hand] how likely whoever acts takes an action; None if the tree has it not."""
        known = self.strategy(state)
        if known is None or action not in known[0]:
            return None
        likelihood: F64 = known[1][known[0].index(action)]
        return likelihood


class LimitedSearch:
    """The strategy; see the head of this file."""

    name = route = "limited"

    def __init__(
        self, game: Game, settings: LimitedSettings, base: BlueprintLookup, streets: Sequence[str] = STREETS
    ) -> None:
        """`streets` are those on which it will be asked."""
        check_searchable(self.name, game)
        self._game, self._settings, self._base = game, settings, base
        self._lookup: Lookup = base.lookup
        blueprint = self._lookup.blueprint
        factor = settings.bias_factor
        every = (BIASES[0], Bias(fold=factor), Bias(call=factor), Bias(raises=factor))
        count = 1 if settings.chooser is Chooser.NOBODY else settings.continuations
        threads = settings.threads or available_cores()
        strategies = [blueprint.strategy(street) for street in range(game.num_rounds)]
        self._rollouts = Rollouts(
            game, blueprint.tree, self._lookup.cards, strategies, biases=every[:count], threads=threads
        )
        self._leaves = Leaves(settings, self._lookup, self._rollouts, threads)
        self._menu = parse_menu(settings.menu) if settings.menu else blueprint.settings.load_menu()
        folder = Path(settings.kept) if settings.kept else tables_folder() / "preflop"
        self._kept = Kept(folder if settings.keep else None)
        self._iteration_s = dict.fromkeys(range(len(STREETS)), 0.0)
        self._hand: tuple[int, int] | None = None
        self._streets: dict[str, Street] = {}
        for street in streets:
            self._warm_up(STREETS.index(street))

    def another(self) -> LimitedSearch:
        """For another match."""
        made = copy.copy(self)
        made._hand, made._streets, made._iteration_s = None, {}, dict(self._iteration_s)
        return made

    def identity(self) -> dict[str, str]:
        base = {f"base {key}": value for key, value in self._base.identity().items()}
        if self._leaves.network is not None:
            base["network"] = self._leaves.network.digest
        return {"kind": self.route, "settings": self._settings.model_dump_json(), **base}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        if spot.state.street >= _RIVER:
            return self._base.policy(spot, budget, draws)
        found = self.search(spot, budget, draws)
        return check_or_fold(spot.state, found) if isinstance(found, str) else found

    def search(self, spot: Spot, budget: Budget, draws: Draws) -> Policy | str:
        """The policy by a search of the street, or why there is none."""
        self._forget_other_hands(spot)
        effort: Effort = getattr(self._settings, STREETS[spot.state.street])
        now = time.monotonic()
        late_s = self._leaves.late_s(street_start(spot.state), spot.board)
        last_s = budget.deadline_s - _LATE_S - _READ_S - late_s
        until_s = min(last_s, now + budget.share_s(effort.share))
        if last_s < now:
            return "no time to build the game"
        street, plan = self._solve(spot, budget, draws, effort.iterations, until_s)
        if street.solver.iterations == self._settings.begin_iterations:
            return "no time for an iteration"
        self._streets[spot.state.betting] = street
        return self._answer(spot, street, plan)

    def their_range(self, spot: Spot, street: int, budget: Budget, draws: Draws) -> F64:
        """By the searches of the streets before, or by the blueprint where there was none."""
        self._forget_other_hands(spot)
        weights, floor = everyone(self._game), self._settings.floor
        for number in range(street):
            solved = self._last_of(spot, number, budget, draws)
            for state, action in opponents_actions(spot, number, number + 1):
                known = solved.likelihood(state, action) if solved else None
                if known is None:
                    known = base_likelihood(self._base, spot, state, action, budget, draws)
                weights = narrowed(weights, known, floor, spot.hand, state, action)
        return weights

    # What came before

    def _forget_other_hands(self, spot: Spot) -> None:
        if self._hand != (spot.hand, spot.position):
            self._hand, self._streets = (spot.hand, spot.position), {}

    def _last_of(self, spot: Spot, number: int, budget: Budget, draws: Draws) -> Street | None:
        """The last search of an earlier street of the hand, done again if it is not known any more."""
        searched = [
            decided
            for decided in spot.past
            if decided.policy.origin.route == self.route and decided.state.street == number
        ]
        if not searched:
            return None
        last = searched[-1]
        if last.state.betting not in self._streets:
            board = spot.board[: self._game.board_cards_by(number)]
            before = replace(spot, state=last.state, board=board, past=spot.past[: spot.past.index(last)])
            until_s = time.monotonic() + 0.5 * budget.left_s
            iterations = last.policy.origin.iterations
            self._streets[last.state.betting] = self._solve(before, budget, draws, iterations, until_s)[0]
        return self._streets[last.state.betting]

    # Solving

    def _solve(self, spot: Spot, budget: Budget, draws: Draws, iterations: int, until_s: float) -> tuple[Street, Plan]:
        """Of the decision's street, up to so many iterations in all."""
        plan, street = self._plan(spot), spot.state.street
        game = StreetGame.of(plan.root, plan.menu, max_nodes=_MAX_NODES)
        theirs = self.their_range(spot, street, budget, draws) * alive(self._game, plan.board)
        ours = our_range(replace(spot, board=plan.board), plan.root)
        by_hand = (ours, theirs) if spot.position == 0 else (theirs, ours)
        key = self._key(plan, spot) if street == _PREFLOP else ""
        seed = int(key[:16], 16) if key else draws.of_hand(f"run-outs {spot.state.betting}").word()
        chosen = self._continuations(spot.position)
        leaves = self._leaves.make(game, plan.board, chosen, seed)
        ranges = (_by_class(by_hand[0]), _by_class(by_hand[1])) if street == _PREFLOP else by_hand
        solver = LimitedSolver(game.tree(chosen), ranges, leaves, given=self._given(game, plan))
        self._begin(solver, game, plan, by_hand)
        first = self._go_on(solver, key)
        leaves.iteration = first - self._settings.begin_iterations
        begun = time.monotonic()
        solver.solve(iterations - leaves.iteration, until_s, self._iteration_s[street], budget.stopped)
        done = solver.iterations - first
        if done:
            measured = (time.monotonic() - begun) / done
            self._iteration_s[street] = 0.5 * (self._iteration_s[street] + measured)
            if key:
                self._kept.save(key, solver.state())
        else:  # perhaps it only was slow once: without a doubt nothing would ever be measured again
            self._iteration_s[street] *= DOUBT
        return Street(game, solver, plan.root), plan

    def _key(self, plan: Plan, spot: Spot) -> str:
        """Names what is solved before the flop, where nothing but the betting and our own play matters."""
        settings = self._settings.model_dump_json(exclude=_NOT_BEFORE_THE_FLOP)
        played = [decided.policy for decided in plan.given]
        ours = [part for policy in played for part in (support_text(policy.support), policy.weights.tobytes())]
        blueprint = self._lookup.blueprint.digest
        return key_of(blueprint, settings, menu_text(plan.menu), str(spot.position), spot.state.betting, *ours)

    def _go_on(self, solver: LimitedSolver, key: str) -> int:
        """From what was kept, if anything was; returns the iterations that are done."""
        known = self._kept.load(key) if key else None
        if known is not None:
            try:
                solver.restore(known)
            except ParatusError as error:
                _log.warning("kept solve %s: %s", key, error)
        return solver.iterations

    def _plan(self, spot: Spot) -> Plan:
        """The tree of a decision: the menu, with all that was done, and all that we might have done."""
        root = street_start(spot.state)
        given = tuple([decided for decided in spot.past if decided.state.street == root.street])
        menu, here = self._menu, root
        for action in spot.state.actions[len(root.actions) :]:
            ours = [decided.policy.support for decided in given if decided.state.betting == here.betting]
            wanted = {each.to for support in ours for each in support if isinstance(each, Raise)}
            wanted |= {action.to} if isinstance(action, Raise) else set()
            offered = menu.actions(here)
            for to in sorted(wanted):
                if Raise(to) not in offered:
                    menu = menu.with_bet(here.betting, to)
            here = apply(here, action)
        return Plan(root, spot.board[: self._game.board_cards_by(root.street)], menu, given)

    def _continuations(self, position: int) -> tuple[int, int]:
        """How many continuations each player chooses from."""
        count = len(self._rollouts.biases)
        match self._settings.chooser:
            case Chooser.BOTH:
                return count, count
            case Chooser.OPPONENT:
                return (1, count) if position == 0 else (count, 1)
            case Chooser.NOBODY:
                return 1, 1

    def _given(self, game: StreetGame, plan: Plan) -> dict[int, F64]:
        """Our earlier decisions of the street: nodes, and what we did with every hand."""
        found = {}
        for decided in plan.given:
            node = game.node(decided.state.actions[len(plan.root.actions) :])
            if node is None:
                continue
            size = len(hands_of(self._game))
            rows = [np.broadcast_to(decided.policy.likelihood(action), size) for action in game.nodes[node].actions]
            played = np.array(rows, np.float64)
            found[node] = _mean_by_class(played) if game.street == _PREFLOP else played
        return found

    def _begin(self, solver: LimitedSolver, game: StreetGame, plan: Plan, by_hand: tuple[F64, F64]) -> None:
        """At the blueprint's strategy."""
        if not self._settings.begin_iterations:
            return
        strategies = {node: self._blueprint_strategy(game, node, plan.board) for node in range(len(game.nodes))}
        hands = hands_of(self._game)
        relative = [each / each.max() for each in by_hand]
        weight = self._settings.begin_weight * plan.root.pot
        against = (
            weight * opposing_weights(hands, hands, relative[1]),
            weight * opposing_weights(hands, hands, relative[0]),
        )
        if game.street == _PREFLOP:
            strategies = {node: _mean_by_class(each) for node, each in strategies.items()}
            against = _mean_by_class(against[0][None])[0], _mean_by_class(against[1][None])[0]
        solver.begin(strategies, self._settings.begin_iterations, against)

    def _blueprint_strategy(self, game: StreetGame, number: int, board: Sequence[Card]) -> F64:
        """[action, hand] what the blueprint does at a node, with its sizes as those of the tree."""
        node = game.nodes[number]
        found = self._lookup.policy(node.state, board, lambda place: _EVEN)
        strategy = np.zeros((len(node.actions), len(hands_of(self._game))))
        if found is None:
            strategy[node.actions.index(CALL)] = 1.0
            return strategy
        for action, shares in zip(found.actions, found.probabilities, strict=True):
            strategy[_nearest(node.actions, action)] += shares
        known = [action for action in found.actions if action in node.actions]
        _spread(strategy, node.state, node.actions, known)
        return strategy

    def _answer(self, spot: Spot, street: Street, plan: Plan) -> Policy:
        known = street.strategy(spot.state)
        assert known is not None  # the menu has all that was done since the root
        actions, strategy = known
        least = np.minimum(self._settings.least_probability, strategy.max(axis=0))
        strategy = np.where(strategy < least, 0.0, strategy) * alive(self._game, spot.board)
        iterations = street.solver.iterations - self._settings.begin_iterations
        details = {
            "root": plan.root.betting,
            "menu": menu_text(plan.menu),
            "decisions": len(street.game.nodes),
            "ends": len(street.game.ends),
        }
        why = f"from the start of street {plan.root.street}"
        origin = Origin(self.route, why, iterations, self._lookup.blueprint.digest, json.dumps(details))
        return Policy(actions, round_columns(strategy), origin)

    def _warm_up(self, street: int) -> None:
        """Everything compiled, and an iteration timed."""
        state = start(self._game)
        while state.street < street:
            state = apply(state, CALL)
        board = tuple(self._game.deck()[: self._game.board_cards_by(street)])
        try:
            game = StreetGame.of(state, self._menu, max_nodes=_MAX_NODES)
        except ParatusError as error:
            raise ConfigError(f"limited.menu: {error}") from None
        chosen = self._continuations(0)
        leaves = self._leaves.make(game, board, chosen, 0)
        ranges = np.ones(leaves.hands)
        solver = LimitedSolver(game.tree(chosen), (ranges, ranges), leaves)
        solver.iterate()
        begun = time.monotonic()
        solver.iterate()
        self._iteration_s[street] = time.monotonic() - begun


def _nearest(actions: Sequence[Action], action: Action) -> int:
    """The place of an action, or of the raise nearest to it; a raise where there is none is a call."""
    if action in actions:
        return actions.index(action)
    if not isinstance(action, Raise):
        return actions.index(CALL)
    sizes = [(abs(each.to - action.to), place) for place, each in enumerate(actions) if isinstance(each, Raise)]
    return min(sizes)[1] if sizes else actions.index(CALL)


def _spread(strategy: F64, state: State, actions: Sequence[Action], known: Sequence[Action]) -> None:
    """Give sizes that the blueprint does not have half of what the mapping takes from the sizes around them."""
    assert state.actor is not None
    sizes = {
        action: fraction(action.to, state.committed, state.actor) for action in actions if isinstance(action, Raise)
    }
    there = sorted((size, action) for action, size in sizes.items() if action in known)
    for action, size in sizes.items():
        if action in known:
            continue
        below = [each for each in there if each[0] < size][-1:]
        above = [each for each in there if each[0] > size][:1]
        share = smaller_probability(below[0][0], size, above[0][0]) if below and above else 1.0
        for (_, neighbour), part in ((each, share) for each in below):
            _move(strategy, actions, neighbour, action, _EVEN * part)
        for (_, neighbour), part in ((each, 1 - share if below else 1.0) for each in above):
            _move(strategy, actions, neighbour, action, _EVEN * part)


def _move(strategy: F64, actions: Sequence[Action], source: Action, target: Action, part: float) -> None:
    taken = part * strategy[actions.index(source)]
    strategy[actions.index(source)] -= taken
    strategy[actions.index(target)] += taken


def _by_class(weights: F64) -> F64:
    mean: F64 = _mean_by_class(weights[None])[0]
    return mean


def _mean_by_class(rows: F64) -> F64:
    """[any, hand] to [any, class], the mean of its hands."""
    classes = hand_classes_array()
    sums = np.stack([np.bincount(classes, row, NUM_CLASSES) for row in rows])
    means: F64 = sums / np.bincount(classes, minlength=NUM_CLASSES)
    return means
