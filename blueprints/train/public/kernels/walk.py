"""One walk of public chance sampling: a board is dealt, both players hold every hand it allows, all betting is played.

Within a street the strategy of a bucket is the same for all of its hands, so decisions are worked on in bucket space.
A board has hands of few buckets (of 1,000 on the river some 75): only those are read and written, numbered anew for the
walk. On the way down a bucket has a row of *coefficients*: how often it comes from the root of the street to an edge.
Only where play ends or a street does are they expanded to hands: the reach of a hand is its reach at the root times the
coefficient of its bucket. Values of hands are summed to buckets, and come back up, where regrets are updated; values at
a root are kept by hand: the street before has other buckets.

Everything stands in lanes, one for each of the sixteen roots of a part (`blueprints.train.public.layout`), whose
betting looks alike: a row is one vector, whether of a bucket at an edge or of a hand at a root.

    down     strategies of a part by regret matching, averages, coefficients of its slots, reaches of the roots after it
    value    at terminals and at the roots after it, by bucket and by hand
    learn    values by bucket come back up through the part: regrets

Streets are done one after another, all parts of one before the next: down, the last street at once, and up; in the end
what streets before the last have learnt. A part of a street (and player, where the tasks would be few) touches nobody
else's numbers, so threads share them out: whoever is free takes the next task of the *phase*, and waits at its end
until all tasks are done, whoever did them.

Between streets reaches and values lie by root: [player][root][hand], a root being a lane of a part. Hands are numbered
in order of strength on the final board, for all streets, so that nothing is ever reordered. Hands that meet any card of
it play no part: board and hands are dealt together, the board first.

Rules of the file: arrays are flat and float32 unless a name says otherwise; positions are in elements; nothing aliases.
Integers that kernels are called with are int64: a kernel is compiled once for each type that it is given.
"""

from __future__ import annotations

import numpy as np

from blueprints.train.public.kernels.terminals import folds, kernel, showdowns
from solver.kernels.sweeps import NUM_CARD_ROWS, chunk, chunks
from solver.kernels.tiles import turn
from solver.kernels.vectors import (
    LANES,
    add,
    address,
    div,
    fetch,
    fetch_add,
    if_positive,
    item,
    larger,
    load,
    mul,
    prefetch,
    splat,
    store,
    sub,
    yield_core,
)  # fmt: skip

_ONE, _NOTHING = np.float32(1.0), np.float32(0.0)
_LEAST = np.float32(1e-30)
"""Sums of regrets that are smaller are none: what one is divided by them would not be finite."""
_APART = LANES * LANES


@kernel
def _zero(array, at, size):
    """A whole number of vectors."""
    for place in range(at, at + size, LANES):
        store(array, place, splat(_NOTHING))


@kernel
def _buckets(deal, player, street):
    """Where the bucket of each hand stands."""
    return address(deal.bucket, (player * deal.bucket.shape[1] + street) * deal.order.size)


@kernel
def _bucket_ids(deal, player, street):
    """Where the number of each bucket of the walk stands."""
    return address(deal.bucket_id, (player * deal.bucket.shape[1] + street) * deal.order.size)


@kernel
def _nodes(parts, part):
    nodes = parts.node_at[part]
    return address(parts.player, nodes), address(parts.begin, nodes), address(parts.actions, nodes)


@kernel
def _root(parts, frame, part, player, hands):
    """Where the hands of a part's first root stand among those of its street."""
    street = parts.street[part]
    return (player * frame.roots[street] + (part - parts.part_at[street]) * LANES) * hands


@kernel
def _arrive(parts, deal, frame, part, player, shared, scratch):
    """The reaches of a player's hands at the roots of a part, from [root][hand] to [hand][root]."""
    hands = deal.order.size
    source = frame.reaches[parts.street[part]] + _root(parts, frame, part, player, hands)
    for hand in range(0, hands, LANES):
        turn(shared, source + hand, hands, address(scratch.root_reach, 0), (player * hands + hand) * LANES, LANES)


@kernel
def _pair(parts, deal, pairs, part, player, scratch):
    """The reaches that have arrived, by pair."""
    street, hands = parts.street[part], deal.order.size
    root_reach, pair_reach = address(scratch.root_reach, player * hands * LANES), address(scratch.pair_reach, 0)
    of_hand = address(pairs.of_hand, (player * pairs.of_hand.shape[1] + street) * hands * 2)
    _zero(pair_reach, 0, pairs.at[player, street, NUM_CARD_ROWS] * LANES)
    for hand in range(deal.live):
        reach = load(root_reach, hand * LANES)
        for side in range(2):
            place = item(of_hand, 2 * hand + side) * LANES
            store(pair_reach, place, add(load(pair_reach, place), reach))


