"""The control interface: a JSON object a line in, one a line out, over a Unix socket or a loopback port.

    {"do": "join", "match": {"host": …, "port": …, …}}    {"ok": true, "match": name}
    {"do": "list"}                                        {"ok": true, "matches": […]}
    {"do": "drain"} or {"do": "drain", "match": name}     {"ok": true, "leaving": how many}
    {"do": "stop"}                                        {"ok": true}
    {"do": "health"}                                      {"ok": true, "state": "serving", …}
    {"do": "metrics"}                                     {"ok": true, "text": Prometheus text}
    anything else                                         {"ok": false, "error": one line}

Where a token is set each request has it as `"token"`; it is compared in constant time, and a request without it learns
nothing else. The socket belongs to its user alone. Requests are bounded in bytes and in time, connections in number;
what is not a JSON object ends its connection (a web browser that was talked into speaking to us, for one).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from bot.serve.config import MatchSection, ServeConfig, parse_match
from machine.errors import ConfigError, ParatusError, quote

LOOPBACK: Final = "127.0.0.1"
_BACKLOG: Final = 16

Request = dict[str, Any]


class BadRequest(ParatusError):
    """Nothing that could be answered: the connection ends."""


class Controlled(Protocol):
    """What requests are about."""

    config: ServeConfig
    stopping: bool

    def join(self, section: MatchSection) -> str:
        """Begin a match; returns what it is called."""

    def describe(self) -> list[dict[str, Any]]:
        """All matches."""

    def drain(self, key: str = "") -> int:
        """Leave one match, or all, each after its hand; how many."""

    def stop(self) -> None:
        """Leave all and end."""

    def health(self) -> dict[str, Any]:
        """Whether it is fit to play."""

    def metrics_text(self) -> str:
        """For Prometheus."""


class Control:
    """Answers requests about a server."""

    def __init__(self, server: Controlled) -> None:
        self._server, self._settings = server, server.config.control
        self._token = server.config.control.token().encode()
        self._connections: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        """Listen; yields where."""
        limit, port, path = self._settings.request_bytes, self._settings.port, self._settings.path
        try:
            if port:
                listening = await asyncio.start_server(self._serve, LOOPBACK, port, limit=limit, backlog=_BACKLOG)
            else:
                listening = await asyncio.start_unix_server(self._serve, sock=_private_socket(path), limit=limit)
        except OSError as error:
            key, value = ("control.port", port) if port else ("control.socket", quote(str(path)))
            raise ConfigError(f"{key} = {value}: {error.strerror or error}: expected one that is free") from None
        try:
            yield f"{LOOPBACK}:{port}" if port else str(path)
        finally:
            listening.close()
            for task in list(self._connections):
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            if not port:
                path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # asyncio made it for this connection
        try:
            if len(self._connections) < self._settings.connections:
                self._connections.add(task)
                await self._answer_all(reader, writer)
        except (OSError, BadRequest, TimeoutError):
            pass  # gone, slow, or talking nonsense: said already, if it could be
        except asyncio.CancelledError:  # asyncio would complain about a connection that ends so
            if not self._server.stopping:
                raise
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            async with asyncio.timeout(self._settings.request_s):
                try:
                    line = await reader.readuntil(b"\n")
                except asyncio.IncompleteReadError:
                    return
                except asyncio.LimitOverrunError:
                    line = b""
            request, error = self._parse(line)
            reply = self.answer(request) if request is not None else {"ok": False, "error": error}
            writer.write(json.dumps(reply).encode() + b"\n")
            async with asyncio.timeout(self._settings.request_s):
                await writer.drain()
            if request is None:
                raise BadRequest(error)

    def _parse(self, line: bytes) -> tuple[Request | None, str]:
        if not line:
            return None, f"a request longer than {self._settings.request_bytes} bytes: expected a shorter one"
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            request = None
        return (request, "") if isinstance(request, dict) else (None, f"{quote(line)}: expected a JSON object")

    def answer(self, request: Request) -> dict[str, Any]:
        """What a request gets."""
        given = request.pop("token", "")
        if self._token and not _same(given, self._token):
            return {"ok": False, "error": "token: expected the one of the server's token file"}
        do = request.pop("do", None)
        handlers: dict[str, Callable[[Request], dict[str, Any]]] = {
            "join": self._join,
            "list": lambda rest: {"matches": self._server.describe()},
            "drain": self._drain,
            "stop": self._stop,
            "health": lambda rest: self._server.health(),
            "metrics": lambda rest: {"text": self._server.metrics_text()},
        }
        handler = handlers.get(do) if isinstance(do, str) else None
        try:
            if handler is None:
                raise ConfigError(f"do = {quote(str(do))}: expected one of {', '.join(handlers)}")
            unknown = [key for key in request if key != "match" or do not in ("join", "drain")]
            if unknown:
                raise ConfigError(f"{quote(unknown[0])}: unknown key of {do}")
            return {"ok": True, **handler(request)}
        except (ParatusError, OSError) as error:
            return {"ok": False, "error": str(error)}

    def _join(self, request: Request) -> dict[str, Any]:
        match = request.get("match")
        if not isinstance(match, dict):
            raise ConfigError(f"match = {quote(repr(match))}: expected an object with host and port")
        return {"match": self._server.join(parse_match(match))}

    def _drain(self, request: Request) -> dict[str, Any]:
        match = request.get("match", "")
        if not isinstance(match, str):
            raise ConfigError(f"match = {quote(repr(match))}: expected the name of a match")
        return {"leaving": self._server.drain(match)}

    def _stop(self, request: Request) -> dict[str, Any]:
        self._server.stop()
        return {}


def _same(given: object, token: bytes) -> bool:
    return hmac.compare_digest(str(given).encode("utf-8", "replace"), token)


def _private_socket(path: Path) -> socket.socket:
    """A listening socket that only its user can open: its mode is set before anyone could."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_socket() and not _answers(path):  # left behind by one that was killed
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(str(path))
        path.chmod(0o600)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made


def _answers(path: Path) -> bool:
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
        return True
