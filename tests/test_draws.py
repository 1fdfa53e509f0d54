"""Keyed draws: the key decides everything, the numbers are even, and no two keys are one."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from chi_square import assert_frequencies, critical_value
from hypothesis import given
from hypothesis import strategies as st

from strategies.draws import Draws

KEY = (7, "match", 3, 2, "action")
COUNTS = st.integers(0, 2**63)
TEXTS = st.text(st.characters(), max_size=6) | st.text("\0'\\\"01\udcff", max_size=6)
KEYS = st.tuples(COUNTS, TEXTS, COUNTS, COUNTS, TEXTS)


def words(key, count=20):
    draws = Draws(*key)
    return [draws.word() for _ in range(count)]


def test_the_same_key_draws_the_same_numbers_whatever_else_is_drawn():
    expected = words(KEY, 40)
    first, other, second = Draws(*KEY), Draws(*KEY[:-1], "strategy"), Draws(*KEY)
    mixed = []
    for _ in range(40):
        mixed.append(first.word())
        other.word()
        assert second.word() == mixed[-1]
    assert mixed == expected


@pytest.mark.parametrize(
    "other",
    [
        (8, "match", 3, 2, "action"),
        (7, "matcH", 3, 2, "action"),
        (7, "", 3, 2, "action"),
        (7, "match", 4, 2, "action"),
        (7, "match", 3, 3, "action"),
        (7, "match", 3, 2, "strategy"),
    ],
)
def test_every_part_of_the_key_counts(other):
    assert not set(words(KEY)) & set(words(other))


def test_numbers_stay_as_they_are():
    # What a stored match was played with: if these change, no match recorded before can be replayed.
    assert words(KEY, 3) == [17708088524786546622, 4237996964896651963, 8114699588830999045]


def test_a_long_sequence_does_not_repeat():
    assert len(set(words(KEY, 10_000))) == 10_000  # two equal among so few: chance 3e-12


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ((0, "1", 23, 0, ""), (0, "12", 3, 0, "")),
        ((1, "23", 0, 0, ""), (12, "3", 0, 0, "")),
        ((0, "m", 1, 23, ""), (0, "m", 12, 3, "")),
        ((0, "a\0" + "1", 2, 3, "x"), (0, "a", 1, 2, "3\0x")),
        ((0, "a\0" + "1", 2, 3, "x"), (0, "a", 12, 3, "x")),
        ((0, "a'\0" + "1\0" + "2", 3, 4, "x"), (0, "a", 1, 2, "3")),
        ((0, "\0", 0, 0, ""), (0, "\\x00", 0, 0, "")),
        ((0, "\xff", 0, 0, ""), (0, "\\xff", 0, 0, "")),
        ((0, "\udcff", 0, 0, ""), (0, "\xff", 0, 0, "")),
        ((0, "\u00e9", 0, 0, ""), (0, "e\u0301", 0, 0, "")),  # é, composed and decomposed
    ],
)
def test_keys_that_look_alike_are_two(one, two):
    assert words(one) != words(two)


@given(KEYS, KEYS)
def test_different_keys_draw_differently(one, two):
    assert (words(one, 2) == words(two, 2)) is (one == two)


def test_a_match_name_that_is_no_utf8_still_draws():
    # Names from the command line keep undecodable bytes as lone surrogates.
    assert 0 <= Draws(0, b"\xff".decode("utf-8", "surrogateescape"), 0, 0, "action").word() < 2**64


def test_all_bits_are_even():
    drawn = words(KEY, 20_000)
    for bit in range(64):
        ones = sum(word >> bit & 1 for word in drawn)
        assert_frequencies([ones, len(drawn) - ones], [0.5, 0.5])


def test_neighbouring_keys_and_words_are_independent():
    # One draw a hand, as a match makes them, and the pairs of words that follow each other in one sequence.
    hands = [Draws(0, "m", hand, 0, "action").below(4) for hand in range(20_001)]
    sequence = [word % 4 for word in words(KEY, 20_001)]
    for drawn in (hands, sequence):
        pairs = list(pairwise(drawn))
        assert_frequencies([pairs.count(pair) for pair in product(range(4), repeat=2)], [1 / 16] * 16)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10, 52, 1326])
def test_below_is_even(bound):
    draws, counts = Draws(1, "below", bound, 0, "test"), [0] * bound
    for _ in range(max(20_000, 20 * bound)):
        counts[draws.below(bound)] += 1
    assert_frequencies(counts, [1 / bound] * bound)


def test_below_has_no_modulo_bias():
    # The remainder of a 64-bit number by 3 × 2**62 would be in the first third half of the time.
    draws, counts = Draws(0, "bias", 0, 0, "test"), [0, 0, 0]
    for _ in range(20_000):
        counts[draws.below(3 << 62) >> 62] += 1
    assert_frequencies(counts, [1 / 3] * 3)


class Words(Draws):
    """Draws with given words."""

    def __init__(self, *given: int) -> None:
        self.given = list(given)

    def word(self) -> int:
        return self.given.pop(0)


def test_below_refuses_the_words_past_the_last_whole_multiple():
    top = 2**64
    assert top % 10 == 6
    assert Words(top - 7).below(10) == 9  # the last word of the last whole ten
    assert Words(top - 6, top - 1, 3).below(10) == 3
    assert Words(top - 1).below(1) == 0
    assert Words(top - 1).below(2**63) == 2**63 - 1
    assert Words(top - 1, top - 2).below(top - 1) == top - 2


@pytest.mark.parametrize("bound", [0, -1, 2**64, 2**70])
def test_below_refuses_bounds(bound):
    with pytest.raises(ValueError, match=rf"bound {bound}: expected 1 to 2\*\*64 - 1"):
        Draws(*KEY).below(bound)


# --- The yardstick itself -------------------------------------------------------------------------------------------


def test_critical_values():
    # scipy.stats.chi2.isf(scipy.stats.norm.sf(5), df)
    for freedom, exact in ((1, 26.34), (2, 30.13), (15, 59.68), (99, 185.97), (1325, 1598.58)):
        assert exact < critical_value(freedom) < exact * (1.2 if freedom < 3 else 1.02)


def test_the_yardstick_finds_faults():
    assert_frequencies([33_400, 33_200, 33_400], [1 / 3] * 3)
    for counts in ([0, 0, 100_000], [32_500, 33_000, 34_500], [33_333, 33_333, 33_333, 1]):
        with pytest.raises(AssertionError):
            assert_frequencies(counts, [1 / 3] * 3 + [0.0] * (len(counts) - 3))
    with pytest.raises(AssertionError, match="too few"):
        assert_frequencies([1, 1], [0.5, 0.5])
