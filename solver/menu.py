"""The betting menu: which bets a tree offers at a public state, and the text that says so.

A menu is parts joined by semicolons, blanks ignored. A part lists sizes: for the first bet of a street, after a slash
for the first raise, and so on; the last group serves all later raises. Before the flop the blinds are no raise.

    50%,100%,a / 100%,a    every street: half the pot, pot or all-in; raises of the pot or all-in
    flop 33%,a / a         one street: preflop, flop, turn, river, which are the rounds of the game from its first
    oop 50%,a              whoever acts first on the street (before the flop too); ip: whoever does not
    turn ip 75%,a          both. For a street and player the closest part counts, in the order turn ip, turn, ip, none

    50%     the call plus half of the pot as it is after the call
    3x      three times the bet that is faced on the street; before the flop a first bet multiplies the blind
    450c    a bet of, or a raise to, 450 chips on this street
    min     the smallest legal raise
    a       all-in
    -       no raise, in place of sizes: 50% / 100% / - stops after two raises

    cap 3            at most three raises on each street
    all-in 67%       a size that puts in more than 67% of the player's chips behind becomes all-in
    nolimp           before the flop nobody just calls the blind, unless there is no raise to make instead
    also r300c/r700  one more bet at one state: the betting in ACPC's text, with the added raise (to) as its end

Sizes are rounded to chips, moved inside the legal bounds and offered once. Limit games have one size, whatever the menu
says, but `cap` and `nolimp` count. A bet added by `also` is what somebody did: neither `cap` nor `all-in` touches it,
and it must be legal. A street that no part is for is an error when play gets there: `-` is how to say no raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from machine.errors import ParatusError, quote
from protocol.errors import IllegalAction
from protocol.game import MAX_STREETS, STREET_NAMES, UNLIMITED
from protocol.state import CALL, FOLD, MAX_ACTIONS_PER_STREET, Action, Raise, State, can_fold, check, raise_bounds

PLAYERS: Final = ("oop", "ip")

NAMED: Final = {"libratus": "50%,100%,a / 100%,a", "small": "100%,a"}
"""Menus that have a name, which can stand for their text."""
NO_CAP: Final = MAX_ACTIONS_PER_STREET
"""No street holds as many raises."""

_NUMBER: Final = r"[0-9]{1,10}(?:\.[0-9]{1,20})?"
_SIZE: Final = re.compile(rf"({_NUMBER})([%x])|([0-9]{{1,10}})c")
_BETTING: Final = re.compile(r"[cfr0-9/]*")
_OPTIONS: Final = {
    "cap": (re.compile(r"([0-9]{1,2})"), f"1 to {NO_CAP}"),
    "all-in": (re.compile(rf"({_NUMBER})%"), "a share of the chips behind, as in all-in 67%"),
    "nolimp": (re.compile(r"()"), "nothing after it"),
    "also": (re.compile(r"([cfr0-9/]*)r([0-9]{1,10})"), "betting that ends with a raise, as in also r300c/r700"),
}
"""What follows the name of a part that lists no sizes."""
_MAX_CHARS: Final = 20_000
# Bounds within which sizes print without an exponent; the legal bounds make larger and smaller ones alike anyway.
_MIN_PERCENT, _MAX_PERCENT, _MAX_TIMES = 0.01, 100_000, 1_000


class MenuError(ParatusError):
    """A menu that cannot be read, or that does not fit the state it is asked about."""


@dataclass(frozen=True, slots=True)
class PotShare:
    """A share of the pot after the call, on top of the call."""

    percent: float

    def __post_init__(self) -> None:
        if not _MIN_PERCENT <= self.percent <= _MAX_PERCENT:
            raise MenuError(f"size {_plain(self.percent)}%: expected {_MIN_PERCENT}% to {_MAX_PERCENT}%")

    def __str__(self) -> str:
        return f"{_plain(self.percent)}%"


@dataclass(frozen=True, slots=True)
class Multiple:
    """A multiple of the bet that is faced on the street."""

    times: float

    def __post_init__(self) -> None:
        if not 1 < self.times <= _MAX_TIMES:
            raise MenuError(f"size {_plain(self.times)}x: expected more than 1x, up to {_MAX_TIMES}x")

    def __str__(self) -> str:
        return f"{_plain(self.times)}x"


@dataclass(frozen=True, slots=True)
class Chips:
    """A bet or raise to so many chips on the street."""

    chips: int

    def __post_init__(self) -> None:
        if not 1 <= self.chips <= UNLIMITED:
            raise MenuError(f"size {self.chips}c: expected 1c to {UNLIMITED}c")

    def __str__(self) -> str:
        return f"{self.chips}c"


class Bound(StrEnum):
    """A legal bound, whatever it is."""

    SMALLEST = "min"
    ALL_IN = "a"


Size = PotShare | Multiple | Chips | Bound
Ladder = tuple[tuple[Size, ...], ...]
"""[raise number on the street] sizes; the last entry serves all later raises."""


class Bet(NamedTuple):
    """One more bet at one public state."""

    betting: str
    """`State.betting` before it."""
    raise_to: int


@dataclass(frozen=True, slots=True)
class StreetSizes:
    """The sizes of one street."""

    oop: Ladder
    """For whoever acts first on the street."""
    ip: Ladder


@dataclass(frozen=True, slots=True)
class Menu:
    """What a tree offers; see the head of this file. Its constructor accepts only menus that can be written as text."""

    streets: tuple[StreetSizes | None, ...]
    """By round of the game; None where the menu has nothing to say."""
    cap: int = NO_CAP
    """Raises on each street."""
    all_in_percent: float | None = None
    """Sizes above this share of the chips behind become all-in; None for never."""
    limp: bool = True
    extra: frozenset[Bet] = frozenset()

    def __post_init__(self) -> None:
        if len(self.streets) != MAX_STREETS:
            raise MenuError(f"a menu of {len(self.streets)} streets: expected {MAX_STREETS}, None for no sizes")
        if not any(self.streets):
            raise MenuError("a menu without sizes: expected them for a street at least, as in 50%,a / a")
        for name, street in zip(STREET_NAMES, self.streets, strict=True):
            for ladder in (street.oop, street.ip) if street else ():
                _check_ladder(name, ladder)
        if not 1 <= self.cap <= NO_CAP:
            raise MenuError(f"cap {self.cap}: expected 1 to {NO_CAP}")
        if self.all_in_percent is not None and not _MIN_PERCENT <= self.all_in_percent < 100:
            raise MenuError(f"all-in {_plain(self.all_in_percent)}%: expected {_MIN_PERCENT}% to less than 100%")
        for bet in self.extra:
            if not _BETTING.fullmatch(bet.betting) or not 1 <= bet.raise_to <= UNLIMITED:
                raise MenuError(f"also {quote(bet.betting)} and {bet.raise_to}: expected betting and a raise to chips")

    def with_bet(self, betting: str, raise_to: int) -> Menu:
        """This menu with a raise to `raise_to` added at the state whose `betting` this is."""
        return replace(self, extra=self.extra | {Bet(betting, raise_to)})

    def scaled(self, factor: float) -> Menu:
        """This menu with every share of the pot multiplied."""

        def ladder(sizes: Ladder) -> Ladder:
            return tuple(
                [tuple([PotShare(each.percent * factor) if isinstance(each, PotShare) else each for each in group])
                 for group in sizes]
            )  # fmt: skip

        streets = [street and StreetSizes(ladder(street.oop), ladder(street.ip)) for street in self.streets]
        return self if factor == 1 else replace(self, streets=tuple(streets))

    def actions(self, state: State) -> list[Action]:
        """The actions at `state`: fold if chips are owed, then call, then raises from small to large."""
        if state.actor is None:
            return []
        raised = sum(isinstance(action, Raise) for action in state.history[-1])
        raises = sorted(self._raises(state, state.actor, raised) | self._added(state))
        limps = state.street == 0 and raised == 0 and can_fold(state)
        actions: list[Action] = [FOLD] if can_fold(state) else []
        if self.limp or not limps or not raises:
            actions.append(CALL)
        return [*actions, *(Raise(to) for to in raises)]

    def _raises(self, state: State, actor: int, raised: int) -> set[int]:
        bounds = raise_bounds(state)
        if bounds is None or raised >= self.cap:
            return set()
        if not state.game.no_limit:
            return {bounds.low}
        street = self.streets[state.street]
        if street is None:
            name = STREET_NAMES[state.street]
            raise MenuError(f"the menu has no sizes for the {name}: expected a part {name} …, or one for every street")
        ladder = street.oop if actor == state.game.first_player[state.street] else street.ip
        sizes = ladder[min(raised, len(ladder) - 1)]
        low, high = bounds
        raises = {min(max(_raise_to(size, state, low, high), low), high) for size in sizes}
        if self.all_in_percent is None:
            return raises
        before = state.committed[actor]
        most = self.all_in_percent * (high - before)
        return {high if 100 * (to - before) > most else to for to in raises}

    def _added(self, state: State) -> set[int]:
        added = {bet.raise_to for bet in self.extra if bet.betting == state.betting}
        for to in added:
            try:
                check(state, Raise(to))
            except IllegalAction as error:
                raise MenuError(f"also {state.betting}r{to}: {error}") from None
        return added


def _raise_to(size: Size, state: State, low: int, high: int) -> int:
    """What a size asks for, legal or not."""
    match size:
        case PotShare(percent):
            return round(state.maximum + percent / 100 * (state.pot + state.owed))
        case Multiple(times):
            before = _before_street(state)
            return round(before + times * (state.maximum - before))
        case Chips(chips):
            return _before_street(state) + chips
        case Bound.SMALLEST:
            return low
        case Bound.ALL_IN:
            return high
        case _:
            assert_never(size)


def _before_street(state: State) -> int:
    """The maximum when the street began; nothing before the flop, where the blinds are the bet that is faced."""
    if state.street == 0:
        return 0
    raises = [action.to for street in state.history[:-1] for action in street if isinstance(action, Raise)]
    return raises[-1] if raises else max(state.game.blind)


def _check_ladder(street: str, ladder: Ladder) -> None:
    if not ladder:
        raise MenuError(f"{street}: no sizes: expected sizes, or - for no raise")
    for sizes in ladder:
        if len(set(sizes)) < len(sizes):
            raise MenuError(f"{street}: sizes {','.join(map(str, sizes))}: expected each once")
    for size in ladder[0] if street != STREET_NAMES[0] else ():
        if isinstance(size, Multiple):
            raise MenuError(f"{street}: {size} as the first bet, where no bet is faced: expected %, c, min or a")


def parse_menu(text: str) -> Menu:
    """The menu that `text` describes, or the one it names (see `NAMED`)."""
    text = NAMED.get(text.strip(), text)
    if len(text) > _MAX_CHARS:
        raise MenuError(f"a menu of {len(text)} characters: expected at most {_MAX_CHARS}")
    ladders: dict[str, Ladder] = {}
    options: dict[str, str] = {}
    extra: set[Bet] = set()
    for part in text.split(";"):
        try:
            _read_part(part.split(), ladders, options, extra)
        except MenuError as error:
            raise MenuError(f"menu part {quote(part.strip())}: {error}") from None
    return Menu(
        streets=tuple([_street(name, ladders) for name in STREET_NAMES]),
        cap=int(options.get("cap", NO_CAP)),
        all_in_percent=float(options["all-in"]) if "all-in" in options else None,
        limp="nolimp" not in options,
        extra=frozenset(extra),
    )


def _read_part(words: list[str], ladders: dict[str, Ladder], options: dict[str, str], extra: set[Bet]) -> None:
    """Put one part where it belongs; ladders by their heading: `turn ip`, `turn`, `ip` or nothing."""
    name, rest = (words[0], " ".join(words[1:])) if words else ("", "")
    if name in _OPTIONS:
        pattern, expected = _OPTIONS[name]
        found = pattern.fullmatch(rest)
        if found is None:
            raise MenuError(f"{name} {quote(rest)}: expected {expected}")
        if name == "also":
            extra.add(Bet(found.group(1), int(found.group(2))))
        elif name in options:
            raise MenuError(f"{name} is given twice: expected it once")
        else:
            options[name] = found.group(1)
        return
    named = 1 if name in STREET_NAMES else 0
    named += 1 if words[named : named + 1] in (["oop"], ["ip"]) else 0
    heading = " ".join(words[:named])
    ladder = tuple([_sizes(group) for group in " ".join(words[named:]).split("/")])
    if heading in ladders:
        raise MenuError(f"sizes for {heading or 'every street'} are given twice: expected them once")
    ladders[heading] = ladder


def _sizes(group: str) -> tuple[Size, ...]:
    return () if group.strip() == "-" else tuple([_size(text.strip()) for text in group.split(",")])


def _size(text: str) -> Size:
    if text in ("min", "a"):
        return Bound(text)
    found = _SIZE.fullmatch(text)
    if found is None:
        raise MenuError(f"size {quote(text)}: expected 50% (of the pot), 3x (the bet), 450c (whole chips), min or a")
    number, unit, chips = found.groups()
    if chips:
        return Chips(int(chips))
    return PotShare(float(number)) if unit == "%" else Multiple(float(number))


def _street(name: str, ladders: dict[str, Ladder]) -> StreetSizes | None:
    """What the parts say about a street, the closest part first."""
    oop, ip = (
        next((ladders[heading] for heading in (f"{name} {who}", name, who, "") if heading in ladders), None)
        for who in PLAYERS
    )
    if bool(oop) != bool(ip):
        raise MenuError(f"{name}: sizes for {'oop' if oop else 'ip'} only: expected them for both players")
    return StreetSizes(oop, ip) if oop and ip else None


def menu_text(menu: Menu) -> str:
    """The text that reads back to exactly this menu."""
    alike = len(set(menu.streets)) == 1
    parts = []
    for name, street in zip(STREET_NAMES, menu.streets, strict=True):
        if street is None or (alike and name != STREET_NAMES[0]):
            continue
        ladders = {"": street.oop} if street.oop == street.ip else {"oop": street.oop, "ip": street.ip}
        for who, ladder in ladders.items():
            groups = " / ".join([",".join(map(str, sizes)) or "-" for sizes in ladder])
            parts.append(" ".join(filter(None, ("" if alike else name, who, groups))))
    if menu.cap != NO_CAP:
        parts.append(f"cap {menu.cap}")
    if menu.all_in_percent is not None:
        parts.append(f"all-in {_plain(menu.all_in_percent)}%")
    if not menu.limp:
        parts.append("nolimp")
    parts += [f"also {bet.betting}r{bet.raise_to}" for bet in sorted(menu.extra)]
    return "; ".join(parts)


def _plain(number: float) -> str:
    """The shortest decimal that reads back to the same number."""
    return repr(float(number)).removesuffix(".0")


LIBRATUS: Final = parse_menu("libratus")
"""The sizes of the published Libratus endgames: half the pot, pot, all-in first; pot, all-in later."""
