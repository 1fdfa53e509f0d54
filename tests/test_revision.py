"""What code says that it is, against git itself."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from machine import revision


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a commit, which the code takes for its own."""
    folder = (tmp_path / "tree").resolve()
    (folder / "inner").mkdir(parents=True)
    git(folder, "init")
    (folder / "code.py").write_text("1")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "one")
    monkeypatch.setattr(revision, "ROOT", folder)
    return folder


def test_a_commit_and_whether_the_tree_differs(tree: Path) -> None:
    commit = git(tree, "rev-parse", "HEAD")
    assert len(commit) == 40
    assert revision.git_revision(full=True) == commit
    short = revision.git_revision()
    assert short is not None
    assert commit.startswith(short)
    assert 7 <= len(short) < 40
    (tree / "notes").write_text("nobody asked git to keep this")
    assert revision.git_revision() == short
    (tree / "code.py").write_text("2")
    assert revision.git_revision() == f"{short}-dirty"
    assert revision.code_revision.__wrapped__() == f"paratus {version('paratus')}, {short}-dirty"


def test_no_tree_of_its_own(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without git, or inside the repository of something else, has a version alone."""
    for root in (tmp_path, tree / "inner"):
        monkeypatch.setattr(revision, "ROOT", root)
        assert revision.git_revision() is None
        assert revision.code_revision.__wrapped__() == f"paratus {version('paratus')}"
    monkeypatch.setattr(revision, "ROOT", tree)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision.git_revision() is None


def test_what_was_asked_first_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run says at its end what it began with."""
    before = revision.code_revision()
    monkeypatch.setattr(revision, "git_revision", lambda: "later")
    assert revision.code_revision() == before
