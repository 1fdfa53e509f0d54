"""A betting tree cut into parts, and the parts as arrays for the kernels of `blueprints.values.kernels.rollouts`.

A part is a few neighbouring trees of one street: those roots that follow one part of the street before, as many as fill
the terminal sweeps. All terminals of a part are lanes of one sweep, because a walk deals one board. Lanes of a part:

    [ showdowns, all-ins included | folds | roots of the next street ]    each group padded to whole vectors

While a part is worked on, 16 buckets at a time, there is a row of 16 numbers for each root and edge: how far the player
who acts there has come. Roots come first, then edges, numbered through all nodes of the part; the same row serves both
players, since an edge belongs to one. On the way up a row holds the values of a node or a lane, nodes first.

Training puts sixteen roots whose betting looks alike side by side instead (`blueprints.train.public.layout`). Below a
flop of `standard` there are nine roots on the turn and some fifty on the river, of up to five shapes each: in lanes of
their own they would take 154 vectors where their leaves, packed, take 66 (means over the tree's 21 flops).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from blueprints.tree import NOBODY, BettingTree
from blueprints.values.kernels.types import RolloutParts
from protocol.arrays import I32
from solver.kernels.sweeps import chunk, chunks
from solver.kernels.vectors import LANES

PART_LANES: Final = 128
"""About so many showdowns make a part: what the sweeps read and write then fits the second cache."""
PART_ROOTS: Final = LANES
"""At most so many roots: a vector holds a number for each."""

_MADE: Final = ("lane_row", "chips", "chunk_at", "chunk", "segment")
"""Made from the other arrays, or by player."""


def cut(tree: BettingTree, most_lanes: int = PART_LANES) -> RolloutParts:
    """The parts of a tree."""
    return _Cutter(tree, most_lanes).cut()


_Lane = tuple[int, int, tuple[int, int]]
"""Edge, root within the part, rows of both players' last edges."""


