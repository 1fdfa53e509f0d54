"""Depth-limited search: a street solved at the table, with a blueprint's continuations where the next one begins.

The rules (thesis 5.2 and 6.6; `solver.depth_limited` has the game that is solved, `blueprints.values.leaves` what its
leaves are worth):

- The subgame is the street from its start, before the flop the hand from its start, with both ranges as they were
  there. What was done since is in the tree as it was done, of whatever size.
- Our own earlier decisions of the street stay as we played them; everything else is solved anew, the opponent's
  actions before us too: what it did here is explained by what it would do here, not by the blueprint.
- The solve begins at the blueprint's strategy (`strategies.search.warm_start`).
- Iterations go on until the decision's share of time is used up, or their number is reached.

Before the flop subgames depend on the betting alone. They are kept (`strategies.search.solve_cache`), in memory and on
disk, and go on from where they were when the same betting comes again: an opponent that always opens with the same odd
size is answered better and better. What is learnt depends on the betting and on the number of iterations in all, not on
how they were spread over hands.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from blueprints.lookup import Lookup
from blueprints.shipped import tables_folder
from blueprints.values.leaves import StreetGame
from blueprints.values.rollouts import BIASES, Bias, Rollouts
from machine.cores import available_cores
from machine.errors import ConfigError, ParatusError
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import STREET_NAMES, Game
from protocol.hands import hand_classes_array, hands_of
from protocol.state import CALL, Action, State, apply, start
from solver.depth_limited import LimitedSolver
from solver.menu import Menu, menu_text, parse_menu
from strategies.draws import Draws
from strategies.players.blueprint import BlueprintLookup
from strategies.policy import Origin, Policy
from strategies.search.actions import with_played
from strategies.search.answer import answer
from strategies.search.leaf_values import Leaves
from strategies.search.memory import EarlierSolve, digest_of, policies_parts
from strategies.search.online import OnlineSearch
from strategies.search.ranges import (
    alive,
    base_likelihood,
    everyone,
    mean_by_class,
    narrowed,
    opponents_actions,
    our_range,
    street_start,
)
from strategies.search.settings import Chooser, LimitedSettings
from strategies.search.solve_cache import SolveCache
from strategies.search.stopping import Forecast, Limit
from strategies.search.warm_start import warm_start
from strategies.strategy import Budget, Decided, Spot

_PREFLOP, _RIVER = 0, 3
_SEARCHED: Final = STREET_NAMES[:_RIVER]
"""Those that another follows."""
_MAX_NODES: Final = 400
_LATE_S: Final = 0.03
"""How late an iteration may end, and what is kept for what else happens before the deadline."""
_READ_S: Final = 0.02
"""What building the game and reading a policy take."""
_NOT_BEFORE_THE_FLOP: Final = {
    *(*_SEARCHED, "threads", "keep", "kept", "floor", "leaves", "network", "exact_spr"),
}
"""Settings on which what is learnt there does not depend."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StreetPlan:
    """What a decision solves, but for the ranges."""

    root: State
    board: tuple[Card, ...]
    menu: Menu
    given: tuple[Decided, ...]
    """Our earlier decisions of the street."""


class SolvedStreet:
    """A street that has been solved."""

    def __init__(self, plan: StreetPlan, game: StreetGame, solver: LimitedSolver, begun: int) -> None:
        """`begun` is the number of iterations that the solve was taken to have when it began."""
        self.plan, self.game, self.solver, self._begun = plan, game, solver, begun

    @property
    def iterations(self) -> int:
        """Those that were done."""
        return self.solver.iterations - self._begun

    def strategy(self, state: State) -> tuple[tuple[Action, ...], F64] | None:
        """The actions at a decision of the street, and the average strategy [action, hand of the game]."""
        node = self.game.node(state.actions[len(self.plan.root.actions) :])
        if node is None:
            return None
        found = self.solver.strategy(node)
        if self.plan.root.street == _PREFLOP:
            found = found[:, hand_classes_array()]
        return self.game.nodes[node].actions, found

    def likelihood(self, state: State, action: Action) -> F64 | None:
        """[hand] how likely whoever acts takes an action; None if the tree has it not."""
        known = self.strategy(state)
        if known is None or action not in known[0]:
            return None
        likelihood: F64 = known[1][known[0].index(action)]
        return likelihood


