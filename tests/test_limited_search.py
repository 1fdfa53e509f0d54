"""Depth-limited search as a strategy: what it solves, keeps fixed, keeps on disk, and says of the opponent's range."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blueprint_files import HOLDEM, settings_for

from machine.errors import ConfigError
from protocol.cards import Card, parse_cards
from protocol.game import Position, load_game
from protocol.hands import hand_classes_array
from protocol.state import CALL, Raise, start
from protocol.wire import read_betting
from strategies.draws import Draws
from strategies.players.blueprint import BlueprintLookup
from strategies.policy import Policy, check_policy
from strategies.search.depth_limited import LimitedSearch, SolvedStreet
from strategies.search.ranges import street_start
from strategies.search.settings import Chooser, Effort, LimitedSettings
from strategies.strategy import Budget, Decided, Spot

BOARD = parse_cards("Ks7h2d5c9s")
BIG, SMALL = Position(0), Position(1)


def settings(preflop: int = 3, flop: int = 12, **changes: Any) -> LimitedSettings:
    values: dict[str, Any] = {
        "preflop": Effort(iterations=preflop, share=1.0),
        "flop": Effort(iterations=flop, share=1.0),
        "threads": 1,
        "keep": False,
    }
    return LimitedSettings(**(values | changes))


@pytest.fixture(scope="module")
def base() -> BlueprintLookup:
    return BlueprintLookup(HOLDEM, settings_for(HOLDEM))


@pytest.fixture(scope="module")
def search(base: BlueprintLookup) -> LimitedSearch:
    return LimitedSearch(HOLDEM, settings(), base)


def ample() -> Budget:
    return Budget(deadline_s=time.monotonic() + 600.0, fair_share_s=600.0)


@dataclass(slots=True)
class Seat:
    """A player of one hand, asked as a session asks."""

    strategy: LimitedSearch
    position: Position
    hand: int = 0
    board: tuple[Card, ...] = BOARD
    past: list[Decided] = field(default_factory=list)

    def spot(self, betting: str) -> Spot:
        state = read_betting(start(HOLDEM), betting)
        shown = self.board[: HOLDEM.board_cards_by(state.street)]
        return Spot(self.hand, self.position, state, shown, tuple(self.past))

    def draws(self, spot: Spot) -> Draws:
        return Draws(7, "limited", spot.hand, len(spot.state.actions), "strategy")

    def ask(self, betting: str) -> Policy:
        spot = self.spot(betting)
        assert spot.state.actor == self.position
        policy = self.strategy.search(spot, ample(), self.draws(spot))
        assert isinstance(policy, Policy), policy
        check_policy(policy, spot.state, spot.board)
        self.past.append(Decided(spot.state, policy))
        return policy

    def solved(self) -> SolvedStreet:
        known = self.strategy._memory.of(self.past[-1].policy)
        assert known is not None
        return known

    def theirs(self, betting: str, street: int) -> np.ndarray[Any, Any]:
        spot = self.spot(betting)
        return self.strategy.their_range(spot, street, ample(), self.draws(spot))


def same(one: Policy, two: Policy) -> bool:
    return one.support == two.support and one.weights.tobytes() == two.weights.tobytes() and one.origin == two.origin


# --- What is solved ---------------------------------------------------------------------------------------------------


def test_the_flop_is_solved_from_its_start_with_both_ranges(search: LimitedSearch, base: BlueprintLookup) -> None:
    seat = Seat(search, BIG)
    before = base.policy(seat.spot("r250"), ample(), seat.draws(seat.spot("r250")))
    seat.past.append(Decided(seat.spot("r250").state, before))
    policy = seat.ask("r250c/")
    street = seat.solved()
    assert street.plan.root.betting == "r250c/"
    assert policy.origin.route == "limited"
    assert policy.origin.iterations == 12
    ours, theirs = (side[: len(before.weights[0])] for side in street.solver._ranges)
    dead = np.array([bool(set(hand) & set(BOARD[:3])) for hand in _hands()])
    called = before.likelihood(CALL)
    np.testing.assert_allclose(ours, np.where(dead, 0, called / called[~dead].max()), atol=1e-6)
    raised = base.likelihood(seat.spot(""), Raise(250), seat.draws(seat.spot("")))
    assert raised is not None
    assert np.corrcoef(theirs[~dead], raised[~dead])[0, 1] > 0.999
    assert not theirs[dead].any()


def test_the_turn_is_solved_to_its_end(base: BlueprintLookup) -> None:
    """From its start, with what the flop's says of the opponent; rivers are leaves, and are not searched."""
    search = LimitedSearch(HOLDEM, settings(turn=Effort(iterations=9, share=1.0)), base)
    seat = Seat(search, BIG)
    seat.past.append(_decided(base, seat, "r250"))
    for betting in ("r250c/", "r250c/cr500"):
        seat.ask(betting)
    policy = seat.ask("r250c/cr500c/")
    street = seat.solved()
    assert (policy.origin.route, policy.origin.iterations, street.plan.root.betting) == ("limited", 9, "r250c/cr500c/")
    assert {state.street for state in street.game.end_states} == {3}
    theirs = seat.theirs("r250c/cr500c/", 2)
    live = np.array([not set(hand) & set(BOARD[:4]) for hand in _hands()])
    side = street.solver._ranges[1][: len(live)]
    np.testing.assert_allclose(side, np.where(live, theirs / theirs[live].max(), 0), atol=1e-6)
    river = seat.spot("r250c/cr500c/cc/")
    assert search.policy(river, ample(), seat.draws(river)).origin.route == "blueprint"


