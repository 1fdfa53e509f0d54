"""Lines over TCP: any cutting into packets, every kind of end, and bounds on all that a peer controls.

The peer is a plain socket. Everything runs on the event loop of the standard library and on uvloop: they differ in when
they pause, close and report errors.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import closing
from typing import Any

import pytest
import uvloop
from processes import free_port

from protocol.errors import DeadlineExceeded, Disconnected, LocalProtocolError
from protocol.line_buffer import TOO_LONG
from protocol.stream import MAX_UNSENT_BYTES, MAX_WAITING_LINES, LineStream, SeatListener, connect
from protocol.stream import run as run_main

SOON_S = 5.0
"""A bound on waits that succeed."""
SHORT_S = 0.05
"""A wait that is meant to run out."""

Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    def run_it(main: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(debug=True, loop_factory=request.param) as runner:
            runner.run(main)

    return run_it


@contextlib.asynccontextmanager
async def seat() -> AsyncIterator[tuple[LineStream, socket.socket]]:
    """A connection: our end and the peer's socket."""
    listener = SeatListener.open("127.0.0.1", 0)
    with closing(socket.create_connection(("127.0.0.1", listener.port))) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = await listener.stream(SOON_S)
        try:
            yield stream, peer
        finally:
            await stream.close(0.1)


async def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.001)


# --- Cutting ----------------------------------------------------------------------------------------------------------


