"""The conformance suite: what every player in the registry must do, at random decisions of several games.

A new agent is under test as soon as it is registered. One that thinks (it is not on the loop) is asked at fewer spots;
a game that its factory refuses is skipped and shown, but the default game must be playable.

Spots come from hands played at random, not by the strategy: so it is asked for actions after its own policies gave the
action taken no chance at all, which must not upset it.
"""

from __future__ import annotations

import dataclasses
import time
import typing
from collections import Counter
from functools import cache
from itertools import combinations
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from agents import make_quick
from chi_square import assert_frequencies
from own_agents import documented_agent
from random_play import random_hand

from machine.errors import ConfigError
from protocol.cards import Card
from protocol.game import DEFAULT_GAME, Game, Position, load_game
from protocol.hands import hands_of
from protocol.state import CALL, FOLD, Action, Deal, Raise, State, action_text, apply, can_fold, raise_bounds, start
from protocol.wire import MatchState, read_betting, view
from strategies.draws import Draws
from strategies.policy import (
    SCALE,
    Origin,
    Policy,
    RaiseBetween,
    check_or_fold,
    check_policy,
    parse_support,
)
from strategies.registry import AGENTS, DEFAULT_AGENT, find_agent, make_strategy
from strategies.store import MatchStore, StoreReader
from strategies.strategy import Budget, Decided, Spot, Strategy

GAMES = {
    name: load_game(name).game
    for name in (DEFAULT_GAME, "holdem.limit.2p.reverse_blinds", "holdem.nolimit.3p", "leduc", "kuhn.limit.3p")
}
HOLDEM = GAMES[DEFAULT_GAME]

SPOTS_QUICK = 120
SPOTS_THINKING = 24
DRAWN_QUICK = 10_000
DRAWN_THINKING = 2_000


class Asked(NamedTuple):
    """One decision of a strategy, with what is needed to repeat it."""

    spot: Spot
    policy: Policy
    deal: Deal
    hand: int


def draws(spot: Spot, purpose: str = "strategy") -> Draws:
    return Draws(11, "conformance", spot.hand, len(spot.state.actions), purpose)


def budget() -> Budget:
    """Time enough for any fixed number of iterations."""
    return Budget(deadline_s=time.monotonic() + 600.0, fair_share_s=600.0)


@cache
def player(agent: str, game: str) -> Strategy | ConfigError:
    try:
        return make_quick(agent, GAMES[game])
    except ConfigError as error:
        return error


def ready(agent: str, game: str) -> Strategy:
    strategy = player(agent, game)
    if isinstance(strategy, ConfigError):
        pytest.skip(f"{agent} does not play {game}: {strategy}")
    return strategy


@cache
def decisions(agent: str, game: str) -> tuple[Asked, ...]:
    """What the strategy decides, for whoever is to act, in hands played at random."""
    strategy = ready(agent, game)
    rng = Random(f"conformance {game}")
    wanted = SPOTS_QUICK if SPECS[agent].on_loop else SPOTS_THINKING
    asked: list[Asked] = []
    hand = 0
    while len(asked) < wanted:
        played = random_hand(rng, GAMES[game])
        past: dict[Position, list[Decided]] = {}
        for state in played.states[:-1]:
            own = past.setdefault(state.actor, [])
            board = played.deal.board[: state.game.board_cards_by(state.street)]
            spot = Spot(hand, state.actor, state, board, tuple(own))
            policy = strategy.policy(spot, budget(), draws(spot))
            own.append(Decided(state, policy))
            asked.append(Asked(spot, policy, played.deal, hand))
            if len(asked) == wanted:
                break
        hand += 1
    return tuple(asked)


def columns(policy: Policy) -> int:
    return policy.weights.shape[1]


def same(one: Policy, two: Policy) -> bool:
    return (
        one.support == two.support
        and one.weights.shape == two.weights.shape
        and one.weights.tobytes() == two.weights.tobytes()
        and one.origin == two.origin
    )


SPECS = {spec.name: spec for spec in (*AGENTS.values(), find_agent(documented_agent(), allow_code=True))}
"""Ours, and one that a user wrote."""
every_agent = pytest.mark.parametrize("agent", SPECS)
every_game = pytest.mark.parametrize("game", GAMES)


# --- Every strategy -------------------------------------------------------------------------------------------------


@every_agent
def test_plays_the_default_game_under_its_own_name(agent):
    strategy = player(agent, DEFAULT_GAME)
    assert not isinstance(strategy, ConfigError)
    assert strategy.name == agent


@every_agent
@every_game
def test_identity_is_text(agent, game):
    identity = ready(agent, game).identity()
    assert identity
    assert all(type(key) is str and type(value) is str for key, value in identity.items())
    assert identity == make_quick(agent, GAMES[game]).identity()


