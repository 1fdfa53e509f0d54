"""`paratus slumbot --hands N --out DIR`: play slumbot.com, or a server that speaks as it does, over HTTP.

Exit codes: 0 all hands are played; 1 the calibration failed or records could not be written; 2 bad usage or settings;
3 the server failed for too long; 130 interrupted. In the last two cases the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from dealer_tools.agents import add_agent_options, agent_settings
from dealer_tools.deal import number_between
from dealer_tools.formats.slumbot import CLIENT, read_session, slumbot_game
from dealer_tools.scoring.sources import SESSION
from dealer_tools.slumbot import calibration
from dealer_tools.slumbot.client import import_httpx
from dealer_tools.slumbot.record import SlumbotRecord
from dealer_tools.slumbot.session import MATCH, Ended, SlumbotSession
from dealer_tools.slumbot.settings import DEFAULT_FILE, SlumbotSettings, load_settings, read_password
from machine.errors import ConfigError
from machine.progress import HandsBar
from protocol.log import MAX_HANDS
from protocol.stream import run
from strategies.agents import Agent
from strategies.identity import DrawKey, stored_identity
from strategies.registry import DEFAULT_AGENT, agents_help, open_agent
from strategies.settings import think_seconds

GAVE_UP: Final = 3
_INTERRUPTED: Final = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to play, with whom, and where to keep it."""
    parser.description = (
        "Play hands with slumbot.com, or a server that speaks as it does (`paratus slumbot-server`), and keep "
        "every hand with the policies it was played by. The same command continues a session."
    )
    parser.epilog = (
        "exit codes: 0 all hands played, 1 calibration failed or records not written, 2 bad settings, 3 the server "
        "failed for too long, 130 interrupted"
    )
    parser.add_argument("--hands", metavar="N", type=number_between(1, MAX_HANDS), help="finished hands to have")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder of the session; `paratus score DIR` reads it")
    parser.add_argument("--agent", metavar="NAME", help=agents_help(f" (default {DEFAULT_AGENT})"))
    parser.add_argument("--user", metavar="NAME", help="log in; the password comes from PARATUS_SLUMBOT_PASSWORD")
    parser.add_argument("--password-file", metavar="FILE", help="or from this file, which only you may be able to read")
    parser.add_argument("--base", metavar="URL", help="the server's address (default: slumbot.com's)")
    parser.add_argument("--think", metavar="TIME", help="how long a hand may take on average: 0.5s, 2s (default 4s)")
    parser.add_argument("--spacing", metavar="S", type=float, help="seconds from a reply to the next request")
    parser.add_argument("--concurrency", metavar="N", type=int, help="hands in flight, 1 to 4 (default 1)")
    parser.add_argument("--seed", metavar="S", type=int, help="of every random draw")
    add_agent_options(parser)
    parser.add_argument(
        "--calibrate", action="store_true", help="play always-fold and check that each small blind costs 50"
    )
    parser.add_argument("--no-score", action="store_true", help="do not score the session at the end")
    parser.add_argument("--json", action="store_true", help="print what happened as data, without the score")
    parser.add_argument("--print-config", action="store_true", help="print the documented default settings and exit")


def run_command(options: argparse.Namespace) -> int:
    """Play, then say what came of it."""
    if options.print_config:
        print(DEFAULT_FILE.read_text(encoding="utf-8"), end="")
        return 0
    if options.hands is None or options.out is None:
        raise ConfigError("--hands and --out: expected how many hands to play, and a folder to keep them")
    import_httpx()
    agent = _agent(options)
    settings = load_settings(options.config, _overrides(options))
    password = read_password(settings) if settings.user else ""
    ended = _play(options, agent, settings, password)
    code = GAVE_UP if ended.gave_up else _INTERRUPTED if ended.stopped else 0
    said = {"folder": str(options.out), "agent": agent, **asdict(ended)}
    checked = None
    if options.calibrate:
        checked = calibration.calibrate(read_session(options.out / SESSION).hands, CLIENT)
        said["calibration"] = checked.as_json()
        code = code or int(not checked.passed)
    if options.json:
        print(json.dumps(said, indent=2))
    elif checked is not None:
        print("\n".join(checked.lines()))
    elif not code and not options.no_score:
        _score(options.out)
    _tell(ended, options)
    return code


def _play(options: argparse.Namespace, agent: str, settings: SlumbotSettings, password: str) -> Ended:
    told = agent_settings(options, keep=options.iterations is None)

    def opened() -> Agent:
        return open_agent(agent, slumbot_game(), told, allow_code=True)

    agents = [opened()]
    agents += [agents[0] if agents[0].on_loop else opened() for _ in range(settings.concurrency - 1)]
    key = DrawKey(settings.seed, MATCH)
    identity = stored_identity(agents[0].identity(), key, think_s=f"{settings.think_s:g}", user=settings.user)
    with SlumbotRecord(options.out, agents[0].name, identity) as record:
        _say(f"{agents[0].name} plays {settings.base}, seed {settings.seed}, into {options.out}")
        if record.finished or record.broken:
            _say(f"continued: {record.finished} hands are finished, {record.broken} broken")
        if record.finished >= options.hands:
            return Ended(record.finished, record.broken, 0, 0, {}, 0, False, "")
        with HandsBar("slumbot", options.hands) as bar:
            bar.show(record.finished)
            return run(_session(settings, agents, record, password, options.hands, bar))


async def _session(
    settings: SlumbotSettings, agents: list[Agent], record: SlumbotRecord, password: str, hands: int, bar: HandsBar
) -> Ended:
    return await SlumbotSession(settings, agents, record, password, _say).play(hands, bar.show)


def _agent(options: argparse.Namespace) -> str:
    if options.calibrate and options.agent not in (None, calibration.AGENT):
        raise ConfigError(f"--calibrate with --agent {options.agent}: expected {calibration.AGENT}, or no --agent")
    return str(calibration.AGENT if options.calibrate else options.agent or DEFAULT_AGENT)


def _overrides(options: argparse.Namespace) -> dict[str, Any]:
    given = {
        "base": options.base,
        "user": options.user,
        "password_file": options.password_file,
        "spacing_s": options.spacing,
        "concurrency": options.concurrency,
        "seed": options.seed,
        "think_s": None if options.think is None else think_seconds(options.think),
    }
    return {key: value for key, value in given.items() if value is not None}


def _score(folder: Path) -> None:
    """What `paratus score DIR` says: raw, baseline and AIVAT side by side; nobody waits minutes for a table here."""
    from dealer_tools.scoring import command  # kernels, tables
    from dealer_tools.scoring.valuing import READY

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    command.run_command(parser.parse_args([str(folder), "--values", READY]))


def _tell(ended: Ended, options: argparse.Namespace) -> None:
    failures = ", ".join([f"{count} {why}" for why, count in ended.failures.items()]) or "none"
    _say(
        f"{ended.hands} hands finished ({ended.played_now} now), {ended.broken} broken and left out; "
        f"{ended.requests} requests, failures: {failures}; {ended.fallbacks} fallbacks"
    )
    if ended.gave_up:
        _say(f"gave up: {ended.gave_up}; the same command continues in {options.out}")
    elif ended.stopped:
        _say(f"stopped; the same command continues in {options.out}")


def _say(text: str) -> None:
    print(f"paratus slumbot: {text}", file=sys.stderr, flush=True)
