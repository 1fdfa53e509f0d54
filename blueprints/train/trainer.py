"""A training run: periods of walks, a checkpoint after each, and going on where it was.

A run is a folder:

    settings.json     the configuration, whole, and the revisions of the code that trained it
    checkpoint.npz    all numbers after some period, and the log; written beside and renamed, so that it is always whole
    log.jsonl         a line for each period

A kill at any moment loses the period that was under way. What a period does follows from the settings and its number
alone, so that a run that was interrupted comes to the same numbers as one that was not. Code of another revision may go
on with a run: both are on record.

A run may have a *warm start* from a file, whose periods it takes for its own: it goes on with the number and the weight
of the next. A file has strategies in 8 bits and no regrets, so the first `FOLLOWED_PERIODS` play them as they are,
which tells how often each bucket is reached and what its actions are worth there; what was learnt is then scaled to
what so many periods from nothing would have left (`Sampler.warm_start`).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, Self

import numpy as np
import numpy.typing as npt

from blueprints.cards.interface import Cards
from blueprints.settings import BlueprintSettings
from blueprints.storage import Blueprint
from blueprints.train.checkpoint import (
    CHECKPOINT,
    LOG,
    Checkpoint,
    Identity,
    Period,
    StartFile,
    log_text,
    read_checkpoint,
    write_checkpoint,
)
from blueprints.tree import BettingTree
from machine.files import alone_in, remove_leftovers, whole_file
from machine.revision import code_revision
from protocol.arrays import F32
from protocol.errors import BlueprintError

_SETTINGS: Final = "settings.json"

Tables = Sequence[npt.NDArray[Any]]
"""A strategy: by street [edge of the street, bucket], in any unit."""
FOLLOWED_PERIODS: Final = 10
"""For so many periods a run with a warm start plays the strategy that it starts from."""


@dataclass(frozen=True, slots=True, eq=False)
class WarmStart:
    """The strategy that a run starts from, for the same tree and cards, and the file that it was read from."""

    tables: Tables
    file: StartFile

    @classmethod
    def of(cls, blueprint: Blueprint) -> WarmStart:
        """Of a file."""
        facts = blueprint.header.training.model_dump(include={"periods", "walks", "updates", "core_seconds"})
        seeds = sorted({seed for run in blueprint.runs for seed in run.seeds})
        return cls(blueprint.strategies(), StartFile(blueprint.digest, **facts, seeds=tuple(seeds)))


class Sampler(Protocol):
    """A form of sampling, with what it has learnt."""

    at_once: ClassVar[int]
    """Walks that take some hundredths of a second."""

    @classmethod
    def of(cls, settings: BlueprintSettings, tree: BettingTree, cards: Cards, threads: int) -> Self:
        """With nothing learnt."""

    def period(self, number: int, weight: float, walks: int, follow: Tables | None = None) -> int:
        """So many walks that count `weight` times each, by a strategy that is given or by what was learnt.

        Returns the (bucket, action) pairs that were updated.
        """

    def regret(self) -> float:
        """The average positive regret in chips a hand, the mean of both players."""

    def warm_start(self, followed: Tables, scale: float, noise: float) -> None:
        """After periods that followed a strategy: as if that had been learnt here, by `scale` times as much weight.

        `noise` is the ratio of the standard deviations of sums with these weights.
        """

    def averages(self) -> tuple[F32, ...]:
        """By street of the game [edge of the street, bucket], in the order of the tree."""

    def working_bytes(self) -> int:
        """Memory for walks, beside the state and the buckets of hold'em."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What a checkpoint must hold."""

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The inverse of `state`."""


NOTHING_YET: Final = Period(0, 0, 0, 0.0, 0.0, float("inf"))


def make_sampler(settings: BlueprintSettings, tree: BettingTree, cards: Cards, threads: int) -> Sampler:
    """The form of sampling that the settings ask for, with nothing learnt."""
    module, _, name = settings.trainer.sampling.place.partition(":")
    form: type[Sampler] = getattr(import_module(module), name)
    try:
        return form.of(settings, tree, cards, threads)
    except MemoryError:
        pairs = int((np.diff(tree.first).astype(np.int64) * np.array(cards.counts)[tree.street]).sum())
        raise BlueprintError(
            f"{settings.name}: regrets and averages of {pairs:,} (information set, action) pairs take "
            f"{8 * pairs / 1e9:.1f} GB at least: expected a machine that has them, or fewer buckets or bets"
        ) from None


class Run:
    """A run in a folder: a new one, or one that goes on."""

    def __init__(
        self,
        folder: Path,
        settings: BlueprintSettings,
        tree: BettingTree,
        cards: Cards,
        *,
        threads: int = 1,
        warm_start: WarmStart | None = None,
    ) -> None:
        """A run that goes on needs its warm start no more once the periods that follow it are done."""
        self.settings, self.tree, self.cards = settings, tree, cards
        self._warm_start = warm_start
        self._folder, self._big_blind = folder, max(settings.load_game().blind)
        self.start_file = warm_start.file if warm_start else None
        self._identity = Identity.of(settings, tree.digest, cards.digest)
        self._code = code_revision()
        self.revisions: tuple[str, ...] = ()
        """Of the code that trained it, in order."""
        self.log: list[Period] = []
        """All its own periods so far."""
        self.sampler = make_sampler(settings, tree, cards, threads)
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / CHECKPOINT).exists():
            self._resume()

    @property
    def last(self) -> Period:
        """The last period."""
        if self.log:
            return self.log[-1]
        return NOTHING_YET if self.start_file is None else self.start_file.last

    def go_on(self, enough: Callable[[Period], bool], tell: Callable[[Period], None] = lambda period: None) -> Period:
        """Train until it is enough; `tell` hears of every period once it is kept."""
        with alone_in(self._folder, "trains"):
            for name in (CHECKPOINT, LOG, _SETTINGS):
                remove_leftovers(self._folder / name)
            while not enough(self.last):
                if self.revisions[-1:] != (self._code,):
                    self.revisions = (*self.revisions, self._code)
                    self._write_settings()
                self.log.append(self._period())
                kept = Checkpoint(self._identity, self.start_file, self.revisions, tuple(self.log))
                write_checkpoint(self._folder, kept, self.sampler.state())
                self._write_log()  # a kill before this line is made good when the run goes on
                tell(self.last)
        return self.last

    def _period(self) -> Period:
        """Train for a period."""
        trainer, last = self.settings.trainer, self.last
        number, began, worked = last.number + 1, time.perf_counter(), time.process_time()
        left = self._to_follow()
        tables = self._warm_start.tables if left and self._warm_start else None
        weight = trainer.weighting.weight
        updates = self.sampler.period(number, weight(number), trainer.walks, tables)
        if tables is not None and left == 1:
            everything, here = range(1, number + 1), range(number + 1 - FOLLOWED_PERIODS, number + 1)
            (all_sum, all_squares), (sum_, squares) = (
                (sum(map(weight, each)), sum(weight(n) ** 2 for n in each)) for each in (everything, here)
            )
            self.sampler.warm_start(tables, all_sum / sum_, math.sqrt(all_squares / squares))
        return Period(
            number,
            last.walks + trainer.walks,
            last.updates + updates,
            last.seconds + time.perf_counter() - began,
            last.core_seconds + time.process_time() - worked,
            1000 * self.sampler.regret() / self._big_blind,
        )

    def _to_follow(self) -> int:
        """How many periods more follow the strategy that the run started from."""
        return 0 if self.start_file is None else max(0, self.start_file.periods + FOLLOWED_PERIODS - self.last.number)

    def _write_settings(self) -> None:
        document = {**asdict(self._identity), "revisions": self.revisions}
        with whole_file(self._folder / _SETTINGS) as file:
            file.write(json.dumps(document, indent=1).encode())

    def _write_log(self) -> None:
        with whole_file(self._folder / LOG) as file:
            file.write(log_text(self.log).encode())

    def _resume(self) -> None:
        path = self._folder / CHECKPOINT

        def take(found: Checkpoint, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
            given, self.start_file, self.log = self.start_file, found.start_file, list(found.log)
            known, now = (each.digest if each else "nothing" for each in (found.start_file, given))
            if known != now and (given or self._to_follow()):
                raise BlueprintError(f"{path}: begun from {known}: expected the same again, not {now}")
            found.identity.check_same(path, self._identity)
            try:
                self.sampler.restore(arrays)
            except BlueprintError as error:
                raise BlueprintError(f"{path}: {error}") from None

        found = read_checkpoint(self._folder, take)
        self.revisions = found.revisions
        log = self._folder / LOG
        if not log.exists() or log.read_bytes() != log_text(self.log).encode():
            self._write_log()
