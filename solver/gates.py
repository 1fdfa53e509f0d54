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

from math import erf, exp, log, pi, sqrt

import numpy as np

from solver.compiled import kernel
from solver.vectors import BLOCK, add, address, div, if_positive, larger, load, mul, splat, store, sub

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

_MIXTURE = ((0.25298233, 1.10207904), (0.58473591, 1.73163681), (0.16228176, 2.74753323))
"""Weights and standard deviations."""
_ROOT_HALF, _DENSITY = sqrt(0.5), 1 / sqrt(2 * pi)
_HEDGE = 9 / log(2)


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
    hands = len(gate.scale)
    for h in range(hands):
        share, outside = _entering(gate, h)
        gate.numbers[SHARE * hands + h] = share
        for row, number in ((ENTERED, share), (OUTSIDE, outside)):
            gate.numbers[row * hands + h] = gate.numbers[row * hands + h] * kept + number * added
        chosen[h] = share * gate.scale[h]


@kernel
def _learn_against_distributions(gate, result):
    hands, seen = len(gate.scale), gate.counts[SEEN]
    for h in range(hands):
        more = result[h] * gate.inverse[h] - gate.payoffs[h]
        if gate.kind == NORMAL:
            gate.numbers[GAINED * hands + h] = more
        else:
            off = more - gate.numbers[GAINED * hands + h]
            mean = gate.numbers[GAINED * hands + h] + off / seen
            gate.numbers[GAINED * hands + h] = mean
            gate.numbers[LOST * hands + h] += off * (more - mean)


@kernel
def _entering(gate, h):
    """The probability of entering against a distributed alternative payoff X, and E X where it is taken."""
    hands, mean, spread, seen = len(gate.scale), gate.payoffs[h], gate.spreads[h], gate.counts[SEEN]
    if seen == 0.0:
        return 0.5, 0.5 * mean
    gain = gate.numbers[GAINED * hands + h]
    if gate.kind == NORMAL:
        return _below(gain, spread, 0.0, mean)
    noise = sqrt(_HEDGE * gate.numbers[LOST * hands + h]) / seen
    share, outside = 0.0, 0.0
    for weight, deviation in _MIXTURE:
        part, out = _below(gain, spread, deviation * noise, mean)
        share += weight * part
        outside += weight * out
    return share, outside


@kernel
def _below(gain, spread, noise, mean):
    """For X normal around `mean` and normal noise: P(X + noise <= mean + gain), and E X where that is not so."""
    width = sqrt(spread * spread + noise * noise)
    if width == 0.0:
        share = 0.5 if gain == 0.0 else (1.0 if gain > 0.0 else 0.0)
        return share, (1.0 - share) * mean
    z = gain / width
    share = 0.5 * (1.0 + erf(z * _ROOT_HALF))
    return share, (1.0 - share) * mean + spread * spread / width * _DENSITY * exp(-0.5 * z * z)