@kernel
def _depart(place, bucket_of, hands, root_reach, coefficients, stride, shared, to, tile):
    """The reaches of a player's hands at the roots that follow one slot, to [root][hand]."""
    for hand in range(0, hands, LANES):
        for number in range(LANES):
            bucket = item(bucket_of, hand + number)
            reach = mul(load(root_reach, (hand + number) * LANES), load(coefficients, bucket * stride))
            store(tile, number * LANES, reach)
        turn(tile, 0, LANES, tile, _APART, LANES)
        for lane in range(LANES):
            if item(place, lane) >= 0:
                store(shared, to + item(place, lane) * hands + hand, load(tile, _APART + lane * LANES))


@kernel
def _return(place, bucket_of, hands, live, coefficients, stride, sums, sums_stride, root_value, shared, source, tile):
    """The values of a player's hands at the roots that follow one slot, to buckets and to the part's own roots."""
    for hand in range(0, hands, LANES):
        for lane in range(LANES):
            root = item(place, lane)
            store(tile, lane * LANES, load(shared, source + root * hands + hand) if root >= 0 else splat(_NOTHING))
        turn(tile, 0, LANES, tile, _APART, LANES)
        for number in range(min(LANES, live - hand)):
            bucket, value = item(bucket_of, hand + number), load(tile, _APART + number * LANES)
            store(sums, bucket * sums_stride, add(load(sums, bucket * sums_stride), value))
            weighed = mul(value, load(coefficients, bucket * stride))
            own = (hand + number) * LANES
            store(root_value, own, add(load(root_value, own), weighed))


@kernel
def _play(nodes, befores, num_nodes, player, learnt, learns, average, reached, rows):
    """How far one bucket of a player comes, from the root's row to its edges'; added to its averages."""
    players, begins, counts = nodes
    one, zero = splat(_ONE), splat(_NOTHING)
    store(rows, 0, one)
    for node in range(num_nodes):
        if item(players, node) == player:
            begin, count = item(begins, node), item(counts, node)
            total = zero
            for edge in range(begin, begin + count):
                total = add(total, larger(load(learnt, edge * LANES), zero))
            coming = load(rows, item(befores, node) * LANES)
            some = sub(total, splat(_LEAST))
            scale = mul(if_positive(some, div(one, total), zero), coming)
            uniform = if_positive(some, zero, mul(coming, splat(np.float32(1.0 / count))))
            for edge in range(begin, begin + count):
                share = add(mul(larger(load(learnt, edge * LANES), zero), scale), uniform)
                store(rows, (1 + edge) * LANES, share)
                if learns:
                    grown = add(load(average, edge * LANES), mul(share, reached))
                    store(average, edge * LANES, grown)


@kernel
def _regret(nodes, num_nodes, slots, of_0, of_1, regrets, weight, value_rows, values, others):
    """Values of one bucket for both players, from the slots' rows to the nodes'; updates the regrets.

    What the players play follows from `of_0` and `of_1`, which are the regrets themselves as a rule. `others` is from
    the values of the first player to those of the second.
    """
    players, begins, counts = nodes
    factor, zero = splat(weight), splat(_NOTHING)
    for rank in range(num_nodes):
        node = num_nodes - 1 - rank
        begin, count, player = item(begins, node), item(counts, node), item(players, node)
        mine, theirs = player * others, (1 - player) * others
        played = of_0 if player == 0 else of_1
        total, won, plain, passed = zero, zero, zero, zero
        for edge in range(begin, begin + count):
            row = item(value_rows, edge) * LANES
            positive = larger(load(played, edge * LANES), zero)
            value = load(values, mine + row)
            total, won, plain = add(total, positive), add(won, mul(positive, value)), add(plain, value)
            passed = add(passed, load(values, theirs + row))
        mean = mul(plain, splat(np.float32(1.0 / count)))
        won = if_positive(sub(total, splat(_LEAST)), div(won, total), mean)
        store(values, mine + (slots + node) * LANES, won)
        store(values, theirs + (slots + node) * LANES, passed)
        for edge in range(begin, begin + count):
            gained = sub(load(values, mine + item(value_rows, edge) * LANES), won)
            store(regrets, edge * LANES, add(load(regrets, edge * LANES), mul(gained, factor)))


@kernel
def _own(deal, street, player, each):
    """Where what a player has for each bucket begins, after what the first player has."""
    return deal.buckets[0, street] * each if player else np.int64(0)


