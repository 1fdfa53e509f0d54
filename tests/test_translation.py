"""The pseudo-harmonic mapping: the formula, what the paper says of it, and the edges."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from chi_square import assert_frequencies
from hypothesis import assume, given
from hypothesis import strategies as st

from blueprints.translation import fraction, raise_to, smaller_probability, translate
from strategies.draws import Draws
from strategies.players.blueprint import draw_of

sizes = st.floats(0, 400, allow_nan=False)


def median_bet(a, b):
    """The bet that is taken for a as often as for b."""
    return (a + b + 2 * a * b) / (a + b + 2)


def ordered(count):
    return st.lists(sizes, min_size=count, max_size=count).map(sorted).filter(lambda each: each[-1] - each[0] > 1e-3)


@given(ordered(3))
def test_a_probability(bets):
    a, x, b = bets
    assert 0 <= smaller_probability(a, x, b) <= 1 + 1e-12


@given(ordered(2))
def test_the_sizes_themselves_stay_what_they_are(bets):
    a, b = bets
    assert smaller_probability(a, a, b) == pytest.approx(1)
    assert smaller_probability(a, b, b) == 0


@given(ordered(4))
def test_larger_bets_are_seldom_taken_for_the_smaller_size(bets):
    a, x, y, b = bets
    assume(y - x > 1e-6 and b - a > 1e-3)
    assert smaller_probability(a, x, b) > smaller_probability(a, y, b)


@given(ordered(2))
def test_the_median(bets):
    a, b = bets
    middle = median_bet(a, b)
    assert a <= middle <= b
    assert middle <= (a + b) / 2 + 1e-9
    assert smaller_probability(a, middle, b) == pytest.approx(0.5)


@given(ordered(3))
def test_calls_stay_right(bets):
    """What the formula is for: against a bet x the right share of calls is 1 / (1 + x), and so is that of the mix."""
    a, x, b = bets
    share = smaller_probability(a, x, b)
    assert share / (1 + a) + (1 - share) / (1 + b) == pytest.approx(1 / (1 + x))


@pytest.mark.parametrize(
    ("a", "x", "b", "share"),
    [
        (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(1, 2)),
        (Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3, 7)),
        (Fraction(1), Fraction(3), Fraction(50), Fraction(47, 98)),
    ],
)
def test_by_hand(a, x, b, share):
    assert smaller_probability(a, x, b) == share


def test_median_by_hand():
    assert median_bet(Fraction(0), Fraction(1)) == Fraction(1, 3)
    assert median_bet(Fraction(1, 2), Fraction(1)) == Fraction(5, 7)


@given(st.lists(sizes, min_size=1, max_size=6, unique=True).map(sorted), sizes, st.floats(0, 1, exclude_max=True))
def test_what_a_bet_is_taken_for_is_a_neighbour(offered, x, draw):
    place = translate(x, offered, draw)
    if x in offered:
        assert offered[place] == x
    below = [number for number, size in enumerate(offered) if size <= x]
    above = [number for number, size in enumerate(offered) if size >= x]
    assert place in {*below[-1:], *above[:1]}


def test_draws_below_the_probability_take_the_smaller():
    share = smaller_probability(0.5, 0.75, 1.0)
    assert [translate(0.75, [0.5, 1.0], draw) for draw in (0.0, share - 1e-9, share, 1 - 1e-9)] == [0, 0, 1, 1]
    assert translate(0.1, [0.5, 1.0], 0.99) == 0
    assert translate(7.0, [0.5, 1.0], 0.0) == 1
    assert translate(0.3, [0.5], 0.5) == 0


def test_frequencies_over_the_hands_of_a_match():
    """Drawn as a strategy draws them."""
    offered, x, hands = [0.0, 0.5, 1.0, 4.0], 1.8, 5000
    counts = [0] * len(offered)
    for hand in range(hands):
        counts[translate(x, offered, draw_of(Draws(1, "match", hand, 3, "strategy"))(2))] += 1
    share = smaller_probability(1.0, x, 4.0)
    assert counts[:2] == [0, 0]
    assert_frequencies(counts[2:], [share, 1 - share])


def test_fractions_of_the_pot():
    """A bet of the pot is 1: by menus, the call plus the pot after it."""
    assert fraction(300, (100, 50), 1) == 1.0  # 50 to call makes 200
    assert fraction(900, (300, 100), 1) == 1.0
    assert fraction(450, (300, 300), 0) == 0.25
    assert raise_to(1.0, (100, 50), 1) == 300
    assert raise_to(0.333, (100, 100), 0) == 167


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 20_000), st.integers(0, 1))
def test_fractions_and_back(mine, theirs, more, actor):
    to = max(mine, theirs) + more
    assert raise_to(fraction(to, (mine, theirs), actor), (mine, theirs), actor) == to


def test_draws_are_of_the_place_in_the_hand():
    one = draw_of(Draws(1, "match", 7, 0, "strategy"))
    later = draw_of(Draws(1, "match", 7, 5, "another purpose"))
    numbers = [one(place) for place in range(50)]
    assert numbers == [later(place) for place in range(50)] == [one(place) for place in range(50)]
    assert len(set(numbers)) == 50
    assert all(0 <= number < 1 for number in numbers)
    for other in (Draws(2, "match", 7, 0, "strategy"), Draws(1, "m", 7, 0, ""), Draws(1, "match", 8, 0, "")):
        assert numbers != [draw_of(other)(place) for place in range(50)]
    assert all(low != high for low, high in pairwise(sorted(numbers)))
