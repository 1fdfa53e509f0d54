"""A clock that moves only when a test says so: deadlines are tested, and not how busy the machine is."""

from __future__ import annotations

from types import ModuleType

import pytest

from solver import engine, threads
from solver.engine import Engine
from strategies import strategy
from strategies.search import nested, stopping


class Clock:
    """Stands in for the module `time` in modules under test."""

    def __init__(self, now_s: float = 1000.0) -> None:
        self.now_s = now_s

    def monotonic(self) -> float:
        return self.now_s

    perf_counter = monotonic

    def install(self, monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
        for module in modules:
            monkeypatch.setattr(module, "time", self)


def timed_by_work(monkeypatch: pytest.MonkeyPatch, s_per_pair: float) -> Clock:
    """A clock for solves and searches, on which an iteration takes so long for each (hand, action) pair of its tree."""
    clock, iterate = Clock(), Engine._iterate
    clock.install(monkeypatch, engine, threads, strategy, nested, stopping)

    def work(self: Engine, count: int, used: int) -> None:
        iterate(self, count, used)
        clock.now_s += count * s_per_pair * sum(len(regrets) for regrets in self.regrets)

    monkeypatch.setattr(Engine, "_iterate", work)
    return clock
