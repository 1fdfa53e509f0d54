"""The passes of range-vector CFR over one part of a street's betting on one board, sixteen hands at a time.

To update a player, the *opponent's* reaches go down (`_go_down`): at each of its nodes its strategy, recomputed from its
regrets, splits the reach, and the average is updated on the way, since that is the player whose own reach is at hand.
The reaches at the leaves are turned from [slot][hand] to [hand][lane] (`solver.tiles`) and swept (`solver.sweeps`). The values are
turned back and go up (`_come_up`): at the player's own nodes its regrets are updated in the same pass that mixes them.

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

from solver.sweeps import NUM_CARD_ROWS, chunk, chunks, payoffs, showdowns
from solver.tables import Work
from solver.tiles import gather_folds, gather_won, scatter, scatter_and_count
from solver.vectors import (
    LANES,
    add,
    address,
    beyond,
    div,
    if_positive,
    item,
    larger,
    load,
    mul,
    noise,
    prefetch,
    read,
    splat,
    store,
    sub,
    take_ticket,
    write,
)

UPDATE, BEST, FOLLOW = 0, 1, 2
"""What the player does in a pass: update its regrets, respond best, or follow the weights given."""

_LEAST = np.float32(1e-30)
"""Sums of positive weights up to this count as nothing: the strategy is uniform. (Estimates of 1 / x overflow there.)"""

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
        least = splat(_LEAST)
        for node in range(begin, end):
            arriving = load(rows, node * LANES)
            edge, first = item(edges, node) * LANES, item(firsts, node)
            total = zero
            for a in range(count):
                prefetch(weights, edge + ahead + a * LANES)
                total = add(total, larger(read(weights, edge + a * LANES), zero))
            enough = sub(total, least)
            share = if_positive(enough, mul(div(one, total), arriving), zero)
            equal = if_positive(enough, zero, mul(arriving, uniform))
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
        zero, uniform, least = splat(np.float32(0.0)), splat(np.float32(1.0 / count)), splat(_LEAST)
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
            mixed = if_positive(sub(total, least), div(weighted, total), mul(plain, uniform))
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
def _nodes(trees, part):
    """Where the nodes and the runs of a part are."""
    node, run = trees.node_at[part], trees.run_at[part]
    where = (address(trees.edge, node), address(trees.first, node), address(trees.child, 0))
    return where, address(trees.runs, 4 * run), trees.run_at[part + 1] - run


@njit(cache=True, nogil=True)
def _forward(nodes, player, ahead, weights, average, averaging, kept, added, state, rows):
    """Reaches of one block, from the roots' rows to all leaves' rows."""
    (edges, firsts, children), runs, num_runs = nodes
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
def _backward(nodes, player, ahead, weights, mode, positive, negative, state, rows):
    """Values of one block, from the leaves' rows to the roots' rows; updates the regrets in `weights`."""
    (edges, firsts, children), runs, num_runs = nodes
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
def _turn_showdowns(rows, slot, lanes, target, places, h, height):
    """Reaches of a block at `lanes` slots, turned to a chunked array of `height` rows."""
    for number in range(chunks(lanes // LANES)):
        begin, vectors = chunk(lanes // LANES, number)
        for k in range(vectors):
            lane = begin * LANES * height + k * LANES
            scatter(rows, (slot + (begin + k) * LANES) * LANES, target, places, h, vectors * LANES, lane)


@njit(cache=True, nogil=True)
def _turn_back(source, places, h, height, lanes, minus, totals, chips, rows, slot):
    """The values that sweeps left in such an array, as those of a block."""
    for number in range(chunks(lanes // LANES)):
        begin, vectors = chunk(lanes // LANES, number)
        width = vectors * LANES
        values, all_hands = beyond(source, begin * LANES * height), beyond(totals, begin * LANES * NUM_CARD_ROWS)
        paid = beyond(chips, begin * LANES)
        for k in range(vectors):
            to = (slot + (begin + k) * LANES) * LANES
            gather_won(values, places, h, width, k * LANES, minus, all_hands, paid, rows, to)


@njit(cache=True, nogil=True)
def _go_down(trees, deals, scratch, top, work, board, part):
    """The opponent's reaches of a part, down to its leaves, and the values of those at which the hand ends."""
    other, s = 1 - work.me, deals.street[board]
    hands, final, height = deals.hands[other], deals.final[board], deals.twin.shape[1]
    slots = trees.node_at[part + 1] - trees.node_at[part]
    shown, folded, roots = trees.showdown_lanes[part], trees.fold_lanes[part], trees.roots[part]
    above, above_at = (top.reach, 0) if s == 1 else (scratch.reach, scratch.begin[max(s - 1, 0)])
    below, below_at = (top.reach, 0) if s == 0 else (scratch.reach, scratch.begin[s])
    all_roots = trees.root_at[trees.part_at[s + 1] - 1] + trees.roots[trees.part_at[s + 1] - 1]
    passed = trees.ledger[s - 1] - all_roots if s else 0
    going = trees.ledger[s] - passed
    rows, nodes, edges = address(scratch.rows, 0), _nodes(trees, part), trees.edges[part, other]
    alive = address(deals.alive, (other * len(deals.street) + board) * height)
    place = address(deals.place, (other * len(deals.groups) + max(final, 0)) * height)
    shown_reach, folded_reach = address(scratch.showdown_reach, 0), address(scratch.fold_reach, scratch.fold_begin[s])
    cards, totals = address(deals.cards, other * height * 2), scratch.totals_begin[s]
    scratch.fold_totals[totals : totals + NUM_CARD_ROWS * folded] = 0.0
    no_twin = scratch.fold_begin[s] + height * folded
    scratch.fold_reach[no_twin : no_twin + folded] = 0.0
    fold_totals = address(scratch.fold_totals, totals)
    averaging = work.averaging[s]
    kept, added = splat(np.float32(work.weights[0])), splat(np.float32(work.weights[1]))
    state = noise(work.seed + 64 * board + part)
    for block in range(hands // LANES):
        h = block * LANES
        mask = load(alive, h)
        for root in range(roots):
            at = above_at + (trees.root_at[part] + root) * hands + h
            arriving = load(above, at) if s else load(work.ranges, h)
            store(rows, root * LANES, mul(arriving, mask))
        at = deals.base[other, board] + trees.edge_at[part, other] * hands + block * edges * LANES
        state = _forward(
            nodes, other, edges * LANES, address(work.theirs, at), address(work.average, at if averaging else 0),
            averaging, kept, added, state, rows,
        )  # fmt: skip
        if final >= 0:
            for k in range(trees.opened[part]):
                reach = mul(load(above, above_at + (all_roots + k) * hands + h), mask)
                store(rows, (slots + trees.showdowns[part] + k) * LANES, reach)
            _turn_showdowns(rows, slots, shown, shown_reach, place, h, height + 1)
        else:
            for k in range(going):
                store(below, below_at + k * hands + h, load(rows, (slots + folded + k) * LANES))
            for k in range(passed):
                reach = mul(load(above, above_at + (all_roots + k) * hands + h), mask)
                store(below, below_at + (going + k) * hands + h, reach)
        for lane in range(0, folded, LANES):
            at = (slots + shown + lane) * LANES
            scatter_and_count(rows, at, folded_reach, h, folded, lane, cards, fold_totals)
    if final >= 0:
        _show_down(trees, deals, scratch, work.me, final, part)
    else:
        value = top.value if s == 0 else scratch.value
        value[below_at : below_at + trees.ledger[s] * deals.hands[work.me]] = 0.0


@njit(cache=True, nogil=True)
def _show_down(trees, deals, scratch, me, final, part):
    """What `_turn_back` makes values of a part's showdowns from."""
    other, height, lanes = 1 - me, deals.twin.shape[1], trees.showdown_lanes[part]
    minus, cards = address(deals.minus, me * height * 2), address(deals.cards, other * height * 2)
    order, group = address(deals.order[me, final], 0), address(deals.group[me, final], 0)
    their_order, their_group = address(deals.order[other, final], 0), address(deals.group[other, final], 0)
    for number in range(chunks(lanes // LANES)):
        begin, vectors = chunk(lanes // LANES, number)
        base = begin * LANES * (height + 1)
        reach, value = address(scratch.showdown_reach, base), address(scratch.showdown_value, base)
        if trees.matrices.size:
            matrices = address(trees.matrices, me * height * height * lanes + begin * LANES)
            payoffs(matrices, lanes, deals.real[me], height, deals.real[other], vectors, reach, value)
        else:
            totals = address(scratch.showdown_totals, begin * LANES * NUM_CARD_ROWS)
            showdowns(
                vectors, order, group, minus, their_order, their_group, cards, deals.groups[final], reach, value, totals
            )


@njit(cache=True, nogil=True)
def _come_up(trees, deals, scratch, top, work, board, part, delivered, delivered_at):
    """The player's values of a part, up to its roots; they are `delivered`, with those of earlier all-ins."""
    me, s, final = work.me, deals.street[board], deals.final[board]
    hands, height = deals.hands[me], deals.twin.shape[1]
    slots = trees.node_at[part + 1] - trees.node_at[part]
    shown, folded, roots = trees.showdown_lanes[part], trees.fold_lanes[part], trees.roots[part]
    below, below_at = (top.value, 0) if s == 0 else (scratch.value, scratch.begin[s])
    all_roots = trees.root_at[trees.part_at[s + 1] - 1] + trees.roots[trees.part_at[s + 1] - 1]
    passed = trees.ledger[s - 1] - all_roots if s else 0
    going = trees.ledger[s] - passed
    rows, nodes, edges = address(scratch.rows, 0), _nodes(trees, part), trees.edges[part, me]
    alive = address(deals.alive, (me * len(deals.street) + board) * height)
    place = address(deals.place, (me * len(deals.groups) + max(final, 0)) * height)
    shown_value, folded_reach = address(scratch.showdown_value, 0), address(scratch.fold_reach, scratch.fold_begin[s])
    shown_totals = address(scratch.showdown_totals, 0)
    fold_totals = address(scratch.fold_totals, scratch.totals_begin[s])
    shown_chips = address(trees.showdown_chips, trees.showdown_at[part])
    fold_chips = address(trees.fold_chips[me], trees.fold_at[part])
    minus, twin = address(deals.minus, me * height * 2), address(deals.twin, me * height)
    positive, negative = splat(np.float32(work.weights[2])), splat(np.float32(work.weights[3]))
    kept, added = splat(np.float32(work.watch_weights[0])), splat(np.float32(work.watch_weights[1]))
    watch = work.watch
    state = noise(work.seed + 64 * board + part)
    for block in range(hands // LANES):
        h = block * LANES
        mask = load(alive, h)
        if final >= 0:
            _turn_back(shown_value, place, h, height + 1, shown, minus, shown_totals, shown_chips, rows, slots)
            for k in range(trees.opened[part]):
                value = load(rows, (slots + trees.showdowns[part] + k) * LANES)
                store(delivered, delivered_at + (all_roots + k) * hands + h, mul(value, mask))
        else:
            for k in range(going):
                store(rows, (slots + folded + k) * LANES, load(below, below_at + k * hands + h))
            for k in range(passed):
                value = load(below, below_at + (going + k) * hands + h)
                store(delivered, delivered_at + (all_roots + k) * hands + h, mul(value, mask))
        for lane in range(0, folded, LANES):
            to = (slots + shown + lane) * LANES
            gather_folds(folded_reach, twin, h, folded, lane, minus, fold_totals, fold_chips, rows, to)
        at = deals.base[me, board] + trees.edge_at[part, me] * hands + block * edges * LANES
        state = _backward(nodes, me, edges * LANES, address(work.mine, at), work.mode, positive, negative, state, rows)
        for root in range(roots):
            at = delivered_at + (trees.root_at[part] + root) * hands + h
            store(delivered, at, mul(load(rows, root * LANES), mask))
        for number in range(watch.at[board], watch.at[board + 1]):
            if watch.parts[number] == part:
                here = number * hands + h
                value = mul(load(rows, watch.rows[number] * LANES), added)
                store(watch.values, here, add(mul(load(watch.values, here), kept), value))


@njit(cache=True, nogil=True)
def _visit(trees, deals, scratch, top, work, board, delivered, delivered_at):
    """All of a board of the last street, part by part."""
    s = deals.street[board]
    for part in range(trees.part_at[s], trees.part_at[s + 1]):
        _go_down(trees, deals, scratch, top, work, board, part)
        _come_up(trees, deals, scratch, top, work, board, part, delivered, delivered_at)


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
def open_root(trees, deals, scratch, top, work):
    """Begin a pass: the opponent's reaches of the first street."""
    top.tickets[0] = 0
    if deals.final[0] < 0:
        _go_down(trees, deals, scratch, top, work, 0, 0)


@njit(cache=True, nogil=True)
def run_tasks(trees, deals, scratch, top, work):
    """Do tasks until none is left, beside other threads that do the same with scratch of their own."""
    hands = deals.hands[work.me]
    while True:
        task = take_ticket(top.tickets)
        if task >= deals.task_at.size - 1:
            return
        for i in range(deals.task_at[task], deals.task_at[task + 1]):
            board, leaving = deals.steps[i] >> 1, deals.steps[i] & 1
            s, final = deals.street[board], deals.final[board] >= 0
            part = trees.part_at[s]
            if not (final or leaving):
                _go_down(trees, deals, scratch, top, work, board, part)
                continue
            if s == 1:
                delivered, at = top.delivered, task * trees.ledger[0] * hands
            else:
                delivered, at = scratch.delivered, 0
            if final:
                _visit(trees, deals, scratch, top, work, board, delivered, at)
            else:
                _come_up(trees, deals, scratch, top, work, board, part, delivered, at)
            if s > 1:
                _collect(trees, deals, work.me, board, delivered, at, scratch.value, scratch.begin[s - 1])


@njit(cache=True, nogil=True)
def close_root(trees, deals, scratch, top, work, result):
    """End a pass: the player's counterfactual values at the root go to `result` [hand]."""
    if deals.final[0] >= 0:
        _visit(trees, deals, scratch, top, work, 0, result, 0)
        return
    for task in range(deals.task_at.size - 1):
        board = deals.steps[deals.task_at[task]] >> 1
        at = task * trees.ledger[0] * deals.hands[work.me]
        _collect(trees, deals, work.me, board, top.delivered, at, top.value, 0)
    _come_up(trees, deals, scratch, top, work, 0, 0, result, 0)


@njit(cache=True, nogil=True)
def run_iterations(
    trees, deals, scratch, top, ranges, regrets, averages, averaging, weights, seeds, watches, results
):  # fmt: skip
    """Iterations with alternating updates on this thread alone, one for each row of `weights` (see `tables.Work`).

    `ranges`, `regrets`, `averages`, `watches`, `results` are pairs, by player; `seeds` [iteration, player].
    """
    for i in range(len(weights)):
        for me in range(2):
            other = 1 - me
            work = Work(
                me, UPDATE, ranges[other], regrets[me], regrets[other], averages[other], averaging, weights[i],
                seeds[i, me], watches[me], weights[i, :2],
            )  # fmt: skip
            open_root(trees, deals, scratch, top, work)
            run_tasks(trees, deals, scratch, top, work)
            close_root(trees, deals, scratch, top, work, results[me])
