"""The arrays that the kernels read and write, as named tuples; `solver.subgame` and `solver.small` fill them.

[s] counts streets from the root. The betting of the last street is cut into parts, a few roots each, so that what one
part needs stays in the second cache; other streets are one part. [part] counts through all streets. H[p] is the number
of hands of player p, padded to whole blocks (`vectors.BLOCK`), and `widest` the larger of both. Regrets and averages of
a board lie as [part][block][edge][hand], one board after another.

The *ledger* of a street holds what goes on below it: a row of hands for each root of the next street, for each all-in
of the street, and for each all-in of earlier streets, the latest street first. Reaches go down through it, values come
up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from protocol.arrays import F32, F64, I32, I64

WeightArray = npt.NDArray[np.float32] | npt.NDArray[np.uint16]
"""Regrets or averages: float32, or bfloat16 as the bits of its upper half."""

_LINE_BYTES = 64


class Trees(NamedTuple):
    """The parts of all streets, one after another."""

    part_at: I32  # [s + 1] where a street's parts begin
    ledger: I32  # [s] rows
    node_at: I32  # [part + 1] where a part's nodes begin
    edge: I32  # [node] first edge among the player's of the part
    first: I32  # [node] first child
    child: I32  # [child] row: a node within the part, or the number of its nodes + a slot
    run_at: I32  # [part + 1] where a part's runs begin
    runs: I32  # [run, 4] nodes alike: first and last + 1 within the part, player (2 is chance), number of children
    edges: I32  # [part, player]
    edge_at: I32  # [part, player] edges in earlier parts of the street
    roots: I32  # [part]
    root_at: I32  # [part] roots in earlier parts of the street
    opened: I32  # [part] all-ins of earlier streets that are shown down with this part, as its last showdown lanes
    showdown_lanes: I32  # [part], padded
    fold_lanes: I32  # [part], padded
    showdowns: I32  # [part] showdown lanes that are leaves of this part
    showdown_at: I32  # [part] where its showdown lanes begin
    showdown_chips: F32  # [lane]
    matrices: F32  # [player, hand, their hand, lane] payoffs in place of showdowns, times the chance of both hands
    fold_at: I32  # [part + 1] where its fold lanes begin
    fold_chips: F32  # [player, lane]


class Deals(NamedTuple):
    """Hands and boards. Of boards that a change of suits makes alike only one is here, with images for the others."""

    hands: I32  # [player] H
    real: I32  # [player] hands that are no padding
    cards: I32  # [player, hand, 2] rows of card totals to add to
    minus: I32  # [player, hand, 2] rows of card totals to subtract
    twin: I32  # [player, hand] the opponent's hand that both subtractions remove, or the row of zeros
    street: I32  # [board]
    base: I64  # [player, board] where its regrets begin
    alive: F32  # [player, board, hand] 1, or 0 for a hand that the board makes impossible
    final: I32  # [board] its number among the last street's boards, or -1
    order: I32  # [player, final board, place] live hands by strength
    place: I32  # [player, final board, hand] its place in `order`, or the row after the last for others
    in_order: I32  # [hand] 0, 1, 2, …
    group: I32  # [player, final board, group + 1] where a strength begins in `order`
    groups: I32  # [final board]
    chance: F32  # [s] probability of each board of a street, given both hands and the board before
    task_at: I32  # [task + 1] where the steps of a task begin: a board of the second street with all that follow
    steps: I32  # 2 * board to enter it (or to do all of it, on the last street), 2 * board + 1 to leave it
    image_at: I32  # [board + 1] where its images begin
    images: I32  # [image] a row of `permutations`, or -1 for the board itself
    permutations: I32  # [permutation, player, hand] the hand of the solved board that stands for a hand of the image


class Scratch(NamedTuple):
    """Working memory of one thread."""

    rows: F32  # [node, then slot][hand of a block] reaches on the way down, values on the way up
    showdown_reach: F32  # [chunk][place, and one more row][lane]
    showdown_value: F32
    fold_reach: F32  # [s][chunk][hand, and a row of zeros][lane]
    fold_value: F32
    fold_begin: I64  # [s]
    card_totals: F32  # [card row][lane]
    reach: F32  # [s][row of the ledger][hand]; the first street's is in `Top`
    value: F32
    begin: I64  # [s]
    delivered: F32  # [row of the ledger][hand] values of one board, for the ledger of the street before


class Top(NamedTuple):
    """The ledger of the first street, which all threads share."""

    reach: F32  # [row][hand]
    value: F32
    delivered: F32  # [task][row][hand]
    counters: I64  # the next task; the pass whose tasks may be taken; how many threads are at it: a line each


class Watch(NamedTuple):
    """Rows whose values are kept: `values` = old × kept + new × added."""

    at: I32  # [board + 1] where a board's rows begin
    parts: I32  # [watched]
    rows: I32  # [watched]
    values: F32  # [watched][hand]


class Gate(NamedTuple):
    """What a player chooses before the root (`solver.kernels.gadgets`); without hands if nothing."""

    kind: int
    player: int
    numbers: F32  # [row of `solver.kernels.gadgets`][hand]
    payoffs: F32  # [hand] the alternative to entering, in chips
    spreads: F32  # [hand] its standard deviation
    inverse: F32  # [hand] one over the compatible reach of the other player, or 0 for a hand that cannot be
    scale: F32  # [hand] what its range is when the hand surely enters, or is surely picked
    lanes: F32  # [lane] to add up the lanes of a vector
    counts: F64  # [place of `solver.kernels.gadgets`]


class Work(NamedTuple):
    """One pass for a player, `me`. With mode UPDATE its regrets (`mine`) and the opponent's average are updated."""

    me: int
    mode: int
    ranges: F32  # [hand] the opponent's
    mine: WeightArray  # what the player's strategy is proportional to; negative numbers count as zero
    theirs: WeightArray  # the opponent's
    average: WeightArray  # the opponent's; not touched but where `averaging`
    averaging: npt.NDArray[np.bool_]  # [s] whether it is updated
    weights: F64  # [4] kept and added of the average, kept of positive and of negative regrets
    seed: int
    watch: Watch
    watch_weights: F64  # [2] kept and added


