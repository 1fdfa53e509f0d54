"""What all readers of played hands share: files as lines, numbers that name one hand each, and what is missing.

Two kinds of trouble. Damage that stays in one line or one hand costs that hand: it is `RefusedHand` with its place.
Damage that makes the whole file worthless (a result that its hands do not add up to, no way to know the game) is a
`FormatError`, and no other exception leaves a reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from dealer_tools.formats.records import PlayedHand, RefusedHand
from machine.errors import ParatusError
from machine.files import write_whole

_SHOWN_GAPS: Final = 5
_DAMAGED_CHARACTER: Final = "\ufffd"


class FormatError(ParatusError):
    """A file of played hands that is refused as a whole, or one that cannot be written."""


class Lines(NamedTuple):
    """A text file."""

    lines: tuple[str, ...]
    cut: bool
    """The last line has no end."""


def read_lines(path: Path) -> Lines:
    """The lines of a file without their ends. What is no UTF-8 becomes a character that `damaged` finds."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FormatError(f"{path}: {reason}: expected a file of played hands") from None
    lines = data.decode("utf-8", errors="replace").split("\n")
    cut = lines.pop() if lines[-1] == "" else None
    return Lines(tuple([line.removesuffix("\r") for line in lines]), cut is None)


def damaged(text: str) -> bool:
    """True if the file had bytes here that are no text."""
    return _DAMAGED_CHARACTER in text


def write_text(path: Path, text: str) -> None:
    """Whole or not at all."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}: cannot be written") from None


class Distinct(NamedTuple):
    """Hands of which no two have one number, in the order of their numbers."""

    hands: list[PlayedHand]
    refused: list[RefusedHand]
    notes: list[str]


def distinct(hands: Iterable[PlayedHand]) -> Distinct:
    """An exact repeat counts once. Of different hands with one number nobody knows the right one: all are refused."""
    first: dict[int, PlayedHand] = {}
    refused: list[RefusedHand] = []
    clashing: set[int] = set()
    repeats: list[PlayedHand] = []
    for hand in hands:
        number = hand.record.hand
        earlier = first.setdefault(number, hand)
        if earlier is hand:
            continue
        if earlier.record == hand.record:
            repeats.append(hand)
            continue
        refused.append(RefusedHand(hand.where, f"hand {number} is another one at {earlier.where}: neither is counted"))
        if number not in clashing:
            clashing.add(number)
            refused.append(
                RefusedHand(earlier.where, f"hand {number} is another one at {hand.where}: neither is counted")
            )
    numbers = sorted(first)
    kept = [first[number] for number in numbers if number not in clashing]
    return Distinct(kept, refused, [_repeated(repeats)] if repeats else [])


def _repeated(repeats: Sequence[PlayedHand]) -> str:
    hand, more = repeats[0], len(repeats) - 1
    others = f" (and {more} more)" if more else ""
    return f"{hand.where}: hand {hand.record.hand} once more, exactly as before{others}: counted once"


def missing(numbers: Iterable[int], expected: int | None = None) -> tuple[int, str]:
    """How many of the hands 0 to `expected` - 1 (or to the last that is there) are not among `numbers`, and which."""
    gaps, at, count = [], 0, 0
    there = sorted(set(numbers))
    end = max(expected or 0, there[-1] + 1 if there else 0)
    for number in [*there, end]:
        if number > at:
            gaps.append(f"{at}" if number == at + 1 else f"{at}-{number - 1}")
            count += number - at
        at = number + 1
    more = f" and {len(gaps) - _SHOWN_GAPS} more gaps" if len(gaps) > _SHOWN_GAPS else ""
    return count, ", ".join(gaps[:_SHOWN_GAPS]) + more
