"""The policy type: rounding against exact fractions, every ticket of the sampler, columns, and the stored form."""

from __future__ import annotations

import tracemalloc
import zlib
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from math import comb
from random import Random

import numpy as np
import pytest
from chi_square import assert_frequencies
from hypothesis import given, settings
from hypothesis import strategies as st
from random_play import random_game

from machine.errors import ParatusError
from protocol.cards import parse_cards
from protocol.errors import IllegalAction
from protocol.game import MAX_HOLE_CARDS, load_game
from protocol.hands import hand_cards, hand_index, hands_of
from protocol.state import CALL, FOLD, Raise, apply, start
from protocol.wire import read_betting
from strategies.draws import Draws
from strategies.policy import (
    MAX_COLUMNS,
    SCALE,
    Origin,
    Policy,
    PolicyError,
    RaiseBetween,
    alike,
    check_policy,
    pack_weights,
    parse_support,
    round_columns,
    support_text,
    unpack_weights,
)

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
LIMIT = load_game("holdem.limit.2p.reverse_blinds").game
LEDUC = load_game("leduc").game
KUHN = load_game("kuhn.limit.3p").game

SIZES = st.integers(1, 2**31 - 1)
ENTRIES = (
    st.sampled_from([FOLD, CALL])
    | SIZES.map(Raise)
    | st.tuples(SIZES, SIZES).filter(lambda sizes: sizes[0] < sizes[1]).map(lambda sizes: RaiseBetween(*sizes))
)
SUPPORTS = st.lists(ENTRIES, min_size=1, max_size=6, unique=True).map(tuple)


def weights(*columns):
    """A table of weights from its columns."""
    return np.array(columns, dtype=np.uint16).T.copy()


# --- Rounding -------------------------------------------------------------------------------------------------------

NUMBERS = st.just(0.0) | st.floats(0, 1) | st.floats(0, allow_infinity=False) | st.integers(0, 9).map(float)
TABLES = st.integers(1, 6).flatmap(
    lambda rows: st.lists(st.lists(NUMBERS, min_size=rows, max_size=rows), min_size=1, max_size=5)
)


@given(TABLES)
@settings(max_examples=500)
def test_rounding_against_exact_fractions(columns):
    rounded = round_columns(np.array(columns).T)
    assert rounded.dtype == np.uint16
    for column, got in zip(columns, rounded.T.tolist(), strict=True):
        exact = [Fraction(number) for number in column]
        total = sum(exact)
        assert sum(got) == (SCALE if total else 0)
        for number, weight in zip(exact, got, strict=True):
            share = number * SCALE / total if total else Fraction(0)
            assert abs(weight - share) < 1 + Fraction(1, 10**9)  # the arithmetic is in doubles
            assert number or not weight
            assert share < SCALE or weight == SCALE


@given(TABLES)
def test_columns_are_rounded_each_for_itself(columns):
    together = round_columns(np.array(columns).T)
    alone = [round_columns(np.array([column]).T)[:, 0] for column in columns]
    assert together.T.tolist() == np.array(alone).tolist()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([1, 1, 1], [21845, 21845, 21845]),
        ([1, 1], [32768, 32767]),
        ([0.25, 0.75], [16384, 49151]),  # 16383.75 and 49151.25: the larger remainder is rounded up
        ([2, 0, 2], [32768, 0, 32767]),
        ([1e-9, 1], [0, 65535]),
        ([0, 5e-324], [0, 65535]),
        ([1e308, 1e308, 0, 1e308], [21845, 21845, 0, 21845]),
        ([0, 0, 0], [0, 0, 0]),
    ],
)
def test_rounding_by_hand(column, expected):
    assert round_columns(np.array(column, dtype=float)[:, None])[:, 0].tolist() == expected


def test_rounding_takes_single_precision_tables_of_all_hands():
    table = np.random.default_rng(5).dirichlet(np.ones(4), 1326).T.astype(np.float32)
    table[:, 100:151] = 0
    table[2, 500:] = 0
    rounded = round_columns(table)
    assert (np.delete(rounded.sum(axis=0, dtype=int), range(100, 151)) == SCALE).all()
    assert not rounded[table == 0].any()
    sums = table.sum(axis=0, dtype=float)
    assert np.abs(rounded / SCALE - table / np.where(sums > 0, sums, 1)).max() < 1.01 / SCALE
    assert round_columns(table.astype(">f8")).tolist() == round_columns(table.astype(float)).tolist()


