"""Start Paratus and the fakes as real processes, wait for them within bounds, and leave none behind.

Nothing here sleeps for a fixed time: every wait polls for what it waits for, and PATIENCE_S only bounds how long a
broken test takes to fail.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from strategies.store import StoredDecision, StoreReader

PATIENCE_S = 30.0
_POLL_S = 0.004
_PEAK = re.compile(r"VmHWM:\s*([0-9]+) kB")
_FAKES = Path(__file__).parent / "fakes"


@dataclass(frozen=True)
class Ended:
    """What a process left behind."""

    code: int
    out: str
    err: str
    seconds: float
    peak_mib: float

    @property
    def last_line(self) -> str:
        """What it said last on stderr."""
        return self.err.rstrip("\n").rsplit("\n", 1)[-1]


class Process:
    """One process with its output in files, so that a full pipe never blocks it."""

    def __init__(self, name: str, command: list[str], folder: Path, **options: object) -> None:
        self.name = name
        self._out, self._err = folder / f"{name}.stdout", folder / f"{name}.stderr"
        self._began = time.monotonic()
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background: it would be inherited
            signal.signal(signal.SIGINT, signal.default_int_handler)
        environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "NO_COLOR": "1"}
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._popen = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, **{"cwd": folder, **options}
            )
        self._ended: Ended | None = None
        self._peak_mib = 0.0

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        """False once it has ended; its outcome is then kept for `wait`."""
        if self._ended is not None:
            return False
        if self._popen.poll() is None:
            self._look_at_memory()
            return True
        self._ended = Ended(
            self._popen.returncode,
            self._out.read_text(errors="replace"),
            self._err.read_text(errors="replace"),
            time.monotonic() - self._began,
            self._peak_mib,
        )
        return False

    def _look_at_memory(self) -> None:
        """The most it has used so far (`ru_maxrss` would count what we used when we started it)."""
        with suppress(OSError):
            found = _PEAK.search(Path(f"/proc/{self.pid}/status").read_text())
            self._peak_mib = int(found.group(1)) / 1024 if found else self._peak_mib

    def first_line(self) -> str:
        """The first line of its stdout, once it is there."""
        wait_until(lambda: not self.running or b"\n" in self._out.read_bytes(), f"{self.name} prints a line")
        text = self._out.read_text()
        assert "\n" in text, f"{self.name} ended without a line: {self._err.read_text()}"
        return text.split("\n", 1)[0]

    def printed(self) -> str:
        """Its stdout so far."""
        return self._out.read_text()

    def said(self) -> str:
        """Its stderr so far."""
        return self._err.read_text()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self.running:
            os.kill(self.pid, number)

    def wait(self, timeout_s: float = PATIENCE_S) -> Ended:
        """Wait for its end. A traceback is never a good end."""
        wait_until(lambda: not self.running, f"{self.name} ends; it said: {self._err.read_text()[-500:]!r}", timeout_s)
        assert self._ended is not None
        assert "Traceback" not in self._ended.err, self._ended.err
        return self._ended

    def end(self) -> None:
        """Kill it if it still runs."""
        if self.running:
            os.kill(self.pid, signal.SIGKILL)
            wait_until(lambda: not self.running, f"{self.name} is killed")


class Processes:
    """The processes of one test, which all end with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._all: list[Process] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for process in self._all:
            process.end()

    def start(self, name: str, *command: object, **options: object) -> Process:
        """Start any program, in the test's folder."""
        unique = f"{name}-{len(self._all)}"
        self._all.append(Process(unique, [str(word) for word in command], self.folder, **options))
        return self._all[-1]

    def paratus(self, *arguments: object, **options: object) -> Process:
        """`paratus …`"""
        return self.start(str(arguments[0]), sys.executable, "-m", "bot.cli", *arguments, **options)

    def fake(self, name: str, *arguments: object) -> Process:
        """A program of the fakes folder."""
        return self.start(f"fake-{name}", sys.executable, "-I", _FAKES / f"{name}.py", *arguments)


def stranger(folder: Path, *arguments: str, name: str = "stranger") -> Path:
    """An executable that takes `<ip> <port>` and is the fake bot called with `arguments`."""
    path = folder / name
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{_FAKES / "bot.py"}" {" ".join(arguments)} "$@"\n')
    path.chmod(0o755)
    return path


def wait_until(condition: Callable[[], object], what: str, timeout_s: float = PATIENCE_S) -> None:
    """Poll for a condition; fail if it does not come true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s:.0f} s in vain: {what}"
        time.sleep(_POLL_S)


def free_port() -> int:
    """A port on which nobody listens."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def stored_hands(path: Path) -> dict[int, tuple[str, float]]:
    """Betting and value by hand of the one match in a store; the file must be sound."""
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    reader = StoreReader(path)
    try:
        matches = reader.matches()
        assert len(matches) == 1, matches
        return {hand.hand: (hand.betting, hand.value) for hand in reader.hands(matches[0])}
    finally:
        reader.close()


def stored_decisions(path: Path) -> list[StoredDecision]:
    """The decisions of the one match in a store."""
    reader = StoreReader(path)
    try:
        return list(reader.decisions(reader.matches()[0]))
    finally:
        reader.close()


def toml(sections: Mapping[str, Mapping[str, object]]) -> str:
    """Settings as a configuration file."""
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {value!r}" for key, value in values.items()]
    return "\n".join(lines) + "\n"
