"""Kernels of `blueprints.values.rollouts`: a walk over one run-out in which each player has k strategies at once.

A board is dealt, both players hold every hand it allows, all betting is played, in bucket space as in training
(`blueprints.train.public.kernels.walk`, read that first), without learning, and with one more dimension: a player's
hand comes to the roots with a reach for each *continuation*, a strategy that is the blueprint's with a bias. k
continuations cost less than k walks, and not k² of them:

- Strategies are read once for each block of buckets, biased k times.
- At a terminal only the sum over the opponent's continuations matters: it is formed on the way into the sweep, so that
  there is one sweep for each chunk and player.
- Values go up k times: the value of a hand at a lane is one number, how often it comes there are k.

The tree is cut into parts whose terminals are swept together (`blueprints.values.rollout_layout`); strategies are read
for 16 buckets at a time. A part and all that follows it are done by one thread, depth first. A *frame* holds what a
part needs between down and up:

    coefficients  [player, continuation][bucket of the walk][lane]     both players' buckets are the same
    reaches       [player, continuation][hand][next lane]
    values        [player, continuation][hand][next lane]

Part 0 is no part of the game: its next lanes are the roots that were asked for. Its frame is shared by the threads,
which share out the parts that follow it; frames of all others are a thread's own.

Rules of the file: as in `walk`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blueprints.boards import kernels as boards
from blueprints.values.kernels.tiles import pick, turn_some, weigh
from solver.kernels.compiled import inlined, kernels_in
from solver.kernels.sweeps import MAX_VECTORS, folds, showdowns
from solver.kernels.tiles import turn
from solver.kernels.vectors import LANES, add, address, div, fetch_add, if_positive, item, load, mul, splat, store

kernel = kernels_in(Path(__file__).parent, boards.__file__)

KINDS = 3
"""Fold, call, raise."""

_ONE, _NOTHING = np.float32(1.0), np.float32(0.0)
_APART = np.int64(0)  # numba would compile a call with the literal 0 once more


@kernel
def _fetch(strategy, row, bucket_id, edges, weights):
    """Sixteen buckets of a strategy [edge][bucket]; for the bucket that nobody has, which it lacks, its last."""
    last = strategy.shape[1] - 1
    for edge in range(edges):
        place = item(row, edge)
        for number in range(LANES):
            weights[edge * LANES + number] = strategy[place, min(item(bucket_id, number), last)]


@kernel
def _play(players, begins, counts, befores, num_nodes, num_roots, weights, kinds, factors, rows):
    """Coefficients of one block and continuation, from the roots' rows to the edges' of both players.

    Where the blueprint has no numbers, all actions are alike before the bias.
    """
    zero = splat(_NOTHING)
    for node in range(num_nodes):
        begin = item(begins, node)
        end = begin + item(counts, node)
        total, plain = zero, zero
        for edge in range(begin, end):
            factor = load(factors, item(kinds, edge) * LANES)
            total, plain = add(total, mul(load(weights, edge * LANES), factor)), add(plain, factor)
        coming = load(rows, item(befores, node) * LANES)
        scale = if_positive(total, div(coming, total), zero)
        alike = if_positive(total, zero, div(coming, plain))
        for edge in range(begin, end):
            factor = load(factors, item(kinds, edge) * LANES)
            share = mul(factor, add(mul(load(weights, edge * LANES), scale), alike))
            store(rows, (num_roots + edge) * LANES, share)


@kernel
def _down(parts, deal, strategies, play, part, above, start_at, step, above_lanes, frame, scratch):
    """Coefficients of a part's lanes, and the reaches of the roots that follow it.

    `above` has the reaches of the part's roots: of a player's continuation, number n of all, and hand h from
    `start_at + n * step + h * above_lanes` on.
    """
    street, nodes, lanes, edge_at = parts.street[part], parts.node_at[part], parts.lane_at[part], parts.edge_at[part]
    edges, width, hands = parts.edge_at[part + 1] - edge_at, parts.lane_at[part + 1] - lanes, deal.order.size
    num_roots, num_nodes = parts.roots[part], parts.node_at[part + 1] - nodes
    players, begins = address(parts.player, nodes), address(parts.begin, nodes)
    counts, befores = address(parts.actions, nodes), address(parts.before, nodes)
    row, kinds = address(play.row, edge_at), address(play.kind, edge_at)
    rows, tile, weights = address(scratch.rows, 0), address(scratch.tile, 0), address(scratch.weights, 0)
    coefficients = address(scratch.frames, frame.coefficients[part])
    blocks = deal.blocks[0, street]
    size = blocks * LANES * width
    for root in range(num_roots):
        store(rows, root * LANES, splat(_ONE))
    for block in range(blocks):
        bucket_id = address(deal.bucket_id, street * hands + block * LANES)
        _fetch(strategies[street], row, bucket_id, edges, scratch.weights)
        for bias in range(play.count):
            factors = address(play.factors, bias * KINDS * LANES)
            _play(players, begins, counts, befores, num_nodes, num_roots, weights, kinds, factors, rows)
            for player in range(2):
                to = (player * play.count + bias) * size + block * LANES * width
                lane_row = address(parts.lane_row, player * parts.lane_root.size + lanes)
                for lane in range(0, width, LANES):
                    for number in range(LANES):
                        store(tile, number * LANES, load(rows, item(lane_row, lane + number) * LANES))
                    turn(tile, 0, LANES, coefficients, to + lane, width)
    if parts.next[part]:
        bucket_of = address(deal.bucket, street * hands)
        first = parts.showdowns[part] + parts.folds[part]
        for number in range(2 * play.count):
            mine = address(scratch.frames, frame.coefficients[part] + number * size)
            reaches = address(scratch.frames, frame.reaches[part] + number * parts.next[part] * hands)
            _expand(
                parts, deal, bucket_of, part, first, parts.next[part], above, start_at + number * step, above_lanes,
                mine, width, reaches,
            )  # fmt: skip


@kernel
def _zero(array, at, size):
    """A whole number of vectors."""
    for place in range(at, at + size, LANES):
        store(array, place, splat(_NOTHING))


@kernel
def _expand(parts, deal, bucket_of, part, first, lanes, above, start_at, above_lanes, coefficients, width, reach):
    """The reaches of one player's hands at some lanes of a part, [hand][lane]."""
    above, roots = address(above, start_at), address(parts.lane_root, parts.lane_at[part] + first)
    for hand in range(deal.live):
        source = item(bucket_of, hand) * width + first
        for lane in range(0, lanes, LANES):
            reach_here = pick(above, hand * above_lanes, roots, lane)
            store(reach, hand * lanes + lane, mul(load(coefficients, source + lane), reach_here))


