"""One session at a time, and a look at everything else in between.

An event loop runs all that is ready before it looks at sockets and timers again. When a hundred dealers speak at once,
that is a hundred decisions in a row. Here every line that a session has read waits for its turn, and one turn is given
in each round of the loop, first come, first served: so a round is never much longer than one decision.

What a line waits here is on the dealer's clock, but not on ours, which starts when the session has it; the longest wait
is counted (it is about as many decisions as there are matches, each well under a millisecond).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

from protocol.line_buffer import ReceivedLine
from protocol.stream import LineStream


class TurnGate:
    """Gives turns."""

    def __init__(self) -> None:
        self.longest_wait_s = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def stream(self) -> LineStream:
        """A connection whose lines wait for their turn."""
        return _InTurn(self)

    async def turn(self) -> None:
        """Wait for it."""
        loop, begun_s = asyncio.get_running_loop(), time.monotonic()
        mine = loop.create_future()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            loop.call_soon(self._give)
        await mine
        self.longest_wait_s = max(self.longest_wait_s, time.monotonic() - begun_s)

    def _give(self) -> None:
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():  # or cancelled: its match is over
                first.set_result(None)
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._give)


class _InTurn(LineStream):
    def __init__(self, gate: TurnGate) -> None:
        super().__init__()
        self._gate = gate

    async def read_line(self, timeout_s: float) -> ReceivedLine:
        """The next line, in turn."""
        line = await super().read_line(timeout_s)
        await self._gate.turn()
        return line
