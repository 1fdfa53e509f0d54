"""Endgames in the text format in which those of Libratus were published: a board, a pot and two ranges.

    -round 3                the street: 3 turn, 4 river, and here also 2 flop
    -board 7s9h9cTc         in dealing order
    -pot 500                the chips in the pot, half of them from each player
    -reach 0.55 0.24 …      2,652 probabilities: the 1,326 hands of whoever acts first on the street, then the button's

The hands follow a deck that goes up by rank and, within a rank, through s, h, d, c: 2s2h, 2s2d, 2s2c, 2s3s, …, AdAc.
Each field stands once, on a line of its own. Lines may end as on any system. Weights are kept as float32, the range
type of the project, and written with as many digits as those need to read back to the same bits.

A file says nothing about blinds or stacks: those of the Libratus endgames are 50/100 and 20,000 for each player.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from machine.errors import ConfigError, quote
from machine.files import read_bounded, whole_file
from protocol.cards import NUM_CARDS, Card, CardError, cards_text, parse_cards
from protocol.game import UNLIMITED
from protocol.hands import NUM_HANDS, HandIndex, hand_index, hand_text, holdem_hands

BIG_BLIND: Final = 100
STACK: Final = 20_000
"""Of the Libratus endgames: each player's chips before the hand."""

Ranges = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Out of position, in position: [hand] weights in the order of `protocol.hands`."""

_FIELDS: Final = ("round", "board", "pot", "reach")
_CARDS_OF_ROUND: Final = {2: 3, 3: 4, 4: 5}
_WHOLE: Final = re.compile(r"[0-9]{1,10}")
_NUMBER: Final = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,60})?(?:[eE][+-]?[0-9]{1,3})?")
_MAX_BYTES: Final = 1 << 20


class EndgameError(ConfigError):
    """Text that is no endgame."""


@dataclass(frozen=True, slots=True, eq=False)
class Endgame:
    """What a file holds. Its constructor accepts only endgames that can be dealt."""

    board: tuple[Card, ...]
    pot: int
    ranges: Ranges

    def __post_init__(self) -> None:
        if len(self.board) not in _CARDS_OF_ROUND.values() or len(set(self.board)) < len(self.board):
            raise EndgameError(f"-board {cards_text(self.board)}: expected 3 to 5 different cards")
        if not 2 <= self.pot <= UNLIMITED or self.pot % 2:
            raise EndgameError(f"-pot {self.pot}: expected an even number of chips from 2 up, half from each player")
        dead = ~holdem_hands().live(self.board)
        for who, weights in zip(("out of position", "button"), self.ranges, strict=True):
            if weights.shape != (NUM_HANDS,) or weights.dtype != np.float32:
                raise EndgameError(
                    f"-reach, {who}: {weights.dtype}{list(weights.shape)}: expected float32[{NUM_HANDS}]"
                )
            bad = np.flatnonzero(~((weights >= 0) & (weights <= 1)))
            if bad.size:
                raise EndgameError(f"-reach, {who}, {_hand(bad)}: {weights[bad[0]]}: expected a number from 0 to 1")
            blocked = np.flatnonzero(dead & (weights > 0))
            if blocked.size:
                raise EndgameError(
                    f"-reach, {who}, {_hand(blocked)}: {weights[blocked[0]]}: expected 0, since it meets the board"
                )
            if not weights.any():
                raise EndgameError(f"-reach, {who}: nothing but 0: expected at least one hand")


def _hand(indices: NDArray[np.intp]) -> str:
    return hand_text(HandIndex(int(indices[0])))


@cache
def file_order() -> NDArray[np.int64]:
    """[place in a file] the index of the hand in `protocol.hands`."""
    deck = [Card(4 * (place // 4) + 3 - place % 4) for place in range(NUM_CARDS)]
    pairs = [(deck[i], deck[j]) for i in range(NUM_CARDS) for j in range(i + 1, NUM_CARDS)]
    order = np.array([hand_index(*pair) for pair in pairs], np.int64)
    order.flags.writeable = False
    return order


def read_endgame(path: Path) -> Endgame:
    """The endgame in a file."""
    data = read_bounded(path, "endgame", _MAX_BYTES)
    try:
        return parse_endgame(data.decode("ascii", "backslashreplace"))
    except EndgameError as error:
        raise EndgameError(f"{path}: {error}") from None


def parse_endgame(text: str) -> Endgame:
    """The endgame that `text` describes."""
    fields: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, value = line.partition(" ")
        key = name.removeprefix("-")
        if not name.startswith("-") or key not in _FIELDS:
            raise EndgameError(f"{quote(name)}: expected one of -{', -'.join(_FIELDS)}")
        if key in fields:
            raise EndgameError(f"{name}: given twice: expected it once")
        fields[key] = value.strip()
    missing = [f"-{key}" for key in _FIELDS if key not in fields]
    if missing:
        raise EndgameError(f"{', '.join(missing)} missing: expected -{', -'.join(_FIELDS)}")
    street = _whole("round", fields["round"])
    if street not in _CARDS_OF_ROUND:
        raise EndgameError(f"-round {street}: expected 3 (turn) or 4 (river), or 2 (flop)")
    try:
        board = parse_cards(fields["board"])
    except CardError as error:
        raise EndgameError(f"-board {error}") from None
    if len(board) != _CARDS_OF_ROUND[street]:
        raise EndgameError(f"-board {cards_text(board)}: expected {_CARDS_OF_ROUND[street]} cards in round {street}")
    return Endgame(board, _whole("pot", fields["pot"]), _ranges(fields["reach"].split()))


def _whole(key: str, text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise EndgameError(f"-{key} {quote(text)}: expected a whole number")
    return int(text)


def _ranges(words: list[str]) -> Ranges:
    if len(words) != 2 * NUM_HANDS:
        raise EndgameError(f"-reach has {len(words):,} numbers: expected {2 * NUM_HANDS:,}")
    for place, word in enumerate(words):
        if not _NUMBER.fullmatch(word):
            raise EndgameError(f"-reach, number {place + 1}: {quote(word)}: expected a number from 0 to 1")
    numbers = np.array([float(word) for word in words])
    if numbers.max() > 1:  # before they are rounded
        place = int(numbers.argmax())
        raise EndgameError(f"-reach, number {place + 1}: {quote(words[place])}: expected a number from 0 to 1")
    ranges = np.empty((2, NUM_HANDS), np.float32)
    ranges[:, file_order()] = numbers.reshape(2, NUM_HANDS)
    return ranges[0], ranges[1]


def endgame_text(endgame: Endgame) -> str:
    """The text that reads back to an equal endgame."""
    reach = [str(weight) for weights in endgame.ranges for weight in weights[file_order()]]
    return (
        f"-round {len(endgame.board) - 1}\n-board {cards_text(endgame.board)}\n-pot {endgame.pot}\n"
        f"-reach {' '.join(reach)}\n"
    )


def write_endgame(path: Path, endgame: Endgame) -> None:
    """Write a file, all of it or nothing."""
    with whole_file(path) as file:
        file.write(endgame_text(endgame).encode("ascii"))