def _decided(base: BlueprintLookup, seat: Seat, betting: str) -> Decided:
    spot = seat.spot(betting)
    return Decided(spot.state, base.policy(spot, ample(), seat.draws(spot)))


def _hands() -> list[tuple[int, ...]]:
    from protocol.hands import hands_of

    return list(hands_of(HOLDEM))


def test_a_size_that_the_menu_does_not_have_is_in_the_tree(search: LimitedSearch) -> None:
    seat = Seat(search, BIG)
    seat.ask("r250c/")
    policy = seat.ask("r250c/cr433")
    street = seat.solved()
    node = street.game.node([CALL])
    assert node is not None
    assert Raise(433) in street.game.nodes[node].actions
    assert street.likelihood(seat.spot("r250c/cr433").state, CALL) is not None
    assert policy.support[0] != policy.support[1]


def test_what_we_played_on_the_street_stays_as_it_was(search: LimitedSearch) -> None:
    """Even sizes that the menu does not have: the policy is taken as it was logged."""
    seat = Seat(search, BIG)
    first = seat.ask("r250c/")
    odd = Policy(
        tuple([Raise(411) if isinstance(entry, Raise) and entry.to == first.support[1].to else entry  # type: ignore[union-attr]
               for entry in first.support]),
        first.weights.copy(),
        first.origin,
    )  # fmt: skip
    for played in (first, odd):
        seat.past[:] = [Decided(seat.past[0].state, played)]
        seat.ask("r250c/cr500")
        known = seat.solved().strategy(seat.past[0].state)
        assert known is not None
        live = played.weights.any(axis=0)
        for action, shares in zip(*known, strict=True):
            np.testing.assert_allclose(shares[live], played.likelihood(action)[live], atol=1e-5)


def test_without_iterations_it_is_the_blueprint(base: BlueprintLookup) -> None:
    """The beginning is what the blueprint does; with more of them it goes away from that."""
    still = LimitedSearch(HOLDEM, settings(flop=1, begin_weight=1e5, least_probability=0.0), base)
    free = LimitedSearch(HOLDEM, settings(flop=60, begin_iterations=1, begin_weight=0.01), base)
    found = [Seat(strategy, BIG).ask("r250c/") for strategy in (still, free)]
    spot = Seat(still, BIG).spot("r250c/")
    known = base.lookup.policy(spot.state, spot.board, lambda place: 0.5)
    assert known is not None
    assert found[0].support == known.actions
    live = found[0].weights.any(axis=0)
    away = [np.abs(policy.weights / 65_535 - known.probabilities)[:, live].sum(axis=0).mean() for policy in found]
    assert away[0] < 0.1
    assert away[1] > 0.3


