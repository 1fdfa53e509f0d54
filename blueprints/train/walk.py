"""One walk of public chance sampling: a board is dealt, both players hold every hand it allows, all betting is played.

Within a street the strategy of a bucket is the same for all of its hands, so nodes are worked on in bucket space: on
the way down a row of *coefficients* for each player, how often a bucket of the player comes from the root of the street
to an edge. A board has hands of few buckets (of 500 on the river some 25): only those are read and written, 16 at a
time, numbered anew for the walk. Only where play ends or a street does are they expanded to hands: the reach of a hand
is its reach at the root times the coefficient of its bucket. Terminals of a part are swept together (`solver.sweeps`);
values of hands are summed to buckets, and rows of buckets come back up, where regrets are updated. Values at a root are
kept by hand: the street before has other buckets.

    down    strategies of a part by regret matching, coefficients of its lanes, reaches of the roots that follow
    up      terminal values, values of the lanes by bucket and of the roots by hand, regrets

Hands are numbered in order of strength on the final board, for all streets, so that nothing is ever reordered. Hands
that meet any card of it play no part: board and hands are dealt together, the board first.

A *frame* holds what a part needs between down and up. Parts before the `split` street have frames of their own, others
share one for each street and thread: their subtrees are independent and done one after another, each by one thread.

    coefficients  [player][bucket of the walk][lane]
    reaches       [player][hand][next lane]     of the roots that follow
    values        [player][hand][next lane]     that come back for them

The roots of a part are neighbours among the next lanes of the part before it, so that one vector holds them all.

Rules of the file: arrays are flat and float32 unless a name says otherwise; positions are in elements; nothing aliases.
Integers that kernels are called with are int64: a kernel is compiled once for each type that it is given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blueprints.train.compiled import kernel
from blueprints.train.layout import F32, I32, I64
from blueprints.train.tiles import pick, turn, turn_some, weigh
from solver.compiled import inlined
from solver.sweeps import folds, showdowns
from solver.vectors import (
    LANES,
    add,
    address,
    div,
    fetch_add,
    if_positive,
    item,
    larger,
    load,
    mul,
    splat,
    store,
    sub,
)  # fmt: skip


class Deal(NamedTuple):
    """A board and the hands it allows, in order of strength; H of them with padding."""

    live: int
    groups: int
    group: I32  # [group + 1] where hands of equal strength begin
    cards: I32  # [hand, 2] rows of card totals to add to
    minus: I32  # [hand, 2] rows to subtract
    twin: I32  # [hand] the hand that both subtractions remove, or the row of zeros
    order: I32  # [hand] 0, 1, 2, …
    bucket: I32  # [player, street, hand] in the numbers of this walk; of padding 0
    blocks: I32  # [player, street] of 16 buckets of this walk
    meant: I32  # [player, street, bucket of this walk] its number; of padding the one that nobody has


class Strategies(NamedTuple):
    """What each player plays: regret matching on these numbers, which is the strategy itself if they are averages."""

    of_0: F32
    of_1: F32
    at: I64  # [player, part] where [bucket][edge] begins
    stride: I64  # [part] from one bucket to the next


class Training(NamedTuple):
    """What a walk learns; both players'."""

    regrets: F32
    average: F32
    weight: np.float32  # of this walk's regrets and strategy
    learns: bool
    follows: bool  # plays something else than regret matching on the regrets


class Frames(NamedTuple):
    """Where the frame of each part is, in the memory that is shared or in that of a thread."""

    coefficients: I64  # [part]
    reaches: I64  # [part]
    values: I64  # [part]


class Scratch(NamedTuple):
    """Working memory of one thread."""

    frames: F32
    rows: F32  # [row][16] twice: of either player, or of one on the way down
    reach: F32  # [chunk][hand, and a row of zeros][lane of the chunk]
    value: F32
    back: F32  # [root][hand] values
    sums: F32  # [player][bucket][lane]
    roots: F32  # [bucket][root] sums of reaches
    weights: F32  # [edge][bucket of a block] regrets
    means: F32  # [edge][bucket of a block] averages
    tile: F32  # 2 × 16 × 16
    masks: F32  # [16][16] row n: ones, and n zeros at the end
    totals: F32  # [card row][lane]


