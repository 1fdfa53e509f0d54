"""Fixtures that several test files share, and how the tests are dealt out to the workers that run them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import compiling
import pytest
from hypothesis import settings
from processes import Ended
from records import RECORDS, Record, read_record
from xdist.scheduler import LoadFileScheduling

from bot import cli

# The same examples every time, so that a failure is the change's and not the day's; `make proof` looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Nothing here multiplies large matrices: threads for that cost every process of the suite a tenth of a second.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

compiling.share(Path(__file__).parent / "__pycache__" / "compiling")


@pytest.fixture(params=sorted(RECORDS))
def record(request: pytest.FixtureRequest) -> Record:
    """Each record of the reference dealer in turn."""
    return read_record(request.param)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """`paratus …` in this process, in the test's folder: for what is refused before anything begins."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        try:
            code = cli.main([str(word) for word in arguments])
        except SystemExit as error:  # of argparse
            code = int(error.code or 0)
        out, err = capsys.readouterr()
        return Ended(code, out, err, seconds=0.0, peak_mib=0.0)

    return call


@pytest.fixture
def blueprint_command(here: Callable[..., Ended]) -> Callable[..., tuple[int, str, str]]:
    """`paratus blueprint …` likewise: its exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        ended = here("blueprint", *arguments)
        return ended.code, ended.out, ended.err

    return call


# --- Workers ----------------------------------------------------------------------------------------------------------

TOGETHER = {"test_cards_features.py": "cards", "test_cards_tables.py": "cards"}
"""Files that share what takes long to make, which each process makes for itself."""
LONGEST_FIRST = ("test_nested.py", "test_cards_tables.py")
"""No worker should be left with one of these when all else is done."""


class ByFile(LoadFileScheduling):
    """All of a file to the same worker, and files that belong together."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return TOGETHER.get(file.rpartition("/")[2], file)


@pytest.hookimpl(optionalhook=True)  # so that tests also run with `-p no:xdist`
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFile:
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(ranks)))


MANY = 2000
"""Tests, of which some will need the solver."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Before the first test, where no limit of time runs yet, two workers compile the solver, each for one storage.

    Nothing else takes as long to compile. Whoever runs few tests waits for it only in one that needs it.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and len(session.items) > MANY:
        from solver.warm import BITS, warm_up

        warm_up(BITS[int(worker.removeprefix("gw")) % len(BITS)])