class LimitedSearch(OnlineSearch[LimitedSettings, SolvedStreet]):
    """The strategy; see the head of this file."""

    name = route = "limited"
    solved_streets = range(_RIVER)

    def __init__(
        self, game: Game, settings: LimitedSettings, base: BlueprintLookup, streets: Sequence[str] = _SEARCHED
    ) -> None:
        """`streets` are those on which it will be asked."""
        super().__init__(game, settings, base)
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
        self._cache = SolveCache(folder if settings.keep else None)
        self._iterating = {number: Forecast(0.0) for number in range(_RIVER)}
        for street in streets:
            self._warm_up(_SEARCHED.index(street))

    def another(self) -> LimitedSearch:
        """For another match."""
        made = self._without_hands()
        made._iterating = {number: forecast.another() for number, forecast in self._iterating.items()}
        return made

    def identity(self) -> dict[str, str]:
        network = {"network": self._leaves.network.digest} if self._leaves.network is not None else {}
        return {**super().identity(), **network}

    def search(self, spot: Spot, budget: Budget, draws: Draws) -> Policy | str:
        """The policy by a search of the street, or why there is none."""
        reserve_s = _LATE_S + _READ_S + self._leaves.late_s(street_start(spot.state), spot.board)
        if budget.left_s < reserve_s:
            return "no time to build the game"
        limit = Limit.of(self._settings.effort(spot.state.street), budget, reserve_s)
        solved = self._solve(spot, self._menu, limit, budget, draws)
        if not solved.iterations:
            return "no time for an iteration"
        return self._memory.remember(spot, self._answer(spot, solved), solved.plan.menu, solved)

    def their_range(self, spot: Spot, street: int, budget: Budget, draws: Draws) -> F64:
        """By the searches of the streets before, or by the blueprint where there was none."""
        weights, floor = everyone(self._game), self._settings.floor
        for number in range(street):
            solved = self._last_of(spot, number, budget, draws)
            for state, action in opponents_actions(spot, number, number + 1):
                known = solved.likelihood(state, action) if solved else None
                if known is None:
                    known = base_likelihood(self._base, spot, state, action, budget, draws)
                weights = narrowed(weights, known, floor, spot.hand, state, action)
        return weights

    def _last_of(self, spot: Spot, street: int, budget: Budget, draws: Draws) -> SolvedStreet | None:
        """The last search of an earlier street of the hand."""

        def again(earlier: EarlierSolve, known: SolvedStreet | None) -> SolvedStreet:
            return self._solve(earlier.spot, earlier.menu, Limit.again(earlier.iterations, budget), budget, draws)

        decisions = [decided for decided in self._memory.decisions(spot) if decided.state.street == street]
        return self._memory.recall(spot, decisions[-1:], budget, again)

    # Solving

    def _solve(self, spot: Spot, menu: Menu, limit: Limit, budget: Budget, draws: Draws) -> SolvedStreet:
        """The decision's street, as far as the limit allows; `budget` is for what must be solved again before that."""
        plan, street = self._plan(spot, menu), spot.state.street
        game = StreetGame.of(plan.root, plan.menu, max_nodes=_MAX_NODES)
        theirs = self.their_range(spot, street, budget, draws) * alive(self._game, plan.board)
        ours = our_range(replace(spot, board=plan.board), plan.root)
        by_hand = (ours, theirs) if spot.position == 0 else (theirs, ours)
        key = self._key(plan, spot) if street == _PREFLOP else ""
        seed = int(key[:16], 16) if key else draws.of_hand(f"run-outs {spot.state.betting}").word()
        chosen = self._continuations(spot.position)
        leaves = self._leaves.make(game, plan.board, chosen, seed)
        ranges = tuple(mean_by_class(np.stack(by_hand))) if street == _PREFLOP else by_hand
        solver = LimitedSolver(game.tree(chosen), ranges, leaves, given=self._given(game, plan))
        warm_start(solver, game, plan.board, by_hand, self._lookup, self._settings)
        self._go_on(solver, key)
        solved = SolvedStreet(plan, game, solver, self._settings.begin_iterations)
        first = solved.iterations
        leaves.iteration = first
        begun, forecast = time.monotonic(), self._iterating[street]
        solver.solve(limit.iterations - first, limit.last_s, forecast.needed_s(), limit.stopped)
        done = solved.iterations - first
        if done:
            forecast.learn(time.monotonic() - begun, done)
            if key:
                self._cache.save(key, solver.state())
        else:
            forecast.doubt()
        return solved

    def _key(self, plan: StreetPlan, spot: Spot) -> str:
        """Names what is solved before the flop, where nothing but the betting and our own play matters."""
        settings = self._settings.model_dump_json(exclude=_NOT_BEFORE_THE_FLOP)
        played = policies_parts([decided.policy for decided in plan.given])
        blueprint = self._lookup.blueprint.digest
        return digest_of(blueprint, settings, menu_text(plan.menu), str(spot.position), spot.state.betting, *played)

    def _go_on(self, solver: LimitedSolver, key: str) -> None:
        """From where it was when the same was solved before."""
        known = self._cache.load(key) if key else None
        if known is not None:
            try:
                solver.restore(known)
            except ParatusError as error:
                _log.warning("kept solve %s: %s", key, error)

    def _plan(self, spot: Spot, menu: Menu) -> StreetPlan:
        """The tree of a decision: the menu, with all that was done, and all that we might have done."""
        root = street_start(spot.state)
        given = tuple([decided for decided in spot.past if decided.state.street == root.street])
        board = spot.board[: self._game.board_cards_by(root.street)]
        return StreetPlan(root, board, with_played(menu, root, spot.state, given), given)

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

    def _given(self, game: StreetGame, plan: StreetPlan) -> dict[int, F64]:
        """Our earlier decisions of the street: nodes, and what we did with every hand."""
        found = {}
        for decided in plan.given:
            node = game.node(decided.state.actions[len(plan.root.actions) :])
            if node is None:
                continue
            size = len(hands_of(self._game))
            rows = [np.broadcast_to(decided.policy.likelihood(action), size) for action in game.nodes[node].actions]
            played = np.array(rows, np.float64)
            found[node] = mean_by_class(played) if game.street == _PREFLOP else played
        return found

    def _answer(self, spot: Spot, solved: SolvedStreet) -> Policy:
        known = solved.strategy(spot.state)
        assert known is not None  # the menu has all that was done since the root
        root, game = solved.plan.root, solved.game
        model = self._lookup.blueprint.digest
        origin = Origin(self.route, f"from the start of street {root.street}", solved.iterations, model).with_notes(
            root=root.betting, decisions=len(game.nodes), ends=len(game.ends)
        )
        return answer(spot, *known, self._settings.least_probability, origin)

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
        self._iterating[street] = Forecast(time.monotonic() - begun)
