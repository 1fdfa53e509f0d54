"""Fixtures that several test files share."""

from __future__ import annotations

import pytest
from records import RECORDS, Record, read_record


@pytest.fixture(params=sorted(RECORDS))
def record(request: pytest.FixtureRequest) -> Record:
    """Each record of the reference dealer in turn."""
    return read_record(request.param)