@pytest.mark.parametrize(
    "table",
    [
        np.array([[0.5, -0.1], [0.5, 1.1]]),
        np.array([[np.nan], [1.0]]),
        np.array([[np.inf], [1.0]]),
        np.array([0.5, 0.5]),
        np.array(1.0),
        np.ones((2, 2, 2)),
    ],
    ids=str,
)
def test_rounding_refuses_what_is_no_table_of_probabilities(table):
    with pytest.raises(PolicyError, match=r"expected a table \[entry, hand\] of numbers from 0 up"):
        round_columns(table)


# --- What is a policy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("support", "table", "message"),
    [
        ((FOLD, CALL), np.array([[SCALE], [0]], dtype=np.int64), r"weights int64\(2, 1\): expected uint16\[2, n\]"),
        ((FOLD, CALL), np.array([[0.5], [0.5]]), "weights float64"),
        ((CALL,), weights([SCALE])[0], r"weights uint16\(1,\)"),
        ((CALL,), weights([0, SCALE]), r"weights uint16\(2, 1\): expected uint16\[1, n\]"),
        ((CALL, CALL), weights([0, SCALE]), "the same action twice"),
        ((Raise(300), FOLD, Raise(300)), weights([0, 0, SCALE]), "the same action twice"),
        ((FOLD, CALL), weights([SCALE, 1]), "add up to 65536: expected 65535"),
        ((FOLD, CALL), weights([SCALE, 0], [0, 0], [1, 2]), "add up to 3: expected 65535"),
        ((FOLD, CALL, Raise(4)), weights([SCALE, SCALE, 1]), "add up to 131071"),  # 65535 when added in 16 bits
        ((FOLD, CALL), weights([0, 0], [0, 0]), "no hand has a policy"),
        ((), np.zeros((0, 3), np.uint16), "no hand has a policy"),
        ((), np.zeros((0, 0), np.uint16), "no hand has a policy"),
        ((CALL,), np.zeros((1, 0), np.uint16), "no hand has a policy"),
    ],
)
def test_refused(support, table, message):
    with pytest.raises(PolicyError, match=message) as caught:
        Policy(support, table)
    assert isinstance(caught.value, ParatusError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("low", "high"), [(0, 5), (-3, 5), (5, 5), (6, 5)])
def test_a_spread_needs_two_sizes(low, high):
    with pytest.raises(PolicyError, match=f"raises from {low} to {high}: expected a range"):
        RaiseBetween(low, high)


def test_accepted():
    policy = Policy((FOLD, RaiseBetween(200, 300)), weights([SCALE, 0], [0, 0], [16384, 49151]))
    assert policy.origin == Origin("direct")
    assert policy.probabilities(0) == [1.0, 0.0]
    assert policy.probabilities(1) == [0.0, 0.0]
    assert policy.probabilities(2) == [16384 / 65535, 49151 / 65535]
    assert alike((CALL,), (1.0,), Origin("x", "y", 3)).probabilities(1325) == [1.0]


def test_one_spelling_of_a_policy_for_all_hands_is_made_once():
    assert alike((FOLD, CALL), (1.0, 1.0), Origin("x")) is alike((FOLD, CALL), (1.0, 1.0), Origin("x"))


@pytest.mark.parametrize(
    ("game", "betting", "entry"),
    [
        (HOLDEM, "", Raise(199)),
        (HOLDEM, "", Raise(20_001)),
        (HOLDEM, "", RaiseBetween(199, 300)),
        (HOLDEM, "", RaiseBetween(300, 20_001)),
        (HOLDEM, "cc/", FOLD),
        (HOLDEM, "r20000", Raise(20_000)),
        (HOLDEM, "f", CALL),
        (LIMIT, "", Raise(19)),
        (LIMIT, "rrr", Raise(50)),
        (LEDUC, "", FOLD),
    ],
)
def test_illegal_entries_are_found_even_without_weight(game, betting, entry):
    state = read_betting(start(game), betting)
    others = (CALL,) if entry != CALL else ()
    table = weights([0, SCALE] if others else [SCALE])
    with pytest.raises(IllegalAction):
        check_policy(Policy((entry, *others), table), state)


def test_legal_entries_pass():
    everything = (FOLD, CALL, Raise(200), Raise(20_000), RaiseBetween(200, 20_000))
    check_policy(alike(everything, (1.0,) * 5, Origin("x")), start(HOLDEM))
    check_policy(alike((FOLD, CALL, Raise(20)), (1.0,) * 3, Origin("x")), start(LIMIT))


# --- Sampling -------------------------------------------------------------------------------------------------------


class Tickets(Draws):
    """Draws whose numbers are given, with the bounds that were asked for."""

    def __init__(self, *given: int) -> None:
        self.given = list(given)
        self.bounds = []

    def below(self, bound: int) -> int:
        self.bounds.append(bound)
        return self.given.pop(0)


