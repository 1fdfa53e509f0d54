"""What the differential suites share: random play (kind first, then size), and what their showdowns were like."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from protocol.ranking import hand_rank
from protocol.state import CALL, FOLD, Action, Deal, Raise, RaiseBounds, State, can_fold

SHARES = [pytest.param(0.125, id="an eighth"), pytest.param(1.0, id="all", marks=pytest.mark.proof)]
"""How much of the random play: the first eighth always, all of it as a proof.

A rule that is wrong in one decision of 5,000 stays unseen in an eighth, which is over 50,000 decisions against
open_spiel, with a probability of exp(-10); one that is wrong in one showdown of 150, in 712 of them against pokerkit,
with a probability of one in a hundred.
"""


def pot_raise_to(state: State) -> int:
    """The raise-to of a pot-sized raise: the call, then as many chips as the pot then holds."""
    return state.maximum + state.pot + state.owed


def random_size(rng: random.Random, state: State, bounds: RaiseBounds) -> int:
    """A legal raise-to; the minimum, the pot, all-in and their neighbours come often."""
    low, high = bounds
    wanted = (
        low, low, low, low + 1,
        pot_raise_to(state), pot_raise_to(state),
        high, high, high - 1,
        rng.randint(low, high), rng.randint(low, min(high, 4 * low)),
    )  # fmt: skip
    return min(max(rng.choice(wanted), low), high)


def random_action(
    rng: random.Random, state: State, bounds: RaiseBounds | None, weights: Sequence[float] = (1, 1, 1)
) -> Action:
    """A legal action; `weights` of fold, call and raise count among those that are legal."""
    fold, call, raise_ = weights
    fold = fold if can_fold(state) else 0
    raise_ = raise_ if bounds is not None else 0
    drawn = rng.random() * (fold + call + raise_)
    if drawn < fold:
        return FOLD
    if bounds is None or drawn < fold + call:
        return CALL
    return Raise(random_size(rng, state, bounds))


def note_showdown(committed: Sequence[int], folded: Sequence[bool], deal: Deal, seen: Counter[str]) -> None:
    """Count what kind of showdown it was. A side pot counts if two players contest it."""
    inside = [position for position, gone in enumerate(folded) if not gone]
    top = sorted(committed[position] for position in inside)[-2]
    ranks = sorted(hand_rank((*deal.hole[position], *deal.board)) for position in inside)
    seen["showdowns"] += 1
    seen["side pots"] += len({min(committed[position], top) for position in inside}) > 1
    seen["two side pots"] += len({min(committed[position], top) for position in inside}) > 2
    seen["ties"] += ranks[-1] == ranks[-2]
    seen["three-way ties"] += ranks[-3:] == [ranks[-1]] * 3
    seen["dead money"] += any(gone and committed[position] for position, gone in enumerate(folded))
