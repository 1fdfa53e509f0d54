"""`paratus play`: a person at the terminal against an agent."""

from __future__ import annotations

import argparse
import contextlib
import secrets
import time
from pathlib import Path
from typing import Final

from dealer_tools.deal import number_between
from dealer_tools.play.luck import Worth
from dealer_tools.play.record import SittingRecord
from dealer_tools.play.screen import Screen
from dealer_tools.play.sitting import YOU, Left, Sitting
from machine.errors import ConfigError, quote
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, Game, load_game
from protocol.log import MAX_HANDS, MAX_SEED
from strategies.chair import Chair
from strategies.identity import DrawKey
from strategies.registry import AGENTS, DEFAULT_AGENT, agents_help, check_agent, is_agent, open_agent
from strategies.settings import think_seconds

_THINK: Final = "2s"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `paratus play`."""
    parser.description = (
        "Play heads-up no-limit hold'em against an agent, and see after each hand what it was thinking."
    )
    parser.add_argument("--against", metavar="AGENT", default=DEFAULT_AGENT, help=agents_help())
    parser.add_argument("--think", metavar="TIME", default=_THINK, help=f"a hand on average (default {_THINK})")
    parser.add_argument("--hands", metavar="N", type=number_between(1, MAX_HANDS), help="stop then (default: at `q`)")
    parser.add_argument(
        "--seed", metavar="S", type=number_between(0, MAX_SEED), help="of the cards (default: a new one)"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder of the hands (default: matches/play-…)")


def run_command(options: argparse.Namespace) -> int:
    """Play until somebody has enough."""
    think_s = think_seconds(options.think)
    if not is_agent(options.against):
        raise ConfigError(f"--against {quote(options.against)}: expected one of {', '.join(AGENTS)}")
    game = load_game(DEFAULT_GAME).game
    check_agent(options.against, game, allow_code=True)
    seed = secrets.randbelow(MAX_SEED + 1) if options.seed is None else options.seed
    agent, key = open_agent(options.against, game, allow_code=True), DrawKey(seed, "play")
    folder = options.out or Path("matches") / time.strftime(f"play-{agent.name}-%Y%m%d-%H%M%S", time.gmtime())
    record = SittingRecord(folder, agent, YOU, key)
    try:
        worth = Worth(game, YOU, agent.name)
        screen = Screen(worth)
        screen.say(_welcome(agent.name, game, worth))
        sitting = Sitting(Chair(agent, key), record, CardStream(game, seed), think_s)
        try:
            with contextlib.suppress(Left):
                sitting.play(screen, options.hands)
        finally:
            screen.say(_farewell(record, folder, seed, options.against))
    finally:
        record.close()
    return 0


def _welcome(name: str, game: Game, worth: Worth) -> str:
    low, high = sorted(game.blind)
    lines = [
        f"You play {name}, blinds {low} and {high}, stacks of {game.stack[0]:,} every hand. ? says what can be typed."
    ]
    if worth.why_not_better:
        lines.append(f"Luck is measured by equity: {worth.why_not_better} (`paratus score` of any match builds them).")
    return "\n".join(lines)


def _farewell(record: SittingRecord, folder: Path, seed: int, agent: str) -> str:
    if not record.hands:
        return f"\nNo hand was finished. The seed of the cards was {seed}."
    last = record.hands - 1
    count = "1 hand is" if record.hands == 1 else f"{record.hands} hands are"
    return (
        f"\n{count} in {folder}: `paratus score {folder}`, `paratus replay {folder} --hand {last}`.\n"
        f"The seed of the cards was {seed}: `paratus play --against {agent} --seed {seed}` deals them again."
    )
