"""`paratus match`: two bots (or more), one dealer, real processes over TCP, and a result that can be trusted.

The folder given by --out is complete in itself:

    plan.json                   what was asked for; the same command continues an interrupted match
    LEG/match.log, match.tlog   the dealer's log and transactions
    LEG/match.messages          everything said, with times (its stderr)
    LEG/PLAYER.sqlite, .out     the match store of each of our agents, and what each bot printed
    result.json                 scores with standard errors and 95 % intervals; written last

A leg is one dealt match. A duplicate match has two, `forward` and `reverse`: the same cards with the seats swapped.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from dealer_tools.children import Children, lock_folder, read_line
from dealer_tools.deal import number_between
from dealer_tools.plan import MatchPlan, PlayerSettings, check_folder, check_plan, entrant, name_agents
from dealer_tools.results import Leg, MatchError, estimates, read_values
from dealer_tools.stores import complete_store
from dealer_tools.tail import Tail, last_line
from machine.errors import ConfigError, quote
from machine.files import read_document, whole_file, write_document
from machine.progress import HandsBar
from machine.revision import git_revision
from protocol.game import game_text, load_game
from protocol.log import MAX_HANDS, MAX_SEED, Limits
from strategies.players.off_tree import count_off_tree
from strategies.registry import agents_help, check_agent, is_agent
from strategies.store import StoreReader

_NAME: Final = "match"
"""Of the dealer's files, in each leg's folder."""
_START_TIMEOUT_MS: Final = 180_000
_PORTS_TIMEOUT_S: Final = 30.0
_EXIT_TIMEOUT_S: Final = 30.0
_POLL_S: Final = 0.05
_GRACE_S: Final = 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to play, and where to write it."""
    limits = Limits()
    parser.description = "Play a match through the dealer over TCP; run the same command again to continue or show it."
    parser.add_argument("game", metavar="GAME", help="a .game file or the name of a shipped definition")
    parser.add_argument("agents", metavar="AGENT", nargs="+", help=agents_help(", or an executable taking <ip> <port>"))
    parser.add_argument("--hands", metavar="N", type=number_between(1, MAX_HANDS), default=1000, help="default 1000")
    parser.add_argument(
        "--seed", metavar="S", type=number_between(0, MAX_SEED), default=0, help="of the cards and draws"
    )
    parser.add_argument("--duplicate", action="store_true", help="play the same cards again with the seats swapped")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder of the match (default: matches/NAME)")
    parser.add_argument("--json", action="store_true", help="print result.json instead of a table")
    parser.add_argument("--t_response", metavar="MS", type=number_between(1, 10**12), default=limits.response_ms)
    parser.add_argument("--t_hand", metavar="MS", type=number_between(1, 10**12), default=limits.hand_ms)
    parser.add_argument("--t_per_hand", metavar="MS", type=number_between(1, 10**12), default=limits.per_hand_ms)


def run_command(options: argparse.Namespace) -> int:
    """Play what is left of the match, then print its result."""
    plan = _make_plan(options)
    kind = "duplicate" if plan.duplicate else "match"
    folder = options.out or Path("matches") / f"{plan.game.name}-{'-'.join(plan.names)}-{kind}-{plan.hands}-{plan.seed}"
    known = (folder / "result.json").exists()
    if not known:
        for agent in sorted(filter(is_agent, {*plan.agents})):
            check_agent(agent, plan.game, allow_code=True)
    try:
        result = play_match(plan, folder)
    except KeyboardInterrupt:
        print("paratus match: stopped; the same command continues from the last finished action", file=sys.stderr)
        raise
    print(json.dumps(result, indent=2) if options.json else _table(result))
    print(f"{'already played, in' if known else 'written to'} {folder}", file=sys.stderr)
    return 0


def _make_plan(options: argparse.Namespace) -> MatchPlan:
    parsed = load_game(options.game)
    for warning in parsed.warnings:
        print(f"WARNING: {warning}", file=sys.stderr)
    agents = tuple(map(entrant, options.agents))
    if len(agents) != parsed.game.num_players:
        raise ConfigError(
            f"{len(agents)} agents: {options.game} is played by {parsed.game.num_players}: "
            f"expected `paratus match GAME{' AGENT' * parsed.game.num_players}`"
        )
    if options.duplicate and len(agents) != 2:
        raise ConfigError(f"--duplicate: {options.game} is played by {len(agents)}: expected a game for two")
    names = name_agents(agents)
    limits = Limits(options.t_response, options.t_hand, options.t_per_hand)
    return MatchPlan(
        options.game, parsed.game, agents, tuple(names), options.hands, options.seed, options.duplicate, limits
    )


def play_match(plan: MatchPlan, folder: Path, patience_s: float = 0.0) -> dict[str, Any]:
    """Play what is left of a match in `folder`; returns what `result.json` holds.

    `patience_s` is how long to wait for whoever plays it already.
    """
    check_folder(folder)
    lock = lock_folder(folder, patience_s)
    try:
        check_plan(plan, folder)
        result_path = folder / "result.json"
        if result_path.exists():
            return read_document(result_path)
        begun = time.monotonic()
        total = plan.hands * len(plan.legs)
        with HandsBar(" v ".join(plan.names), total) as bar:
            for number, leg in enumerate(plan.legs):
                _play_leg(plan, leg, folder / leg.name, lock, bar, number * plan.hands)
        result = _result(plan, folder, time.monotonic() - begun)
        write_document(result_path, result)
        return result
    finally:
        os.close(lock)