class _Cutter:
    def __init__(self, tree: BettingTree, most_lanes: int) -> None:
        self._tree, self._most = tree, most_lanes
        self._columns: dict[str, list[int]] = {name: [] for name in RolloutParts._fields if name not in _MADE}
        self._lane_row: tuple[list[int], list[int]] = ([], [])
        self._chips: tuple[list[float], list[float]] = ([], [])
        self._real: list[bool] = []
        roots = len(tree.root_at) - 1
        self._showdowns = [self._count(root) for root in range(roots)]
        self._root_of = {int(node): root for root, node in enumerate(tree.root_at[:-1])}
        self._next: list[list[int]] = []
        """[part] the roots that follow it."""

    def cut(self) -> RolloutParts:
        tree, columns = self._tree, self._columns
        first = int(np.flatnonzero(tree.street_at)[0]) - 1
        groups: list[tuple[int, int, list[int]]] = [(-1, 0, [0])]
        columns["part_at"] = [0] * (first + 1)
        for street in range(first, tree.num_streets):
            before = len(columns["street"])
            for parent, lane, group in groups:
                columns["street"].append(street)
                columns["parent"].append(parent)
                columns["first_lane"].append(lane)
                self._part(group)
            columns["part_at"].append(len(columns["street"]))
            groups = []
            for part in range(before, len(columns["street"])):
                columns["child_at"].append(len(columns["street"]) + len(groups))
                groups += [(part, lane, group) for lane, group in self._groups(self._next[part])]
        columns["child_at"].append(len(columns["street"]))
        for name, sizes in (("node_at", "player"), ("edge_at", "value_row"), ("lane_at", "lane_root")):
            columns[name].append(len(columns[sizes]))
        arrays = {name: np.array(values, np.int32) for name, values in columns.items()}
        arrays["lane_row"] = np.array(self._lane_row, np.int32)
        arrays["chips"] = np.array(self._chips, np.float32)
        everything: dict[str, Any] = {**arrays, **_chunks(arrays, np.array(self._real))}
        return RolloutParts(**everything)

    def _count(self, root: int) -> int:
        """Showdowns and folds below a root on its street: what it takes of the sweeps."""
        tree = self._tree
        edges = slice(tree.first[tree.root_at[root]], tree.first[tree.root_at[root + 1]])
        return int((tree.leads[edges] < 0).sum() + 1) // 2

    def _groups(self, roots: Sequence[int]) -> list[tuple[int, list[int]]]:
        """Neighbouring roots that fill the sweeps evenly, and the lane of the first of each group."""
        total = sum(self._showdowns[root] for root in roots)
        count = max(1, -(-total // self._most))
        groups: list[tuple[int, list[int]]] = []
        so_far = 0
        for root in roots:
            place = int((so_far + self._showdowns[root] / 2) * count / max(total, 1))
            if not groups or place > groups[-1][0] or len(groups[-1][1]) == PART_ROOTS:
                groups.append((place, []))
            groups[-1][1].append(root)
            so_far += self._showdowns[root]
        lanes = np.cumsum([0, *[len(group) for _, group in groups]]).tolist()
        return [(lane, group) for lane, (_, group) in zip(lanes, groups, strict=False)]

    def _part(self, roots: Sequence[int]) -> None:
        tree, columns = self._tree, self._columns
        nodes = range(int(tree.root_at[roots[0]]), int(tree.root_at[roots[-1] + 1]))
        first_edge = int(tree.first[nodes.start])
        columns["roots"].append(len(roots))
        columns["node_at"].append(len(columns["player"]))
        columns["edge_at"].append(len(columns["value_row"]))
        columns["lane_at"].append(len(columns["lane_root"]))
        last = {int(tree.root_at[root]): (place, place) for place, root in enumerate(roots)}
        root_of = {int(tree.root_at[root]): place for place, root in enumerate(roots)}
        showdowns: list[_Lane] = []
        folds: list[_Lane] = []
        following: list[_Lane] = []
        for node in nodes:
            player, rows, place = int(tree.player[node]), last[node], root_of[node]
            columns["player"].append(player)
            columns["begin"].append(int(tree.first[node]) - first_edge)
            columns["actions"].append(len(tree.edges(node)))
            columns["before"].append(rows[player])
            columns["root"].append(place)
            columns["node"].append(node)
            for edge in tree.edges(node):
                row = len(roots) + edge - first_edge
                after = (row, rows[1]) if player == 0 else (rows[0], row)
                leads = int(tree.leads[edge])
                if leads >= nodes.stop or leads < 0:
                    kind = following if leads >= 0 else showdowns if tree.folder[~leads] == NOBODY else folds
                    kind.append((edge, place, after))
                else:
                    last[leads], root_of[leads] = after, place
        self._lanes({"showdowns": showdowns, "folds": folds, "next": following})
        # Columns of edges, now that the lanes are known.
        lane_of = {edge: lane for lane, edge in enumerate(self._order) if edge >= 0}
        for edge in range(first_edge, int(tree.first[nodes.stop])):
            leads = int(tree.leads[edge])
            here = nodes.start <= leads < nodes.stop
            columns["value_row"].append(leads - nodes.start if here else len(nodes) + lane_of[edge])
            columns["edge"].append(edge)
        self._next.append([self._root_of[int(tree.leads[edge])] for edge, _, _ in following])

    def _lanes(self, groups: dict[str, list[_Lane]]) -> None:
        columns = self._columns
        self._order: list[int] = []
        for name, lanes in groups.items():
            padding = -len(lanes) % LANES
            columns[name].append(len(lanes) + padding)
            if name == "next":
                columns["next_roots"].append(len(lanes))
            for edge, place, rows in [*lanes, *[(-1, 0, (0, 0))] * padding]:
                self._order.append(edge)
                self._real.append(edge >= 0)
                columns["lane_root"].append(place)
                for player in range(2):
                    self._lane_row[player].append(rows[player])
                    self._chips[player].append(self._pays(edge, player) if name != "next" and edge >= 0 else 0.0)

    def _pays(self, edge: int, player: int) -> float:
        leaf = ~int(self._tree.leads[edge])
        folder, chips = int(self._tree.folder[leaf]), float(self._tree.pays[leaf])
        return chips if folder in (NOBODY, 1 - player) else -chips


def _chunks(arrays: dict[str, npt.NDArray[Any]], real_lanes: npt.NDArray[np.bool_]) -> dict[str, I32]:
    """Chunks and segments of all parts."""
    at: list[int] = []
    rows: list[list[int]] = []
    segments: list[list[int]] = []
    for part, begin in enumerate(arrays["lane_at"][:-1].tolist()):
        first = 0
        for kind in ("showdowns", "folds", "next"):
            at.append(len(rows))
            lanes = int(arrays[kind][part])
            count = 1 if kind == "next" else chunks.py_func(lanes // LANES)
            for number in range(count):
                place, vectors = (0, lanes // LANES) if kind == "next" else chunk.py_func(lanes // LANES, number)
                here, before = begin + first + place * LANES, len(segments)
                roots = arrays["lane_root"][here : here + vectors * LANES]
                real = real_lanes[here : here + vectors * LANES]
                begins = [0, *(np.flatnonzero((np.diff(roots) != 0) | (np.diff(real) != 0)) + 1).tolist(), len(roots)]
                segments += [[a, b - a, int(roots[a])] for a, b in pairwise(begins) if b > a and real[a]]
                rows.append([first + place * LANES, vectors, before, len(segments)])
            first += lanes
    at.append(len(rows))
    return {
        "chunk_at": np.array(at, np.int32),
        "chunk": np.array(rows, np.int32).reshape(-1, 4),
        "segment": np.array(segments, np.int32).reshape(-1, 3),
    }
