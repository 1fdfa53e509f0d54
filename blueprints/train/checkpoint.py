"""What a training run keeps between periods, and how it is read again.

A checkpoint is one file: the sampler's arrays and, as JSON, what the run is and all that its log says. It is written
beside and renamed, so at any moment the file is that of a whole period; the log beside it follows from it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from blueprints.settings import BlueprintSettings, Sampling
from machine.errors import quote
from machine.files import whole_file
from protocol.errors import BlueprintError

CHECKPOINT: Final = "checkpoint.npz"
LOG: Final = "log.jsonl"
UNKNOWN: Final = "unknown"
"""The code of a run that did not write it down."""
_OF_EXTERNAL: Final = ("skipping", "skip_from", "skip_below")
"""Settings that only external sampling looks at."""

_SAID: Final = {"settings": "settings", "tree": "bets", "cards": "buckets"}

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Period:
    """What a period did, and all before it."""

    number: int
    walks: int
    """In all."""
    updates: int
    """(bucket, action) pairs updated, in all."""
    seconds: float
    """In all."""
    core_seconds: float
    regret_mbb: float
    """Average positive regret, thousandths of a big blind a hand."""


@dataclass(frozen=True, slots=True)
class StartFile:
    """The blueprint that a run has its warm start from, and what its training had cost."""

    digest: str
    periods: int
    walks: int
    updates: int
    core_seconds: float
    seeds: tuple[int, ...] = ()
    """Of the boards that it has learnt from."""

    @property
    def last(self) -> Period:
        """Where the run goes on from; its own clock begins anew."""
        return Period(self.periods, self.walks, self.updates, 0.0, self.core_seconds, float("inf"))


@dataclass(frozen=True, slots=True)
class Identity:
    """What decides which numbers a run comes to."""

    settings: dict[str, Any]
    tree: str
    cards: str

    @classmethod
    def of(cls, settings: BlueprintSettings, tree: str, cards: str) -> Identity:
        """Hashes of tree and cards; of the settings all that decides what a period does: a run may be made longer."""
        without = {"periods"} | (set() if settings.trainer.sampling is Sampling.EXTERNAL else set(_OF_EXTERNAL))
        return cls(settings.model_dump(mode="json", exclude={"trainer": without}), tree, cards)

    def check_same(self, path: Path, mine: Identity) -> None:
        """Raise `BlueprintError` with the first thing that differs."""
        for key in ("settings", "tree", "cards"):
            found, expected = getattr(self, key), getattr(mine, key)
            if found != expected:
                raise BlueprintError(
                    f"{path}: of other {_SAID[key]} than were asked for: {_difference(key, found, expected)}"
                )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All of one but the arrays."""

    identity: Identity
    start_file: StartFile | None
    revisions: tuple[str, ...]
    """Of the code that trained, in order: it may be another after an interruption."""
    log: tuple[Period, ...]
    """Every period so far; runs that earlier code began may lack some."""

    @property
    def last(self) -> Period:
        """The period after which it was written."""
        return self.log[-1]


def write_checkpoint(folder: Path, checkpoint: Checkpoint, arrays: Arrays) -> None:
    """Whole or not at all."""
    document = {
        **asdict(checkpoint.identity),
        "begun": None if checkpoint.start_file is None else asdict(checkpoint.start_file),
        "revisions": checkpoint.revisions,
        "log": [asdict(period) for period in checkpoint.log],
        "last": asdict(checkpoint.last),
    }
    with whole_file(folder / CHECKPOINT) as file:
        named: dict[str, Any] = {"identity": np.array(json.dumps(document)), **arrays}
        np.savez(file, **named)


def read_checkpoint(
    folder: Path, take: Callable[[Checkpoint, Arrays], None] = lambda checkpoint, arrays: None
) -> Checkpoint:
    """What the folder's checkpoint says; `take` gets its arrays too. Raises `BlueprintError` if it cannot be read."""
    path = folder / CHECKPOINT
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            checkpoint = _parsed(json.loads(str(arrays["identity"])), folder)
            take(checkpoint, arrays)
            return checkpoint
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise BlueprintError(f"{path}: not a checkpoint: {quote(str(error))}") from None


def _parsed(document: dict[str, Any], folder: Path) -> Checkpoint:
    last = Period(**document["last"])
    log = document.get("log")
    if log is None:  # written by code that kept it in the other file alone
        log = [period for period in read_log(folder / LOG) if period.number < last.number]
    else:
        log = [Period(**each) for each in log[:-1]]
    # The settings may be older than some of the keys, which then have their defaults.
    settings = BlueprintSettings.model_validate(document["settings"])
    identity = Identity.of(settings, document["tree"], document["cards"])
    revisions = tuple(document.get("revisions", (UNKNOWN,)))
    start = document.get("begun")
    if start is not None:
        start = StartFile(**{**start, "seeds": tuple(start.get("seeds", ()))})
    return Checkpoint(identity, start, revisions, (*log, last))


def read_log(path: Path) -> list[Period]:
    """The periods of a log; none if there is no such file. Raises `BlueprintError`, which names the line."""
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    periods = []
    for number, line in enumerate(lines, 1):
        try:
            periods.append(Period(**json.loads(line)))
        except (ValueError, TypeError):
            raise BlueprintError(f"{path}:{number}: {quote(line)}: expected a period, or no such file") from None
    return periods


def log_text(log: Sequence[Period]) -> str:
    """A line of JSON for each period."""
    return "".join([json.dumps(asdict(period)) + "\n" for period in log])


def _difference(key: str, theirs: Any, mine: Any) -> str:
    """The first thing that differs, for a message."""
    while isinstance(theirs, dict) and isinstance(mine, dict):
        names = sorted({*theirs, *mine})
        name = next(name for name in names if theirs.get(name) != mine.get(name))
        key, theirs, mine = name, theirs.get(name), mine.get(name)
    return f"{key} = {theirs!r} there, {mine!r} here"
