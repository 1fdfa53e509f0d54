"""What a person at the table reads and types.

The rules count a raise over the whole hand. At a table nobody does: "raise to 600" means 600 on this street. So amounts
are of the street here, in what is shown and in what is typed, and are converted at this edge (`read_typed`).

What is typed is taken exactly or refused with the bounds. Nothing is silently made legal: whoever asks for the pot and
has less is told so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from dealer_tools.formats.betting import chips_before_street
from machine.errors import ParatusError, quote
from protocol.errors import IllegalAction
from protocol.game import STREET_NAMES
from protocol.state import CALL, FOLD, Action, Call, Fold, Raise, State, check, raise_bounds, steps
from strategies.policy import Entry, RaiseBetween

HELP: Final = """\
f, fold           give up the hand
c, call, check    put in what is asked, or nothing
r 600, b 600      raise or bet to 600: all that you will have put in on this street
pot, half, 75%    raise by so much of the pot, as it is once you have called
min, all-in (a)   the smallest raise, the largest
?, help           this
q, quit           leave; a hand that is not over is not counted"""

_FOLD: Final = ("f", "fold")
_CHECK: Final = ("k", "x", "check")
_CALL: Final = ("c", "call")
_ALL_IN: Final = ("a", "allin", "all-in", "all in")
_RAISE = re.compile(r"(?:raise|bet|r|b)\s*(?:to\s*)?(\S.*)")
_CHIPS = re.compile(r"[0-9]{1,12}")
_PERCENT = re.compile(r"([0-9]{1,4})\s?%")
_SHARES: Final = {"pot": 1.0, "p": 1.0, "half": 0.5}

Wish = Literal["help", "quit"]


class TypedError(ParatusError):
    """Something typed that cannot be done."""


def read_typed(text: str, state: State) -> Action | Wish:
    """What a person wants. Raises `TypedError` with what would be legal."""
    said = " ".join(text.lower().replace(",", "").split())
    if said in ("?", "h", "help"):
        return "help"
    if said in ("q", "quit", "exit"):
        return "quit"
    action = _read_action(said, state)
    if action is None:
        raise TypedError(f"{quote(text.strip())}: expected one of {_keys(state)} (? says more)")
    try:
        check(state, action)
    except IllegalAction as error:
        raise TypedError(_refusal(action, state, str(error))) from None
    return action


def _read_action(said: str, state: State) -> Action | None:
    if said in _FOLD:
        return FOLD
    if said in _CHECK:
        if state.owed:
            raise TypedError(f"check: {state.owed:,} are asked of you: expected one of {_keys(state)}")
        return CALL
    if said in _CALL:
        return CALL
    found = _RAISE.fullmatch(said)
    return _read_size(found.group(1) if found else said, state, bare=found is None)


def _read_size(size: str, state: State, *, bare: bool) -> Action | None:
    assert state.actor is not None
    if _CHIPS.fullmatch(size) and not bare:
        return Raise(int(size) + chips_before_street(state))
    if size in _ALL_IN:
        stack = state.game.stack[state.actor]
        # Whoever has no more than what is asked goes all-in by calling.
        return Raise(stack) if stack > state.maximum else CALL
    if size == "min":
        bounds = raise_bounds(state)
        return Raise(bounds.low if bounds else state.maximum + 1)
    percent = _PERCENT.fullmatch(size)
    share = int(percent.group(1)) / 100 if percent else _SHARES.get(size)
    return None if share is None else Raise(_pot_share(state, share))


def _pot_share(state: State, share: float) -> int:
    """The raise-to, over the hand, by a share of the pot after a call."""
    return state.maximum + round(share * (state.pot + state.owed))


def _refusal(action: Action, state: State, why: str) -> str:
    if isinstance(action, Fold):
        return f"fold: nothing is asked of you: expected one of {_keys(state)}"
    bounds = raise_bounds(state)
    if isinstance(action, Raise) and bounds is not None:
        before = chips_before_street(state)
        low, high = bounds.low - before, bounds.high - before
        legal = f"{high:,}, all-in" if low == high else f"{low:,} to {high:,} (all-in)"
        return f"{_raising(state)} {action.to - before:,}: expected {legal}"
    return f"no raise here: {why.partition(': ')[2]}: expected one of {_keys(state)}"


def _keys(state: State) -> str:
    keys = ["f", "c"] if state.owed else ["c"]
    return ", ".join([*keys, "r N"] if raise_bounds(state) else keys)


def options(state: State) -> str:
    """What may be done, with sizes."""
    words = ["f fold", f"c call {state.owed:,}"] if state.owed else ["c check"]
    bounds = raise_bounds(state)
    if bounds is not None:
        before = chips_before_street(state)
        sizes = [
            f"{name} {to - before:,}"
            for name, to in (("half", _pot_share(state, 0.5)), ("pot", _pot_share(state, 1.0)))
            if bounds.low <= to < bounds.high
        ]
        span = f"{bounds.low - before:,} to {bounds.high - before:,}" if bounds.low < bounds.high else ""
        shown = ", ".join([*sizes, f"all-in {bounds.high - before:,}"])
        words.append(f"r N {_raising(state)} {span + ': ' if span else ''}{shown}")
    return " · ".join(words)


def _raising(state: State) -> str:
    """A first bet of a street is no raise."""
    return "raise to" if state.maximum > chips_before_street(state) else "bet"


def entry_words(entry: Entry, state: State) -> str:
    """What a policy may do: `raise to 600`."""
    before = chips_before_street(state)
    if isinstance(entry, Fold):
        return "fold"
    if isinstance(entry, Call):
        return "call" if state.owed else "check"
    if isinstance(entry, Raise):
        return f"{_raising(state)} {entry.to - before:,}"
    if isinstance(entry, RaiseBetween):
        return f"{_raising(state)} {entry.low - before:,}-{entry.high - before:,}"
    assert_never(entry)


def action_words(action: Action, state: State, *, you: bool) -> str:
    """What somebody did at a state: `raises to 600`, `call 50`."""
    s = "" if you else "s"
    assert state.actor is not None
    if isinstance(action, Fold):
        return f"fold{s}"
    if isinstance(action, Call):
        if not state.owed:
            return f"check{s}"
        return f"call{s} {state.owed:,}" + _all_in(state, state.committed[state.actor] + state.owed)
    if isinstance(action, Raise):
        verb = _raising(state).replace("raise", f"raise{s}").replace("bet", f"bet{s}")
        return f"{verb} {action.to - chips_before_street(state):,}" + _all_in(state, action.to)
    assert_never(action)


def _all_in(state: State, chips: int) -> str:
    assert state.actor is not None
    return " (all-in)" if chips == state.game.stack[state.actor] else ""


@dataclass(frozen=True, slots=True)
class Told:
    """One action in words."""

    street: int
    text: str


def story(state: State, names: tuple[str, ...]) -> list[Told]:
    """The betting so far; `names` by position, the person's being `you`."""
    told = []
    for at, action in steps(state):
        assert at.actor is not None
        name = names[at.actor]
        told.append(Told(at.street, f"{name} {action_words(action, at, you=name == 'you')}"))
    return told


def story_text(state: State, names: tuple[str, ...]) -> str:
    """In one line: `preflop: you raise to 300, paratus calls 200 · flop: paratus checks`."""
    told = story(state, names)
    streets = dict.fromkeys(each.street for each in told)
    return " · ".join(
        [
            f"{STREET_NAMES[street]}: {', '.join([each.text for each in told if each.street == street])}"
            for street in streets
        ]
    )
