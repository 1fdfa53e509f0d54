"""`paratus lbr AGENT`: how much a local best response wins against an agent, with intervals.

The result is a lower bound on what a best response wins: the opponent played here is one of those that a best response
does at least as well as. It is from that opponent's side, in thousandths of a big blind a hand; an agent that loses
nothing to it may lose to others.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from dealer_tools.agents import add_agent_options, agent_for, agent_settings, load_two_player_game
from dealer_tools.deal import number_between
from dealer_tools.lbr.lots import LEAST_PAIRS, LbrJob, pairs_of, players_on
from dealer_tools.lbr.records import LbrPlan, Pair
from dealer_tools.lbr.settings import Setting
from dealer_tools.results import Estimate
from machine.cores import available_cores
from machine.errors import ConfigError
from machine.journal import Journal, open_journal
from machine.lots import do_lots
from machine.progress import HandsBar
from machine.revision import git_revision
from protocol.game import DEFAULT_GAME
from protocol.log import MAX_HANDS, MAX_SEED
from strategies.agents import Agent
from strategies.own_code import absolute_code
from strategies.registry import agents_help
from strategies.settings import think_seconds

MEANING: Final = (
    "This is a lower bound on what a best response wins. A bound below zero, or whose interval includes zero, proves "
    "nothing: another opponent may still win."
)

_EPILOG: Final = """\
settings: what the opponent may do (it checks where nothing is owed)
  fc         fold, call
  fcpa-late  call before the turn; then fold, call, the pot, all-in
  56-late    call before the turn; then fold, call, 56 bets from 0.05 to 109 pots
  56-flop    call before the flop; on the flop fold, call, the 56 bets; then fold, call
  modicum-a  fold or bet 0.75 pot first; then fold, call
  modicum-b  bet 0.75 pot first, call before the flop; on the flop fold, call, eleven bets from 0.33 to 338 pots; then
             fold, call

An agent that searches thinks for as many iterations as its settings say, and equal commands give equal results, unless
--think is given. Settings that weigh the first decision need a table that is computed once (a minute or two).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Against whom, and what the local best response may do."""
    parser.description = (
        "Play a local best response, which knows the agent's policy for every hand, against an agent: each deal with "
        "both seats. Prints what it wins."
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("agent", metavar="AGENT", help=agents_help())
    parser.add_argument(
        "--setting", required=True, choices=[str(each) for each in Setting], help="what the opponent may do where"
    )
    parser.add_argument(
        "--hands", metavar="N", type=number_between(1, MAX_HANDS), required=True,
        help="deals; each is two hands, one with each seat",
    )  # fmt: skip
    parser.add_argument(
        "--game", metavar="GAME", default=DEFAULT_GAME, help="a .game file or the name of a shipped definition"
    )
    parser.add_argument(
        "--seed", metavar="S", type=number_between(0, MAX_SEED), default=0, help="of the cards and draws (default 0)"
    )
    add_agent_options(parser)
    parser.add_argument(
        "--think", metavar="TIME", help="how long a hand may take on average, as of `paratus bot`; hands then differ"
    )
    parser.add_argument(
        "--cores", metavar="N", type=int,
        help="processes that play (default: all cores if that is worth it, one with --think); the results are the same",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", type=Path, help="keep every pair; the same command then goes on")
    parser.add_argument("--json", action="store_true", help="print data instead of a table")


def run_command(options: argparse.Namespace) -> int:
    """Play what is missing, then print the result."""
    game = load_two_player_game(options.game, "lbr")
    think_s = 0.0 if options.think is None else think_seconds(options.think)
    if think_s and options.iterations is not None:
        raise ConfigError("--think with --iterations: expected one of them")
    if options.cores is not None and options.cores < 1:
        raise ConfigError(f"--cores {options.cores}: expected at least 1")
    agent = agent_for(options.agent, game, options)
    plan = LbrPlan(
        options.game, game, absolute_code(options.agent), agent.identity(),
        Setting(options.setting), options.hands, options.seed, think_s,
    )  # fmt: skip
    begun = time.monotonic()
    with contextlib.ExitStack() as opened:
        file = opened.enter_context(open_journal(options.out, plan.journal())) if options.out is not None else None
        try:
            pairs = play(plan, agent, file, options)
        except KeyboardInterrupt:
            kept = f"the same command continues in {options.out}" if file else "nothing is kept without --out"
            print(f"paratus lbr: stopped; {kept}", file=sys.stderr)
            raise
    result = report(plan, pairs, time.monotonic() - begun)
    print(json.dumps(result, indent=2) if options.json else _table(result))
    return 0


def play(plan: LbrPlan, agent: Agent, file: Journal[Pair] | None, options: argparse.Namespace) -> list[Pair]:
    """All pairs of a plan; those that the file has are not played again."""
    missing = plan.deals - (len(file.results) if file is not None else 0)
    cores = min(options.cores or _sensible_cores(missing, agent, plan), max(missing, 1))
    players = players_on(cores, LbrJob(plan, agent_settings(options)), agent)
    with HandsBar(f"{plan.setting} v {plan.agent}", 2 * plan.deals) as bar:
        played = do_lots(players, pairs_of(plan), kept=file, tell=bar.show, in_order=True)
        return [pair for _, pair in played]


def _sensible_cores(missing: int, agent: Agent, plan: LbrPlan) -> int:
    """One where a search's time is told by the clock: two searches would take it from each other."""
    worth_it = missing >= (LEAST_PAIRS if agent.on_loop else 2)
    return available_cores() if worth_it and not plan.think_s else 1


