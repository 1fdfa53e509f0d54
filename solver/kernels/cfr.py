"""The passes of range-vector CFR over one part of a street's betting on one board, a block of hands at a time.

To update a player, the *opponent's* reaches go down (`_go_down`): at each of its nodes its strategy, recomputed from
its regrets, splits the reach, and the average is updated on the way, since that is the player whose own reach is at
hand. The reaches at the leaves are turned from [slot][hand] to [hand][lane] (`solver.kernels.tiles`) and swept
(`solver.kernels.sweeps`). The values are turned back and go up (`_come_up`): at the player's own nodes its regrets are
updated in the same pass that mixes them.

Nodes come in runs of equal player and number of children; for two, three and four the loops are compiled apart.
Regrets of later streets leave out the probability of their board: it scales all of a board's regrets alike.

A pass goes down the first street, does the tasks (boards of the second street with all that follow, depth first, so
that every street needs scratch for one board only), and comes up the first street. Any thread may do any task: each
delivers its values to a place of its own and they are summed in order, so that the number of threads changes no bit.

Rules of the file. The arrays are those of `solver.kernels.types`: flat, C-contiguous, float32 unless named otherwise,
and they alias only where a docstring says so. Weights (regrets, averages) are float32, or bfloat16 in uint16. Nothing
is checked: `solver.subgame` builds what is passed here.
"""

from __future__ import annotations

import numpy as np

from solver.kernels.compiled import inlined, kernel
from solver.kernels.gadgets import NO_GATE, choose, learn
from solver.kernels.sweeps import chunk, chunks, folds, payoffs, showdowns
from solver.kernels.tiles import gather, scatter
from solver.kernels.types import Work
from solver.kernels.vectors import (
    BLOCK,
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
    noise,
    prefetch,
    publish,
    read,
    splat,
    store,
    sub,
    write,
    yield_core,
)

AHEAD = 128 * BLOCK
"""How far ahead regrets and averages are asked for: they are read in order on the way down, backwards on the way up."""

_LEAST = np.float32(1e-30)
"""Positive weights whose sum is no larger count as none, so that the strategy is uniform: quotients would overflow."""

_ZERO = np.int64(0)
"""The root's board, and where a ledger begins: for the literal 0 numba would compile what is called once more."""

NEXT, OPEN, INSIDE = 0, 8, 16
"""Places in `Top.counters`."""
OVER = -1

UPDATE, BEST, FOLLOW = 0, 1, 2
"""What the player does in a pass: update its regrets, respond best, or follow the weights given."""


def _forward_of(fixed):
    """Reaches down a run of nodes with `fixed` children, or any number if that is 0: the player's, and others'."""

    @kernel
    def forward(
        edges, firsts, children, begin, end, number, weights, average, averaging, kept, added, state, rows
    ):  # fmt: skip
        count = fixed if fixed else number
        zero, one, uniform = splat(np.float32(0.0)), splat(np.float32(1.0)), splat(np.float32(1.0 / count))
        least = splat(_LEAST)
        for node in range(begin, end):
            arriving = load(rows, node * BLOCK)
            edge, first = item(edges, node) * BLOCK, item(firsts, node)
            total = zero
            for a in range(count):
                prefetch(weights, edge + AHEAD + a * BLOCK)
                total = add(total, larger(read(weights, edge + a * BLOCK), zero))
            enough = sub(total, least)
            share = if_positive(enough, mul(div(one, total), arriving), zero)
            equal = if_positive(enough, zero, mul(arriving, uniform))
            for a in range(count):
                here = edge + a * BLOCK
                leaving = add(mul(larger(read(weights, here), zero), share), equal)
                if averaging:
                    prefetch(average, here + AHEAD)
                    state = write(average, here, add(mul(read(average, here), kept), mul(leaving, added)), state)
                store(rows, item(children, first + a) * BLOCK, leaving)
        return state

    @kernel
    def pass_on(firsts, children, begin, end, number, rows):
        count = fixed if fixed else number
        for node in range(begin, end):
            arriving, first = load(rows, node * BLOCK), item(firsts, node)
            for a in range(count):
                store(rows, item(children, first + a) * BLOCK, arriving)

    return forward, pass_on


