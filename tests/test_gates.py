"""Gates against distributed payoffs: the vectors of the kernels against one hand at a time in float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from reference.slow_gates import SlowHand

from protocol.arrays import F32
from solver.kernels.compiled import kernel
from solver.kernels.gadgets import ENTERED, HEDGE, NORMAL, OUTSIDE, ROWS, SHARE, WEIGHT, choose, learn
from solver.kernels.types import Gate, aligned_zeros
from solver.kernels.vectors import BLOCK, LANES, exponential, load, root, store

HANDS = 8 * BLOCK


def gate_of(kind: int, payoffs: npt.NDArray[np.float64], spreads: npt.NDArray[np.float64]) -> Gate:
    """Of hands that can all be, each with half of our range beside it."""
    return Gate(
        kind=kind,
        player=0,
        numbers=aligned_zeros(ROWS * HANDS),
        payoffs=row(payoffs),
        spreads=row(spreads),
        inverse=row(np.full(HANDS, 2.0)),
        scale=row(np.full(HANDS, 0.25)),
        lanes=aligned_zeros(LANES),
        counts=np.array([0.0, 0.0, 0.0, 0.0, HANDS]),
    )


def row(numbers: npt.NDArray[np.float64]) -> F32:
    found = aligned_zeros(HANDS)
    found[:] = numbers
    return found


@pytest.mark.parametrize("kind", [NORMAL, HEDGE])
@pytest.mark.parametrize("seed", range(6))
def test_equals_the_twin(kind: int, seed: int) -> None:
    """Probabilities to a millionth; payoffs of some chips, or of hundreds, to so much of what is at stake.

    Among the hands are some with certain payoffs and some whose values never change, or only by a little: they enter
    with probability 1/2 where both are equal, else 0 or 1. Sums in float32 cannot tell what is equal but for rounding:
    of certain payoffs only clear cases are asked for.
    """
    rng = np.random.default_rng(seed)
    stake = 10.0 ** rng.integers(0, 4)
    payoffs = row(stake * rng.normal(size=HANDS)).astype(np.float64)
    spreads = row(stake * rng.choice([0.0, 1e-3, 0.1, 1.0, 30.0], size=HANDS)).astype(np.float64)
    steady = rng.random(HANDS) < 0.3
    first = np.where(rng.random(HANDS) < 0.3, payoffs, stake * rng.normal(size=HANDS))
    gate, hands = gate_of(kind, payoffs, spreads), [
        SlowHand(payoff, spread, kind == HEDGE) for payoff, spread in zip(payoffs, spreads, strict=True)
    ]  # fmt: skip
    chosen, entered, outside, weight = aligned_zeros(HANDS), np.zeros(HANDS), np.zeros(HANDS), 0.0
    for number in range(12):
        kept, added = number / (number + 1), 1.0
        choose(gate, kept, added, chosen)
        expected = np.array([hand.choose() for hand in hands])
        share = gate.numbers[SHARE * HANDS :][:HANDS].astype(np.float64)
        clear = (spreads > 0) | (np.abs(payoffs - first) > 1e-3 * stake) if number else np.full(HANDS, True)
        assert share[clear] == pytest.approx(expected[clear, 0], abs=1e-6 if kind == NORMAL else 3e-6)
        assert ((share >= 0) & (share <= 1)).all()
        np.testing.assert_allclose(chosen, 0.25 * share, atol=1e-7)
        entered, outside = entered * np.float32(kept) + share, outside * np.float32(kept) + expected[:, 1]
        weight = weight * np.float32(kept) + added
        found = gate.numbers.reshape(ROWS, HANDS)[[ENTERED, OUTSIDE]].astype(np.float64)
        np.testing.assert_allclose(found[0], entered, atol=1e-5)
        np.testing.assert_allclose(found[1, clear], outside[clear], atol=1e-4 * max(stake, float(spreads.max())))
        assert gate.counts[WEIGHT] == pytest.approx(weight)
        values = row(np.where(steady, first, first + 0.3 * stake * rng.normal(size=HANDS))).astype(np.float64)
        learn(gate, row(0.5 * values), 1.0, 1.0)
        for hand, value in zip(hands, values.tolist(), strict=True):
            hand.values.append(value)


@kernel
def exponentials(numbers, found):
    for at in range(0, len(numbers), BLOCK):
        store(found, at, exponential(load(numbers, at)))


@kernel
def roots(numbers, found):
    for at in range(0, len(numbers), BLOCK):
        store(found, at, root(load(numbers, at)))


def testexponentials_and_roots() -> None:
    numbers = aligned_zeros(1 << 16)
    numbers[:] = np.linspace(-87, 88, len(numbers))
    numbers[: 3 * BLOCK] = np.resize([0.0, -0.0, np.log(2), -1e-30, 1e-8, -np.log(2) / 2], 3 * BLOCK)
    found = np.zeros_like(numbers)
    exponentials(numbers, found)
    np.testing.assert_allclose(found, np.exp(numbers.astype(np.float64)), rtol=2e-7)
    assert found[0] == found[1] == 1.0
    roots(np.abs(numbers), found)
    np.testing.assert_array_equal(found, np.sqrt(np.abs(numbers)))