_ONE, _NOTHING = np.float32(1.0), np.float32(0.0)


@kernel
def _zero(array, at, size):
    """A whole number of vectors."""
    for place in range(at, at + size, LANES):
        store(array, place, splat(_NOTHING))


@kernel
def _fetch(source, at, stride, meant, edges, target, tile):
    """Sixteen buckets of an array [bucket][edge] as [edge][bucket]."""
    for edge in range(0, edges, LANES):
        for number in range(LANES):
            store(tile, number * LANES, load(source, at + item(meant, number) * stride + edge))
        turn(tile, 0, LANES, target, edge * LANES, LANES)


@kernel
def _put_back(source, target, at, stride, meant, edges, tile):
    """The inverse of `_fetch`."""
    for edge in range(0, edges, LANES):
        turn(source, edge * LANES, LANES, tile, 0, LANES)
        for number in range(LANES):
            store(target, at + item(meant, number) * stride + edge, load(tile, number * LANES))


@kernel
def _sum_roots(bucket_of, live, blocks, above, start_at, come, roots):
    """The reaches of hands by bucket, a vector of roots each."""
    _zero(roots, 0, blocks * LANES * LANES)
    for hand in range(live):
        place = item(bucket_of, hand) * LANES
        store(roots, place, add(load(roots, place), load(above, start_at + hand * come)))


@kernel
def _play(nodes, player, num_nodes, regrets, rows):
    """Coefficients of one block, from the roots' rows to the edges' of the player."""
    players, begins, counts, befores, _, num_roots = nodes
    one, zero = splat(_ONE), splat(_NOTHING)
    for node in range(num_nodes):
        if item(players, node) == player:
            begin, count = item(begins, node), item(counts, node)
            total = zero
            for edge in range(begin, begin + count):
                total = add(total, larger(load(regrets, edge * LANES), zero))
            coming = load(rows, item(befores, node) * LANES)
            scale = mul(if_positive(total, div(one, total), zero), coming)
            uniform = if_positive(total, zero, mul(coming, splat(np.float32(1.0 / count))))
            for edge in range(begin, begin + count):
                share = add(mul(larger(load(regrets, edge * LANES), zero), scale), uniform)
                store(rows, (num_roots + edge) * LANES, share)


@kernel
def _remember(nodes, player, num_nodes, average, weight, roots, rows):
    """Adds the strategy of one block to the averages, times the reaches of the hands that come."""
    players, begins, counts, _, root_of, num_roots = nodes
    factor = splat(weight)
    for node in range(num_nodes):
        if item(players, node) == player:
            reached = mul(load(roots, item(root_of, node) * LANES), factor)
            begin = item(begins, node)
            for edge in range(begin, begin + item(counts, node)):
                grown = mul(load(rows, (num_roots + edge) * LANES), reached)
                store(average, edge * LANES, add(load(average, edge * LANES), grown))


@kernel
def _learn(nodes, num_nodes, played, regrets, weight, value_rows, height, rows):
    """Values of one block for both players, from the lanes' rows to the nodes'; updates the regrets.

    What is played follows from `played`, which are the regrets themselves as a rule.
    """
    players, begins, counts = nodes
    factor, zero = splat(weight), splat(_NOTHING)
    for back in range(num_nodes):
        node = num_nodes - 1 - back
        begin, count, player = item(begins, node), item(counts, node), item(players, node)
        mine, theirs = player * height, (1 - player) * height
        total, won, plain, passed = zero, zero, zero, zero
        for edge in range(begin, begin + count):
            row = item(value_rows, edge)
            positive = larger(load(played, edge * LANES), zero)
            value = load(rows, (mine + row) * LANES)
            total, won, plain = add(total, positive), add(won, mul(positive, value)), add(plain, value)
            passed = add(passed, load(rows, (theirs + row) * LANES))
        mean = mul(plain, splat(np.float32(1.0 / count)))
        won = if_positive(total, div(won, total), mean)
        store(rows, (mine + node) * LANES, won)
        store(rows, (theirs + node) * LANES, passed)
        for edge in range(begin, begin + count):
            gained = sub(load(rows, (mine + item(value_rows, edge)) * LANES), won)
            store(regrets, edge * LANES, add(load(regrets, edge * LANES), mul(gained, factor)))


