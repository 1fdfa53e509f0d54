"""Any file of played hands: what it is shows in what it holds, whatever its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from dealer_tools.formats import acpc, phh, slumbot
from dealer_tools.formats.reading import FormatError, read_lines
from dealer_tools.formats.records import RecordedSession
from machine.errors import quote
from protocol.game import Game

_KNOWN: Final = "an ACPC log, a Slumbot session or a PHH file"
_PHH_LINE = re.compile(r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')\s*=.*""")
_NOT_THESE: Final = {
    "SQLite format 3": "a match store, not a file of text",
    "MATCHSTATE:": "what a dealer and a bot said to each other",
    "TO ": "what a dealer and a bot said to each other",
    "GAMEDEF": "the definition of a game",
    "\x1f\ufffd": "compressed",
    "PK\x03\x04": "compressed",
}


def read_sessions(path: Path, game: Game | None = None, player: str = slumbot.CLIENT) -> list[RecordedSession]:
    """The sessions in a file of any format that is read here.

    `game` is for ACPC logs that do not name theirs, `player` is our name in sessions with Slumbot.
    """
    kind = _kind(path)
    if kind == "acpc":
        return [acpc.read_log(path, game)]
    if kind == "slumbot":
        return [slumbot.read_session(path, player)]
    return phh.read_sessions(path)


def _kind(path: Path) -> str:
    """By the first line that only one format has: a damaged line before it costs no more than that line."""
    lines = [line for line in read_lines(path).lines if line.strip()]
    told = [line for line in lines if not line.startswith(("#", ";")) or line.startswith(acpc.HEADER_START)]
    if not told:
        raise FormatError(f"{path}: {'nothing but comments' if lines else 'empty'}: expected {_KNOWN}")
    first = told[0]
    what = next((what for start, what in _NOT_THESE.items() if first.startswith(start)), "")
    for line in told if not what else ():
        if line.startswith((acpc.HEADER_START, "STATE:", "SCORE:")):
            return "acpc"
        if line.startswith("{"):
            return "slumbot"
        if phh.SECTION.fullmatch(line) or _PHH_LINE.fullmatch(line):
            return "phh"
    raise FormatError(f"{path}: {what or quote(first)}: expected {_KNOWN}")
