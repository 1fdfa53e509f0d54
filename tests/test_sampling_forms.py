"""Forms of sampling by name, and one that this file adds: a run trains by it, checkpoints it and goes on with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from blueprints.cards.exact import ExactCards
from blueprints.cards.interface import Cards
from blueprints.settings import BlueprintSettings, Sampling, TrainerSettings
from blueprints.train.trainer import Run, Tables, make_sampler
from blueprints.tree import BettingTree, build_tree

LEDUC = BlueprintSettings(name="leduc", game="leduc", menu="100%,a / a", trainer=TrainerSettings(walks=3, seed=7))


def settings_of(**changes: object) -> BlueprintSettings:
    return LEDUC.model_copy(update={"trainer": LEDUC.trainer.model_copy(update=changes)})


def run_in(folder: Path, settings: BlueprintSettings) -> Run:
    game = settings.load_game()
    return Run(folder, settings, build_tree(game, settings.load_menu()), ExactCards(game))


class Counting:
    """Only counts what it is asked for."""

    at_once = 1

    def __init__(self) -> None:
        self.weights = np.zeros(0)

    @classmethod
    def of(cls, settings: BlueprintSettings, tree: BettingTree, cards: Cards, threads: int) -> Counting:
        assert settings.trainer.sampling is Sampling.EXTERNAL
        assert tree.num_nodes > 0
        assert len(cards.counts) == 2
        assert threads == 1
        return cls()

    def period(self, number: int, weight: float, walks: int, follow: Tables | None = None) -> int:
        assert follow is None
        assert number == len(self.weights) + 1
        self.weights = np.append(self.weights, weight)
        return walks

    def regret(self) -> float:
        return 0.0

    def state(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.weights = arrays["weights"]


@pytest.mark.parametrize("sampling", Sampling)
def test_every_name_has_its_form(sampling: Sampling) -> None:
    settings = settings_of(sampling=sampling)
    game = settings.load_game()
    sampler = make_sampler(settings, build_tree(game, settings.load_menu()), ExactCards(game), 1)
    assert sampling.place.endswith(f":{type(sampler).__name__}")
    assert sampler.period(1, 1.0, sampler.at_once) > 0
    assert Sampling(str(sampling)) is sampling


@pytest.mark.parametrize(("linear", "expected"), [(True, [1.0, 2.0, 3.0, 4.0]), (False, [1.0] * 4)])
def test_a_run_trains_by_a_form_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linear: bool, expected: list[float]
) -> None:
    monkeypatch.setattr(Sampling.EXTERNAL, "place", f"{__name__}:{Counting.__name__}")
    settings = settings_of(sampling=Sampling.EXTERNAL, linear=linear)
    for periods in (2, 4):
        run = run_in(tmp_path, settings)
        run.go_on(lambda last, enough=periods: last.number >= enough)
    assert isinstance(run.sampler, Counting)
    assert run.sampler.weights.tolist() == expected
    assert [period.updates for period in run.log] == [3, 6, 9, 12]