@kernel
def _lanes(parts, part):
    return parts.lane_at[part + 1] - parts.lane_at[part]


@kernel
def _buckets(deal, player, street):
    """Where the bucket of each hand stands."""
    return address(deal.bucket, (player * deal.bucket.shape[1] + street) * deal.order.size)


@kernel
def _meant(deal, player, street, block):
    """The numbers of the buckets of a block."""
    return address(deal.meant, (player * deal.bucket.shape[1] + street) * deal.order.size + block * LANES)


@kernel
def down(parts, deal, strategies, training, part, above, start_at, come, frames, frame, scratch):
    """Coefficients of a part's lanes, and the reaches of the roots that follow it.

    `above` has the reaches of the part's roots: of hand h from `start_at[player] + h * come` on.
    """
    street, nodes, lanes = parts.street[part], parts.node_at[part], parts.lane_at[part]
    edges, width, hands = parts.edge_at[part + 1] - parts.edge_at[part], _lanes(parts, part), deal.order.size
    num_roots, num_nodes = parts.roots[part], parts.node_at[part + 1] - nodes
    where = (
        address(parts.player, nodes), address(parts.begin, nodes), address(parts.actions, nodes),
        address(parts.before, nodes), address(parts.root, nodes), num_roots,
    )  # fmt: skip
    rows, tile, stride = address(scratch.rows, 0), address(scratch.tile, 0), strategies.stride[part]
    weights, means = address(scratch.weights, 0), address(scratch.means, 0)
    roots, reached = address(scratch.roots, 0), address(scratch.tile, LANES * LANES)
    to = frame.coefficients[part]
    for player in range(2):
        at = strategies.at[player, part]
        for root in range(num_roots):
            store(rows, root * LANES, splat(_ONE))
        if training.learns:
            bucket_of, blocks = _buckets(deal, player, street), deal.blocks[player, street]
            _sum_roots(bucket_of, deal.live, blocks, above, start_at[player], come, roots)
        for block in range(deal.blocks[player, street]):
            meant = _meant(deal, player, street, block)
            learnt = address(strategies.of_0, at) if player == 0 else address(strategies.of_1, at)
            _fetch(learnt, 0, stride, meant, edges, weights, tile)
            _play(where, player, num_nodes, weights, rows)
            if training.learns:
                turn(roots, block * LANES * LANES, LANES, reached, 0, LANES)
                average = address(training.average, at)
                _fetch(average, 0, stride, meant, edges, means, tile)
                _remember(where, player, num_nodes, means, training.weight, reached, rows)
                _put_back(means, average, 0, stride, meant, edges, tile)
            for lane in range(0, width, LANES):
                for number in range(LANES):
                    row = parts.lane_row[player, lanes + lane + number]
                    store(tile, number * LANES, load(rows, row * LANES))
                turn(tile, 0, LANES, address(frames, to), block * LANES * width + lane, width)
        if parts.next[part]:
            first, lanes_on = parts.showdowns[part] + parts.folds[part], np.int64(parts.next[part])
            reaches = address(frames, frame.reaches[part] + player * parts.next[part] * hands)
            _expand(
                parts, deal, _buckets(deal, player, street), part, first, lanes_on, above, start_at[player], come,
                address(frames, to), width, reaches,
            )  # fmt: skip
        to += deal.blocks[player, street] * LANES * width


@kernel
def _expand(parts, deal, bucket_of, part, first, lanes, above, start_at, come, coefficients, width, reach):
    """The reaches of one player's hands at some lanes of a part, [hand][lane]."""
    above, roots = address(above, start_at), address(parts.lane_root, parts.lane_at[part] + first)
    for hand in range(deal.live):
        source = item(bucket_of, hand) * width + first
        for lane in range(0, lanes, LANES):
            come_here = pick(above, hand * come, roots, lane)
            store(reach, hand * lanes + lane, mul(load(coefficients, source + lane), come_here))


