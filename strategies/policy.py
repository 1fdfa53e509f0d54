"""The one policy type: what a strategy would do with every hand it could hold, exactly as it will be sampled.

A policy is a support (actions, or a spread over a range of raise sizes) and one column of weights for each hand. A
weight is an integer share of `SCALE`, so each column adds up exactly and 16 bits hold it: what is stored IS what is
sampled from, and what AIVAT and best responses read later. A strategy that does not look at its cards has one column
for all hands.

Columns stand in the order of `protocol.hands.hands_of`. The column of a hand that the board makes impossible is zero.
"""

from __future__ import annotations

import json
import operator
import re
import zlib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import comb
from typing import Any, Final, assert_never

import numpy as np
import numpy.typing as npt

from machine.errors import ParatusError, quote
from protocol.cards import NUM_CARDS, Card
from protocol.game import MAX_HOLE_CARDS
from protocol.hands import hands_of
from protocol.state import CALL, FOLD, Action, Call, Fold, Raise, State, can_fold, check
from strategies.draws import Draws

SCALE: Final = 65_535
_MAX_TEXT: Final = 1000
MAX_COLUMNS: Final = comb(NUM_CARDS, MAX_HOLE_CARDS)
Weights = npt.NDArray[np.uint16]


FALLBACK: Final = "fallback"
"""The route of an answer given because nothing better was to be had, or the beginning of it: `fallback/blueprint`.
Every one is counted."""


class PolicyError(ParatusError):
    """Numbers that are no policy."""


@dataclass(frozen=True, slots=True)
class RaiseBetween:
    """A raise whose size is drawn uniformly from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            raise PolicyError(f"raises from {self.low} to {self.high}: expected a range of sizes")

    def __str__(self) -> str:
        return f"raise to {self.low}-{self.high}"


Entry = Action | RaiseBetween


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a policy came from, for the record."""

    route: str
    """What decided: `blueprint`, `nested`, …; `FALLBACK` when what should have decided could not."""
    reason: str = ""
    iterations: int = 0
    model: str = ""
    """Which blueprint or network, by name or hash."""
    details: str = "{}"
    """JSON: what else the route has to say."""

    @property
    def is_fallback(self) -> bool:
        """Whether something better should have decided."""
        return self.route.partition("/")[0] == FALLBACK

    @property
    def notes(self) -> dict[str, Any]:
        """The details, read; none where they are no JSON object."""
        try:
            notes = json.loads(self.details)
        except (ValueError, RecursionError):
            return {}
        return notes if isinstance(notes, dict) else {}

    def with_notes(self, **notes: object) -> Origin:
        """With more details."""
        return replace(self, details=json.dumps(self.notes | notes))

    def __post_init__(self) -> None:
        """Made fit to be stored: a reason may be the text of any exception, a count any kind of integer."""
        for name in ("route", "reason", "model"):
            text = str(getattr(self, name)).encode("utf-8", "replace").decode()
            object.__setattr__(self, name, text[:_MAX_TEXT].replace("\0", "?"))
        object.__setattr__(self, "iterations", min(operator.index(self.iterations), 2**63 - 1))


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """Weights `[entry, hand]`, or `[entry, 1]` when all hands play alike."""

    support: tuple[Entry, ...]
    weights: Weights
    origin: Origin = field(default_factory=lambda: Origin("direct"))

    def __post_init__(self) -> None:
        if self.weights.dtype != np.uint16 or self.weights.ndim != 2 or len(self.weights) != len(self.support):
            raise PolicyError(
                f"weights {self.weights.dtype}{self.weights.shape}: expected uint16[{len(self.support)}, n]"
            )
        if len(set(self.support)) != len(self.support):
            raise PolicyError("the same action twice in one support")
        sums = self.weights.sum(axis=0, dtype=np.int64)
        wrong = sums[(sums != SCALE) & (sums != 0)]
        if wrong.size:
            raise PolicyError(f"the weights of a hand add up to {wrong[0]}: expected {SCALE}")
        if not sums.any():
            raise PolicyError("no hand has a policy: expected one at least")
        self.weights.setflags(write=False)  # policies are shared and cached

    def likelihood(self, action: Action) -> npt.NDArray[np.float32]:
        """`probability`, in the precision of ranges."""
        return self.probability(action).astype(np.float32)

    def probability(self, action: Action) -> npt.NDArray[np.float64]:
        """The probability of drawing exactly `action`, for each column."""
        total = np.zeros(self.weights.shape[1], np.float64)
        for entry, weights in zip(self.support, self.weights, strict=True):
            if entry == action:
                total += weights
            elif isinstance(entry, RaiseBetween) and isinstance(action, Raise) and entry.low <= action.to <= entry.high:
                total += weights / (entry.high - entry.low + 1)
        return total / SCALE

    def probabilities(self, column: int) -> list[float]:
        """What one hand does, by entry."""
        if self.weights.shape[1] == 1:
            column = 0
        return [weight / SCALE for weight in self.weights[:, column].tolist()]

    def sample(self, column: int, draws: Draws) -> Action:
        """Draw the action of one hand."""
        weights = self.weights[:, 0 if self.weights.shape[1] == 1 else column].tolist()
        ticket = draws.below(SCALE)
        for entry, weight in zip(self.support, weights, strict=True):
            ticket -= weight
            if ticket < 0:
                if isinstance(entry, RaiseBetween):
                    return Raise(entry.low + draws.below(entry.high - entry.low + 1))
                return entry
        raise PolicyError(f"hand {column} has no policy: the board makes it impossible")


