"""A dealer at work: carries out what the dealer machine says, over connections and into files.

The connections, the clock and the files are handed in, so that the same code deals one match in its own process and
hundreds of matches on one event loop.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from machine.errors import ParatusError
from protocol.dealer import Dealer, DealerPhase, Effect, Logged, Report, Tell, Transacted
from protocol.errors import DeadlineExceeded, Disconnected
from protocol.game import Seat
from protocol.log import MICROS, clock_text
from protocol.stream import LineStream
from protocol.wire import VERSION_LINE


class SteadyClock:
    """Microseconds since the epoch, from a clock that never runs backwards and ignores corrections."""

    def __init__(self) -> None:
        self._offset_us = time.time_ns() // 1000 - time.monotonic_ns() // 1000

    def __call__(self) -> int:
        return self._offset_us + time.monotonic_ns() // 1000


@dataclass(frozen=True, slots=True)
class Files:
    """Where a dealer writes; None: nowhere. All are unbuffered, so that a killed dealer loses nothing it wrote."""

    messages: BinaryIO | None = None
    log: BinaryIO | None = None
    transactions: BinaryIO | None = None
    quiet: bool = False
    """Keep only errors, warnings and the score in the messages."""


_KEPT_WHEN_QUIET = ("ERROR:", "WARNING:", "SCORE:", "#")


class Table:
    """One match: seats, files, dealer."""

    def __init__(self, dealer: Dealer, seats: Sequence[LineStream], files: Files, *, version_timeout_s: float) -> None:
        self._dealer = dealer
        self._seats = seats
        self._files = files
        self._version_timeout_s = version_timeout_s
        self._now = SteadyClock()

    async def play(self) -> bool:
        """Deal the match to its end; False if it failed (the dealer's `reason` says why)."""
        dealer = self._dealer
        dealer.mark_sent(self._now())
        while dealer.phase in (DealerPhase.GREETING, DealerPhase.PLAYING):
            seat, patience_s = dealer.acting_seat, self._patience_s()
            try:
                if patience_s <= 0:  # also while lines that answer nothing go on arriving
                    raise DeadlineExceeded
                line = await self._seats[seat].read_line(patience_s)
            except Disconnected as error:
                effects = dealer.lost(seat, self._now(), str(error))
            except DeadlineExceeded:
                effects = dealer.expire(self._now())
            else:
                effects = dealer.receive(line, self._now())
            self._carry_out(effects)
        for stream in self._seats:
            await stream.close()
        return dealer.phase is DealerPhase.OVER

    def score(self) -> None:
        """End a match that resumes after its last action: nobody is needed for that."""
        while self._dealer.phase is DealerPhase.GREETING:
            self._carry_out(self._dealer.receive(VERSION_LINE, self._now()))

    def _patience_s(self) -> float:
        if self._dealer.phase is DealerPhase.GREETING:
            return self._version_timeout_s
        return (self._dealer.deadline_us - self._now()) / MICROS

    def _carry_out(self, effects: list[Effect]) -> None:
        """Files first, then the seats, then the message record; what one seat is told goes out in one piece."""
        quiet, sent = self._files.quiet, clock_text(self._now())
        told: dict[Seat, str] = {}
        messages: list[str] = []
        for effect in effects:
            if isinstance(effect, Tell):
                told[effect.seat] = f"{told.get(effect.seat, '')}{effect.text}\r\n"
                if not quiet:
                    messages.append(f"TO {effect.seat + 1} at {sent} {effect.text}\r\n")
            elif isinstance(effect, Report):
                if not quiet or effect.text.startswith(_KEPT_WHEN_QUIET):
                    messages.append(effect.text + "\n")
            elif isinstance(effect, Transacted):
                _append(self._files.transactions, effect.text + "\n")
            elif isinstance(effect, Logged):
                _append(self._files.log, effect.text + "\n")
        for seat, text in told.items():
            with contextlib.suppress(Disconnected):  # noticed when that seat has to act
                self._seats[seat].write(text.encode())
        if told:  # a line that answers nothing leaves the clock running
            self._dealer.mark_sent(self._now())
        if messages:
            _append(self._files.messages, "".join(messages))


def _append(file: BinaryIO | None, text: str) -> None:
    if file is None:
        return
    rest = memoryview(text.encode())
    try:
        while rest:  # a disk that is nearly full takes a part
            rest = rest[file.write(rest) :]
    except OSError as error:
        raise ParatusError(f"{file.name}: {error.strerror}") from None