@pytest.mark.parametrize(
    "column", [[10_000, 0, 1, 55_534], [0, SCALE, 0, 0], [1, 0, 0, SCALE - 1], [16384, 16384, 16384, 16383]]
)
def test_every_ticket_goes_where_the_weights_say(column):
    support = (FOLD, CALL, Raise(300), Raise(400))
    policy = Policy(support, weights([SCALE, 0, 0, 0], column))
    drawn = [policy.sample(1, Tickets(ticket)) for ticket in range(SCALE)]
    counts = Counter(drawn)
    assert [counts[entry] for entry in support] == column
    assert drawn == sorted(drawn, key=support.index)  # in the support's order: the boundaries are where they should be


def test_a_spread_draws_every_size_both_bounds_included():
    policy = Policy((CALL, RaiseBetween(200, 204)), weights([1, SCALE - 1]))
    assert policy.sample(0, Tickets(0)) == CALL
    for offset in range(5):
        draws = Tickets(1, offset)
        assert policy.sample(0, draws) == Raise(200 + offset)
        assert draws.bounds == [SCALE, 5]


def test_sampled_frequencies():
    policy = Policy((FOLD, CALL, RaiseBetween(200, 203)), weights([20_000, 5_535, 40_000]))
    counts = Counter(policy.sample(7, Draws(3, "frequencies", hand, 0, "action")) for hand in range(50_000))
    outcomes = [FOLD, CALL, *map(Raise, range(200, 204))]
    shares = [20_000 / SCALE, 5_535 / SCALE, *[10_000 / SCALE] * 4]
    assert_frequencies([counts[outcome] for outcome in outcomes], shares)
    assert set(counts) == set(outcomes)


def test_the_column_of_the_hand_is_sampled():
    policy = Policy((FOLD, CALL), weights([SCALE, 0], [0, SCALE], [0, 0]))
    for ticket in (0, SCALE - 1):
        assert policy.sample(0, Tickets(ticket)) == FOLD
        assert policy.sample(1, Tickets(ticket)) == CALL
        with pytest.raises(PolicyError, match="hand 2 has no policy: the board makes it impossible"):
            policy.sample(2, Tickets(ticket))


# --- Columns --------------------------------------------------------------------------------------------------------


def test_columns_of_holdem_are_the_hands_of_the_protocol():
    hands = hands_of(HOLDEM)
    assert len(hands) == 1326
    for index in range(1326):
        high, low = hand_cards(index)
        assert hands.column((high, low)) == hands.column((low, high)) == hand_index(high, low) == index


def test_columns_of_small_decks_by_hand():
    leduc, kuhn = hands_of(LEDUC), hands_of(KUHN)
    assert [leduc.column(parse_cards(card)) for card in ("Qh", "Qs", "Kh", "Ks", "Ah", "As")] == list(range(6))
    assert [kuhn.column(parse_cards(card)) for card in ("Js", "Qs", "Ks", "As")] == list(range(4))