def _play_leg(plan: MatchPlan, leg: Leg, folder: Path, lock: int, bar: HandsBar, before: int) -> None:
    """Play a leg from wherever its files say it stands."""
    folder.mkdir(exist_ok=True)
    log, messages = folder / "match.log", folder / "match.messages"
    _refuse_warnings(messages, leg)
    if log.exists() and b"\nSCORE:" in log.read_bytes():
        bar.show(before + plan.hands)
        return
    game_file = folder / "match.game"
    game_file.write_text(game_text(plan.game), encoding="utf-8")
    _renew_header(plan, log)
    with Children(lock) as children:
        dealer = children.start(
            "dealer",
            _dealer_command(plan, leg),
            stdout=subprocess.PIPE,
            stderr=messages,
            folder=folder,
        )
        ports = read_line(dealer, _PORTS_TIMEOUT_S)
        if not ports.startswith("SCORE:"):  # which is all there was to do for an attempt that ended just before it
            for name, port in zip(leg.players, ports.split(), strict=True):
                output, command = folder / f"{name}.out", _bot_command(plan, leg, name, port, folder, game_file)
                children.start(name, command, stdout=output, stderr=output, trusted=name in plan.ours)
        _watch(children, dealer, folder, leg, plan.ours, plan.hands, bar, before)
    _refuse_warnings(messages, leg)


def _dealer_command(plan: MatchPlan, leg: Leg) -> list[str]:
    """To be run in the leg's folder: so logs do not say where that is, and its name may have blanks.

    `-P`: nothing is imported from that folder.
    """
    limits = plan.limits
    return [
        *(sys.executable, "-P", "-m", "bot.cli", "deal", _NAME, f"{_NAME}.game"),
        *(str(plan.hands), str(plan.seed), *leg.players, "-T", "-a", "--start_timeout", str(_START_TIMEOUT_MS)),
        *("--t_response", str(limits.response_ms), "--t_hand", str(limits.hand_ms)),
        *("--t_per_hand", str(limits.per_hand_ms)),
    ]


def _renew_header(plan: MatchPlan, log: Path) -> None:
    """The first line of a log that was begun when it still named the folder, as the dealer will write it."""
    if not log.exists():
        return
    first, newline, rest = log.read_bytes().partition(b"\n")
    begin, end = b"# name/game/hands/seed ", f" {plan.hands} {plan.seed}".encode()
    renewed = begin + f"{_NAME} {_NAME}.game".encode() + end
    if newline and first != renewed and first.startswith(begin) and first.endswith(end):
        with whole_file(log) as file:
            file.write(renewed + newline + rest)


def _bot_command(plan: MatchPlan, leg: Leg, name: str, port: str, folder: Path, game_file: Path) -> list[str]:
    number = plan.names.index(name)
    agent = plan.agents[number]
    if not is_agent(agent):
        return [agent, "127.0.0.1", port]
    config, limits = folder / f"{name}.toml", plan.limits
    own = plan.own[number] if plan.own else PlayerSettings()
    think = f"think_s = {own.think_s}\n" if own.think_s else ""
    config.write_text(
        f"[clock]\nresponse_s = {limits.response_ms / 1e3}\nhand_s = {limits.hand_ms / 1e3}\n"
        f"per_hand_s = {limits.per_hand_ms / 1e3}\n{think}{own.sections}",
        encoding="utf-8",
    )
    return [
        *(sys.executable, "-m", "bot.cli", "bot", "127.0.0.1", port, "--agent", agent, "--game", str(game_file)),
        *("--seed", str(plan.seed), "--match", f"{leg.name}/{name}", "--hands", str(plan.hands)),
        *("--store", str(folder / f"{name}.sqlite"), "--resume", "--config", str(config)),
    ]


def _watch(
    children: Children,
    dealer: subprocess.Popen[bytes],
    folder: Path,
    leg: Leg,
    ours: frozenset[str],
    hands: int,
    bar: HandsBar,
    before: int,
) -> None:
    """Follow the log until the dealer is done; fail on the first sign of trouble."""
    log, messages = Tail(folder / "match.log"), Tail(folder / "match.messages")
    played = 0
    while True:
        done = dealer.poll()
        played += sum(line.startswith(b"STATE:") for line in log.lines())
        bar.show(before + min(played, hands))
        if any(line.startswith(b"WARNING") for line in messages.lines()):
            _refuse_warnings(folder / "match.messages", leg)
        if done is not None:
            break
        _check_players(children, folder, dealer)
        time.sleep(_POLL_S)
    if done != 0:
        reason = last_line(folder / "match.messages")
        blamed = [name for name in children.exit_codes() if f"({name})" in reason]
        said = "".join([f"; {name} said: {last_line(folder / f'{name}.out')}" for name in blamed])
        raise MatchError(f"the dealer ended with exit code {done}: {reason}{said}")
    _see_off(children, folder, ours)


