"""Bets that a tree does not have, as bets that it has: the randomised pseudo-harmonic mapping.

A bet is what it puts in beyond a call, as a fraction of the pot after the call: so a bet of the pot is 1, and a call or
a check is 0. A bet x between the neighbouring sizes A < B of the tree is taken for A with probability

    f(x) = (B − x)(1 + A) / ((B − A)(1 + x))

and for B otherwise. It follows from the game in which one player bets x with a perfect polarised range: against a bet
x the right share of calls is 1/(1 + x), and f is the only mix of A and B after which calls stay right for every x in
between. f is 1 at A and 0 at B, falls all the way, does not change when all bets are measured in other chips, and is
1/2 at

    x* = (A + B + 2AB) / (A + B + 2)

which is nearer A than their mean is. A may be 0. Below the smallest size a bet is that size, above the largest the
largest. The draw is the caller's: one number for each bet of a hand, that must not depend on anybody's cards, or the
choice would tell them.

Sources: S. Ganzfried, T. Sandholm, Action Translation in Extensive-Form Games with Large Action Spaces: Axioms,
Paradoxes, and the Pseudo-Harmonic Mapping, IJCAI 2013; N. Brown's thesis, 5.1.7, measures what it costs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


def smaller_probability(a: float, x: float, b: float) -> float:
    """How often a bet x is taken for a, where a ≤ x ≤ b and a < b."""
    return (b - x) * (1 + a) / ((b - a) * (1 + x))


def translate(x: float, sizes: Sequence[float], draw: float) -> int:
    """The place of the size that a bet x is taken for, among ascending sizes, by a uniform draw from [0, 1)."""
    above = bisect_right(sizes, x)
    if above == 0:
        return 0
    if above == len(sizes) or sizes[above - 1] == x:
        return above - 1
    return above - 1 if draw < smaller_probability(sizes[above - 1], x, sizes[above]) else above


def fraction(to: int, committed: Sequence[int], actor: int) -> float:
    """A raise to `to` chips as a fraction of the pot after the call; `committed` of both players over the hand."""
    called = max(committed)
    return (to - called) / _pot_after_call(committed, actor)


def raise_to(size: float, committed: Sequence[int], actor: int) -> int:
    """The chips of a raise of such a size, rounded; the rules may not allow it."""
    return max(committed) + round(size * _pot_after_call(committed, actor))


def _pot_after_call(committed: Sequence[int], actor: int) -> int:
    return max(1, sum(committed) + max(committed) - committed[actor])
