"""Both forms of sampling on the games of `tests/test_trainers.py` for longer, and on one with deep stacks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from trained import Case, case, leduc, no_limit_leduc, short_deck

from blueprints.train.external.sampling import ExternalSampling
from blueprints.train.public.sampling import PublicSampling
from studies.search_tables.games import flop_holdem

pytestmark = pytest.mark.proof


def shares(
    here: Case, trainer: ExternalSampling | PublicSampling, walks: int, checkpoints: tuple[int, ...]
) -> list[float]:
    """Exploitability over the pot after so many periods."""
    measure, found = here.measure(), []
    for period in range(1, checkpoints[-1] + 1):
        trainer.period(period, float(period), walks)
        if period in checkpoints:
            found.append(measure.exploitability(trainer.averages()).pot_share)
            print(f"{type(trainer).__name__}, {period * walks:,} walks: {100 * found[-1]:.3f} % of the pot")
    return found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("make_case", [leduc, no_limit_leduc, short_deck])
def test_it_goes_on_falling(make_case, public: bool) -> None:  # type: ignore[no-untyped-def]
    here = make_case()
    trainer = here.public() if public else here.external()
    found = shares(here, trainer, 2_000 if public else 100_000, (3, 10, 30, 100))
    assert all(later < earlier for earlier, later in pairwise(found))
    assert found[-1] < 0.005


@pytest.mark.timeout(1800)
def test_two_hundred_big_blinds_deep() -> None:
    """Twelve cards, eighty decisions; the pot at the root is the blinds, a hundredth of what can be lost."""
    here = case(flop_holdem(3), "100%")
    for trainer, walks, most in ((here.public(), 1_000, 0.03), (here.external(), 100_000, 0.06)):
        found = shares(here, trainer, walks, (10, 30, 100))
        assert all(later < earlier for earlier, later in pairwise(found))
        assert found[-1] < most


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("make_case", [leduc, no_limit_leduc])
def test_skipping_costs_nothing_but_noise(make_case) -> None:  # type: ignore[no-untyped-def]
    """Over six seeds each: the value stays where it was, and the exploitability is that of fewer walks.

    Without the walks that count for those that skip it would be ten times as large with the lower bound.
    """
    here = make_case()
    measure, means = here.measure(), {}
    for below in (0, 10, 100):
        found, updates = [], 0
        for seed in range(6):
            trainer = here.external(seed=seed, skipping=below > 0, skip_from=10, skip_below=max(below, 1))
            updates += sum(trainer.period(period, float(period), 4_000) for period in range(1, 101))
            averages = trainer.averages()
            found.append((measure.exploitability(averages).pot_share, measure.value(averages) / here.root.pot))
        means[below] = np.mean(found, axis=0)
        print(f"skip below {below}: {updates:,} updates, exploitability and value over the pot {means[below]}")
    for below, factor in ((10, 3), (100, 2)):
        assert means[below][0] < factor * means[0][0]
        assert means[below][1] == pytest.approx(means[0][1], abs=0.002)
