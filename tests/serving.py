"""A server as a real process, and real dealers for it: each on a loop in this process, with an opponent beside it."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents import agent_of
from blueprint_files import folder, settings_for
from processes import PATIENCE_S, Process, Processes, toml, wait_until

from bot.config import BotConfig, BotSection
from bot.serve.config import ControlSection
from bot.serve.ctl import ask
from bot.session import Session
from dealer_tools.table import Files, Table
from protocol.dealer import Dealer
from protocol.game import DEFAULT_GAME, load_game
from protocol.log import Limits, MatchHeader
from protocol.stream import SeatListener, connect, run
from strategies.registry import open_agent

HOLDEM = load_game(DEFAULT_GAME).game
BLOCK_S = 0.25
"""Longer the loop was never kept busy where others want the cores too. `make proof-serve` demands 50 ms, alone."""


@dataclass
class Dealt:
    """A match: where to sit, and in the end what the dealer wrote."""

    number: int
    hands: int
    limits: Limits = field(default_factory=Limits)
    opponent: str = "random"
    pause_s: float = 0.0
    """Between the opponent's being asked and its answer."""
    port: Future[int] = field(default_factory=Future)
    over: Future[bool] = field(default_factory=Future)
    log: io.BytesIO = field(default_factory=io.BytesIO)
    messages: io.BytesIO = field(default_factory=io.BytesIO)
    hands_played: int = 0

    async def deal(self) -> None:
        """To the match's end."""
        listeners = [SeatListener.open("127.0.0.1", 0) for _ in range(2)]
        self.port.set_result(listeners[0].port)
        opponent = asyncio.create_task(self.oppose(listeners[1].port))
        try:
            streams = [await listener.stream(PATIENCE_S * 8) for listener in listeners]
            header = MatchHeader(f"match{self.number}", "the.game", self.hands, 100 + self.number, self.limits)
            dealer = Dealer(HOLDEM, header, ("server", "opponent"))
            table = Table(dealer, streams, Files(self.messages, self.log), version_timeout_s=PATIENCE_S)
            whole = await table.play()
            self.hands_played = dealer.hands_played
            await opponent
            self.over.set_result(whole)
        except BaseException as error:
            opponent.cancel()
            if not self.over.done():
                self.over.set_exception(error)
            raise

    async def oppose(self, port: int) -> None:
        """The other seat."""
        config = BotConfig(bot=BotSection(seed=self.number, match=f"opponent {self.number}", hands=self.hands))
        agent = open_agent(self.opponent, HOLDEM)
        if self.pause_s:
            agent = agent_of(Slow(agent.strategy, self.pause_s), HOLDEM, on_loop=False)
        stream = await connect("127.0.0.1", port, PATIENCE_S)
        try:
            await Session(agent, config, None).play(stream)
        finally:
            await stream.close()

    def check_clean(self) -> None:
        """All hands, and the dealer had nothing to say about our actions or our time."""
        assert self.over.result(PATIENCE_S * 4)
        assert self.hands_played == self.hands
        assert b"WARNING" not in self.messages.getvalue()
        assert b"ERROR" not in self.messages.getvalue()


class Slow:
    """A strategy that takes its time."""

    def __init__(self, strategy: Any, pause_s: float) -> None:
        self._strategy, self._pause_s, self.name = strategy, pause_s, strategy.name

    def identity(self) -> dict[str, str]:
        return {}

    def policy(self, *arguments: Any) -> Any:
        time.sleep(self._pause_s)
        return self._strategy.policy(*arguments)


def deal_all(matches: list[Dealt]) -> threading.Thread:
    """All on one loop in a thread; begun when the ports are known."""

    async def deal() -> None:
        await asyncio.gather(*[match.deal() for match in matches], return_exceptions=True)

    thread = threading.Thread(target=run, args=(deal(),), daemon=True)
    thread.start()
    for match in matches:
        match.port.result(PATIENCE_S)
    return thread


def seats(matches: list[Dealt], agent: str, think_s: float = 0.0) -> list[dict[str, object]]:
    """What the server is told of them."""
    return [
        {"host": "127.0.0.1", "port": each.port.result(), "name": f"{agent}{each.number}", "agent": agent}
        | {"hands": each.hands, "think_s": think_s}
        for each in matches
    ]


class Served:
    """A running server."""

    def __init__(
        self, processes: Processes, settings: dict[str, dict[str, Any]], matches: Iterable[dict[str, Any]]
    ) -> None:
        self.folder = processes.folder
        self.control = ControlSection(socket=str(self.folder / "c.sock"), **settings.pop("control", {}))
        self.config = self.folder / "serve.toml"
        sections = {
            "serve": {"store": str(self.folder / "stores"), "cores": 1, **settings.pop("serve", {})},
            "control": self.control.model_dump(),
            **settings,
        }
        text = toml(sections).replace("True", "true").replace("False", "false")
        for match in matches:
            text += "[[match]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in match.items())
        self.config.write_text(text)
        self.process: Process = processes.paratus("serve", "--config", self.config)

    def wait_ready(self) -> None:
        """It listens."""
        wait_until(lambda: not self.process.running or "ready" in self.process.said(), "the server is ready", 120)
        assert self.process.running, self.process.said()

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        return ask(self.control, {"do": do, **more})

    def matches(self) -> dict[str, dict[str, Any]]:
        """What `list` says, by name."""
        return {each["match"]: each for each in self.ask("list")["matches"]}

    def metrics(self) -> dict[str, float]:
        """By name and labels."""
        lines = self.ask("metrics")["text"].splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def wait_over(self, timeout_s: float = PATIENCE_S) -> None:
        """No match is played any more."""
        self.wait_for(lambda: all(each["stage"] == "over" for each in self.matches().values()), "all over", timeout_s)

    def wait_for(self, condition: Callable[[], object], what: str, timeout_s: float = PATIENCE_S) -> None:
        """Polled gently: the server is asked."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, f"{what}: {self.process.said()}"
            time.sleep(0.05)


def searching(where: Path, share: float = 0.5, **sections: dict[str, object]) -> str:
    """A bot's file whose flops are searched for that share of what a hand may take, over a random blueprint."""
    path, lookup = where / "bot.toml", settings_for(HOLDEM)
    routes = {"turn": "blueprint", "river": "blueprint"}
    path.write_text(
        toml({**sections, "router": routes, "limited": {"threads": 1}})
        + f"keep = false\n[limited.flop]\niterations = 1000000\nshare = {share}\n"
        + f'[blueprint]\nfile = "{lookup.file}"\ntables = "{folder()}"\nrivers = false\n'
    )
    return str(path)


def stores(where: Path) -> list[Path]:
    """What the server wrote."""
    return sorted((where / "stores").glob("*.sqlite"))