@kernel
def _expand_all(
    live, bucket_of, roots, first, lanes, above, start_at, step, above_lanes, coefficients, size, width, count, reach
):
    """The reaches of one player's hands at some lanes of a part, all continuations together, [hand][lane]."""
    for hand in range(live):
        source = item(bucket_of, hand) * width + first
        for lane in range(0, lanes, LANES):
            total = splat(_NOTHING)
            for bias in range(count):
                reach_here = pick(above, start_at + bias * step + hand * above_lanes, roots, lane)
                total = add(total, mul(load(coefficients, bias * size + source + lane), reach_here))
            store(reach, hand * lanes + lane, total)


@kernel
def _collapse(parts, row, hands, bucket_of, coefficients, size, width, value, apart, count, root_value, rise, masks):
    """Values of one player's hands at the lanes of a chunk, added to the roots' by hand, for each continuation.

    Those of continuation n are from `value[n * apart]` on, its coefficients from `coefficients[n * size]` on, and what
    comes of them is added from `root_value[n * rise]` on.
    """
    first, step = parts.chunk[row, 0], parts.chunk[row, 1] * LANES
    begin, end, segment = parts.chunk[row, 2], parts.chunk[row, 3], address(parts.segment, 0)
    for hand in range(0, hands, LANES):
        for bias in range(count):
            source, weight = bias * apart + hand * step, bias * size + first
            for number in range(3 * begin, 3 * end, 3):
                lane, to = item(segment, number), bias * rise + item(segment, number + 2) * hands + hand
                last = lane + item(segment, number + 1)
                total = load(root_value, to)
                for place in range(lane, last, LANES):
                    mask = max(0, place + LANES - last) * LANES
                    won = weigh(
                        value, source + place, step, coefficients, weight + place, bucket_of, hand, width, masks, mask
                    )  # fmt: skip
                    total = add(total, won)
                store(root_value, to, total)