@kernel
def _down(parts, deal, strategies, training, part, player, frame, shared, coefficients, scratch):
    """Coefficients of a part's slots for one player, and the reaches of the roots that follow it."""
    street, hands = parts.street[part], deal.order.size
    nodes, befores = _nodes(parts, part), address(parts.before, parts.node_at[part])
    num_nodes, slots = parts.node_at[part + 1] - parts.node_at[part], parts.slot_at[part + 1] - parts.slot_at[part]
    bucket_of, count, bucket_id = (
        _buckets(deal, player, street),
        deal.buckets[player, street],
        _bucket_ids(deal, player, street),
    )
    stride = np.int64(slots * LANES)
    coefficients = address(coefficients, _own(deal, street, player, stride))
    roots, rows, tile = address(scratch.roots, 0), address(scratch.rows, 0), address(scratch.tile, 0)
    _arrive(parts, deal, frame, part, player, shared, scratch)
    root_reach = address(scratch.root_reach, player * hands * LANES)
    if training.learns:
        _zero(roots, 0, count * LANES)
        for hand in range(deal.live):
            place = item(bucket_of, hand) * LANES
            store(roots, place, add(load(roots, place), load(root_reach, hand * LANES)))
    slot_rows = address(parts.slot_row, player * parts.slot_row.shape[1] + parts.slot_at[part])
    tables = address(strategies.of_0, 0) if player == 0 else address(strategies.of_1, 0)
    begin, step, factor = strategies.at[player, part], strategies.stride[part], splat(training.weight)
    for bucket in range(count):
        place, ahead = (
            begin + item(bucket_id, bucket) * step,
            begin + item(bucket_id, min(bucket + 1, count - 1)) * step,
        )
        for edge in range(0, step, LANES):
            prefetch(tables, ahead + edge)
            if training.learns:
                prefetch(training.average, ahead + edge)
        learnt, average = address(tables, place), address(training.average, place if training.learns else 0)
        reached = mul(load(roots, bucket * LANES), factor)
        _play(nodes, befores, num_nodes, player, learnt, training.learns, average, reached, rows)
        for slot in range(slots):
            store(coefficients, bucket * stride + slot * LANES, load(rows, item(slot_rows, slot) * LANES))
    for slot in range(slots - parts.next[part], slots):
        place = address(parts.place, (parts.slot_at[part] + slot) * LANES)
        onwards = frame.reaches[street + 1] + player * frame.roots[street + 1] * hands
        there = address(coefficients, slot * LANES)
        _depart(place, bucket_of, hands, root_reach, there, stride, shared, onwards, tile)


@kernel
def _terminals(parts, deal, pairs, part, player, theirs, mine, sums, sums_stride, scratch):
    """One player's values at showdowns and folds."""
    street, hands, opponent = parts.street[part], deal.order.size, 1 - player
    stride = np.int64((parts.slot_at[part + 1] - parts.slot_at[part]) * LANES)
    root_reach, root_value = address(scratch.root_reach, opponent * hands * LANES), address(scratch.root_value, 0)
    value, totals = address(scratch.value, 0), address(scratch.totals, 0)
    minus, cards, group = address(deal.minus, 0), address(deal.cards, 0), address(deal.group, 0)
    board = deal.live, deal.groups, group, cards, minus, deal.twin[0] == 0
    of_street = opponent * pairs.at.shape[1] + street
    theirs_paired = (
        address(pairs.at, of_street * pairs.at.shape[2]),
        address(pairs.bucket, of_street * pairs.bucket.shape[2]),
        address(scratch.pair_reach, 0),
    )
    my_bucket, their_bucket = _buckets(deal, player, street), _buckets(deal, opponent, street)
    for kind in range(2):
        begin, count = (0, parts.showdowns[part]) if kind == 0 else (parts.showdowns[part], parts.folds[part])
        for number in range(chunks(np.int64(count))):
            place, width = chunk(np.int64(count), number)
            slot = begin + place
            chips = address(parts.chips, (player * parts.slot_row.shape[1] + parts.slot_at[part] + slot) * LANES)
            here = slot * LANES
            if kind == 0:
                showdowns(
                    width, board, theirs_paired, root_reach, their_bucket, address(theirs, here), stride, chips,
                    my_bucket, address(mine, here), address(sums, here), sums_stride, root_value, value, totals,
                )  # fmt: skip
            else:
                folds(
                    width, board, theirs_paired, root_reach, their_bucket, address(theirs, here), stride, chips,
                    my_bucket, address(mine, here), address(sums, here), sums_stride, root_value, value, totals,
                )  # fmt: skip


