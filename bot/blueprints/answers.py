"""What a blueprint does in one spot, with every hand and by class.

A hand counts by the probability with which it comes there: the product of what the blueprint would have done with it at
its own earlier decisions of the hand. If no hand comes there all count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from blueprints.lookup import Found, Lookup
from blueprints.storage import Blueprint
from bot.solve.answers import class_order
from machine.errors import ConfigError
from protocol.arrays import F64
from protocol.cards import Card, cards_text
from protocol.hands import HandClass, class_text, hand_classes_array, hands_of
from protocol.state import Action, Call, Fold, Raise, State, action_text, steps

_HALF: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The hands of a class."""

    hand_class: int
    count: int
    reach: float
    """Of its hands together."""
    frequencies: F64
    """[action]"""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """One decision."""

    blueprint: Blueprint
    state: State
    board: tuple[Card, ...]
    found: Found
    reach: F64
    """[hand] 0 for hands that meet the board."""
    played: bool
    """Whether any hand comes there."""

    @property
    def words(self) -> list[str]:
        """The actions as people say them."""
        return [action_words(self.state, action) for action in self.found.actions]

    @property
    def frequencies(self) -> F64:
        """[action] over all hands."""
        weighted = (self.found.shares * self.reach).sum(axis=1)
        frequencies: F64 = weighted / weighted.sum()
        return frequencies

    @property
    def notes(self) -> list[str]:
        """In which way this is not the tree's own spot."""
        place, notes = self.found.place, []
        if place.translated:
            notes.append(f"{_times(place.translated, 'action')} not in the tree, taken for the likelier neighbour")
        if place.jumps:
            notes.append(f"the tree has nothing like it {_times(place.jumps, 'time')}: the nearest decision is shown")
        if self.found.replaced:
            notes.append(f"{_times(self.found.replaced, 'action')} of the tree moved to what is legal")
        if not self.played:
            notes.append("never played: all hands count alike")
        return notes


def look_up(lookup: Lookup, state: State, board: tuple[Card, ...]) -> Shown:
    """What a blueprint does with every hand. Bets that it does not know are taken for the likelier neighbour."""
    found = lookup.policy(state, board, likelier)
    if found is None:
        raise ConfigError(f"--spot {state.betting}: the blueprint has no decision of that player on that street")
    alive: F64 = np.asarray(found.shares.any(axis=0), np.float64)
    reach: F64 = alive
    for here, action in steps(state):
        if here.actor == state.actor:
            taken = lookup.likelihood(here, action, board[: state.game.board_cards_by(here.street)], likelier)
            reach = reach * (0 if taken is None else taken)
    played = bool(reach.any())
    return Shown(lookup.blueprint, state, board, found, reach if played else alive, played)


def likelier(place: int) -> float:
    """A draw that decides for whichever neighbour has more than half."""
    return _HALF


def by_class(shown: Shown) -> list[Group]:
    """Classes of full hold'em that come there, from aces down."""
    classes = hand_classes_array()
    groups = []
    for number in sorted(set(classes[shown.reach > 0].tolist()), key=class_order):
        members = (classes == number) & (shown.reach > 0)
        weights = shown.reach[members]
        frequencies = shown.found.probabilities[:, members] @ (weights / weights.sum())
        groups.append(Group(number, int(members.sum()), float(weights.sum()), frequencies))
    return groups


def hand_texts(shown: Shown) -> list[str]:
    """Every hand as text, in the order of columns."""
    return [cards_text(hand[::-1]) for hand in hands_of(shown.state.game)]


def has_classes(shown: Shown) -> bool:
    """Whether hands are those of full hold'em."""
    return len(shown.reach) == len(hand_classes_array())


def shown_data(shown: Shown) -> dict[str, Any]:
    """As plain data."""
    state, game, place = shown.state, shown.state.game, shown.found.place
    codes = [action_text(action, game) for action in shown.found.actions]
    probabilities = shown.found.probabilities
    return {
        "blueprint": {"name": shown.blueprint.name, "hash": shown.blueprint.digest},
        "betting": state.betting,
        "board": cards_text(shown.board),
        "position": state.actor,
        "pot_chips": state.pot,
        "to_call_chips": state.owed,
        "node": place.node,
        "translated": place.translated,
        "jumps": place.jumps,
        "replaced": shown.found.replaced,
        "played": shown.played,
        "actions": [
            {
                "code": code,
                "words": words,
                "raise_to_chips": action.to if isinstance(action, Raise) else None,
                "frequency": _number(frequency),
            }
            for action, code, words, frequency in zip(
                shown.found.actions, codes, shown.words, shown.frequencies, strict=True
            )
        ],
        "classes": [
            {
                "class": class_text(HandClass(group.hand_class)),
                "hands": group.count,
                "reach": _number(group.reach),
                "frequencies": _by_code(codes, group.frequencies),
            }
            for group in (by_class(shown) if has_classes(shown) else [])
        ],
        "hands": [
            {
                "hand": hand,
                "reach": _number(shown.reach[column]),
                "frequencies": _by_code(codes, probabilities[:, column]),
            }
            for column, hand in enumerate(hand_texts(shown))
            if shown.found.shares[:, column].any()
        ],
    }


def action_words(state: State, action: Action) -> str:
    """What people say for it: raises of the first street and over a bet are to so many chips, other bets of so many."""
    if isinstance(action, Fold):
        return "fold"
    if isinstance(action, Call):
        return f"call {state.owed:,}" if state.owed else "check"
    assert state.actor is not None
    percent = f"{100 * (action.to - state.maximum) / max(1, state.pot + state.owed):.0f}% of the pot"
    if action.to == state.game.stack[state.actor]:
        return f"all-in ({percent})"
    if state.owed or state.street == 0:
        return f"raise to {action.to:,} ({percent})"
    return f"bet {action.to - state.maximum:,} ({percent})"


def _by_code(codes: Sequence[str], frequencies: NDArray[np.floating]) -> dict[str, float]:
    return dict(zip(codes, map(_number, frequencies), strict=True))


def _number(value: float | np.floating) -> float:
    return float(f"{float(value):.6g}")


def _times(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
