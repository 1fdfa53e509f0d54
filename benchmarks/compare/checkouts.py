"""A folder with Paratus and an environment of its own, in which speeds are measured by processes of its own.

The interpreter is the checkout's, the code is the checkout's whatever its environment was installed from, and compiled
modules are kept there as when a user runs it. Only the program of what is timed (`probe.py`) is ours.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.machine import Elsewhere
from machine.errors import ConfigError, ParatusError, quote

PROBE: Final = Path(__file__).with_name("probe.py")
_GIT_S: Final = 10.0


class MeasuredPart(NamedTuple):
    """One part of the comparison, a process of its own each time."""

    needs: str
    """The file without which a checkout cannot be measured."""
    usual_s: float
    """What a run takes on two quiet cores."""


PARTS: Final = {
    "solver": MeasuredPart("benchmarks/solver.py", 8.0),
    "lookup": MeasuredPart("benchmarks/lookup.py", 7.0),
    "matches": MeasuredPart("bot/cli.py", 10.0),
    "trainer": MeasuredPart("benchmarks/trainer.py", 7.5),
    "score": MeasuredPart("benchmarks/score.py", 11.0),
    "search": MeasuredPart("bot/cli.py", 12.0),
    "startup": MeasuredPart("benchmarks/startup.py", 11.0),
}


@dataclass(frozen=True)
class Timings:
    """What one process measured."""

    times_s: dict[str, float]
    work: dict[str, str]
    """Hashes of what was done, where that can be told."""
    busy_elsewhere: float | None
    """Cores that other programs kept busy meanwhile."""


class Checkout:
    """One side of the comparison."""

    def __init__(self, side: str, folder: Path) -> None:
        """`side` names it in messages: OLD or NEW."""
        self.side, self.folder = side, folder.resolve()
        self._python = self.folder / ".venv" / "bin" / "python"
        if not os.access(self._python, os.X_OK):
            raise ConfigError(f"{side} {folder}: no .venv/bin/python: expected a checkout with its own environment")

    def check_can_measure(self, part: str) -> None:
        """Refuse, before anything is measured, what it has not."""
        if not (self.folder / PARTS[part].needs).is_file():
            raise ConfigError(f"{self.side} {self.folder}: no {PARTS[part].needs}: expected it, to measure {part}")

    def revision(self) -> str:
        """The commit, and a hash of what differs from it: a name for the code, as long as no file is new."""
        if self._git("rev-parse", "--show-toplevel").decode().strip() != str(self.folder):
            return "unknown"
        commit = self._git("rev-parse", "--short", "HEAD").decode().strip()
        changes = self._git("diff", "HEAD")
        return f"{commit}-dirty-{blake2b(changes, digest_size=4).hexdigest()}" if changes else commit

    def measure(self, part: str, most_s: float) -> Timings:
        """Time a part; a process that takes longer than `most_s` is given up, and those that it started."""
        elsewhere = Elsewhere()
        process = subprocess.Popen(
            [self._python, "-P", PROBE, part],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=most_s)
        except subprocess.TimeoutExpired:
            raise ParatusError(f"{self._named(part)}: no answer in {most_s:.0f} s") from None
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode:
            said = err.rstrip("\n").rsplit("\n", 1)[-1]
            raise ParatusError(f"{self._named(part)}: ended with code {process.returncode}: {quote(said)}")
        return self._read(part, out, elsewhere.cores())

    def _read(self, part: str, out: str, busy_elsewhere: float | None) -> Timings:
        """The line that it ended with."""
        try:
            printed: dict[str, Any] = json.loads(out.rstrip("\n").rsplit("\n", 1)[-1])
            times_s = {str(name): float(seconds) for name, seconds in printed["times_s"].items()}
            work = {str(name): str(each) for name, each in printed["work"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ParatusError(f"{self._named(part)}: printed {quote(out)}: expected times") from None
        if not times_s or not all(0 < seconds < math.inf for seconds in times_s.values()):
            raise ParatusError(f"{self._named(part)}: measured {times_s}: expected seconds above 0")
        return Timings(times_s, work, busy_elsewhere)

    def _environment(self) -> dict[str, str]:
        """Ours, but with its own modules first, for processes that it starts too, and with what it compiles kept."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "PYTHONPATH": str(self.folder)}

    def _named(self, part: str) -> str:
        return f"{self.side} {self.folder}: {part}"

    def _git(self, *arguments: str) -> bytes:
        command = ["git", "-C", str(self.folder), *arguments]
        try:
            return subprocess.run(command, capture_output=True, timeout=_GIT_S, check=True).stdout
        except (OSError, subprocess.SubprocessError):
            return b""
