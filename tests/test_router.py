"""Agent `paratus`: which strategy decides where, what replaces it, and what comes last before a policy is logged."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from agents import QUICK, agent_of, over_a_blueprint
from blueprint_files import HOLDEM, settings_for

from machine.errors import ConfigError
from protocol.cards import parse_cards
from protocol.game import Position, load_game
from protocol.state import start
from protocol.wire import read_betting
from strategies.draws import Draws
from strategies.players.blueprint import BlueprintLookup
from strategies.players.processing import processed
from strategies.players.router import Router
from strategies.policy import SCALE, Policy, check_policy
from strategies.registry import check_agent, opener
from strategies.search.nested import NestedSearch
from strategies.settings import RouterSettings
from strategies.strategy import Budget, Decided, Spot

BOARD = parse_cards("Ks7h2d5c9s")


def router(**changes: Any) -> Router:
    settings = QUICK.model_copy(update={"blueprint": settings_for(HOLDEM), "router": RouterSettings(**changes)})
    return Router(HOLDEM, settings, BlueprintLookup(HOLDEM, settings.blueprint))


@pytest.fixture(scope="module")
def paratus() -> Router:
    return router()


def ample() -> Budget:
    return Budget(time.monotonic() + 600.0, 600.0)


def spot(betting: str, past: tuple[Decided, ...] = (), hand: int = 0) -> Spot:
    state = read_betting(start(HOLDEM), betting)
    assert state.actor is not None
    return Spot(hand, Position(state.actor), state, BOARD[: HOLDEM.board_cards_by(state.street)], past)


def draws(of: Spot) -> Draws:
    return Draws(3, "router", of.hand, len(of.state.actions), "strategy")


def ask(strategy: Router, betting: str, budget: Budget | None = None) -> Policy:
    asked = spot(betting)
    policy = strategy.policy(asked, budget or ample(), draws(asked))
    check_policy(policy, asked.state, asked.board)
    return policy


TABLE = {
    "": ("blueprint", "preflop, in the tree"),
    "r250": ("blueprint", "preflop, in the tree"),
    "r237": ("limited", "preflop, not in the tree"),
    "r250r777": ("limited", "preflop, not in the tree"),
    "r250c/": ("limited", "flop"),
    "r250c/r450": ("limited", "flop"),
    "r237c/": ("limited", "flop"),
    "r250c/cc/": ("nested", "turn"),
    "r250c/cc/r500": ("nested", "turn"),
    "r250c/cc/cc/": ("nested", "river"),
    "r250c/cc/cc/r20000": ("nested", "river"),
}


@pytest.mark.parametrize("betting", TABLE)
def test_the_table(paratus: Router, betting: str) -> None:
    route, reason = TABLE[betting]
    policy = ask(paratus, betting)
    assert policy.origin.route == route
    assert policy.origin.reason.split(";")[0] == reason
    assert not policy.origin.is_fallback


def test_the_table_is_configuration() -> None:
    plain = router(preflop="blueprint", flop="blueprint", turn="blueprint", river="nested")
    assert [ask(plain, betting).origin.route for betting in ("r237", "r250c/", "r250c/cc/", "r250c/cc/cc/")] == [
        "blueprint", "blueprint", "blueprint", "nested",
    ]  # fmt: skip
    assert plain.identity()["router"] != router().identity()["router"]


def test_the_turn_may_be_searched_to_its_end_alone() -> None:
    """The river's search then begins with what the turn's says of the opponent."""
    strategy = router(turn="limited")
    turn = spot("r250c/cc/")
    policy = strategy.policy(turn, ample(), draws(turn))
    assert policy.origin.route == "limited"
    assert policy.origin.reason.startswith("turn")
    river = spot("r250c/cc/cr500c/", (Decided(turn.state, policy),))
    limited, nested = strategy._searches["limited"], strategy._searches["nested"]
    theirs = limited.their_range(river, 3, ample(), draws(river))  # type: ignore[attr-defined]
    policy = strategy.policy(river, ample(), draws(river))
    assert policy.origin.route == "nested"
    question = nested._memory.of(policy).last.question  # type: ignore[attr-defined]
    live = np.array([weight > 0 for weight in question.ranges[0]])
    np.testing.assert_allclose(question.ranges[1][live], theirs[live])
    assert np.ptp(theirs[live]) > 0.5


def test_routes_that_there_are_not_are_refused() -> None:
    with pytest.raises(ValueError, match="nested"):
        RouterSettings(flop="nested")  # type: ignore[arg-type]


def test_without_time_the_blueprint_answers_and_is_counted(paratus: Router) -> None:
    for betting in ("r237", "r250c/", "r250c/cc/", "r250c/cc/cc/"):
        policy = ask(paratus, betting, Budget(time.monotonic(), 0.0))
        assert policy.origin.route == "fallback/blueprint"
        assert policy.origin.is_fallback
        assert policy.origin.reason.startswith("no ")
        assert len(policy.weights[0]) == 1326


def test_whatever_a_search_raises_the_blueprint_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = router()

    def fail(*arguments: object) -> Policy:
        raise ZeroDivisionError("as if")

    for search in broken._searches.values():
        monkeypatch.setattr(search, "search", fail)
    for betting in ("r250c/", "r250c/cc/"):
        policy = ask(broken, betting)
        assert policy.origin.route == "fallback/blueprint"
        assert policy.origin.reason.endswith("ZeroDivisionError: as if")


def test_the_blueprint_answers_at_once_when_it_is_late(paratus: Router) -> None:
    asked = spot("r250c/cc/")
    late = opener().late("paratus", HOLDEM, over_a_blueprint(HOLDEM))
    assert isinstance(late, BlueprintLookup)
    policy = agent_of(paratus, HOLDEM, on_loop=False, late=late).stand_in(asked, draws(asked), "late")
    check_policy(policy, asked.state, asked.board)
    assert (policy.origin.route, policy.origin.reason) == ("fallback/blueprint", "late")


def test_ranges_stay_whole_across_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn's search is given what the flop's says of the opponent, and our logged policies."""
    strategy, past = router(), []
    for betting in ("r250", "r250c/", "r250c/cr500"):
        asked = spot(betting, tuple(past))
        past.append(Decided(asked.state, strategy.policy(asked, ample(), draws(asked))))
    turn = spot("r250c/cr500c/", tuple(past))
    limited, nested = strategy._searches["limited"], strategy._searches["nested"]
    theirs = limited.their_range(turn, 2, ample(), draws(turn))  # type: ignore[attr-defined]
    policy = strategy.policy(turn, ample(), draws(turn))
    question = nested._memory.of(policy).last.question  # type: ignore[attr-defined]
    live = np.array([weight > 0 for weight in question.ranges[0]])
    np.testing.assert_allclose(question.ranges[1][live], theirs[live])
    ours = np.ones(1326)
    for decided, action in zip(past, ("c", "c", "c"), strict=True):
        assert action == "c"
        ours = ours * decided.policy.likelihood(turn.state.actions[len(decided.state.actions)])
    np.testing.assert_allclose(question.ranges[0][live], ours[live])


