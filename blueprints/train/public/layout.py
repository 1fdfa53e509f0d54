"""A betting tree cut into parts, and the parts as arrays for the kernels of `blueprints.train.public.kernels.walk`.

What follows a root, the first decision of a street, mostly looks like what follows other roots: `standard` has 1,073
roots on the river and five shapes. A *part* is sixteen roots whose betting has one shape, and what they have stands
side by side in the lanes of a vector: strategies, reaches, values, what is paid. So a part is worked on as one tree,
and nothing is ever gathered or turned within a street. A part that has fewer roots leaves its other lanes empty.

Leaves of a part are *slots*, sixteen lanes each:

    [ showdowns, all-ins included | folds | roots of the next street ]

On the way down a player has a row for the root and for each edge, how far it has come; on the way up there is a row for
each slot and each decision, what it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from blueprints.train.public.kernels.types import WalkParts
from blueprints.tree import NOBODY, BettingTree
from protocol.arrays import I64
from solver.kernels.vectors import LANES

NONE: Final = -1
"""No edge or root: of lanes that stay empty."""


def cut(tree: BettingTree) -> WalkParts:
    """The parts of a tree."""
    columns: dict[str, list[Any]] = {name: [] for name in WalkParts._fields}
    first = int(np.flatnonzero(tree.street_at)[0]) - 1
    columns["part_at"] = [0] * (first + 1)
    groups = [_alike(tree, range(*tree.street_at[street : street + 2])) for street in range(tree.num_streets)]
    place = {
        root: part * LANES + lane
        for parts in groups
        for part, roots in enumerate(parts)
        for lane, root in enumerate(roots)
    }
    root_of = {int(node): root for root, node in enumerate(tree.root_at[:-1])}
    for street in range(first, tree.num_streets):
        for roots in groups[street]:
            columns["street"].append(street)
            _add_part(tree, roots, root_of, place, columns)
        columns["part_at"].append(len(columns["street"]))
    for name, counted in (("node_at", "player"), ("edge_at", "value_row"), ("slot_at", "place")):
        columns[name].append(len(columns[counted]))
    arrays: dict[str, Any] = {
        name: np.array(values, np.float32 if name == "chips" else np.int32) for name, values in columns.items()
    }
    for name in ("slot_row", "chips"):  # by slot until now
        arrays[name] = np.ascontiguousarray(arrays[name].swapaxes(0, 1))
    return WalkParts(**arrays)


_Shape = tuple[tuple[int, ...], ...]


def _alike(tree: BettingTree, roots: range) -> list[list[int]]:
    """Roots of one shape together, sixteen at most."""
    shapes: dict[_Shape, list[int]] = {}
    for root in roots:
        shapes.setdefault(_shape(tree, root), []).append(root)
    return [same[at : at + LANES] for same in shapes.values() for at in range(0, len(same), LANES)]


_SHOWDOWN, _FOLD, _NEXT = -1, -2, -3


def _nodes(tree: BettingTree, root: int) -> range:
    return range(int(tree.root_at[root]), int(tree.root_at[root + 1]))


def _ends(tree: BettingTree, nodes: range, edge: int) -> int:
    """Where an edge leads: a decision of the part, or what kind of slot."""
    leads = int(tree.leads[edge])
    if leads >= 0:
        return leads - nodes.start if leads < nodes.stop else _NEXT
    return _SHOWDOWN if tree.folder[~leads] == NOBODY else _FOLD


def _shape(tree: BettingTree, root: int) -> _Shape:
    """What betting after a root looks like, but for sizes."""
    nodes = _nodes(tree, root)
    edges = range(int(tree.first[nodes.start]), int(tree.first[nodes.stop]))
    return (
        tuple(tree.player[nodes.start : nodes.stop].tolist()),
        tuple((tree.first[nodes.start : nodes.stop] - edges.start).tolist()),
        tuple([_ends(tree, nodes, edge) for edge in edges]),
    )


def _add_part(
    tree: BettingTree, roots: Sequence[int], root_of: dict[int, int], place: dict[int, int],
    columns: dict[str, list[Any]],
) -> None:  # fmt: skip
    """One part, whose first root stands for the shape of all."""
    nodes = _nodes(tree, roots[0])
    first_edges = [int(tree.first[tree.root_at[root]]) for root in roots]
    edges = range(first_edges[0], int(tree.first[nodes.stop]))
    ends = [_ends(tree, nodes, edge) for edge in edges]
    slots = [edge for kind in (_SHOWDOWN, _FOLD, _NEXT) for edge in range(len(ends)) if ends[edge] == kind]
    slot_of = {edge: slot for slot, edge in enumerate(slots)}
    for name, counted in (("node_at", "player"), ("edge_at", "value_row"), ("slot_at", "place")):
        columns[name].append(len(columns[counted]))
    for name, kind in (("showdowns", _SHOWDOWN), ("folds", _FOLD), ("next", _NEXT)):
        columns[name].append(ends.count(kind))
    rows = [(0, 0)] * len(nodes)  # of both players' last edges
    after = []
    for number, node in enumerate(nodes):
        player = int(tree.player[node])
        columns["player"].append(player)
        columns["begin"].append(tree.edges(node).start - edges.start)
        columns["actions"].append(len(tree.edges(node)))
        columns["before"].append(rows[number][player])
        for edge in tree.edges(node):
            here = edge - edges.start
            row = 1 + here
            after.append((row, rows[number][1]) if player == 0 else (rows[number][0], row))
            if ends[here] >= 0:
                rows[ends[here]] = after[here]
    for edge, end in enumerate(ends):
        columns["value_row"].append(len(slots) + end if end >= 0 else slot_of[edge])
        columns["edge"].append(_in_lanes([begin + edge for begin in first_edges], NONE))
    for edge in slots:
        leads = [int(tree.leads[begin + edge]) for begin in first_edges]
        columns["slot_row"].append(after[edge])
        follows = ends[edge] == _NEXT
        columns["place"].append(_in_lanes([place[root_of[node]] if follows else NONE for node in leads], NONE))
        columns["chips"].append(
            [_in_lanes([0.0 if follows else _pays(tree, ~leaf, player) for leaf in leads], 0.0) for player in range(2)]
        )


def _in_lanes(values: list[Any], empty: float) -> list[Any]:
    return [*values, *[empty] * (LANES - len(values))]


def _pays(tree: BettingTree, leaf: int, player: int) -> float:
    folder, chips = int(tree.folder[leaf]), float(tree.pays[leaf])
    return chips if folder in (NOBODY, 1 - player) else -chips


class TableOffsets(NamedTuple):
    """Where regrets and averages lie: of a part [bucket][edge][lane], parts one after another."""

    at: I64  # [part]
    stride: I64  # [part] from one bucket to the next
    size: int


def bases_of(parts: WalkParts, buckets: Sequence[int]) -> TableOffsets:
    """For so many buckets on each street."""
    stride = np.diff(parts.edge_at).astype(np.int64) * LANES
    sizes = stride * np.array(buckets, np.int64)[parts.street]
    ends = np.cumsum(sizes)
    return TableOffsets(ends - sizes, stride, int(ends[-1]))
