"""One walk over four streets of hold'em, in several parts a street, against the same walk written down plainly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from reference.slow_public_walk import SlowWalk, Tables

from blueprints.settings import load_settings
from blueprints.train.public.sampling import PublicSampling
from blueprints.tree import BettingTree, build_tree
from protocol.cards import Card
from protocol.hands import NUM_HANDS

SEED, WEIGHT = 3, 2.0
SETTINGS = load_settings("small")
GAME = SETTINGS.load_game()


class RandomCards:
    """Any hand may be in any bucket; on a board it stays there."""

    counts = (40, 60, 50, 30)
    digest = "random"

    def deal(self, board: Sequence[Card]) -> np.ndarray:
        rng = np.random.default_rng(list(board))
        return np.stack([rng.integers(0, count, NUM_HANDS) for count in self.counts]).astype(np.uint16)

    def buckets(self, board: Sequence[Card]) -> np.ndarray:
        raise NotImplementedError


CARDS = RandomCards()


@cache
def tree() -> BettingTree:
    return build_tree(GAME, SETTINGS.load_menu())


def tables(seed: int, low: int) -> Tables:
    """Whole numbers; about half of them are not played if `low` is negative."""
    rng = np.random.default_rng(seed)
    firsts = [int(tree().first[tree().nodes_of(street).start]) for street in range(4)]
    sizes = np.diff([*firsts, tree().num_edges]).tolist()
    return [rng.integers(low, 40, (size, count)).astype(np.float32)
            for size, count in zip(sizes, CARDS.counts, strict=True)]  # fmt: skip


@cache
def slow() -> SlowWalk:
    sampler = PublicSampling(GAME, tree(), CARDS, seed=SEED)
    board = sampler._walker.dealer.draw(np.random.default_rng((SEED, 1)))
    return SlowWalk(GAME, tree(), CARDS, board)


def test_the_tree_has_what_small_games_have_not() -> None:
    """Streets between others, several parts of them, and full lanes."""
    parts = PublicSampling(GAME, tree(), CARDS)._walker.parts
    assert np.diff(parts.part_at).tolist() == [1, 1, 3, 9]
    used = (parts.edge[parts.edge_at[:-1]] >= 0).sum(axis=1)
    assert (used == 16).sum() >= 5


@pytest.mark.parametrize(("follows", "learner"), [(False, None), (True, None), (True, 0), (True, 1)])
def test_regrets_and_averages_of_a_walk(follows: bool, learner: int | None) -> None:
    """Both players learn, or follow a strategy, or one learns against it; on one thread and on two."""
    before, followed = tables(1, -40), tables(2, 0) if follows else None
    played = [before if followed is None or player == learner else followed for player in range(2)]
    regrets, averages = slow().learn((played[0], played[1]), WEIGHT)
    states = []
    for threads in (1, 2):
        sampler = PublicSampling(GAME, tree(), CARDS, seed=SEED, threads=threads)
        sampler._regrets[:] = sampler._tables.packed(before)
        sampler.period(1, WEIGHT, 1, followed, learner)
        states.append(sampler.state())
        after = sampler._tables.unpacked(sampler._regrets)
        for street in range(4):
            found = after[street].astype(np.float64) - before[street]
            assert np.abs(found - regrets[street]).max() < 5e-5 * np.abs(regrets[street]).max(), street
            found = sampler.averages()[street]
            assert np.abs(found - averages[street]).max() < 5e-6 * averages[street].max(), street
    for name, array in states[0].items():
        assert np.array_equal(array, states[1][name]), name


def test_regrets_that_are_next_to_nothing_are_played_as_nothing() -> None:
    """Divided by a sum of 1e-39, a strategy would not be finite, nor anything it comes to."""
    tiny = [np.full_like(table, 1e-39) for table in tables(1, 0)]
    regrets, averages = slow().learn((slow().zeros(),) * 2, WEIGHT)
    sampler = PublicSampling(GAME, tree(), CARDS, seed=SEED)
    sampler._regrets[:] = sampler._tables.packed(tiny)
    sampler.period(1, WEIGHT, 1)
    after = sampler._tables.unpacked(sampler._regrets)
    for street in range(4):
        assert np.abs(after[street] - regrets[street]).max() < 5e-5 * np.abs(regrets[street]).max(), street
        assert np.abs(sampler.averages()[street] - averages[street]).max() < 5e-6 * averages[street].max(), street
