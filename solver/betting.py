"""Betting trees: a menu of sizes turned into flat arrays, street by street, cards left out.

The actions of a street do not depend on the cards, so one *forest* per street serves every board: its trees begin
where the trees of the street before end (one root for each way in which betting goes on), and its leaves are folds,
showdowns (on the last street), all-ins (before it) and roots of the next forest. Legality is `protocol.state`'s: the
tree is built by applying actions to states.

Leaves of a forest are numbered as slots, lanes for the terminal sweeps first:

    [ showdowns, all-ins of earlier streets | folds | roots of the next street | all-ins ]

with the first two groups padded to whole vectors. A child is a row: the number of a decision node of the same forest,
or the number of its decision nodes plus a slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from protocol.errors import ParatusError
from protocol.state import CALL, FOLD, Action, Raise, State, apply, can_fold, raise_bounds
from solver.vectors import LANES

I32 = npt.NDArray[np.int32]
F32 = npt.NDArray[np.float32]


class TreeError(ParatusError):
    """A betting tree that cannot be built as asked."""


@dataclass(frozen=True, slots=True)
class Street:
    """The sizes of one street, as fractions of the pot after the call; `all_in` adds the stack."""

    first: tuple[float, ...]
    """For the first bet of the street."""
    later: tuple[float, ...]
    """For raises."""
    all_in: bool = True


@dataclass(frozen=True, slots=True)
class Menu:
    """The sizes that the tree offers, street by street from the root; the last entry serves all later streets."""

    streets: tuple[Street, ...]
    max_raises: int = 255

    def actions(self, state: State, street: int) -> list[Action]:
        """The actions at `state`, fold first, then call, then raises from small to large."""
        actions: list[Action] = [FOLD] if can_fold(state) else []
        actions.append(CALL)
        bounds = raise_bounds(state)
        raised = sum(isinstance(action, Raise) for action in state.history[-1])
        if bounds is None or raised >= self.max_raises:
            return actions
        if not state.game.no_limit:
            return [*actions, Raise(bounds.low)]
        sizes = self.streets[min(street, len(self.streets) - 1)]
        wanted = {
            min(max(round(state.maximum + fraction * 2 * state.maximum), bounds.low), bounds.high)
            for fraction in (sizes.later if raised else sizes.first)
        }
        if sizes.all_in:
            wanted.add(bounds.high)
        return [*actions, *(Raise(to) for to in sorted(wanted))]


LIBRATUS: Final = Menu((Street((0.5, 1.0), (1.0,)),))
"""The sizes of the published Libratus endgames: half the pot, pot, all-in first; pot, all-in later."""


@dataclass(frozen=True, slots=True)
class Node:
    """A decision of a forest, for people: kernels read the arrays."""

    state: State
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Forest:
    """The trees of one street; see the head of this file."""

    nodes: tuple[Node, ...]
    """Breadth first, roots first."""
    num_roots: int
    player: I32
    """[node] who acts."""
    edge: I32
    """[node] the number of its first edge among its player's."""
    first: I32
    """[node] where its children begin."""
    child: I32
    """[edge of either player] a row."""
    edges: tuple[int, int]
    """How many edges each player has."""
    showdown_lanes: int
    fold_lanes: int
    showdowns: int
    """How many of the showdown lanes are leaves of this street; all-ins of earlier streets follow."""
    showdown_chips: F32
    """[showdown lane] what the loser pays."""
    fold_chips: F32
    """[player, fold lane] what that player wins."""
    next_states: tuple[State, ...]
    """The roots of the next forest."""
    all_in_chips: tuple[float, ...]
    """What the losers of this street's all-ins pay."""

    @property
    def slots(self) -> int:
        """All leaves, padding included."""
        return self.showdown_lanes + self.fold_lanes + len(self.next_states) + len(self.all_in_chips)


def padded(count: int) -> int:
    """The next multiple of the vector length."""
    return -(-count // LANES) * LANES


def build_forest(
    roots: Sequence[State], menu: Menu, street: int, earlier_all_ins: Iterable[float], *, max_nodes: int
) -> Forest:
    """The forest that begins at `roots`; `earlier_all_ins` are shown down with it, on the last street."""
    grower = _Grower(menu, street, max_nodes)
    return grower.grow(roots, tuple(earlier_all_ins))


class _Grower:
    """Collects leaves and nodes breadth first, then numbers them."""

    def __init__(self, menu: Menu, street: int, max_nodes: int) -> None:
        self._menu, self._street, self._max_nodes = menu, street, max_nodes
        self._showdowns: list[float] = []
        self._folds: list[tuple[int, float]] = []
        self._next: list[State] = []
        self._all_ins: list[float] = []

    def grow(self, roots: Sequence[State], earlier_all_ins: tuple[float, ...]) -> Forest:
        states = list(roots)
        nodes: list[Node] = []
        children: list[tuple[str, int]] = []
        first, edge, player = [], [], []
        edges = [0, 0]
        while len(nodes) < len(states):
            state = states[len(nodes)]
            if len(states) > self._max_nodes:
                raise TreeError(
                    f"the betting tree has more than {self._max_nodes} decisions on one street: offer fewer sizes"
                )
            actor = state.actor
            if actor is None:
                raise TreeError(f"a tree cannot begin at {state.betting!r}: the hand is over")
            actions = tuple(self._menu.actions(state, self._street))
            first.append(len(children))
            edge.append(edges[actor])
            player.append(int(actor))
            edges[actor] += len(actions)
            for action in actions:
                after = apply(state, action)
                leaf = self._leaf(state, after)
                if leaf is None:
                    leaf = ("node", len(states))
                    states.append(after)
                children.append(leaf)
            nodes.append(Node(state, actions))
        return self._number(nodes, len(roots), children, first, edge, player, (edges[0], edges[1]), earlier_all_ins)

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

    def _number(
        self,
        nodes: list[Node],
        num_roots: int,
        children: list[tuple[str, int]],
        first: list[int],
        edge: list[int],
        player: list[int],
        edges: tuple[int, int],
        earlier_all_ins: tuple[float, ...],
    ) -> Forest:
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
        return Forest(
            nodes=tuple(nodes),
            num_roots=num_roots,
            player=np.array(player, np.int32),
            edge=np.array(edge, np.int32),
            first=np.array([*first, len(children)], np.int32),
            child=np.array([n if kind == "node" else len(nodes) + begin[kind] + n for kind, n in children], np.int32),
            edges=edges,
            showdown_lanes=showdown_lanes,
            fold_lanes=fold_lanes,
            showdowns=len(self._showdowns),
            showdown_chips=showdown_chips,
            fold_chips=fold_chips,
            next_states=tuple(self._next),
            all_in_chips=tuple(self._all_ins),
        )