def check_policy(policy: Policy, state: State, board: tuple[Card, ...] = ()) -> None:
    """Raise `IllegalAction` if the rules forbid an action that `policy` may draw at `state`.

    Raises `PolicyError` if it is no policy for this spot: a hand that can be held has no column or an empty one, or
    one that the board makes impossible has weights.
    """
    columns = policy.weights.shape[1]
    hands = hands_of(state.game)
    if columns not in (1, len(hands)):
        raise PolicyError(f"a policy for {columns} hands: expected {len(hands)}, or one for all")
    if columns > 1 and not np.array_equal(policy.weights.any(axis=0), hands.live(board)):
        raise PolicyError("a policy must have weights for every hand that the board allows, and for no other")
    for entry in policy.support:
        if isinstance(entry, RaiseBetween):
            check(state, Raise(entry.low))
            check(state, Raise(entry.high))
        else:
            check(state, entry)


def round_columns(probabilities: npt.NDArray[np.floating]) -> Weights:
    """Probabilities `[entry, hand]` to weights that add up exactly, by largest remainders; zero columns stay zero."""
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim != 2 or not np.isfinite(probabilities).all() or (probabilities < 0).any():
        raise PolicyError("probabilities: expected a table [entry, hand] of numbers from 0 up")
    largest = probabilities.max(axis=0, initial=0.0)
    scaled = probabilities / np.where(largest > 0, largest, 1.0)  # so that the sum neither overflows nor vanishes
    sums = scaled.sum(axis=0)
    shares = scaled * (SCALE / np.where(sums > 0, sums, 1.0))
    weights = np.floor(shares)
    missing = np.where(sums > 0, SCALE - weights.sum(axis=0), 0).astype(np.int64)
    order = np.argsort(np.where(shares > 0, weights - shares, np.inf), axis=0, kind="stable")
    places = np.argsort(order, axis=0, kind="stable")
    return (weights + (places < missing)).astype(np.uint16)


@lru_cache(maxsize=256)
def alike(support: tuple[Entry, ...], shares: tuple[float, ...], origin: Origin) -> Policy:
    """The policy that plays every hand alike."""
    return Policy(support, round_columns(np.array(shares, dtype=np.float64)[:, None]), origin)


def check_or_fold(state: State, reason: str) -> Policy:
    """The answer when nothing better is to be had."""
    return alike((FOLD,) if can_fold(state) else (CALL,), (1.0,), Origin(FALLBACK, reason))


# The stored form: the support as text, the weights compressed.


def support_text(support: tuple[Entry, ...]) -> str:
    """`f,c,r300,r400-20000`."""
    return ",".join(map(_entry_text, support))


def _entry_text(entry: Entry) -> str:
    if isinstance(entry, Fold):
        return "f"
    if isinstance(entry, Call):
        return "c"
    if isinstance(entry, Raise):
        return f"r{entry.to}"
    if isinstance(entry, RaiseBetween):
        return f"r{entry.low}-{entry.high}"
    assert_never(entry)


_ENTRY = re.compile(r"[fc]|r([1-9][0-9]{0,9})(?:-([1-9][0-9]{0,9}))?")


def parse_support(text: str) -> tuple[Entry, ...]:
    """Read `support_text` back."""
    entries: list[Entry] = []
    for word in text.split(","):
        found = _ENTRY.fullmatch(word)
        if found is None:
            raise PolicyError(f"support {quote(text)}: expected f, c, r<size> or r<low>-<high>, joined by commas")
        low, high = found.groups()
        if low is None:
            entries.append(FOLD if word == "f" else CALL)
        else:
            entries.append(RaiseBetween(int(low), int(high)) if high else Raise(int(low)))
    return tuple(entries)


def pack_weights(weights: Weights) -> bytes:
    """Compressed little-endian bytes."""
    return zlib.compress(weights.astype("<u2").tobytes(), 1)


def unpack_weights(data: bytes, entries: int, columns: int) -> Weights:
    """Read `pack_weights` back, refusing what cannot be a table of that shape."""
    if not 0 < columns <= MAX_COLUMNS:
        raise PolicyError(f"stored weights of {columns} hands: expected 1 to {MAX_COLUMNS}")
    expected = entries * columns * 2
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(data, expected + 1)
    except zlib.error as error:
        raise PolicyError(f"stored weights are damaged: {error}") from None
    if len(raw) != expected:
        raise PolicyError(f"stored weights do not hold {expected} bytes")
    if not reader.eof or reader.unused_data:  # the checksum has not been seen, or something follows it
        raise PolicyError("stored weights are damaged: they do not end where they should")
    return np.frombuffer(raw, dtype="<u2").astype(np.uint16).reshape(entries, columns)