@kernel
def _terminals(parts, deal, play, part, player, above, start_at, step, above_lanes, frame, scratch):
    """One player's values at showdowns and folds, to the roots'."""
    hands, street, lanes = deal.order.size, parts.street[part], parts.lane_at[part]
    width = parts.lane_at[part + 1] - lanes
    size, bucket_of = deal.blocks[0, street] * LANES * width, address(deal.bucket, street * hands)
    mine = address(scratch.frames, frame.coefficients[part] + player * play.count * size)
    theirs = address(scratch.frames, frame.coefficients[part] + (1 - player) * play.count * size)
    root_value = address(scratch.root_value, 0)
    start_at += (1 - player) * play.count * step
    reach, value, totals = address(scratch.reach, 0), address(scratch.value, 0), address(scratch.totals, 0)
    minus, cards, order = address(deal.minus, 0), address(deal.cards, 0), address(deal.order, 0)
    group, twin, masks = address(deal.group, 0), address(deal.twin, 0), address(scratch.masks, 0)
    for kind in range(2):
        for row in range(parts.chunk_at[3 * part + kind], parts.chunk_at[3 * part + kind + 1]):
            first, vectors = parts.chunk[row, 0], parts.chunk[row, 1]
            roots = address(parts.lane_root, lanes + first)
            _expand_all(
                deal.live, bucket_of, roots, first, vectors * LANES, above, start_at, step, above_lanes,
                theirs, size, width, play.count, reach,
            )  # fmt: skip
            chips = address(parts.chips, player * parts.lane_root.size + lanes + first)
            if kind == 0:
                showdowns(
                    vectors, order, group, minus, order, group, cards, deal.groups, chips, reach, value, totals
                )  # fmt: skip
            else:
                _zero(reach, hands * vectors * LANES, vectors * LANES)
                folds(vectors, minus, twin, deal.live, cards, deal.live, chips, reach, value, totals)
            _zero(value, deal.live * vectors * LANES, (hands - deal.live) * vectors * LANES)
            _collapse(
                parts, row, hands, bucket_of, mine, size, width, value, _APART, play.count, root_value,
                parts.roots[part] * hands, masks,
            )  # fmt: skip


@kernel
def _up(parts, deal, play, players, part, above, start_at, back_at, step, above_lanes, frame, scratch):
    """Values of a part's roots to `above`, where they lie as the reaches do."""
    hands, street, num_roots = deal.order.size, parts.street[part], parts.roots[part]
    width = parts.lane_at[part + 1] - parts.lane_at[part]
    size, bucket_of = deal.blocks[0, street] * LANES * width, address(deal.bucket, street * hands)
    masks, root_value = address(scratch.masks, 0), address(scratch.root_value, 0)
    for player in range(players[0], players[1]):
        _zero(root_value, 0, play.count * num_roots * hands)
        _terminals(parts, deal, play, part, player, above, start_at, step, above_lanes, frame, scratch)
        if parts.next[part]:
            mine = address(scratch.frames, frame.coefficients[part] + player * play.count * size)
            apart = parts.next[part] * hands
            value = address(scratch.frames, frame.values[part] + player * play.count * apart)
            row = parts.chunk_at[3 * part + 2]
            _collapse(
                parts, row, hands, bucket_of, mine, size, width, value, apart, play.count, root_value,
                num_roots * hands, masks,
            )  # fmt: skip
        for bias in range(play.count):
            to, own = back_at + (player * play.count + bias) * step, bias * num_roots * hands
            for hand in range(0, hands, LANES):
                turn_some(root_value, own + hand, hands, above, to + hand * above_lanes, above_lanes, num_roots)


@kernel
def _places(parts, frame, part, hands):
    """Where in the frame before it the reaches of a part's roots are, where their values go, and steps: see `_down`."""
    before, place = parts.parent[part], parts.first_lane[part]
    above_lanes = np.int64(parts.next[before])
    return frame.reaches[before] + place, frame.values[before] + place, above_lanes * hands, above_lanes