def _backward_of(fixed):
    """Values up a run of nodes with `fixed` children, or any number if that is 0.

    The player's, whose regrets are updated; others', which are summed; and the player's when it takes the best action.
    """

    @kernel
    def backward(
        edges, firsts, children, begin, end, number, weights, update, positive, negative, state, rows
    ):  # fmt: skip
        count = fixed if fixed else number
        zero, uniform, least = splat(np.float32(0.0)), splat(np.float32(1.0 / count)), splat(_LEAST)
        for node in range(end - 1, begin - 1, -1):
            edge, first = item(edges, node) * BLOCK, item(firsts, node)
            total, weighted, plain = zero, zero, zero
            for a in range(count):
                prefetch(weights, edge - AHEAD + a * BLOCK)
                value = load(rows, item(children, first + a) * BLOCK)
                regret = larger(read(weights, edge + a * BLOCK), zero)
                total = add(total, regret)
                weighted = add(weighted, mul(regret, value))
                plain = add(plain, value)
            mixed = if_positive(sub(total, least), div(weighted, total), mul(plain, uniform))
            store(rows, node * BLOCK, mixed)
            if update:
                for a in range(count):
                    here = edge + a * BLOCK
                    regret = read(weights, here)
                    gained = sub(load(rows, item(children, first + a) * BLOCK), mixed)
                    state = write(
                        weights, here, add(mul(regret, if_positive(regret, positive, negative)), gained), state
                    )
        return state

    @kernel
    def sum_up(firsts, children, begin, end, number, rows):
        count = fixed if fixed else number
        for node in range(end - 1, begin - 1, -1):
            first = item(firsts, node)
            total = load(rows, item(children, first) * BLOCK)
            for a in range(1, count):
                total = add(total, load(rows, item(children, first + a) * BLOCK))
            store(rows, node * BLOCK, total)

    @kernel
    def take_best(firsts, children, begin, end, number, rows):
        count = fixed if fixed else number
        for node in range(end - 1, begin - 1, -1):
            first = item(firsts, node)
            best = load(rows, item(children, first) * BLOCK)
            for a in range(1, count):
                best = larger(load(rows, item(children, first + a) * BLOCK), best)
            store(rows, node * BLOCK, best)

    return backward, sum_up, take_best


_FORWARD, _PASS_ON = _forward_of(0)
_FORWARD_2, _PASS_ON_2 = _forward_of(2)
_FORWARD_3, _PASS_ON_3 = _forward_of(3)
_FORWARD_4, _PASS_ON_4 = _forward_of(4)
_BACKWARD, _SUM_UP, _TAKE_BEST = _backward_of(0)
_BACKWARD_2, _SUM_UP_2, _TAKE_BEST_2 = _backward_of(2)
_BACKWARD_3, _SUM_UP_3, _TAKE_BEST_3 = _backward_of(3)
_BACKWARD_4, _SUM_UP_4, _TAKE_BEST_4 = _backward_of(4)


@kernel
def _nodes(trees, part):
    """Where the nodes and the runs of a part are."""
    node, run = trees.node_at[part], trees.run_at[part]
    where = (address(trees.edge, node), address(trees.first, node), address(trees.child, 0))
    return where, address(trees.runs, 4 * run), trees.run_at[part + 1] - run


@kernel
def _forward(nodes, player, weights, average, averaging, kept, added, state, rows):
    """Reaches of one block, from the roots' rows to all leaves' rows."""
    (edges, firsts, children), runs, num_runs = nodes
    for run in range(num_runs):
        begin, end, count = item(runs, 4 * run), item(runs, 4 * run + 1), item(runs, 4 * run + 3)
        others = (firsts, children, begin, end, count, rows)
        how = (edges, firsts, children, begin, end, count, weights, average, averaging, kept, added, state, rows)
        mine = item(runs, 4 * run + 2) == player
        if count == 3:
            if mine:
                state = _FORWARD_3(*how)
            else:
                _PASS_ON_3(*others)
        elif count == 2:
            if mine:
                state = _FORWARD_2(*how)
            else:
                _PASS_ON_2(*others)
        elif count == 4:
            if mine:
                state = _FORWARD_4(*how)
            else:
                _PASS_ON_4(*others)
        elif mine:
            state = _FORWARD(*how)
        else:
            _PASS_ON(*others)
    return state


