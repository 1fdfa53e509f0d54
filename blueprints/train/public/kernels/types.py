"""The arrays that the walks of public chance sampling read and write, as named tuples.

`blueprints.train.public.layout` makes the parts of a tree, `blueprints.train.public.walker` all else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from protocol.arrays import F32, I32, I64


class WalkParts(NamedTuple):
    """All parts, those of a street together."""

    street: I32  # [part]
    part_at: I32  # [street + 1] its first part
    node_at: I32  # [part + 1]
    edge_at: I32  # [part + 1]
    slot_at: I32  # [part + 1]
    showdowns: I32  # [part] slots
    folds: I32  # [part]
    next: I32  # [part]
    player: I32  # [node]
    begin: I32  # [node] its first edge, within the part
    actions: I32  # [node] how many edges
    before: I32  # [node] row of the player's last edge before it, or of the root
    value_row: I32  # [edge] the row of what it leads to, on the way up: slots first, then nodes
    slot_row: I32  # [player, slot] row of the player's last edge before it
    chips: F32  # [player, slot, lane] what a showdown pays the winner; what a fold pays the player
    place: I32  # [slot, lane] the root that follows, among all lanes of the parts of its street; or -1
    edge: I32  # [edge, lane] its number in the tree, or -1


class Pairs(NamedTuple):
    """Cards and buckets of which the board has hands, by card; of a hand those of its two cards."""

    at: I32  # [player, street, card row + 1] the first pair of a card
    bucket: I32  # [player, street, pair] in the numbers of this walk
    of_hand: I32  # [player, street, hand, 2]


class Strategies(NamedTuple):
    """What each player plays: regret matching on these numbers, which is the strategy itself if they are averages."""

    of_0: F32
    of_1: F32
    at: I64  # [player, part] where [bucket][edge][lane] begins
    stride: I64  # [part] from one bucket to the next


class Learnt(NamedTuple):
    """What a walk learns; both players'."""

    regrets: F32
    average: F32
    weight: np.float32  # of this walk's regrets and strategy
    learns: bool


class WalkFrames(NamedTuple):
    """Where what is passed between streets lies, and the coefficients of parts that have to keep them."""

    reaches: I64  # [street] of its roots
    values: I64  # [street]
    roots: I64  # [street] how many, with empty lanes
    coefficients: I64  # [part] of streets before the last
    sums: I64  # [part] likewise


class WalkScratch(NamedTuple):
    """Working memory of one thread."""

    coefficients: F32  # [player][bucket][slot] of the last street
    root_reach: F32  # [player][hand] reaches at the roots
    pair_reach: F32  # [pair] the same by pair, of one player
    roots: F32  # [bucket] the same by bucket
    rows: F32  # [row] of one bucket, on the way down
    sums: F32  # [player][bucket][slot, then node] values, of the last street
    root_value: F32  # [hand] values at the roots
    value: F32  # [hand][slot of a chunk]
    totals: F32  # [card row][slot of a chunk]
    tile: F32  # 2 × 16 × 16