@given(st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_columns_are_a_bijection_in_colex_order(rng):
    game = random_game(Random(rng.getrandbits(32)))
    deck = sorted(game.deck())
    hands = sorted(combinations(deck, game.num_hole_cards), key=lambda hand: hand[::-1])
    assert len(hands) == len(hands_of(game)) <= MAX_COLUMNS
    some = range(len(hands)) if len(hands) < 500 else rng.sample(range(len(hands)), 500)
    for column in some:
        for order in permutations(hands[column]):
            assert hands_of(game).column(order) == column


def test_the_bound_on_columns():
    assert MAX_COLUMNS == comb(52, MAX_HOLE_CARDS) == 22_100


# --- The stored form ------------------------------------------------------------------------------------------------


def test_support_text_by_hand():
    support = (FOLD, CALL, Raise(300), RaiseBetween(400, 20_000))
    assert support_text(support) == "f,c,r300,r400-20000"
    assert parse_support("f,c,r300,r400-20000") == support


@given(SUPPORTS)
def test_support_text_round_trip(support):
    assert parse_support(support_text(support)) == support


@pytest.mark.parametrize(
    "text",
    [
        *("", ",", "f,", "x", "F", "fc", "f, c", "f\0", "c\n", "r", "r-", "r3-", "r-3", "r3-4-5", "r5-4", "r4-4", "r0"),
        *("r07", "r1_0", "r+3", "r٣", "r3 ", "r" + "9" * 5000),
    ],
)
def test_support_text_refused(text):
    with pytest.raises(PolicyError) as caught:
        parse_support(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@given(st.text("fcr0123456789,-", max_size=30))
def test_support_text_has_one_spelling(text):
    try:
        support = parse_support(text)
    except PolicyError:
        return
    assert support_text(support) == text


@given(st.integers(1, 5), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_weights_round_trip(entries, columns, seed):
    table = np.random.default_rng(seed).integers(0, 2**16, (entries, columns), dtype=np.uint16)
    back = unpack_weights(pack_weights(table), entries, columns)
    assert back.dtype == np.uint16
    assert back.tolist() == table.tolist()
    assert unpack_weights(pack_weights(np.asfortranarray(table)), entries, columns).tolist() == table.tolist()


def test_weights_are_little_endian():
    assert zlib.decompress(pack_weights(weights([1, 0x0203]))) == b"\x01\x00\x03\x02"
    assert zlib.decompress(pack_weights(weights([1, 0x0203]).astype(">u2"))) == b"\x01\x00\x03\x02"


def test_no_damaged_byte_goes_unnoticed():
    table = round_columns(np.random.default_rng(1).dirichlet(np.ones(3), 6).T)
    blob = pack_weights(table)
    refused = 0
    for place in range(len(blob)):
        for value in range(256):
            damaged = blob[:place] + bytes([value]) + blob[place + 1 :]
            try:
                read = unpack_weights(damaged, 3, 6)
            except PolicyError:
                refused += 1
            else:
                assert read.tolist() == table.tolist()
    assert refused > 250 * len(blob)  # a few bits of zlib's header say nothing about the data


def test_truncated_and_overlong_blobs_are_refused():
    blob = pack_weights(weights([SCALE, 0], [0, SCALE]))
    for length in range(len(blob)):
        with pytest.raises(PolicyError):
            unpack_weights(blob[:length], 2, 2)
    with pytest.raises(PolicyError):
        unpack_weights(blob + b"\0", 2, 2)
    for entries, columns in ((2, 1), (1, 2), (2, 3), (3, 2)):
        with pytest.raises(PolicyError, match=f"do not hold {entries * columns * 2} bytes"):
            unpack_weights(blob, entries, columns)


@pytest.mark.parametrize("columns", [0, -1, -(2**63), MAX_COLUMNS + 1, 2**62])
def test_impossible_numbers_of_columns_are_refused(columns):
    with pytest.raises(PolicyError, match=rf"stored weights of {columns} hands: expected 1 to 22100"):
        unpack_weights(pack_weights(weights([SCALE])), 1, columns)


def test_a_bomb_does_not_go_off():
    bomb = zlib.compress(bytes(64 << 20), 9)
    tracemalloc.start()
    try:
        with pytest.raises(PolicyError, match="do not hold 7956 bytes"):
            unpack_weights(bomb, 3, 1326)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_likelihood_is_the_share_of_tickets() -> None:
    """Of every action that can be drawn, for every hand, against the table's own entries; nothing is left over."""
    table = np.array([[0, 20_000], [5_535, 5_535], [60_000, 40_000]], np.uint16)
    policy = Policy((FOLD, Raise(400), RaiseBetween(300, 499)), table, Origin("x"))
    assert policy.likelihood(FOLD).tolist() == pytest.approx([0, 20_000 / SCALE])
    assert policy.likelihood(CALL).tolist() == [0, 0]
    assert policy.likelihood(Raise(300)).tolist() == pytest.approx([300 / SCALE, 200 / SCALE])
    assert policy.likelihood(Raise(400)).tolist() == pytest.approx([5_835 / SCALE, 5_735 / SCALE])
    assert policy.likelihood(Raise(500)).tolist() == [0, 0]
    actions = [FOLD, *(Raise(to) for to in range(290, 510))]
    total = np.sum([policy.likelihood(action) for action in actions], axis=0, dtype=np.float64)
    assert total.tolist() == pytest.approx([1, 1])


def test_a_policy_must_fit_the_hands_of_the_spot() -> None:
    board = parse_cards("7h8cJs")
    holds = np.array([bool(set(hand_cards(index)) & set(board)) for index in range(1326)])
    good = np.where(holds, 0, SCALE).astype(np.uint16)[None, :]
    flop = apply(apply(start(HOLDEM), CALL), CALL)
    check_policy(Policy((CALL,), good.copy()), flop, board)
    for wrong, said in (
        (np.full((1, 1326), SCALE, np.uint16), "for no other"),
        (good * 0 + good[:, ::-1], "every hand"),
    ):
        with pytest.raises(PolicyError, match=said):
            check_policy(Policy((CALL,), wrong.astype(np.uint16)), flop, board)
    with pytest.raises(PolicyError, match="a policy for 5 hands"):
        check_policy(Policy((CALL,), np.full((1, 5), SCALE, np.uint16)), flop, board)


def test_weights_cannot_be_changed_afterwards() -> None:
    policy = alike((FOLD, CALL), (1.0, 1.0), Origin("x"))
    with pytest.raises(ValueError, match="read-only"):
        policy.weights[0] = 0
