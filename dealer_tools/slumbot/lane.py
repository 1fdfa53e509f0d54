"""One hand after another on one token: asks for a hand, has its decisions made, sends them, until it is over.

What happens when a request fails:

- `new_hand`, refused: nothing was dealt; it is asked for again, after a new login if there is a name to log in with.
- `new_hand`, not known what happened: a hand may have been dealt that nobody has seen. Its number is broken, and the
  next one gets another.
- `act`: the same action is sent again, up to `act_tries` times. The reply tells what had happened: betting that has
  grown by our action once is right, whether it arrived the first or the last time; betting that has it twice, or a
  server that keeps refusing, breaks the hand. Once a first reply was lost, two refusals are enough: the server has the
  action.

So whether a hand counts depends on what happened to its requests, not on cards or chips; but a hand of many requests
breaks more often than one of few. That is why broken hands are counted, and should be rare.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dealer_tools.formats.slumbot import SlumbotError, action_to_text
from dealer_tools.slumbot.client import GaveUp, RequestFailed, SlumbotHttp, Stopping, Traffic, Why
from dealer_tools.slumbot.record import SlumbotRecord
from dealer_tools.slumbot.replies import Doubled, Seen, check_first, check_next, read_seen, read_token
from dealer_tools.slumbot.settings import SlumbotSettings
from machine.errors import ParatusError
from protocol.state import Action
from strategies.chair import Chair
from strategies.strategy import Budget

_REFUSALS: Final = 2
"""Of an action that may have arrived before."""
_LOGINS: Final = 3
"""Refusals of a name and its password after which it is not tried again."""


class BrokenHand(ParatusError):
    """A hand that cannot be finished."""


@dataclass(frozen=True, slots=True)
class SharedByLanes:
    """What all lanes share."""

    traffic: Traffic
    settings: SlumbotSettings
    record: SlumbotRecord
    password: str
    """Empty: play without a name."""
    stop: asyncio.Event
    thinking: asyncio.Lock
    """Held while a strategy thinks: searches would take each other's time."""


class Lane:
    """One conversation with the server."""

    def __init__(self, table: SharedByLanes, http: SlumbotHttp, player: Chair) -> None:
        self._table, self._http, self._player = table, http, player
        self._token: str | None = None
        self._last: dict[str, Any] | None = None
        """The last reply, to know a copy of it."""
        self._refused_logins = 0

    async def play_hand(self) -> bool:
        """One hand, from asking for it to its line in the log. False if it is broken.

        Raises `Stopping` before a hand if the user wants to stop, and `GaveUp`.
        """
        table, last = self._table, None
        await table.traffic.ready(table.stop)
        hand = table.record.begin()
        try:
            seen = await self._new_hand(hand)
            while seen.final is None:
                last = seen
                seen = await self._act(seen, await self._decide(seen))
        except BrokenHand as why:
            table.record.add_broken(hand, str(why), last)
            return False
        except BaseException as error:  # a server that fails for too long, a second Ctrl-C, a bug of ours
            reason = "interrupted" if isinstance(error, asyncio.CancelledError) else f"{error}"
            table.record.add_broken(hand, reason or type(error).__name__, last)
            raise
        table.record.add_finished(seen)
        return True

    async def _decide(self, seen: Seen) -> Action:
        table, asked = self._table, seen.asked
        async with table.thinking:
            begun_s = time.monotonic()
            budget = Budget(begun_s + table.settings.response_s, table.settings.think_s)
            action, policy = await self._player.decide(asked, budget)
            table.record.add_decision(asked, policy, action, time.monotonic() - begun_s)
        return action

    async def _new_hand(self, hand: int) -> Seen:
        self._player.begin_hand()
        while True:
            try:
                if self._token is None and self._table.password:
                    await self._login()
                body = {} if self._token is None else {"token": self._token}
                seen = await self._ask("new_hand", body, hand, lambda now: check_first(now, self._last))
            except RequestFailed as error:
                if error.unknown:
                    raise BrokenHand(f"it may have been dealt: {error}") from None
                if error.why in (Why.ERROR, Why.STATUS):
                    self._token = None
            else:
                return seen
            try:
                await self._table.traffic.ready(self._table.stop)
            except Stopping:
                raise Stopping("stopped before it was dealt") from None

    async def _act(self, before: Seen, action: Action) -> Seen:
        text = action_to_text(before.state, action)
        why, lost, refused = "", False, 0
        for _ in range(self._table.settings.act_tries):
            body = {"token": self._token or "", "incr": text}
            try:
                return await self._ask("act", body, before.hand, lambda now: check_next(before, action, now))
            except RequestFailed as error:
                why, lost = str(error), lost or error.unknown
                refused += error.why is Why.ERROR
                if lost and refused >= _REFUSALS:
                    break
            except Doubled as error:
                raise BrokenHand(str(error)) from None
        raise BrokenHand(f"no reply to {text}: {why}")

    async def _ask(self, what: str, body: dict[str, str], hand: int, check: Callable[[Seen], None]) -> Seen:
        """A request of a hand. What the reply carries is believed only once it has been checked."""

        def read(document: dict[str, Any]) -> Seen:
            seen = read_seen(document, hand)
            token = read_token(document)
            check(seen)
            self._adopt(token)
            self._last = dict(seen.document)
            return seen

        try:
            return await self._http.post(what, body, read)
        except RequestFailed as error:
            with contextlib.suppress(SlumbotError):
                self._adopt(read_token({"token": error.token}))
            raise

    async def _login(self) -> None:
        table = self._table
        body = {"username": table.settings.user, "password": table.password}

        def read(document: dict[str, Any]) -> str:
            token = read_token(document)
            if token is None:
                raise SlumbotError("no token in the reply: expected one")
            return token

        try:
            self._adopt(await self._http.post("login", body, read))
        except RequestFailed as error:
            self._refused_logins += error.why is Why.ERROR
            if self._refused_logins >= _LOGINS:
                raise GaveUp(f"{self._refused_logins} times: {error}") from None
            # Nothing was dealt, whatever became of the login.
            raise RequestFailed(error.why, str(error), unknown=False) from None
        self._refused_logins = 0

    def _adopt(self, token: str | None) -> None:
        if token is not None:
            self._token = token
            self._table.traffic.hide(token)
