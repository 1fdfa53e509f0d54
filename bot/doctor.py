"""`paratus doctor`: is this machine and installation fit to play? One line each; exit code 1 if something is not.

Paratus installs top-level packages with common names (`protocol`, `bot`, …): an application with an environment of its
own. So the doctor also looks whether another distribution owns one of these names.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Final

from blueprints.shipped import tables_folder
from bot.warm import PARTS, TABLES_MB
from machine.cores import available_cores
from machine.errors import ConfigError
from machine.folders import data_home

PACKAGES: Final = ("machine", "protocol", "solver", "blueprints", "strategies", "bot", "dealer_tools")
DEPENDENCIES: Final = ("numpy", "numba", "pydantic", "rich", "uvloop")
_MIN_PYTHON: Final = (3, 11)
_MIN_MEMORY_GIB: Final = 3.0
_MIN_FREE_MB: Final = 50.0
_CGROUP: Final = Path("/sys/fs/cgroup/cpu.max")
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9._-]+)\s*>=\s*([0-9.]+)")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check saw."""

    check: str
    ok: bool
    text: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Output only."""
    parser.description = (
        "Check Python, packages, cores, memory, what `paratus warm` prepares, and folders; "
        "exit code 1 if something is wrong."
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run_command(options: argparse.Namespace) -> int:
    """Run all checks and print what they saw."""
    findings = []
    for finding in examine():
        findings.append(finding)
        if not options.json:
            print(f"{'ok ' if finding.ok else 'BAD'}  {finding.check:14} {finding.text}", flush=True)
    if options.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    return 0 if all(finding.ok for finding in findings) else 1


def examine() -> Iterator[Finding]:
    """All checks, in order."""
    yield Finding("python", sys.version_info >= _MIN_PYTHON, f"{platform.python_version()} at {sys.executable}")
    yield from _dependencies()
    yield from _owners()
    yield _cores()
    yield _memory()
    yield from _warm_parts()
    yield _writable("here", Path.cwd())
    yield _writable("data folder", data_home())
    yield _writable("cache folder", tables_folder())
    yield _writable("temporary", Path(tempfile.gettempdir()))


def _dependencies() -> Iterator[Finding]:
    least = _least_versions()
    for name in DEPENDENCIES:
        try:
            version, wanted = metadata.version(name), least.get(name, "0")
            if _numbers(version) < _numbers(wanted):
                yield Finding(name, False, f"{version}: expected {wanted} or later: pip install paratus again")
            else:
                yield Finding(name, True, version)
        except metadata.PackageNotFoundError:
            optional = name == "uvloop"
            what = "not installed: slower without it" if optional else "not installed: pip install paratus again"
            yield Finding(name, optional, what)


def _least_versions() -> dict[str, str]:
    """What our own distribution asks for; its optional parts aside."""
    try:
        lines = metadata.requires("paratus") or []
    except metadata.PackageNotFoundError:
        return {}
    found = [_REQUIREMENT.match(line) for line in lines if "extra ==" not in line]
    return {match.group(1).lower(): match.group(2) for match in found if match is not None}


def _numbers(version: str) -> tuple[int, ...]:
    """As far as it consists of numbers: `2.0.1rc1` is 2.0.1."""
    found = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    return tuple(map(int, found.group().split("."))) if found else ()


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


def _cores() -> Finding:
    """Those that this process may run on, or less where a container may use less of them."""
    cores: float = available_cores()
    try:
        quota, period = _CGROUP.read_text(encoding="ascii").split()
        cores = min(cores, int(quota) / int(period))
    except (OSError, ValueError):  # no such file, or "max"
        pass
    return Finding("cores", cores >= 1, f"{cores:g} usable" + ("" if cores >= 1 else ": expected at least 1"))


def _memory() -> Finding:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        free_gib = int(text.split("MemAvailable:")[1].split()[0]) / 2**20  # it counts caches as free, as they are
    except (OSError, ValueError, IndexError):
        return Finding("memory", True, "unknown on this system")
    enough = free_gib >= _MIN_MEMORY_GIB
    return Finding("memory", enough, f"{free_gib:.1f} GiB free" + ("" if enough else f": expected {_MIN_MEMORY_GIB}"))


def _warm_parts() -> Iterator[Finding]:
    """What the default agent needs."""
    try:
        from strategies.registry import DEFAULT_AGENT, find_agent

        parts = find_agent(DEFAULT_AGENT).warm_parts
    except ImportError as error:  # a package that is missing
        yield Finding("agents", False, str(error))
        return
    for name in parts:
        yield _looked(f"warm {name}", PARTS[name].state)


def _looked(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, look())
    except ConfigError as error:
        return Finding(name, False, str(error))
    except Exception as error:  # numba that does not fit numpy, a cache that cannot be written, …
        return Finding(name, False, f"{type(error).__name__}: {' '.join(str(error).split())}")


def _writable(name: str, folder: Path) -> Finding:
    """A file is really written, there or in the folder in which it would be made."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        with tempfile.NamedTemporaryFile(dir=existing, prefix=".paratus-doctor-") as file:
            file.write(b"written")
            file.flush()
        free_mb = shutil.disk_usage(existing).free / 1e6
    except OSError as error:
        return Finding(name, False, f"{folder} cannot be written: {error.strerror}")
    least_mb = TABLES_MB if name == "cache folder" and not folder.exists() else _MIN_FREE_MB
    if free_mb < least_mb:
        return Finding(name, False, f"{folder} has {free_mb:.0f} MB free: expected {least_mb:.0f}")
    return Finding(name, True, f"{folder} can be written, {free_mb / 1e3:,.1f} GB free")