@pytest.mark.parametrize(
    ("chooser", "expected"), [(Chooser.BOTH, (4, 4)), (Chooser.OPPONENT, (1, 4)), (Chooser.NOBODY, (1, 1))]
)
def test_who_chooses(base: BlueprintLookup, chooser: Chooser, expected: tuple[int, int]) -> None:
    strategy = LimitedSearch(HOLDEM, settings(flop=2, chooser=chooser), base)
    seat = Seat(strategy, BIG)
    seat.ask("r250c/")
    assert seat.solved().solver.tree.continuations == expected
    other = Seat(strategy, SMALL)
    other.ask("r250c/c")
    assert other.solved().solver.tree.continuations == expected[::-1]


# --- Repeating --------------------------------------------------------------------------------------------------------


def test_equal_questions_have_equal_answers_whatever_came_between(base: BlueprintLookup) -> None:
    one, other = (Seat(LimitedSearch(HOLDEM, settings(), base), BIG) for _ in range(2))
    policies = [one.ask("r250c/"), one.ask("r250c/cr500")]
    Seat(other.strategy, SMALL, hand=5).ask("r250c/c")
    again = [other.ask("r250c/"), other.ask("r250c/cr500")]
    assert all(same(first, second) for first, second in zip(policies, again, strict=True))


def test_the_range_of_the_opponent_is_the_same_after_an_interruption(base: BlueprintLookup) -> None:
    seat = Seat(LimitedSearch(HOLDEM, settings(), base), BIG)
    seat.ask("r250c/")
    seat.ask("r250c/cr500")
    known = seat.theirs("r250c/cr500c/", 2)
    fresh = Seat(LimitedSearch(HOLDEM, settings(), base), BIG, past=seat.past)
    np.testing.assert_array_equal(fresh.theirs("r250c/cr500c/", 2), known)
    unsearched = Seat(LimitedSearch(HOLDEM, settings(), base), BIG).theirs("r250c/cr500c/", 2)
    assert not np.allclose(known, unsearched, atol=0.05)


def test_a_past_that_comes_from_elsewhere(base: BlueprintLookup, monkeypatch: pytest.MonkeyPatch) -> None:
    """A street is known by its last decision's key; what an older process logged without one is solved again, once."""
    seat = Seat(LimitedSearch(HOLDEM, settings(), base), BIG)
    for betting in ("r250c/", "r250c/cr500"):
        seat.ask(betting)
    known, solves, solve = seat.theirs("r250c/cr500c/", 2), list[str](), LimitedSearch._solve
    monkeypatch.setattr(
        LimitedSearch, "_solve", lambda *given: (solves.append(given[1].state.betting), solve(*given))[1]
    )
    fresh = LimitedSearch(HOLDEM, settings(), base)
    for strategy, left_out, again in ((seat.strategy, "", []), (fresh, "key", ["r250c/cr500"])):
        past = [Decided(each.state, logged_without(each.policy, left_out)) for each in seat.past]
        other = Seat(strategy, BIG, past=past)
        for _ in range(2):
            np.testing.assert_array_equal(other.theirs("r250c/cr500c/", 2), known)
        assert solves == again


def logged_without(policy: Policy, left_out: str) -> Policy:
    """A copy, as it comes from a store; from an older one without all that is logged now."""
    notes = {name: value for name, value in policy.origin.notes.items() if name != left_out}
    return Policy(policy.support, policy.weights.copy(), replace(policy.origin, details=json.dumps(notes)))


def test_the_opponents_range_follows_the_search_and_not_the_blueprint(search: LimitedSearch) -> None:
    """What it did on the flop counts by the street that was solved."""
    seat = Seat(search, BIG)
    seat.ask("r250c/")
    seat.ask("r250c/cr433")
    before, after = seat.theirs("r250c/cr433c/", 1), seat.theirs("r250c/cr433c/", 2)
    likelihood = seat.solved().likelihood(seat.spot("r250c/c").state, Raise(433))
    assert likelihood is not None
    live = np.array([not set(hand) & set(BOARD[:3]) for hand in _hands()])
    expected = before * np.maximum(likelihood / likelihood[before > 0].max(), search._settings.floor)
    np.testing.assert_allclose(after[live], (expected / expected.max())[live], atol=1e-6)


# --- Before the flop --------------------------------------------------------------------------------------------------


def test_hands_of_a_class_play_alike_before_the_flop(search: LimitedSearch) -> None:
    policy, classes = Seat(search, BIG).ask("r237"), hand_classes_array()
    for row in policy.weights:
        first = row[np.unique(classes, return_index=True)[1]]
        assert np.abs(row.astype(int) - first[classes]).max() <= 1