@kernel
def _collapse(parts, deal, bucket_of, row, coefficients, width, value, sums, roots, masks):
    """Values of one player's hands at the lanes of a chunk: added to buckets by lane, and to roots by hand."""
    first, step = parts.chunk[row, 0], parts.chunk[row, 1] * LANES
    begin, end = parts.chunk[row, 2], parts.chunk[row, 3]
    hands, segment = deal.order.size, address(parts.segment, 0)
    for hand in range(0, hands, LANES):
        for number in range(hand, min(hand + LANES, deal.live)):
            target = item(bucket_of, number) * width + first
            for lane in range(0, step, LANES):
                store(sums, target + lane, add(load(sums, target + lane), load(value, number * step + lane)))
        for number in range(3 * begin, 3 * end, 3):
            lane, back = item(segment, number), item(segment, number + 2) * hands + hand
            last = lane + item(segment, number + 1)
            for place in range(lane, last, LANES):
                mask = max(0, place + LANES - last) * LANES
                won = weigh(
                    value, hand * step + place, step, coefficients, first + place, bucket_of, hand, width, masks, mask
                )  # fmt: skip
                store(roots, back, add(load(roots, back), won))


@kernel
def _terminals(parts, deal, part, player, above, start_at, come, theirs, mine, sums, scratch):
    """One player's values at showdowns, folds and next lanes; `theirs` and `mine` are coefficients."""
    hands, street, width = deal.order.size, parts.street[part], _lanes(parts, part)
    reach, value, totals = address(scratch.reach, 0), address(scratch.value, 0), address(scratch.totals, 0)
    minus, cards, order = address(deal.minus, 0), address(deal.cards, 0), address(deal.order, 0)
    group, twin, masks = address(deal.group, 0), address(deal.twin, 0), address(scratch.masks, 0)
    my_bucket, their_bucket = _buckets(deal, player, street), _buckets(deal, 1 - player, street)
    back = address(scratch.back, 0)
    for kind in range(2):
        for row in range(parts.chunk_at[3 * part + kind], parts.chunk_at[3 * part + kind + 1]):
            first, vectors = np.int64(parts.chunk[row, 0]), parts.chunk[row, 1]
            _expand(
                parts, deal, their_bucket, part, first, vectors * LANES, above, start_at[1 - player], come, theirs,
                width, reach,
            )  # fmt: skip
            chips = address(parts.chips, player * parts.lane_root.size + parts.lane_at[part] + first)
            if kind == 0:
                showdowns(
                    vectors, order, group, minus, order, group, cards, deal.groups, chips, reach, value, totals
                )  # fmt: skip
            else:
                _zero(reach, hands * vectors * LANES, vectors * LANES)
                folds(vectors, minus, twin, deal.live, cards, deal.live, chips, reach, value, totals)
            _zero(value, deal.live * vectors * LANES, (hands - deal.live) * vectors * LANES)
            _collapse(parts, deal, my_bucket, row, mine, width, value, sums, back, masks)


@kernel
def up(parts, deal, strategies, training, part, above, start_at, back_at, come, frames, frame, scratch):
    """Values of a part's roots to `above`, where they lie as the reaches do, and regrets."""
    street, nodes = parts.street[part], parts.node_at[part]
    edges, width, hands = parts.edge_at[part + 1] - parts.edge_at[part], _lanes(parts, part), deal.order.size
    num_nodes, num_roots = parts.node_at[part + 1] - nodes, parts.roots[part]
    beside = deal.blocks[0, street] * LANES * width
    back, masks = address(scratch.back, 0), address(scratch.masks, 0)
    for player in range(2):
        mine = address(frames, frame.coefficients[part] + player * beside)
        theirs = address(frames, frame.coefficients[part] + (1 - player) * beside)
        sums = address(scratch.sums, player * beside)
        _zero(sums, 0, deal.blocks[player, street] * LANES * width)
        _zero(back, 0, num_roots * hands)
        _terminals(parts, deal, part, player, above, start_at, come, theirs, mine, sums, scratch)
        if parts.next[part]:
            value = address(frames, frame.values[part] + player * parts.next[part] * hands)
            row = parts.chunk_at[3 * part + 2]
            _collapse(parts, deal, _buckets(deal, player, street), row, mine, width, value, sums, back, masks)
        for hand in range(0, hands, LANES):
            turn_some(back, hand, hands, above, back_at[player] + hand * come, come, num_roots)
    if not training.learns:
        return
    height, rows, tile = num_nodes + width, address(scratch.rows, 0), address(scratch.tile, 0)
    where = address(parts.player, nodes), address(parts.begin, nodes), address(parts.actions, nodes)
    value_rows = address(parts.value_row, parts.edge_at[part])
    at, stride = strategies.at[0, part], strategies.stride[part]
    played, regrets = address(strategies.of_0, at), address(training.regrets, at)
    weights, others = address(scratch.weights, 0), address(scratch.means, 0)
    for block in range(deal.blocks[0, street]):
        for player in range(2):
            for lane in range(0, width, LANES):
                place = player * beside + block * LANES * width + lane
                turn(scratch.sums, place, width, rows, (player * height + num_nodes + lane) * LANES, LANES)
        meant = _meant(deal, 0, street, block)
        _fetch(regrets, 0, stride, meant, edges, weights, tile)
        if training.follows:
            _fetch(played, 0, stride, meant, edges, others, tile)
            _learn(where, num_nodes, others, weights, training.weight, value_rows, height, rows)
        else:
            _learn(where, num_nodes, weights, weights, training.weight, value_rows, height, rows)
        _put_back(weights, regrets, 0, stride, meant, edges, tile)


