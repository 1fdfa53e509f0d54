"""A spot: what a student asks about. Board, pot, chips behind, two ranges, a menu of bets; checked before any work.

Chips of a spot are counted as players do: a pot in which both have put half, and the chips behind. The solver's root is
the `State` of a hand that led there: the button raised to half the pot before the flop, the big blind called, and
nobody bet since. So its history says what both had in before the street, from where sizes in chips are measured. Where
the rules allow that raise it is exactly what `replay` gives; the root of a smaller pot has the same form.

Spots before the flop are not studied here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bot.solve.endgames import BIG_BLIND, STACK, Endgame, Ranges
from machine.errors import ConfigError, quote
from machine.files import read_bounded
from protocol.cards import Card, CardError, cards_text, parse_cards
from protocol.game import DEFAULT_GAME, STREET_NAMES, UNLIMITED, Game, Position, load_game
from protocol.hands import NUM_HANDS, holdem_hands
from protocol.ranges import RangeError, check_range, parse_range
from protocol.state import CALL, Action, Raise, State, apply, raise_bounds
from solver.menu import Chips, Menu, MenuError, PotShare, menu_text, parse_menu

OOP: Final = Position(0)
"""Who acts first on every street: the big blind."""
IP: Final = Position(1)
PLAYERS: Final = ("oop", "ip")
"""Names of the players, by position."""
_STREETS: Final = dict(zip((3, 4, 5), STREET_NAMES[1:], strict=True))
"""By cards on the board."""

DEFAULT_MENU: Final = "50%,100%,a / 100%,a"

_MAX_RANGE_BYTES: Final = 1 << 20
_BLANKS: Final = re.compile(r"[\s,]+")


class SpotError(ConfigError):
    """A spot that cannot be: the message names the field."""


@dataclass(frozen=True, slots=True, eq=False)
class SolveSpot:
    """One question. Its constructor accepts only spots in which somebody has something to decide."""

    board: tuple[Card, ...]
    pot: int
    """Chips in the pot, half of them from each player."""
    stack: int
    """Chips behind, of the player who has fewer."""
    ranges: Ranges
    """By position: out of position, in position."""
    menu: Menu
    big_blind: int = BIG_BLIND
    """The smallest bet, and the unit of mbb."""

    def __post_init__(self) -> None:
        _check_board(self.board)
        _check_chips(self.pot, self.stack, self.big_blind)
        check_ranges(self.board, self.ranges)
        _check_menu(root_state(self), self.menu)

    @property
    def street(self) -> str:
        """The street on which the spot begins."""
        return _STREETS[len(self.board)]

    @property
    def paid(self) -> int:
        """What each player has put in before the spot: an EV less this is net chips of the whole hand."""
        return self.pot // 2

    @property
    def hands(self) -> tuple[int, int]:
        """How many hands each player can hold."""
        alive = holdem_hands().live(self.board)
        oop, ip = (int(np.count_nonzero(weights[alive])) for weights in self.ranges)
        return oop, ip

    @property
    def largest(self) -> tuple[float, float]:
        """Each player's largest weight of a hand that can be held. The solver's float32 wants ranges divided by it."""
        alive = holdem_hands().live(self.board)
        oop, ip = (float(weights[alive].max()) for weights in self.ranges)
        return oop, ip


def spot_of_endgame(endgame: Endgame, menu: Menu, stack: int | None = None, big_blind: int = BIG_BLIND) -> SolveSpot:
    """The spot of an endgame file, with the stacks of Libratus unless others are given."""
    behind = STACK - endgame.pot // 2 if stack is None else stack
    return SolveSpot(endgame.board, endgame.pot, behind, endgame.ranges, menu, big_blind)


def root_state(spot: SolveSpot) -> State:
    """The state at which the spot begins."""
    half, game = spot.pot // 2, _game(spot)
    opening: tuple[Action, ...] = (CALL, CALL) if half == spot.big_blind else (Raise(half), CALL)
    past = (opening, *[(CALL, CALL)] * (len(spot.board) - 3))
    betting = "".join(["cc/" if street == (CALL, CALL) else f"r{half}c/" for street in past])
    return State(
        game=game,
        committed=(half, half),
        folded=(False, False),
        actor=OOP,
        maximum=half,
        min_raise_to=half + spot.big_blind,
        history=(*past, ()),
        matched=0,
        betting=betting,
    )


def _game(spot: SolveSpot) -> Game:
    total = spot.stack + spot.pot // 2
    blinds = (spot.big_blind, spot.big_blind // 2)
    return replace(load_game(DEFAULT_GAME).game, blind=blinds, stack=(total, total))


def parse_board(text: str) -> tuple[Card, ...]:
    """The board that `text` spells, with or without blanks between the cards."""
    try:
        return parse_cards(_BLANKS.sub("", text))
    except CardError as error:
        raise SpotError(f"board: {error}") from None


def read_menu(text: str) -> Menu:
    """The menu that `text` describes."""
    try:
        return parse_menu(text)
    except MenuError as error:
        raise SpotError(str(error)) from None


def read_range(text: str, who: str) -> NDArray[np.float32]:
    """The range that `text` spells, or that stands in the file `@FILE`: range text, or the 1,326 numbers of a .npy."""
    try:
        if not text.startswith("@"):
            return parse_range(text)
        path = Path(text[1:])
        if path.suffix == ".npy":
            return check_range(read_array(path, "range"))
        return parse_range(read_bounded(path, "range", _MAX_RANGE_BYTES).decode("utf-8", "backslashreplace"))
    except (RangeError, ConfigError) as error:
        raise SpotError(f"{who}: {error}") from None


def read_array(path: Path, field: str) -> NDArray[np.floating]:
    """The numbers in a .npy."""
    read_bounded(path, field, _MAX_RANGE_BYTES)
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise SpotError(f"{field} {path}: {quote(str(error))}: expected an array of {NUM_HANDS} numbers") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        raise SpotError(f"{field} {path}: expected an array of {NUM_HANDS} numbers")
    return array


def _check_board(board: tuple[Card, ...]) -> None:
    if not board:
        raise SpotError("board: no cards: expected 3 to 5 (spots before the flop cannot be solved yet)")
    if len(board) not in _STREETS or len(set(board)) < len(board):
        raise SpotError(f"board {cards_text(board)}: expected 3 (flop), 4 (turn) or 5 (river) different cards")


def _check_chips(pot: int, stack: int, big_blind: int) -> None:
    for field, value in (("pot", pot), ("stack", stack), ("big blind", big_blind)):
        if not 1 <= value <= UNLIMITED // 4:
            raise SpotError(f"{field} {value}: expected chips from 1 to {UNLIMITED // 4}")
    if pot % 2:
        raise SpotError(
            f"pot {pot}: expected an even number of chips, half from each player: double every number "
            f"(pot {2 * pot}, stack {2 * stack}, big blind {2 * big_blind})"
        )
    if stack + pot // 2 <= big_blind:
        raise SpotError(f"big blind {big_blind}: expected less than a whole stack, {stack + pot // 2}")


def check_ranges(board: tuple[Card, ...], ranges: Ranges) -> None:
    """Refuse ranges of which no pair of hands can be dealt beside a board."""
    hands = holdem_hands()
    alive = hands.live(board)
    for who, weights in zip(PLAYERS, ranges, strict=True):
        if weights.shape != (NUM_HANDS,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise SpotError(f"{who}: {list(weights.shape)} weights: expected {NUM_HANDS} numbers from 0 up")
        if not weights.any():
            raise SpotError(f"{who}: no hand has a weight: expected at least one")
        if not weights[alive].any():
            raise SpotError(f"{who}: every hand meets the board {cards_text(board)}: expected one that can be held")
    oop, ip = (alive & (weights > 0) for weights in ranges)
    if not hands.compatible[np.ix_(oop, ip)].any():
        raise SpotError("oop and ip: every hand of one meets every hand of the other: no pair of hands can be dealt")


def _check_menu(root: State, menu: Menu) -> None:
    """Walk the line in which both always check: every street of it needs sizes, and some bet."""
    for bet in menu.extra:
        if not bet.betting.startswith(root.betting):
            raise SpotError(
                f"menu: also {bet.betting}r{bet.raise_to}: expected betting that begins with {root.betting}"
            )
    state, something = root, False
    try:
        while not state.finished:
            something = something or len(menu.actions(state)) > 1
            state = apply(state, CALL)
    except MenuError as error:
        raise SpotError(f"menu: {error}") from None
    if not something:
        raise SpotError(f"menu {quote(menu_text(menu))}: no bet on any street: expected sizes, as in 50%,a / a")
    bounds = raise_bounds(root)
    before = root.maximum
    for size in _first_sizes(root, menu):
        if isinstance(size, Chips) and bounds and not bounds.low <= before + size.chips <= bounds.high:
            low, high = bounds.low - before, bounds.high - before
            raise SpotError(f"menu: {size}: no legal bet in this spot: expected {low}c to {high}c")


def _first_sizes(root: State, menu: Menu) -> list[object]:
    """What the menu offers as the first bet of the spot's street."""
    street = menu.streets[root.street]
    return [] if street is None else list(dict.fromkeys([*street.oop[0], *street.ip[0]]))


def menu_notes(spot: SolveSpot) -> list[str]:
    """What becomes of first bets that are too small or too large to be legal."""
    root = root_state(spot)
    bounds = raise_bounds(root)
    notes = []
    for size in _first_sizes(root, spot.menu):
        if isinstance(size, PotShare) and bounds:
            bet = round(size.percent / 100 * spot.pot)
            if bet < bounds.low - root.maximum:
                notes.append(f"menu: {size} is {bet:,} chips, less than the smallest bet: {spot.big_blind:,} is used")
            elif bet > spot.stack:
                notes.append(f"menu: {size} is {bet:,} chips, more than the {spot.stack:,} behind: all-in is used")
    return notes
