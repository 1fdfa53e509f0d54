"""Bytes to lines, bounded.

A peer controls how its bytes are cut into packets and how long its lines are: `LineBuffer` accepts any cutting and
never holds more than one line's limit. A line that exceeds the limit is dropped up to its end and reported as
`TOO_LONG`, once; what to do about it is the reader's business.
"""

from __future__ import annotations

from typing import Final

from protocol.wire import MAX_LINE_BYTES


class _TooLong:
    def __repr__(self) -> str:
        return "TOO_LONG"


TOO_LONG: Final = _TooLong()
ReceivedLine = str | _TooLong


class LineBuffer:
    """Splits a stream of bytes into lines without their ends (`\\n` or `\\r\\n`)."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max = max_line_bytes
        self._partial = b""
        self._skipping = False

    @property
    def partial(self) -> bytes:
        """What has arrived of an unfinished line."""
        return self._partial

    def feed(self, data: bytes) -> list[ReceivedLine]:
        """Add bytes; returns the lines they complete. What is not ASCII becomes `\\ufffd`, which no rule allows."""
        pieces = data.split(b"\n")
        last = len(pieces) - 1
        lines: list[ReceivedLine] = []
        for index, piece in enumerate(pieces):
            ended = index < last
            if self._skipping:
                self._skipping = not ended
                continue
            whole = self._partial + piece if self._partial else piece
            self._partial = b""
            if len(whole) > self._max:
                lines.append(TOO_LONG)
                self._skipping = not ended
            elif ended:
                lines.append(whole.removesuffix(b"\r").decode("ascii", "replace"))
            else:
                self._partial = whole
        return lines
