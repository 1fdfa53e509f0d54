"""Ranges of hold'em hands as text: `AA,KQs,T9o:0.5,AhKd`.

A range is a weight from 0 to 1 (or any number from 0 up) for each of the 1,326 hands, in the order of `protocol.hands`.
Its text is a list of parts joined by commas, each with a weight after a colon if that is not 1:

    AA  KQs  T9o  AK       a class; without s or o both kinds
    AhKd                   one hand
    77+  ATs+  KTo+        a pair or better; the same high card and a kicker from there up to just below it
    99-66  A9s-A6s         everything between two classes of one kind, with the same high card unless they are pairs
    *                      every hand

A later part overrides an earlier one. `range_text` writes the shortest list of classes and hands that reads back to
exactly the same float32 weights; blanks are ignored when reading.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from machine.errors import ParatusError, quote
from protocol.cards import RANKS, CardError
from protocol.hands import (
    NUM_CLASSES,
    NUM_HANDS,
    HandClass,
    HandIndex,
    class_text,
    hand_classes_array,
    hand_text,
    parse_class,
    parse_hand,
)

_CLASS: Final = re.compile(r"([2-9TJQKA])([2-9TJQKA])([so]?)")
_HAND: Final = re.compile(r"(?:[2-9TJQKA][cdhs]){2}")
_WEIGHT: Final = re.compile(r"(?:[0-9]{1,20}\.?|[0-9]{0,20}\.[0-9]{1,60})(?:[eE][+-]?[0-9]{1,3})?")
_MAX_CHARS: Final = 200_000
_MAX_WEIGHT: Final = float(np.finfo(np.float32).max)


class RangeError(ParatusError):
    """Text that is no range."""


def parse_range(text: str) -> NDArray[np.float32]:
    """The weights that `text` gives to the 1,326 hands."""
    if len(text) > _MAX_CHARS:
        raise RangeError(f"a range of {len(text)} characters: expected at most {_MAX_CHARS}")
    weights = np.zeros(NUM_HANDS, np.float32)
    for part in "".join(text.split()).split(","):
        if not part:
            raise RangeError(
                f"range {quote(text)}: an empty part: expected parts joined by single commas, as in AA,KQs"
            )
        what, colon, weight = part.partition(":")
        weights[_hands(what, part)] = _weight(weight, part) if colon else 1.0
    return weights


def _weight(text: str, part: str) -> float:
    if not _WEIGHT.fullmatch(text):
        raise RangeError(f"{quote(part)}: weight {quote(text)}: expected a number from 0 up, as in T9o:0.5")
    weight = float(text)
    if weight > _MAX_WEIGHT:
        raise RangeError(f"{quote(part)}: weight {quote(text)}: too large")
    return weight


def _hands(what: str, part: str) -> NDArray[np.bool_] | HandIndex:
    """Which hands a part without its weight names."""
    if what == "*":
        return np.ones(NUM_HANDS, np.bool_)
    if _HAND.fullmatch(what):
        try:
            return parse_hand(what)
        except CardError as error:
            raise RangeError(f"{quote(part)}: {error}") from None
    first, dash, last = what.partition("-")
    if dash:
        names = _between(first, last, part)
    elif what.endswith("+"):
        names = _and_better(what[:-1], part)
    else:
        names = _kinds(*_split(what, part))
    return np.isin(hand_classes_array(), [parse_class(name) for name in names])


def _split(text: str, part: str) -> tuple[int, int, str]:
    """The ranks, high first, and the kind of a class."""
    found = _CLASS.fullmatch(text)
    if found is None:
        raise RangeError(f"{quote(part)}: expected a class (AA, KQs, T9o, AK), a hand (AhKd), 77+, 99-66 or *")
    high, low = sorted((RANKS.index(found.group(1)), RANKS.index(found.group(2))), reverse=True)
    if high == low and found.group(3):
        raise RangeError(f"{quote(part)}: a pair is neither suited nor offsuit")
    return high, low, found.group(3)


def _kinds(high: int, low: int, kind: str) -> list[str]:
    name = RANKS[high] + RANKS[low]
    if high == low:
        return [name]
    return [name + each for each in (kind or "so")]


def _and_better(text: str, part: str) -> list[str]:
    high, low, kind = _split(text, part)
    if high == low:
        return [RANKS[rank] * 2 for rank in range(high, len(RANKS))]
    return [name for kicker in range(low, high) for name in _kinds(high, kicker, kind)]


def _between(first: str, last: str, part: str) -> list[str]:
    (high, low, kind), (other_high, other_low, other_kind) = _split(first, part), _split(last, part)
    if high == low and other_high == other_low:
        return [RANKS[rank] * 2 for rank in range(min(low, other_low), max(low, other_low) + 1)]
    if (high, kind) != (other_high, other_kind) or high == low or other_high == other_low:
        raise RangeError(f"{quote(part)}: expected two pairs, or two classes of one kind and high card, as in A9s-A6s")
    kickers = range(min(low, other_low), max(low, other_low) + 1)
    return [name for kicker in kickers for name in _kinds(high, kicker, kind)]


def range_text(weights: NDArray[np.floating]) -> str:
    """The text of a range: classes whose hands weigh alike, single hands otherwise; empty if nothing has weight."""
    weights = check_range(weights)
    if weights.all() and (weights == weights[0]).all():
        return "*" + _colon(weights[0])
    classes = hand_classes_array()
    parts = []
    for number in reversed(range(NUM_CLASSES)):
        members = np.flatnonzero(classes == number)
        held = weights[members]
        if (held == held[0]).all():
            if held[0] > 0:
                parts.append(class_text(HandClass(number)) + _colon(held[0]))
        else:
            parts += [
                hand_text(HandIndex(int(hand))) + _colon(weight)
                for hand, weight in zip(members, held, strict=True)
                if weight > 0
            ]
    return ",".join(parts)


def check_range(weights: NDArray[np.floating]) -> NDArray[np.float32]:
    """The weights as float32, if they are a range."""
    array = np.asarray(weights)
    if array.shape != (NUM_HANDS,) or not np.isfinite(array).all() or (array < 0).any():
        raise RangeError(f"a range of shape {array.shape}: expected {NUM_HANDS} numbers from 0 up")
    return array.astype(np.float32)


def _colon(weight: np.float32) -> str:
    return "" if weight == 1 else f":{weight!s}"
