"""Plays the matches of an experiment, several at once, each in processes of its own.

What is written is enough to go on from: a match that has its result is over, any other is continued by `play_match`,
which never plays a hand twice. So nothing is kept here. A match that fails does not stop the others; the experiment
then ends without results, and the same command tries that match again.

Matches are no lots of `machine.lots`, though they are independent work too. A lot is a function in a process that
serves many; a match is a tree of processes (dealer, agents, perhaps a stranger's) on cores of its own, and the next
begins when cores and memory for all of it are free. A lot is done or not, and the first that fails ends the run; a
match goes on in the middle, is looked at while it is played, and is ended by process group with time to say goodbye.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dealer_tools.children import Children
from dealer_tools.experiment.board import Board
from dealer_tools.experiment.plan import ExperimentPlan, Task
from dealer_tools.experiment.progress import MatchProgress
from dealer_tools.experiment.worker import ALLOW_CODE, MATCHES
from dealer_tools.results import MatchError
from dealer_tools.tail import last_line
from machine.cores import core_numbers

_POLL_S: Final = 0.1


def play_all(plan: ExperimentPlan, tasks: Sequence[Task], folder: Path, lock: int, *, allow_code: bool = False) -> None:
    """Until every match has its result."""
    matches = {task.name: MatchProgress(task, folder / MATCHES / task.name) for task in tasks}
    waiting = deque(task for task in tasks if not (folder / MATCHES / task.name / "result.json").exists())
    (folder / MATCHES).mkdir(exist_ok=True)
    failed: dict[str, str] = {}
    for match in matches.values():
        match.look()
    with Children(lock) as children, Board([*matches.values()]) as board:
        running: dict[str, _Running] = {}
        while waiting or running:
            while waiting and (cores := _cores_for(plan, waiting[0], running)):
                task = waiting.popleft()
                running[task.name] = _Running(task, cores, _start(children, folder, task, cores, allow_code=allow_code))
            board.show(running)
            time.sleep(_POLL_S)
            for name, each in [*running.items()]:
                code = each.process.poll()
                matches[name].look(last=code is not None)
                if code is not None:
                    del running[name]
                    if code != 0:
                        failed[name] = last_line(_said(folder, name))
        board.show(running)
    if failed:
        name, why = next(iter(failed.items()))
        more = f" (and {len(failed) - 1} more matches failed)" if len(failed) > 1 else ""
        raise MatchError(f"match {name}: {why}{more}; the same command goes on")


class _Running:
    """A match under way."""

    __slots__ = ("cores", "process", "task")

    def __init__(self, task: Task, cores: Sequence[int], process: subprocess.Popen[bytes]) -> None:
        self.task, self.cores, self.process = task, cores, process


def _cores_for(plan: ExperimentPlan, task: Task, running: dict[str, _Running]) -> list[int]:
    """The cores that a match gets, or none while the budget does not allow it."""
    memory = sum(each.task.memory_mib for each in running.values())
    if memory + task.memory_mib > plan.memory_budget_mib:
        return []
    taken = {core for each in running.values() for core in each.cores}
    free = [core for core in core_numbers()[: plan.core_budget] if core not in taken]
    return free[: task.cores] if len(free) >= task.cores else []


def _start(
    children: Children, folder: Path, task: Task, cores: Sequence[int], *, allow_code: bool
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dealer_tools.experiment.worker", str(folder), task.name]
    said = _said(folder, task.name)
    allowed = [ALLOW_CODE] if allow_code else []
    return children.start(task.name, [*command, ",".join(map(str, cores)), *allowed], stdout=said, stderr=said)


def _said(folder: Path, name: str) -> Path:
    """What the runner of a match says."""
    return folder / MATCHES / f"{name}.out"
