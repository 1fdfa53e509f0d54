"""The HTTP side: one request at a time is paced, bounded, and either answered or failed with a reason.

A request fails in one of two ways, and the difference matters for an action. It was *refused* if the server said so
(an `error_msg`, a status from 400 to 499) or was never reached: nothing has happened. Otherwise nobody knows: the
connection closed, the wait ended, or what came back is no reply to this request.

All requests share one pace. None leaves before `spacing_s` have passed since the last reply; after a failure the wait
is `backoff_s`, and twice as long after each further one, up to `backoff_max_s`. A good reply ends that.

httpx is imported when a client is made: it comes with the extra `http`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dealer_tools.formats.slumbot import SlumbotError, parse_object
from dealer_tools.slumbot.settings import SlumbotSettings
from machine.errors import ConfigError, ParatusError, quote

if TYPE_CHECKING:
    import httpx

MAX_REPLY_BYTES: Final = 65_536
_SECRETS_KEPT: Final = 16
_TELL_FROM_S: Final = 10.0
"""Waits that long are announced."""
T = TypeVar("T")


class Why(Enum):
    """What kind of failure."""

    ERROR = "error_msg"
    STATUS = "status"
    UNREACHED = "not reached"
    CLOSED = "closed"
    SLOW = "too slow"
    STRANGE = "no reply to the request"


class RequestFailed(ParatusError):
    """A request without a reply that can be used."""

    def __init__(self, why: Why, message: str, *, unknown: bool, token: object = None) -> None:
        super().__init__(message)
        self.why = why
        self.token = token
        """What the server's refusal has as a token: any reply may carry a new one."""
        self.unknown = unknown
        """Whether the server may have carried it out."""


class GaveUp(ParatusError):
    """The server failed for too long."""


class Stopping(ParatusError):
    """The user wants to stop."""