def test_what_is_kept_goes_on_to_the_same_bits(base: BlueprintLookup, tmp_path: Path) -> None:
    def ask(iterations: int, keep: bool, hand: int) -> Policy:
        options = settings(preflop=iterations, keep=keep, kept=str(tmp_path / "kept"))
        return Seat(LimitedSearch(HOLDEM, options, base), BIG, hand).ask("r237")

    whole = ask(7, False, 0)
    parts = [ask(iterations, True, hand) for hand, iterations in enumerate((2, 5, 7, 7))]
    assert [part.origin.iterations for part in parts] == [2, 5, 7, 7]
    assert same(parts[2], whole)
    assert same(parts[3], whole)
    assert not np.array_equal(parts[0].weights, whole.weights)
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_a_damaged_file_counts_as_none(base: BlueprintLookup, tmp_path: Path, caplog: Any) -> None:
    options = settings(keep=True, kept=str(tmp_path))
    first = Seat(LimitedSearch(HOLDEM, options, base), BIG).ask("r237")
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:1000])
    with caplog.at_level(logging.WARNING):
        again = Seat(LimitedSearch(HOLDEM, options, base), BIG).ask("r237")
    assert "not a kept solve" in caplog.text
    assert same(first, again)


def test_a_folder_that_cannot_be_written_costs_nothing(base: BlueprintLookup, tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "file").write_text("")
    options = settings(keep=True, kept=str(tmp_path / "file"))
    with caplog.at_level(logging.WARNING):
        Seat(LimitedSearch(HOLDEM, options, base), BIG).ask("r237")
    assert "not kept" in caplog.text


# --- Time, refusals ---------------------------------------------------------------------------------------------------


def test_no_time_is_said(search: LimitedSearch) -> None:
    seat = Seat(search, BIG)
    spot = seat.spot("r250c/")
    answer = search.search(spot, Budget(time.monotonic(), 7.0), seat.draws(spot))
    assert answer == "no time to build the game"
    assert search.search(spot, Budget(time.monotonic() + 60, 0.0), seat.draws(spot)) == "no time for an iteration"
    assert search.policy(spot, Budget(time.monotonic(), 7.0), seat.draws(spot)).origin.is_fallback


def test_a_share_of_the_time_ends_the_search(base: BlueprintLookup) -> None:
    strategy = LimitedSearch(HOLDEM, settings(flop=100_000), base)
    seat = Seat(strategy, BIG)
    spot = seat.spot("r250c/")
    policy = strategy.search(spot, Budget(time.monotonic() + 600, 0.3), seat.draws(spot))
    assert isinstance(policy, Policy)
    assert 0 < policy.origin.iterations < 100_000


def test_folds_and_all_ins_are_exact_where_stacks_are_deep(base: BlueprintLookup) -> None:
    """A limped pot has a hundredth of the stacks, and a raised one a fortieth: fifty is the bound."""
    strategy = LimitedSearch(HOLDEM, settings(flop=4), base)
    sampled = LimitedSearch(HOLDEM, settings(flop=4, exact_spr=float("inf")), base)
    leaves, boards = strategy._leaves, (BOARD[:3], BOARD[1:4])
    for betting, deep in (("cc/", True), ("r250c/", False)):
        found = []
        for each in (strategy, sampled):
            seat = Seat(each, BIG)
            spot = seat.spot(betting)
            root = street_start(spot.state)
            policy = each.search(spot, ample(), seat.draws(spot))
            assert isinstance(policy, Policy)
            found.append(policy.weights)
        assert np.array_equal(*found) == (not deep)
        assert [leaves.late_s(root, board) > 0 for board in boards] == [False, deep]
        assert [sampled._leaves.late_s(root, board) for board in boards] == [0, 0]


def test_other_games_are_refused(base: BlueprintLookup) -> None:
    with pytest.raises(ConfigError, match="agent limited plays heads-up no-limit hold'em"):
        LimitedSearch(load_game("leduc").game, settings(), base)


def test_a_menu_without_a_flop_is_refused(base: BlueprintLookup) -> None:
    with pytest.raises(ConfigError, match=r"limited\.menu: the menu has no sizes for the"):
        LimitedSearch(HOLDEM, settings(menu="turn 50%"), base)
