"""Dealers that cost next to nothing, so that the server is measured: `python -m benchmarks.load N SECONDS RATE`.

One process, one loop, real sockets, ACPC lines. A dealer deals hands from a list of deals made ahead; the opponent
checks and calls. So the betting is only ever extended by the bot's own action or by `c`, and no rules are needed here
(the bot checks every line against them). With a rate the questions of all connections together come at that rate,
spread evenly, and an answer is timed from when its question was due: a queue is not hidden by a dealer that waits
politely. Without one each connection asks again as soon as it is answered. The first second is not counted: it loads
what the first decisions of a process load.

It prints its ports, then, when the time is over, what it saw; connections stay open until its stdin is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import sys
import time
from collections.abc import Iterator

from protocol.cards import cards_text
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, load_game
from protocol.stream import run

_DEALS = 500
_ALL_IN = "r20000"
_STREETS = 4
_BOARD_CARDS = (0, 3, 4, 5)
_WARM_S = 1.0


def _deals() -> list[tuple[tuple[str, str], tuple[str, ...]]]:
    """Hole cards of both positions, and what is shown of the board on each street."""
    stream, found = CardStream(load_game(DEFAULT_GAME).game, 1), []
    for _ in range(_DEALS):
        deal = stream.deal()
        board = [cards_text(deal.board[:count]) for count in _BOARD_CARDS]
        parts = tuple("/".join(["", board[1], board[2][6:], board[3][8:]][: street + 1]) for street in range(_STREETS))
        found.append(((cards_text(deal.hole[0]), cards_text(deal.hole[1])), parts))
    return found


class Load:
    """What all dealers share: the deals, the pace and the count."""

    def __init__(self, connections: int, seconds: float, rate: float) -> None:
        self.deals, self.seconds = _deals(), seconds
        self.every_s = connections / rate if rate else 0.0
        self.latencies: list[float] = []
        self.begun_s = 0.0
        self.missing = connections
        self.lost = 0
        self.all_here = asyncio.Event()

    @property
    def over(self) -> bool:
        return time.monotonic() - self.begun_s >= _WARM_S + self.seconds

    def answered(self, due_s: float) -> None:
        """One more, if it counts."""
        now_s = time.monotonic()
        if now_s - self.begun_s >= _WARM_S:
            self.latencies.append(now_s - due_s)


class LoadDealer(asyncio.Protocol):
    """One connection."""

    def __init__(self, load: Load, number: int) -> None:
        self._load, self._number, self._hand = load, number, 0
        self._script = self._play()
        self._due_s = 0.0
        self._transport: asyncio.Transport | None = None
        self._partial = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.lost += 1

    def data_received(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\r\n")
        for line in lines:
            if line.startswith(b"VERSION"):
                self._load.missing -= 1
                if not self._load.missing:
                    self._load.all_here.set()
            else:
                self._load.answered(self._due_s)
                self._go_on(line.rsplit(b":", 1)[1].decode())

    def begin(self) -> None:
        """The first question, at this connection's place in the round."""
        self._due_s = time.monotonic()
        self._say(next(self._script))

    def _go_on(self, action: str) -> None:
        if self._load.over:
            return
        self._due_s = self._due_s + self._load.every_s if self._load.every_s else time.monotonic()
        text = self._script.send(action)
        wait_s = self._due_s - time.monotonic()
        if wait_s > 0:
            asyncio.get_running_loop().call_later(wait_s, self._say, text)
        else:
            self._say(text)

    def _say(self, text: str) -> None:
        assert self._transport is not None
        if not self._load.every_s:
            self._due_s = time.monotonic()
        self._transport.write(text.encode())

    def _play(self) -> Iterator[str]:
        """Hand after hand: yields all lines up to a question, and is sent the answer."""
        lines = ""
        while True:
            ours, number = self._hand % 2, self._number * 7 + self._hand
            hole, boards = self._load.deals[number % _DEALS]
            own, both = (f"{hole[0]}|", f"|{hole[1]}")[ours], "|".join(hole)
            betting, street, acted, actor, all_in = "", 0, 0, 1, False
            while True:
                line = f"MATCHSTATE:{ours}:{self._hand}:{betting}:{own}{boards[street]}\r\n"
                if actor == ours:
                    action = yield lines + line
                    lines = ""
                else:
                    lines, action = lines + line, "c"
                betting, all_in = betting + action, all_in or action == _ALL_IN
                if action == "f":
                    lines += f"MATCHSTATE:{ours}:{self._hand}:{betting}:{own}{boards[street]}\r\n"
                    break
                acted, actor = acted + 1, 1 - actor
                if action == "c" and acted > 1:
                    if all_in or street == _STREETS - 1:
                        betting += "/" * (_STREETS - 1 - street)
                        lines += f"MATCHSTATE:{ours}:{self._hand}:{betting}:{both}{boards[-1]}\r\n"
                        break
                    betting, street, acted, actor = betting + "/", street + 1, 0, 0
            self._hand += 1


async def deal(connections: int, seconds: float, rate: float) -> None:
    load, loop = Load(connections, seconds, rate), asyncio.get_running_loop()
    dealers = [LoadDealer(load, number) for number in range(connections)]
    servers = [await loop.create_server(lambda each=each: each, "127.0.0.1", 0) for each in dealers]  # type: ignore[misc]
    print(json.dumps([server.sockets[0].getsockname()[1] for server in servers]), flush=True)
    await load.all_here.wait()
    load.begun_s = time.monotonic()
    for number, dealer in enumerate(dealers):
        loop.call_later(load.every_s * number / connections, dealer.begin)
    await asyncio.sleep(_WARM_S)
    before = resource.getrusage(resource.RUSAGE_SELF)
    await asyncio.sleep(seconds)
    after = resource.getrusage(resource.RUSAGE_SELF)
    ordered = sorted(load.latencies) or [0.0]
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        json.dumps(
            {
                "decisions": len(load.latencies),
                "seconds": time.monotonic() - load.begun_s - _WARM_S,
                "p50_ms": 1e3 * ordered[len(ordered) // 2],
                "p99_ms": 1e3 * ordered[int(0.99 * len(ordered))],
                "longest_ms": 1e3 * ordered[-1],
                "generator_cores": cpu_s / seconds,
                "lost": load.lost,
            }
        ),
        flush=True,
    )
    with contextlib.suppress(EOFError):
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    run(deal(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])))
