"""`paratus experiment PLAN.toml --out DIR`: many matches by one plan, and a cross table of who beats whom.

The folder is complete in itself:

    plan.toml, plan.json        what was asked for, as given and as understood: with the rules, hashes of strangers'
                                programs and of users' code, and the revision of the code that began
    matches/NAME/               each match, as `paratus match` leaves it: logs, policies, result; score.html
    matches/NAME.out            what its runner said
    results.json, table.txt     the results; written last
    index.html                  the same, with pictures

The same command goes on with an experiment that was interrupted, and shows one that is over. How many cores and how
much memory it may use, and the level of significance, may change between; nothing else may.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

from dealer_tools.children import LOCK, lock_folder
from dealer_tools.experiment.plan import (
    EXAMPLE,
    ExperimentPlan,
    Task,
    load_plan,
    plan_document,
    tasks_of,
    with_defaults,
)
from dealer_tools.experiment.report import document, page, text
from dealer_tools.experiment.results import read_results
from dealer_tools.experiment.runner import play_all
from dealer_tools.experiment.worker import MATCHES, PLAN
from dealer_tools.formats.reading import write_text
from dealer_tools.scoring.report import page as match_page
from dealer_tools.scoring.results import Result
from dealer_tools.scoring.values import Values
from machine.errors import ConfigError
from machine.files import is_leftover, read_document, write_document
from machine.progress import HandsBar
from machine.revision import code_revision
from protocol.game import load_game

_PATIENCE_S: Final = 10.0
"""For the children of a killed experiment to follow it."""
_RESULTS: Final = "results.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `paratus experiment`."""
    parser.description = "Play the matches of a plan, several at once; the same command goes on after an interruption."
    parser.add_argument("plan", metavar="PLAN.toml", nargs="?", type=Path, help="see --example")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder of the experiment (default: experiments/NAME)")
    parser.add_argument("--json", action="store_true", help="print results.json instead of tables")
    parser.add_argument(
        "--allow-code", action="store_true", help="run agents whose code is a user's: FILE.py:CLASS, or installed"
    )
    parser.add_argument("--example", action="store_true", help="print a plan with every key explained, and exit")


def run_command(options: argparse.Namespace) -> int:
    """Play what is left, then say who is better."""
    if options.example:
        print(EXAMPLE.read_text(encoding="utf-8"), end="")
        return 0
    if options.plan is None:
        raise ConfigError(
            "PLAN.toml is missing: expected the file of a plan (`paratus experiment --example` shows one)"
        )
    plan = load_plan(options.plan, allow_code=options.allow_code)
    folder = options.out or Path("experiments") / plan.name
    tasks = tasks_of(plan, load_game(plan.game).game)
    _check_folder(folder)
    lock = lock_folder(folder, _PATIENCE_S)
    try:
        _check_plan(plan, folder, options.plan)
        try:
            play_all(plan, tasks, folder, lock, allow_code=options.allow_code)
        except KeyboardInterrupt:
            print("paratus experiment: stopped; the same command goes on", file=sys.stderr)
            raise
        results, table = _write_results(plan, tasks, folder)
    finally:
        os.close(lock)
    print(json.dumps(results, indent=2) if options.json else table)
    print(f"written to {folder}; {folder / 'index.html'} shows it", file=sys.stderr)
    return 0


def _check_folder(folder: Path) -> None:
    """Make it, or refuse one that holds something else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in folder.iterdir() if not is_leftover(path.name)}
    except OSError as error:
        raise ConfigError(f"--out {folder}: {error.strerror}: expected a folder that can be made") from None
    if names - {LOCK, "plan.toml"} and PLAN not in names:
        raise ConfigError(f"--out {folder}: holds files, but no experiment: expected a new or an empty folder")


def _check_plan(plan: ExperimentPlan, folder: Path, file: Path) -> None:
    """Write the plan into a new folder, or refuse one that holds another."""
    wanted, path = plan_document(plan), folder / PLAN
    if not path.exists():
        write_text(folder / "plan.toml", file.read_text(encoding="utf-8"))
        write_document(path, {"revision": code_revision(), **wanted})
        return
    there = read_document(path)
    held = with_defaults(there.get("plan"))
    if held != wanted["plan"]:
        key = next(key for key, value in wanted["plan"].items() if held.get(key) != value)
        raise ConfigError(f"--out {folder}: holds an experiment with another `{key}`: expected that or another folder")
    if there.get("matches") != wanted["matches"]:
        raise ConfigError(f"--out {folder}: the game or an agent's program has changed since: expected another folder")
    if there.get("revision") != code_revision():
        print(f"begun with {there.get('revision')}, goes on with {code_revision()}", file=sys.stderr)


def _write_results(plan: ExperimentPlan, tasks: list[Task], folder: Path) -> tuple[dict[str, Any], str]:
    links = {task.name: f"{MATCHES}/{task.name}/score.html" for task in tasks}

    def write_page(task: Task, result: Result, values: Values, missing: dict[str, str]) -> None:
        write_text(folder / links[task.name], match_page(result, values, missing))

    with HandsBar("score", len(tasks), "matches") as bar:
        found = read_results(plan, tasks, folder, bar.show, write_page)
    results, table = document(found), text(found)
    write_text(folder / "table.txt", table + "\n")
    write_text(folder / "index.html", page(found, links))
    write_document(folder / _RESULTS, results)
    return results, table
