"""The estimators: what each takes out of a hand, and which records it needs.

    raw         the chips as they were won
    all-in      where betting ends with cards to come, the mean over all boards (exact)
    chance      that, and the luck of the deal and of every board card, by the share of the pot (as MIVAT)
    imaginary   the mean over all hands that the player could have held, as often as it would have played so
    imaginary+chance   both, by the values that AIVAT uses
    aivat       that, and the luck of the player's own draws among actions
    aivat-both  that, and of the opponent's: its policies must be known too

All have the same expectation, so any of them may be quoted, but it has to be chosen before looking. Those from
`imaginary` on need the player's policies; all but `raw` and, mostly, `all-in` need the cards of both players in every
hand. A match that lacks them for one hand lacks them for all: hands are never dropped for what is not known of them,
since which cards are shown depends on how the hand went.

Where a server says in every hand what we won above its own play with the same cards (slumbot.com's baseline_winnings),
that is one more row beside these, `baseline`, as it was told.

In a duplicate match the two hands of a deal are one observation (`scoring.results`), by any estimator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dealer_tools.formats.records import PlayedHand
from dealer_tools.scoring.aivat import Aivat, Corrected, Kind, Parts
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.sources import Hands
from dealer_tools.scoring.values import Equity, Values
from protocol.arrays import F64

_ALL_IN: Final = "all-in"
BOTH: Final = "aivat-both"
_ONE_HISTORY: Final = Parts(imagine=False, ours=False)


@dataclass(frozen=True, slots=True)
class Estimator:
    """How one is computed."""

    name: str
    what: str
    cards: bool
    """Needs both players' cards in every hand."""
    policies: bool
    theirs: bool
    """Needs the opponent's policies as well."""
    kinds: frozenset[Kind]
    """The corrections that it adds up."""


def _of(
    name: str, what: str, *kinds: Kind, cards: bool = True, policies: bool = False, theirs: bool = False
) -> Estimator:
    return Estimator(name, what, cards, policies, theirs, frozenset(kinds))


ESTIMATORS: Final = {
    each.name: each
    for each in (
        _of("raw", "chips as won", cards=False),
        _of(_ALL_IN, "boards after an all-in averaged", cards=False),
        _of("chance", "deal and board, by equity (MIVAT)", "deal", "board"),
        _of("imaginary", "all hands that would have played so", policies=True),
        _of("imaginary+chance", "both", "deal", "board", policies=True),
        _of("aivat", "and our own draws", "deal", "board", "ours", policies=True),
        _of(BOTH, "and the opponent's", "deal", "board", "ours", "theirs", policies=True, theirs=True),
    )
}  # fmt: skip


class Scorer:
    """Scores the hands of one game, all estimators at once."""

    def __init__(self, holdings: Holdings, values: Values, estimators: Sequence[str]) -> None:
        self._holdings, self.values = holdings, values
        self._chosen = [ESTIMATORS[name] for name in estimators]
        self._by_equity = Equity(holdings)
        self._aivat, self._equity = Aivat(holdings, values), Aivat(holdings, self._by_equity)
        theirs = any(each.theirs for each in self._chosen)
        self._parts = Parts(theirs=theirs) if any(each.policies for each in self._chosen) else None

    def values_of(self, name: str) -> str:
        """What an estimator corrects by: name and hash of a value function."""
        each = ESTIMATORS[name]
        if not each.kinds:
            return ""
        values = self.values if each.policies else self._by_equity
        return f"{values.name} {values.digest}"

    def score(self, played: PlayedHand, player: str) -> tuple[dict[str, float], Corrected | None]:
        """Chips by estimator; and the terms of AIVAT, if policies were asked for."""
        record = played.record
        raw = record.values[record.names.index(player)]
        group = self._aivat.score(played, player, self._parts) if self._parts is not None else None
        alone: Corrected | None = None
        found = {}
        for each in self._chosen:
            if each.name == "raw" or (not each.cards and not record.state.showdown):
                found[each.name] = raw
            elif each.policies:
                assert group is not None
                found[each.name] = _total(group, each.kinds)
            else:
                alone = alone or self._equity.score(played, player, _ONE_HISTORY)
                found[each.name] = _total(alone, each.kinds)
        return found, group

    def score_all(self, hands: Hands) -> dict[str, F64]:
        """Chips of each hand by estimator."""
        chips = {each.name: np.zeros(len(hands.hands)) for each in self._chosen}
        for number, played in enumerate(hands.hands):
            found, _ = self.score(played, hands.player)
            for name, won in found.items():
                chips[name][number] = won
        return chips


def _total(corrected: Corrected, kinds: frozenset[Kind]) -> float:
    return math.fsum([corrected.base, *[term.chips for term in corrected.terms if term.kind in kinds]])


def available(hands: Sequence[PlayedHand], player: str) -> dict[str, str]:
    """Why an estimator cannot be had, by name; those that can are not in it."""
    cards = _first(hands, lambda hand: not all(hand.record.deal.hole))
    missing = {
        name: f"{cards.where}: the cards of {', '.join(_unknown(cards))} are not known"
        for name, each in ESTIMATORS.items()
        if cards is not None and each.cards
    }
    shown = _first(hands, lambda hand: hand.record.state.showdown and not all(hand.record.deal.hole))
    if shown is not None:
        missing[_ALL_IN] = f"{shown.where}: cards at the showdown are not known"
    for name, each in ESTIMATORS.items():
        if name in missing or not each.policies:
            continue
        for whose in (player, _other(hands, player)) if each.theirs else (player,):
            without = _first(hands, lambda hand, whose=whose: whose not in hand.decisions)  # type: ignore[misc]
            if without is not None:
                missing[name] = f"{without.where}: no policies of {whose}"
                break
    return missing


def _first(hands: Sequence[PlayedHand], wrong: Callable[[PlayedHand], bool]) -> PlayedHand | None:
    return next((hand for hand in hands if wrong(hand)), None)


def _unknown(hand: PlayedHand) -> list[str]:
    return [name for name, hole in zip(hand.record.names, hand.record.deal.hole, strict=True) if not hole]


def _other(hands: Sequence[PlayedHand], player: str) -> str:
    return next((name for hand in hands[:1] for name in hand.record.names if name != player), "")
