"""The passes of range-vector CFR over one street's forest and one board, sixteen hands at a time.

To update a player, the *opponent's* reaches go down (`_enter`): at each of its nodes its strategy, recomputed from its
regrets, splits the reach, and the average is updated on the way, since that is the player whose own reach is at hand.
The reaches at the leaves are turned from [slot][hand] to [hand][lane] and swept (`solver.sweeps`). The values are
turned back and go up (`_leave`): at the player's own nodes its regrets are updated in the same pass that mixes them.

Nodes come in runs of equal player and number of children, whose loops are compiled for that number. Regrets of later
streets leave out the probability of their board: it scales all of a board's regrets alike.

A pass is `open_root`, then the tasks (boards of the second street with all that follow, depth first, so that every
street needs scratch for one board only), then `close_root`. Any thread may do any task: each delivers its values to a
place of its own and they are summed in order, so that the number of threads changes no bit.

Rules of the file. The arrays are those of `solver.tables`: flat, C-contiguous, float32 unless named otherwise, and
they alias only where a docstring says so. Weights (regrets, averages) are float32, or bfloat16 in uint16. Nothing is
checked: `solver.subgame` builds what is passed here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from solver.sweeps import chunk, chunks, folds, payoffs, showdowns
from solver.vectors import (
    LANES,
    add,
    address,
    div,
    gather_columns,
    if_positive,
    item,
    larger,
    load,
    mul,
    noise,
    prefetch,
    read,
    scatter_columns,
    splat,
    store,
    sub,
    take_ticket,
    write,
)

UPDATE, BEST, FOLLOW = 0, 1, 2
"""What the player does in a pass: update its regrets, respond best, or follow the weights given."""

_UNROLLED = 5
"""Up to so many children the loops of a run are compiled for the number."""


def _forward_of(fixed):
    """Reaches down a run of the player's nodes with `fixed` children, or with any number if that is 0."""

    @njit(cache=True, nogil=True)
    def forward(
        edges, firsts, children, begin, end, number, weights, average, ahead, averaging, kept, added, state, rows
    ):  # fmt: skip
        count = fixed if fixed else number
        zero, one, uniform = splat(np.float32(0.0)), splat(np.float32(1.0)), splat(np.float32(1.0 / count))
        for node in range(begin, end):
            arriving = load(rows, node * LANES)
            edge, first = item(edges, node) * LANES, item(firsts, node)
            total = zero
            for a in range(count):
                prefetch(weights, edge + ahead + a * LANES)
                total = add(total, larger(read(weights, edge + a * LANES), zero))
            share = if_positive(total, mul(div(one, total), arriving), zero)
            equal = if_positive(total, zero, mul(arriving, uniform))
            for a in range(count):
                here = edge + a * LANES
                leaving = add(mul(larger(read(weights, here), zero), share), equal)
                if averaging:
                    prefetch(average, here + ahead)
                    state = write(average, here, add(mul(read(average, here), kept), mul(leaving, added)), state)
                store(rows, item(children, first + a) * LANES, leaving)
        return state

    return forward


def _backward_of(fixed):
    """Values up a run of the player's nodes with `fixed` children, or with any number if that is 0."""

    @njit(cache=True, nogil=True)
    def backward(
        edges, firsts, children, begin, end, number, weights, ahead, update, positive, negative, state, rows
    ):  # fmt: skip
        count = fixed if fixed else number
        zero, uniform = splat(np.float32(0.0)), splat(np.float32(1.0 / count))
        for node in range(begin, end):
            edge, first = item(edges, node) * LANES, item(firsts, node)
            total, weighted, plain = zero, zero, zero
            for a in range(count):
                prefetch(weights, edge + ahead + a * LANES)
                value = load(rows, item(children, first + a) * LANES)
                regret = larger(read(weights, edge + a * LANES), zero)
                total = add(total, regret)
                weighted = add(weighted, mul(regret, value))
                plain = add(plain, value)
            mixed = if_positive(total, div(weighted, total), mul(plain, uniform))
            store(rows, node * LANES, mixed)
            if update:
                for a in range(count):
                    here = edge + a * LANES
                    regret = read(weights, here)
                    gained = sub(load(rows, item(children, first + a) * LANES), mixed)
                    state = write(
                        weights, here, add(mul(regret, if_positive(regret, positive, negative)), gained), state
                    )
        return state

    return backward


