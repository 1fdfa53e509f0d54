"""Betting trees: a menu of sizes turned into flat arrays, street by street, cards left out.

The actions of a street do not depend on the cards, so one *forest* per street serves every board: its trees begin
where the trees of the street before end (one root for each way in which betting goes on), and its leaves are folds,
showdowns (on the last street), all-ins (before it) and roots of the next forest. Legality is `protocol.state`'s: the
tree is built by applying actions to states.

The forest of the last street is cut into *parts*, a few roots each, which the kernels do one after another. Leaves of a
part are numbered as slots, lanes for the terminal sweeps first:

    [ showdowns, all-ins of earlier streets | folds | roots of the next street | all-ins ]

with the first two groups padded to whole vectors. A child is a row: the number of a decision node of the same part,
or the number of its decision nodes plus a slot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from machine.errors import ParatusError
from protocol.arrays import I32
from protocol.state import Action, State, apply
from solver.kernels.types import padded
from solver.menu import Menu
from solver.problem import Layout, number_edges

PART_SHOWDOWNS: Final = 90
"""About so many showdowns make a part: what the sweeps read and write then fits the second cache."""


class ForestError(ParatusError):
    """A betting tree that cannot be built as asked."""


@dataclass(frozen=True, slots=True)
class Node:
    """A decision of a forest, for people: kernels read the arrays."""

    state: State
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class ForestPart(Layout):
    """Some trees of a street; see the head of this file."""

    nodes: tuple[Node, ...]
    """Roots first, parents before children."""
    next_states: tuple[State, ...]
    """The roots of the next forest."""


@dataclass(frozen=True, slots=True)
class Forest:
    """The trees of one street. Its nodes and edges are those of its parts, one part after another."""

    parts: tuple[ForestPart, ...]
    nodes: tuple[Node, ...]
    player: I32
    """[node] who acts."""
    edge: I32
    """[node] the number of its first edge among its player's."""
    edges: tuple[int, int]
    """How many edges each player has."""
    next_states: tuple[State, ...]
    """The roots of the next forest."""
    all_in_chips: tuple[float, ...]
    """What the losers of this street's all-ins pay."""

    def find(self, node: int) -> tuple[int, int]:
        """The part of a node, and its number there."""
        for number, part in enumerate(self.parts):
            if node < len(part.nodes):
                return number, node
            node -= len(part.nodes)
        raise AssertionError("the forest has the node")

    def number(self, part: int, node: int) -> int:
        """The inverse of `find`."""
        return sum(len(each.nodes) for each in self.parts[:part]) + node

    def root(self, number: int) -> int:
        """The node of a root."""
        for index, part in enumerate(self.parts):
            if number < part.num_roots:
                return self.number(index, number)
            number -= part.num_roots
        raise AssertionError("the forest has the root")


def build_forest(
    roots: Sequence[State], menu: Menu, earlier_all_ins: Sequence[float], *, last: bool, max_nodes: int
) -> Forest:
    """The forest that begins at `roots`; on the last street `earlier_all_ins` are shown down with it."""
    groups = _groups(roots, menu, max_nodes) if last else [list(roots)]
    parts = []
    for number, group in enumerate(groups):
        extra = tuple(earlier_all_ins) if number == len(groups) - 1 else ()
        parts.append(_Grower(menu, max_nodes).grow(group, extra))
    edges = [(0, 0)]
    for part in parts:
        edges.append((edges[-1][0] + part.edges[0], edges[-1][1] + part.edges[1]))
    shifted = [part.edge + np.array(before)[part.player] for part, before in zip(parts, edges, strict=False)]
    return Forest(
        parts=tuple(parts),
        nodes=tuple(node for part in parts for node in part.nodes),
        player=np.concatenate([part.player for part in parts]),
        edge=np.concatenate(shifted).astype(np.int32),
        edges=edges[-1],
        next_states=tuple(state for part in parts for state in part.next_states),
        all_in_chips=tuple(chips for part in parts for chips in part.all_in_chips),
    )


def _groups(roots: Sequence[State], menu: Menu, max_nodes: int) -> list[list[State]]:
    """Neighbouring roots with about as many showdowns together as fit a part, evenly."""
    shown, nodes = [], 0
    for root in roots:
        part = _Grower(menu, max_nodes, nodes).grow([root], ())
        nodes += len(part.nodes)
        shown.append(part.showdowns)
    parts = max(1, round(sum(shown) / PART_SHOWDOWNS))
    groups: list[list[State]] = [[] for _ in range(parts)]
    before = 0
    for root, count in zip(roots, shown, strict=True):
        groups[min(parts - 1, int((before + count / 2) * parts / max(sum(shown), 1)))].append(root)
        before += count
    return [group for group in groups if group] or [[]]


