"""The betting rules by hand-computed examples, then random games of every kind against slow twins."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_play import MAX_HAND_ACTIONS, Played, random_game, random_hand

from protocol.cards import parse_cards
from protocol.errors import IllegalAction
from protocol.game import Game, Position, load_game
from protocol.ranking import hand_rank
from protocol.state import (
    CALL,
    FOLD,
    MAX_ACTIONS_PER_STREET,
    Action,
    Call,
    Deal,
    Fold,
    Raise,
    RaiseBounds,
    State,
    apply,
    can_fold,
    check,
    payoffs,
    raise_bounds,
    replay,
    split_pots,
    start,
    steps,
)
from protocol.wire import read_betting

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
THREE = load_game("holdem.nolimit.3p").game
LIMIT = load_game("holdem.limit.2p.reverse_blinds").game
KUHN = load_game("kuhn.limit.3p").game


def at(game: Game, betting: str) -> State:
    return read_betting(start(game), betting)


def bounds(game: Game, betting: str) -> tuple[int, int] | None:
    return raise_bounds(at(game, betting))


# --- Examples -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("betting", "expected"),
    [
        ("", (200, 20_000)),  # twice the big blind
        ("r200", (300, 20_000)),  # 2 × 200 - 100
        ("r300", (500, 20_000)),  # 2 × 300 - 100
        ("r300r500", (700, 20_000)),
        ("r300r900", (1_500, 20_000)),
        ("c", (200, 20_000)),
        ("cc/", (200, 20_000)),  # a new street: 100 + 100
        ("r300c/", (400, 20_000)),
        ("r300c/c", (400, 20_000)),
        ("r300c/r1800", (3_300, 20_000)),
        ("r300c/r1800c/", (1_900, 20_000)),
        ("r19999", (20_000, 20_000)),  # the minimum would be 39898: all-in is the only raise
        ("r10050", (20_000, 20_000)),  # 2 × 10050 - 100: the minimum is the stack, exactly
        ("r10049", (19_998, 20_000)),
        ("r19950c/", (20_000, 20_000)),
        ("r19900c/", (20_000, 20_000)),
        ("r19899c/", (19_999, 20_000)),
        ("r20000", None),
        ("f", None),
        ("r20000c///", None),
    ],
)
def test_raise_bounds_heads_up(betting: str, expected: tuple[int, int] | None) -> None:
    assert bounds(HOLDEM, betting) == expected


def test_a_short_all_in_does_not_lower_the_minimum() -> None:
    """Blinds 50/100 and a bet of 300, so that the smallest raise is to 500; then a short stack goes all-in."""
    game = replace(THREE, stack=(450, 20_000, 20_000))
    assert bounds(game, "r300") == (450, 450)  # 500 is beyond this stack: all-in for less is the only raise
    # All-in 150 above it: max(500, 2 × 450 - 300 = 600), so the minimum even rises.
    assert bounds(game, "r300r450") == (600, 20_000)
    # All-in 50 above 300: max(500, 2 × 350 - 300 = 400) stays 500.
    game = replace(THREE, stack=(350, 20_000, 20_000))
    assert bounds(game, "r300r350") == (500, 20_000)
    assert bounds(game, "r300r350r500") == (650, 20_000)
    # On the next street it starts again from the maximum and the big blind.
    assert bounds(game, "r300r350cc/") == (450, 20_000)


def test_a_new_street_adds_one_chip_in_a_game_without_blinds() -> None:
    game = replace(HOLDEM, blind=(0, 0))
    assert bounds(game, "") == (1, 20_000)
    assert bounds(game, "cc/") == (1, 20_000)
    assert bounds(game, "r7") == (14, 20_000)
    assert bounds(game, "r7c/") == (8, 20_000)


def test_who_acts() -> None:
    """The button first before the flop, the blinds first after it, folded and all-in players never."""
    assert [at(HOLDEM, betting).actor for betting in ("", "c", "cc/", "cc/c", "cc/cc/")] == [1, 0, 0, 1, 0]
    assert [at(THREE, betting).actor for betting in ("", "c", "cf", "cfc/", "cfc/c", "fcc/")] == [2, 0, 1, 1, 2, 0]
    short = replace(THREE, stack=(20_000, 300, 20_000))
    assert [at(short, betting).actor for betting in ("r300", "r300c", "r300cc/", "r300cc/c")] == [0, 1, 0, 2]


def test_the_blind_may_still_raise_when_everyone_called() -> None:
    assert at(THREE, "cc").actor == 1
    assert bounds(THREE, "cc") == (200, 20_000)
    assert at(THREE, "ccr200").actor == 2
    assert at(THREE, "ccc/").street == 1


@pytest.mark.parametrize(
    ("betting", "streets"),
    [("r20000c///", 4), ("cc/r20000c//", 4), ("cc/cc/r20000c/", 4), ("cc/cc/cc/r20000c", 4), ("cc/cc/cc/cc", 4)],
)
def test_an_all_in_call_pads_the_streets(betting: str, streets: int) -> None:
    state = at(HOLDEM, betting)
    assert (state.finished, state.showdown, len(state.history)) == (True, True, streets)
    assert state.betting == betting


def test_a_fold_ends_the_hand_where_it_is() -> None:
    for betting, street in (("f", 0), ("r300c/cr400f", 1), ("r19999r20000f", 0)):
        state = at(HOLDEM, betting)
        assert (state.finished, state.showdown, state.street) == (True, False, street)


def test_one_player_with_chips_left_may_only_call_or_fold() -> None:
    game = replace(HOLDEM, stack=(5_000, 20_000))
    state = at(game, "cr5000")
    assert state.actor == 1
    assert raise_bounds(state) is None
    assert state.owed == 4_900
    for action in (Raise(10_000), Raise(20_000)):
        with pytest.raises(IllegalAction, match="no other player has chips left to call with"):
            check(state, action)
    assert apply(state, CALL).betting == "cr5000c///"
    assert apply(state, CALL).committed == (5_000, 5_000)


def test_blinds_may_put_players_all_in() -> None:
    """The big blind is all-in by posting it: the small blind may complete or fold, and no more."""
    game = replace(HOLDEM, stack=(100, 20_000))
    assert start(game).actor == 1
    assert raise_bounds(start(game)) is None
    assert at(game, "c///").betting == "c///"
    assert at(game, "f").committed == (100, 50)
    # An all-in small blind: the big blind is asked, though nothing is owed.
    game = replace(HOLDEM, stack=(20_000, 50))
    state = start(game)
    assert state.actor == 0
    assert state.owed == 0
    with pytest.raises(IllegalAction, match="fold: nothing is owed"):
        check(state, FOLD)
    assert apply(state, CALL).showdown
    assert payoffs(apply(state, CALL), Deal((parse_cards("2c2d"), parse_cards("3c3d")), parse_cards("AsKsQdJh9c"))) == (
        -50.0,
        50.0,
    )


def test_limit_sizes_and_the_cap_on_raises() -> None:
    """10/5 blinds, raises of 10 10 20 20, at most 3 before the flop and 4 on later streets."""
    assert bounds(LIMIT, "") == (20, 20)
    assert bounds(LIMIT, "rr") == (40, 40)
    assert bounds(LIMIT, "rrr") is None
    with pytest.raises(IllegalAction, match="this street already has 3 raises, the most the game allows"):
        check(at(LIMIT, "rrr"), Raise(50))
    assert bounds(LIMIT, "rrrc/") == (50, 50)
    assert bounds(LIMIT, "rrrc/rrrr") is None
    assert bounds(LIMIT, "rrrc/rrrrc/") == (100, 100)
    assert bounds(LIMIT, "cc/cc/cc/") == (30, 30)
    for wrong in (19, 21, 10, 30):
        with pytest.raises(IllegalAction, match="expected a raise to 20-20"):
            check(start(LIMIT), Raise(wrong))
    # 40 before the flop, 80 on it, 160 on the turn, 240 on the river.
    state = at(LIMIT, "rrrc/rrrrc/rrrrc/rrrrc")
    assert state.committed == (240, 240)


def test_kuhn_allows_one_raise() -> None:
    assert bounds(KUHN, "") == (2, 2)
    for betting in ("r", "cr", "crf", "rc"):
        assert bounds(KUHN, betting) is None
    assert at(KUHN, "crff").committed == (1, 2, 1)


def test_a_limit_raise_stops_at_the_stack_and_never_below_the_maximum() -> None:
    """Documented departure: a stack below the maximum may call all-in, not "raise" to what it has."""
    game = replace(LIMIT, num_players=3, blind=(5, 10, 0), stack=(100, 15, 25), first_player=(Position(2),) * 4)
    assert bounds(game, "") == (20, 20)
    assert bounds(game, "r") == (30, 30)
    state = at(game, "rr")
    assert (state.actor, raise_bounds(state)) == (1, None)
    with pytest.raises(IllegalAction, match="a stack of 15 cannot exceed the current 30"):
        check(state, Raise(15))
    assert apply(state, CALL).committed == (30, 15, 20)
    assert bounds(replace(game, stack=(100, 100, 15)), "") == (15, 15)


def test_a_street_holds_64_actions() -> None:
    """Raises stop when those who must still answer might not find room: after 63 actions of two players, 55 of ten."""
    for players, most in ((2, 63), (3, 62), (10, 55)):
        game = replace(
            THREE,
            num_players=players,
            blind=(1,) * players,
            stack=(2**31 - 1,) * players,
            first_player=(Position(0),) * 4,
        )
        state, raises = start(game), 0
        while (found := raise_bounds(state)) is not None:
            assert len(state.history[0]) + players <= MAX_ACTIONS_PER_STREET
            state, raises = apply(state, Raise(found.low)), raises + 1
        assert raises == most == MAX_ACTIONS_PER_STREET - players + 1
        with pytest.raises(IllegalAction, match=f"this street already has {raises} actions, and 64 must suffice"):
            check(state, Raise(2**31 - 1))
        while state.street == 0 and not state.finished:
            state = apply(state, CALL)
        assert len(state.history[0]) == MAX_ACTIONS_PER_STREET
        assert raise_bounds(state) is not None


def test_max_raises_zero_and_many() -> None:
    game = replace(HOLDEM, max_raises=(0, 1, 255, 255))
    assert bounds(game, "") is None
    with pytest.raises(IllegalAction, match="this street already has 0 raises, the most the game allows"):
        check(start(game), Raise(200))
    assert bounds(game, "cc/") == (200, 20_000)
    assert bounds(game, "cc/r200") is None
    assert bounds(game, "cc/r200c/r300r400") == (500, 20_000)


def test_nothing_is_possible_once_the_hand_is_over() -> None:
    for betting in ("f", "r20000c///", "cc/cc/cc/cc"):
        over = at(HOLDEM, betting)
        for action in (CALL, FOLD, Raise(200)):
            with pytest.raises(IllegalAction, match="the hand is over"):
                apply(over, action)
        assert raise_bounds(over) is None
        assert not can_fold(over)
        assert over.owed == 0


def test_payoffs_wait_for_the_end() -> None:
    with pytest.raises(IllegalAction, match="payoffs: the hand is not over"):
        payoffs(start(HOLDEM), Deal((parse_cards("2c2d"), parse_cards("3c3d")), parse_cards("AsKsQdJh9c")))


def test_actions_read_well() -> None:
    assert [str(action) for action in (FOLD, CALL, Raise(300))] == ["fold", "call", "raise to 300"]


# --- Payoffs --------------------------------------------------------------------------------------------------------

BOARD = parse_cards("AsKsQd7h2c")
ACES, KINGS, QUEENS, NOTHING, TIE_A, TIE_B = map(parse_cards, ("AcAd", "KcKd", "QcQh", "3c4d", "JcTd", "JdTh"))


def paid(game: Game, betting: str, *hole: tuple[int, ...]) -> tuple[float, ...]:
    return payoffs(at(game, betting), Deal(hole, BOARD))


def test_folds_give_the_pot_to_the_last() -> None:
    assert paid(HOLDEM, "f", NOTHING, ACES) == (50.0, -50.0)
    assert paid(HOLDEM, "r300f", ACES, NOTHING) == (-100.0, 100.0)
    assert paid(HOLDEM, "r300c/cr400f", ACES, NOTHING) == (-300.0, 300.0)
    assert paid(THREE, "r300ff", ACES, KINGS, NOTHING) == (-50.0, -100.0, 150.0)
    assert paid(THREE, "r300cr900ff", ACES, KINGS, NOTHING) == (-300.0, 600.0, -300.0)


def test_showdowns_of_two() -> None:
    assert paid(HOLDEM, "r20000c///", ACES, KINGS) == (20_000.0, -20_000.0)
    assert paid(HOLDEM, "cc/cc/cc/cc", NOTHING, KINGS) == (-100.0, 100.0)
    assert paid(HOLDEM, "r300c/cc/cc/cc", TIE_A, TIE_B) == (0.0, 0.0)


def test_what_nobody_called_goes_back() -> None:
    """20,000 against 5,000: the loser of the big stack loses 5,000."""
    game = replace(HOLDEM, stack=(5_000, 20_000))
    assert paid(game, "r20000c///", ACES, KINGS) == (5_000.0, -5_000.0)
    assert paid(game, "r20000c///", NOTHING, KINGS) == (-5_000.0, 5_000.0)


def test_side_pots_of_three() -> None:
    """Stacks 1000, 3000, 5000, all in. Main pot 3 × 1000, side pot 2 × 2000, 2000 uncalled."""
    game = replace(THREE, stack=(1_000, 3_000, 5_000))
    all_in = "r5000cc///"
    assert at(game, all_in).committed == (1_000, 3_000, 5_000)
    # The short stack wins the main pot only; the side pot goes to the better of the others.
    assert paid(game, all_in, ACES, KINGS, QUEENS) == (2_000.0, 1_000.0, -3_000.0)
    assert paid(game, all_in, ACES, QUEENS, KINGS) == (2_000.0, -3_000.0, 1_000.0)
    assert paid(game, all_in, KINGS, ACES, QUEENS) == (-1_000.0, 4_000.0, -3_000.0)
    assert paid(game, all_in, KINGS, QUEENS, ACES) == (-1_000.0, -3_000.0, 4_000.0)
    # Main pot shared by the first two (each +500), side pot to the second.
    assert paid(game, all_in, TIE_A, TIE_B, NOTHING) == (500.0, 2_500.0, -3_000.0)
    # The short stack wins, the others share the side pot: it comes back to each.
    assert paid(game, all_in, ACES, TIE_A, TIE_B) == (-1_000.0, 500.0, 500.0)
    assert paid(game, all_in, TIE_A, KINGS, QUEENS) == (2_000.0, 1_000.0, -3_000.0)


def test_chips_of_a_folded_player_stay_in_the_pots() -> None:
    """The second folds after 900, the first is all-in for 600: main pot 3 × 600, side pot 300 + 300 to the third."""
    game = replace(THREE, stack=(600, 5_000, 5_000))
    betting = "r300cr900cc/r1500f//"
    state = at(game, betting)
    assert state.committed == (600, 1_500, 900)
    assert state.folded == (False, False, True)
    assert paid(game, betting, ACES, KINGS, QUEENS) == (1_200.0, -300.0, -900.0)
    assert paid(game, betting, KINGS, ACES, QUEENS) == (-600.0, 1_500.0, -900.0)
    assert paid(game, betting, KINGS, QUEENS, ACES) == (1_200.0, -300.0, -900.0)


def test_ties_split_exactly() -> None:
    """Halves and thirds, with no odd chip."""
    game = replace(THREE, blind=(1, 2, 1), stack=(20_000,) * 3)
    # 5 + 5 + 1 folded: the odd chip is split.
    assert paid(game, "fr5c/cc/cc/cc", TIE_A, TIE_B, NOTHING) == (0.5, 0.5, -1.0)
    assert split_pots((1, 1, 1, 1), [5, 5, 5, 0]) == pytest.approx((1 / 3, 1 / 3, 1 / 3, -1.0))
    assert split_pots((1, 1, 1, 1, 1), [5, 5, 5, 0, -1]) == pytest.approx((2 / 3, 2 / 3, 2 / 3, -1.0, -1.0))
    assert split_pots((10, 10, 10), [7, 7, 7]) == (0.0, 0.0, 0.0)
    assert split_pots((0, 10, 10), [9, 7, 7]) == (0.0, 0.0, 0.0)
    assert split_pots((0, 10, 10), [9, 7, 6]) == (0.0, 10.0, -10.0)


# --- Random games against twins -------------------------------------------------------------------------------------


def slow_payoffs(committed: tuple[int, ...], folded: tuple[bool, ...], ranks: list[int]) -> list[Fraction]:
    """Chip layer by chip layer: every layer goes in equal parts to the best of those in it who did not fold."""
    won = [Fraction(-chips) for chips in committed]
    edges = sorted({0, *committed})
    for below, above in pairwise(edges):
        inside = [p for p, chips in enumerate(committed) if chips >= above]
        alive = [p for p in inside if not folded[p]]
        best = max(ranks[p] for p in alive)
        winners = [p for p in alive if ranks[p] == best]
        for p in winners:
            won[p] += Fraction((above - below) * len(inside), len(winners))
    return won


def can_act(state: State, position: int) -> bool:
    """Whether a player has neither folded nor put in the whole stack."""
    return not state.folded[position] and state.committed[position] < state.game.stack[position]


def check_hand(played: Played) -> Counter[str]:
    """All that must hold in one hand; returns what it held."""
    game, states = played.game, played.states
    seen: Counter[str] = Counter()
    for before, after, action in zip(states, states[1:], played.actions, strict=False):
        actor = before.actor
        assert actor is not None
        # Only the actor's chips move, upwards, to what the action says, never beyond the stack.
        assert [p for p in range(game.num_players) if before.committed[p] != after.committed[p]] in ([], [actor])
        assert before.committed[actor] <= after.committed[actor] <= game.stack[actor]
        expected = {Fold: before.committed[actor], Call: min(before.maximum, game.stack[actor])}
        to = action.to if isinstance(action, Raise) else expected[type(action)]
        assert after.committed[actor] == to
        assert after.committed[actor] - before.committed[actor] == before.owed or not isinstance(action, Call)
        assert after.maximum == max(after.committed)
        assert after.folded == tuple(f or (p == actor and action == FOLD) for p, f in enumerate(before.folded))
        # History grows by this action and by empty streets.
        assert [a for street in after.history for a in street] == [a for s in before.history for a in s] + [action]
        assert len(after.history) <= game.num_rounds
        assert max(map(len, after.history)) <= MAX_ACTIONS_PER_STREET
        if after.actor is not None:
            assert can_act(after, after.actor)
            if len(after.history) > len(before.history):
                alive = {after.committed[p] for p in range(game.num_players) if can_act(after, p)}
                assert alive == {after.maximum}
        seen[type(action).__name__] += 1
    for state in states:
        if state.actor is not None:
            seen += check_legality(state)
    last = states[-1]
    assert last.finished
    assert len(played.actions) <= MAX_HAND_ACTIONS
    assert replay(game, played.actions) == last
    assert list(steps(last)) == list(zip(states, played.actions, strict=False))
    values = payoffs(last, played.deal)
    ranks = [hand_rank((*hole, *played.deal.board)) for hole in played.deal.hole]
    exact = slow_payoffs(last.committed, last.folded, ranks)
    assert sum(exact) == 0
    scale = max(last.committed) or 1
    assert values == pytest.approx([float(value) for value in exact], abs=1e-9 * scale)
    assert abs(sum(values)) <= 1e-9 * scale
    assert all(-chips <= value for chips, value in zip(last.committed, values, strict=True))
    seen["showdown" if last.showdown else "fold-out"] += 1
    seen["side pot"] += (
        last.showdown and len({c for c, f in zip(last.committed, last.folded, strict=True) if not f}) > 1
    )
    seen["fraction"] += any(value.denominator > 1 for value in exact)
    seen["padded"] += last.showdown and len(last.history) > 1 and not last.history[-1]
    return seen


def accepted(state: State, action: Action) -> bool:
    """`check` and `apply` must agree."""
    try:
        check(state, action)
    except IllegalAction as refused:
        reason = str(refused)
    else:
        apply(state, action)
        return True
    with pytest.raises(IllegalAction) as caught:
        apply(state, action)
    assert str(caught.value) == reason
    return False


def check_legality(state: State) -> Counter[str]:
    assert state.actor is not None
    assert accepted(state, CALL)
    owes = state.committed[state.actor] < state.maximum
    assert accepted(state, FOLD) == can_fold(state) == owes
    found = raise_bounds(state)
    tried = {0, 1, state.maximum, state.maximum + 1, state.game.stack[state.actor], -1}
    if found is None:
        assert not any(accepted(state, Raise(to)) for to in tried)
        return Counter({"no raise": 1})
    assert isinstance(found, RaiseBounds)
    assert state.maximum < found.low <= found.high <= state.game.stack[state.actor]
    if state.game.no_limit:
        assert found.high == state.game.stack[state.actor]
    else:
        assert found.low == found.high
    tried |= {found.low, found.high, (found.low + found.high) // 2, found.low - 1, found.high + 1}
    for to in tried:
        assert accepted(state, Raise(to)) == (found.low <= to <= found.high)
    return Counter({"raise": 1})


def test_random_hands_of_random_games() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1_500):
        rng = Random(seed)
        game = random_game(rng)
        try:
            seen += check_hand(random_hand(rng, game))
        except Exception as error:
            error.add_note(f"seed {seed}: {game}")
            raise
        seen["limit" if game.raise_size else "no-limit"] += 1
        seen[f"{game.num_players} players"] += 1
    least = {"Fold": 300, "Call": 3_000, "Raise": 1_200, "raise": 3_000, "no raise": 600, "showdown": 300}
    least |= {"fold-out": 100, "side pot": 100, "fraction": 20, "padded": 100, "limit": 500, "no-limit": 500}
    least |= {f"{players} players": 100 for players in (2, 3, 4, 5, 6, 8, 10)}
    assert not {kind: seen[kind] for kind in least if seen[kind] < least[kind]}


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_hands_that_hypothesis_chooses(rng: Random) -> None:
    """The same, where a failure is shrunk to a small game."""
    check_hand(random_hand(rng, random_game(rng)))


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(-1, 4)), min_size=2, max_size=10))
def test_pots_against_their_twin(players: list[tuple[int, int]]) -> None:
    """Any chips, ranks and folds in which the most is not all folded."""
    committed, ranks = tuple(chips for chips, _ in players), [rank for _, rank in players]
    ranks[committed.index(max(committed))] = max(ranks[committed.index(max(committed))], 0)
    exact = slow_payoffs(committed, tuple(rank < 0 for rank in ranks), ranks)
    assert split_pots(committed, ranks) == pytest.approx([float(value) for value in exact], abs=1e-9)


def test_states_are_values() -> None:
    """Frozen, equal when they say the same, usable as keys; the state before an action is untouched."""
    before = at(HOLDEM, "r300")
    kept = replace(before)
    after = apply(before, CALL)
    assert before == kept
    assert after != before
    assert {before: 1}[at(HOLDEM, "r300")] == 1
    with pytest.raises(AttributeError):
        before.maximum = 0  # type: ignore[misc]
