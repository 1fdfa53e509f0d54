"""The emulator over HTTP/1.1: just enough of it for clients that POST JSON, and strict about the rest.

Requests are bounded in size and time, connections in number. A request that is not understood as HTTP ends its
connection with a status of 400 to 501; one that is understood, but not as the interface has it, gets HTTP 200 with an
`error_msg`, as slumbot.com does it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from dealer_tools.formats.slumbot import SlumbotError, parse_object
from dealer_tools.slumbot.emulator import PATHS, Emulator, RequestError
from dealer_tools.slumbot.faults import NOT_CARRIED_OUT, Fault, Faults
from machine.errors import ConfigError

BASES: Final = ("/slumbot/api", "/api")
_MAX_HEAD_BYTES: Final = 16_384
_MAX_BODY_BYTES: Final = 65_536
_MAX_CONNECTIONS: Final = 64
_IDLE_S: Final = 60.0
_WRITE_S: Final = 30.0


class _BadRequest(Exception):
    """What is no request that can be answered on this connection."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    body: bytes
    keep: bool
    """Whether the client wants the connection to stay open."""


class SlumbotServer:
    """Serves an emulator on a port, with faults."""

    def __init__(
        self,
        emulator: Emulator,
        faults: Faults | None = None,
        tell: Callable[[dict[str, Any]], None] = lambda event: None,
    ) -> None:
        self.injected: Counter[str] = Counter()
        self.requests = 0
        self._emulator, self._faults, self._tell = emulator, faults or Faults(), tell
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> str:
        """Listen; returns the base address."""
        try:
            self._server = await asyncio.start_server(self._accept, host, port, limit=_MAX_HEAD_BYTES)
        except (OSError, OverflowError) as error:
            raise ConfigError(f"{host}:{port}: {error}: expected an address and a port of this machine") from None
        bound = self._server.sockets[0].getsockname()
        name = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        return f"http://{name}:{bound[1]}{BASES[0]}"

    async def close(self) -> None:
        """Stop listening and end all connections."""
        if self._server is not None:
            self._server.close()
        for task in [*self._connections]:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= _MAX_CONNECTIONS:
            writer.close()
            return
        self._connections.add(task)
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._serve_one(reader, writer):
                    pass
        finally:
            self._connections.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; false ends the connection."""
        try:
            async with asyncio.timeout(_IDLE_S):
                request = await _read_request(reader)
            what = _route(request)
        except _BadRequest as error:
            await _send(writer, _response(error.status, {"error_msg": str(error)}, keep=False))
            return False
        fault = self._faults.draw()
        self.requests += 1
        if fault is not Fault.NONE:
            self.injected[fault.value] += 1
            self._tell({"event": "fault", "request": self.requests, "what": what, "fault": fault.value})
        if fault is Fault.CLOSE_BEFORE:
            return False
        if fault in NOT_CARRIED_OUT:
            said = {"error_msg": f"{fault.value} on request"}
            await _send(writer, _response(NOT_CARRIED_OUT[fault], said, keep=request.keep))
            return request.keep
        content = _response(200, await self._answer(what, request.body, fault), keep=request.keep)
        return await self._send_faulty(writer, content, fault, keep=request.keep)

    async def _answer(self, what: str, body: bytes, fault: Fault) -> Mapping[str, Any]:
        try:
            return await self._emulator.answer(what, parse_object(body.decode("utf-8", errors="replace")), fault)
        except (RequestError, SlumbotError) as error:
            return {"error_msg": str(error)}

    async def _send_faulty(self, writer: asyncio.StreamWriter, content: bytes, fault: Fault, *, keep: bool) -> bool:
        if fault is Fault.CLOSE_AFTER:
            return False
        if fault is Fault.DELAY:
            await asyncio.sleep(self._faults.delay_s)
        if fault is Fault.CUT:
            await _send(writer, content[: len(content) // 2])
            return False
        if fault is Fault.GARBAGE:
            content = _http(200, b"<html>Bad gateway</html>", "text/html", keep=keep)
        await _send(writer, content * 2 if fault is Fault.TWICE else content)
        return keep


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise _BadRequest(431, f"more than {_MAX_HEAD_BYTES} bytes of headers") from None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    words = first.split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
        raise _BadRequest(400, "expected METHOD PATH HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip() or name.lower() in headers:
            raise _BadRequest(400, "a header that is none, or that is there twice")
        headers[name.lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise _BadRequest(501, "expected Content-Length")
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or len(length) > 9:
        raise _BadRequest(400, "Content-Length: expected bytes")
    if int(length) > _MAX_BODY_BYTES:
        raise _BadRequest(413, f"more than {_MAX_BODY_BYTES} bytes of body")
    asked = headers.get("connection", "keep-alive" if words[2] == "HTTP/1.1" else "close").lower()
    return _Request(words[0], words[1], await reader.readexactly(int(length)), asked != "close")


def _route(request: _Request) -> str:
    path = request.path.partition("?")[0]
    base, _, what = path.rpartition("/")
    if base not in BASES or what not in PATHS:
        raise _BadRequest(404, f"expected {BASES[0]}/ with one of {', '.join(PATHS)}")
    if request.method != "POST":
        raise _BadRequest(405, "expected POST")
    return what


def _response(status: int, document: Mapping[str, Any], *, keep: bool) -> bytes:
    return _http(status, json.dumps(document).encode(), "application/json", keep=keep)


def _http(status: int, body: bytes, kind: str, *, keep: bool) -> bytes:
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        f"Connection: {'keep-alive' if keep else 'close'}\r\n\r\n"
    )
    return head.encode("ascii") + body


async def _send(writer: asyncio.StreamWriter, content: bytes) -> None:
    writer.write(content)
    async with asyncio.timeout(_WRITE_S):
        await writer.drain()