def report(plan: LbrPlan, pairs: list[Pair], played_s: float) -> dict[str, Any]:
    """What `--json` prints."""
    unit = 1000 / plan.game.big_blind
    estimates = {
        "raw": Estimate.of([unit * math.fsum(hand.chips for hand in pair) / 2 for pair in pairs]),
        "imaginary": Estimate.of([unit * math.fsum(hand.mean_chips for hand in pair) / 2 for pair in pairs]),
    }
    return {
        **plan.as_json(),
        "paratus": version("paratus"),
        "revision": git_revision(full=True),
        "hands": 2 * len(pairs),
        "unit": f"mbb/g: thousandths of {plan.game.big_blind} chips a hand, won by the local best response; intervals "
        "are 95 %",
        "observation": "a pair: one deal with both seats",
        **{name: estimate.as_json() for name, estimate in estimates.items()},
        "by_position_mbb": [unit * math.fsum(pair[seat].mean_chips for pair in pairs) / len(pairs) for seat in (0, 1)],
        "fallbacks": sum(hand.fallbacks for pair in pairs for hand in pair),
        "seconds": round(played_s, 3),
        "meaning": MEANING,
    }


def _table(result: dict[str, Any]) -> str:
    """The result as people read it."""
    lines = [
        f"local best response {result['setting']} v {result['agent']}, {result['game']}, {result['hands']:,} hands in "
        f"{result['deals']:,} pairs, seed {result['seed']}",
        f"{'mbb/g it wins':24}{'n':>9}{'mean':>9}{'SD':>9}{'SE':>8}   95 % interval",
    ]
    for name, title in (("raw", "raw"), ("imaginary", "imaginary observations")):
        each = result[name]
        spread = f"{'?':>9}{'?':>8}   unknown"
        if each["se_mbb"] is not None:
            interval = f"[{each['low_mbb']:+.1f}, {each['high_mbb']:+.1f}]"
            spread = f"{each['sd_mbb']:9.1f}{each['se_mbb']:8.1f}   {interval}"
        lines.append(f"{title:24}{each['observations']:9,}{each['mean_mbb']:+9.1f}{spread}")
    if result["fallbacks"]:
        lines.append(f"{result['fallbacks']:,} decisions of the agent were fallbacks")
    identity = ", ".join(f"{key} {value}" for key, value in result["identity"].items() if len(value) <= 60)
    return "\n".join([*lines, f"agent: {identity}", result["meaning"]])
