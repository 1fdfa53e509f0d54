"""A worker: a process that thinks about one decision at a time, for the matches that sit at it.

    seat     {match, agent, game, name, settings}    → ready {match, identity}, or refused {match, error}
    decide   {ask, match, spot …, deadline_s, …}     → answer {ask, policy}, or failed {ask, error}
    stop     {ask}                                   (the answer to that, which comes soon, does not matter)
    leave    {match}

It is started by the server with one end of a pair of sockets, and has nothing else to do with the world: no network, no
store, no control. Blueprint and tables are memory maps, so all workers and the server share one copy of the pages;
matches of the same agent and settings share everything but what belongs to a hand (`KeepsHands`).

A thread reads, so that the end of the server ends the worker too, whatever it is thinking about, and so that a search
is told to stop when nobody waits for it any more. Deadlines are on `time.monotonic`, which all processes of a machine
share.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import socket
import sys
import threading
from dataclasses import dataclass, field
from typing import Final

from bot.serve.frames import HEAD, Data, Memory, frame, policy_data, read, read_spot, sizes
from protocol.game import Game, parse_game
from strategies.registry import opener
from strategies.settings import StrategySettings
from strategies.strategy import Budget, Strategy

_GONE: Final = 0


@dataclass(slots=True)
class _Seat:
    """A match at this worker."""

    game: Game
    strategy: Strategy
    memory: Memory = field(default_factory=Memory)


class Worker:
    """Answers messages; knows nothing of how they come."""

    def __init__(self) -> None:
        self._seats: dict[str, _Seat] = {}
        self._agents = opener(allow_code=True)  # of what the server was told by its own configuration

    def answer(self, data: Data, blob: bytes, stop: threading.Event) -> tuple[Data, bytes] | None:
        """What to say to a message, if anything."""
        try:
            match data["do"]:
                case "seat":
                    return self._seat(data), b""
                case "leave":
                    self._seats.pop(data["match"], None)
                    return None
                case "decide":
                    return self._decide(data, blob, stop)
                case other:
                    raise ValueError(f"{other!r}: expected seat, decide or leave")
        except Exception as error:  # whatever a strategy raises, the worker goes on
            said = f"{type(error).__name__}: {error}"
            if data.get("do") == "decide":
                return {"say": "failed", "ask": data["ask"], "error": said}, b""
            return {"say": "refused", "match": data.get("match"), "error": str(error)}, b""

    def _seat(self, data: Data) -> Data:
        game = parse_game(data["game"], data["name"]).game
        settings = StrategySettings.model_validate_json(json.dumps(data["settings"]))
        agent = self._agents.open(data["agent"], game, settings).for_another_match()
        self._seats[data["match"]] = _Seat(game, agent.strategy)
        return {"say": "ready", "match": data["match"], "identity": agent.identity()}

    def _decide(self, data: Data, blob: bytes, stop: threading.Event) -> tuple[Data, bytes]:
        seat = self._seats[data["match"]]
        spot, draws = read_spot(seat.game, data, blob, seat.memory)
        budget = Budget(data["deadline_s"], data["fair_share_s"], stop)
        policy = seat.strategy.policy(spot, budget, draws)
        seat.memory.made[spot.state.betting] = policy
        said, weights = policy_data(policy)
        return {"say": "answer", "ask": data["ask"], "policy": said}, weights


Message = tuple[Data, bytes, threading.Event]


def _receive(end: socket.socket, waiting: queue.SimpleQueue[Message]) -> None:
    """Until the server is gone, and then the process."""
    ask, stop = 0, threading.Event()
    try:
        with end.makefile("rb") as file:
            while head := file.read(HEAD.size):
                text, blob = sizes(head)
                data, rest = read(file.read(text)), file.read(blob)
                if data["do"] == "stop" and data["ask"] == ask:
                    stop.set()
                if data["do"] == "decide":
                    ask, stop = data["ask"], threading.Event()
                if data["do"] != "stop":
                    waiting.put((data, rest, stop))
    except Exception as error:
        print(f"paratus worker: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(_GONE)


def main() -> None:
    """`python -m bot.serve.worker FD`, as the server calls it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the server, which then closes
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # so is a service manager's stop, which goes to the whole group
    logging.basicConfig(level=logging.ERROR, format="paratus worker: %(message)s")
    end = socket.socket(fileno=int(sys.argv[1]))
    waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(end, waiting), daemon=True).start()
    worker = Worker()
    while True:
        said = worker.answer(*waiting.get())
        if said is not None:
            end.sendall(frame(*said))


if __name__ == "__main__":
    main()