class Traffic:
    """What all that talk to one server share: when the next request may leave, counts, and what must not be shown."""

    def __init__(self, settings: SlumbotSettings, say: Callable[[str], None]) -> None:
        self.failures: Counter[str] = Counter()
        """By kind."""
        self.requests = 0
        self._settings, self._say = settings, say
        self._lock = asyncio.Lock()
        self._next_s = 0.0
        self._in_a_row = 0
        self._failing_since_s = 0.0
        self._secrets: deque[str] = deque(maxlen=_SECRETS_KEPT)

    async def ready(self, stop: asyncio.Event) -> None:
        """Wait until a request could leave; raises `Stopping` if `stop` is set before."""
        while not stop.is_set() and (left_s := self._next_s - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), left_s)
        if stop.is_set():
            raise Stopping("stopped")

    async def turn(self) -> None:
        """Wait until this request may leave."""
        async with self._lock:
            while (left_s := self._next_s - time.monotonic()) > 0:  # noqa: ASYNC110 - moves while others are answered
                await asyncio.sleep(left_s)
            self._next_s = time.monotonic() + self._settings.spacing_s
            self.requests += 1

    def hide(self, secret: str) -> None:
        """Text that must not be shown, whatever the server sends back."""
        if secret and secret not in self._secrets:
            self._secrets.append(secret)

    def clean(self, text: str) -> str:
        """Without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return text

    def succeeded(self) -> None:
        """A good reply has arrived."""
        self._in_a_row = 0
        self._next_s = max(self._next_s, time.monotonic() + self._settings.spacing_s)

    def failed(self, why: Why, message: str) -> None:
        """A request has failed; raises `GaveUp` after too long without a good reply."""
        self.failures[why.value] += 1
        now, settings = time.monotonic(), self._settings
        if not self._in_a_row:
            self._failing_since_s = now
        self._in_a_row += 1
        if now - self._failing_since_s > settings.give_up_s:
            raise GaveUp(f"no good reply for {now - self._failing_since_s:.0f} s; the last failure: {message}")
        doubled_s = settings.backoff_s * 2.0 ** min(self._in_a_row - 1, 60)
        wait_s = max(min(doubled_s, settings.backoff_max_s), settings.spacing_s)
        self._next_s = max(self._next_s, now + wait_s)
        if wait_s >= _TELL_FROM_S:
            self._say(f"failure {self._in_a_row} in a row, waiting {wait_s:.0f} s: {message}")


class SlumbotHttp:
    """Requests of one conversation. An async context manager."""

    def __init__(self, settings: SlumbotSettings, traffic: Traffic) -> None:
        self._settings, self._traffic = settings, traffic
        self._httpx = import_httpx()
        self._tls = self._httpx.create_ssl_context()  # once: reading the certificates takes longer than a request
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> SlumbotHttp:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.drop()

    async def drop(self) -> None:
        """Close the connection, if it is open."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def post(self, what: str, body: Mapping[str, Any], read: Callable[[dict[str, Any]], T]) -> T:
        """Send a request and have its reply read; raises `RequestFailed`, or whatever `read` raises that is no
        `SlumbotError`.
        """
        await self._traffic.turn()
        try:
            result = read(await self._reply(what, body))
        except (RequestFailed, SlumbotError) as error:
            failure = self._failure(what, error)
            await self.drop()  # what may still come on the connection is no answer to the next request
            self._traffic.failed(failure.why, str(failure))
            if isinstance(error, RequestFailed) or type(error) is SlumbotError:
                raise failure from None
            raise
        self._traffic.succeeded()
        return result

    def _failure(self, what: str, error: ParatusError) -> RequestFailed:
        if isinstance(error, RequestFailed):
            return RequestFailed(
                error.why, self._traffic.clean(f"{what}: {error}"), unknown=error.unknown, token=error.token
            )
        return RequestFailed(Why.STRANGE, self._traffic.clean(f"{what}: {error}"), unknown=True)

    async def _reply(self, what: str, body: Mapping[str, Any]) -> dict[str, Any]:
        status, content = await self._exchange(what, body)
        text = content.decode("utf-8", errors="replace")
        if status != 200:
            said = quote(self._traffic.clean(text))
            raise RequestFailed(
                Why.STATUS, f"HTTP status {status}: {said}: expected 200", unknown=not 400 <= status < 500
            )
        try:
            document = parse_object(text)
        except SlumbotError:  # which shows the text: half a reply may hold a whole token
            raise SlumbotError(f"{len(content)} bytes: expected one JSON object") from None
        if document.get("error_msg") is not None:
            said = quote(self._traffic.clean(str(document["error_msg"])))
            token = document.get("token")
            raise RequestFailed(Why.ERROR, f"the server answered {said}", unknown=False, token=token)
        return document

    async def _exchange(self, what: str, body: Mapping[str, Any]) -> tuple[int, bytes]:
        """Status and content; every wait is bounded, and so is the size."""
        httpx, settings = self._httpx, self._settings
        content = bytearray()
        try:
            async with asyncio.timeout(settings.timeout_s):
                client = self._open()
                async with client.stream("POST", f"{settings.base.rstrip('/')}/{what}", json=dict(body)) as response:
                    async for part in response.aiter_bytes():
                        content += part
                        if len(content) > MAX_REPLY_BYTES:
                            raise RequestFailed(
                                Why.STRANGE, f"a reply of more than {MAX_REPLY_BYTES} bytes", unknown=True
                            )
                    return response.status_code, bytes(content)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            if "CERTIFICATE" in str(error):
                raise ConfigError(f"slumbot.base = {quote(settings.base)}: {error}") from None
            raise RequestFailed(Why.UNREACHED, f"not reached: {_said(error)}", unknown=False) from None
        except (httpx.TimeoutException, TimeoutError):
            raise RequestFailed(Why.SLOW, f"no reply within {settings.timeout_s:g} s", unknown=True) from None
        except httpx.HTTPError as error:
            raise RequestFailed(Why.CLOSED, f"no reply: {_said(error)}", unknown=True) from None

    def _open(self) -> httpx.AsyncClient:
        """Proxies of the environment are used to other machines, not to this one."""
        if self._client is None:
            settings, httpx = self._settings, self._httpx
            limits = httpx.Limits(max_connections=1, max_keepalive_connections=int(settings.keep_alive))
            self._client = httpx.AsyncClient(
                timeout=settings.timeout_s,
                limits=limits,
                verify=self._tls,
                trust_env=not settings.loopback,
                follow_redirects=False,
                headers={"Accept-Encoding": "identity", "User-Agent": "paratus"},
            )
        return self._client


def _said(error: Exception) -> str:
    return quote(str(error)) if str(error) else type(error).__name__


def import_httpx() -> Any:
    """The library, or one line that says how to get it."""
    try:
        import httpx
    except ImportError:
        raise ConfigError("httpx is not installed: expected it after `pip install 'paratus[http]'`") from None
    return httpx
