"""Lines over TCP with asyncio: the one module here that does I/O.

A `LineStream` is one connection. Everything a peer controls is bounded: a line's length (by `LineBuffer`), the lines
waiting to be read (reading pauses, and the kernel's flow control does the rest), the bytes waiting to be sent (a peer
that does not read is disconnected) and every wait (a deadline, always).

Three ends are told apart: `Disconnected` when the peer closed or the connection broke, `DeadlineExceeded` when a wait
ran out, and `LocalProtocolError` when we use a stream that we closed ourselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar, cast

from machine.errors import ConfigError, quote
from protocol.errors import DeadlineExceeded, Disconnected, LocalProtocolError
from protocol.line_buffer import LineBuffer, ReceivedLine

MAX_WAITING_LINES: Final = 256
MAX_UNSENT_BYTES: Final = 1 << 20
_CLOSED: Final = "disconnected"
_LAST_LOOK_S: Final = 0.005
"""A process that was suspended finds its timers run out and its lines unread: it reads before it gives up."""

T = TypeVar("T")


class LineStream(asyncio.Protocol):
    """One connection, as lines."""

    def __init__(self) -> None:
        self._buffer = LineBuffer()
        self._lines: deque[ReceivedLine] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._lost: str | None = None
        """Why no more bytes will come, once that is so."""
        self._closed_here = False
        self._gone = self._loop.create_future()

    async def read_line(self, timeout_s: float) -> ReceivedLine:
        """The next line; waits at most `timeout_s` for it."""
        if not self._lines:
            if self._closed_here:
                raise LocalProtocolError("reading from a connection that we closed")
            if self._lost is not None:
                raise self._disconnected()
            await self._wait(timeout_s)
            if not self._lines:
                raise self._disconnected()
        line = self._lines.popleft()
        if len(self._lines) == MAX_WAITING_LINES // 2 and self._transport is not None:
            self._transport.resume_reading()
        return line

    async def unless_lost(self, work: Awaitable[T]) -> T:
        """The outcome of `work`, which is cancelled as soon as the connection is lost: it is not needed any more."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._gone}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise self._disconnected()
            return task.result()
        finally:
            task.cancel()

    def write(self, data: bytes) -> None:
        """Send bytes, at once as far as the peer takes them."""
        transport = self._transport
        if transport is None or self._closed_here:
            raise LocalProtocolError("writing to a connection that is not open")
        if self._lost is not None:
            raise self._disconnected()
        transport.write(data)
        if transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            self._lost = f"does not read: {transport.get_write_buffer_size()} bytes are waiting to be sent"
            transport.abort()
            raise self._disconnected()

    async def close(self, timeout_s: float = 1.0) -> None:
        """Close the connection and wait, briefly, until what was written has left."""
        self._closed_here = True
        if self._transport is None:
            return
        self._transport.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._gone), timeout_s)
        if not self._gone.done():
            self._transport.abort()

    async def _wait(self, timeout_s: float) -> None:
        if self._waiter is not None:
            raise LocalProtocolError("two readers of one connection")
        waiter = self._waiter = self._loop.create_future()
        timer = self._loop.call_later(max(timeout_s, 0.0), self._look_again, waiter, timeout_s)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _look_again(self, waiter: asyncio.Future[None], timeout_s: float) -> None:
        self._loop.call_later(_LAST_LOOK_S, _expire, waiter, timeout_s)

    def _disconnected(self) -> Disconnected:
        return Disconnected(self._lost or _CLOSED, clean=self._lost == _CLOSED)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it

    def data_received(self, data: bytes) -> None:
        self._lines.extend(self._buffer.feed(data))
        if len(self._lines) > MAX_WAITING_LINES and self._transport is not None:
            self._transport.pause_reading()
        if self._lines:
            self._wake()

    def eof_received(self) -> bool:
        cut = self._buffer.partial
        self._lost = f"closed the connection in the middle of a line, after {quote(cut)}" if cut else _CLOSED
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._lost is None:
            self._lost = _CLOSED if exc is None else f"{_CLOSED} ({exc})"
        if not self._gone.done():
            self._gone.set_result(None)
        self._wake()


def _expire(waiter: asyncio.Future[None], timeout_s: float) -> None:
    if not waiter.done():
        waiter.set_exception(DeadlineExceeded(f"nothing arrived within {timeout_s:.1f} s"))


async def connect(host: str, port: int, timeout_s: float, make: Callable[[], LineStream] = LineStream) -> LineStream:
    """Open a connection, trying again until `timeout_s` has passed: the dealer may start a moment after us."""
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + timeout_s, 0.05
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                _, stream = await loop.create_connection(make, host, port)
                return stream
        except TimeoutError:
            raise DeadlineExceeded(f"{host}:{port} did not accept the connection within {timeout_s:.1f} s") from None
        except UnicodeError:
            raise ConfigError(f"host {quote(host)}: expected a host name or an address") from None
        except OSError as error:
            if loop.time() + pause >= deadline:
                reason = error.strerror or str(error)
                raise Disconnected(f"cannot connect to {host}:{port}: {reason}") from None
            await asyncio.sleep(pause)
            pause = min(2 * pause, 1.0)


class SeatListener:
    """A listening socket that takes one connection and then closes.

    It accepts by itself: the standard library's servers mishandle a connection that comes while they close.
    """

    def __init__(self, listening: socket.socket) -> None:
        self._socket = listening
        self.port: int = listening.getsockname()[1]

    @classmethod
    def open(cls, host: str, port: int) -> SeatListener:
        """Listen on `port`, or on a free one if it is 0."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=1)
        listening.setblocking(False)
        return cls(listening)

    async def stream(self, timeout_s: float | None) -> LineStream:
        """The connection, once somebody has made it; nobody can make another."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                connection, _ = await loop.sock_accept(self._socket)
        except TimeoutError:
            raise DeadlineExceeded(f"nobody connected to port {self.port} within {timeout_s:.1f} s") from None
        finally:
            self.close()
        _, stream = await loop.connect_accepted_socket(LineStream, connection)
        return stream

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on uvloop where it is installed."""
    try:
        try:
            import uvloop
        except ImportError:
            return asyncio.run(main)
        result: T = uvloop.run(main)
        return result
    finally:
        main.close()  # interrupted before it began