def _see_off(children: Children, folder: Path, ours: frozenset[str]) -> None:
    """Wait for the bots of a match that is over; how a stranger takes the end is its own business."""
    begun = time.monotonic()
    while waited := [name for name, code in children.exit_codes().items() if code is None]:
        patience_s = _EXIT_TIMEOUT_S if ours.intersection(waited) else _GRACE_S
        if time.monotonic() - begun > patience_s:
            break
        time.sleep(_POLL_S)
    for name, code in children.exit_codes().items():
        if name in ours and code != 0:
            how = "did not end with the match" if code is None else f"ended with exit code {code}"
            raise MatchError(f"{name} {how}: {last_line(folder / f'{name}.out')}")


def _refuse_warnings(messages: Path, leg: Leg) -> None:
    """Also those of earlier attempts: a match with a corrected action is no match, however it goes on."""
    if not messages.exists():
        return
    seat = 0
    with messages.open("rb") as lines:
        for line in lines:
            if line.startswith(b"FROM "):
                seat = int(line.split()[1]) - 1
            elif line.startswith(b"WARNING"):
                said = quote(line.decode("ascii", "replace").strip())
                raise MatchError(
                    f"{leg.players[seat]} broke the rules: the dealer says {said} ({messages}); "
                    "mend that bot and choose another --out"
                )


def _check_players(children: Children, folder: Path, dealer: subprocess.Popen[bytes]) -> None:
    for name, code in children.exit_codes().items():
        if code is not None and name != "dealer":
            try:  # a match that has just ended, or a dealer that is about to say what happened
                if dealer.wait(_GRACE_S) == 0 or code == 0:
                    return
            except subprocess.TimeoutExpired:
                pass
            raise MatchError(f"{name} ended with exit code {code}: {last_line(folder / f'{name}.out')}")


def _result(plan: MatchPlan, folder: Path, seconds: float) -> dict[str, Any]:
    legs = [read_values(folder / leg.name / "match.log", plan.game, leg.players, plan.hands) for leg in plan.legs]
    rates = estimates(plan.game, legs)
    return {
        **plan.as_json(),
        "paratus": version("paratus"),
        "revision": git_revision(full=True),
        "seconds": round(seconds, 3),
        "unit": f"mbb/g: thousandths of {plan.game.big_blind} chips a hand; intervals are 95 %",
        "observation": "a pair of duplicate hands" if plan.duplicate else "a hand",
        "players": {
            name: {
                "chips": sum(sum(leg[name]) for leg in legs),
                **rates[name].as_json(),
                **(_record(plan, folder, name) if name in plan.ours else _NO_RECORD),
            }
            for name in plan.names
        },
    }


_NO_RECORD: Final = {"fallbacks": None, "by_blueprint": None, "hands_from_log": None}


def _record(plan: MatchPlan, folder: Path, name: str) -> dict[str, Any]:
    """The stores of an agent of ours, made complete: decisions that were replaced, and hands added from the log."""
    fallbacks = added = 0
    by_blueprint: Counter[str] = Counter()
    for leg in plan.legs:
        path = folder / leg.name / f"{name}.sqlite"
        added += complete_store(path, folder / leg.name / "match.log", plan, name)
        reader = StoreReader(path)
        try:
            fallbacks += reader.fallbacks()
            by_blueprint.update(count_off_tree(reader.details()))
        finally:
            reader.close()
    return {"fallbacks": fallbacks, "by_blueprint": dict(by_blueprint), "hands_from_log": added}


def _table(result: dict[str, Any]) -> str:
    """The result as people read it."""
    hands = result["hands"] * (2 if result["duplicate"] else 1)
    lines = [
        f"{result['game']}, {hands:,} hands{' (duplicate)' if result['duplicate'] else ''}, seed {result['seed']}",
        f"{'':24}{'chips':>12}{'mbb/g':>10}{'± SE':>9}   95 % interval        fallbacks",
    ]
    notes = []
    for name, player in result["players"].items():
        if player["se_mbb"] is None:
            spread = f"{'?':>9}   {'unknown':<21}"
        else:
            interval = f"[{player['low_mbb']:+.0f}, {player['high_mbb']:+.0f}]"
            spread = f"{player['se_mbb']:9.0f}   {interval:<21}"
        fallbacks = "-" if player["fallbacks"] is None else player["fallbacks"]
        lines.append(f"{name:24}{player['chips']:+12,.0f}{player['mean_mbb']:+10.0f}{spread}{fallbacks:>9}")
        counts = player.get("by_blueprint")  # results were written without it once
        if counts and counts["translated"]:
            notes.append(
                f"{name}: of {counts['decisions']:,} decisions by its blueprint {counts['translated']:,} were after "
                f"bets that this has not: {counts['jumps']:,} by the nearest it has, {counts['replaced']:,} made legal"
            )
        if player["hands_from_log"]:
            notes.append(
                f"{name}: was killed before it saw the end of {player['hands_from_log']} hands: added from the log"
            )
    return "\n".join(lines + notes)