class _Grower:
    """Collects nodes and leaves level by level, then puts the nodes in order and numbers all."""

    def __init__(self, menu: Menu, max_nodes: int, others: int = 0) -> None:
        self._menu, self._max_nodes, self._others = menu, max_nodes, others
        self._children: dict[int, list[Node | tuple[str, int]]] = {}
        self._showdowns: list[float] = []
        self._folds: list[tuple[int, float]] = []
        self._next: list[State] = []
        self._all_ins: list[float] = []

    def grow(self, roots: Sequence[State], earlier_all_ins: tuple[float, ...]) -> ForestPart:
        first = [self._node(state) for state in roots]
        waiting = list(first)
        for node in waiting:
            children = [self._child(node.state, action) for action in node.actions]
            self._children[id(node)] = children
            waiting += [child for child in children if isinstance(child, Node)]
            if len(waiting) + self._others > self._max_nodes:
                raise ForestError(
                    f"the betting tree has more than {self._max_nodes} decisions on one street: offer fewer sizes"
                )
        return self._number(self._in_runs(first), len(roots), earlier_all_ins)

    def _node(self, state: State) -> Node:
        if state.actor is None:
            raise ForestError(f"a tree cannot begin at {state.betting!r}: the hand is over")
        return Node(state, tuple(self._menu.actions(state)))

    def _child(self, state: State, action: Action) -> Node | tuple[str, int]:
        after = apply(state, action)
        return self._leaf(state, after) or self._node(after)

    def _in_runs(self, roots: list[Node]) -> list[Node]:
        """Parents before children, and nodes of one player with as many actions together in few, long runs.

        Of the nodes whose parents are placed the most numerous kind comes next; those that only leaves follow wait for
        the end.
        """
        order, ready = list(roots), self._decisions_after(roots)
        while ready:
            kinds = Counter((bool(self._decisions_after([node])), _kind(node)) for node in ready)
            chosen = max(kinds, key=lambda kind: (kind[0], kinds[kind], kind[1]))
            run = [node for node in ready if (bool(self._decisions_after([node])), _kind(node)) == chosen]
            placed = {id(node) for node in run}
            order += run
            ready = [node for node in ready if id(node) not in placed] + self._decisions_after(run)
        return order

    def _decisions_after(self, nodes: Sequence[Node]) -> list[Node]:
        return [child for node in nodes for child in self._children[id(node)] if isinstance(child, Node)]

    def _leaf(self, before: State, after: State) -> tuple[str, int] | None:
        chips = float(min(after.committed))
        if after.finished and not after.showdown:
            self._folds.append((after.folded.index(True), chips))
            return "fold", len(self._folds) - 1
        if after.finished:
            last_street = before.street == before.game.num_rounds - 1
            where, kind = (self._showdowns, "showdown") if last_street else (self._all_ins, "all-in")
            where.append(chips)
            return kind, len(where) - 1
        if after.street > before.street:
            self._next.append(after)
            return "next", len(self._next) - 1
        return None

    def _number(self, nodes: list[Node], num_roots: int, earlier_all_ins: tuple[float, ...]) -> ForestPart:
        shown = [*self._showdowns, *earlier_all_ins]
        showdown_lanes, fold_lanes = padded(len(shown)), padded(len(self._folds))
        begin = {
            "showdown": 0,
            "fold": showdown_lanes,
            "next": showdown_lanes + fold_lanes,
            "all-in": showdown_lanes + fold_lanes + len(self._next),
        }
        fold_chips = np.zeros((2, fold_lanes), np.float32)
        for lane, (folder, chips) in enumerate(self._folds):
            fold_chips[folder, lane], fold_chips[1 - folder, lane] = -chips, chips
        showdown_chips = np.zeros(showdown_lanes, np.float32)
        showdown_chips[: len(shown)] = shown
        counts = [len(node.actions) for node in nodes]
        numbers = {id(node): number for number, node in enumerate(nodes)}
        child = [
            numbers[id(each)] if isinstance(each, Node) else len(nodes) + begin[each[0]] + each[1]
            for node in nodes
            for each in self._children[id(node)]
        ]
        players = [int(node.state.actor or 0) for node in nodes]
        edge, edges = number_edges(players, counts)
        return ForestPart(
            nodes=tuple(nodes),
            num_roots=num_roots,
            player=np.array(players, np.int32),
            edge=edge,
            first=np.concatenate(([0], np.cumsum(counts))).astype(np.int32),
            child=np.array(child, np.int32),
            edges=edges,
            showdown_lanes=showdown_lanes,
            fold_lanes=fold_lanes,
            showdowns=len(self._showdowns),
            opened=len(earlier_all_ins),
            showdown_chips=showdown_chips,
            fold_chips=fold_chips,
            next_states=tuple(self._next),
            num_next=len(self._next),
            all_in_chips=tuple(self._all_ins),
        )


def _kind(node: Node) -> tuple[int, int]:
    """Nodes of one kind may stand in one run."""
    return int(node.state.actor or 0), len(node.actions)
