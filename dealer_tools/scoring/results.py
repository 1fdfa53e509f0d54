"""The score of a match: estimates with their intervals, breakdowns, and the luck of single hands.

All is in thousandths of a big blind a hand (mbb/g). An interval is the mean ± 1.96 standard errors. The two hands
of a deal that was played twice are not independent: errors come from the spread between deals, standard deviations are
those of single hands. How much an estimator is worth is said in hands: so many independent raw hands would have given
an error as small.

Breakdowns say where the mean comes from: what the hands of a group add to it. What a hand becomes (its last street, its
pot) is decided by luck, so a mean *within* such a group is not what an estimator promises; only positions, which are
assigned beforehand, have win rates of their own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dealer_tools.formats.records import PlayedHand
from dealer_tools.results import Z95, Estimate
from dealer_tools.scoring.estimators import Scorer
from dealer_tools.scoring.sources import Hands
from protocol.arrays import F64
from protocol.game import STREET_NAMES, Game
from protocol.state import steps

RAW: Final = "raw"
_POSITION: Final = "position"
BASELINE: Final = "baseline"
"""What the server says of its own luck with the same cards: a difference already, nothing is subtracted here."""
_POTS: Final = ((4, "up to 4"), (20, "4 to 20"), (100, "20 to 100"), (math.inf, "over 100"))
"""In big blinds."""
_LUCKIEST: Final = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One estimator."""

    name: str
    estimate: Estimate
    """Of deals that were played twice, or of hands; the standard deviation is that of hands."""
    raw_hands: float
    """How many independent hands would have given raw chips the same standard error."""
    share: float
    """Of raw's standard deviation that is left."""
    values: str
    """What it corrects by: a value function and its hash."""
    apart: Estimate
    """From raw, hand by hand: zero but for luck."""

    @property
    def errors_apart(self) -> float:
        """Its mean from that of raw, in standard errors of the difference."""
        return self.apart.mean_mbb / self.apart.se_mbb if self.apart.se_mbb else 0.0


@dataclass(frozen=True, slots=True)
class Group:
    """Hands that have something in common."""

    by: str
    name: str
    hands: int
    raw_mbb: float
    """What they add to the mean of raw chips."""
    best_mbb: float
    """To that of the best estimator."""
    rate: Estimate | None
    """By the best estimator, of positions: the win rate in it."""


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
    mbb: dict[str, F64]
    """By estimator, each hand."""


def make_result(hands: Hands, scorer: Scorer, chips: dict[str, F64]) -> Result:
    """The score of hands of which each estimator said so much."""
    known = all(played.baseline_chips is not None for played in hands.hands)
    told = {BASELINE: np.array([played.baseline_chips or 0.0 for played in hands.hands])} if known else {}
    unit, best = 1000 / hands.game.big_blind, [*chips][-1]
    mbb = {name: unit * each for name, each in ({RAW: chips[RAW]} | told | chips).items()}
    rows = _rows(hands, mbb, {name: scorer.values_of(name) for name in chips} | {BASELINE: ""})
    return Result(hands, best, rows, _groups(hands, mbb, best), _lucky(hands, mbb, best), mbb)


def clustered(hands: Hands, values: F64) -> Estimate:
    """The mean of all hands; its error from the spread between deals, of which some have two hands."""
    if not hands.pairs:
        return Estimate.of(values.tolist())
    deal = np.arange(len(values))
    for first, second in hands.pairs:
        deal[second] = first
    mean, (_, number) = float(values.mean()), np.unique(deal, return_inverse=True)
    deals = int(number.max()) + 1
    if deals < 2:
        return Estimate(deals, mean, math.nan, math.nan, -math.inf, math.inf)
    apart = np.bincount(number, values - mean)
    error = math.sqrt(float((apart**2).sum()) * deals / (deals - 1)) / len(values)
    return Estimate(deals, mean, float(values.std(ddof=1)), error, mean - Z95 * error, mean + Z95 * error)


def _rows(hands: Hands, mbb: dict[str, F64], values: dict[str, str]) -> tuple[Row, ...]:
    raw, rows = Estimate.of(mbb[RAW].tolist()), []
    for name, each in mbb.items():
        estimate = clustered(hands, each)
        worth = (raw.sd_mbb / estimate.se_mbb) ** 2 if estimate.se_mbb else math.nan
        share = estimate.sd_mbb / raw.sd_mbb if raw.sd_mbb else math.nan
        rows.append(Row(name, estimate, worth, share, values[name], clustered(hands, each - mbb[RAW])))
    return tuple(rows)


def _groups(hands: Hands, mbb: dict[str, F64], best: str) -> tuple[Group, ...]:
    found, total = [], len(hands.hands)
    for by, names in _labels(hands).items():
        members: dict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(names):
            members[name].append(number)
        for name in sorted(members, key=_order(by)):
            raw, ours = (mbb[each][members[name]] for each in (RAW, best))
            rate = Estimate.of(ours.tolist()) if by == _POSITION else None
            found.append(Group(by, name, len(ours), float(raw.sum()) / total, float(ours.sum()) / total, rate))
    return tuple(found)


def _order(by: str) -> Callable[[str], Any]:
    fixed = {"street": [*STREET_NAMES, "none"], "pot": [name for _, name in _POTS]}.get(by)
    return (lambda name: name) if fixed is None else fixed.index


def _labels(hands: Hands) -> dict[str, list[str]]:
    """What each hand is, by what can be told."""
    found: dict[str, list[str]] = {_POSITION: [], "street": [], "pot": []}
    routes = []
    for played in hands.hands:
        state, position = played.record.state, played.record.names.index(hands.player)
        last = max((at.street for at, _ in steps(state) if at.actor == position), default=None)
        found[_POSITION].append(_position(state.game, position))
        found["street"].append("none" if last is None else STREET_NAMES[last])
        found["pot"].append(
            next(name for size, name in _POTS if min(state.committed) * 2 <= size * state.game.big_blind)
        )
        routes.append(_last_route(played, hands.player))
    if any(routes):
        found["route"] = [route or "none" for route in routes]
    return found


def _position(game: Game, position: int) -> str:
    """By the blinds, where they differ."""
    if len(set(game.blind)) == 1:
        return ("first", "second")[position]
    return "big blind" if game.blind[position] == game.big_blind else "button"


def _last_route(played: PlayedHand, player: str) -> str:
    decisions = played.decisions.get(player)
    if not decisions:
        return ""
    return decisions[max(decisions, key=len)].policy.origin.route


def _lucky(hands: Hands, mbb: dict[str, F64], best: str) -> tuple[Lucky, ...]:
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
