"""`paratus slumbot-server --agent NAME`: be slumbot.com for clients on this machine, with an agent behind it."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TextIO

from dealer_tools.agents import add_agent_options, agent_settings
from dealer_tools.deal import number_between
from dealer_tools.formats.slumbot import slumbot_game
from dealer_tools.slumbot.emulator import Emulator
from dealer_tools.slumbot.faults import FAULTS_HELP, Faults, parse_faults
from dealer_tools.slumbot.server import SlumbotServer
from dealer_tools.slumbot.settings import SlumbotSettings, read_password
from machine.errors import ConfigError
from protocol.log import MAX_SEED
from strategies.registry import DEFAULT_AGENT, agents_help, open_agent
from strategies.settings import think_seconds

_MOST_DELAY_S: Final = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Who plays, where to listen, what to do wrong."""
    parser.description = (
        "Speak as slumbot.com does, with an agent of ours behind it. The base address is printed first; give it to "
        "`paratus slumbot --base` or to a client of yours."
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = FAULTS_HELP
    parser.add_argument("--agent", metavar="NAME", default=DEFAULT_AGENT, help=agents_help())
    parser.add_argument("--host", metavar="HOST", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", metavar="PORT", type=number_between(0, 65535), default=0, help="0: a free one")
    parser.add_argument("--seed", metavar="S", type=number_between(0, MAX_SEED), default=0, help="of cards and draws")
    parser.add_argument("--think", metavar="TIME", help="how long a hand may take on average (default 4s)")
    parser.add_argument("--user", metavar="NAME", help="only this name may log in, with PARATUS_SLUMBOT_PASSWORD")
    parser.add_argument("--password-file", metavar="FILE", default="", help="or the password in this file")
    parser.add_argument(
        "--no-baseline", action="store_true", help="no baseline_winnings: the agent thinks half as long"
    )
    parser.add_argument("--faults", metavar="KIND=SHARE,…", default="", help="what to do wrong, and how often")
    parser.add_argument("--fault-seed", metavar="S", type=number_between(0, MAX_SEED), default=0)
    parser.add_argument("--delay", metavar="S", type=float, default=1.0, help="of replies that come late (default 1)")
    parser.add_argument("--outage", metavar="N", type=number_between(1, 10**6), default=5, help="requests (default 5)")
    parser.add_argument("--ledger", metavar="FILE", type=Path, help="write what became of each hand, as JSON lines")
    add_agent_options(parser)


def run_command(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if not 0 <= options.delay <= _MOST_DELAY_S:
        raise ConfigError(f"--delay {options.delay:g}: expected 0 to {_MOST_DELAY_S:g} seconds")
    faults = Faults(parse_faults(options.faults), options.fault_seed, options.delay, options.outage)
    think_s = 4.0 if options.think is None else think_seconds(options.think)
    user = None
    if options.user is not None:
        known = SlumbotSettings(user=options.user, password_file=options.password_file)
        user = options.user, read_password(known)
    settings = agent_settings(options, keep=options.iterations is None)
    agent = open_agent(options.agent, slumbot_game(), settings, allow_code=True)
    with ExitStack() as opened:
        tell = _teller(opened.enter_context(options.ledger.open("w", encoding="utf-8")) if options.ledger else None)

        async def main() -> None:
            emulator = Emulator(
                agent, seed=options.seed, think_s=think_s, baseline=not options.no_baseline, user=user, tell=tell
            )
            await _serve(SlumbotServer(emulator, faults, tell), options.host, options.port)

        asyncio.run(main())
    return 0


async def _serve(server: SlumbotServer, host: str, port: int) -> None:
    """Until Ctrl-C or a request to end."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    print(await server.start(host, port), flush=True)
    await stop.wait()
    await server.close()
    injected = ", ".join([f"{count} {name}" for name, count in sorted(server.injected.items())]) or "none"
    print(f"paratus slumbot-server: {server.requests} requests, faults: {injected}", file=sys.stderr, flush=True)


def _teller(file: TextIO | None) -> Callable[[dict[str, Any]], None]:
    def tell(event: dict[str, Any]) -> None:
        if file is not None:
            file.write(json.dumps(event) + "\n")
            file.flush()

    return tell
