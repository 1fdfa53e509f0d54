"""Many cases of one property: some of them in the suite, all of them in `make proof`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def some_of(cases: Iterable[object], every: int = 1000) -> list[object]:
    """Cases for `parametrize`: one in so many, from the first, runs in the suite; the others are proofs."""
    return [case if number % every == 0 else _proof(case) for number, case in enumerate(cases)]


def _proof(case: object) -> object:
    return pytest.param(*case if type(case) is tuple else (case,), marks=pytest.mark.proof)
