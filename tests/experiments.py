"""Experiments run as users run them, killed at any moment, and compared with one that was not."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from random import Random
from typing import Any

from processes import Process, Processes, wait_until

FAST = {
    "random": "random", "caller": "always-call", "raiser": "always-raise", "jam": "all-in", "folder": "always-fold",
}  # fmt: skip


def plan_text(agents: dict[str, str], **keys: object) -> str:
    """A plan with these agents; `keys` as in its file."""
    keys = {"name": "made", "game": "leduc", "hands": 40, **keys}
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    for name, agent in agents.items():
        lines += ["", "[[agents]]", f'name = "{name}"', f'agent = "{agent}"']
    return "\n".join(lines) + "\n"


def start(run: Processes, text: str, out: str, *options: object) -> Process:
    path = run.folder / f"{out}.toml"
    path.write_text(text)
    return run.paratus("experiment", path, "--out", out, *options)


def run_through(folder: Path, text: str, patience_s: float = 120.0) -> Path:
    """An experiment that nobody interrupts."""
    with Processes(folder) as run:
        ended = start(run, text, "x").wait(patience_s)
        assert ended.code == 0, ended.err
    return folder / "x"


def kill_and_resume(folder: Path, text: str, kills: int, seed: int, hands: int, patience_s: float = 120.0) -> Path:
    """One that is killed with SIGKILL so many times, after a random number of its hands, and then left to end."""
    rng = Random(seed)
    moments = sorted(rng.sample(range(hands * 9 // 10), kills))
    with Processes(folder) as run:
        for moment in moments:
            runner = start(run, text, "x")
            wait_until(
                lambda moment=moment, runner=runner: not runner.running or hands_played(folder / "x") >= moment,  # type: ignore[misc]
                f"{moment} hands",
                patience_s,
            )
            time.sleep(rng.random() / 5)  # no later hand, some other place in one: or before the first
            assert runner.running, runner.said()
            runner.end()
        ended = start(run, text, "x").wait(patience_s)
        assert ended.code == 0, ended.err
    return folder / "x"


def hands_played(folder: Path) -> int:
    return sum(path.read_bytes().count(b"STATE:") for path in folder.rglob("match.log"))


def logs(folder: Path) -> dict[str, str]:
    """The logs and transactions (without their times) of an experiment, by path."""
    found = {}
    for path in sorted(folder.rglob("match.log")):
        found[str(path.relative_to(folder))] = path.read_text()
        actions = path.with_suffix(".tlog").read_text().splitlines()
        found[str(path.with_suffix(".tlog").relative_to(folder))] = "\n".join(
            [line.rsplit(" ", 2)[0] for line in actions]
        )
    return found


def results(folder: Path) -> dict[str, Any]:
    """What it says apart from times, the code's revision (a commit may come in between), and hands taken from logs."""
    found = json.loads((folder / "results.json").read_text())
    del found["seconds"], found["revisions"]
    for agent in found["agents"].values():
        del agent["hands_from_log"]
    return found


def table(folder: Path) -> str:
    """The table, without the same."""
    notes = r"\n(?:\S+: was killed before it saw the end of|played by more than one revision).*"
    return re.sub(notes, "", (folder / "table.txt").read_text()).rstrip()
