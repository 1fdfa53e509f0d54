"""Kernels of `solver.depth_limited`: a block of sixteen hands at a time goes down the tree of a depth-limited game, or
up.

Nothing passes from hand to hand but at the leaves, which are not evaluated here, so a block is done with the whole tree
at a time, and what it needs on the way stays in the first cache.

`down` turns regrets into strategies, sums them into averages and writes how often each hand comes to each leaf with
each continuation. `up` takes what that is worth there and updates regrets.

Arrays are flat, hands padded to whole blocks. Of one player:

    regrets, averages, strategy          [edge of the player][hand]
    wishes, wished, wish                 [choice][continuation][hand]   regrets, averages, strategy of choices at leaves
    reaches, values                      [leaf][continuation][hand]
    rows                                 [node, then leaf][hand of a block]
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from protocol.arrays import F32, I32
from solver.kernels.compiled import kernels_in
from solver.kernels.vectors import BLOCK, add, address, div, if_positive, item, larger, load, mul, splat, store, sub

kernel = kernels_in(Path(__file__))

_NOTHING, _ONE = np.float32(0.0), np.float32(1.0)


class Side(NamedTuple):
    """One player's view of the tree, and what it has learnt."""

    mine: I32  # [node] 1 if the player acts there, 2 if it does so as given
    first: I32  # [node + 1] the first of its children
    child: I32  # [child] a node, or the number of nodes plus a leaf
    edge: I32  # [node] the first of its edges among the player's
    choice: I32  # [leaf] which choice is made there, or -1
    count: int  # continuations
    choices: int
    regrets: F32
    averages: F32
    strategy: F32
    wishes: F32
    wished: F32
    wish: F32


@kernel
def _shares(regrets, at, step, count, strategy):
    """Sixteen hands' strategy at `at`, `at + step`, …: positive regrets in proportion, or all alike."""
    zero, total = splat(_NOTHING), splat(_NOTHING)
    for number in range(count):
        total = add(total, larger(load(regrets, at + number * step), zero))
    scale, alike = if_positive(total, div(splat(_ONE), total), zero), splat(np.float32(1.0 / count))
    for number in range(count):
        place = at + number * step
        share = mul(larger(load(regrets, place), zero), scale)
        store(strategy, place, if_positive(total, share, alike))


@kernel
def _sum_up(averages, at, kept, added):
    store(averages, at, add(mul(load(averages, at), kept), added))


@kernel
def down(side, range_, kept, added, reaches, rows):
    """From a range [hand] to `reaches`; averages are multiplied by `kept`, and the strategy counts `added`."""
    hands, nodes, leaves = range_.size, side.mine.size, side.choice.size
    mine, first, child, edge = (
        address(side.mine, 0),
        address(side.first, 0),
        address(side.child, 0),
        address(side.edge, 0),
    )
    choice, regrets, averages = address(side.choice, 0), address(side.regrets, 0), address(side.averages, 0)
    strategy, wishes = address(side.strategy, 0), address(side.wishes, 0)
    wished, wish = address(side.wished, 0), address(side.wish, 0)
    way, ends = address(rows, 0), address(reaches, 0)
    old, new = splat(np.float32(kept)), splat(np.float32(added))
    for h in range(0, hands, BLOCK):
        for number in range(side.choices):
            at = number * side.count * hands + h
            _shares(wishes, at, hands, side.count, wish)
            for continuation in range(side.count):
                place = at + continuation * hands
                store(wished, place, mul(load(wished, place), old))
        store(way, 0, load(address(range_, 0), h))
        for node in range(nodes):
            come, begin = load(way, node * BLOCK), item(first, node)
            count = item(first, node + 1) - begin
            if item(mine, node):
                at = item(edge, node) * hands + h
                _shares(regrets, at, hands, count, strategy)
                for number in range(count):
                    here = mul(come, load(strategy, at + number * hands))
                    _sum_up(averages, at + number * hands, old, mul(here, new))
                    store(way, item(child, begin + number) * BLOCK, here)
            else:
                for number in range(count):
                    store(way, item(child, begin + number) * BLOCK, come)
        for leaf in range(leaves):
            come, chosen, at = load(way, (nodes + leaf) * BLOCK), item(choice, leaf), leaf * side.count * hands + h
            if chosen < 0:
                store(ends, at, come)
                for continuation in range(1, side.count):
                    store(ends, at + continuation * hands, splat(_NOTHING))
            else:
                for continuation in range(side.count):
                    place = (chosen * side.count + continuation) * hands + h
                    here = mul(come, load(wish, place))
                    store(ends, at + continuation * hands, here)
                    _sum_up(wished, place, splat(_ONE), mul(here, new))


@kernel
def up(side, values, positive, negative, result, rows):
    """From `values` to regrets, of which so much is kept, and to what hands win at the root, `result` [hand]."""
    hands, nodes, leaves = result.size, side.mine.size, side.choice.size
    mine, first, child, edge = (
        address(side.mine, 0),
        address(side.first, 0),
        address(side.child, 0),
        address(side.edge, 0),
    )
    choice, regrets, strategy = address(side.choice, 0), address(side.regrets, 0), address(side.strategy, 0)
    wishes, wish = address(side.wishes, 0), address(side.wish, 0)
    way, ends = address(rows, 0), address(values, 0)
    keep, drop, zero = splat(np.float32(positive)), splat(np.float32(negative)), splat(_NOTHING)
    for h in range(0, hands, BLOCK):
        for row in range(side.choices * side.count):
            regret = load(wishes, row * hands + h)
            store(wishes, row * hands + h, mul(regret, if_positive(regret, keep, drop)))
        for leaf in range(leaves):
            chosen, at = item(choice, leaf), leaf * side.count * hands + h
            total = load(ends, at)
            if chosen >= 0:
                to, total = chosen * side.count * hands + h, zero
                for continuation in range(side.count):
                    share = load(wish, to + continuation * hands)
                    total = add(total, mul(share, load(ends, at + continuation * hands)))
                for continuation in range(side.count):
                    more = sub(load(ends, at + continuation * hands), total)
                    _sum_up(wishes, to + continuation * hands, splat(_ONE), more)
            store(way, (nodes + leaf) * BLOCK, total)
        for node in range(nodes - 1, -1, -1):
            begin, total, acts = item(first, node), zero, item(mine, node)
            count = item(first, node + 1) - begin
            at = item(edge, node) * hands + h
            for number in range(count):
                won = load(way, item(child, begin + number) * BLOCK)
                total = add(total, mul(won, load(strategy, at + number * hands)) if acts else won)
            if acts == 1:
                for number in range(count):
                    more = sub(load(way, item(child, begin + number) * BLOCK), total)
                    regret = load(regrets, at + number * hands)
                    store(regrets, at + number * hands, add(mul(regret, if_positive(regret, keep, drop)), more))
            store(way, node * BLOCK, total)
        store(address(result, 0), h, load(way, 0))
