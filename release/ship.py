"""What ships beside a blueprint: `python -m release.ship RUN FOLDER`, RUN being the folder of its training.

FOLDER gets, all with the name of the configuration:

    NAME.blueprint     the file, compared with its own hashes and with the checkpoint of the run
    NAME.toml          the configuration, every key
    NAME.log.jsonl     the run's log, a line for each period
    NAME.json          what it is worth

The last holds what `release.blueprint` finds within the bets of the tree, matches through the real dealer with the
same cards played twice, and what is demanded of a blueprint that ships, each with whether it is met. Files are written
even where a demand is not; then the exit code is 1. Matches are kept (`--matches`): the same command goes on with them.

A file of hold'em is also played by a player who has learnt to play against it (`paratus blueprint respond`) and by a
local best response, beside the file of that name which ships now: strategies that
play each other never see how they would answer what neither does. One that won 14.5 mbb/g from the file before lost
10,400 to a local best response that goes all-in on the river, where the other loses 3,000.

Where several runs were merged, RUN is `-`, `--file` names the blueprint, `--part` each of the files that it was merged
from, and `--log` the log of each: the one that ships is that of the runs one after another. Where the run is gone, RUN
is `-` too; then the log is the one line that the file's header says of all periods, and what rounding cost cannot be
measured.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import cpu
from blueprints.settings import settings_text
from blueprints.shipped import shipped_blueprint
from blueprints.storage import Blueprint
from blueprints.train.checkpoint import log_text, read_checkpoint, read_log
from blueprints.train.job import blueprint_file
from blueprints.train.trainer import NOTHING_YET
from machine.errors import ParatusError
from machine.files import whole_file
from machine.progress import duration_text
from protocol.errors import BlueprintError
from release.blueprint import Report, add_part, add_sizes, evaluate, is_holdem, log_of
from strategies.store import StoreReader

OPPONENTS: Final = ("always-call", "always-fold", "random")
LEAST_FROM_CALLS_MBB: Final = 1000.0
LEAST_FROM_FOLDS_MBB: Final = 550.0
MOST_FOLDS: Final = 0.001
_RESPONSES: Final = 20_000
_RESPONDER_BOARDS: Final = 10_000
_SETTING: Final = "fcpa-late"
_PLAYER: Final = "blueprint"
_SEED: Final = 1


def ship(
    run: Path | None, file: Path | None, folder: Path, matches: Path | None, options: argparse.Namespace
) -> Report:
    """Write all four files; returns what the last one holds."""
    if folder.resolve() == shipped_blueprint().parent.resolve():
        raise BlueprintError(f"{folder}: holds what ships now, which this is compared with: expected another folder")
    if run is not None and (options.log or options.part):
        raise BlueprintError(f"--log and --part with the run {run}: expected - in its place, or neither")
    if run is None:
        if file is None:
            raise BlueprintError("no run and no --file: expected one of them at least")
        source = Blueprint.open(file, verify=True)
        name, log = source.name, _logs(source, options.log) if options.log else _last_line(source)
    else:
        name = str(read_checkpoint(run).identity.settings["name"])
        source = Blueprint.open(file or blueprint_file(run, name), verify=True)
        log = log_text(log_of(run, source))
    _tell(f"{source.path} is measured over all hands first; then come matches, which take longer")
    report = evaluate(source, run, options.part, options.boards, options.self_boards, options.threads)
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, data in (
        ("blueprint", source.path.read_bytes()),
        ("toml", settings_text(source.settings).encode()),
        ("log.jsonl", log.encode()),
    ):
        _write(folder / f"{name}.{suffix}", data)
    blueprint = Blueprint.open(folder / f"{name}.blueprint")
    _tell(f"{blueprint.path} and what belongs to it are written")
    matches = matches or Path("matches") / f"ship-{blueprint.digest[:12]}-{options.hands}"
    merged = "merged" if len(blueprint.runs) > 1 else "gone"
    report["cpu"], report["run"] = cpu(), merged if run is None else "there"
    report["matches"] = play_matches(blueprint, matches, options.hands)
    if is_holdem(blueprint):
        report["responder"] = against_responder(blueprint, options)
        report["local best response"] = against_best_response(blueprint, matches)
    report["demands"] = demands(report)
    report["met"] = all(demand["met"] for demand in report["demands"])
    _write(folder / f"{name}.json", (json.dumps(report, indent=1) + "\n").encode())
    return report


def play_matches(blueprint: Blueprint, folder: Path, hands: int) -> Report:
    """Duplicate matches through the dealer: so many hands, and the same cards again with the seats swapped."""
    bot = _make_bot(blueprint, folder / "bot", hands)
    found, begun = {}, time.monotonic()
    for number, opponent in enumerate(OPPONENTS):
        left = f", {duration_text((time.monotonic() - begun) * (3 - number) / number)} left" if number else ""
        _tell(f"match {number + 1} of {len(OPPONENTS)}{left}: {2 * hands:,} hands against {opponent}")
        result = _match(blueprint.settings.game, bot, opponent, folder / opponent, hands)
        mine = result["players"][_PLAYER]
        found[opponent] = {
            "hands": 2 * hands,
            "seed": result["seed"],
            "observation": result["observation"],
            "mbb": round(mine["mean_mbb"], 2),
            "se_mbb": round(mine["se_mbb"], 2),
            "interval_95_mbb": [round(mine["low_mbb"], 2), round(mine["high_mbb"], 2)],
            "revision": result["revision"],
        }
    found["decisions not made as they should have been"] = _fallbacks(folder / "bot")
    return found


def _compared(blueprint: Blueprint) -> dict[str, Path]:
    """This file, and the one of the name that ships now, if it is another."""
    now = shipped_blueprint().with_name(blueprint.path.name)
    other = now.exists() and Blueprint.open(now).digest != blueprint.digest
    return {"this": blueprint.path, **({"ships": now} if other else {})}


def against_responder(blueprint: Blueprint, options: argparse.Namespace) -> Report:
    """What it wins from each file, having learnt from the same boards, on the same others."""
    found: Report = {"boards": _RESPONDER_BOARDS, "test boards": options.self_boards}
    for name, path in _compared(blueprint).items():
        _tell(f"a player learns to play against {path}, from {_RESPONDER_BOARDS:,} boards in each seat")
        sizes = ["--boards", _RESPONDER_BOARDS, "--test-boards", options.self_boards, "--threads", options.threads]
        said = _said(path, "blueprint", "respond", path, *sizes, "--seed", _SEED, "--json")
        mbb, error = (1000 * said[key] / said["big_blind"] for key in ("chips", "interval_chips"))
        found[name] = {"mbb": round(mbb, 1), "interval_95_mbb": [round(mbb - error, 1), round(mbb + error, 1)]}
    return found


def _said(path: Path, *arguments: object) -> Report:
    """What a command says about a file."""
    command = [sys.executable, "-m", "bot.cli", *map(str, arguments)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ran.returncode:
        raise BlueprintError(f"{path}: {shlex.join(command[2:])} ended with exit code {ran.returncode}")
    said: Report = json.loads(ran.stdout)
    return said


def against_best_response(blueprint: Blueprint, folder: Path) -> Report:
    """What it wins, with intervals, from each file."""
    found = {}
    for name, path in _compared(blueprint).items():
        _tell(f"{2 * _RESPONSES:,} hands of a local best response: {path}")
        config = _configuration(folder / f"{name}.toml", path)
        each = _said(
            path, "lbr", _PLAYER, "--setting", _SETTING, "--config", config, "--game", blueprint.settings.game,
            "--hands", _RESPONSES, "--seed", _SEED, "--json",
        )["imaginary"]  # fmt: skip
        found[name] = {
            "deals": _RESPONSES,
            "mbb": round(each["mean_mbb"], 1),
            "interval_95_mbb": [round(each["low_mbb"], 1), round(each["high_mbb"], 1)],
        }
    return {"setting": _SETTING, **found}


def demands(report: Report) -> list[Report]:
    """What a blueprint that ships must do, and whether it does."""
    played = report["matches"]
    calls, folds, at_random = (played[opponent] for opponent in OPPONENTS)
    least = f"{LEAST_FROM_CALLS_MBB:,.0f} mbb/g"
    found = [
        {
            "demand": f"the interval of what it wins from always-call begins at {least} or above",
            "interval_95_mbb": calls["interval_95_mbb"],
            "met": calls["interval_95_mbb"][0] >= LEAST_FROM_CALLS_MBB,
        },
    ]
    exactly = report.get("always-fold, all boards")
    value = exactly or report["expectation"]["always-fold"]
    error = 0.0 if exactly else value["interval_95"]
    low, high = folds["interval_95_mbb"]
    found += [
        {
            "demand": "the interval of what it wins from always-fold holds the value computed from its policy",
            "interval_95_mbb": [low, high],
            "value_mbb": value["mbb"],
            "estimate": exactly is None,
            "met": low - error <= value["mbb"] <= high + error,
        },
        {
            "demand": f"that value is at least {LEAST_FROM_FOLDS_MBB:,.0f} mbb/g",
            "value_mbb": value["mbb"],
            "estimate": exactly is None,
            "met": value["mbb"] >= LEAST_FROM_FOLDS_MBB,
        },
        {
            "demand": f"the interval of what it wins from random begins above {least}",
            "interval_95_mbb": at_random["interval_95_mbb"],
            "met": at_random["interval_95_mbb"][0] > LEAST_FROM_CALLS_MBB,
        },
    ]
    if "preflop" in report:
        folded = report["preflop"]["most folds to one raise"]
        found.append(
            {
                "demand": f"AA, KK and QQ fold to one raise with less than {MOST_FOLDS:.1%} in all",
                "most": folded,
                "met": sum(folded.values()) < MOST_FOLDS,
            }
        )
    if "buckets" in report:
        found.append(
            {
                "demand": "every live hand on every flop, turn and river has a bucket",
                "tables": report["buckets"],
                "met": all(each["highest"] < each["buckets"] for each in report["buckets"].values()),
            }
        )
    for who in ("responder", "local best response"):
        responses = report.get(who, {})
        if "ships" not in responses:
            continue
        mine, before = (responses[name]["interval_95_mbb"] for name in ("this", "ships"))
        found.append(
            {
                "demand": f"a {who} wins no more from it than from the one that ships, but for luck",
                "interval_95_mbb": mine,
                "of the one that ships": before,
                "met": mine[0] <= before[1],
            }
        )
    return found


def _make_bot(blueprint: Blueprint, folder: Path, hands: int) -> Path:
    """A program that plays this file: agents of ours that are named would play the one that ships already."""
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    config, bot = _configuration(folder / "bot.toml", blueprint.path), folder / _PLAYER
    command = [
        *(sys.executable, "-m", "bot.cli", "bot", "--agent", "blueprint", "--config", str(config)),
        *("--game", blueprint.settings.game, "--seed", str(_SEED), "--match", "ship", "--hands", str(hands)),
    ]
    bot.write_text(f'#!/bin/sh\nexec {shlex.join(command)} --store {shlex.quote(str(folder))}/"$2".sqlite "$1" "$2"\n')
    bot.chmod(0o755)
    return bot


def _configuration(path: Path, file: Path) -> Path:
    """With which agent `blueprint` plays that file."""
    path.write_text(f"[blueprint]\nfile = {json.dumps(str(file.resolve()))}\n")
    return path


def _match(game: str, bot: Path, opponent: str, folder: Path, hands: int) -> dict[str, Any]:
    command = [
        *(sys.executable, "-m", "bot.cli", "match", game, str(bot), opponent, "--hands", str(hands)),
        *("--seed", str(_SEED), "--duplicate", "--out", str(folder), "--json"),
    ]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ran.returncode:
        raise BlueprintError(f"{folder}: the match against {opponent} ended with exit code {ran.returncode}")
    result: dict[str, Any] = json.loads(ran.stdout)
    return result


def _fallbacks(folder: Path) -> int:
    count = 0
    for path in folder.glob("*.sqlite"):
        reader = StoreReader(path)
        count += reader.fallbacks()
        reader.close()
    return count


def _logs(blueprint: Blueprint, paths: Sequence[Path]) -> str:
    """Those of the runs that were merged, one after another, if they are: all walks of the file, in its order."""
    log = [period for path in paths for period in read_log(path)]
    ends = [one.walks for one, other in pairwise([*log, NOTHING_YET]) if other.number <= one.number]
    expected = [run.walks for run in blueprint.runs]
    if ends != expected:
        raise BlueprintError(f"logs of {ends} walks: expected those of the file's runs, {expected}")
    return log_text(log)


def _last_line(blueprint: Blueprint) -> str:
    """What a header says of the training, as the log's last line would."""
    training = blueprint.header.training
    facts = {"number": training.periods, **training.model_dump(include={"walks", "updates", "core_seconds"})}
    return json.dumps(facts) + "\n"


def _write(path: Path, data: bytes) -> None:
    with whole_file(path) as file:
        file.write(data)


def _tell(text: str) -> None:
    print(f"ship: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; returns 0 if all demands are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN", type=Path, help="the folder of the training; - if it is gone, or several")
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("--file", type=Path, help="the run's blueprint; default: RUN/NAME.blueprint")
    parser.add_argument(
        "--log", type=Path, action="append", default=[], help="of a run of the file, where RUN is -; once for each"
    )
    parser.add_argument("--matches", type=Path, help="the folder of the matches; default: one of this file in matches/")
    parser.add_argument("--hands", type=int, default=20_000, help="of a match, each played twice; default: 20000")
    add_part(parser)
    add_sizes(parser)
    options = parser.parse_args(arguments)
    try:
        run = None if options.run == Path("-") else options.run
        report = ship(run, options.file, options.folder, options.matches, options)
    except (ParatusError, OSError) as error:
        print(f"ship: {error}", file=sys.stderr)
        return 2
    for demand in report["demands"]:
        print(f"{'met' if demand['met'] else 'NOT MET':8}{demand['demand']}")
    return 0 if report["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
