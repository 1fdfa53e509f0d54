"""A training job: from a configuration to a blueprint file.

    configuration ─ betting tree ─────┐
    start file ──── card abstraction ─┼─ run ─ blueprint file
    folder ───────────────────────────┘

A job finds out what its run needs, in this order, and refuses what does not fit before anything is trained. The card
abstraction of hold'em is made once and kept in the folder (`cards.npz`), so that a run that goes on has the same
buckets; with a warm start it is the file's. Small games need none.

Whoever wants to know how it goes passes a `JobObserver`; what a period learnt is told by `train`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from blueprints.cards.centroids import Centroids, build_centroids
from blueprints.cards.exact import ExactCards
from blueprints.cards.holdem import HoldemCards, is_holdem
from blueprints.cards.interface import Cards
from blueprints.cards.work import Progress
from blueprints.settings import BlueprintSettings
from blueprints.storage import Blueprint, TrainingRecord, TrainingRun, revisions_text, write_blueprint
from blueprints.train.checkpoint import Period
from blueprints.train.trainer import Run, WarmStart
from blueprints.tree import build_tree
from machine.errors import ConfigError
from machine.files import whole_file

_CARDS: Final = "cards.npz"


class JobObserver(Protocol):
    """Hears how far long preparations are, each in a context of its own."""

    def counter(self, what: str) -> AbstractContextManager[Callable[[int], object]]:
        """For things of which nobody knows how many there will be."""

    def progress(self, what: str) -> AbstractContextManager[Progress]:
        """For work of a known size."""


class SilentObserver:
    """Tells nobody."""

    def counter(self, what: str) -> AbstractContextManager[Callable[[int], object]]:
        """See `JobObserver`."""
        return nullcontext(lambda count: None)

    def progress(self, what: str) -> AbstractContextManager[Progress]:
        """See `JobObserver`."""
        return nullcontext(lambda task, share, left_s: None)


_SILENT: Final = SilentObserver()


class TrainingJob:
    """A training in a folder: a new one, or one that goes on."""

    def __init__(
        self,
        settings: BlueprintSettings,
        folder: Path,
        tables: Path,
        *,
        threads: int = 1,
        start_file: Path | None = None,
        observer: JobObserver = _SILENT,
    ) -> None:
        """Ready to train; `tables` is the folder for tables of buckets.

        Raises `ConfigError` or `BlueprintError` if the folder or the start file are of something else.
        """
        self.settings, self.folder, self.start_file = settings, folder, start_file
        self._tables, self._threads, self._observer = tables, threads, observer
        with self._observer.counter("decisions of the tree") as tell:
            tree = build_tree(settings.load_game(), settings.load_menu(), tell=tell)
        start = None if start_file is None else open_start_file(start_file, settings)
        self.abstraction, cards = self._prepare_cards(start)
        """What the file will say of its buckets."""
        warm_start = None if start is None else WarmStart.of(start)
        self.run = Run(folder, settings, tree, cards, threads=threads, warm_start=warm_start)

    @property
    def file(self) -> Path:
        """Where the blueprint is written if nobody says otherwise."""
        return blueprint_file(self.folder, self.settings.name)

    def train(
        self,
        periods: int | None = None,
        *,
        seconds: float = float("inf"),
        is_stopped: Callable[[], bool] = lambda: False,
        tell: Callable[[Period], None] = lambda period: None,
    ) -> None:
        """Until so many periods, the configuration's if not said, or seconds are done, earlier ones counted."""
        run, last = self.run, self.run.last
        wanted = periods or self.settings.trainer.periods
        if self.start_file is not None and not run.log and last.number >= wanted:
            raise ConfigError(f"--periods {wanted:,}: {self.start_file} has {last.number:,}: expected more")
        run.go_on(lambda last: is_stopped() or last.number >= wanted or last.seconds >= seconds, tell)

    def write(self, path: Path | None = None) -> str:
        """The blueprint of what was learnt so far, here or in `file`; returns its digest."""
        run = self.run
        if not run.log:
            raise ConfigError(f"{self.folder}: stopped before the first period was done: nothing was written")
        return write_blueprint(
            path or self.file,
            settings=self.settings,
            game=self.settings.load_game(),
            tree=run.tree,
            cards=self.abstraction,
            averages=run.sampler.averages(),
            training=training_record(run),
        )

    def _prepare_cards(self, start: Blueprint | None) -> tuple[Centroids | ExactCards, Cards]:
        """What is written to the file, and what buckets come from."""
        game = self.settings.load_game()
        if not is_holdem(game):
            exact = ExactCards(game)
            return exact, exact
        centroids = self._centroids(start)
        with self._observer.progress("tables of buckets") as progress:
            cards = HoldemCards.open(centroids, self._tables, threads=self._threads, progress=progress)
        return centroids, cards

    def _centroids(self, start: Blueprint | None) -> Centroids:
        """Those of the folder, else the start file's, else new ones."""
        kept = self.folder / _CARDS
        if kept.exists():
            with np.load(kept, allow_pickle=False) as arrays:
                centroids = Centroids.from_arrays(dict(arrays))
            if centroids.settings != self.settings.cards:
                raise ConfigError(
                    f"{kept}: of another card abstraction: expected an empty folder, or the same settings"
                )
            return centroids
        if start is not None:
            centroids = start.centroids()
        else:
            with self._observer.progress("card abstraction") as progress:
                centroids = build_centroids(self.settings.cards, threads=self._threads, progress=progress)
        self.folder.mkdir(parents=True, exist_ok=True)
        made: dict[str, Any] = dict(centroids.to_arrays())
        with whole_file(kept) as file:
            np.savez(file, **made)
        return centroids


def blueprint_file(folder: Path, name: str) -> Path:
    """Where a run of a configuration of that name writes its blueprint."""
    return folder / f"{name}.blueprint"


def open_start_file(path: Path, settings: BlueprintSettings) -> Blueprint:
    """A blueprint for a warm start, every byte compared with its hash; `ConfigError` if it is of something else."""
    found = Blueprint.open(path)
    found.check_content()
    for name in ("game", "menu", "cards"):
        theirs, mine = getattr(found.settings, name), getattr(settings, name)
        if theirs != mine:
            raise ConfigError(f"{path}: {name} = {theirs}: expected {mine}")
    return found


def training_record(run: Run) -> TrainingRecord:
    """What the file says of a run; of one with a warm start also what that had learnt from."""
    last, start, runs = run.last, run.start_file, list[TrainingRun]()
    if start is not None:
        runs.append(TrainingRun(seed=run.settings.trainer.seed, walks=last.walks, before=start.seeds))
    return TrainingRecord(
        walks=last.walks,
        updates=last.updates,
        periods=last.number,
        core_seconds=last.core_seconds,
        revision=revisions_text(run.revisions),
        runs=tuple(runs),
    )
