"""Strategies against each other, and a strategy against itself, for which one walk a board does."""

from __future__ import annotations

import numpy as np
import pytest
from trained import short_deck

from blueprints.train.measures.contest import Contestant, contest, play


@pytest.mark.parametrize("threads", [1, 2])
def test_against_itself_it_wins_what_it_wins_from_its_twin(threads: int) -> None:
    """To the last bit; and what one position wins the other loses."""
    here = short_deck()
    tables = here.learnt(1, 3, 20)
    side, twin = Contestant(tables, here.cards), Contestant([table.copy() for table in tables], here.cards)
    itself, other = [
        play(here.game, here.tree, side, each, boards=30, rng=np.random.default_rng(4), threads=threads)
        for each in (side, twin)
    ]
    assert np.array_equal(itself, other)
    assert np.abs(itself.sum(axis=1)).max() < 1e-4 * np.abs(itself).max()
    assert itself[:, 0].std() > 0


def test_a_score_is_told_from_the_second_board_on() -> None:
    here, told = short_deck(), []
    sides = [Contestant(here.learnt(seed, 2, 20), here.cards) for seed in (1, 2)]
    score = contest(
        here.game, here.tree, *sides, boards=4, seed=3, tell=lambda board, score: told.append((board, score))
    )
    assert [board for board, _ in told] == [2, 3, 4]
    assert told[-1][1] == score
