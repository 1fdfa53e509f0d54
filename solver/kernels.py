"""The passes of range-vector CFR over one street's forest and one board, sixteen hands at a time.

To update a player, the *opponent's* reaches go down (`_forward`): at each of its nodes its strategy, recomputed from
its regrets, splits the reach, and the average is updated on the way, since that is the player whose own reach is at
hand. The reaches at the leaves are turned from [slot][hand] to [hand][lane] and swept (`_showdowns`, `_folds`): hands
in order of strength, running totals for all lanes at once and for every card, read before and after each group of
equal hands, with the two cards' totals subtracted for card removal. The values are turned back and go up
(`_backward`): at the player's own nodes its regrets are updated in the same pass that mixes the values.

Regrets of later streets leave out the probability of their board: it scales all of a board's regrets alike.

`run` does this for a whole subgame: a schedule says in which order boards are entered and left, depth first, so that
every street needs scratch for one board only.

Rules of the file. Arrays are flat, C-contiguous and alias only where a docstring says so; float32 unless named
otherwise. `H[p]` is the number of hands of player p, padded to whole vectors; a block is sixteen of them. Regrets and
averages of a board lie as [block][edge][16 hands]. Nothing is checked: `solver.subgame` builds what is passed here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from solver.vectors import (
    LANES,
    add,
    div,
    gather_columns,
    if_positive,
    larger,
    load,
    mul,
    prefetch,
    scatter_columns,
    splat,
    store,
    sub,
)

NUM_CARD_ROWS = 54
"""Totals by card, for the sweeps: the 52 cards, a row that one-card hands add to, and a row that stays zero."""

MAX_SWEEP_LANES = 128

UPDATE, BEST, FOLLOW = 0, 1, 2
"""What the player does in `run`: update its regrets, respond best, or follow the weights given."""


class Trees(NamedTuple):
    """The forests of all streets, one after another; [s] counts streets from the root."""

    node_at: np.ndarray  # int32 [s + 1] where a street's nodes begin
    player: np.ndarray  # int32 [node]
    edge: np.ndarray  # int32 [node] first edge among the player's
    first: np.ndarray  # int32 [node] first child
    count: np.ndarray  # int32 [node] number of children
    child: np.ndarray  # int32 [child] row: a node within the street, or the number of its nodes + a slot
    edges: np.ndarray  # int32 [s, player]
    roots: np.ndarray  # int32 [s]
    showdown_lanes: np.ndarray  # int32 [s], padded
    fold_lanes: np.ndarray  # int32 [s], padded
    next_roots: np.ndarray  # int32 [s]
    all_ins: np.ndarray  # int32 [s]
    showdowns: np.ndarray  # int32 [s] showdown lanes that are this street's own leaves
    showdown_chips: np.ndarray  # [lane of the last street]
    fold_at: np.ndarray  # int32 [s + 1] where a street's fold lanes begin
    fold_chips: np.ndarray  # [player, fold lane of all streets]


class Deals(NamedTuple):
    """Hands and boards."""

    hands: np.ndarray  # int32 [player] H
    cards: np.ndarray  # int32 [player, hand, 2] rows of card totals to add to
    minus: np.ndarray  # int32 [player, hand, 2] rows of card totals to subtract
    twin: np.ndarray  # int32 [player, hand] the opponent's hand that both subtractions remove, or -1
    real: np.ndarray  # int32 [player] hands that are no padding
    street: np.ndarray  # int32 [board]
    base: np.ndarray  # int64 [player, board] where its regrets begin
    alive: np.ndarray  # [player, board, hand] 1, or 0 for a hand that the board makes impossible
    final: np.ndarray  # int32 [board] its number among the last street's boards, or -1
    order: np.ndarray  # int32 [player, final board, place] live hands by strength
    place: np.ndarray  # int32 [player, final board, hand] its place in `order`, or the row after the last for others
    in_order: np.ndarray  # int32 [hand] 0, 1, 2, …
    group: np.ndarray  # int32 [player, final board, group + 1] where a strength begins in `order`
    groups: np.ndarray  # int32 [final board]
    chance: np.ndarray  # float32 [s] probability of each board of a street, given both hands and the board before
    schedule: np.ndarray  # int32 2 * board to enter it, 2 * board + 1 to leave it


class Scratch(NamedTuple):
    """Working memory of one thread."""

    rows: np.ndarray  # [node, then slot][16] reaches on the way down, values on the way up
    showdown_reach: np.ndarray  # [place, and one more row][lane]
    showdown_value: np.ndarray
    fold_reach: np.ndarray  # the same, street after street
    fold_value: np.ndarray
    fold_begin: np.ndarray  # int64 [s]
    next_reach: np.ndarray  # [s][root of the next street][hand]
    next_value: np.ndarray
    next_begin: np.ndarray  # int64 [s]
    all_in_reach: np.ndarray  # [s][all-in][hand]
    all_in_value: np.ndarray
    all_in_begin: np.ndarray  # int64 [s]
    totals: np.ndarray  # [lane]
    card_totals: np.ndarray  # [card row][lane]


@njit(cache=True, nogil=True)
def _forward(
    player, edges, firsts, counts, children, begin, end, me, weights, average, at, ahead, update, discount, weight, rows
):  # fmt: skip
    """Reaches of one block, from the roots' rows to all leaves' rows; nodes `begin` to `end`."""
    zero, one = splat(np.float32(0.0)), splat(np.float32(1.0))
    keep, added = splat(np.float32(discount)), splat(np.float32(weight))
    for node in range(end - begin):
        arriving = load(rows, node * LANES)
        first, count = firsts[begin + node], counts[begin + node]
        if player[begin + node] == me:
            edge = at + edges[begin + node] * LANES
            total = zero
            for a in range(count):
                prefetch(weights, edge + ahead + a * LANES)
                total = add(total, larger(load(weights, edge + a * LANES), zero))
            share = if_positive(total, div(one, total), zero)
            uniform = splat(np.float32(1.0 / count))
            for a in range(count):
                here = edge + a * LANES
                leaving = mul(if_positive(total, mul(larger(load(weights, here), zero), share), uniform), arriving)
                if update:
                    prefetch(average, here + ahead)
                    store(average, here, add(mul(load(average, here), keep), mul(leaving, added)))
                store(rows, children[first + a] * LANES, leaving)
        else:
            for a in range(count):
                store(rows, children[first + a] * LANES, arriving)


@njit(cache=True, nogil=True)
def _backward(
    player, edges, firsts, counts, children, begin, end, me, weights, at, ahead,
    update, keep_positive, keep_negative, rows,
):  # fmt: skip
    """Values of one block, from the leaves' rows to the roots' rows; updates the regrets in `weights`."""
    zero = splat(np.float32(0.0))
    positive, negative = splat(np.float32(keep_positive)), splat(np.float32(keep_negative))
    for back in range(end - begin):
        node = end - begin - 1 - back
        first, count = firsts[begin + node], counts[begin + node]
        if player[begin + node] == me:
            edge = at + edges[begin + node] * LANES
            total, weighted, plain = zero, zero, zero
            for a in range(count):
                value = load(rows, children[first + a] * LANES)
                prefetch(weights, edge + ahead + a * LANES)
                regret = larger(load(weights, edge + a * LANES), zero)
                total = add(total, regret)
                weighted = add(weighted, mul(regret, value))
                plain = add(plain, value)
            uniform = splat(np.float32(1.0 / count))
            mixed = if_positive(total, div(weighted, total), mul(plain, uniform))
            if update:
                for a in range(count):
                    value = load(rows, children[first + a] * LANES)
                    regret = load(weights, edge + a * LANES)
                    kept = mul(regret, if_positive(regret, positive, negative))
                    store(weights, edge + a * LANES, add(kept, sub(value, mixed)))
        else:
            mixed = load(rows, children[first] * LANES)
            for a in range(1, count):
                mixed = add(mixed, load(rows, children[first + a] * LANES))
        store(rows, node * LANES, mixed)


@njit(cache=True, nogil=True)
def _backward_best(player, firsts, counts, children, begin, end, me, rows):
    """The same for a player who chooses the best action for each hand."""
    for back in range(end - begin):
        node = end - begin - 1 - back
        first, count = firsts[begin + node], counts[begin + node]
        best = load(rows, children[first] * LANES)
        for a in range(1, count):
            value = load(rows, children[first + a] * LANES)
            best = larger(value, best) if player[begin + node] == me else add(best, value)
        store(rows, node * LANES, best)


@njit(cache=True, nogil=True)
def _clear(totals, card_totals, width):
    zero = splat(np.float32(0.0))
    for lane in range(0, width, LANES):
        store(totals, lane, zero)
    for lane in range(0, NUM_CARD_ROWS * width, LANES):
        store(card_totals, lane, zero)


@njit(cache=True, nogil=True)
def _add_hand(cards, hand, reach, at, totals, card_totals, width):
    """Add one opponent hand's reaches to the totals."""
    a, b = cards[hand, 0] * width, cards[hand, 1] * width
    for lane in range(0, width, LANES):
        r = load(reach, at + lane)
        store(totals, lane, add(load(totals, lane), r))
        store(card_totals, a + lane, add(load(card_totals, a + lane), r))
        store(card_totals, b + lane, add(load(card_totals, b + lane), r))


