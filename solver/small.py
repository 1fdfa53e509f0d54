"""Any small two-player zero-sum game, given as a public tree with private hands, for the kernels that solve poker.

The tree is what both players see: decisions, chance, and at each end a matrix [hand of player 0, hand of player 1] of
what player 0 wins. Before it hands are dealt, with any joint probabilities; public chance may depend on both. All
chance is multiplied into the matrices, and chance nodes only pass reaches on. So a game is one street on one board,
with `sweeps.payoffs` in place of showdowns.

Actions that the other player does not see have no public node: see `solver.gadgets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from machine.errors import ParatusError
from protocol.arrays import F32, F64, I32
from solver.engine import Engine
from solver.kernels.types import Deals, padded
from solver.kernels.vectors import BLOCK
from solver.problem import Layout, Problem, number_edges, stack

_CLOSE = 1e-9
"""How far from 1 a sum of probabilities may be."""


class SmallGameError(ParatusError):
    """A game that makes no sense, or a place that it does not have."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """The end."""

    payoff: npt.ArrayLike
    """What player 0 wins: one number, or [hand of player 0, hand of player 1]."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """Player 0 or 1 acts."""

    player: int
    children: Mapping[str, Node]
    """What follows each action."""

    def __post_init__(self) -> None:
        if self.player not in (0, 1):
            raise SmallGameError(f"a decision of player {self.player}: expected 0 or 1")


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """Something happens."""

    outcomes: Mapping[str, tuple[npt.ArrayLike, Node]]
    """The probability of each, one number or [hand of player 0, hand of player 1], and what follows."""
    player = 2  # as the kernels call it

    @property
    def children(self) -> dict[str, Node]:
        """What follows each outcome."""
        return {name: node for name, (_, node) in self.outcomes.items()}


Node = Leaf | Decision | Chance
Path = tuple[str, ...]
"""The names of actions and outcomes from the root on."""


class SmallGame(Problem):
    """A tree, and `joint` [hand of player 0, hand of player 1], the probability of each pair of hands.

    A place is named by its path; where all names are single letters a string is a path. `unit` is what an
    exploitability in "mbb" is in thousandths of. Who asks an engine for a table or for rows gives board 0.
    """

    def __init__(
        self, root: Node, joint: npt.ArrayLike, *, unit: float = 1.0, bits: int = 32, max_bytes: int = 1 << 30
    ) -> None:
        given = np.asarray(joint, np.float64)
        if given.ndim != 2 or not (given >= 0).all() or not abs(given.sum() - 1) < _CLOSE:
            raise SmallGameError(f"joint of shape {given.shape}: expected [hand, hand] probabilities that sum to 1")
        # Only proportions count. With the largest at 1, equal chances leave the ties of a game to be ties in float32.
        self.joint = given / given.max()
        widest = padded(max(self.joint.shape), BLOCK)
        self._places = _grow(root, self.joint, max_bytes // (8 * widest**2))
        self._rows = {path: row for row, path in enumerate(self._places)}
        self._layout = self._lay_out()
        super().__init__(
            stack([[self._layout]], self._matrices(widest)),
            _deals(np.array(self.joint.shape, np.int32), widest),
            [np.ones(count) for count in self.joint.shape],
            bits=bits,
            averaged=[True],
            unit=unit,
            pot=unit,
        )

    def opposing(self, player: int, weights: F64) -> F64:
        return _against(self.joint, player, weights)

    @property
    def decisions(self) -> dict[Path, Decision]:
        """All decisions, parents first."""
        return {path: node for path, (node, _) in self._places.items() if isinstance(node, Decision)}

    def edges(self, path: Sequence[str]) -> slice:
        """The rows of a decision's actions in its player's table (`Engine.table`)."""
        node = self._decision(path)
        first = int(self._layout.edge[self._rows[tuple(path)]])
        return slice(first, first + len(node.children))

    def strategy(self, engine: Engine, path: Sequence[str] = ()) -> F64:
        """The average strategy of whoever acts: [action, hand]."""
        sums = engine.table(self._decision(path).player, 0)[self.edges(path)]
        total = sums.sum(axis=0)
        return np.where(total > 0, sums / np.where(total > 0, total, 1.0), 1 / len(sums))

    def reach(self, engine: Engine, player: int, path: Sequence[str]) -> F64:
        """[hand] the probability that a player goes there if others do.

        For a hand that its player picks (`solver.gadgets`) it counts how much more often than it would be dealt.
        """
        self._place(path)
        reach = engine.problem.weights[player].copy()
        for number, name in enumerate(path):
            node, _ = self._place(path[:number])
            if isinstance(node, Decision) and node.player == player:
                reach *= self.strategy(engine, path[:number])[list(node.children).index(name)]
        return reach

    def values(self, engine: Engine, player: int, path: Sequence[str] = (), *, best: bool = False) -> F64:
        """[hand] what a player wins from a place on if both play their averages, or if it responds best.

        Zero for a hand with which it cannot come there.
        """
        _, chance = self._place(path)
        against = _against(chance, player, self.reach(engine, 1 - player, path))
        values: F64 = engine.row_values(player, 0, 0, [self._rows[tuple(path)]], best=best)[0]
        return np.divide(values, against, out=np.zeros_like(values), where=against > 0)

    def _place(self, path: Sequence[str]) -> tuple[Node, F64]:
        if tuple(path) not in self._places:
            raise SmallGameError(f"path {_text(path)}: the tree has no such place")
        return self._places[tuple(path)]

    def _decision(self, path: Sequence[str]) -> Decision:
        node, _ = self._place(path)
        if not isinstance(node, Decision):
            raise SmallGameError(f"path {_text(path)}: nobody acts there")
        return node

    def _lay_out(self) -> Layout:
        inner = [(path, node) for path, (node, _) in self._places.items() if not isinstance(node, Leaf)]
        counts = [len(node.children) for _, node in inner]
        players = [node.player for _, node in inner]
        child = [self._rows[*path, name] for path, node in inner for name in node.children]
        edge, edges = number_edges(players, counts)
        lanes = padded(len(self._places) - len(inner))
        return Layout(
            num_roots=1,
            player=np.array(players, np.int32),
            edge=edge,
            first=np.concatenate(([0], np.cumsum(counts))).astype(np.int32),
            child=np.array(child, np.int32),
            edges=edges,
            showdown_lanes=lanes,
            fold_lanes=0,
            showdowns=len(self._places) - len(inner),
            opened=0,
            showdown_chips=np.zeros(lanes, np.float32),
            fold_chips=np.zeros((2, 0), np.float32),
            num_next=0,
            all_in_chips=(),
        )

    def _matrices(self, widest: int) -> F32:
        """The leaves' payoffs for both players, as in `Trees`."""
        first, second = self.joint.shape
        matrices = np.zeros((2, widest, widest, self._layout.showdown_lanes), np.float32)
        ends = [(path, node, chance) for path, (node, chance) in self._places.items() if isinstance(node, Leaf)]
        for lane, (path, leaf, chance) in enumerate(ends):
            won = _by_hands(path, leaf.payoff, chance) * chance
            matrices[0, :first, :second, lane] = won
            matrices[1, :second, :first, lane] = -won.T
        return matrices