@inlined
def _visit(parts, deal, strategies, play, players, top, shared, frame, scratch):
    """A part that follows part 0, and all that follows it."""
    hands = deal.order.size
    frames = scratch.frames
    turns = np.empty(8, np.int64)  # [depth] the next child to go to
    part, depth = np.int64(top), 0
    reach, value_at, step, above_lanes = _places(parts, frame, part, hands)
    _down(parts, deal, strategies, play, part, shared, reach, step, above_lanes, frame, scratch)
    turns[0] = parts.child_at[part]
    while True:
        if turns[depth] < parts.child_at[part + 1]:
            part = turns[depth]
            turns[depth] += 1
            depth += 1
            reach, value_at, step, above_lanes = _places(parts, frame, part, hands)
            _down(parts, deal, strategies, play, part, frames, reach, step, above_lanes, frame, scratch)
            turns[depth] = parts.child_at[part]
        else:
            reach, value_at, step, above_lanes = _places(parts, frame, part, hands)
            if depth == 0:
                _up(parts, deal, play, players, part, shared, reach, value_at, step, above_lanes, frame, scratch)
                return
            _up(parts, deal, play, players, part, frames, reach, value_at, step, above_lanes, frame, scratch)
            part = np.int64(parts.parent[part])
            depth -= 1


@kernel
def work(parts, deal, strategies, play, players, apart, shared, frame, scratch, ticket):
    """The parts that follow part 0, as one thread of several. `players`: first and last + 1 whose values are wanted.

    With `apart` each player's values of a part are a task of their own, or a few parts would leave threads idle: the
    way down is then gone twice, the numbers are the same.
    """
    tasks = players[1] - players[0] if apart else 1
    while True:
        task = fetch_add(ticket, 0, 1)
        part = parts.child_at[0] + task // tasks
        if part >= parts.child_at[1]:
            return
        first = players[0] + task % tasks
        last = first + 1 if apart else players[1]
        _visit(parts, deal, strategies, play, (first, last), part, shared, frame, scratch)


@kernel
def put(reaches, hands, size, lanes, shared):
    """Reaches [player, continuation, root, any hand] into the frame of part 0; `hands` are those of the deal."""
    for player in range(reaches.shape[0]):
        for bias in range(reaches.shape[1]):
            at = (player * reaches.shape[1] + bias) * size * lanes
            for first in range(0, reaches.shape[2], LANES):
                last = min(first + LANES, reaches.shape[2])
                for hand in range(hands.size):
                    for root in range(first, last):
                        shared[at + hand * lanes + root] = reaches[player, bias, root, hands[hand]]


@kernel
def take(values, hands, size, lanes, players, shared, begin):
    """Values [player, continuation, root, any hand] out of the frame of part 0."""
    for player in range(players[0], players[1]):
        for bias in range(values.shape[1]):
            at = begin + (player * values.shape[1] + bias) * size * lanes
            for first in range(0, values.shape[2], LANES):
                last = min(first + LANES, values.shape[2])
                for hand in range(hands.size):
                    for root in range(first, last):
                        values[player, bias, root, hands[hand]] = shared[at + hand * lanes + root]


@kernel
def end(deal, hands, reaches, chips, shown, values, scratch):
    """Showdowns of `reaches` [player, leaf, any hand] for `chips` [player, leaf], or folds; to `values`."""
    order, group, minus = address(deal.order, 0), address(deal.group, 0), address(deal.minus, 0)
    cards, twin, totals = address(deal.cards, 0), address(deal.twin, 0), address(scratch.totals, 0)
    reach, value, paid = address(scratch.reach, 0), address(scratch.value, 0), address(scratch.chips, 0)
    for first in range(0, chips.shape[1], MAX_VECTORS * LANES):
        count = min(chips.shape[1] - first, MAX_VECTORS * LANES)
        vectors = (count + LANES - 1) // LANES
        width = vectors * LANES
        for player in range(2):
            scratch.chips[:count] = chips[player, first : first + count]
            _zero(reach, 0, deal.live * width)
            _zero(reach, deal.order.size * width, width)
            for hand in range(hands.size):
                for leaf in range(count):
                    scratch.reach[hand * width + leaf] = reaches[1 - player, first + leaf, hands[hand]]
            if shown:
                showdowns(vectors, order, group, minus, order, group, cards, deal.groups, paid, reach, value, totals)
            else:
                folds(vectors, minus, twin, deal.live, cards, deal.live, paid, reach, value, totals)
            for hand in range(hands.size):
                for leaf in range(count):
                    values[player, first + leaf, hands[hand]] = scratch.value[hand * width + leaf]
