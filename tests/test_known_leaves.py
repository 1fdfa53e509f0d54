"""Known values of leaves: against roll-outs on every flop, and best responses against everything else."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from test_limited_values import experiment

from blueprints.values.leaves import roots_of
from blueprints.values.rollouts import Rollouts
from protocol.arrays import F32
from studies.known_leaves import KnownFlops, biased, generated, our_reaches, solved
from studies.limited_values import US, OneBet, biases

COUNT = 4


@pytest.fixture(scope="module")
def flops() -> KnownFlops:
    lookup, strategies = experiment().opened()
    return KnownFlops(experiment().game, lookup, strategies[1], US)


@pytest.fixture(scope="module")
def worth(flops: KnownFlops) -> F32:
    return biased(flops, biases(COUNT))


def test_values_are_the_mean_of_roll_outs_over_all_flops(flops: KnownFlops, worth: F32) -> None:
    """Both players', with any reaches of the opponent's continuations."""
    lookup, strategies = experiment().opened()
    game, roots = experiment().game, list(flops.roots)
    rollouts = Rollouts(game, lookup.blueprint.tree, lookup.cards, strategies, biases=biases(COUNT))
    reaches = np.random.default_rng(1).random((2, COUNT, len(roots), flops.hands)).astype(np.float32)
    reaches[US, 1:] = 0
    deck = sorted(game.deck())
    found = sum(rollouts.values(roots, (), board, reaches) for board in combinations(deck, 3))
    found = found / comb(len(deck) - 4, 3)
    ours = np.einsum("rkho,kro->rh", worth, reaches[1 - US])
    theirs = -np.einsum("rkho,rh->kro", worth, reaches[US, 0])
    assert ours == pytest.approx(found[US, 0], rel=1e-4, abs=1e-4 * float(np.abs(found).max()))
    assert theirs == pytest.approx(found[1 - US], rel=1e-4, abs=1e-4 * float(np.abs(found).max()))


def test_a_response_wins_at_least_what_any_continuation_does(flops: KnownFlops, worth: F32) -> None:
    """Each hand, at each root, against any range: and more than all of them somewhere."""
    ours, rng = flops.trained(), np.random.default_rng(2)
    for place, root in enumerate(flops.roots):
        reach = rng.random(flops.hands).astype(np.float32)
        best = -reach @ flops.worth(root, flops.response(root, ours, reach), ours)
        others = -np.einsum("kho,h->ko", worth[place], reach)
        slack = 1e-4 * float(np.abs(others).max())
        assert (best >= others - slack).all()
        assert (best > others.max(axis=0) + slack).any()


def test_self_generated_continuations(flops: KnownFlops, worth: F32) -> None:
    """The trained strategy, then a best response to the solution with that alone, which leaves it less in the end."""
    menu, iterations = OneBet().small, 200
    made = generated(flops, menu, 3, iterations)
    np.testing.assert_array_equal(made[:, 0], worth[:, 0])
    street, solver = solved(flops, menu, made[:, :1], iterations)
    reaches = our_reaches(flops, street, solver)
    for place, root in enumerate(flops.roots):
        response = flops.worth(root, flops.response(root, flops.trained(), reaches[place]), flops.trained())
        np.testing.assert_allclose(made[place, 1], response, rtol=1e-5, atol=1e-3)
    values = [solved(flops, menu, made[:, :count], iterations)[1].root_values(US).sum() for count in (1, 2, 3)]
    assert values[0] > values[1] > values[2] - 1e-3 * abs(values[0])


def test_how_often_we_come_to_each_flop(flops: KnownFlops, worth: F32) -> None:
    """An opponent that limps and only ever calls sees every hand on the flop."""
    street, solver = solved(flops, OneBet().small, worth, 50)
    reaches = our_reaches(flops, street, solver)
    places = [root - flops.roots.start for root in roots_of(street, flops.lookup)]
    lines = {state.betting: reaches[place] for state, place in zip(street.end_states, places, strict=True)}
    assert set(lines) == {state.betting for state in experiment().blueprint.lines}
    called = [reach for betting, reach in lines.items() if betting.startswith("c") and betting.count("r") <= 1]
    np.testing.assert_allclose(sum(called), 1.0, atol=1e-5)
