"""What a player chooses before the root, updated between passes: to enter with a hand, or which hand to enter with.

A gate has a column of numbers for each hand of its player. Before a pass of the other player `choose` writes the range
that comes through the gate; after a pass of the gate's own player `learn` takes in the values at the root. Both go over
the hands once or twice, so that a gate costs little. `solver.gadgets` says what gates are for.

ENTER   per hand: regret matching between entering and the alternative payoff.
PICK    regret matching over the hands, whose values are shifted by their alternative payoffs.
NORMAL  per hand: enter with the probability that a normally distributed alternative payoff is below the hand's value
        in the latest pass (Theorem 22 of Brown's thesis).
HEDGE   the same for Hedge in place of a best response (5.1.6): after t values v with mean m and variance V enter with
        probability E 1/(1 + exp(k (X - m))), k = sqrt(t ln 2) / (3 sqrt V). The logistic function is replaced by a
        mixture of three normal distribution functions (at most 5e-5 from it), for which the integral is a sum of three.

Arrays are [hand], padded to whole blocks; a hand that cannot be has `inverse` and `scale` 0, and so has padding.
"""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np

from solver.kernels.compiled import kernel
from solver.kernels.vectors import (
    BLOCK,
    add,
    address,
    div,
    exponential,
    if_positive,
    larger,
    load,
    mul,
    root,
    splat,
    store,
    sub,
)

NO_GATE, ENTER, PICK, NORMAL, HEDGE = range(5)

ROWS = 5
GAINED, LOST, SHARE, ENTERED, OUTSIDE = range(ROWS)
"""Rows of `Gate.numbers`: the regrets of entering and of the alternative payoff, the present probability of entering
(or of picking the hand), and two averages: of that, and of what the alternative payoff brought. NORMAL keeps in the
first row how far the latest value is above the payoff; HEDGE the mean of that, and the sum of squares around it in the
second."""

CHOSEN, SEEN, WEIGHT, POSITIVE, HANDS = range(5)
"""Places in `Gate.counts`: choices, passes of the player, what averages sum up to, the sum of positive regrets, and
hands that can be."""

_WEIGHTS = tuple([np.float32(each) for each in (0.25298233, 0.58473591, 0.16228176)])
_SQUARES = tuple([np.float32(each**2) for each in (1.10207904, 1.73163681, 2.74753323)])
"""Of the mixture: weights and variances."""
_HEDGE = 9 / log(2)
_DENSITY = np.float32(1 / sqrt(2 * pi))
_A = tuple(
    [np.float32(each * sqrt(pi / 2)) for each in (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)]
)
_B = np.float32(0.3275911 * sqrt(0.5))
_FARTHEST = np.float32(12.0)
"""Standard deviations beyond which nothing is left."""
_LEAST_SQUARE = np.float32(1e-16)
"""Of chips: a payoff with less variance is certain."""


@kernel
def choose(gate, kept, added, chosen):
    """The range for a pass of the other player; both averages take in what is chosen."""
    gate.counts[CHOSEN] += 1.0
    kept, added = np.float32(kept), np.float32(added)  # for sums and weight alike, so that averages do not drift
    gate.counts[WEIGHT] = gate.counts[WEIGHT] * kept + added
    if gate.kind == NORMAL or gate.kind == HEDGE:
        _choose_against_distributions(gate, kept, added, chosen)
        return
    hands, picks, total = len(gate.scale), gate.kind == PICK, gate.counts[POSITIVE]
    gained, lost = address(gate.numbers, GAINED * hands), address(gate.numbers, LOST * hands)
    shares, entered = address(gate.numbers, SHARE * hands), address(gate.numbers, ENTERED * hands)
    outside, payoffs = address(gate.numbers, OUTSIDE * hands), address(gate.payoffs, 0)
    scale, range_ = address(gate.scale, 0), address(chosen, 0)
    zero, half, one = splat(np.float32(0.0)), splat(np.float32(0.5)), splat(np.float32(1.0))
    part = splat(np.float32(1.0 / total if total > 0.0 else 0.0))
    equal = splat(np.float32(0.0 if total > 0.0 else 1.0 / gate.counts[HANDS]))
    old, new = splat(kept), splat(added)
    for h in range(0, hands, BLOCK):
        here, gain = load(scale, h), larger(load(gained, h), zero)
        if picks:
            share = add(mul(gain, part), if_positive(here, equal, zero))
        else:
            both = add(gain, larger(load(lost, h), zero))
            share = if_positive(here, if_positive(both, div(gain, both), half), zero)
            left = mul(mul(sub(one, share), load(payoffs, h)), new)
            store(outside, h, add(mul(load(outside, h), old), left))
        store(shares, h, share)
        store(entered, h, add(mul(load(entered, h), old), mul(share, new)))
        store(range_, h, mul(share, here))