def _grow(root: Node, joint: F64, most: int) -> dict[Path, tuple[Node, F64]]:
    """The node of each place, and [hand, hand] the weight of both hands times the probability of all public events.

    In the order of the kernels' rows: parents before children, leaves at the end.
    """
    inner: dict[Path, tuple[Node, F64]] = {}
    leaves: dict[Path, tuple[Node, F64]] = {}
    waiting: list[tuple[Path, Node, F64]] = [((), root, joint)]
    for path, node, chance in waiting:
        (leaves if isinstance(node, Leaf) else inner)[path] = (node, chance)
        waiting += _below(path, node, chance)
        if len(waiting) > most:
            raise SmallGameError(f"the tree has too many nodes: expected at most {most} with so many hands")
    if not inner:
        raise SmallGameError("the root is a leaf: expected a decision or a chance node")
    return inner | leaves


def _below(path: Path, node: Node, chance: F64) -> list[tuple[Path, Node, F64]]:
    if isinstance(node, Leaf):
        return []
    if not node.children:
        raise SmallGameError(f"path {_text(path)}: a node without children: expected at least one")
    if isinstance(node, Decision):
        return [((*path, name), child, chance) for name, child in node.children.items()]
    shares = {name: _by_hands((*path, name), share, chance) for name, (share, _) in node.outcomes.items()}
    whole = np.sum(list(shares.values()), axis=0)[chance > 0]
    if any((share < 0).any() for share in shares.values()) or not (abs(whole - 1) < _CLOSE).all():
        raise SmallGameError(f"path {_text(path)}: expected probabilities that sum to 1 for every pair of hands")
    return [((*path, name), child, chance * shares[name]) for name, child in node.children.items()]


def _by_hands(path: Path, given: npt.ArrayLike, chance: F64) -> F64:
    """[hand, hand] what is given, but 0 for hands that cannot be."""
    numbers = np.where(chance > 0, given, 0.0) if np.shape(given) in ((), chance.shape) else None
    if numbers is None or not np.isfinite(numbers).all():
        shape = " x ".join(map(str, chance.shape))
        raise SmallGameError(f"path {_text(path)}: {np.shape(given)} numbers: expected one or {shape}, all finite")
    return numbers


def _text(path: Sequence[str]) -> str:
    return repr("/".join(path))


def _against(chance: F64, player: int, theirs: F64) -> F64:
    """[hand] the weight of all that the opponent can hold beside it."""
    weights: F64 = chance @ theirs if player == 0 else theirs @ chance
    return weights


def _deals(hands: I32, widest: int) -> Deals:
    """One board and no cards."""

    def zeros(*shape: int) -> I32:
        return np.zeros(shape, np.int32)

    numbers = np.arange(widest, dtype=np.int32)
    real = numbers < hands[:, None, None]
    return Deals(
        hands=np.array([padded(count, BLOCK) for count in hands.tolist()], np.int32),
        real=hands,
        cards=zeros(2, widest, 2),
        minus=zeros(2, widest, 2),
        twin=zeros(2, widest),
        street=zeros(1),
        base=np.zeros((2, 1), np.int64),
        alive=real.astype(np.float32),
        final=zeros(1),
        order=zeros(2, 1, widest),
        place=np.where(real, numbers, np.int32(widest)),
        in_order=numbers,
        group=zeros(2, 1, 2),
        groups=zeros(1),
        chance=np.ones(1, np.float32),
        task_at=zeros(1),
        steps=zeros(0),
        image_at=np.array([0, 1], np.int32),
        images=np.array([-1], np.int32),
        permutations=zeros(0, 2, widest),
    )
