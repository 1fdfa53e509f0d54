"""Whole matches over loopback: always-call against always-call, two bot processes, our dealer, everything stored."""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import tempfile
import time
from pathlib import Path

from dealer_tools.match import play_match
from dealer_tools.plan import MatchPlan
from protocol.game import DEFAULT_GAME, load_game
from protocol.log import Limits

_HANDS = 3000
_RUNS = 3
_ROUND_TRIPS = 10_000


def run() -> dict[str, object]:
    """Hands a second of each run, and what a bare round trip over loopback costs here."""
    rates = [_hands_per_second(seed) for seed in range(_RUNS)]
    return {
        "hands_per_second": round(statistics.median(rates), 1),
        "hands_per_second_runs": [round(rate, 1) for rate in rates],
        "target": 600,
        "aim": 1200,
        "loopback_round_trip_us": round(_round_trip_us(), 1),
        "round_trips_a_hand": 8,
    }


def _hands_per_second(seed: int) -> float:
    """From the dealer's first message to its last, as its message record has them."""
    game = load_game(DEFAULT_GAME).game
    agents = ("always-call", "always-call")
    plan = MatchPlan(DEFAULT_GAME, game, agents, ("A", "B"), _HANDS, seed, False, Limits())
    with tempfile.TemporaryDirectory() as folder:
        play_match(plan, Path(folder))
        messages = (Path(folder) / "match" / "match.messages").read_text()
    times = [float(found) for found in re.findall(r"^(?:STARTED|FINISHED) at ([0-9.]+)", messages, re.MULTILINE)]
    return _HANDS / (times[1] - times[0])


def _round_trip_us() -> float:
    """Sixty bytes to another process and back, blocking sockets, nothing else."""
    listener = socket.create_server(("127.0.0.1", 0))
    child = os.fork()
    if child == 0:
        with socket.create_connection(listener.getsockname()) as echo:
            while data := echo.recv(4096):
                echo.sendall(data)
        os._exit(0)
    connection, _ = listener.accept()
    with listener, connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begun = time.perf_counter()
        for _ in range(_ROUND_TRIPS):
            connection.sendall(b"x" * 60)
            connection.recv(4096)
        seconds = time.perf_counter() - begun
    os.waitpid(child, 0)
    return seconds / _ROUND_TRIPS * 1e6


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