# --- What comes last --------------------------------------------------------------------------------------------------


def some_weights(seed: int) -> np.ndarray[Any, Any]:
    from strategies.policy import round_columns

    shares = np.random.default_rng(seed).dirichlet([0.3, 0.5, 0.2], 50).T
    shares[:, 7] = 0
    return round_columns(shares)


def test_nothing_is_changed_unless_asked_for() -> None:
    weights = some_weights(1)
    assert processed(weights, threshold=0.0, purify=False) is weights


def test_purification_leaves_each_hand_its_likeliest_action() -> None:
    weights = some_weights(2)
    found = processed(weights, threshold=0.0, purify=True)
    assert not found[:, 7].any()
    others = np.delete(np.arange(50), 7)
    assert (np.sort(found[:, others], axis=0)[-1] == SCALE).all()
    assert (found[:, others].argmax(axis=0) == weights[:, others].argmax(axis=0)).all()


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.49])
def test_thresholds_take_away_what_is_below_and_keep_proportions(threshold: float) -> None:
    weights = some_weights(3)
    found = processed(weights, threshold=threshold, purify=False)
    for hand in range(50):
        before, after = weights[:, hand] / SCALE, found[:, hand] / SCALE
        kept = (before >= threshold) | (before == before.max())
        expected = np.where(kept, before, 0) / max(before[kept].sum(), 1e-9) if before.any() else before
        np.testing.assert_allclose(after, expected, atol=2 / SCALE)


def test_what_is_logged_is_what_came_last() -> None:
    plain, pure = ask(router(), "r250c/"), ask(router(purify=True), "r250c/")
    assert plain.support == pure.support
    live = plain.weights.any(axis=0)
    assert set(np.unique(pure.weights).tolist()) <= {0, SCALE}
    assert (pure.weights.argmax(axis=0)[live] == plain.weights.argmax(axis=0)[live]).all()


def test_other_games_are_refused() -> None:
    with pytest.raises(ConfigError, match="agent paratus plays heads-up no-limit hold'em, not leduc"):
        check_agent("paratus", load_game("leduc").game)


@pytest.mark.parametrize("changes", [{}, {"threshold": 0.1}, {"purify": True}])
def test_a_hand_goes_on_without_solving_again(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The river goes on from the turn's solve, whatever was done to the turn's policy before it was played."""
    strategy, solves = router(**changes), []
    nested = strategy._searches["nested"]
    assert isinstance(nested, NestedSearch)
    solve = nested._solve
    monkeypatch.setattr(nested, "_solve", lambda *given, **how: (solves.append(given[2]), solve(*given, **how))[1])
    turn = spot("r250c/cc/")
    policy = strategy.policy(turn, ample(), draws(turn))
    assert policy.origin.route == "nested"
    assert len(solves) == 1
    river = spot("r250c/cc/cc/", (Decided(turn.state, policy),))
    strategy.policy(river, ample(), draws(river))
    assert [asked.state.street for asked in solves] == [2, 3]
    again = router(**changes)  # another process: it has to solve the turn first
    fresh = again._searches["nested"]
    assert isinstance(fresh, NestedSearch)
    solves.clear()
    anew = fresh._solve
    monkeypatch.setattr(fresh, "_solve", lambda *given, **how: (solves.append(given[2]), anew(*given, **how))[1])
    again.policy(river, ample(), draws(river))
    assert [asked.state.street for asked in solves] == [2, 3]


def test_no_tree_without_bets_in_the_default_agent(paratus: Router) -> None:
    nested = paratus._searches["nested"]
    assert isinstance(nested, NestedSearch)
    assert nested._settings.coarser
    assert "-" not in nested._settings.coarser