_FORWARD, _FORWARD_1, _FORWARD_2, _FORWARD_3, _FORWARD_4, _FORWARD_5 = (_forward_of(n) for n in range(_UNROLLED + 1))
_BACKWARD, _BACKWARD_1, _BACKWARD_2, _BACKWARD_3, _BACKWARD_4, _BACKWARD_5 = (
    _backward_of(n) for n in range(_UNROLLED + 1)
)


@njit(cache=True, nogil=True)
def _pass_on(firsts, children, begin, end, count, rows):
    """Reaches down a run of nodes at which somebody else acts."""
    for node in range(begin, end):
        arriving, first = load(rows, node * LANES), item(firsts, node)
        for a in range(count):
            store(rows, item(children, first + a) * LANES, arriving)


@njit(cache=True, nogil=True)
def _sum_up(firsts, children, begin, end, count, rows):
    """Values up the same."""
    for node in range(begin, end):
        first = item(firsts, node)
        total = load(rows, item(children, first) * LANES)
        for a in range(1, count):
            total = add(total, load(rows, item(children, first + a) * LANES))
        store(rows, node * LANES, total)


@njit(cache=True, nogil=True)
def _best(firsts, children, begin, end, count, rows):
    """Values up a run of the player's nodes when it chooses the best action for each hand."""
    for node in range(begin, end):
        first = item(firsts, node)
        best = load(rows, item(children, first) * LANES)
        for a in range(1, count):
            best = larger(load(rows, item(children, first + a) * LANES), best)
        store(rows, node * LANES, best)


@njit(cache=True, nogil=True)
def _street(trees, s):
    """Where the nodes and the runs of a street are."""
    node, run = trees.node_at[s], trees.run_at[s]
    where = (address(trees.edge, node), address(trees.first, node), address(trees.child, 0))
    return where, address(trees.runs, 4 * run), trees.run_at[s + 1] - run


@njit(cache=True, nogil=True)
def _forward(street, player, ahead, weights, average, averaging, kept, added, state, rows):
    """Reaches of one block, from the roots' rows to all leaves' rows."""
    (edges, firsts, children), runs, num_runs = street
    for run in range(num_runs):
        begin, end, count = item(runs, 4 * run), item(runs, 4 * run + 1), item(runs, 4 * run + 3)
        if item(runs, 4 * run + 2) != player:
            _pass_on(firsts, children, begin, end, count, rows)
            continue
        how = (edges, firsts, children, begin, end, count, weights, average, ahead, averaging, kept, added, state, rows)
        if count == 3:
            state = _FORWARD_3(*how)
        elif count == 2:
            state = _FORWARD_2(*how)
        elif count == 4:
            state = _FORWARD_4(*how)
        elif count == 5:
            state = _FORWARD_5(*how)
        elif count == 1:
            state = _FORWARD_1(*how)
        else:
            state = _FORWARD(*how)
    return state


@njit(cache=True, nogil=True)
def _backward(street, player, ahead, weights, mode, positive, negative, state, rows):
    """Values of one block, from the leaves' rows to the roots' rows; updates the regrets in `weights`."""
    (edges, firsts, children), runs, num_runs = street
    for back in range(num_runs):
        run = num_runs - 1 - back
        begin, end, count = item(runs, 4 * run), item(runs, 4 * run + 1), item(runs, 4 * run + 3)
        if item(runs, 4 * run + 2) != player:
            _sum_up(firsts, children, begin, end, count, rows)
            continue
        if mode == BEST:
            _best(firsts, children, begin, end, count, rows)
            continue
        update = mode == UPDATE
        how = (edges, firsts, children, begin, end, count, weights, ahead, update, positive, negative, state, rows)
        if count == 3:
            state = _BACKWARD_3(*how)
        elif count == 2:
            state = _BACKWARD_2(*how)
        elif count == 4:
            state = _BACKWARD_4(*how)
        elif count == 5:
            state = _BACKWARD_5(*how)
        elif count == 1:
            state = _BACKWARD_1(*how)
        else:
            state = _BACKWARD(*how)
    return state


