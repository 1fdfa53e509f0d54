"""`make soak`: a server that plays for an hour, matches coming and going, and what it looked like from outside.

`--matches` matches are kept going against a random player and our own dealer, in this process; when one ends another is
joined over the control socket. Every seventh dealer vanishes in the middle of its match, one match in five of those
that are going is played by an agent that searches in the workers, and one worker is killed every minute, whatever it
is at. The report (Markdown, stdout) has a row for each tenth of the time, and the exit code says whether every match
ended as it should, with nothing late or illegal, and memory stayed where it was. Ctrl-C ends it early: then the report
is about the time that there was.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.config import BotConfig, BotSection
from bot.serve.config import ControlSection
from bot.serve.ctl import ask
from bot.session import Session
from dealer_tools.table import Files, Table
from machine.errors import ParatusError
from protocol.dealer import Dealer
from protocol.game import DEFAULT_GAME, load_game
from protocol.log import Limits, MatchHeader
from protocol.stream import SeatListener, connect, run
from strategies.registry import open_agent

GAME = load_game(DEFAULT_GAME).game
PATIENCE_S = 120.0
VANISHES = 7
VANISH_S = 0.3
SEARCHES = 5
KILL_EVERY_S = 60.0
GROWTH = 1.05
ROWS = 10


@dataclass(slots=True)
class Tally:
    """What dealers saw."""

    begun: int = 0
    complete: int = 0
    vanished: int = 0
    failed: list[str] = field(default_factory=list)
    complaints: int = 0
    killed: int = 0
    rows: list[dict[str, float]] = field(default_factory=list)


async def deal(number: int, hands: int, control: ControlSection, match: dict[str, Any], tally: Tally) -> None:
    """One match, from listening to its end; some dealers vanish."""
    listeners = [SeatListener.open("127.0.0.1", 0) for _ in range(2)]
    name, messages = f"soak{number}", io.BytesIO()
    asked = {"do": "join", "match": {"host": "127.0.0.1", "port": listeners[0].port, "name": name, **match}}
    reply = await asyncio.to_thread(ask, control, asked)
    if not reply["ok"]:
        for listener in listeners:
            listener.close()
        tally.failed.append(f"{name}: {reply['error']}")
        return
    tally.begun += 1
    opponent = asyncio.create_task(oppose(number, hands, listeners[1].port))
    streams = [await listener.stream(PATIENCE_S) for listener in listeners]
    dealer = Dealer(GAME, MatchHeader(name, "the.game", hands, number, Limits()), ("server", "random"))
    playing = asyncio.create_task(Table(dealer, streams, Files(messages), version_timeout_s=PATIENCE_S).play())
    if number % VANISHES == VANISHES - 1:
        await asyncio.wait([playing], timeout=VANISH_S)
    if number % VANISHES == VANISHES - 1 and not playing.done():
        playing.cancel()
        for stream in streams:
            await stream.close()
        tally.vanished += 1
    elif await playing:
        tally.complete += 1
    else:
        tally.failed.append(f"{name}: {dealer.reason}")
    tally.complaints += messages.getvalue().count(b"WARNING") + messages.getvalue().count(b"ERROR")
    await asyncio.wait([opponent], timeout=PATIENCE_S)


async def oppose(number: int, hands: int, port: int) -> None:
    """The other seat."""
    config = BotConfig(bot=BotSection(seed=number, match="opponent", hands=hands))
    stream = await connect("127.0.0.1", port, PATIENCE_S)
    try:
        await Session(open_agent("random", GAME), config, None).play(stream)
    finally:
        await stream.close()


async def soak(options: argparse.Namespace, control: ControlSection, tally: Tally) -> None:
    """Until the time is over, then until the last match is."""
    begun_s, number, rows, going = time.monotonic(), 0, tally.rows, set[asyncio.Task[None]]()
    killed_s = begun_s
    while True:
        now_s = time.monotonic()
        over = now_s - begun_s >= options.seconds
        while not over and len(going) < options.matches:
            searching = sum(task.get_name() == options.searcher for task in going)
            agent = options.searcher if searching < options.matches // SEARCHES else options.agent
            match = {"agent": agent, "think_s": options.think, "hands": options.hands, "seed": number}
            going.add(asyncio.create_task(deal(number, options.hands, control, match, tally), name=agent))
            number += 1
        if now_s - begun_s >= options.seconds * (len(rows) + 1) / ROWS:
            rows.append({"seconds": now_s - begun_s, **await asyncio.to_thread(metrics, control)})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        if not over and now_s - killed_s > min(KILL_EVERY_S, options.seconds / 3):
            killed_s = now_s
            tally.killed += await asyncio.to_thread(kill_a_worker, control)
        if over and not going:
            return
        done, going = await asyncio.wait(going, timeout=0.5, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if (error := task.exception()) is not None:
                tally.failed.append(f"{type(error).__name__}: {error}")


def kill_a_worker(control: ControlSection) -> bool:
    """That with the most matches, one of the server's own by the number that it gives; False if it is none just now."""
    worker = max(ask(control, {"do": "health"})["workers"], key=lambda each: each["matches"])
    if worker["pid"] is None:
        return False
    os.kill(worker["pid"], signal.SIGKILL)
    return True


