"""Fixtures that several test files share."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from records import RECORDS, Record, read_record

# The same examples every time, so that a failure is the change's and not the day's; `make proof` looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(params=sorted(RECORDS))
def record(request: pytest.FixtureRequest) -> Record:
    """Each record of the reference dealer in turn."""
    return read_record(request.param)
