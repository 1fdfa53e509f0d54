"""The score of a match: estimates with their intervals, breakdowns, and the luck of single hands.

Everything is in thousandths of a big blind a hand (mbb/g). An interval is the mean ± 1.96 standard errors. How much a
better estimator is worth is said in hands: so many raw hands would have given an error as small.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dealer_tools.formats.records import PlayedHand
from dealer_tools.results import Estimate
from dealer_tools.scoring.estimators import Scorer
from dealer_tools.scoring.sources import Hands

RAW: Final = "raw"
DUPLICATE: Final = "duplicate"
_STREETS: Final = ("preflop", "flop", "turn", "river")
_POTS: Final = ((4, "up to 4"), (20, "4 to 20"), (100, "20 to 100"), (math.inf, "over 100"))
"""In big blinds."""
_LUCKIEST: Final = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One estimator."""

    name: str
    estimate: Estimate
    raw_hands: float
    """How many hands would have given raw chips the same standard error."""
    share: float
    """Of raw's standard deviation that is left, of single hands."""


@dataclass(frozen=True, slots=True)
class Group:
    """Hands that have something in common."""

    by: str
    name: str
    hands: int
    raw: Estimate
    best: Estimate


@dataclass(frozen=True, slots=True)
class Lucky:
    """A hand, and what of its result was luck."""

    where: str
    hand: int
    betting: str
    raw_mbb: float
    best_mbb: float

    @property
    def luck_mbb(self) -> float:
        """What was won beyond what the hand was worth."""
        return self.raw_mbb - self.best_mbb


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A score."""

    hands: Hands
    best: str
    """The estimator that breakdowns and plots are made of."""
    rows: tuple[Row, ...]
    groups: tuple[Group, ...]
    lucky: tuple[Lucky, ...]
    """The luckiest first, then the unluckiest."""
    mbb: dict[str, NDArray[np.float64]]
    """By estimator, each hand."""


def score_hands(
    hands: Hands, scorer: Scorer, names: Sequence[str], tell: Callable[[int], None] = lambda done: None
) -> Result:
    """Score all of them; `tell` hears how many are done."""
    unit = 1000 / hands.game.big_blind
    mbb = {name: np.zeros(len(hands.hands)) for name in names}
    for number, played in enumerate(hands.hands):
        found, _ = scorer.score(played, hands.player)
        for name, chips in found.items():
            mbb[name][number] = unit * chips
        tell(number + 1)
    best = names[-1]
    return Result(hands, best, _rows(hands, mbb), _groups(hands, mbb, best), _lucky(hands, mbb, best), mbb)


def _rows(hands: Hands, mbb: dict[str, NDArray[np.float64]]) -> tuple[Row, ...]:
    raw = Estimate.of(mbb[RAW].tolist())
    rows = []
    for name, values in mbb.items():
        rows.append(_row(name, Estimate.of(values.tolist()), raw))
        if hands.pairs:
            paired = [(values[first] + values[second]) / 2 for first, second in hands.pairs]
            called = DUPLICATE if name == RAW else f"{name}, {DUPLICATE}"
            rows.append(_row(called, Estimate.of(paired), raw))
    return tuple(rows)


def _row(name: str, estimate: Estimate, raw: Estimate) -> Row:
    ratio = estimate.se_mbb / raw.se_mbb if raw.se_mbb and estimate.se_mbb else math.nan
    share = estimate.sd_mbb / raw.sd_mbb if raw.sd_mbb else math.nan
    return Row(name, estimate, raw.observations / ratio**2 if ratio else math.nan, share)


def _groups(hands: Hands, mbb: dict[str, NDArray[np.float64]], best: str) -> tuple[Group, ...]:
    found = []
    for by, names in _labels(hands).items():
        members: dict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(names):
            members[name].append(number)
        for name in sorted(members, key=_order(by)):
            raw, ours = (Estimate.of(mbb[each][members[name]].tolist()) for each in (RAW, best))
            found.append(Group(by, name, len(members[name]), raw, ours))
    return tuple(found)


def _order(by: str) -> Callable[[str], Any]:
    fixed = {"street": [*_STREETS, "none"], "pot": [name for _, name in _POTS]}.get(by)
    return (lambda name: name) if fixed is None else fixed.index


def _labels(hands: Hands) -> dict[str, list[str]]:
    """What each hand is, by what can be told."""
    found: dict[str, list[str]] = {"position": [], "street": [], "pot": []}
    routes = []
    for played in hands.hands:
        state, position = played.record.state, played.record.names.index(hands.player)
        last = max(
            (street for street, count in enumerate(_decisions_by_street(played, position)) if count), default=None
        )
        found["position"].append("big blind" if state.game.blind[position] == state.game.big_blind else "button")
        found["street"].append("none" if last is None else _STREETS[last])
        found["pot"].append(
            next(name for size, name in _POTS if min(state.committed) * 2 <= size * state.game.big_blind)
        )
        routes.append(_last_route(played, hands.player))
    if any(routes):
        found["route"] = [route or "none" for route in routes]
    return found


def _decisions_by_street(played: PlayedHand, position: int) -> list[int]:
    """How often a player acted on each street."""
    from protocol.state import apply, start

    state = start(played.record.state.game)
    counts = [0] * state.game.num_rounds
    for action in played.record.state.actions:
        if state.actor == position:
            counts[state.street] += 1
        state = apply(state, action)
    return counts


def _last_route(played: PlayedHand, player: str) -> str:
    decisions = played.decisions.get(player)
    if not decisions:
        return ""
    return decisions[max(decisions, key=len)].policy.origin.route


def _lucky(hands: Hands, mbb: dict[str, NDArray[np.float64]], best: str) -> tuple[Lucky, ...]:
    luck = mbb[RAW] - mbb[best]
    order = np.argsort(luck, kind="stable")
    picked: Iterable[int] = [*order[::-1][:_LUCKIEST].tolist(), *order[:_LUCKIEST].tolist()]
    return tuple(
        Lucky(
            hands.hands[place].where,
            hands.hands[place].record.hand,
            hands.hands[place].record.state.betting,
            float(mbb[RAW][place]),
            float(mbb[best][place]),
        )
        for place in picked
    )