@every_agent
@every_game
def test_only_legal_actions(agent, game):
    for asked in decisions(agent, game):
        check_policy(asked.policy, asked.spot.state, asked.spot.board)


@every_agent
@every_game
def test_every_possible_hand_has_a_policy_and_no_other(agent, game):
    for asked in decisions(agent, game):
        sums = asked.policy.weights.sum(axis=0, dtype=int).tolist()
        if len(sums) == 1:
            assert sums == [SCALE]
            continue
        hands = hands_of(GAMES[game])
        assert len(sums) == len(hands)
        possible = {hands.column(hole) for hole in _holes(GAMES[game]) if not {*hole} & {*asked.spot.board}}
        assert sums == [SCALE if column in possible else 0 for column in range(len(sums))]


@cache
def _holes(game: Game) -> tuple[tuple[Card, ...], ...]:
    return tuple(combinations(game.deck(), game.num_hole_cards))


@every_agent
@every_game
def test_equal_arguments_give_equal_policies(agent, game):
    """Whatever it was asked before, and in another instance."""
    asked = decisions(agent, game)
    other = make_quick(agent, GAMES[game])
    for spot, policy, _, _ in reversed(asked):
        assert same(policy, other.policy(spot, budget(), draws(spot)))
    strategy = ready(agent, game)
    for spot, policy, _, _ in asked[:: max(1, len(asked) // SPOTS_THINKING)]:
        assert same(policy, strategy.policy(dataclasses.replace(spot), budget(), draws(spot)))


@every_agent
@every_game
def test_earlier_policies_that_are_missing_are_no_reason_to_fail(agent, game):
    """Those from before a restart are not in `Spot.past`."""
    strategy = ready(agent, game)
    late = [asked for asked in decisions(agent, game) if asked.spot.past]
    if GAMES[game].max_raises[0] > 0:
        assert late or not SPECS[agent].on_loop
    for spot, _, _, _ in late[:SPOTS_THINKING]:
        for past in ((), spot.past[1:]):
            cut = dataclasses.replace(spot, past=past)
            check_policy(strategy.policy(cut, budget(), draws(cut)), cut.state, cut.board)


@every_agent
@every_game
def test_the_store_keeps_what_was_decided(agent, game, tmp_path):
    asked = decisions(agent, game)
    store = MatchStore(tmp_path / "match.sqlite", GAMES[game], agent, ready(agent, game).identity())
    expected = {}
    for spot, policy, deal, hand in asked:
        seen = MatchState(spot.position, hand, spot.state, view(spot.state, deal, spot.position))
        action = policy.sample(hands_of(GAMES[game]).column(deal.hole[spot.position]), draws(spot, "action"))
        store.add_decision(seen, policy, action, 0.25)
        expected[hand, spot.state.betting] = policy, action_text(action, GAMES[game])
    store.close()
    reader = StoreReader(tmp_path / "match.sqlite")
    found = {(stored.hand, stored.betting): stored for stored in reader.decisions(1)}
    reader.close()
    assert len(asked) == len(found) == len(expected)
    for key, (policy, action) in expected.items():
        assert same(found[key].policy, policy)
        assert found[key].action == action
        assert [type(part) for part in dataclasses.astuple(policy.origin)] == [str, str, int, str, str]


@every_agent
@every_game
def test_sampled_frequencies_match_the_policy(agent, game):
    """By chi-square over the entries; sizes of a spread in at most 20 equal bins."""
    asked = decisions(agent, game)
    count = DRAWN_QUICK if SPECS[agent].on_loop else DRAWN_THINKING
    for spot, policy, deal, _ in asked[:: len(asked) // 3][:3]:
        column = hands_of(GAMES[game]).column(deal.hole[spot.position])
        drawn = Counter(
            policy.sample(column, Draws(5, agent, hand, len(spot.state.actions), "action")) for hand in range(count)
        )
        bins: dict[object, int] = Counter()
        shares: dict[object, float] = {}
        for entry, share in zip(policy.support, policy.probabilities(column), strict=True):
            if isinstance(entry, RaiseBetween):
                sizes, steps = entry.high - entry.low + 1, min(20, entry.high - entry.low + 1)
                for size, times in drawn.items():
                    if isinstance(size, Raise):
                        bins[entry, (size.to - entry.low) * steps // sizes] += times
                for step in range(steps):
                    shares[entry, step] = share * (-(-(step + 1) * sizes // steps) - -(-step * sizes // steps)) / sizes
            else:
                bins[entry] += drawn[entry]
                shares[entry] = share
        assert set(bins) <= set(shares)
        assert sum(bins.values()) == count
        assert_rare_together([bins[key] for key in shares], list(shares.values()), count)


def assert_rare_together(counts: list[int], shares: list[float], total: int) -> None:
    """As `assert_frequencies`, with all outcomes that are expected less than ten times as one."""
    rare = [place for place, share in enumerate(shares) if 0 < share * total < 10]
    kept = [place for place in range(len(shares)) if place not in rare]
    rest = sum(counts[place] for place in rare), sum(shares[place] for place in rare)
    if 0 < rest[1] * total < 10:  # too rare even together: add them to the most frequent
        top = max(kept, key=shares.__getitem__)
        counts, shares = list(counts), list(shares)
        counts[top] += rest[0]
        shares[top] += rest[1]
        rest = 0, 0.0
    assert_frequencies([*(counts[place] for place in kept), rest[0]], [*(shares[place] for place in kept), rest[1]])


def test_the_spots_are_worth_asking_about():
    """What the suite above walks over: all streets, all kinds of choices."""
    for name, game in GAMES.items():
        spots = [asked.spot for asked in decisions("always-call", name)]
        assert len(spots) == SPOTS_QUICK
        assert {spot.state.street for spot in spots} == set(range(game.num_rounds))
        assert {spot.position for spot in spots} == set(range(game.num_players))
        assert {can_fold(spot.state) for spot in spots} == {True, False}
        assert {raise_bounds(spot.state) is None for spot in spots} == {True, False}
        assert all(len(spot.board) == game.board_cards_by(spot.state.street) for spot in spots)
        assert max(len(spot.past) for spot in spots) >= (1 if game.num_rounds == 1 else 2)


# --- A strategy cannot see cards ------------------------------------------------------------------------------------


def _types(hint: object) -> set[object]:
    """Every type that a value of this type can hold."""
    found, todo = set(), [hint]
    while todo:
        kind = todo.pop()
        if kind in found:
            continue
        found.add(kind)
        if typing.get_origin(kind) is np.ndarray:  # its parameters are the shape and the kind of number
            continue
        todo += typing.get_args(kind)
        if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")):
            todo += typing.get_type_hints(kind).values()
    return found


def test_a_spot_carries_no_cards_but_the_board():
    hints = typing.get_type_hints(Spot)
    assert set(hints) == {"hand", "position", "state", "board", "past"}
    assert hints["board"] == tuple[Card, ...]
    for name in set(hints) - {"board"}:
        reached = _types(hints[name])
        assert not {Card, Deal, MatchState, object, typing.Any} & reached, name
    assert {State, Policy, Decided} <= _types(hints["past"])  # the walk does see what lies deep
    assert Card in _types(MatchState)


def test_a_spot_and_a_state_can_be_given_nothing_else():
    spot = Spot(0, Position(0), start(HOLDEM), (), ())
    for frozen in (spot, spot.state):
        with pytest.raises((AttributeError, TypeError)):
            frozen.hole = ()
    assert set(typing.get_type_hints(Strategy.policy)) == {"spot", "budget", "draws", "return"}


# --- The registry ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "randon", "Random", "always_call", "a\nb", "x" * 5000])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(ConfigError) as caught:
        make_strategy(name, HOLDEM)
    message = str(caught.value)
    assert message.endswith(f"is not known: expected one of {', '.join(AGENTS)}")
    assert "\n" not in message
    assert len(message) < 500


def test_the_registry():
    assert {"always-fold", "always-call", "always-raise", "all-in", "random"} <= set(AGENTS)
    assert DEFAULT_AGENT in AGENTS
    assert make_quick(DEFAULT_AGENT, HOLDEM).name == DEFAULT_AGENT


# --- The baselines, one by one --------------------------------------------------------------------------------------

# Game, betting, then the entries of always-fold, always-call, always-raise, all-in and random.
BASELINES = [
    (DEFAULT_GAME, "", "f", "c", "r200", "r20000", "f,c,r200-20000"),
    (DEFAULT_GAME, "c", "c", "c", "r200", "r20000", "c,r200-20000"),
    (DEFAULT_GAME, "r300", "f", "c", "r500", "r20000", "f,c,r500-20000"),
    (DEFAULT_GAME, "r300c/", "c", "c", "r400", "r20000", "c,r400-20000"),
    (DEFAULT_GAME, "r19999", "f", "c", "r20000", "r20000", "f,c,r20000"),
    (DEFAULT_GAME, "r20000", "f", "c", "c", "c", "f,c"),
    (DEFAULT_GAME, "cc/cc/cc/r10049", "f", "c", "r19998", "r20000", "f,c,r19998-20000"),
    ("holdem.limit.2p.reverse_blinds", "", "f", "c", "r20", "r20", "f,c,r20"),
    ("holdem.limit.2p.reverse_blinds", "rrr", "f", "c", "c", "c", "f,c"),
    ("holdem.limit.2p.reverse_blinds", "rrrc/", "c", "c", "r50", "r50", "c,r50"),
    ("holdem.limit.2p.reverse_blinds", "cc/cc/r", "f", "c", "r50", "r50", "f,c,r50"),
    ("holdem.nolimit.3p", "f", "f", "c", "r200", "r20000", "f,c,r200-20000"),
    ("holdem.nolimit.3p", "fr20000", "f", "c", "c", "c", "f,c"),
    ("leduc", "", "c", "c", "r200", "r1200", "c,r200-1200"),
    ("leduc", "r200", "f", "c", "r300", "r1200", "f,c,r300-1200"),
    ("leduc", "r1100c/", "c", "c", "r1200", "r1200", "c,r1200"),
    ("kuhn.limit.3p", "", "c", "c", "r2", "r2", "c,r2"),
    ("kuhn.limit.3p", "r", "f", "c", "c", "c", "f,c"),
    ("kuhn.limit.3p", "ccrf", "f", "c", "c", "c", "f,c"),
]


@pytest.mark.parametrize(("game", "betting", "folds", "calls", "raises", "all_in", "at_random"), BASELINES)
def test_baselines_by_hand(game, betting, folds, calls, raises, all_in, at_random):
    state = read_betting(start(GAMES[game]), betting)
    spot = Spot(0, state.actor, state, (), ())
    for agent, expected in zip(
        ("always-fold", "always-call", "always-raise", "all-in", "random"),
        (folds, calls, raises, all_in, at_random),
        strict=True,
    ):
        policy = make_quick(agent, GAMES[game]).policy(spot, budget(), draws(spot))
        assert policy.support == parse_support(expected), agent
        assert columns(policy) == 1
        third = {1: [65_535], 2: [32_768, 32_767], 3: [21_845, 21_845, 21_845]}[len(policy.support)]
        assert policy.weights[:, 0].tolist() == third
        assert policy.origin == Origin(agent)


def test_check_or_fold():
    for betting, action in (("", FOLD), ("c", CALL), ("r300", FOLD), ("r300c/", CALL), ("r20000", FOLD)):
        policy = check_or_fold(read_betting(start(HOLDEM), betting), "a reason")
        assert policy.support == (action,)
        assert policy.weights.tolist() == [[SCALE]]
        assert policy.origin == Origin("fallback", "a reason")


def _random_actions(betting: str, count: int) -> Counter[Action]:
    """What the random agent does at one spot in `count` hands, drawn as a match draws."""
    state = read_betting(start(HOLDEM), betting)
    strategy = make_strategy("random", HOLDEM)
    drawn: Counter[Action] = Counter()
    for hand in range(count):
        spot = Spot(hand, state.actor, state, (), ())
        policy = strategy.policy(spot, budget(), draws(spot))
        action = policy.sample(hand % 1326, Draws(0, "random", hand, len(state.actions), "action"))
        drawn[action] += 1
    assert all(apply(state, action).betting != betting for action in drawn)
    return drawn


def test_random_draws_kinds_then_sizes_evenly():
    """A well-known client's "random" agent raised 100,000 times out of 100,000."""
    drawn = _random_actions("", 100_000)
    sizes = {action.to: count for action, count in drawn.items() if isinstance(action, Raise)}
    assert_frequencies([drawn[FOLD], drawn[CALL], sum(sizes.values())], [1 / 3] * 3)
    assert 200 <= min(sizes) < 210
    assert 19_990 < max(sizes) <= 20_000  # within ten of a bound: chance of a miss exp(-16)
    bins = [0] * 19  # 19 × 1042 + 3 sizes
    for size, count in sizes.items():
        bins[min((size - 200) // 1042, 18)] += count
    assert_frequencies(bins, [1042 / 19_801] * 18 + [1045 / 19_801])


def test_random_draws_every_size_of_a_narrow_range():
    drawn = _random_actions("r10040", 30_000)  # raises to 19980-20000
    assert_frequencies([drawn[FOLD], drawn[CALL], drawn.total() - drawn[FOLD] - drawn[CALL]], [1 / 3] * 3)
    sizes = [drawn[Raise(size)] for size in range(19_980, 20_001)]
    assert sum(sizes) == drawn.total() - drawn[FOLD] - drawn[CALL]
    assert_frequencies(sizes, [1 / 21] * 21)


@pytest.mark.parametrize(("betting", "actions"), [("r19999", (FOLD, CALL, Raise(20_000))), ("r20000", (FOLD, CALL))])
def test_random_draws_evenly_among_fewer_kinds(betting, actions):
    drawn = _random_actions(betting, 20_000)
    assert_frequencies([drawn[action] for action in actions], [1 / len(actions)] * len(actions))
    assert set(drawn) == set(actions)


def test_random_when_nothing_is_owed_never_folds():
    drawn = _random_actions("c", 20_000)
    assert drawn[FOLD] == 0
    assert_frequencies([drawn[CALL], drawn.total() - drawn[CALL]], [0.5, 0.5])