class Batch(NamedTuple):
    """Passes one after another. Pairs are by player, and `theirs` by the player that the pass is for."""

    mode: int
    players: I64  # [pass]
    weights: F64  # [pass, 4]
    watch_weights: F64  # [pass, 2]
    seeds: I64  # [pass]
    ranges: tuple[F32, F32]
    mine: tuple[WeightArray, WeightArray]
    theirs: tuple[WeightArray, WeightArray]
    averages: tuple[WeightArray, WeightArray]
    averaging: npt.NDArray[np.bool_]
    watches: tuple[Watch, Watch]
    gate: Gate
    results: tuple[F32, F32]  # [hand] the player's counterfactual values at the root


def padded(count: int, lanes: int = 16) -> int:
    """The next multiple of the vector length."""
    return -(-count // lanes) * lanes


def aligned_zeros(count: int) -> F32:
    """Zeros that begin at a cache line: a vector that straddles two lines costs twice."""
    return _aligned(4 * count).view(np.float32)


def aligned_halves(count: int) -> npt.NDArray[np.uint16]:
    """The same in bfloat16."""
    return _aligned(2 * count).view(np.uint16)


def _aligned(size: int) -> npt.NDArray[np.uint8]:
    raw = np.zeros(size + _LINE_BYTES, np.uint8)
    begin = -raw.ctypes.data % _LINE_BYTES
    return raw[begin : begin + size]


def bytes_of(*groups: Iterable[object]) -> int:
    """Of all arrays in tuples of what kernels work with; numbers among them do not count."""
    return sum(each.nbytes for group in groups for each in group if isinstance(each, np.ndarray))