def test_byte_by_byte(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            for byte in b"VERSION:2.0.0\r\n#\n\r\n":
                peer.send(bytes([byte]))
                await asyncio.sleep(0)
            assert [await stream.read_line(SOON_S) for _ in range(3)] == ["VERSION:2.0.0", "#", ""]
            assert not stream._lines

    run(main())


def test_many_lines_in_one_packet(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            peer.sendall(b"one\r\ntwo\nthree\r\nfo")
            assert [await stream.read_line(SOON_S) for _ in range(3)] == ["one", "two", "three"]
            peer.sendall(b"ur\r\n")
            assert await stream.read_line(SOON_S) == "four"

    run(main())


def test_a_line_that_is_too_long_is_told_once_and_the_next_is_whole(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            peer.setblocking(False)
            loop = asyncio.get_running_loop()
            sending = asyncio.create_task(loop.sock_sendall(peer, b"x" * 10_000_000 + b"\r\nnext\r\n"))
            assert await stream.read_line(SOON_S) is TOO_LONG
            assert await stream.read_line(SOON_S) == "next"
            assert len(stream._buffer.partial) == 0
            await sending

    run(main())


def test_what_is_written_arrives(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            for number in range(100):
                stream.write(b"%d\r\n" % number)
            await stream.close()
            peer.settimeout(SOON_S)
            assert peer.makefile("rb").read() == b"".join(b"%d\r\n" % number for number in range(100))

    run(main())


# --- Ends -------------------------------------------------------------------------------------------------------------


async def end_of(stream: LineStream) -> Disconnected:
    """How the connection ends; the same on every further use."""
    with pytest.raises(Disconnected) as caught:
        await stream.read_line(SOON_S)
    with pytest.raises(Disconnected) as again:
        await stream.read_line(SOON_S)
    with pytest.raises(Disconnected) as writing:
        stream.write(b"hello\r\n")
    assert str(caught.value) == str(again.value) == str(writing.value)
    assert caught.value.clean == again.value.clean == writing.value.clean
    return caught.value


def test_lines_that_came_before_the_end_are_read_first(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            peer.sendall(b"one\r\ntwo\r\n")
            peer.close()
            await until(lambda: stream._lost is not None, "the end arrives")
            assert [await stream.read_line(SOON_S) for _ in range(2)] == ["one", "two"]
            end = await end_of(stream)
            assert (str(end), end.clean) == ("disconnected", True)

    run(main())


def test_an_end_in_the_middle_of_a_line(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            peer.sendall(b"one\r\nMATCHST")
            peer.close()
            assert await stream.read_line(SOON_S) == "one"
            end = await end_of(stream)
            assert str(end) == "closed the connection in the middle of a line, after b'MATCHST'"
            assert not end.clean

    run(main())


def test_a_connection_that_breaks(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            waiting = asyncio.create_task(stream.read_line(SOON_S))
            await asyncio.sleep(0)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()
            with pytest.raises(Disconnected, match=r"^disconnected \(.*reset by peer\)$") as caught:
                await waiting
            assert not caught.value.clean

    run(main())


def test_work_that_nobody_needs_any_more_is_cancelled(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            assert await stream.unless_lost(asyncio.sleep(0.01, "done")) == "done"
            work = asyncio.ensure_future(asyncio.sleep(SOON_S))
            needed = asyncio.ensure_future(stream.unless_lost(work))
            await asyncio.sleep(0)
            peer.close()
            with pytest.raises(Disconnected) as caught:
                await asyncio.wait_for(needed, SOON_S / 2)
            assert caught.value.clean
            await asyncio.sleep(0)
            assert work.cancelled()

    run(main())


def test_after_our_own_end_nothing_is_possible(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, _):
            await stream.close()
            await stream.close()
            with pytest.raises(LocalProtocolError, match="that we closed"):
                await stream.read_line(SOON_S)
            with pytest.raises(LocalProtocolError, match="not open"):
                stream.write(b"hello\r\n")

    run(main())


# --- Waits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout_s", [SHORT_S, 0.0, -1.0])
def test_a_wait_that_runs_out_leaves_the_connection_usable(run: Run, timeout_s: float) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            peer.sendall(b"half a li")
            begun = time.monotonic()
            with pytest.raises(DeadlineExceeded, match="nothing arrived within"):
                await stream.read_line(timeout_s)
            assert max(timeout_s, 0.0) - 0.005 <= time.monotonic() - begun < SOON_S
            peer.sendall(b"ne\r\n")
            assert await stream.read_line(SOON_S) == "half a line"

    run(main())


def test_a_waiting_line_is_read_even_if_there_is_no_time(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            peer.sendall(b"one\r\n")
            await until(lambda: bool(stream._lines), "the line arrives")
            assert await stream.read_line(-1.0) == "one"

    run(main())


def test_dripping_bytes_do_not_prolong_a_wait(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):

            async def drip() -> None:
                while True:
                    peer.send(b".")
                    await asyncio.sleep(SHORT_S / 10)

            dripping = asyncio.create_task(drip())
            with pytest.raises(DeadlineExceeded):
                await stream.read_line(SHORT_S)
            dripping.cancel()

    run(main())


def test_two_readers_are_refused(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            first = asyncio.create_task(stream.read_line(SOON_S))
            await asyncio.sleep(0)
            with pytest.raises(LocalProtocolError, match="two readers"):
                await stream.read_line(SOON_S)
            peer.sendall(b"one\r\n")
            assert await first == "one"

    run(main())


def test_a_cancelled_reader_leaves_the_line_to_the_next(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            first = asyncio.create_task(stream.read_line(SOON_S))
            await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            peer.sendall(b"one\r\n")
            assert await stream.read_line(SOON_S) == "one"

    run(main())


# --- Bounds -----------------------------------------------------------------------------------------------------------


def test_reading_pauses_when_too_many_lines_wait_and_none_is_lost(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, peer):
            peer.setblocking(False)
            everything = b"".join(b"%07d\r\n" % number for number in range(1_000_000))
            sent = refused = 0
            while refused < 20:  # until nothing more is taken for a while
                try:
                    sent += peer.send(everything[sent : sent + 65536])
                    refused = 0
                except BlockingIOError:
                    refused += 1
                await asyncio.sleep(0.001)
            whole = sent // 9
            assert MAX_WAITING_LINES < len(stream._lines) < whole < 1_000_000
            for number in range(whole):
                assert await stream.read_line(SOON_S) == f"{number:07}"
            assert not stream._lines

    run(main())


def test_a_peer_that_does_not_read_is_disconnected(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, _):
            sent = 0

            async def write() -> None:
                nonlocal sent
                while sent < 1 << 30:
                    stream.write(b"x" * 4095 + b"\n")
                    sent += 4096
                    await asyncio.sleep(0)

            with pytest.raises(Disconnected, match=r"^does not read: [0-9]+ bytes are waiting to be sent$"):
                await write()
            assert MAX_UNSENT_BYTES <= sent < 64 * MAX_UNSENT_BYTES  # the kernel takes some megabytes
            end = await end_of(stream)
            assert not end.clean

    run(main())


def test_closing_does_not_wait_for_a_peer_that_does_not_read(run: Run) -> None:
    async def main() -> None:
        async with seat() as (stream, _):
            while stream._transport.get_write_buffer_size() < MAX_UNSENT_BYTES // 2:
                stream.write(b"x" * 4095 + b"\n")
                await asyncio.sleep(0)
            begun = time.monotonic()
            await stream.close(SHORT_S)
            assert time.monotonic() - begun < SOON_S
            await until(stream._gone.done, "the connection is gone")

    run(main())


# --- Connecting -------------------------------------------------------------------------------------------------------


def test_connecting_where_nobody_listens(run: Run) -> None:
    async def main() -> None:
        port, begun = free_port(), time.monotonic()
        with pytest.raises(Disconnected, match=f"^cannot connect to 127.0.0.1:{port}: "):
            await connect("127.0.0.1", port, 0.2)
        assert time.monotonic() - begun < SOON_S

    run(main())


def test_connecting_to_a_dealer_that_starts_later(run: Run) -> None:
    async def main() -> None:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            connecting = asyncio.create_task(connect("127.0.0.1", server.getsockname()[1], SOON_S))
            await asyncio.sleep(SHORT_S)
            assert not connecting.done()
            server.listen()
            stream = await connecting
            with closing(server.accept()[0]) as peer:
                peer.sendall(b"hello\r\n")
                assert await stream.read_line(SOON_S) == "hello"
                await stream.close()

    run(main())


def test_a_connection_that_is_never_accepted(run: Run) -> None:
    """A full backlog drops the request for a connection: no answer at all."""

    async def main() -> None:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(0)
            address = server.getsockname()
            waiting = [socket.socket() for _ in range(4)]
            for probe in waiting:
                probe.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    probe.connect(address)
            with pytest.raises(DeadlineExceeded, match="did not accept the connection within"):
                await connect(*address, 0.2)
            for probe in waiting:
                probe.close()

    run(main())


def test_a_seat_takes_one_connection(run: Run) -> None:
    async def main() -> None:
        listener = SeatListener.open("127.0.0.1", 0)
        address = ("127.0.0.1", listener.port)
        with closing(socket.create_connection(address)), closing(socket.socket()) as second:
            stream = await listener.stream(SOON_S)
            await until(lambda: second.connect_ex(address) != 0, "the seat is closed")
            await stream.close()

    run(main())


def test_of_two_that_come_at_once_one_is_turned_away(run: Run) -> None:
    async def main() -> None:
        listener = SeatListener.open("127.0.0.1", 0)
        address = ("127.0.0.1", listener.port)
        with closing(socket.create_connection(address)) as first, closing(socket.create_connection(address)) as second:
            stream = await listener.stream(SOON_S)
            stream.write(b"welcome\r\n")
            await stream.close()
            heard = []
            for peer in (first, second):
                peer.settimeout(SOON_S)
                await asyncio.sleep(SHORT_S)
                try:
                    heard.append(peer.recv(100))
                except ConnectionResetError:
                    heard.append(b"")
            assert sorted(heard) == [b"", b"welcome\r\n"]

    run(main())


def test_nobody_comes(run: Run) -> None:
    async def main() -> None:
        listener = SeatListener.open("127.0.0.1", 0)
        with pytest.raises(DeadlineExceeded, match=f"nobody connected to port {listener.port} within 0.1 s"):
            await listener.stream(SHORT_S)
        listener.close()
        listener.close()

    run(main())


def test_run_uses_the_fast_loop() -> None:
    async def main() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert run_main(main()) == "uvloop"
