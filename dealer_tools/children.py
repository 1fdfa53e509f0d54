"""Child processes that do not outlive their match.

Children get a session of their own, so that Ctrl-C reaches only the runner, which then ends them and their own children
by process group. If the runner itself is killed the kernel ends them (on Linux); and since dealer and agents of ours
inherit the folder's lock, nobody can resume the match while one of them is still alive.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from dealer_tools.results import MatchError
from machine.errors import ConfigError

_PR_SET_PDEATHSIG: Final = 1
_GRACE_S: Final = 3.0
_POLL_S: Final = 0.05
LOCK: Final = ".lock"
_MAIN: Final = threading.main_thread()


def lock_folder(folder: Path, patience_s: float = 0.0) -> int:
    """Take the folder's lock; returns the descriptor that holds it, to be passed on to children.

    The children of a runner that was killed need a moment to follow it: so much is waited for them.
    """
    descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() < deadline:
                time.sleep(_POLL_S)
                continue
            os.close(descriptor)
            raise ConfigError(
                f"{folder}: a match is being played there: wait for it, or choose another --out"
            ) from None
        os.set_inheritable(descriptor, True)
        return descriptor


class Children:
    """The processes of one leg; leaving the context ends those that still run."""

    def __init__(self, lock: int) -> None:
        self._lock = lock
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._strangers: set[str] = set()
        self._interrupted = self._starting = False
        self._handler: Any = None

    def __enter__(self) -> Children:
        """Ctrl-C waits while a process is started: what is raised in a fork is lost in it."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler and threading.current_thread() is _MAIN:
            self._handler = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)

    def _interrupt(self, number: int, frame: object) -> None:
        self._interrupted = True
        if not self._starting:
            raise KeyboardInterrupt

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdout: int | Path,
        stderr: Path,
        folder: Path | None = None,
        trusted: bool = True,
    ) -> subprocess.Popen[bytes]:
        """Start a process, here or in a folder; its output goes to the files given (appended) or to a pipe.

        A stranger (not trusted) does not hold the lock, and may have started processes of its own.
        """
        with contextlib.ExitStack() as opened:
            err = opened.enter_context(stderr.open("ab"))
            out = stdout if isinstance(stdout, int) else opened.enter_context(stdout.open("ab"))
            self._starting = True
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=folder,
                    env=None if folder is None else {**os.environ, "PYTHONPATH": _modules()},
                    start_new_session=True,
                    pass_fds=(self._lock,) if trusted else (),
                    preexec_fn=_die_with_parent(),
                )
            except OSError as error:
                raise ConfigError(f"{name}: cannot start {command[0]}: {error.strerror}") from None
            finally:
                self._starting = False
        self._running[name] = process
        if not trusted:
            self._strangers.add(name)
        if self._interrupted:
            raise KeyboardInterrupt
        return process

    def exit_codes(self) -> dict[str, int | None]:
        """By name; None for those that still run."""
        return {name: process.poll() for name, process in self._running.items()}

    def end(self) -> None:
        """Ask those that still run to stop, then insist."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for name, process in self._running.items():
                if process.poll() is None or name in self._strangers:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, number)
            deadline = time.monotonic() + _GRACE_S
            for process in self._running.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, deadline - time.monotonic()))


def _modules() -> str:
    """Where we import from, so that a child of ours that works elsewhere imports the same."""
    return os.pathsep.join(str(Path(place).absolute()) for place in sys.path)


def _die_with_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    libc, parent = ctypes.CDLL(None), os.getpid()

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def read_line(process: subprocess.Popen[bytes], timeout_s: float) -> str:
    """The first line that a process prints on its stdout pipe."""
    assert process.stdout is not None
    deadline, data = time.monotonic() + timeout_s, b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while b"\n" not in data:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise MatchError(f"the dealer printed no ports within {timeout_s:.0f} s")
            piece = os.read(process.stdout.fileno(), 4096)
            if not piece or len(data) > 4096:
                raise MatchError("the dealer ended before it printed its ports")
            data += piece
    return data.split(b"\n", 1)[0].decode("ascii", "replace")
