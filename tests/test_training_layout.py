"""A tree cut into parts for training, against the tree itself, read edge by edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from trained import endgame, kuhn, no_limit_leduc, short_deck

from blueprints.settings import load_settings
from blueprints.train.public.kernels.types import WalkParts
from blueprints.train.public.layout import bases_of, cut
from blueprints.train.public.walker import Packing
from blueprints.tree import NOBODY, BettingTree, build_tree
from solver.kernels.vectors import LANES

TREES = {
    **{name: lambda name=name: _shipped(name) for name in ("tiny", "small", "standard")},
    **{case.__name__: lambda case=case: case().tree for case in (kuhn, no_limit_leduc, short_deck, endgame)},
}


def _shipped(name: str) -> BettingTree:
    settings = load_settings(name)
    return build_tree(settings.load_game(), settings.load_menu())


@pytest.fixture(params=list(TREES))
def tree(request: pytest.FixtureRequest) -> BettingTree:
    return TREES[request.param]()


def edges_of(tree: BettingTree, street: int) -> range:
    nodes = tree.nodes_of(street)
    return range(int(tree.first[nodes.start]), int(tree.first[nodes.stop]))


def lanes(parts: WalkParts) -> Iterator[tuple[int, int, np.ndarray]]:
    """Part, lane, and the numbers of its edges in the tree."""
    for part in range(len(parts.street)):
        edges = parts.edge[parts.edge_at[part] : parts.edge_at[part + 1]]
        for lane in range(LANES):
            if edges[0, lane] >= 0:
                yield part, lane, edges[:, lane]
            else:
                assert (edges[:, lane] < 0).all()


def test_every_edge_has_one_lane_of_its_street(tree: BettingTree) -> None:
    parts = cut(tree)
    found = [(int(parts.street[part]), edge) for part, _, edges in lanes(parts) for edge in edges.tolist()]
    assert sorted(found) == sorted(
        (street, edge) for street in range(tree.num_streets) for edge in edges_of(tree, street)
    )
    used = len(found) / parts.edge.size
    assert used > 0.85 or tree.num_nodes < 5_000  # of `standard` 88 %


def test_nodes_rows_and_slots_are_those_of_the_tree(tree: BettingTree) -> None:
    """Walked from each root by the tree, with a part's own numbers beside."""
    parts = cut(tree)
    root_of = {int(node): root for root, node in enumerate(tree.root_at[:-1])}
    where = {root_of[_node(tree, int(edges[0]))]: (part, lane) for part, lane, edges in lanes(parts)}
    assert len(where) == len(tree.root_at) - 1
    seen: Counter[str] = Counter()
    for part, lane, edges in lanes(parts):
        nodes, slots = slice(*parts.node_at[part : part + 2]), parts.slot_at[part + 1] - parts.slot_at[part]
        first_slot = int(parts.slot_at[part])
        kinds = np.repeat(
            ["showdown", "fold", "next"], [parts.showdowns[part], parts.folds[part], parts.next[part]]
        ).tolist()
        assert len(kinds) == slots
        todo = [(_node(tree, int(edges[0])), 0, (0, 0))]
        while todo:
            at, node, rows = todo.pop()
            seen["nodes"] += 1
            player = int(parts.player[nodes][node])
            assert player == tree.player[at]
            assert parts.before[nodes][node] == rows[player]
            assert parts.actions[nodes][node] == len(tree.edges(at))
            for number, edge in enumerate(tree.edges(at)):
                here = int(parts.begin[nodes][node]) + number
                assert edges[here] == edge
                after = (1 + here, rows[1]) if player == 0 else (rows[0], 1 + here)
                row, leads = int(parts.value_row[parts.edge_at[part] + here]), int(tree.leads[edge])
                if row >= slots:
                    todo.append((leads, row - slots, after))
                    continue
                assert tuple(parts.slot_row[:, first_slot + row]) == after
                place, chips = int(parts.place[first_slot + row, lane]), parts.chips[:, first_slot + row, lane]
                seen[kinds[row]] += 1
                if kinds[row] == "next":
                    child, child_lane = where[root_of[leads]]
                    begin = int(parts.part_at[parts.street[part] + 1])
                    assert place == (child - begin) * LANES + child_lane
                    assert tuple(chips) == (0, 0)
                    continue
                folder, pays = int(tree.folder[~leads]), float(tree.pays[~leads])
                assert (folder == NOBODY) == (kinds[row] == "showdown")
                assert place < 0
                expected = (
                    (pays, pays) if folder == NOBODY else [-pays if folder == seat else pays for seat in range(2)]
                )
                np.testing.assert_allclose(chips, expected)
    leaves, roots = len(tree.pays), len(tree.root_at) - 1
    first = int(np.count_nonzero(np.diff(tree.street_at)[: int(parts.street[0]) + 1]))
    assert seen["nodes"] == tree.num_nodes
    assert (seen["showdown"] + seen["fold"], seen["next"]) == (leaves, roots - first)


def test_tables_come_back_as_they_were(tree: BettingTree) -> None:
    parts, rng = cut(tree), np.random.default_rng(1)
    buckets = tuple(range(3, 3 + tree.num_streets))
    edges = tuple(edges_of(tree, street) for street in range(tree.num_streets))
    tables = Packing(parts, bases_of(parts, buckets), buckets, edges)
    given = [rng.random((len(edges), count), np.float32) for edges, count in zip(tables.edges, buckets, strict=True)]
    packed = tables.packed(given)
    assert np.count_nonzero(packed) == sum(table.size for table in given)
    assert all(np.array_equal(a, b) for a, b in zip(tables.unpacked(packed), given, strict=True))


def _node(tree: BettingTree, edge: int) -> int:
    return int(np.searchsorted(tree.first, edge, side="right")) - 1
