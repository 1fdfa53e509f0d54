"""The betting of a whole game as flat arrays, cards left out: what is trained, stored and looked up.

A tree of every street begins wherever the betting of the street before ended: at its *roots*. Nodes of a street stand
together, those of a root together, in depth-first order: a node comes after its parent, and the roots that follow the
nodes of one root are neighbours too. An edge is an action at a node.

    node      [street, player, committed, first edge]
    edge      [what is done, where it leads: a node, or ~leaf]
    leaf      [who folded, or nobody; chips that the loser pays]

Legality is `protocol.state`'s and sizes are the menu's: the tree is built by applying actions to states, and from then
on is arrays alone, which a file can hold and load at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from machine.errors import ParatusError
from protocol.arrays import I32, I64, U8
from protocol.game import Game
from protocol.state import CALL, FOLD, Action, Call, Fold, Raise, State, apply, start
from solver.menu import Menu

I8 = npt.NDArray[np.int8]

FOLDED: Final = -1
CALLED: Final = 0
"""What `does` says of edges that are no raises."""
NOBODY: Final = -1

_ARRAYS: Final = {
    "street": np.uint8,
    "player": np.uint8,
    "committed": np.int32,
    "first": np.int32,
    "does": np.int32,
    "leads": np.int32,
    "folder": np.int8,
    "pays": np.int32,
    "root_at": np.int32,
    "street_at": np.int32,
}


class BettingTreeError(ParatusError):
    """A betting tree that cannot be built as asked, or arrays that are none."""


@dataclass(frozen=True, eq=False)
class BettingTree:
    """See the head of this file. All arrays are read-only."""

    street: U8
    """[node]"""
    player: U8
    """[node] who acts."""
    committed: I32
    """[node, player] chips over the whole hand."""
    first: I32
    """[node + 1] its first edge."""
    does: I32
    """[edge] `FOLDED`, `CALLED`, or the chips raised to."""
    leads: I32
    """[edge] a node, or ~leaf for a leaf."""
    folder: I8
    """[leaf] who folded; `NOBODY` at a showdown."""
    pays: I32
    """[leaf] what the loser pays."""
    root_at: I32
    """[root + 1] its first node; roots of a street stand together."""
    street_at: I32
    """[street + 1] its first root."""

    def __post_init__(self) -> None:
        for name, dtype in _ARRAYS.items():
            array: npt.NDArray[Any] = getattr(self, name)
            if array.dtype != dtype or not array.flags.c_contiguous:
                raise BettingTreeError(f"{name} is {array.dtype}{array.shape}: expected {np.dtype(dtype)}")
            array.flags.writeable = False

    @property
    def num_nodes(self) -> int:
        """Decisions."""
        return len(self.player)

    @property
    def num_edges(self) -> int:
        """Actions at all of them."""
        return len(self.does)

    @property
    def num_streets(self) -> int:
        """Streets of the game; those before the root's have no nodes."""
        return len(self.street_at) - 1

    def edges(self, node: int) -> range:
        """The edges of a node."""
        return range(int(self.first[node]), int(self.first[node + 1]))

    def action(self, edge: int) -> Action:
        """What is done on an edge."""
        does = int(self.does[edge])
        return FOLD if does == FOLDED else CALL if does == CALLED else Raise(does)

    def actions(self, node: int) -> list[Action]:
        """The actions of a node, in the menu's order: fold, call, raises from small to large."""
        return [self.action(edge) for edge in self.edges(node)]

    def nodes_of(self, street: int) -> range:
        """The nodes of a street."""
        first, last = self.root_at[self.street_at[street]], self.root_at[self.street_at[street + 1]]
        return range(int(first), int(last))

    def first_edges(self, street: int) -> I64:
        """The first edge of each node of a street, counted from the street's first, and the end."""
        nodes = self.nodes_of(street)
        first = self.first[nodes.start : nodes.stop + 1].astype(np.int64)
        from_zero: I64 = first - first[0]
        return from_zero

    def walk(self, state: State) -> Iterator[tuple[int, State]]:
        """Every node with its state, from the state of the first."""
        waiting = [(0, state)]
        while waiting:
            node, here = waiting.pop()
            yield node, here
            after = [edge for edge in self.edges(node) if self.leads[edge] >= 0]
            waiting += [(int(self.leads[edge]), apply(here, self.action(edge))) for edge in after]

    def check_whole(self, game: Game) -> None:
        """Raise `BettingTreeError` unless this is a tree of whole hands of that game, with all indices in bounds."""
        nodes, edges, leaves = self.num_nodes, self.num_edges, len(self.pays)
        ok = (
            nodes > 0
            and self.street.shape == self.player.shape == (nodes,)
            and self.committed.shape == (nodes, 2)
            and self.first.shape == (nodes + 1,)
            and self.does.shape == self.leads.shape == (edges,)
            and self.folder.shape == self.pays.shape == (leaves,)
            and self.root_at.ndim == self.street_at.ndim == 1
            and self.street_at.shape == (game.num_rounds + 1,)
            and _climbs(self.first, 1, edges)
            and _climbs(self.root_at, 1, nodes)
            and _climbs(self.street_at, 0, len(self.root_at) - 1)
            and self.street_at[1] == 1
            and bool((self.player < 2).all())
            and bool((self.does >= -1).all())
            and bool((self.committed >= 0).all())
            and np.array_equal(self.street, np.repeat(np.arange(game.num_rounds), _nodes_by_street(self)))
            and bool(((self.leads < nodes) & (self.leads >= -leaves)).all())
            and bool((self.leads[self.leads >= 0] > _node_of_edge(self)[self.leads >= 0]).all())
        )
        if not ok:
            raise BettingTreeError("its arrays do not fit together: expected the betting of whole hands of the game")

    @cached_property
    def digest(self) -> str:
        """Names the tree: equal for equal arrays."""
        total = blake2b(digest_size=16)
        for name in _ARRAYS:
            array = getattr(self, name)
            total.update(f"{name}{array.dtype}{array.shape}".encode())
            total.update(array.tobytes())
        return total.hexdigest()

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """By name, for a file."""
        return {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> BettingTree:
        """The inverse of `to_arrays`."""
        return cls(**{name: np.ascontiguousarray(arrays[name]) for name in _ARRAYS})


def _climbs(array: I32, least: int, last: int) -> bool:
    steps = np.diff(array.astype(np.int64))
    return len(array) > 1 and array[0] == 0 and array[-1] == last and bool((steps >= least).all())


def _nodes_by_street(tree: BettingTree) -> I64:
    ends = tree.root_at[tree.street_at].astype(np.int64)
    counts: I64 = ends[1:] - ends[:-1]
    return counts


def _node_of_edge(tree: BettingTree) -> I64:
    return np.repeat(np.arange(tree.num_nodes), np.diff(tree.first))


def build_tree(
    game: Game, menu: Menu, *, root: State | None = None, max_nodes: int = 2_000_000, tell: Callable[[int], object] = id
) -> BettingTree:
    """The tree of a game, or from a later state on; `tell` hears how many nodes there are."""
    root = root or start(game)
    if game.num_players != 2:
        raise BettingTreeError(f"a game of {game.num_players} players: expected two")
    if root.actor is None:
        raise BettingTreeError(f"a tree cannot begin at {root.betting!r}: the hand is over")
    return _Grower(menu, max_nodes, tell).grow(root)


class _Grower:
    """Collects nodes street by street, depth first within each root."""

    def __init__(self, menu: Menu, max_nodes: int, tell: Callable[[int], object]) -> None:
        self._menu, self._max_nodes, self._tell = menu, max_nodes, tell
        self._nodes: list[State] = []
        self._first: list[int] = [0]
        self._does: list[int] = []
        self._leads: list[int] = []
        self._leaves: list[tuple[int, int]] = []

    def grow(self, root: State) -> BettingTree:
        streets = root.game.num_rounds
        root_at, street_at, waiting = [0], [0] * (root.street + 1), [(root, -1)]
        for _ in range(root.street, streets):
            following: list[tuple[State, int]] = []
            for state, edge in waiting:
                self._tree(state, edge, following)
                root_at.append(len(self._nodes))
            street_at.append(len(root_at) - 1)
            waiting = following
        assert not waiting, "nothing follows the last street"
        return BettingTree(
            street=np.array([state.street for state in self._nodes], np.uint8),
            player=np.array([state.actor for state in self._nodes], np.uint8),
            committed=np.array([state.committed for state in self._nodes], np.int32),
            first=np.array(self._first, np.int32),
            does=np.array(self._does, np.int32),
            leads=np.array(self._leads, np.int32),
            folder=np.array([folder for folder, _ in self._leaves], np.int8),
            pays=np.array([pays for _, pays in self._leaves], np.int32),
            root_at=np.array(root_at, np.int32),
            street_at=np.array(street_at, np.int32),
        )

    def _tree(self, root: State, edge: int, following: list[tuple[State, int]]) -> None:
        """The decisions of a street from one root on; `following` gets the roots after it, and the edges to them.

        A stack of edges still to be followed keeps the depth-first order: what an edge leads to is put into place when
        its turn comes.
        """
        stack: list[tuple[State, int]] = [(root, edge)]
        while stack:
            state, edge = stack.pop()
            if edge >= 0:
                self._leads[edge] = len(self._nodes)
            actions = self._menu.actions(state)
            begin = len(self._does)
            self._nodes.append(state)
            self._does += [_code(action) for action in actions]
            self._leads += [0] * len(actions)
            self._first.append(len(self._does))
            self._check()
            later = []
            for place, action in enumerate(actions):
                after = apply(state, action)
                if after.finished:
                    self._leads[begin + place] = ~len(self._leaves)
                    folder = after.folded.index(True) if not after.showdown else NOBODY
                    self._leaves.append((folder, min(after.committed)))
                else:
                    later.append((after, begin + place))
            # Roots of the next street are told apart from nodes of this one only when all are in order.
            stack += [each for each in reversed(later) if each[0].street == state.street]
            following += [each for each in later if each[0].street > state.street]

    def _check(self) -> None:
        if len(self._nodes) > self._max_nodes:
            raise BettingTreeError(f"the betting tree has more than {self._max_nodes:,} decisions: offer fewer sizes")
        if len(self._nodes) % 1000 == 0:
            self._tell(len(self._nodes))


def _code(action: Action) -> int:
    match action:
        case Fold():
            return FOLDED
        case Call():
            return CALLED
        case Raise(to):
            return to