@njit(cache=True, nogil=True)
def _compatible(totals, card_totals, a, b, lane):
    """The total without hands that hold one of the two cards."""
    return sub(sub(load(totals, lane), load(card_totals, a + lane)), load(card_totals, b + lane))


@njit(cache=True, nogil=True)
def _showdowns(
    order, group, minus, their_order, their_group, their_cards, groups,
    lanes, begin, width, chips, reach, value, totals, card_totals,
):  # fmt: skip
    """Showdown values of `width` lanes from `begin` on: chips × (weaker + (weaker or equal) - all).

    A hand's twin (the same cards with the opponent) is subtracted twice from "weaker or equal" and from "all", which
    cancels. Rows of `reach` and `value` stand in the order of strength.
    """
    _clear(totals, card_totals, width)
    for g in range(groups):
        for i in range(group[g], group[g + 1]):
            hand = order[i]
            a, b = minus[hand, 0] * width, minus[hand, 1] * width
            at = i * lanes + begin
            for lane in range(0, width, LANES):
                store(value, at + lane, _compatible(totals, card_totals, a, b, lane))
        for i in range(their_group[g], their_group[g + 1]):
            hand = their_order[i]
            _add_hand(their_cards, hand, reach, i * lanes + begin, totals, card_totals, width)
        for i in range(group[g], group[g + 1]):
            hand = order[i]
            a, b = minus[hand, 0] * width, minus[hand, 1] * width
            at = i * lanes + begin
            for lane in range(0, width, LANES):
                store(value, at + lane, add(load(value, at + lane), _compatible(totals, card_totals, a, b, lane)))
    for i in range(group[groups]):
        hand = order[i]
        a, b = minus[hand, 0] * width, minus[hand, 1] * width
        at = i * lanes + begin
        for lane in range(0, width, LANES):
            won = sub(load(value, at + lane), _compatible(totals, card_totals, a, b, lane))
            store(value, at + lane, mul(won, load(chips, begin + lane)))


