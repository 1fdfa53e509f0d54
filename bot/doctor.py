"""`paratus doctor`: is this machine and installation fit to play? One line each; exit code 1 if something is not.

Paratus installs top-level packages with common names (`protocol`, `bot`, …): an application with an environment of its
own. So the doctor also looks whether another distribution owns one of these names.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Final

from bot.folders import data_home
from bot.warm import warm_up

PACKAGES: Final = ("protocol", "solver", "blueprints", "strategies", "bot", "dealer_tools")
DEPENDENCIES: Final = ("numpy", "numba", "pydantic", "rich", "uvloop")
_MIN_PYTHON: Final = (3, 11)
_MIN_MEMORY_GIB: Final = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check saw."""

    check: str
    ok: bool
    text: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Output only."""
    parser.description = (
        "Check Python, packages, cores, memory, kernels and folders; exit code 1 if something is wrong."
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run_command(options: argparse.Namespace) -> int:
    """Run all checks and print what they saw."""
    findings = []
    for finding in examine():
        findings.append(finding)
        if not options.json:
            print(f"{'ok ' if finding.ok else 'BAD'}  {finding.check:12} {finding.text}", flush=True)
    if options.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    return 0 if all(finding.ok for finding in findings) else 1


def examine() -> Iterator[Finding]:
    """All checks, in order."""
    yield Finding("python", sys.version_info >= _MIN_PYTHON, f"{platform.python_version()} at {sys.executable}")
    yield from _dependencies()
    yield from _owners()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("cores", cores >= 1, f"{cores} usable")
    yield _memory()
    yield _kernels()
    yield _writable("here", Path.cwd())
    yield _writable("data folder", data_home())
    yield _writable("temporary", Path(tempfile.gettempdir()))


def _dependencies() -> Iterator[Finding]:
    for name in DEPENDENCIES:
        try:
            yield Finding(name, True, metadata.version(name))
        except metadata.PackageNotFoundError:
            optional = name == "uvloop"
            what = "not installed: slower without it" if optional else "not installed: pip install paratus again"
            yield Finding(name, optional, what)


def _owners() -> Iterator[Finding]:
    owners = metadata.packages_distributions()
    for package in PACKAGES:
        others = sorted({name for name in owners.get(package, ()) if name.lower() != "paratus"})
        spec = util.find_spec(package)
        where = Path(spec.origin).resolve().parent if spec is not None and spec.origin else None
        ours = where is not None and (where.parent / "protocol").is_dir() and where.parent == _root()
        if others:
            yield Finding(package, False, f"also installed by {', '.join(others)}: use an environment of its own")
        elif not ours:
            yield Finding(package, False, f"imported from {where}, not from {_root()}: another package shadows it")
        else:
            yield Finding(package, True, f"from {where}")


def _root() -> Path:
    return Path(__file__).resolve().parent.parent


def _memory() -> Finding:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        free_gib = int(text.split("MemAvailable:")[1].split()[0]) / 2**20  # it counts caches as free, as they are
    except (OSError, ValueError, IndexError):
        return Finding("memory", True, "unknown on this system")
    enough = free_gib >= _MIN_MEMORY_GIB
    return Finding("memory", enough, f"{free_gib:.1f} GiB free" + ("" if enough else f": expected {_MIN_MEMORY_GIB}"))


def _kernels() -> Finding:
    if util.find_spec("numba") is None:
        return Finding("kernels", False, "numba is not installed")
    try:
        return Finding("kernels", True, f"warm after {warm_up():.1f} s")
    except Exception as error:  # numba that does not fit numpy, a cache that cannot be written, …
        return Finding("kernels", False, f"{type(error).__name__}: {' '.join(str(error).split())}")


def _writable(name: str, folder: Path) -> Finding:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    ok = os.access(existing, os.W_OK | os.X_OK)
    return Finding(name, ok, f"{folder} {'can' if ok else 'cannot'} be written")
