"""Strengths and features of hands against counting them out, their distances against optimal transport."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
import pytest
from abstractions import rivers
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.canonical_forms import board_keys, canonical_board
from scipy.optimize import linear_sum_assignment
from scipy.stats import wasserstein_distance
from variants import some_of

from blueprints.cards.features import (
    BOARD_CARDS,
    FLOP,
    LIVE_HANDS,
    RIVER,
    TURN,
    Features,
    hand_permutations,
    keys,
    live_hands,
    multiplicities,
    turn_strengths,
)
from blueprints.cards.kernels.lanes import HANDS
from blueprints.cards.kernels.nearest import GRID
from blueprints.cards.kernels.quantiles import exchanges
from blueprints.cards.kernels.strengths import DEAD, FULL, RIVER_STRENGTH, TURN_STRENGTH, stretched
from blueprints.cards.settings import CardSettings
from blueprints.cards.work import PieceWork
from protocol.cards import NUM_CARDS, parse_cards
from protocol.hands import NUM_CLASSES, SUIT_PERMUTATIONS, hand_cards, hand_class, parse_class, parse_hand
from protocol.kernels import rank_hands
from protocol.ranking import hand_rank

SETTINGS = CardSettings(quantiles=8, opponents=4, halvings=3)
OPPONENTS = (np.arange(NUM_CLASSES) % 4).astype(np.uint8)
SCALE = stretched(SETTINGS.emphasis, SETTINGS.halvings)
BOARDS = ["2c7dKhAsTd", "9h8h2cKs4h", "AsAhAdKcKd", "5c5d5h5s2c", "TsJsQsKsAs"]


def _deck_without(*cards):
    return [card for card in range(NUM_CARDS) if card not in cards]


def _counted(board, hand):
    """Twice the wins and once the ties of a hand on a board of five cards."""
    own = hand_rank([*board, *hand])
    others = [hand_rank([*board, *other]) for other in combinations(_deck_without(*board, *hand), 2)]
    return sum(2 * (own > other) + (own == other) for other in others)


def _strength(board, hand):
    """The same, from the ranks of all hands at once."""
    others = [[*board, *other] for other in combinations(_deck_without(*board, *hand), 2)]
    ranks = rank_hands(np.array([*others, [*board, *hand]], np.uint8)).astype(int)
    return int((2 * (ranks[-1] > ranks[:-1]) + (ranks[-1] == ranks[:-1])).sum())


def _from_table(table, street, board, hand):
    _, permutation = canonical_board(board)
    place = np.searchsorted(keys(street), board_keys(np.array([board], np.uint8))[0])
    row = SUIT_PERMUTATIONS.index(permutation)
    return int(table[place, hand_permutations()[row, parse_hand(hand)]])


@lru_cache(maxsize=1)
def _turns():
    work = PieceWork()
    return turn_strengths(rivers(), SCALE, work)


@lru_cache(maxsize=8)
def _made(chosen, opponents):
    """Features keep the strengths on the turn that they have computed once."""
    return Features(chosen, np.array(opponents, np.uint8), rivers())


def _features(street, board, hands, chosen=SETTINGS, opponents=OPPONENTS):
    """The rows of some hands on a board, of whole numbers."""
    places = live_hands(board).tolist()
    picks = np.array([[places.index(parse_hand(hand)) for hand in hands]], np.int16)
    work = PieceWork(1)
    points = _made(chosen, tuple(opponents)).sample(street, np.array([sorted(board)], np.uint8), picks, work)
    return points.rows().astype(int)


# --- Strengths


@pytest.mark.parametrize("board", BOARDS)
def test_river_strengths_are_what_one_counts(board):
    cards = parse_cards(board)
    hands = np.random.default_rng(1).choice(live_hands(cards), 12, replace=False).tolist()
    table = rivers()
    _, permutation = canonical_board(cards)
    place = np.searchsorted(keys(RIVER), board_keys(np.array([cards], np.uint8))[0])
    images = hand_permutations()[SUIT_PERMUTATIONS.index(permutation)]
    counted = [_counted(cards, hand_cards(hand)) for hand in hands]
    assert table[place, images[hands]].tolist() == counted
    assert (table[place] == DEAD).sum() == 1326 - 1081
    assert table[place][table[place] != DEAD].max() <= RIVER_STRENGTH


@pytest.mark.parametrize(("board", "hand"), [("2c7dKhAs", "KdQd"), ("9h8h2cKs", "JhTh"), ("AsAhAdKc", "AcKd")])
def test_turn_strengths_are_sums_over_rivers(board, hand):
    cards, held = parse_cards(board), parse_cards(hand)
    total = sum(int(SCALE[_strength([*cards, river], held)]) for river in _deck_without(*cards, *held))
    assert _from_table(_turns(), TURN, cards, hand) == total // 16


def test_every_live_hand_has_a_strength_and_no_other():
    for street, table in ((TURN, _turns()), (RIVER, rivers())):
        assert ((table != DEAD).sum(axis=1) == LIVE_HANDS[street]).all()


def test_all_strengths_of_a_board_are_as_many_wins_as_losses():
    table = rivers()[::997].astype(int)
    sums = np.where(table != DEAD, table, 0).sum(axis=1)
    assert (sums == 1081 * 990).all()


def test_the_stretched_scale():
    plain = stretched(0.0, 4)
    assert plain[: RIVER_STRENGTH + 1].tolist() == list(range(0, FULL + 1, 11))
    steps = np.diff(SCALE[: RIVER_STRENGTH + 1].astype(int))
    assert SCALE[0] == 0
    assert SCALE[RIVER_STRENGTH] == FULL
    assert SCALE[DEAD] == plain[DEAD] == DEAD
    # Slopes √(1 + ½ (4 + 16 + … )) by quarter, relative to the lowest.
    slopes = [steps[begin : begin + 100].mean() for begin in (0, 800, 1100, 1600, 1800)]
    expected = [1, 1, 3**0.5, 11**0.5, 43**0.5]
    assert np.array(slopes) / slopes[0] == pytest.approx(expected, rel=0.01)


# --- Boards


@pytest.mark.parametrize(("street", "boards"), [(FLOP, 1755), (TURN, 16_432), (RIVER, 134_459)])
def test_canonical_boards_stand_for_all_boards(street, boards):
    assert len(keys(street)) == len(multiplicities(street)) == boards
    assert multiplicities(street).sum() == comb(52, BOARD_CARDS[street])


def test_multiplicities_are_what_one_counts():
    flops = np.array(list(combinations(range(52), 3)), np.uint8)
    counted = Counter(board_keys(flops).tolist())
    assert [counted[key] for key in keys(FLOP).tolist()] == multiplicities(FLOP).tolist()


# --- Sorting


@pytest.mark.parametrize("count", [1, 2, 3, 8, 46, 48, 49, 1176])
def test_networks_sort(count):
    """By the zero-one principle a network that sorts all columns of zeros and ones sorts everything."""
    draws = np.random.default_rng(count)
    columns = (draws.random((count, 500)) < draws.random(500)).astype(np.uint8)
    columns = np.concatenate([columns, draws.integers(0, 100, (count, 100), np.uint8)], axis=1)
    expected = np.sort(columns, axis=0)
    for low, high in exchanges(count) // HANDS:
        pair = columns[[low, high]]
        columns[low], columns[high] = pair.min(axis=0), pair.max(axis=0)
    assert np.array_equal(columns, expected)


# --- Quantile functions


def _quantile_function(values, quantiles, scale):
    """Means over equal shares, rounded half to even, by repeating every value."""
    shares = np.repeat(np.sort(values), quantiles).reshape(quantiles, -1).sum(axis=1)
    return np.rint(shares * scale).astype(int)


HANDS_ON_BOARDS = [("2c7dKhAs", ["AhAd", "3d3c", "QsJs"]), ("9h8h2cKs", ["JhTh", "Ah3h", "2d3d"])]


@pytest.mark.parametrize(("board", "hands"), HANDS_ON_BOARDS)
def test_turn_features_are_quantiles_over_rivers(board, hands):
    cards = parse_cards(board)
    for hand, row in zip(hands, _features(TURN, cards, hands), strict=True):
        left = _deck_without(*cards, *parse_cards(hand))
        values = [SCALE[_from_table(rivers(), RIVER, (*cards, river), hand)] for river in left]
        expected = _quantile_function(values, SETTINGS.quantiles, GRID / (46 * FULL)) - GRID // 2
        assert row.tolist() == expected.tolist()


@pytest.mark.parametrize(("board", "hands"), [(board[:6], hands) for board, hands in HANDS_ON_BOARDS])
@pytest.mark.parametrize("share", some_of([0.5, 0.0, 1.0]))
def test_flop_features_are_quantiles_over_turns_and_over_run_outs(board, hands, share):
    cards = parse_cards(board)
    chosen = SETTINGS.model_copy(update={"turn_share": share})
    for hand, row in zip(hands, _features(FLOP, cards, hands, chosen), strict=True):
        left = _deck_without(*cards, *parse_cards(hand))
        turns = [_from_table(_turns(), TURN, (*cards, turn), hand) for turn in left]
        last = [SCALE[_from_table(rivers(), RIVER, (*cards, *both), hand)] for both in combinations(left, 2)]
        units = GRID * share**0.5, GRID * (1 - share) ** 0.5
        expected = [
            _quantile_function(turns, 8, units[0] / (47 * TURN_STRENGTH)) - round(units[0] / 2),
            _quantile_function(last, 8, units[1] / (1081 * FULL)) - round(units[1] / 2),
        ]
        assert row.tolist() == np.concatenate(expected).tolist()


def test_the_distance_is_that_of_optimal_transport():
    """Squared cost, between the averages of 16 shares; the whole distributions are at least as far apart."""
    cards = parse_cards("9h8h2cKs")
    chosen = CardSettings(quantiles=16, emphasis=0.0)
    hands = ["JhTh", "5s5c", "Ah3h", "AsKd"]
    rows = _features(TURN, cards, hands, chosen, OPPONENTS % 8) / GRID
    for one, two in combinations(range(len(hands)), 2):
        costs = (rows[one][:, None] - rows[two]) ** 2
        pairs = linear_sum_assignment(costs)
        ours = np.sqrt(((rows[one] - rows[two]) ** 2).mean())
        assert ours == pytest.approx(np.sqrt(costs[pairs].mean()))
        values = [
            np.array([_from_table(rivers(), RIVER, (*cards, river), hands[hand]) / RIVER_STRENGTH
                      for river in _deck_without(*cards, *parse_cards(hands[hand]))])
            for hand in (one, two)
        ]  # fmt: skip
        whole = (values[0][:, None] - values[1]) ** 2
        exact = np.sqrt(whole[linear_sum_assignment(whole)].mean())
        assert exact - 0.02 < ours < exact + 0.001  # averaging only brings them closer; the grid rounds
        assert ours > wasserstein_distance(*values) - 0.02  # W1 is never above W2


def test_a_draw_is_far_from_a_pair_of_the_same_mean():
    cards = parse_cards("9h8h2c")
    draw, pair = _features(FLOP, cards, ["Jh3h", "5s5c"], CardSettings(emphasis=0.0), OPPONENTS % 8) / GRID
    means = draw[16:].mean() / 0.5**0.5, pair[16:].mean() / 0.5**0.5
    assert abs(means[0] - means[1]) < 0.02
    assert np.sqrt(((draw - pair) ** 2).sum() / 16) > 0.1


# --- Equity against clusters of hands


@pytest.mark.parametrize("board", BOARDS)
def test_river_features_are_equities_against_groups(board):
    cards = parse_cards(board)
    hands = np.random.default_rng(2).choice(live_hands(cards), 5, replace=False).tolist()
    names = ["".join(_text(card) for card in hand_cards(hand)) for hand in hands]
    ranks = {hand: hand_rank([*cards, *hand_cards(hand)]) for hand in live_hands(cards).tolist()}
    stronger = {rank: sum(other > rank for other in ranks.values()) for rank in set(ranks.values())}
    for hand, row in zip(hands, _features(RIVER, cards, names), strict=True):
        own, groups = ranks[hand], SETTINGS.opponents + SETTINGS.halvings
        won, held = [0] * groups, [0] * groups
        for other in combinations(_deck_without(*cards, *hand_cards(hand)), 2):
            number = _index(other)
            rank = ranks[number]
            halves = [2**k * stronger[rank] < len(ranks) for k in range(1, SETTINGS.halvings + 1)]
            of_groups = [OPPONENTS[hand_class(number)] == cluster for cluster in range(SETTINGS.opponents)] + halves
            for group in np.flatnonzero(of_groups):
                won[group] += 2 * (own > rank) + (own == rank)
                held[group] += 2
        strength = sum(won[: SETTINGS.opponents]) / RIVER_STRENGTH
        equities = [w / h if h else strength for w, h in zip(won, held, strict=True)]
        assert row.tolist() == [round(equity * GRID) - GRID // 2 for equity in equities]


def test_where_no_hand_of_a_cluster_is_left_the_strength_against_all_stands_in():
    opponents = np.zeros(NUM_CLASSES, np.uint8)
    opponents[parse_class("AA")] = 1
    cards = parse_cards("AsAhAdKcKd")
    chosen = CardSettings(opponents=2, halvings=0)
    (row,) = _features(RIVER, cards, ["AcQd"], chosen, opponents)
    strength = _counted(cards, parse_cards("AcQd"))
    assert row.tolist() == [round(strength / RIVER_STRENGTH * GRID) - GRID // 2] * 2


def _text(card):
    return "23456789TJQKA"[card >> 2] + "cdhs"[card & 3]


def _index(cards):
    return parse_hand("".join(map(_text, cards)))


# --- Suits


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(52)), st.sampled_from(SUIT_PERMUTATIONS), st.sampled_from([FLOP, TURN, RIVER]))
def test_features_do_not_depend_on_suits(cards, permutation, street):
    board, hand = cards[: BOARD_CARDS[street]], cards[5:7]
    images = [card & ~3 | permutation[card & 3] for card in (*board, *hand)]
    other, held = images[: len(board)], images[len(board) :]
    rows = [_features(street, shown, ["".join(map(_text, own))]) for shown, own in ((board, hand), (other, held))]
    assert rows[0].tolist() == rows[1].tolist()
