"""A line: the actions and cards that lead from a spot to one of its decisions, as `b50%,c,[Td],x`.

    x  k        check                       b50%  r50%   bet or raise: the call plus half of the pot after it
    c           call                        b450  r450   bet, or raise to, 450 chips on this street
    f           fold                        a            all-in
    [Td]  Td    the card that is dealt when betting on a street is over

joined by commas or blanks, lower case but for ranks of cards. A size that is no action of the tree is refused, with
those that are. `action_code` writes what the reader reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from machine.errors import ConfigError, quote
from protocol.cards import Card, CardError, card_text, cards_text, parse_card
from protocol.state import Action, Call, Fold, Raise, State, apply
from solver.menu import Menu

_RAISE: Final = re.compile(r"[br](?:([0-9]{1,6}(?:\.[0-9]{1,6})?)%|([0-9]{1,10}))")
_CARD: Final = re.compile(r"\[([^\[\]]*)\]|([2-9TJQKA][cdhs])")
_SEPARATORS: Final = re.compile(r"[\s,]+")
_MAX_CHARS: Final = 2_000


class LineError(ConfigError):
    """Text that leads to no decision of the spot."""


@dataclass(frozen=True, slots=True)
class NodeLine:
    """A decision of a spot, and the way there."""

    actions: tuple[Action, ...]
    cards: tuple[Card, ...]
    """Dealt after the spot's board."""
    state: State
    choices: tuple[Action, ...]
    """What the tree offers there."""
    text: str
    """As `parse_line` reads it; empty at the spot itself."""


def parse_line(text: str, root: State, board: tuple[Card, ...], menu: Menu) -> NodeLine:
    """The decision to which `text` leads from the root."""
    if len(text) > _MAX_CHARS:
        raise LineError(f"a line of {len(text)} characters: expected at most {_MAX_CHARS}")
    actions: list[Action] = []
    cards: list[Card] = []
    codes: list[str] = []
    state = root
    for word in filter(None, _SEPARATORS.split(text)):
        waiting = _card_is_due(state, root, cards)
        card = _CARD.fullmatch(word)
        if waiting or card:
            dealt = _dealt(word, codes, waiting=waiting, taken=(*board, *cards))
            cards.append(dealt)
            codes.append(f"[{card_text(dealt)}]")
        else:
            action = _chosen(word, state, menu, codes)
            actions.append(action)
            codes.append(action_code(state, action))
            state = apply(state, action)
    after = ",".join(codes)
    if state.finished:
        raise LineError(f"after {after} nothing is left to decide: expected a line that ends before that")
    if _card_is_due(state, root, cards):
        raise LineError(
            f"after {after} a card is dealt: expected it in brackets, as in {after},[{_example((*board, *cards))}]"
        )
    return NodeLine(tuple(actions), tuple(cards), state, tuple(menu.actions(state)), after)


def _card_is_due(state: State, root: State, cards: list[Card]) -> bool:
    return not state.finished and state.street - root.street > len(cards)


def _example(taken: tuple[Card, ...]) -> str:
    return next(card_text(Card(card)) for card in (33, 34, 28, 25, 20, 17, 12) if card not in taken)


def _dealt(word: str, codes: list[str], *, waiting: bool, taken: tuple[Card, ...]) -> Card:
    where = f"after {','.join(codes)}" if codes else "at the start"
    found = _CARD.fullmatch(word)
    if not waiting:
        raise LineError(f"{quote(word)} {where}: no card is dealt there: expected an action")
    if found is None:
        raise LineError(f"{quote(word)} {where}: expected the card that is dealt, as in [{_example(taken)}]")
    try:
        card = parse_card(found.group(1) or found.group(2) or "")
    except CardError as error:
        raise LineError(str(error)) from None
    if card in taken:
        raise LineError(f"{quote(word)}: that card is on the board already, {cards_text(taken)}")
    return card


def _chosen(word: str, state: State, menu: Menu, codes: list[str]) -> Action:
    """The action of the tree that a word names."""
    choices = menu.actions(state)
    if not choices:
        raise LineError(f"{quote(word)} after {','.join(codes)}: nothing is left to decide there")
    found = [action for action in choices if _names(word, state, action)]
    if not found:
        offered = ", ".join([f"{action_code(state, each)} ({action_words(state, each)})" for each in choices])
        where = f"after {','.join(codes)}" if codes else "at the start"
        raise LineError(f"{quote(word)} {where}: no action of this tree: expected one of {offered}")
    return found[0]


def _names(word: str, state: State, action: Action) -> bool:
    if isinstance(action, Fold):
        return word == "f"
    if isinstance(action, Call):
        return word in (("c",) if state.owed else ("x", "k"))
    if word == "a":
        return _is_all_in(state, action)
    size = _RAISE.fullmatch(word)
    if size is None:
        return False
    percent, chips = size.groups()
    if chips is not None:
        return street_chips(state, action) == int(chips)
    return action.to in (_percent_to(state, float(percent)), _within_stack(state, _percent_to(state, float(percent))))


def _within_stack(state: State, to: int) -> int:
    """Sizes beyond the stack are all-in, as in menus."""
    return min(to, _stack(state))


def _percent_to(state: State, percent: float) -> int:
    return round(state.maximum + percent / 100 * (state.pot + state.owed))


def _stack(state: State) -> int:
    assert state.actor is not None
    return state.game.stack[state.actor]


def _is_all_in(state: State, action: Raise) -> bool:
    return action.to == _stack(state)


def street_chips(state: State, action: Raise) -> int:
    """What the acting player has then put in on this street: the size of a bet, or what a raise is to."""
    return action.to - _before_street(state)


def _before_street(state: State) -> int:
    """What each player had put in when the street began: the last raise of the streets before."""
    past = [action.to for street in state.history[:-1] for action in street if isinstance(action, Raise)]
    return past[-1] if past else state.game.big_blind


def percent_of_pot(state: State, action: Raise) -> str | None:
    """The size as `50%`, the shortest that means exactly this many chips; None if two decimals are not enough."""
    share = 100 * (action.to - state.maximum) / (state.pot + state.owed)
    for digits in range(3):
        text = f"{share:.{digits}f}"
        if _percent_to(state, float(text)) == action.to:
            return text + "%"
    return None


def action_code(state: State, action: Action) -> str:
    """What to type for it."""
    if isinstance(action, Fold):
        return "f"
    if isinstance(action, Call):
        return "c" if state.owed else "x"
    if _is_all_in(state, action):
        return "a"
    return f"b{percent_of_pot(state, action) or street_chips(state, action)}"


def action_words(state: State, action: Action) -> str:
    """What people say for it."""
    if isinstance(action, Fold):
        return "fold"
    if isinstance(action, Call):
        return f"call {state.owed:,}" if state.owed else "check"
    chips = f"{street_chips(state, action):,}"
    verb = "raise to" if state.owed else "bet"
    return f"all-in, {verb} {chips}" if _is_all_in(state, action) else f"{verb} {chips}"
