"""Terminal values of a board, all leaves of a part at once: a row of lanes for each hand, one lane a leaf.

Hands are walked in order of strength with running totals of the opponent's reaches, in all lanes together and for each
card. Read before and after each group of equal hands, and with the totals of a hand's own two cards taken off (card
removal), they give what is weaker, and what is weaker or equal. Folds are the same with one total.

A sweep is compiled for every width from 1 to `MAX_VECTORS` vectors, so that the grand total stays in registers and the
card totals in the first cache; wider parts are swept in chunks of even width (`chunks`, `chunk`). Reaches and values
lie as [chunk][row][lane of the chunk]. Showdown rows stand in order of strength, fold rows in order of hands.

Sweeps take addresses of the arrays of `solver.kernels.types`, for one player, board and chunk: float32, and int32 for
`order`, `group`, `minus`, `cards`, `twins`. `reach` and `value` must not alias.
"""

from __future__ import annotations

import numpy as np

from solver.kernels.compiled import kernel
from solver.kernels.vectors import LANES, add, filler, item, loader, mul, store, sub

NUM_CARD_ROWS = 54
"""Totals by card: the 52 cards, a row that one-card hands add to, and a row that stays zero."""

MAX_VECTORS = 8
_LOAD, _FILL = loader(1), filler(1)


@kernel
def chunks(vectors):
    """How many chunks so many vectors make."""
    return (vectors + MAX_VECTORS - 1) // MAX_VECTORS


@kernel
def chunk(vectors, number):
    """Where a chunk begins and how long it is, in vectors."""
    count = chunks(vectors)
    size, longer = vectors // count, vectors % count
    return number * size + min(number, longer), size + (1 if number < longer else 0)


def totals_of(vectors):
    """Reading running totals, and adding to them, `vectors` wide."""
    width, load_row = vectors * LANES, loader(vectors)

    @kernel
    def compatible(total, card_totals, cards, hand):
        """The total without hands that hold one of the hand's two cards."""
        first, second = item(cards, 2 * hand) * width, item(cards, 2 * hand + 1) * width
        return sub(sub(total, load_row(card_totals, first)), load_row(card_totals, second))

    @kernel
    def count(total, card_totals, cards, hand, row):
        """One opponent hand more; returns the grand total."""
        first, second = item(cards, 2 * hand) * width, item(cards, 2 * hand + 1) * width
        store(card_totals, first, add(load_row(card_totals, first), row))
        store(card_totals, second, add(load_row(card_totals, second), row))
        return add(total, row)

    return compatible, count


def _sweeps_of(vectors):
    """The two sweeps, `vectors` wide."""
    width = vectors * LANES
    load_row, fill_row = loader(vectors), filler(vectors)
    compatible, count = totals_of(vectors)

    @kernel
    def clear(card_totals):
        for row in range(NUM_CARD_ROWS):
            store(card_totals, row * width, fill_row(np.float32(0.0)))

    @kernel
    def showdowns(
        order, group, minus, their_order, their_group, their_cards, groups, chips, reach, value, totals
    ):  # fmt: skip
        """Chips × (weaker + (weaker or equal) − all).

        A hand's twin (the same cards with the opponent) is subtracted twice from "weaker or equal" and from "all",
        which cancels.
        """
        clear(totals)
        total = fill_row(np.float32(0.0))
        for g in range(groups):
            for i in range(item(group, g), item(group, g + 1)):
                store(value, i * width, compatible(total, totals, minus, item(order, i)))
            for i in range(item(their_group, g), item(their_group, g + 1)):
                total = count(total, totals, their_cards, item(their_order, i), load_row(reach, i * width))
            for i in range(item(group, g), item(group, g + 1)):
                at = i * width
                store(value, at, add(load_row(value, at), compatible(total, totals, minus, item(order, i))))
        paid = load_row(chips, 0)
        for i in range(item(group, groups)):
            at = i * width
            won = sub(load_row(value, at), compatible(total, totals, minus, item(order, i)))
            store(value, at, mul(won, paid))

    @kernel
    def folds(minus, twins, real, their_cards, their_real, chips, reach, value, totals):
        """Chips × all compatible reaches; `twins` are rows of `reach`, of zeros where there is none."""
        clear(totals)
        total = fill_row(np.float32(0.0))
        for hand in range(their_real):
            total = count(total, totals, their_cards, hand, load_row(reach, hand * width))
        paid = load_row(chips, 0)
        for hand in range(real):
            twin = load_row(reach, item(twins, hand) * width)
            store(value, hand * width, mul(add(compatible(total, totals, minus, hand), twin), paid))

    return showdowns, folds


_SHOWDOWNS_1, _FOLDS_1 = _sweeps_of(1)
_SHOWDOWNS_2, _FOLDS_2 = _sweeps_of(2)
_SHOWDOWNS_3, _FOLDS_3 = _sweeps_of(3)
_SHOWDOWNS_4, _FOLDS_4 = _sweeps_of(4)
_SHOWDOWNS_5, _FOLDS_5 = _sweeps_of(5)
_SHOWDOWNS_6, _FOLDS_6 = _sweeps_of(6)
_SHOWDOWNS_7, _FOLDS_7 = _sweeps_of(7)
_SHOWDOWNS_8, _FOLDS_8 = _sweeps_of(8)


@kernel
def showdowns(vectors, *arguments):
    """The sweep of that width."""
    if vectors == 8:
        _SHOWDOWNS_8(*arguments)
    elif vectors == 7:
        _SHOWDOWNS_7(*arguments)
    elif vectors == 6:
        _SHOWDOWNS_6(*arguments)
    elif vectors == 5:
        _SHOWDOWNS_5(*arguments)
    elif vectors == 4:
        _SHOWDOWNS_4(*arguments)
    elif vectors == 3:
        _SHOWDOWNS_3(*arguments)
    elif vectors == 2:
        _SHOWDOWNS_2(*arguments)
    else:
        _SHOWDOWNS_1(*arguments)


@kernel
def folds(vectors, *arguments):
    """The sweep of that width."""
    if vectors == 8:
        _FOLDS_8(*arguments)
    elif vectors == 7:
        _FOLDS_7(*arguments)
    elif vectors == 6:
        _FOLDS_6(*arguments)
    elif vectors == 5:
        _FOLDS_5(*arguments)
    elif vectors == 4:
        _FOLDS_4(*arguments)
    elif vectors == 3:
        _FOLDS_3(*arguments)
    elif vectors == 2:
        _FOLDS_2(*arguments)
    else:
        _FOLDS_1(*arguments)


@kernel
def payoffs(matrices, lanes, real, theirs, their_real, vectors, reach, value):
    """Leaves whose payoffs are given: `matrices` [hand, of `theirs`][lane, of `lanes`] times the reaches."""
    width = vectors * LANES
    for hand in range(real):
        for lane in range(0, width, LANES):
            total = _FILL(np.float32(0.0))
            for other in range(their_real):
                paid = _LOAD(matrices, (hand * theirs + other) * lanes + lane)
                total = add(total, mul(paid, _LOAD(reach, other * width + lane)))
            store(value, hand * width + lane, total)