@kernel
def _backward(nodes, player, weights, mode, positive, negative, state, rows):
    """Values of one block, from the leaves' rows to the roots' rows; updates the regrets in `weights`."""
    (edges, firsts, children), runs, num_runs = nodes
    for back in range(num_runs):
        run = num_runs - 1 - back
        begin, end, count = item(runs, 4 * run), item(runs, 4 * run + 1), item(runs, 4 * run + 3)
        others = (firsts, children, begin, end, count, rows)
        update = mode == UPDATE
        how = (edges, firsts, children, begin, end, count, weights, update, positive, negative, state, rows)
        mine = item(runs, 4 * run + 2) == player
        if count == 3:
            if not mine:
                _SUM_UP_3(*others)
            elif mode == BEST:
                _TAKE_BEST_3(*others)
            else:
                state = _BACKWARD_3(*how)
        elif count == 2:
            if not mine:
                _SUM_UP_2(*others)
            elif mode == BEST:
                _TAKE_BEST_2(*others)
            else:
                state = _BACKWARD_2(*how)
        elif count == 4:
            if not mine:
                _SUM_UP_4(*others)
            elif mode == BEST:
                _TAKE_BEST_4(*others)
            else:
                state = _BACKWARD_4(*how)
        elif not mine:
            _SUM_UP(*others)
        elif mode == BEST:
            _TAKE_BEST(*others)
        else:
            state = _BACKWARD(*how)
    return state


