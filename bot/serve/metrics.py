"""What the server counts, and how it says so: Prometheus text.

Latencies are from reading a state to having the answer, as the match's clock counts them. The event loop is watched by
a task that only sleeps: how much later than it should it wakes up is how long something kept the loop busy. On a shared
machine part of that is other programs' work; what the kernel says this thread spent waiting for a core
(`/proc/thread-self/schedstat`) is taken off for a second number, the loop's own.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

BUCKETS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_MOST_ROUTES: Final = 32
_PERIOD_S: Final = 0.005
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class Histogram:
    """How many were how large."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    sum_s: float = 0.0

    def add(self, seconds: float) -> None:
        """One more."""
        self.sum_s += seconds
        self.counts[next((at for at, most in enumerate(BUCKETS_S) if seconds <= most), len(BUCKETS_S))] += 1

    def lines(self, name: str) -> Iterable[str]:
        """In Prometheus text."""
        below = 0
        for most, count in zip((*map(str, BUCKETS_S), "+Inf"), self.counts, strict=True):
            below += count
            yield f'{name}_bucket{{le="{most}"}} {below}'
        yield f"{name}_sum {self.sum_s:.6f}"
        yield f"{name}_count {below}"


@dataclass(slots=True)
class Metrics:
    """Counts since the start."""

    matches: Counter[str] = field(default_factory=Counter)
    """Begun, and ended by outcome."""
    hands: int = 0
    routes: Counter[str] = field(default_factory=Counter)
    fallbacks: int = 0
    latency: Histogram = field(default_factory=Histogram)
    longest_block_s: float = 0.0
    longest_own_block_s: float = 0.0

    def decided(self, route: str, seconds: float, *, fallback: bool) -> None:
        """One more decision."""
        known = route in self.routes or len(self.routes) < _MOST_ROUTES
        self.routes[route if known else "other"] += 1
        self.fallbacks += fallback
        self.latency.add(seconds)

    async def watch_loop(self) -> None:
        """Until cancelled."""
        delays = _open_delays()
        try:
            while True:
                waited_s, due_s = _waited(delays), time.monotonic() + _PERIOD_S
                await asyncio.sleep(_PERIOD_S)
                late_s = time.monotonic() - due_s
                self.longest_block_s = max(self.longest_block_s, late_s)
                own_s = late_s - (_waited(delays) - waited_s)
                self.longest_own_block_s = max(self.longest_own_block_s, own_s)
        finally:
            if delays is not None:
                os.close(delays)

    def text(self, gauges: dict[str, float]) -> str:
        """All of it; `gauges` by name, what others know."""
        lines = ["# TYPE paratus_matches_total counter"]
        lines += [f'paratus_matches_total{{event="{what}"}} {count}' for what, count in sorted(self.matches.items())]
        lines += ["# TYPE paratus_hands_total counter", f"paratus_hands_total {self.hands}"]
        lines += ["# TYPE paratus_decisions_total counter"]
        lines += [f'paratus_decisions_total{{route="{label(route)}"}} {n}' for route, n in sorted(self.routes.items())]
        lines += ["# TYPE paratus_fallbacks_total counter", f"paratus_fallbacks_total {self.fallbacks}"]
        lines += ["# TYPE paratus_decision_seconds histogram", *self.latency.lines("paratus_decision_seconds")]
        blocks = {
            "paratus_loop_block_longest_seconds": self.longest_block_s,
            "paratus_loop_block_longest_own_seconds": self.longest_own_block_s,
        }
        for name, value in {**blocks, **gauges}.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value:.6g}" if value % 1 else f"{name} {int(value)}"]
        return "\n".join(lines) + "\n"


def label(text: str) -> str:
    """A label's value, whatever a strategy calls its route."""
    plain = text.encode("ascii", "replace").decode()
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resident_bytes(pid: int | None = None) -> int:
    """What a process has in memory, shared pages included; 0 if that cannot be said."""
    try:
        with open(f"/proc/{pid or 'self'}/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _open_delays() -> int | None:
    try:
        return os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    except OSError:
        return None


def _waited(delays: int | None) -> float:
    """Seconds that this thread has been ready to run and had no core."""
    if delays is None:
        return 0.0
    return int(os.pread(delays, 100, 0).split()[1]) / 1e9
