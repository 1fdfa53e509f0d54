"""A training job, from a configuration to a file, without the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from blueprint_files import CARDS, centroids

from blueprints.cards.centroids import Centroids
from blueprints.cards.work import Progress
from blueprints.rounding import quantise_nodes
from blueprints.settings import BlueprintSettings, TrainerSettings
from blueprints.storage import Blueprint, TrainingRun
from blueprints.train import job as jobs
from blueprints.train.job import TrainingJob
from blueprints.train.trainer import FOLLOWED_PERIODS
from machine.errors import ConfigError

LEDUC = BlueprintSettings(
    name="leduc", game="leduc", menu="100%,a / a", trainer=TrainerSettings(walks=20, periods=3, seed=7)
)


def test_what_was_learnt_is_written_with_what_it_cost(tmp_path: Path) -> None:
    job = TrainingJob(LEDUC, tmp_path / "run", tmp_path / "tables")
    seen: list[int] = []
    job.train(tell=lambda period: seen.append(period.number))
    digest = job.write()
    blueprint = Blueprint.open(job.file, verify=True)
    assert seen == [1, 2, 3]
    assert (blueprint.path, blueprint.digest) == (tmp_path / "run" / "leduc.blueprint", digest)
    record = blueprint.header.training
    assert (record.periods, record.walks, record.runs) == (3, 60, ())
    for street, average in enumerate(job.run.sampler.averages()):
        expected = quantise_nodes(average, blueprint.tree.first_edges(street))
        assert np.array_equal(blueprint.strategy(street), expected)
    assert not (tmp_path / "tables").exists()


def test_it_goes_on_where_it_was_until_time_is_over(tmp_path: Path) -> None:
    TrainingJob(LEDUC, tmp_path, tmp_path).train(2)
    job = TrainingJob(LEDUC, tmp_path, tmp_path)
    assert job.run.last.number == 2
    job.train(100, seconds=0.0)
    assert job.run.last.number == 2
    job.train()
    assert job.run.last.number == 3


def test_stopped_before_the_first_period_it_writes_nothing(tmp_path: Path) -> None:
    job = TrainingJob(LEDUC, tmp_path, tmp_path)
    job.train(is_stopped=lambda: True)
    with pytest.raises(ConfigError, match="stopped before the first period was done: nothing was written"):
        job.write()
    assert not job.file.exists()


def test_a_warm_start_counts_what_the_file_had_learnt(tmp_path: Path) -> None:
    first = TrainingJob(LEDUC, tmp_path / "first", tmp_path)
    first.train()
    first.write()
    other = LEDUC.model_copy(update={"trainer": LEDUC.trainer.model_copy(update={"seed": 8})})
    job = TrainingJob(other, tmp_path / "second", tmp_path, start_file=first.file)
    with pytest.raises(ConfigError, match=r"--periods 3: .*leduc.blueprint has 3: expected more"):
        job.train()
    job.train(3 + FOLLOWED_PERIODS)
    job.write()
    record = Blueprint.open(job.file).header.training
    walks = 20 * (3 + FOLLOWED_PERIODS)
    assert (record.periods, record.walks) == (3 + FOLLOWED_PERIODS, walks)
    assert record.runs == (TrainingRun(seed=8, walks=walks, before=(7,)),)
    assert record.core_seconds > first.run.last.core_seconds
    with pytest.raises(ConfigError, match="menu = 100%,a / a: expected 50%,a / a"):
        TrainingJob(LEDUC.model_copy(update={"menu": "50%,a / a"}), tmp_path / "third", tmp_path, start_file=first.file)


class Observer:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    @contextmanager
    def counter(self, what: str) -> Iterator[Callable[[int], object]]:
        self.heard.append(what)
        yield lambda count: None

    @contextmanager
    def progress(self, what: str) -> Iterator[Progress]:
        self.heard.append(what)
        yield lambda task, share, left_s: None


def test_the_card_abstraction_is_made_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of buckets take minutes: here nobody opens them."""
    made: list[Centroids] = []

    def build(*arguments: object, **options: object) -> Centroids:
        made.append(centroids())
        return made[-1]

    monkeypatch.setattr(jobs, "build_centroids", build)
    monkeypatch.setattr(jobs.HoldemCards, "open", lambda of, *arguments, **options: _Cards(of))
    settings = BlueprintSettings(name="some", menu="a / -", cards=CARDS, trainer=TrainerSettings(walks=1, periods=1))
    observers = Observer(), Observer()
    jobs_ = [TrainingJob(settings, tmp_path, tmp_path, observer=observer) for observer in observers]
    assert len(made) == 1
    assert [job.abstraction.digest for job in jobs_] == [made[0].digest] * 2
    assert observers[0].heard == ["decisions of the tree", "card abstraction", "tables of buckets"]
    assert observers[1].heard == ["decisions of the tree", "tables of buckets"]
    other = settings.model_copy(update={"cards": CARDS.model_copy(update={"river": 6})})
    with pytest.raises(ConfigError, match=r"cards.npz: of another card abstraction: expected an empty folder, or the"):
        TrainingJob(other, tmp_path, tmp_path)


class _Cards:
    """Cards of which nothing is asked."""

    def __init__(self, of: Centroids) -> None:
        self.counts, self.digest = of.settings.counts, of.digest
