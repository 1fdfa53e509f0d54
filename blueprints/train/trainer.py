"""A training run: periods of walks, a checkpoint after each, and going on where it was.

A run is a folder:

    settings.json     the configuration, whole
    checkpoint.npz    all numbers after some period; written beside and renamed, so that it is always whole
    log.jsonl         a line for each period

A kill at any moment loses the period that was under way. What a period does follows from the settings and its number
alone, so that a run that was interrupted comes to the same numbers as one that was not.
"""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from blueprints.cards.interface import Cards
from blueprints.files import whole_file
from blueprints.settings import BlueprintSettings, Sampling
from blueprints.tree import BettingTree
from protocol.errors import BlueprintError
from solver.tables import F32

_SETTINGS: Final = "settings.json"
_CHECKPOINT: Final = "checkpoint.npz"
_LOG: Final = "log.jsonl"
_OF_EXTERNAL: Final = ("skipping", "skip_from", "skip_below")
"""Settings that only external sampling looks at."""


Tables = Sequence[npt.NDArray[Any]]
"""A strategy: by street [edge of the street, bucket], in any unit."""
FOLLOWED: Final = 10
"""A run that begins from another's strategy plays it for so many periods."""


class Sampler(Protocol):
    """A form of sampling, with what it has learnt."""

    def period(self, number: int, weight: float, walks: int, follow: Tables | None = None) -> int:
        """So many walks that count `weight` times each, by a strategy that is given or by what was learnt.

        Returns the (bucket, action) pairs that were updated.
        """

    def regret(self) -> float:
        """The average positive regret in chips a hand, the mean of both players."""

    def averages(self) -> tuple[F32, ...]:
        """By street of the game [edge of the street, bucket], in the order of the tree."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What a checkpoint must hold."""

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The inverse of `state`."""


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


NOTHING_YET: Final = Period(0, 0, 0, 0.0, 0.0, float("inf"))


def make_sampler(settings: BlueprintSettings, tree: BettingTree, cards: Cards, threads: int) -> Sampler:
    """The form of sampling that the settings ask for, with nothing learnt."""
    trainer, game = settings.trainer, settings.load_game()
    match trainer.sampling:
        case Sampling.PUBLIC:
            from blueprints.train.public import PublicSampling

            return PublicSampling(game, tree, cards, seed=trainer.seed, threads=threads)
        case Sampling.EXTERNAL:
            from blueprints.train.external import ExternalSampling

            return ExternalSampling(game, tree, cards, settings=trainer, threads=threads)


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
        follow: Tables | None = None,
        followed: str = "",
    ) -> None:
        """`follow` is a strategy for the same tree and cards to begin from, `followed` its digest.

        A run that goes on needs it no more once its first periods are done.
        """
        self.settings, self.tree, self.cards = settings, tree, cards
        self._follow = follow
        self._folder, self._big_blind = folder, max(settings.load_game().blind)
        self._followed = followed
        self._identity = {"settings": _described(settings), "tree": tree.digest, "cards": cards.digest}
        self.sampler = make_sampler(settings, tree, cards, threads)
        self.last = NOTHING_YET
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / _CHECKPOINT).exists():
            self._resume()
        else:
            with whole_file(folder / _SETTINGS) as file:
                file.write(json.dumps(self._identity, indent=1).encode())

    @property
    def log(self) -> list[Period]:
        """All periods so far."""
        try:
            lines = (self._folder / _LOG).read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        periods = [Period(**json.loads(line)) for line in lines]
        return [period for period in periods if period.number <= self.last.number]

    def go_on(self, enough: Callable[[Period], bool], tell: Callable[[Period], None] = lambda period: None) -> Period:
        """Train until it is enough; `tell` hears of every period once it is kept."""
        trainer = self.settings.trainer
        while not enough(self.last):
            number, began, worked = self.last.number + 1, time.perf_counter(), time.process_time()
            follow = self._follow if number <= FOLLOWED else None
            updates = self.sampler.period(number, float(number) if trainer.linear else 1.0, trainer.walks, follow)
            self.last = Period(
                number,
                self.last.walks + trainer.walks,
                self.last.updates + updates,
                self.last.seconds + time.perf_counter() - began,
                self.last.core_seconds + time.process_time() - worked,
                1000 * self.sampler.regret() / self._big_blind,
            )
            self._keep()
            tell(self.last)
        return self.last

    def _keep(self) -> None:
        log = [*self.log[: self.last.number - 1], self.last]
        identity = json.dumps({**self._identity, "followed": self._followed, "last": asdict(self.last)})
        with whole_file(self._folder / _CHECKPOINT) as file:
            arrays: dict[str, Any] = {"identity": np.array(identity), **self.sampler.state()}
            np.savez(file, **arrays)
        with whole_file(self._folder / _LOG) as file:
            file.write("".join([json.dumps(asdict(period)) + "\n" for period in log]).encode())

    def _resume(self) -> None:
        path = self._folder / _CHECKPOINT
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                identity = json.loads(str(arrays["identity"]))
                last, followed = identity.pop("last"), identity.pop("followed", "")
                if last["number"] < FOLLOWED and followed != self._followed:
                    raise BlueprintError(f"{path}: begun from {followed or 'nothing'}: expected the same again")
                self._followed = followed
                known = BlueprintSettings.model_validate(identity["settings"])  # which may be older than some settings
                identity["settings"] = _described(known)
                for key, mine in self._identity.items():
                    if identity.get(key) != mine:
                        raise BlueprintError(
                            f"{path}: its {key} is not what is asked for: {_difference(identity, mine, key)}"
                        )
                self.sampler.restore(arrays)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise BlueprintError(f"{path}: not a checkpoint: {error}") from None
        self.last = Period(**last)


def _described(settings: BlueprintSettings) -> dict[str, Any]:
    """All that decides what a period does: a run may be made longer."""
    without = {"periods"} | (set() if settings.trainer.sampling is Sampling.EXTERNAL else set(_OF_EXTERNAL))
    return settings.model_dump(mode="json", exclude={"trainer": without})


def _difference(found: dict[str, Any], mine: Any, key: str) -> str:
    """The first thing that differs, for a message."""
    theirs = found.get(key)
    while isinstance(theirs, dict) and isinstance(mine, dict):
        names = sorted({*theirs, *mine})
        name = next(name for name in names if theirs.get(name) != mine.get(name))
        key, theirs, mine = name, theirs.get(name), mine.get(name)
    return f"{key} = {theirs!r} there, {mine!r} here"