@njit(cache=True, nogil=True)
def _turn_down(rows, slot, lanes, target, places, h, height):
    """The rows of `lanes` slots to column `h` and the next fifteen of a chunked array of `height` rows."""
    for number in range(chunks(lanes // LANES)):
        begin, vectors = chunk(lanes // LANES, number)
        for k in range(vectors):
            lane = begin * LANES * height + k * LANES
            scatter_columns(rows, (slot + (begin + k) * LANES) * LANES, target, places, h, vectors * LANES, lane)


@njit(cache=True, nogil=True)
def _turn_up(source, places, h, height, lanes, rows, slot):
    """The inverse."""
    for number in range(chunks(lanes // LANES)):
        begin, vectors = chunk(lanes // LANES, number)
        for k in range(vectors):
            lane = begin * LANES * height + k * LANES
            gather_columns(source, places, h, vectors * LANES, lane, rows, (slot + (begin + k) * LANES) * LANES)


@njit(cache=True, nogil=True)
def _enter(trees, deals, scratch, top, me, board, ranges, weights, average, averaging, kept, added, seed):
    """The opponent's reaches of a board, down to its leaves, and the values of those that end there."""
    other, s = 1 - me, deals.street[board]
    hands, rows, final = deals.hands[other], address(scratch.rows, 0), deals.final[board]
    height = deals.in_order.size
    slots = trees.node_at[s + 1] - trees.node_at[s]
    shown, folded, roots = trees.showdown_lanes[s], trees.fold_lanes[s], trees.roots[s]
    above, above_at = (top.reach, 0) if s == 1 else (scratch.reach, scratch.begin[max(s - 1, 0)])
    below, below_at = (top.reach, 0) if s == 0 else (scratch.reach, scratch.begin[s])
    passed = trees.ledger[s - 1] - roots if s else 0
    going = trees.ledger[s] - passed
    alive, in_order = address(deals.alive[other, board], 0), address(deals.in_order, 0)
    place = address(deals.place[other, max(final, 0)], 0)
    shown_reach, folded_reach = address(scratch.showdown_reach, 0), address(scratch.fold_reach, scratch.fold_begin[s])
    street, ahead = _street(trees, s), trees.edges[s, other] * LANES
    kept, added = splat(np.float32(kept)), splat(np.float32(added))
    state = noise(seed + board)
    for block in range(hands // LANES):
        h = block * LANES
        mask = load(alive, h)
        for root in range(roots):
            arriving = load(above, above_at + root * hands + h) if s else load(ranges, h)
            store(rows, root * LANES, mul(arriving, mask))
        at = deals.base[other, board] + block * ahead
        state = _forward(
            street, other, ahead, address(weights, at), address(average, at if averaging else 0), averaging,
            kept, added, state, rows,
        )  # fmt: skip
        if final >= 0:
            for k in range(passed):
                reach = mul(load(above, above_at + (roots + k) * hands + h), mask)
                store(rows, (slots + trees.showdowns[s] + k) * LANES, reach)
            _turn_down(rows, slots, shown, shown_reach, place, h, height + 1)
        else:
            for k in range(going):
                store(below, below_at + k * hands + h, load(rows, (slots + folded + k) * LANES))
            for k in range(passed):
                reach = mul(load(above, above_at + (roots + k) * hands + h), mask)
                store(below, below_at + (going + k) * hands + h, reach)
        _turn_down(rows, slots + shown, folded, folded_reach, in_order, h, height)
    _sweep(trees, deals, scratch, me, board)
    if final < 0:
        value = top.value if s == 0 else scratch.value
        value[below_at : below_at + trees.ledger[s] * deals.hands[me]] = 0.0


@njit(cache=True, nogil=True)
def _sweep(trees, deals, scratch, me, board):
    """The values of all leaves of a board at which the hand ends."""
    other, s, final = 1 - me, deals.street[board], deals.final[board]
    height, totals = deals.in_order.size, address(scratch.card_totals, 0)
    minus, cards = address(deals.minus, me * height * 2), address(deals.cards, other * height * 2)
    if final >= 0:
        order, group = address(deals.order[me, final], 0), address(deals.group[me, final], 0)
        their_order, their_group = address(deals.order[other, final], 0), address(deals.group[other, final], 0)
        lanes = trees.showdown_lanes[s]
        for number in range(chunks(lanes // LANES)):
            begin, vectors = chunk(lanes // LANES, number)
            base = begin * LANES * (height + 1)
            reach, value = address(scratch.showdown_reach, base), address(scratch.showdown_value, base)
            if trees.matrices.size:
                matrices = address(trees.matrices, me * height * height * lanes + begin * LANES)
                payoffs(matrices, lanes, deals.real[me], height, deals.real[other], vectors, reach, value)
            else:
                showdowns(
                    vectors, order, group, minus, their_order, their_group, cards, deals.groups[final],
                    address(trees.showdown_chips, begin * LANES), reach, value, totals,
                )  # fmt: skip
    twin, lanes = address(deals.twin[me], 0), trees.fold_lanes[s]
    for number in range(chunks(lanes // LANES)):
        begin, vectors = chunk(lanes // LANES, number)
        base = scratch.fold_begin[s] + begin * LANES * height
        chips = address(trees.fold_chips[me], trees.fold_at[s] + begin * LANES)
        reach, value = address(scratch.fold_reach, base), address(scratch.fold_value, base)
        folds(vectors, minus, twin, deals.real[me], cards, deals.real[other], chips, reach, value, totals)


@njit(cache=True, nogil=True)
def _leave(
    trees, deals, scratch, top, me, board, weights, mode, positive, negative, seed, delivered, delivered_at,
    watch, watch_kept, watch_added,
):  # fmt: skip
    """The player's values of a board, up to its roots; they are `delivered`, with those of earlier all-ins."""
    s, final = deals.street[board], deals.final[board]
    hands, rows, height = deals.hands[me], address(scratch.rows, 0), deals.in_order.size
    slots = trees.node_at[s + 1] - trees.node_at[s]
    shown, folded, roots = trees.showdown_lanes[s], trees.fold_lanes[s], trees.roots[s]
    below, below_at = (top.value, 0) if s == 0 else (scratch.value, scratch.begin[s])
    passed = trees.ledger[s - 1] - roots if s else 0
    going = trees.ledger[s] - passed
    alive, in_order = address(deals.alive[me, board], 0), address(deals.in_order, 0)
    place = address(deals.place[me, max(final, 0)], 0)
    shown_value, folded_value = address(scratch.showdown_value, 0), address(scratch.fold_value, scratch.fold_begin[s])
    street, ahead = _street(trees, s), trees.edges[s, me] * LANES
    positive, negative = splat(np.float32(positive)), splat(np.float32(negative))
    kept, added = splat(np.float32(watch_kept)), splat(np.float32(watch_added))
    state = noise(seed + board)
    for block in range(hands // LANES):
        h = block * LANES
        mask = load(alive, h)
        if final >= 0:
            _turn_up(shown_value, place, h, height + 1, shown, rows, slots)
        else:
            for k in range(going):
                store(rows, (slots + folded + k) * LANES, load(below, below_at + k * hands + h))
        _turn_up(folded_value, in_order, h, height, folded, rows, slots + shown)
        at = deals.base[me, board] + block * ahead
        state = _backward(street, me, ahead, address(weights, at), mode, positive, negative, state, rows)
        for root in range(roots):
            store(delivered, delivered_at + root * hands + h, mul(load(rows, root * LANES), mask))
        for k in range(passed):
            if final >= 0:
                value = load(rows, (slots + trees.showdowns[s] + k) * LANES)
            else:
                value = load(below, below_at + (going + k) * hands + h)
            store(delivered, delivered_at + (roots + k) * hands + h, mul(value, mask))
        for number in range(watch.at[board], watch.at[board + 1]):
            here = number * hands + h
            value = mul(load(rows, watch.nodes[number] * LANES), added)
            store(watch.values, here, add(mul(load(watch.values, here), kept), value))


@njit(cache=True, nogil=True)
def _collect(trees, deals, me, board, delivered, delivered_at, target, target_at):
    """Add what a board delivered, and what its images would, to the ledger of the street before."""
    s, hands = deals.street[board], deals.hands[me]
    chance = deals.chance[s]
    for image in range(deals.image_at[board], deals.image_at[board + 1]):
        permutation = deals.images[image]
        if permutation < 0:
            for i in range(0, trees.ledger[s - 1] * hands, LANES):
                value = mul(load(delivered, delivered_at + i), splat(chance))
                store(target, target_at + i, add(load(target, target_at + i), value))
        else:
            of = deals.permutations[permutation, me]
            for row in range(trees.ledger[s - 1]):
                here, there = target_at + row * hands, delivered_at + row * hands
                for hand in range(deals.real[me]):
                    target[here + hand] += chance * delivered[there + of[hand]]


@njit(cache=True, nogil=True)
def open_root(trees, deals, scratch, top, me, ranges, theirs, average, averaging, kept, added, seed):
    """Begin a pass for player `me`: the opponent's reaches of the first street."""
    top.tickets[0] = 0
    _enter(trees, deals, scratch, top, me, 0, ranges, theirs, average, averaging[0], kept, added, seed)


@njit(cache=True, nogil=True)
def run_tasks(
    trees, deals, scratch, top, me, ranges, mine, theirs, average, averaging, mode,
    kept, added, positive, negative, seed, watch, watch_kept, watch_added,
):  # fmt: skip
    """Do tasks until none is left, beside other threads that do the same with scratch of their own."""
    hands = deals.hands[me]
    while True:
        task = take_ticket(top.tickets)
        if task >= deals.task_at.size - 1:
            return
        for i in range(deals.task_at[task], deals.task_at[task + 1]):
            board = deals.steps[i] >> 1
            s = deals.street[board]
            if not deals.steps[i] & 1:
                _enter(trees, deals, scratch, top, me, board, ranges, theirs, average, averaging[s], kept, added, seed)
                continue
            if s == 1:
                delivered, at = top.delivered, task * trees.ledger[0] * hands
            else:
                delivered, at = scratch.delivered, 0
            _leave(
                trees, deals, scratch, top, me, board, mine, mode, positive, negative, seed, delivered, at,
                watch, watch_kept, watch_added,
            )  # fmt: skip
            if s > 1:
                _collect(trees, deals, me, board, delivered, at, scratch.value, scratch.begin[s - 1])


@njit(cache=True, nogil=True)
def close_root(
    trees, deals, scratch, top, me, mine, mode, positive, negative, seed, watch, watch_kept, watch_added, result
):  # fmt: skip
    """End a pass: the player's counterfactual values at the root go to `result` [hand]."""
    hands = deals.hands[me]
    for task in range(deals.task_at.size - 1):
        board = deals.steps[deals.task_at[task]] >> 1
        _collect(trees, deals, me, board, top.delivered, task * trees.ledger[0] * hands, top.value, 0)
    _leave(
        trees, deals, scratch, top, me, 0, mine, mode, positive, negative, seed, result, 0,
        watch, watch_kept, watch_added,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def run_pass(
    trees, deals, scratch, top, me, ranges, mine, theirs, average, averaging, mode,
    kept, added, positive, negative, seed, watch, watch_kept, watch_added, result,
):  # fmt: skip
    """One pass for player `me` on this thread alone.

    `mine` and `theirs` are the weights that the players' strategies are proportional to (regrets or averages; negative
    ones count as zero). With mode UPDATE, `mine` (regrets) is updated, and so is the opponent's `average` on streets
    where `averaging` [s] says so; otherwise nothing is written but `result` and what is watched.
    """
    open_root(trees, deals, scratch, top, me, ranges, theirs, average, averaging, kept, added, seed)
    run_tasks(
        trees, deals, scratch, top, me, ranges, mine, theirs, average, averaging, mode,
        kept, added, positive, negative, seed, watch, watch_kept, watch_added,
    )  # fmt: skip
    close_root(
        trees, deals, scratch, top, me, mine, mode, positive, negative, seed, watch, watch_kept, watch_added, result
    )


@njit(cache=True, nogil=True)
def run_iterations(
    trees, deals, scratch, top, ranges, regrets, averages, averaging, weights, seeds, watches, results
):  # fmt: skip
    """Iterations with alternating updates, one for each row of `weights` [kept and added of the average, of regrets].

    `ranges`, `regrets`, `averages`, `watches`, `results` are pairs, by player; `seeds` [iteration, player].
    """
    for i in range(len(weights)):
        kept, added, positive, negative = weights[i, 0], weights[i, 1], weights[i, 2], weights[i, 3]
        for me in range(2):
            other = 1 - me
            run_pass(
                trees, deals, scratch, top, me, ranges[other], regrets[me], regrets[other], averages[other],
                averaging, UPDATE, kept, added, positive, negative, seeds[i, me], watches[me], kept, added, results[me],
            )  # fmt: skip
