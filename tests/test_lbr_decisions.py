"""Local best response, decision by decision: what the settings allow, chances of winning, values, ranges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from dealer_tools.lbr.equity import Equities
from dealer_tools.lbr.response import EmptyRange, LocalBestResponse, _chips, after, showdown_chips
from dealer_tools.lbr.settings import Setting, offered
from machine.errors import ConfigError
from protocol.cards import Card, parse_cards
from protocol.game import DEFAULT_GAME, load_game, parse_game
from protocol.hands import NUM_HANDS, hand_cards, hand_index, hands_of, parse_hand
from protocol.kernels import rank_runouts
from protocol.ranking import hand_rank
from protocol.state import CALL, FOLD, Action, Raise, action_text, apply, start
from protocol.wire import read_betting
from strategies.policy import Origin, Policy, alike, round_columns

HOLDEM = load_game(DEFAULT_GAME).game
LEDUC = load_game("leduc").game


def texts(actions: Sequence[Action]) -> str:
    return " ".join(action_text(action, HOLDEM) for action in actions)


# --- Settings -------------------------------------------------------------------------------------------------------

BY_HAND = [
    # Setting, betting, first action of the hand, what is offered. The blinds are 100 and 50; position 1 acts first.
    ("fc", "", True, "f c"),
    ("fc", "c", True, "c"),
    ("fc", "cc/cc/cc/r300", False, "f c"),
    ("fcpa-late", "", True, "c"),
    ("fcpa-late", "r20000", True, "c"),
    ("fcpa-late", "cc/r200", False, "c"),
    ("fcpa-late", "cc/cc/", False, "c r300 r20000"),
    ("fcpa-late", "cc/cc/r300", False, "f c r900 r20000"),  # called, a pot of 600
    ("fcpa-late", "cc/cc/cc/r20000", False, "f c"),
    ("56-flop", "", True, "c"),
    ("56-flop", "cc/cc/r300", False, "f c"),
    ("56-late", "cc/r300", False, "c"),
    ("modicum-a", "", True, "f r250"),
    ("modicum-a", "c", True, "c r250"),
    ("modicum-a", "r300", True, "f r750"),
    ("modicum-a", "r20000", True, "f c"),
    ("modicum-a", "r250r900", False, "f c"),
    ("modicum-b", "", True, "r250"),
    ("modicum-b", "c", True, "r250"),
    ("modicum-b", "r20000", True, "c"),
    ("modicum-b", "r250r900", False, "c"),
    ("modicum-b", "r250c/c", False, "c r415 r580 r910 r1570 r2890 r5530 r10810 r20000"),
    ("modicum-b", "r250c/cc/r500", False, "f c"),
]


@pytest.mark.parametrize(("setting", "betting", "first", "expected"), BY_HAND)
def test_what_settings_allow(setting, betting, first, expected):
    assert texts(offered(Setting(setting), read_betting(start(HOLDEM), betting), first=first)) == expected


@pytest.mark.parametrize(("setting", "betting"), [("56-late", "cc/cc/"), ("56-flop", "cc/")])
def test_fifty_six_sizes(setting, betting):
    """0.05 · 1.15^k of a pot of 200: seventeen are below the smallest bet, and the last is above the stack."""
    actions = offered(Setting(setting), read_betting(start(HOLDEM), betting), first=False)
    sizes = [action.to - 100 for action in actions if isinstance(action, Raise)]
    assert actions[0] == CALL
    assert sizes == sorted({max(100, min(round(200 * 0.05 * 1.15**k), 19_900)) for k in range(56)})
    assert len(sizes) == 40
    assert sizes[:2] == [100, 108]
    assert sizes[-2:] == [18_953, 19_900]


def test_every_size_of_a_limit_game_is_one():
    game = load_game("holdem.limit.2p.reverse_blinds").game
    state = read_betting(start(game), "cc/cc/r")
    assert offered(Setting.LATE_56, state, first=False) == (FOLD, CALL, Raise(50))


def test_late_streets_of_leduc_are_both():
    assert offered(Setting.FCPA_LATE, start(LEDUC), first=True) == (CALL, Raise(300), Raise(1200))


# --- Chances of winning ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("board", ["2c7d7hTsAc", "AcKcQcJc2d", "2c7d7hTs", "5s6s7s8s"])
def test_chances_on_a_board_are_those_of_counting(board):
    """Against forty hands and more, one by one, over all completions."""
    cards, hole = parse_cards(board), parse_cards("JhJd")
    found = Equities(HOLDEM).of(hole, tuple(cards))
    rng = np.random.default_rng(1)
    counted = 0
    for hand in rng.permutation(NUM_HANDS)[:60].tolist():
        theirs = hand_cards(hand)
        if {*theirs} & {*cards, *hole}:
            assert found.possible[hand] == found.wins[hand] == 0
            continue
        counted += 1
        ranks = rank_runouts(np.array([hole, theirs], np.uint8), np.array(cards, np.uint8), 5 - len(cards)).astype(int)
        won = (ranks[:, 0] > ranks[:, 1]).mean() + 0.5 * (ranks[:, 0] == ranks[:, 1]).mean()
        assert found.wins[hand] == pytest.approx(won, abs=1e-12)
        assert found.possible[hand] == 1
    assert counted > 40


def test_a_flop_is_counted_as_well():
    cards, hole = parse_cards("2c7d7h"), parse_cards("AhTh")
    found, theirs = Equities(HOLDEM).of(hole, tuple(cards)), parse_cards("9s9d")
    ranks = rank_runouts(np.array([hole, theirs], np.uint8), np.array(cards, np.uint8), 2).astype(int)
    assert len(ranks) == 990
    won = (ranks[:, 0] > ranks[:, 1]).mean() + 0.5 * (ranks[:, 0] == ranks[:, 1]).mean()
    assert found.wins[hand_index(*theirs)] == pytest.approx(won, abs=1e-12)


def test_chances_with_a_small_deck_are_those_of_counting():
    game, holes = LEDUC, hands_of(LEDUC)
    found = Equities(game)
    for hole in holes:
        before = found.of(hole, ())
        for number, theirs in enumerate(holes):
            left = [card for card in game.deck() if card not in (*hole, *theirs)]
            if hole == theirs:
                assert before.possible[number] == 0
                continue
            results = [np.sign(hand_rank((*hole, card)) - hand_rank((*theirs, card))) for card in left]
            assert before.wins[number] == pytest.approx(0.5 + 0.5 * np.mean(results))
    assert list(holes) == sorted(combinations(sorted(game.deck()), 1))


def test_a_deck_that_is_too_large_is_refused():
    text = "limit\nnumPlayers 2\nnumRounds 2\nblind 1 1\nraiseSize 2 4\nnumSuits 4\nnumRanks 13\nnumHoleCards 2\n"
    game = parse_game(text + "numBoardCards 0 3\nend gamedef").game
    with pytest.raises(ConfigError, match="expected hold'em with 52 cards, or a deck small enough"):
        Equities(game).of(hands_of(game)[0], ())


# --- Values ---------------------------------------------------------------------------------------------------------

RIVER: tuple[Card, ...] = tuple(parse_cards("2c7d7hTsAc"))


def river_range(hands: dict[str, float]) -> np.ndarray:
    weights = np.zeros(NUM_HANDS)
    for text, weight in hands.items():
        weights[parse_hand(text)] = weight
    return weights


def folding(hands: dict[str, float]):
    return lambda state: river_range(hands)


# Two queens on 2c7d7hTsAc, which beat nines and lose to aces.
NINES, ACE, OTHER_ACE = "9s9d", "AsKd", "AdKd"
RESPONSES = [
    # Owed 100 for a pot of 300: a quarter is what it takes, and a value of nothing is a fold.
    ("fc", {NINES: 1, ACE: 3}, "cc/cc/cc/r200", {}, FOLD),
    ("fc", {NINES: 100, ACE: 299}, "cc/cc/cc/r200", {}, CALL),
    ("fc", {NINES: 1, ACE: 1}, "cc/cc/cc/r20000", {}, CALL),
    # Hands that share a card with ours or the board do not count.
    ("fc", {NINES: 1, ACE: 2, "QhAd": 100, "AcKc": 100}, "cc/cc/cc/r200", {}, CALL),
    # It never wins: a bet of the pot needs more than half of the range to fold, all-in more than that.
    ("fcpa-late", {ACE: 1, OTHER_ACE: 1}, "cc/cc/cc/", {ACE: 1.0}, CALL),
    ("fcpa-late", {ACE: 3, OTHER_ACE: 1}, "cc/cc/cc/", {ACE: 1.0}, Raise(300)),
    ("fcpa-late", {ACE: 3, OTHER_ACE: 1}, "cc/cc/cc/", {ACE: 1.0, OTHER_ACE: 1.0}, Raise(300)),
    ("fcpa-late", {ACE: 3, OTHER_ACE: 1}, "cc/cc/cc/r200", {}, FOLD),
    # It always wins: everything in, though nobody folds.
    ("fcpa-late", {NINES: 1}, "cc/cc/cc/r200", {}, Raise(20_000)),
]


@pytest.mark.parametrize(("setting", "hands", "betting", "folds", "expected"), RESPONSES)
def test_responses_by_hand(setting, hands, betting, folds, expected):
    state = read_betting(start(HOLDEM), betting)
    response = LocalBestResponse(Setting(setting), Equities(HOLDEM))
    asked = river_range(hands), folding(folds)
    assert response.action(state, parse_cards("QhQs"), RIVER, *asked, first=False) == expected


def test_the_formula_of_a_bet():
    """Half of the range folds to it; of the rest it beats a third."""
    found, state = Equities(HOLDEM).of(parse_cards("QhQs"), RIVER), read_betting(start(HOLDEM), "cc/cc/cc/r300")
    weights = river_range({NINES: 1, ACE: 2, OTHER_ACE: 3})
    fp, wp, pot, asked, a = 0.5, 1 / 3, 400, 200, 800
    bet = _chips(Raise(1100), state, found, weights, folding({OTHER_ACE: 1.0}))
    assert bet == pytest.approx(fp * pot + (1 - fp) * (wp * (pot + a) - (1 - wp) * (asked + a)))
    assert _chips(CALL, state, found, weights, folding({})) == pytest.approx(1 / 6 * pot - 5 / 6 * asked)
    assert _chips(FOLD, state, found, weights, folding({})) == 0


def test_chips_that_the_agent_does_not_have_are_not_at_stake():
    text = "nolimit\nnumPlayers 2\nnumRounds 4\nstack 1000 5000\nblind 100 50\nfirstPlayer 2 1 1 1\nnumSuits 4\n"
    game = parse_game(text + "numRanks 13\nnumHoleCards 2\nnumBoardCards 0 3 1 1\nend gamedef").game
    state = read_betting(start(game), "cc/cc/cc/c")
    worst, equities = river_range({"AsKd": 1}), Equities(game)
    value = _chips(Raise(5000), state, equities.of(parse_cards("QhQs"), RIVER), worst, folding({}))
    assert value == -900  # of the 4,900 that it bets


# --- Ranges ---------------------------------------------------------------------------------------------------------


def test_ranges_follow_bayes():
    shares = np.zeros((2, NUM_HANDS))
    shares[0], shares[1] = 1.0, 0.0
    shares[:, 5] = 0.25, 0.75
    policy = Policy((FOLD, CALL), round_columns(shares), Origin("test"))
    folded, called = (after(np.ones(NUM_HANDS), policy, action) for action in (FOLD, CALL))
    assert called[5] == 1
    assert called.sum() == 1
    assert folded[5] == pytest.approx(0.25, abs=1e-4)
    with pytest.raises(EmptyRange, match="no hand of the range"):
        after(river_range({"AsKd": 1}), policy, CALL)


def test_imaginary_observations_of_a_showdown():
    state = read_betting(start(HOLDEM), "cc/cc/cc/r300c")
    found = Equities(HOLDEM).of(parse_cards("QhQs"), RIVER)
    weights = river_range({"9s9d": 1, "AsKd": 3, "QdQc": 4})
    assert showdown_chips(state, found, weights) == pytest.approx(300 * (1 - 3) / 8)


def test_columns_are_hands_in_their_fixed_order():
    holes = hands_of(HOLDEM)
    assert [hand_index(*hole) for hole in holes] == list(range(NUM_HANDS))
    assert apply(start(HOLDEM), CALL).actor == 0
    assert alike((CALL,), (1.0,), Origin("test")).likelihood(CALL).tolist() == [1.0]