@njit(cache=True, nogil=True)
def _folds(
    minus, twins, real, their_cards, their_real,
    lanes, begin, width, chips, chips_at, reach, value, at, totals, card_totals,
):  # fmt: skip
    """Fold values of `width` lanes from `begin` on: chips × all compatible reaches."""
    _clear(totals, card_totals, width)
    for hand in range(their_real):
        _add_hand(their_cards, hand, reach, at + hand * lanes + begin, totals, card_totals, width)
    for hand in range(real):
        a, b = minus[hand, 0] * width, minus[hand, 1] * width
        twin = twins[hand]
        here = at + hand * lanes + begin
        for lane in range(0, width, LANES):
            all_hands = _compatible(totals, card_totals, a, b, lane)
            if twin >= 0:
                all_hands = add(all_hands, load(reach, at + twin * lanes + begin + lane))
            store(value, here + lane, mul(all_hands, load(chips, chips_at + begin + lane)))


@njit(cache=True, nogil=True)
def _enter(trees, deals, scratch, me, board, ranges, weights, average, update, discount, weight):
    """The opponent's reaches of a board, down to its leaves, and the values of those that end there."""
    other, s = 1 - me, deals.street[board]
    hands, rows = deals.hands[other], scratch.rows
    leaf = trees.node_at[s + 1] - trees.node_at[s]
    show, fold = trees.showdown_lanes[s], trees.fold_lanes[s]
    alive, places = deals.alive[other, board], deals.place[other, max(deals.final[board], 0)]
    fold_at = scratch.fold_begin[s]
    for block in range(hands // LANES):
        h = block * LANES
        mask = load(alive, h)
        for root in range(trees.roots[s]):
            if s == 0:
                arriving = load(ranges, h)
            else:
                arriving = load(scratch.next_reach, scratch.next_begin[s - 1] + root * hands + h)
            store(rows, root * LANES, mul(arriving, mask))
        at = deals.base[other, board] + block * trees.edges[s, other] * LANES
        _forward(
            trees.player, trees.edge, trees.first, trees.count, trees.child, trees.node_at[s], trees.node_at[s + 1],
            other, weights, average, at, trees.edges[s, other] * LANES, update, discount, weight, rows,
        )  # fmt: skip
        if deals.final[board] >= 0:
            slot = leaf + trees.showdowns[s]
            for earlier in range(s):
                for k in range(trees.all_ins[earlier]):
                    r = load(scratch.all_in_reach, scratch.all_in_begin[earlier] + k * hands + h)
                    store(rows, slot * LANES, mul(r, mask))
                    slot += 1
            for lane in range(0, show, LANES):
                scatter_columns(rows, (leaf + lane) * LANES, scratch.showdown_reach, places, h, show, lane)
        for lane in range(0, fold, LANES):
            scatter_columns(
                rows, (leaf + show + lane) * LANES, scratch.fold_reach, deals.in_order, h, fold, fold_at + lane
            )
        slot = leaf + show + fold
        for k in range(trees.next_roots[s]):
            store(scratch.next_reach, scratch.next_begin[s] + k * hands + h, load(rows, (slot + k) * LANES))
        slot += trees.next_roots[s]
        for k in range(trees.all_ins[s]):
            store(scratch.all_in_reach, scratch.all_in_begin[s] + k * hands + h, load(rows, (slot + k) * LANES))
    _sweep(trees, deals, scratch, me, board, s)
    mine = deals.hands[me]
    scratch.next_value[scratch.next_begin[s] : scratch.next_begin[s] + trees.next_roots[s] * mine] = 0.0
    scratch.all_in_value[scratch.all_in_begin[s] : scratch.all_in_begin[s] + trees.all_ins[s] * mine] = 0.0


@njit(cache=True, nogil=True)
def _sweep(trees, deals, scratch, me, board, s):
    """The values of all leaves of a board at which the hand ends."""
    other, final = 1 - me, deals.final[board]
    show, fold = trees.showdown_lanes[s], trees.fold_lanes[s]
    if final >= 0:
        for begin in range(0, show, MAX_SWEEP_LANES):
            width = min(MAX_SWEEP_LANES, show - begin)
            _showdowns(
                deals.order[me, final], deals.group[me, final], deals.minus[me],
                deals.order[other, final], deals.group[other, final], deals.cards[other], deals.groups[final],
                show, begin, width, trees.showdown_chips, scratch.showdown_reach, scratch.showdown_value,
                scratch.totals, scratch.card_totals,
            )  # fmt: skip
    for begin in range(0, fold, MAX_SWEEP_LANES):
        width = min(MAX_SWEEP_LANES, fold - begin)
        _folds(
            deals.minus[me], deals.twin[me], deals.real[me], deals.cards[other], deals.real[other],
            fold, begin, width, trees.fold_chips[me], trees.fold_at[s],
            scratch.fold_reach, scratch.fold_value, scratch.fold_begin[s], scratch.totals, scratch.card_totals,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _leave(trees, deals, scratch, me, board, weights, mode, keep_positive, keep_negative, result):
    """The player's values of a board, up to its roots and on to the board before."""
    s = deals.street[board]
    hands, rows = deals.hands[me], scratch.rows
    leaf = trees.node_at[s + 1] - trees.node_at[s]
    show, fold = trees.showdown_lanes[s], trees.fold_lanes[s]
    alive, places = deals.alive[me, board], deals.place[me, max(deals.final[board], 0)]
    fold_at = scratch.fold_begin[s]
    for block in range(hands // LANES):
        h = block * LANES
        mask = load(alive, h)
        if deals.final[board] >= 0:
            for lane in range(0, show, LANES):
                gather_columns(scratch.showdown_value, places, h, show, lane, rows, (leaf + lane) * LANES)
            slot = leaf + trees.showdowns[s]
            for earlier in range(s):
                chance = np.float32(1.0)
                for street in range(earlier + 1, s + 1):
                    chance *= deals.chance[street]
                scaled = mul(mask, splat(chance))
                for k in range(trees.all_ins[earlier]):
                    at = scratch.all_in_begin[earlier] + k * hands + h
                    value = add(load(scratch.all_in_value, at), mul(load(rows, slot * LANES), scaled))
                    store(scratch.all_in_value, at, value)
                    slot += 1
        for lane in range(0, fold, LANES):
            gather_columns(
                scratch.fold_value, deals.in_order, h, fold, fold_at + lane, rows, (leaf + show + lane) * LANES
            )
        slot = leaf + show + fold
        for k in range(trees.next_roots[s]):
            store(rows, (slot + k) * LANES, load(scratch.next_value, scratch.next_begin[s] + k * hands + h))
        slot += trees.next_roots[s]
        for k in range(trees.all_ins[s]):
            store(rows, (slot + k) * LANES, load(scratch.all_in_value, scratch.all_in_begin[s] + k * hands + h))
        if mode == BEST:
            _backward_best(
                trees.player, trees.first, trees.count, trees.child, trees.node_at[s], trees.node_at[s + 1],
                me, rows,
            )  # fmt: skip
        else:
            at = deals.base[me, board] + block * trees.edges[s, me] * LANES
            _backward(
                trees.player, trees.edge, trees.first, trees.count, trees.child, trees.node_at[s], trees.node_at[s + 1],
                me, weights, at, trees.edges[s, me] * LANES, mode == UPDATE, keep_positive, keep_negative, rows,
            )  # fmt: skip
        if s == 0:
            for root in range(trees.roots[0]):
                store(result, root * hands + h, load(rows, root * LANES))
        else:
            scaled = mul(mask, splat(deals.chance[s]))
            for root in range(trees.roots[s]):
                at = scratch.next_begin[s - 1] + root * hands + h
                value = add(load(scratch.next_value, at), mul(load(rows, root * LANES), scaled))
                store(scratch.next_value, at, value)


@njit(cache=True, nogil=True)
def run(
    trees, deals, scratch, me, ranges, mine, theirs, average, mode,
    discount, weight, keep_positive, keep_negative, result,
):  # fmt: skip
    """One pass for player `me`: its counterfactual values at the root go to `result` [hand].

    `mine` and `theirs` are the weights that the players' strategies are proportional to (regrets or averages; negative
    ones count as zero). With mode UPDATE, `mine` (regrets) is updated, and so is the opponent's `average`; otherwise
    nothing is written but `result`, and `average` may be any array.
    """
    update = mode == UPDATE
    for step in deals.schedule:
        board = step >> 1
        if step & 1:
            _leave(trees, deals, scratch, me, board, mine, mode, keep_positive, keep_negative, result)
        else:
            _enter(trees, deals, scratch, me, board, ranges, theirs, average, update, discount, weight)
