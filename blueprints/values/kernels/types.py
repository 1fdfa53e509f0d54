"""The arrays that walks over run-outs read and write, as named tuples.

`blueprints.values.rollout_layout` makes the parts of a tree, `blueprints.values.rollouts` all else.
"""

from __future__ import annotations

from typing import NamedTuple

from protocol.arrays import F32, I32, I64


class RolloutParts(NamedTuple):
    """All parts, those of a street together, the children of one part together and in the order of its lanes."""

    street: I32  # [part]
    part_at: I32  # [street + 1] its first part
    child_at: I32  # [part + 1] its first child part
    parent: I32  # [part] the part before, or -1
    roots: I32  # [part]
    first_lane: I32  # [part] the lane of its first root, counted among the next lanes of the part before
    node_at: I32  # [part + 1]
    edge_at: I32  # [part + 1]
    lane_at: I32  # [part + 1]
    showdowns: I32  # [part] lanes, padded
    folds: I32  # [part]
    next: I32  # [part] lanes, padded
    next_roots: I32  # [part] how many of them are roots
    player: I32  # [node]
    begin: I32  # [node] its first edge, within the part
    actions: I32  # [node] how many edges
    before: I32  # [node] row of the player's last edge before it, or of the root
    root: I32  # [node] within the part
    value_row: I32  # [edge] the row of what it leads to, on the way up
    lane_row: I32  # [player, lane] row of the player's last edge before it
    lane_root: I32  # [lane] within the part
    chunk_at: I32  # [part, kind] the first chunk of its showdowns, folds and next lanes, which are one; and the end
    chunk: I32  # [chunk, 4] lanes swept together: the first within the part, vectors, its segments: first, last + 1
    segment: I32  # [segment, 3] neighbouring lanes of one root: the first within the chunk, how many, the root
    chips: F32  # [player, lane] what a showdown pays the winner; what a fold pays the player
    node: I32  # [node] its number in the tree
    edge: I32  # [edge] its number in the tree


class Play(NamedTuple):
    """The continuations, for the edges of all parts."""

    row: I32  # [edge] of its street's strategy
    kind: I32  # [edge] what is done: 0 fold, 1 call, 2 raise
    factors: F32  # [continuation][kind][16] by what its probability is multiplied, in each lane
    count: int  # type: ignore[assignment]  # continuations; it hides what tuples have of that name


class RolloutFrames(NamedTuple):
    """Where the frame of each part is, in the memory that is shared or in that of a thread."""

    coefficients: I64  # [part]
    reaches: I64  # [part]
    values: I64  # [part]


class RolloutScratch(NamedTuple):
    """Working memory of one thread."""

    frames: F32
    weights: F32  # [edge][bucket of a block] the blueprint's numbers
    rows: F32  # [row][bucket of a block]
    reach: F32  # [hand, and a row of zeros][lane of a chunk]
    value: F32  # [hand][lane of a chunk]
    root_value: F32  # [continuation][root][hand] values
    tile: F32  # 16 × 16
    masks: F32  # [16][16] row n: ones, and n zeros at the end
    totals: F32  # [card row][lane]
    chips: F32  # [lane of a chunk]
