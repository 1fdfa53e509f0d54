"""Sessions with the emulator in this process, and the accounts of both sides compared hand by hand."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dealer_tools.formats.slumbot import read_betting, slumbot_game
from dealer_tools.slumbot.emulator import Emulator
from dealer_tools.slumbot.faults import Faults, parse_faults
from dealer_tools.slumbot.record import SlumbotRecord
from dealer_tools.slumbot.server import SlumbotServer
from dealer_tools.slumbot.session import Ended, SlumbotSession
from dealer_tools.slumbot.settings import SlumbotSettings
from strategies.agents import Agent
from strategies.registry import open_agent

EVERY_FAULT = (
    "error=0.01,token=0.05,slashes=0.1,duplicate=0.01,400=0.005,401=0.005,500=0.01,outage-400=0.001,outage-401=0.001,"
    "delay=0.002,close-before=0.01,close-after=0.01,cut=0.01,garbage=0.01,twice=0.02"
)
FAST = {"spacing_s": 0.0, "timeout_s": 60.0, "backoff_s": 0.0005, "backoff_max_s": 0.002}
_NEVER_DEALT = ("close-before", "500")
"""Faults after which the client cannot know that there was no hand."""


@dataclass(frozen=True)
class Played:
    """What both sides say of a session."""

    ended: Ended
    events: list[dict[str, Any]]
    injected: Counter[str]
    requests: int
    said: list[str]


def play(
    folder: Path,
    hands: int,
    *,
    faults: str = "",
    agents: tuple[str, str] = ("random", "random"),
    seed: int = 0,
    delay_s: float = 0.0,
    players: Sequence[Agent] = (),
    baseline: bool = True,
    emulator_user: tuple[str, str] | None = None,
    password: str = "",
    **settings: Any,
) -> Played:
    """A session of two agents over real sockets: the client's, and the emulator's."""
    events: list[dict[str, Any]] = []
    said: list[str] = []
    game = slumbot_game()
    opened = [open_agent(agent, game) for agent in agents]

    async def run() -> tuple[Ended, SlumbotServer]:
        emulator = Emulator(opened[1], seed=seed, baseline=baseline, user=emulator_user, tell=events.append)
        server = SlumbotServer(emulator, Faults(parse_faults(faults), seed, delay_s), events.append)
        try:
            base = await server.start("127.0.0.1", 0)
            chosen = SlumbotSettings(**{**FAST, "base": base, "seed": seed, **settings})
            ours = list(players) or [opened[0]] * chosen.concurrency
            with SlumbotRecord(folder, agents[0], opened[0].identity()) as record:
                return await SlumbotSession(chosen, ours, record, password, said.append).play(hands), server
        finally:
            await server.close()

    ended, server = asyncio.run(run())
    return Played(ended, events, server.injected, server.requests, said)


def log_entries(folder: Path) -> list[dict[str, Any]]:
    """The lines of a session log."""
    return [json.loads(line) for line in (folder / "session.jsonl").read_text().splitlines()]


def by_number(folder: Path) -> list[dict[str, Any]]:
    """How each hand ended, in order of the numbers; checks that each was begun once, then ended once."""
    begun: list[int] = []
    ended: dict[int, dict[str, Any]] = {}
    for entry in log_entries(folder):
        if "begun" in entry:
            begun.append(entry["hand"])
            continue
        assert entry["hand"] in begun
        assert entry["hand"] not in ended
        ended[entry["hand"]] = entry
    assert begun == list(range(len(begun))) == sorted(ended)
    return [ended[number] for number in begun]


def check_accounts(folder: Path, events: list[dict[str, Any]]) -> Counter[str]:
    """One hand at a time: the client's numbers are exactly the hands that the server dealt, or may have dealt.

    Every number of the client stands for one request for a hand that was answered, or of which nobody could know; the
    server knows. Counts what was met.
    """
    slots: list[int | None] = []
    dealt, finished = {}, {}
    for event in events:
        if event["event"] == "dealt":
            slots.append(event["hand"])
            dealt[event["hand"]] = event
        elif event["event"] == "finished":
            finished[event["hand"]] = event
        elif event["event"] == "fault" and event["what"] == "new_hand" and event["fault"] in _NEVER_DEALT:
            slots.append(None)
    ours = by_number(folder)
    assert len(ours) == len(slots)
    met: Counter[str] = Counter()
    for entry, slot in zip(ours, slots, strict=True):
        if "reply" in entry:
            assert slot is not None
            _check_equal(entry["reply"], finished[slot])
            met["finished"] += 1
        elif slot is None:
            assert "last" not in entry
            met["never dealt"] += 1
        else:
            if "last" in entry:
                for key in ("client_pos", "hole_cards"):
                    assert entry["last"][key] == dealt[slot][key]
            met["finished there, broken here" if slot in finished else "broken"] += 1
    assert met["finished"] + met["finished there, broken here"] == len(finished)
    return met


def _check_equal(reply: dict[str, Any], truth: dict[str, Any]) -> None:
    assert read_betting(reply["action"]) == read_betting(truth["action"])
    for key in truth.keys() - {"event", "hand", "action", "token"}:
        assert reply[key] == truth[key], key