def metrics(control: ControlSection) -> dict[str, float]:
    """By name; those with labels apart from that of decisions are left out."""
    lines = [line.rpartition(" ") for line in ask(control, {"do": "metrics"})["text"].splitlines() if line[0] != "#"]
    return {name: float(value) for name, _, value in lines if "bucket" not in name}


def report(options: argparse.Namespace, tally: Tally, *, interrupted: bool) -> bool:
    """Print it; whether all was well."""
    rows, agents = tally.rows, f"agents {options.agent} and {options.searcher}"
    shown = (
        f"{rows[-1]['seconds']:.0f} of {options.seconds:g} s: interrupted" if interrupted else f"{options.seconds:g} s"
    )
    print(f"# Soak: {agents}, {options.matches} matches at once, {shown}\n")
    print("| s | hands | decisions | fallbacks | resident MiB | workers MiB | longest block ms (own) | replaced |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        blocks = [1e3 * row[f"paratus_loop_block_longest_{kind}seconds"] for kind in ("", "own_")]
        sizes = [row[f"paratus_{kind}resident_bytes"] / 2**20 for kind in ("", "workers_")]
        print(
            f"| {row['seconds']:.0f} | {row['paratus_hands_total']:.0f} | {row['paratus_decision_seconds_count']:.0f} "
            f"| {row['paratus_fallbacks_total']:.0f} | {sizes[0]:.1f} | {sizes[1]:.1f} "
            f"| {blocks[0]:.1f} ({blocks[1]:.1f}) | {row['paratus_workers_replaced']:.0f} |"
        )
    print(
        f"\n{tally.begun} matches: {tally.complete} complete, {tally.vanished} whose dealer vanished, "
        f"{len(tally.failed)} failed; {tally.complaints} complaints of dealers; {tally.killed} workers killed"
    )
    for line in tally.failed[:20]:
        print(f"- {line}")
    third = max(len(rows) // 3, 1)
    memory = [row["paratus_resident_bytes"] for row in rows]
    grown = max(memory[-third:]) / max(memory[:third])
    print(f"\nmemory of the last third over the first: {grown:.3f}")
    return not tally.failed and not tally.complaints and grown < GROWTH


def main() -> int:
    parser = argparse.ArgumentParser(description="Keep a server busy and report.")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--matches", type=int, default=20)
    parser.add_argument("--hands", type=int, default=100)
    parser.add_argument("--agent", default="blueprint", help="of four matches in five at a time")
    parser.add_argument("--searcher", default="paratus", help="of the fifth")
    parser.add_argument("--think", type=float, default=1.0)
    parser.add_argument("--bot", default="", help="the bot's settings, as in `serve.bot`")
    options, tally = parser.parse_args(), Tally()
    with tempfile.TemporaryDirectory() as folder:
        control = ControlSection(socket=str(Path(folder) / "c.sock"))
        config = Path(folder) / "serve.toml"
        config.write_text(
            f"[serve]\nstore = {json.dumps(folder)}\nbot = {json.dumps(options.bot)}\n"
            f"[control]\nsocket = {json.dumps(control.socket)}\n"
        )
        command = [sys.executable, "-m", "bot.cli", "serve", "--config", str(config)]
        server = subprocess.Popen(command, start_new_session=True)  # Ctrl-C is for us
        interrupted = False
        try:
            wait_ready(control, server)
            begun_s = time.monotonic()
            try:
                run(soak(options, control, tally))
            except KeyboardInterrupt:
                interrupted = True
                tally.rows.append({"seconds": time.monotonic() - begun_s, **metrics(control)})
            ask(control, {"do": "stop"})
            code = server.wait(PATIENCE_S)
        finally:
            server.kill()
            server.wait()
        return 0 if report(options, tally, interrupted=interrupted) and code == 0 else 1


def wait_ready(control: ControlSection, server: subprocess.Popen[bytes]) -> None:
    """It answers."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            if ask(control, {"do": "health"})["ok"]:
                return
        except ParatusError:
            if time.monotonic() > deadline_s or server.poll() is not None:
                raise
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
