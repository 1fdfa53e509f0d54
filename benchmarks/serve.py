"""The server under load: agent `blueprint` on fifty connections, how many decisions a second, how late, its memory.

Two questions that one run cannot answer: how much it can (every dealer asks again at once: then fifty questions always
wait, and latency is only their number over the speed), and how late it is under a load that does not wait for it (so
many questions a second, whatever has been answered). The dealers (`benchmarks.load`) are another process beside it on
the same cores; what they take is printed. Where other programs want the cores too, how many the server had is the
figure to look at first.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.serve.config import ControlSection
from bot.serve.ctl import ask
from machine.errors import ParatusError

_CONNECTIONS = 50
_SECONDS = 10.0
_RATES = (500.0, 1000.0)
_MATCHES = 100
_PATIENCE_S = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")


def run() -> dict[str, object]:
    """Ten seconds of each load, then a hundred matches that wait."""
    found: dict[str, object] = {}
    for rate in (*_RATES, 0.0):
        load = f"at_{rate:.0f}_a_second" if rate else "flat_out"
        with _server() as (control, pid), _dealers(_CONNECTIONS, rate) as dealers:
            found |= {f"{load}_{name}": value for name, value in _measured(control, pid, dealers, load).items()}
    return {
        "connections": _CONNECTIONS,
        **found,
        "flat_out_target_decisions_a_second": 1000,
        "p99_target_ms": 20,
        "hundred_idle_matches_over_one_mb": round(_idle_bytes() / 1e6, 1),
        "hundred_idle_matches_over_one_target_mb": 300,
    }


def _measured(control: ControlSection, pid: int, dealers: subprocess.Popen[str], name: str) -> dict[str, object]:
    """What the dealers and the server say of a run."""
    _join(control, dealers, name)
    assert dealers.stdout is not None
    before_s, begun_s = _cpu_s(pid), time.monotonic()
    seen = json.loads(dealers.stdout.readline())
    cores = (_cpu_s(pid) - before_s) / (time.monotonic() - begun_s)
    counted = _metrics(control)
    return {
        "decisions_a_second": round(seen["decisions"] / seen["seconds"], 1),
        **{key: round(seen[key], 2) for key in ("p50_ms", "p99_ms", "longest_ms")},
        "server_cores": round(cores, 2),
        "server_cpu_ms_a_decision": round(1e3 * cores * seen["seconds"] / max(seen["decisions"], 1), 2),
        "generator_cores": round(seen["generator_cores"], 2),
        "connections_lost": seen["lost"],
        "fallbacks": int(counted["paratus_fallbacks_total"]),
        "loop_longest_hold_own_ms": round(1e3 * counted["paratus_loop_block_longest_own_seconds"], 1),
        "loop_longest_hold_with_waits_ms": round(1e3 * counted["paratus_loop_block_longest_seconds"], 1),
    }


def _idle_bytes() -> float:
    """Resident memory of the server with a hundred matches that have played and wait, over that with one."""
    with _server() as (control, _), _dealers(1, 0.0, 1.0) as one, _dealers(_MATCHES - 1, 0.0, 3.0) as others:
        sizes = []
        for number, dealers in enumerate((one, others)):
            _join(control, dealers, f"idle{number}")
            assert dealers.stdout is not None
            dealers.stdout.readline()
            sizes.append(_metrics(control)["paratus_resident_bytes"])
    return sizes[1] - sizes[0]


@contextlib.contextmanager
def _server() -> Iterator[tuple[ControlSection, int]]:
    """A running one, without matches, and its process."""
    with tempfile.TemporaryDirectory() as folder:
        control = ControlSection(socket=str(Path(folder) / "c.sock"))
        config = Path(folder) / "serve.toml"
        config.write_text(f"[serve]\nstore = {json.dumps(folder)}\n[control]\nsocket = {json.dumps(control.socket)}\n")
        command = [sys.executable, "-m", "bot.cli", "serve", "--config", str(config)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            deadline_s = time.monotonic() + _PATIENCE_S
            while not _answers(control):
                if process.poll() is not None or time.monotonic() > deadline_s:
                    raise ParatusError("the server did not begin")
                time.sleep(0.1)
            yield control, process.pid
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _dealers(connections: int, rate: float, seconds: float = _SECONDS) -> Iterator[subprocess.Popen[str]]:
    """So many, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.load", str(connections), str(seconds), str(rate)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _join(control: ControlSection, dealers: subprocess.Popen[str], name: str) -> None:
    assert dealers.stdout is not None
    for number, port in enumerate(json.loads(dealers.stdout.readline())):
        match = {"host": "127.0.0.1", "port": port, "name": f"{name}{number}", "agent": "blueprint", "seed": number}
        reply = ask(control, {"do": "join", "match": match})
        if not reply["ok"]:
            raise ParatusError(f"{name}{number}: {reply['error']}")


def _answers(control: ControlSection) -> bool:
    try:
        return bool(ask(control, {"do": "health"})["ok"])
    except ParatusError:
        return False


def _metrics(control: ControlSection) -> dict[str, float]:
    lines: list[Any] = [line.rpartition(" ") for line in ask(control, {"do": "metrics"})["text"].splitlines()]
    return {name: float(value) for name, _, value in lines if not name.startswith("#")}


def _cpu_s(pid: int) -> float:
    """Seconds of computing of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