@kernel
def learn(gate, result, positive, negative):
    """Take in the counterfactual values of a pass of the gate's player."""
    gate.counts[SEEN] += 1.0
    if gate.kind == NORMAL or gate.kind == HEDGE:
        _learn_against_distributions(gate, result)
        return
    hands, picks = len(gate.scale), gate.kind == PICK
    gained, lost = address(gate.numbers, GAINED * hands), address(gate.numbers, LOST * hands)
    shares, payoffs = address(gate.numbers, SHARE * hands), address(gate.payoffs, 0)
    inverse, values = address(gate.inverse, 0), address(result, 0)
    zero, keep, drop = splat(np.float32(0.0)), splat(np.float32(positive)), splat(np.float32(negative))
    mean, total = zero, zero
    if picks:
        for h in range(0, hands, BLOCK):
            won = sub(mul(load(values, h), load(inverse, h)), load(payoffs, h))
            total = add(total, mul(won, load(shares, h)))
        mean, total = splat(_sum(gate.lanes, total)), zero
    for h in range(0, hands, BLOCK):
        live, share = load(inverse, h), load(shares, h)
        more = if_positive(live, sub(mul(load(values, h), live), load(payoffs, h)), zero)
        regret = load(gained, h)
        regret = mul(regret, if_positive(regret, keep, drop))
        if picks:
            regret = if_positive(live, add(regret, sub(more, mean)), zero)
            total = add(total, larger(regret, zero))
        else:
            taken = mul(more, share)
            regret = add(regret, sub(more, taken))
            other = load(lost, h)
            store(lost, h, sub(mul(other, if_positive(other, keep, drop)), taken))
        store(gained, h, regret)
    if picks:
        gate.counts[POSITIVE] = _sum(gate.lanes, total)


@kernel
def _sum(lanes, vector):
    store(address(lanes, 0), 0, vector)
    total = np.float32(0.0)
    for lane in range(BLOCK):
        total += lanes[lane]
    return total


@kernel
def _choose_against_distributions(gate, kept, added, chosen):
    hands, seen, normal = len(gate.scale), gate.counts[SEEN], gate.kind == NORMAL
    gained, lost = address(gate.numbers, GAINED * hands), address(gate.numbers, LOST * hands)
    shares, entered = address(gate.numbers, SHARE * hands), address(gate.numbers, ENTERED * hands)
    outside, payoffs = address(gate.numbers, OUTSIDE * hands), address(gate.payoffs, 0)
    spreads, scale, range_ = address(gate.spreads, 0), address(gate.scale, 0), address(chosen, 0)
    half, old, new = splat(np.float32(0.5)), splat(kept), splat(added)
    unit = splat(np.float32(_HEDGE / (seen * seen) if seen > 0.0 else 0.0))
    for h in range(0, hands, BLOCK):
        mean, spread = load(payoffs, h), load(spreads, h)
        own = mul(spread, spread)
        if seen == 0.0:
            share, left = half, mul(half, mean)
        elif normal:
            share, left = _below(load(gained, h), own, own, mean)
        else:
            gain, noise = load(gained, h), mul(load(lost, h), unit)
            share, left = _below(gain, own, add(own, mul(noise, splat(_SQUARES[0]))), mean)
            share, left = mul(share, splat(_WEIGHTS[0])), mul(left, splat(_WEIGHTS[0]))
            for each in range(1, len(_WEIGHTS)):
                weight = splat(_WEIGHTS[each])
                below, above = _below(gain, own, add(own, mul(noise, splat(_SQUARES[each]))), mean)
                share, left = add(share, mul(below, weight)), add(left, mul(above, weight))
        store(shares, h, share)
        store(entered, h, add(mul(load(entered, h), old), mul(share, new)))
        store(outside, h, add(mul(load(outside, h), old), mul(left, new)))
        store(range_, h, mul(share, load(scale, h)))


@kernel
def _learn_against_distributions(gate, result):
    hands, normal = len(gate.scale), gate.kind == NORMAL
    gained, lost = address(gate.numbers, GAINED * hands), address(gate.numbers, LOST * hands)
    inverse, payoffs, values = address(gate.inverse, 0), address(gate.payoffs, 0), address(result, 0)
    part = splat(np.float32(1.0 / gate.counts[SEEN]))
    for h in range(0, hands, BLOCK):
        more = sub(mul(load(values, h), load(inverse, h)), load(payoffs, h))
        if normal:
            store(gained, h, more)
        else:
            before = load(gained, h)
            off = sub(more, before)
            mean = add(before, mul(off, part))
            store(gained, h, mean)
            store(lost, h, add(load(lost, h), mul(off, sub(more, mean))))


@kernel
def _below(gain, own, square, mean):
    """For X normal around `mean` with variance `own`, and normal noise that makes the variance of both `square`: the
    probability that X and noise are at most `mean + gain`, and E X where they are not.

    P(Z > z) = phi(z) (a_1 t + ... + a_5 t^5), t = 1 / (1 + b z), to 8e-8 (Abramowitz and Stegun, 7.1.26): one
    exponential for both. One division, too: 1 / w and t = w / (w + b |gain|) from 1 / (w (w + b |gain|)).
    """
    zero = splat(np.float32(0.0))
    size, most = larger(gain, sub(zero, gain)), splat(_FARTHEST)
    width = root(larger(square, splat(_LEAST_SQUARE)))
    both = add(width, mul(size, splat(_B)))
    quotient = div(splat(np.float32(1.0)), mul(width, both))
    inverse, t = mul(both, quotient), mul(mul(width, width), quotient)
    z = mul(size, inverse)
    z = if_positive(sub(most, z), z, most)
    density = mul(splat(_DENSITY), exponential(mul(mul(z, z), splat(np.float32(-0.5)))))
    series = mul(t, splat(_A[4]))
    for power in range(3, -1, -1):
        series = mul(t, add(series, splat(_A[power])))
    far = mul(density, series)
    near = sub(splat(np.float32(1.0)), far)
    share, rest = if_positive(gain, near, far), if_positive(gain, far, near)
    return share, add(mul(rest, mean), mul(mul(own, inverse), density))