@kernel
def _places(parts, frame, part, hands):
    """Where in the frame before it the reaches of a part's roots are, where their values go, and the step by hand."""
    before, place = parts.parent[part], parts.first_lane[part]
    come = np.int64(parts.next[before])
    step = come * hands
    reach, value = frame.reaches[before] + place, frame.values[before] + place
    return (reach, reach + step), (value, value + step), come


@kernel
def _top(hands):
    """The same for the first part, whose root has a vector for each hand."""
    step = hands * LANES
    return (np.int64(0), step), (2 * step, 3 * step), np.int64(LANES)


@inlined
def visit(parts, deal, strategies, training, top, above, places, frame, scratch):
    """A part and all that follows it, whose frames are in the scratch."""
    hands, frames = deal.order.size, scratch.frames
    start_at, back_at, come = places
    part = top
    turns = np.empty(4, np.int64)  # [depth] the next child to go to
    depth = 0
    down(parts, deal, strategies, training, part, above, start_at, come, frames, frame, scratch)
    turns[0] = parts.child_at[part]
    while True:
        if turns[depth] < parts.child_at[part + 1]:
            part = turns[depth]
            turns[depth] += 1
            depth += 1
            here, _, step = _places(parts, frame, part, hands)
            down(parts, deal, strategies, training, part, frames, here, step, frames, frame, scratch)
            turns[depth] = parts.child_at[part]
        elif depth:
            here, there, step = _places(parts, frame, part, hands)
            up(parts, deal, strategies, training, part, frames, here, there, step, frames, frame, scratch)
            part = parts.parent[part]
            depth -= 1
        else:
            up(parts, deal, strategies, training, part, above, start_at, back_at, come, frames, frame, scratch)
            return


@kernel
def begin(parts, deal, strategies, training, split, shared, frame, scratch):
    """Down through the parts before the split, whose frames are shared. The root's reaches are already there."""
    hands = deal.order.size
    for part in range(np.int64(parts.part_at[split])):
        here, _, step = _places(parts, frame, part, hands) if part else _top(hands)
        down(parts, deal, strategies, training, part, shared, here, step, shared, frame, scratch)


@kernel
def work(parts, deal, strategies, training, split, shared, frame, scratch, ticket):
    """The parts of the split street and all that follows them, as one thread of several."""
    hands = deal.order.size
    first = parts.part_at[split]
    while True:
        part = first + fetch_add(ticket, 0, 1)
        if part >= parts.part_at[split + 1]:
            return
        places = _places(parts, frame, part, hands) if part else _top(hands)
        visit(parts, deal, strategies, training, part, shared, places, frame, scratch)


@kernel
def end(parts, deal, strategies, training, split, shared, frame, scratch):
    """Up through the parts before the split. The values of the root come to stand after its reaches."""
    hands = deal.order.size
    for back in range(parts.part_at[split]):
        part = parts.part_at[split] - 1 - back
        here, there, step = _places(parts, frame, part, hands) if part else _top(hands)
        up(parts, deal, strategies, training, part, shared, here, there, step, shared, frame, scratch)
