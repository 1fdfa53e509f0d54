"""Which code this is: written beside everything that is measured, trained or played with it."""

from __future__ import annotations

import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
"""The source tree, or the folder of an installation."""
_GIT_S: Final = 10.0


def git_revision(*, full: bool = False) -> str | None:
    """The commit of the source tree we run from, with `-dirty` if the tree differs; None if there is no such tree.

    An installation may lie inside some other repository (`.venv/lib/…`): that one's commit says nothing about it.
    """
    try:
        if Path(_git("rev-parse", "--show-toplevel")) != ROOT:
            return None
        commit = _git("rev-parse", *([] if full else ["--short"]), "HEAD")
        return commit + ("-dirty" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


@cache
def code_revision() -> str:
    """Of the code when it was first asked for: `paratus 0.1.0, 70d7d68`, or the version alone without a commit.

    A long run asks at its start: what is checked out later is not what it runs.
    """
    try:
        release = f"paratus {version('paratus')}"
    except PackageNotFoundError:
        release = "paratus"
    commit = git_revision()
    return release if commit is None else f"{release}, {commit}"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=_GIT_S, check=True).stdout.strip()
