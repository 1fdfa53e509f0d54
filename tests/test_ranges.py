"""Range text: every form, every refusal, and exact round trips."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.cards import parse_cards
from protocol.hands import NUM_HANDS, class_text, hand_cards, hand_class, hand_index, hand_text
from protocol.ranges import RangeError, parse_range, range_text

COUNTS = {
    "AA": 6, "KQs": 4, "T9o": 12, "AK": 16, "KA": 16, "AhKd": 1, "KdAh": 1, "*": 1326, "22+": 78, "77+": 48, "AA+": 6,
    "ATs+": 16, "KTo+": 36, "AT+": 64, "32s+": 4, "99-66": 24, "66-99": 24, "A9s-A6s": 16, "A6o-A9o": 48, "A9-A6": 64,
    "AA,KK": 12, "AA, KK ,\nAKs": 16, "AA,AA": 6,
}  # fmt: skip


@pytest.mark.parametrize(("text", "hands"), COUNTS.items())
def test_how_many_hands_each_form_names(text: str, hands: int) -> None:
    weights = parse_range(text)
    assert weights.dtype == np.float32
    assert weights.shape == (NUM_HANDS,)
    assert np.count_nonzero(weights) == hands
    assert set(weights.tolist()) <= {0.0, 1.0}


def slow(text: str) -> set[str]:
    """The hands of a range without weights, by looking at each hand's class."""
    ranks = "23456789TJQKA"
    named = set()
    for index in range(NUM_HANDS):
        name = class_text(hand_class(index))
        if text.endswith("+"):
            high, low, kind = ranks.index(text[0]), ranks.index(text[1]), text[2:-1]
            mine, kicker = ranks.index(name[0]), ranks.index(name[1])
            if high == low:
                inside = mine == kicker >= high
            else:
                inside = mine == high and low <= kicker < high and name[2:] in (kind or ("s", "o"))
        else:
            inside = name == text or (name[:2] == text and len(text) == 2)
        if inside:
            named.add(hand_text(index))
    return named


@pytest.mark.parametrize("text", ["AA", "72o", "T9s", "QJ", "22+", "JJ+", "A2s+", "K9o+", "87+", "32o+"])
def test_equals_a_slow_twin(text: str) -> None:
    weights = parse_range(text)
    assert {hand_text(index) for index in np.flatnonzero(weights)} == slow(text)


def test_weights_and_overriding() -> None:
    weights = parse_range("AA:0.5,AhAd:0.25,KQs:1e-12,T9o:0,AK:2.5,AcKc:0")
    assert weights[hand_index(*parse_cards("AhAd"))] == 0.25
    assert weights[hand_index(*parse_cards("AhAc"))] == 0.5
    assert weights[hand_index(*parse_cards("KhQh"))] == np.float32(1e-12)
    assert weights[hand_index(*parse_cards("AhKc"))] == 2.5
    assert weights[hand_index(*parse_cards("AcKc"))] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty part"),
        ("AA,,KK", "an empty part"),
        ("AA,", "an empty part"),
        ("AB", "'AB': expected a class"),
        ("aa", "expected a class"),
        ("AAs", "neither suited nor offsuit"),
        ("AhAh", "the same card twice"),
        ("AhKx", "expected a class"),
        ("AA:x", "weight 'x'"),
        ("AA:", "weight ''"),
        ("AA:e0", "weight 'e0'"),
        ("AA:.", "weight '.'"),
        ("AA:.e5", "weight '.e5'"),
        ("AA:-1", "weight '-1'"),
        ("AA:nan", "weight 'nan'"),
        ("AA:1e39", "too large"),
        ("AA:0.5:0.5", "weight '0.5:0.5'"),
        ("99-A6s", "expected two pairs"),
        ("A9s-K6s", "expected two pairs"),
        ("A9s-A6o", "expected two pairs"),
        ("99-", "expected a class"),
        ("+", "expected a class"),
        ("AhKd+", "expected a class"),
        ("A" * 300_000, "at most"),
    ],
)
def test_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(RangeError) as caught:
        parse_range(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@given(st.text(alphabet="23456789TJQKAcdhsox+-:,.* 0e", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        weights = parse_range(text)
    except RangeError:
        return
    assert not weights.any() or np.array_equal(parse_range(range_text(weights)), weights)


@pytest.mark.parametrize("seed", range(30))
def test_round_trips_are_exact(seed: int) -> None:
    """Random classes and hands with weights of every size; reading what was written gives the same bits."""
    rng = np.random.default_rng(seed)
    weights = np.zeros(NUM_HANDS, np.float32)
    chosen = rng.random(NUM_HANDS) < rng.random()
    weights[chosen] = (10.0 ** rng.uniform(-30, 3, chosen.sum())).astype(np.float32)
    by_class = rng.random(169).astype(np.float32)
    for index in np.flatnonzero(rng.random(NUM_HANDS) < 0.7):
        weights[index] = by_class[hand_class(index)]
    weights[0] = 1
    assert np.array_equal(parse_range(range_text(weights)), weights)


def test_the_text_is_short() -> None:
    assert range_text(np.ones(NUM_HANDS)) == "*"
    assert range_text(np.full(NUM_HANDS, 0.5)) == "*:0.5"
    assert range_text(np.zeros(NUM_HANDS)) == ""
    assert range_text(parse_range("T9o:0.5,AA,KQs")) == "AA,KQs,T9o:0.5"
    lone = np.zeros(NUM_HANDS)
    lone[hand_index(*parse_cards("AhKd"))] = 1
    assert range_text(lone) == "AhKd"
    assert hand_cards(hand_index(*parse_cards("AhKd")))


@pytest.mark.parametrize("bad", [np.zeros(10), np.full(NUM_HANDS, np.nan), np.full(NUM_HANDS, -1.0)])
def test_arrays_that_are_no_range(bad: np.ndarray) -> None:
    with pytest.raises(RangeError):
        range_text(bad)