@kernel
def _value(parts, deal, pairs, part, player, frame, shared, coefficients, sums, scratch):
    """Values of a part's roots for one player, and by bucket at its slots. The opponent's reaches have arrived."""
    street, hands, opponent = parts.street[part], deal.order.size, 1 - player
    slots, num_nodes = parts.slot_at[part + 1] - parts.slot_at[part], parts.node_at[part + 1] - parts.node_at[part]
    stride, sums_stride = np.int64(slots * LANES), np.int64((slots + num_nodes) * LANES)
    mine = address(coefficients, _own(deal, street, player, stride))
    theirs = address(coefficients, _own(deal, street, opponent, stride))
    sums = address(sums, _own(deal, street, player, sums_stride))
    root_value, tile = address(scratch.root_value, 0), address(scratch.tile, 0)
    _zero(sums, 0, deal.buckets[player, street] * sums_stride)
    _zero(root_value, 0, hands * LANES)
    _pair(parts, deal, pairs, part, opponent, scratch)
    _terminals(parts, deal, pairs, part, player, theirs, mine, sums, sums_stride, scratch)
    for slot in range(slots - parts.next[part], slots):
        place = address(parts.place, (parts.slot_at[part] + slot) * LANES)
        source = frame.values[street + 1] + player * frame.roots[street + 1] * hands
        _return(
            place, _buckets(deal, player, street), hands, deal.live, address(mine, slot * LANES), stride,
            address(sums, slot * LANES), sums_stride, root_value, shared, source, tile,
        )  # fmt: skip
    to = frame.values[street] + _root(parts, frame, part, player, hands)
    for hand in range(0, hands, LANES):
        turn(root_value, hand * LANES, LANES, shared, to + hand, hands)


@kernel
def _learn(parts, deal, strategies, training, part, sums):
    """What both players regret in a part, of whose slots the values are known. Their buckets are the same."""
    street, nodes = parts.street[part], _nodes(parts, part)
    slots, num_nodes = parts.slot_at[part + 1] - parts.slot_at[part], parts.node_at[part + 1] - parts.node_at[part]
    sums_stride, bucket_id = np.int64((slots + num_nodes) * LANES), _bucket_ids(deal, 0, street)
    value_rows, others = address(parts.value_row, parts.edge_at[part]), _own(deal, street, 1, sums_stride)
    for bucket in range(deal.buckets[0, street]):
        place = strategies.at[0, part] + item(bucket_id, bucket) * strategies.stride[part]
        of_0, of_1 = address(strategies.of_0, place), address(strategies.of_1, place)
        regrets, values = address(training.regrets, place), address(sums, bucket * sums_stride)
        _regret(nodes, num_nodes, slots, of_0, of_1, regrets, training.weight, value_rows, values, others)


_DOWN, _LAST, _UP, _LEARN = range(4)


@kernel
def _phase(parts, training, number):
    """What is done in a phase, on which street, and how many tasks it has."""
    first, last = np.int64(parts.street[0]), np.int64(parts.part_at.size - 2)
    before = last - first
    if number < before:
        street = first + number
        return _DOWN, street, 2 * np.int64(parts.part_at[street + 1] - parts.part_at[street])
    if number == before:
        return _LAST, last, np.int64(parts.part_at[last + 1] - parts.part_at[last])
    if number <= 2 * before:
        street = last + before - number
        return _UP, street, 2 * np.int64(parts.part_at[street + 1] - parts.part_at[street])
    return _LEARN, first, np.int64(parts.part_at[last]) if training.learns else np.int64(0)


@kernel
def _task(parts, deal, pairs, strategies, training, frame, shared, scratch, kind, street, number):
    """One task of a phase."""
    begin = np.int64(parts.part_at[street])
    if kind == _LAST:
        part = begin + number
        coefficients, sums = address(scratch.coefficients, 0), address(scratch.sums, 0)
        for player in range(2):
            _down(parts, deal, strategies, training, part, player, frame, shared, coefficients, scratch)
        for player in range(2):
            _value(parts, deal, pairs, part, player, frame, shared, coefficients, sums, scratch)
        if training.learns:
            _learn(parts, deal, strategies, training, part, sums)
        return
    part, player = (number, np.int64(0)) if kind == _LEARN else (begin + number // 2, number % 2)
    coefficients, sums = address(shared, frame.coefficients[part]), address(shared, frame.sums[part])
    if kind == _DOWN:
        _down(parts, deal, strategies, training, part, player, frame, shared, coefficients, scratch)
    elif kind == _UP:
        _arrive(parts, deal, frame, part, 1 - player, shared, scratch)
        _value(parts, deal, pairs, part, player, frame, shared, coefficients, sums, scratch)
    else:
        _learn(parts, deal, strategies, training, part, sums)


@kernel
def walk(parts, deal, pairs, strategies, training, frame, shared, scratch, tickets, done):
    """All of it, as one thread of several. `tickets` and `done` count the tasks of each phase, from nothing."""
    for number in range(tickets.size):
        kind, street, tasks = _phase(parts, training, number)
        task = fetch_add(tickets, number, 1)
        while task < tasks:
            _task(parts, deal, pairs, strategies, training, frame, shared, scratch, kind, street, task)
            fetch_add(done, number, 1)
            task = fetch_add(tickets, number, 1)
        while fetch(done, number) < tasks:
            yield_core()
