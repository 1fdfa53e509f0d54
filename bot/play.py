"""`paratus bot HOST PORT`: one seat at a dealer's table.

Exit codes: 0 the match was played to its end; 2 bad usage or settings; 3 no connection, or the dealer was gone early;
4 the dealer broke the protocol, or plays another game; 5 the dealer was silent for too long; 6 records could not be
written; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from bot.config import GAME_VARIABLE, BotConfig, default_settings, load_config
from bot.session import Ending, Outcome, Session
from machine.errors import ConfigError
from machine.folders import data_home
from protocol.errors import DeadlineExceeded, Disconnected
from protocol.game import DEFAULT_GAME, load_game
from protocol.stream import connect, run
from strategies.agents import Agent
from strategies.identity import DrawKey, stored_identity
from strategies.registry import AGENTS, agents_help, open_agent
from strategies.settings import think_seconds
from strategies.store import MatchStore, StoreError

STORE_FAILED: Final = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to connect, and what in the configuration to change."""
    parser.description = "Play one seat of a match against an ACPC dealer."
    parser.epilog = (
        "exit codes: 0 match over, 2 bad settings, 3 no dealer or gone early, 4 protocol error, 5 silent dealer, "
        "6 store not written"
    )
    parser.add_argument("host", metavar="HOST", nargs="?", help="the dealer's address")
    parser.add_argument("port", metavar="PORT", nargs="?", type=int, help="the port of this seat")
    parser.add_argument("--agent", metavar="NAME", help=f"who plays: {agents_help()}")
    parser.add_argument("--game", metavar="GAME", help=f"a .game file or shipped definition (default {DEFAULT_GAME})")
    parser.add_argument("--config", metavar="FILE", type=Path, help="settings; see --print-config")
    parser.add_argument("--seed", metavar="S", type=int, help="seed of every random draw")
    parser.add_argument("--match", metavar="KEY", help="name of the match, part of the key of every draw")
    parser.add_argument("--hands", metavar="N", type=int, help="hands of the match, if known")
    parser.add_argument(
        "--think", metavar="TIME", help="how long a hand may take on average: 0.5s, 2s, 7s (default 4s)"
    )
    parser.add_argument("--store", metavar="FILE", help="match store to write (default: a new one in your data folder)")
    parser.add_argument("--no-store", action="store_true", help="keep no record")
    parser.add_argument("--resume", action="store_true", help="go on in the store's row of an interrupted match")
    parser.add_argument("--list", action="store_true", help="list the agents and exit")
    parser.add_argument("--print-config", action="store_true", help="print the documented default settings and exit")


def run_command(options: argparse.Namespace) -> int:
    """Play; the exit code says how it ended."""
    if options.list:
        print("\n".join(AGENTS))
        return 0
    if options.print_config:
        print(default_settings(), end="")
        return 0
    if options.host is None or options.port is None:
        raise ConfigError("HOST and PORT are missing: expected the dealer's address and the port of this seat")
    if not 0 < options.port < 65536:
        raise ConfigError(f"port {options.port}: expected 1 to 65535")
    config = load_config(options.config, _overrides(options))
    parsed = load_game(config.bot.game or os.environ.get(GAME_VARIABLE) or DEFAULT_GAME)
    for warning in parsed.warnings:
        _say(f"warning: {warning}")
    agent = open_agent(config.bot.agent, parsed.game, config.strategies, allow_code=True)
    try:
        store = _open_store(config, agent) if config.store.enabled else None
    except StoreError as error:
        _say(str(error))
        return STORE_FAILED
    session = Session(agent, config, store)
    _say(f"{agent.name} plays {parsed.game.name}, seed {config.bot.seed}" + (f", store {store.path}" if store else ""))
    code = 1
    try:
        ending = run(_play(session, options.host, options.port, config))
        _say(f"{ending.message}; {session.total_chips:+.0f} chips, {session.fallbacks} fallbacks")
        code = ending.outcome.value
    finally:
        if store is not None:
            try:
                unused = store.unused
                store.close()
                if unused and not config.store.path:  # made for a match that did not begin
                    store.path.unlink(missing_ok=True)
            except StoreError as error:
                _say(str(error))
                code = STORE_FAILED
    return code


async def _play(session: Session, host: str, port: int, config: BotConfig) -> Ending:
    try:
        stream = await connect(host, port, config.wait.connect_s)
    except (Disconnected, DeadlineExceeded) as error:
        return Ending(Outcome.DEALER_GONE, str(error))
    try:
        return await session.play(stream)
    finally:
        await stream.close()


def _overrides(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    bot = {key: getattr(options, key) for key in ("agent", "game", "seed", "match", "hands")}
    store: dict[str, Any] = {"path": options.store}
    if options.no_store:
        store["enabled"] = False
    if options.resume:
        store["resume"] = True
    clock = {"think_s": None if options.think is None else think_seconds(options.think)}
    sections = {"bot": bot, "store": store, "clock": clock}
    return {name: {key: value for key, value in keys.items() if value is not None} for name, keys in sections.items()}


def _open_store(config: BotConfig, agent: Agent) -> MatchStore:
    identity = stored_identity(agent.identity(), DrawKey(config.bot.seed, config.bot.match))
    path = Path(config.store.path) if config.store.path else _new_store_path(agent.name)
    return MatchStore(path, agent.game, agent.name, identity, resume=config.store.resume)


def _new_store_path(agent: str) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return data_home() / "paratus" / "matches" / f"{stamp}-{agent}-{os.getpid()}.sqlite"


def _say(text: str) -> None:
    print(f"paratus bot: {text}", file=sys.stderr, flush=True)
