"""Walks of external sampling (Lanctot, Waugh, Zinkevich and Bowling 2009), compiled.

A walk has one deal and goes through the tree twice, first for player 0, then for player 1. Where the player acts all
actions are followed; where the other one does, one, drawn from its strategy by regret matching. What each action won
less what the strategy won is added to the regrets, times the weight of the walk.

The average strategy is that of the *other* player, at the nodes that a traversal comes to: they are reached with the
probability of that player's own actions (and of chance), so adding its strategy as it stands weights it as it should
be. Sums are rounded with dither: a strategy's small part of a large sum would otherwise be lost in float32.

With skipping, most walks do not follow actions of the player whose regret is below a bound, provided that another
action is played. Only actions that lead to further decisions on a street before the last: ends are cheap, and on the
last street little would be saved. The few walks that skip nothing count what they find there as often as is made up
for by it: regrets of these actions, and regrets and averages of both players below them. So nothing changes in the mean
but the noise. (Pluribus leaves it at the smaller number of visits. Then regrets that should rise again rise twenty
times slower, and so does the other player's average strategy against what is skipped: in Leduc an exploitability of
0.009 that fell to zero without skipping went up to 0.07 with it.)

Recursion is a stack: compiled functions that call themselves cannot be kept on disk.

    numbers  [node][bucket][action]  regrets and sums, flat float32; those of a node begin at 16 * nodes[node, AT]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blueprints.train.external.kernels.samples import kernel, mixed, unit
from protocol.arrays import F32, I32
from solver.kernels.vectors import prefetch

AT, FIRST, COUNT, WHO = 0, 1, 2, 3
"""Columns of a node: where its numbers begin, in sixteens; its first edge; actions; player * streets + street."""
ALIGNED = 16
MOST_ACTIONS = 32
"""A set of actions is the bits of a number."""


class Paths(NamedTuple):
    """A betting tree."""

    nodes: I32  # [node, 4]
    leads: I32  # [edge] a node, or ~leaf
    leaves: F32  # [leaf, 2] what player 0 wins: a fixed sum, and the sum that goes to the better hand
    streets: int
    deepest: int  # decisions of one player on a path, at most


class Learning(NamedTuple):
    """What walks learn."""

    regrets: F32
    averages: F32
    weight: np.float32  # of these walks
    bound: np.float32  # regrets below it may be skipped
    skipping: float  # the probability of a walk that skips
    boost: np.float32  # how often what it would skip counts in a walk that does not


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LOST = np.uint64((1 << 29) - 1)
"""Bits of a float64 that a float32 has not."""
_NOTHING, _ONE = np.float32(0.0), np.float32(1.0)


@kernel
def _dithered(total, random):
    """A positive float64 as float32, rounded up with the probability of the part cut off."""
    bits = np.float64(total).view(np.uint64) + (random & _LOST) & ~_LOST
    return np.float32(np.uint64(bits).view(np.float64))


@kernel
def _leaf(leaves, lead, sign, flip):
    """What a leaf is worth to the player."""
    return flip * (leaves[~lead, 0] + sign * leaves[~lead, 1])


@kernel
def _ask_for(paths, buckets, regrets, averages, first, count):
    """The numbers of the nodes that actions lead to, ahead of time: most of a walk is waiting for them."""
    for edge in range(first, first + count):
        node = paths.leads[edge]
        if node >= 0:
            place = np.int64(paths.nodes[node, AT]) * ALIGNED
            place += buckets[paths.nodes[node, WHO]] * paths.nodes[node, COUNT]
            prefetch(regrets, place)
            prefetch(averages, place)


@kernel
def _draw(regrets, at, count, random):
    """An action of the strategy, and the sum of positive regrets."""
    total = _NOTHING
    for action in range(count):
        total += max(regrets[at + action], _NOTHING)
    if not total > _NOTHING:
        return min(np.int64(unit(random) * count), count - 1), total
    wanted, passed, chosen = np.float32(unit(random)) * total, _NOTHING, 0
    for action in range(count):
        regret = regrets[at + action]
        if regret > _NOTHING:
            if passed <= wanted:
                chosen = action
            passed += regret
    return chosen, total


@kernel
def _gather(regrets, averages, at, count, total, weight, random):
    """Adds the strategy to the average."""
    share = weight / total if total > _NOTHING else weight / np.float32(count)
    for action in range(count):
        regret = regrets[at + action] if total > _NOTHING else _ONE
        if regret > _NOTHING:
            added = np.float64(regret) * np.float64(share)
            averages[at + action] = _dithered(averages[at + action] + added, random)


@kernel
def _strategy(regrets, at, count, shares):
    """Regret matching; whether any regret is positive."""
    total = _NOTHING
    for action in range(count):
        total += max(regrets[at + action], _NOTHING)
    if total > _NOTHING:
        for action in range(count):
            shares[action] = max(regrets[at + action], _NOTHING) / total
        return True
    for action in range(count):
        shares[action] = _ONE / np.float32(count)
    return False


@kernel
def _traverse(paths, learning, buckets, sign, player, skips, state, stack, scales, shares, values):
    """One player's half of a walk. Returns the state of the stream, what the player won, and how much was updated.

    stack int64[depth, 5]: where the node's numbers begin, first edge, actions, the one in work, those below the bound.
    scales float32[depth]: how often the node counts; shares, values float32[depth, action].
    """
    regrets, averages, leads, leaves = learning.regrets, learning.averages, paths.leads, paths.leaves
    flip, signed = np.float32(1.0 if player == 0 else -1.0), np.float32(sign)
    last = paths.streets - 1
    node, depth, updates, scale = 0, -1, 0, _ONE
    while True:
        first, count, who = paths.nodes[node, FIRST], np.int64(paths.nodes[node, COUNT]), paths.nodes[node, WHO]
        at = np.int64(paths.nodes[node, AT]) * ALIGNED + buckets[who] * count
        value, returns = _NOTHING, False
        if (who >= paths.streets) != (player == 1):
            state += _GOLDEN
            random = mixed(state)
            action, total = _draw(regrets, at, count, random)
            edge = first + action
            _ask_for(paths, buckets, regrets, regrets, edge, 1)
            _gather(regrets, averages, at, count, total, scale * learning.weight, random)
            updates += count
            if leads[edge] >= 0:
                node = leads[edge]
                continue
            value, returns = _leaf(leaves, leads[edge], signed, flip), True
        else:
            _ask_for(paths, buckets, regrets, averages, first, count)
            depth += 1
            chooses = _strategy(regrets, at, count, shares[depth])
            here = stack[depth]
            here[0], here[1], here[2], here[3], here[4] = at, first, count, 0, 0
            scales[depth] = scale
            if learning.skipping > 0.0 and chooses and who != last and who != last + paths.streets:
                for action in range(count):
                    if regrets[at + action] < learning.bound and leads[first + action] >= 0:
                        here[4] |= 1 << action
        while True:
            if returns:
                if depth < 0:
                    return state, value, updates
                values[depth, stack[depth, 3]] = value
                stack[depth, 3] += 1
            at, first, count, action, far = stack[depth]
            skipped = far if skips else 0
            while action < count:
                lead = leads[first + action]
                if lead < 0:
                    values[depth, action] = _leaf(leaves, lead, signed, flip)
                elif not skipped >> action & 1:
                    break
                action += 1
            if action < count:
                stack[depth, 3] = action
                node = leads[first + action]
                scale = learning.boost if far >> action & 1 else scales[depth]
                break
            value, returns = _NOTHING, True
            for action in range(count):
                if not skipped >> action & 1:
                    value += shares[depth, action] * values[depth, action]
            for action in range(count):
                if not skipped >> action & 1:
                    scale = learning.boost if far >> action & 1 else scales[depth]
                    regrets[at + action] += learning.weight * scale * (values[depth, action] - value)
                    updates += 1
            depth -= 1


@kernel
def walk(paths, learning, deals):
    """The walks of these deals. Returns what player 0 won in all its halves, and the updates."""
    stack = np.zeros((paths.deepest + 1, 5), np.int64)
    scales = np.zeros(paths.deepest + 1, np.float32)
    shares = np.zeros((paths.deepest + 1, MOST_ACTIONS), np.float32)
    values = np.zeros((paths.deepest + 1, MOST_ACTIONS), np.float32)
    won, updates = 0.0, 0
    for number in range(len(deals.sign)):
        state = deals.state[number] + _GOLDEN
        skips = unit(mixed(state)) < learning.skipping
        for player in range(2):
            state, value, done = _traverse(
                paths, learning, deals.buckets[number], deals.sign[number], player, skips, state,
                stack, scales, shares, values,
            )  # fmt: skip
            won += value if player == 0 else _NOTHING
            updates += done
    return won, updates