@kernel
def _turn(down, rows, slot, lanes, table, places, h, height):
    """A block at `lanes` slots, to (`down`) or from a chunked table of `height` rows, hand h in row `places[h]`."""
    for number in range(chunks(lanes // LANES)):
        begin, vectors = chunk(lanes // LANES, number)
        for k in range(vectors):
            at, lane = (slot + (begin + k) * LANES) * BLOCK, begin * LANES * height + k * LANES
            for hand in range(0, BLOCK, LANES):
                if down:
                    scatter(rows, at + hand, table, places, h + hand, vectors * LANES, lane)
                else:
                    gather(table, places, h + hand, vectors * LANES, lane, rows, at + hand)


@kernel
def _go_down(trees, deals, scratch, top, work, board, part):
    """The opponent's reaches of a part, down to its leaves, and the values of those at which the hand ends."""
    other, s = 1 - work.me, deals.street[board]
    hands, final, height = deals.hands[other], deals.final[board], deals.in_order.size
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
    in_order = address(deals.in_order, 0)
    averaging = work.averaging[s]
    kept, added = splat(np.float32(work.weights[0])), splat(np.float32(work.weights[1]))
    state = noise(work.seed + ((64 * board + part) << 32))
    for block in range(hands // BLOCK):
        h = block * BLOCK
        mask = load(alive, h)
        for root in range(roots):
            at = above_at + (trees.root_at[part] + root) * hands + h
            arriving = load(above, at) if s else load(work.ranges, h)
            store(rows, root * BLOCK, mul(arriving, mask))
        at = deals.base[other, board] + trees.edge_at[part, other] * hands + block * edges * BLOCK
        state = _forward(
            nodes, other, address(work.theirs, at), address(work.average, at if averaging else 0),
            averaging, kept, added, state, rows,
        )  # fmt: skip
        if final >= 0:
            for k in range(trees.opened[part]):
                reach = mul(load(above, above_at + (all_roots + k) * hands + h), mask)
                store(rows, (slots + trees.showdowns[part] + k) * BLOCK, reach)
            _turn(True, rows, slots, shown, shown_reach, place, h, height + 1)
        else:
            for k in range(going):
                store(below, below_at + k * hands + h, load(rows, (slots + folded + k) * BLOCK))
            for k in range(passed):
                reach = mul(load(above, above_at + (all_roots + k) * hands + h), mask)
                store(below, below_at + (going + k) * hands + h, reach)
        _turn(True, rows, slots + shown, folded, folded_reach, in_order, h, height + 1)
    if final >= 0:
        _show_down(trees, deals, scratch, work.me, final, part)
    else:
        value = top.value if s == 0 else scratch.value
        value[below_at : below_at + trees.ledger[s] * deals.hands[work.me]] = 0.0
    _fold(trees, deals, scratch, work.me, s, part)


@kernel
def _show_down(trees, deals, scratch, me, final, part):
    """The values of a part's showdowns."""
    other, height, lanes = 1 - me, deals.in_order.size, trees.showdown_lanes[part]
    minus, cards = address(deals.minus, me * height * 2), address(deals.cards, other * height * 2)
    order, group = address(deals.order[me, final], 0), address(deals.group[me, final], 0)
    their_order, their_group = address(deals.order[other, final], 0), address(deals.group[other, final], 0)
    for number in range(chunks(lanes // LANES)):
        begin, vectors = chunk(lanes // LANES, number)
        base = begin * LANES * (height + 1)
        nobody = base + height * vectors * LANES
        scratch.showdown_value[nobody : nobody + vectors * LANES] = 0.0
        reach, value = address(scratch.showdown_reach, base), address(scratch.showdown_value, base)
        if trees.matrices.size:
            matrices = address(trees.matrices, me * height * height * lanes + begin * LANES)
            payoffs(matrices, lanes, deals.real[me], height, deals.real[other], vectors, reach, value)
        else:
            chips = address(trees.showdown_chips, trees.showdown_at[part] + begin * LANES)
            showdowns(
                vectors, order, group, minus, their_order, their_group, cards, deals.groups[final], chips,
                reach, value, address(scratch.card_totals, 0),
            )  # fmt: skip


@kernel
def _fold(trees, deals, scratch, me, s, part):
    """The values of a part's folds."""
    other, height, lanes = 1 - me, deals.in_order.size, trees.fold_lanes[part]
    minus, cards = address(deals.minus, me * height * 2), address(deals.cards, other * height * 2)
    for number in range(chunks(lanes // LANES)):
        begin, vectors = chunk(lanes // LANES, number)
        base = scratch.fold_begin[s] + begin * LANES * (height + 1)
        no_twin = base + height * vectors * LANES
        scratch.fold_reach[no_twin : no_twin + vectors * LANES] = 0.0
        nobody, end = base + deals.real[me] * vectors * LANES, base + deals.hands[me] * vectors * LANES
        scratch.fold_value[nobody:end] = 0.0
        folds(
            vectors, minus, address(deals.twin, me * height), deals.real[me], cards, deals.real[other],
            address(trees.fold_chips[me], trees.fold_at[part] + begin * LANES),
            address(scratch.fold_reach, base), address(scratch.fold_value, base), address(scratch.card_totals, 0),
        )  # fmt: skip


@kernel
def _come_up(trees, deals, scratch, top, work, board, part, delivered, delivered_at):
    """The player's values of a part, up to its roots; they are `delivered`, with those of earlier all-ins."""
    me, s, final = work.me, deals.street[board], deals.final[board]
    hands, height = deals.hands[me], deals.in_order.size
    slots = trees.node_at[part + 1] - trees.node_at[part]
    shown, folded, roots = trees.showdown_lanes[part], trees.fold_lanes[part], trees.roots[part]
    below, below_at = (top.value, 0) if s == 0 else (scratch.value, scratch.begin[s])
    all_roots = trees.root_at[trees.part_at[s + 1] - 1] + trees.roots[trees.part_at[s + 1] - 1]
    passed = trees.ledger[s - 1] - all_roots if s else 0
    going = trees.ledger[s] - passed
    rows, nodes, edges = address(scratch.rows, 0), _nodes(trees, part), trees.edges[part, me]
    alive = address(deals.alive, (me * len(deals.street) + board) * height)
    place = address(deals.place, (me * len(deals.groups) + max(final, 0)) * height)
    shown_value, folded_value = address(scratch.showdown_value, 0), address(scratch.fold_value, scratch.fold_begin[s])
    in_order = address(deals.in_order, 0)
    positive, negative = splat(np.float32(work.weights[2])), splat(np.float32(work.weights[3]))
    kept, added = splat(np.float32(work.watch_weights[0])), splat(np.float32(work.watch_weights[1]))
    watch = work.watch
    state = noise(work.seed + ((64 * board + part) << 32))
    for block in range(hands // BLOCK - 1, -1, -1):
        h = block * BLOCK
        mask = load(alive, h)
        if final >= 0:
            _turn(False, rows, slots, shown, shown_value, place, h, height + 1)
            for k in range(trees.opened[part]):
                value = load(rows, (slots + trees.showdowns[part] + k) * BLOCK)
                store(delivered, delivered_at + (all_roots + k) * hands + h, mul(value, mask))
        else:
            for k in range(going):
                store(rows, (slots + folded + k) * BLOCK, load(below, below_at + k * hands + h))
            for k in range(passed):
                value = load(below, below_at + (going + k) * hands + h)
                store(delivered, delivered_at + (all_roots + k) * hands + h, mul(value, mask))
        _turn(False, rows, slots + shown, folded, folded_value, in_order, h, height + 1)
        at = deals.base[me, board] + trees.edge_at[part, me] * hands + block * edges * BLOCK
        state = _backward(nodes, me, address(work.mine, at), work.mode, positive, negative, state, rows)
        for root in range(roots):
            at = delivered_at + (trees.root_at[part] + root) * hands + h
            store(delivered, at, mul(load(rows, root * BLOCK), mask))
        for number in range(watch.at[board], watch.at[board + 1]):
            if watch.parts[number] == part:
                here = number * hands + h
                value = mul(load(rows, watch.rows[number] * BLOCK), added)
                store(watch.values, here, add(mul(load(watch.values, here), kept), value))


@inlined
def _visit(trees, deals, scratch, top, work, board, delivered, delivered_at):
    """All of a board of the last street, part by part."""
    s = deals.street[board]
    for part in range(trees.part_at[s], trees.part_at[s + 1]):
        _go_down(trees, deals, scratch, top, work, board, part)
        _come_up(trees, deals, scratch, top, work, board, part, delivered, delivered_at)


@kernel
def _collect(trees, deals, me, board, delivered, delivered_at, target, target_at):
    """Add what a board delivered, and what its images would, to the ledger of the street before."""
    s, hands = deals.street[board], deals.hands[me]
    chance = deals.chance[s]
    for image in range(deals.image_at[board], deals.image_at[board + 1]):
        permutation = deals.images[image]
        if permutation < 0:
            for i in range(0, trees.ledger[s - 1] * hands, BLOCK):
                value = mul(load(delivered, delivered_at + i), splat(chance))
                store(target, target_at + i, add(load(target, target_at + i), value))
        else:
            of = deals.permutations[permutation, me]
            for row in range(trees.ledger[s - 1]):
                here, there = target_at + row * hands, delivered_at + row * hands
                for hand in range(deals.real[me]):
                    target[here + hand] += chance * delivered[there + of[hand]]


@inlined
def _work(batch, number):
    """A pass of a batch."""
    me = batch.players[number]
    return Work(
        me, batch.mode, batch.ranges[1 - me], batch.mine[me], batch.theirs[me], batch.averages[1 - me],
        batch.averaging, batch.weights[number], batch.seeds[number], batch.watches[me], batch.watch_weights[number],
    )  # fmt: skip


@inlined
def _take_tasks(trees, deals, scratch, top, work):
    """Do tasks until none is left: boards of the second street with all that follow."""
    hands = deals.hands[work.me]
    while True:
        task = fetch_add(top.counters, NEXT, 1)
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


@inlined
def _lead_pass(trees, deals, scratch, top, work, number, result):
    """A pass over several streets, whose tasks other threads take as well."""
    _go_down(trees, deals, scratch, top, work, _ZERO, trees.part_at[0])
    publish(top.counters, NEXT, 0)
    publish(top.counters, OPEN, number + 1)
    _take_tasks(trees, deals, scratch, top, work)
    publish(top.counters, OPEN, 0)
    while fetch(top.counters, INSIDE) > 0:
        yield_core()
    for task in range(deals.task_at.size - 1):
        board = deals.steps[deals.task_at[task]] >> 1
        at = task * trees.ledger[0] * deals.hands[work.me]
        _collect(trees, deals, work.me, board, top.delivered, at, top.value, _ZERO)
    _come_up(trees, deals, scratch, top, work, _ZERO, trees.part_at[0], result, _ZERO)


@kernel
def lead(trees, deals, scratch, top, batch):
    """Run the passes of a batch; other threads may `follow` meanwhile, with scratch of their own."""
    gate, waits = batch.gate, batch.mode == UPDATE and batch.gate.kind != NO_GATE
    for number in range(len(batch.players)):
        work = _work(batch, number)
        result = batch.results[work.me]
        if waits and work.me != gate.player:
            choose(gate, work.weights[0], work.weights[1], batch.ranges[gate.player])
        if deals.final[0] >= 0:
            _visit(trees, deals, scratch, top, work, _ZERO, result, _ZERO)
        else:
            _lead_pass(trees, deals, scratch, top, work, number, result)
        if waits and work.me == gate.player:
            learn(gate, result, work.weights[2], work.weights[3])
    publish(top.counters, OPEN, OVER)


@kernel
def follow(trees, deals, scratch, top, batch):
    """Help with a batch until it is over. A thread that is late or asleep holds nobody up."""
    while True:
        number = fetch(top.counters, OPEN)
        if number == OVER:
            return
        if number > 0:
            fetch_add(top.counters, INSIDE, 1)
            if fetch(top.counters, OPEN) == number:  # else it was closed meanwhile, and the leader goes on alone
                _take_tasks(trees, deals, scratch, top, _work(batch, number - 1))
            fetch_add(top.counters, INSIDE, -1)
        yield_core()
