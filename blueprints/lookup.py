"""From what both players see to what a blueprint does with every hand.

A hand's actions are walked through the tree from its root. Where they are the tree's own, that is all. Where not:

- A raise of a size that the tree does not have is taken for a neighbouring size by `blueprints.translation`, whoever
  made it. Sizes are compared as fractions of the pot: of the real one, and of the tree's as it is after what was taken
  for something else before. A size that the tree's own raise would have here, after rounding and within the legal
  bounds, is that raise: so our own raises are found again as what they were.
- A raise below the smallest may be taken for a check (or for a call of the blind), as size 0, if that does not end the
  street: else the walk would be a street ahead. All-in is all-in, whatever fraction of the pot.
- A raise above the largest where the tree has no all-in: all-in counts as one more size, since a bet of forty pots is
  not one of two. What stands for it is a node where all-in has to be called, below the same root if there is one: the
  one where that player has the most similar chips in the pot. This is a jump, as below.
- A call that the tree does not have (no limping) is its smallest raise.
- If then the tree's hand is over while the real one goes on (all-in in the tree but not really, or more raises than
  the tree has), the walk goes on from the *nearest* node of the same street and player, with chips owed or not as in
  fact: the one whose players have committed the most similar chips, by ratio; of several such, one where the same
  player raised last. This is a jump, and is counted.

A draw belongs to the place of an action in the hand, so every decision of the hand takes it for the same. It never
depends on cards.

What the node does is then made real: raises the same fraction of the real pot, rounded and moved inside the legal
bounds, all-in as all-in. Actions that come out the same are added up. What is not legal becomes a call: a fold where
nothing is owed, a raise where none is allowed. Each such action is counted too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.interface import Cards
from blueprints.rounding import TOTAL
from blueprints.storage import Blueprint
from blueprints.translation import fraction, raise_to, translate
from blueprints.tree import CALLED, FOLDED, BettingTree
from protocol.arrays import F32, U8
from protocol.cards import Card
from protocol.errors import BlueprintError
from protocol.hands import hands_of
from protocol.state import CALL, FOLD, Action, Call, Fold, Raise, State, can_fold, raise_bounds

Draw = Callable[[int], float]
"""The uniform number from [0, 1) that belongs to a place in the hand: that of the action, from 0."""

_BOARDS: Final = 16
"""So many boards keep their buckets; a hand has four."""
_NO_RAISER: Final = -1
_TIE: Final = 1e-9
_FAR: Final = 0.5
"""Logarithm of the ratio of chips above which a root is another game: 1.65 times as much."""


@dataclass(frozen=True, slots=True)
class TreePlace:
    """A node of the tree, and how far from the real hand it is."""

    node: int
    translated: int
    """Actions that were taken for others."""
    jumps: int
    """Times that the nearest node had to do."""


@dataclass(frozen=True, slots=True, eq=False)
class BlueprintPolicy:
    """What to do with every hand."""

    place: TreePlace
    actions: tuple[Action, ...]
    """Legal, different: fold, call, raises from small to large."""
    shares: U8
    """[action, hand]: columns add up to 255, those of hands that meet the board to 0."""
    replaced: int
    """Actions of the tree that were not legal as they were."""

    @property
    def probabilities(self) -> F32:
        """[action, hand]"""
        return np.divide(self.shares, TOTAL, dtype=np.float32)


class _Candidates(NamedTuple):
    """Nodes that a jump may go to: [node]."""

    nodes: NDArray[np.intp]
    first: NDArray[np.float64]
    """Chips of the player in position 0, as a logarithm."""
    second: NDArray[np.float64]
    raisers: NDArray[np.int8]

    def part(self, chosen: NDArray[np.bool_]) -> _Candidates:
        """Some of them."""
        return _Candidates(self.nodes[chosen], self.first[chosen], self.second[chosen], self.raisers[chosen])


class Lookup:
    """A blueprint that can be asked. Its answers depend on nothing but the arguments."""

    def __init__(self, blueprint: Blueprint, cards: Cards) -> None:
        """Raises `BlueprintError` if these are not the cards that the blueprint was made for."""
        if cards.digest != blueprint.header.cards or tuple(cards.counts) != blueprint.buckets:
            raise BlueprintError(
                f"{blueprint.path}: card abstraction {blueprint.header.cards}, buckets {blueprint.buckets}: "
                f"expected {cards.digest}, {tuple(cards.counts)}"
            )
        self.blueprint, self.cards = blueprint, cards
        self._game, self._tree = blueprint.game, blueprint.tree
        self._hands = hands_of(self._game)
        self._boards: OrderedDict[tuple[Card, ...], tuple[NDArray[np.intp], NDArray[np.bool_]]] = OrderedDict()
        self._raisers = _last_raisers(self._tree)
        places = [(street, player) for street in range(self._game.num_rounds) for player in range(2)]
        self._nodes = {(*place, owes): self._candidates(*place, owes) for place in places for owes in (False, True)}
        self._all_in = {place: self._facing_all_in(*place) for place in places}

    # Where

    def place(self, state: State, draw: Draw) -> TreePlace | None:
        """The node of a decision; None if the tree has nothing for that player on that street."""
        return _Walk(self, draw).to(state)

    def root(self, state: State, draw: Draw) -> int:
        """The root at which a street goes on that has just begun.

        If the walk ends inside a street, or where far more or fewer chips are in the pot, so that what is left to bet
        is another game, it is the one with the most similar chips; of several such, one where the same player raised
        last.
        """
        walk, tree = _Walk(self, draw), self._tree
        place = walk.to(state)
        roots = range(int(tree.street_at[state.street]), int(tree.street_at[state.street + 1]))
        starts = tree.root_at[roots.start : roots.stop]
        apart = self._scale(tree.committed[starts].max(axis=1)) - self._scale(np.array(state.maximum))
        found = np.flatnonzero(starts == place.node) if place is not None else starts[:0]
        if len(found) and abs(apart[found[0]]) <= _FAR:
            return roots.start + int(found[0])
        raised = self._raisers[starts] != walk.raiser
        return roots.start + int((np.abs(apart) + _TIE * raised).argmin())

    def edge(self, state: State, action: Action, draw: Draw) -> tuple[TreePlace, int] | None:
        """The node of a decision, and what an action there is taken for: an action of the node, by number."""
        walk = _Walk(self, draw)
        place = walk.to(state)
        if place is None or state.actor is None:
            return None
        edge = walk.edge(place.node, action)
        return None if edge is None else (place, edge - int(self._tree.first[place.node]))

    # What

    def policy(self, state: State, board: Sequence[Card], draw: Draw) -> BlueprintPolicy | None:
        """What to do with every hand; None if the tree has nothing for that player on that street."""
        place = self.place(state, draw)
        if place is None:
            return None
        actions, groups, replaced = self.real_actions(place.node, state)
        rows = self.blueprint.rows(place.node)
        if len(actions) < len(groups):
            merged = np.zeros((len(actions), rows.shape[1]), np.uint8)
            np.add.at(merged, groups, rows)
            rows = merged
        buckets, dead = self._buckets(tuple(board))
        shares = rows.take(buckets, axis=1)
        if len(board):
            shares[:, dead] = 0
        return BlueprintPolicy(place, actions, shares, replaced)

    def likelihood(self, state: State, action: Action, board: Sequence[Card], draw: Draw) -> F32 | None:
        """How likely each hand takes what an action is taken for; None where nothing can be said."""
        found = self.edge(state, action, draw)
        if found is None:
            return None
        buckets, dead = self._buckets(tuple(board))
        likelihood: F32 = np.divide(self.blueprint.rows(found[0].node)[found[1]].take(buckets), TOTAL, dtype=np.float32)
        likelihood[dead] = 0
        return likelihood

    def real_actions(self, node: int, state: State) -> tuple[tuple[Action, ...], list[int], int]:
        """The actions of a node made real; for each of the node's the place among them; how many were not legal."""
        assert state.actor is not None
        mine: list[int] = self._tree.committed[node].tolist()
        wanted, replaced = [], 0
        bounds = raise_bounds(state)
        for does in self._tree.does[self._tree.first[node] : self._tree.first[node + 1]].tolist():
            action: Action = CALL
            if does == FOLDED:
                action = FOLD if can_fold(state) else CALL
                replaced += action is CALL
            elif does != CALLED:
                if bounds is None:
                    replaced += 1
                else:
                    to = self.real_raise(mine, does, state.committed, state.actor)
                    action = Raise(min(max(to, bounds.low), bounds.high))
                    replaced += action.to != to
            wanted.append(action)
        actions = sorted(set(wanted), key=_order)
        return tuple(actions), [actions.index(action) for action in wanted], replaced

    def real_raise(self, mine: Sequence[int], does: int, committed: Sequence[int], actor: int) -> int:
        """The chips to which a raise of a node goes, before legal bounds; chips committed in the tree and really."""
        if does >= self._game.stack[actor] or tuple(mine) == tuple(committed):
            return does
        return raise_to(fraction(does, mine, actor), committed, actor)

    def nearest(self, street: int, player: int, committed: Sequence[int], raiser: int) -> int | None:
        """The most similar node of a street and player; `raiser` raised last in the hand, or nobody (-1)."""
        found = self._nodes[street, player, committed[player] < max(committed)]
        return self._closest(found, committed, raiser) if len(found.nodes) else None

    def nearest_all_in(self, street: int, player: int, committed: Sequence[int], after: int) -> int | None:
        """The node where a player has to call all-in that is most similar, below the root of node `after` if any is."""
        found, root_at = self._all_in[street, player], self._tree.root_at
        root = int(np.searchsorted(root_at, after, "right")) - 1
        inside = (found.nodes >= root_at[root]) & (found.nodes < root_at[root + 1])
        if inside.any():
            found = found.part(inside)
        return self._closest(found, committed, 1 - player) if len(found.nodes) else None

    def _closest(self, found: _Candidates, committed: Sequence[int], raiser: int) -> int:
        first, second = self._scale(np.array(committed)).tolist()
        away = np.abs(found.first - first) + np.abs(found.second - second) + _TIE * (found.raisers != raiser)
        return int(found.nodes[away.argmin()])

    def _candidates(self, street: int, player: int, owes: bool) -> _Candidates:
        """The nodes of a player on a street: those that owe chips, or do not, if there are any."""
        tree, of = self._tree, self._tree.nodes_of(street)
        nodes = np.arange(of.start, of.stop)[tree.player[of.start : of.stop] == player]
        owing = tree.committed[nodes, player] < tree.committed[nodes].max(axis=1)
        alike = nodes[owing == owes]
        nodes = alike if len(alike) else nodes
        first, second = self._scale(np.ascontiguousarray(tree.committed[nodes].T))
        return _Candidates(nodes, first, second, self._raisers[nodes])

    def _facing_all_in(self, street: int, player: int) -> _Candidates:
        """The nodes of a player on a street who owes chips to a player who has none left."""
        found, committed = self._nodes[street, player, True], self._tree.committed
        return found.part(committed[found.nodes, 1 - player] >= self._game.stack[1 - player])

    def _scale(self, chips: NDArray[np.integer]) -> NDArray[np.float64]:
        scaled: NDArray[np.float64] = np.log(chips + self._game.big_blind / 2)
        return scaled

    def _buckets(self, board: tuple[Card, ...]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The buckets of all hands, and which hands meet the board."""
        known = self._boards.get(board)
        if known is None:
            known = self._boards[board] = self.cards.buckets(board).astype(np.intp), self._hands.meeting(board)
            if len(self._boards) > _BOARDS:
                self._boards.popitem(last=False)
        return known


class _Walk:
    """One walk through the tree, beside the real betting."""

    def __init__(self, lookup: Lookup, draw: Draw) -> None:
        self._lookup, self._draw = lookup, draw
        self._game, self._tree = lookup.blueprint.game, lookup.blueprint.tree
        self._translated = self._jumps = self._actions = 0
        game = self._game
        self._committed, self._street = list(game.blind), 0
        self._actor = self._able(game.first_player[0])
        self._least_to = max(2 * max(game.blind), 1)
        self._node: int | None = 0
        self.raiser = _NO_RAISER
        """Who raised last, after `to`."""
        self._as_all_in = False

    def to(self, state: State) -> TreePlace | None:
        """Where a real state is in the tree."""
        if state.actor is None:
            raise BlueprintError(f"{state.betting!r}: the hand is over: expected a decision")
        for street, actions in enumerate(state.history):
            if street > self._street:
                self._street, self._actor = street, self._able(self._game.first_player[street])
                self._least_to = max(self._committed) + self._game.big_blind
            for number, action in enumerate(actions, 1):
                edge = None if self._node is None else self.edge(self._node, action)
                self._apply(action)
                if number < len(actions) or state.street == street:
                    self._arrive(edge, street, self._actor)
                else:
                    self._arrive(edge, street + 1, self._able(self._game.first_player[street + 1]))
        return None if self._node is None else TreePlace(self._node, self._translated, self._jumps)

    def edge(self, node: int, action: Action) -> int | None:
        """What an action is taken for at a node, here; None if there is nothing like it."""
        tree, first = self._tree, int(self._tree.first[node])
        does: list[int] = tree.does[first : int(tree.first[node + 1])].tolist()
        if isinstance(action, Fold):
            return first + does.index(FOLDED) if FOLDED in does else None
        raises = [number for number, each in enumerate(does) if each > CALLED]
        if isinstance(action, Call):
            if CALLED in does:
                return first + does.index(CALLED)
            self._translated += 1
            return first + raises[0] if raises else None
        if not raises:
            return None
        mine: list[int] = tree.committed[node].tolist()
        if mine == self._committed and action.to in does:
            return first + does.index(action.to)
        for number in raises:
            if self._made(mine, does[number]) == action.to:
                return first + number
        self._translated += 1
        all_in = self._game.stack[self._actor]
        if action.to >= all_in and does[raises[-1]] >= all_in:
            return first + raises[-1]
        sizes = [fraction(does[number], mine, self._actor) for number in raises]
        if CALLED in does:
            checks = does.index(CALLED)
            leads = int(tree.leads[first + checks])
            if leads >= 0 and tree.street[leads] == tree.street[node]:
                raises, sizes = [checks, *raises], [0.0, *sizes]
        if max(does) < all_in and self._lookup.nearest_all_in(self._street, 1 - self._actor, mine, node) is not None:
            sizes.append(fraction(all_in, mine, self._actor))
        size = sizes[-1] if action.to >= all_in else fraction(action.to, self._committed, self._actor)
        taken = translate(size, sizes, self._draw(self._actions))
        self._as_all_in = taken == len(raises)
        return None if self._as_all_in else first + raises[taken]

    def _made(self, mine: list[int], does: int) -> int:
        """The chips to which we would have raised for a raise of the tree."""
        game, high = self._game, self._game.stack[self._actor]
        if not game.no_limit:
            return min(max(self._committed) + game.raise_size[self._street], high)
        to = self._lookup.real_raise(mine, does, self._committed, self._actor)
        return min(max(to, min(self._least_to, high)), high)

    def _apply(self, action: Action) -> None:
        """One real action."""
        maximum, stack = max(self._committed), self._game.stack[self._actor]
        if isinstance(action, Raise):
            self._least_to = max(self._least_to, 2 * action.to - maximum)
            self._committed[self._actor], self.raiser = action.to, self._actor
        elif isinstance(action, Call):
            self._committed[self._actor] = min(maximum, stack)
        self._actions += 1
        self._actor = self._able(1 - self._actor)

    def _arrive(self, edge: int | None, street: int, actor: int) -> None:
        """At what an edge leads to, or if that is not where the real hand is, at the node most like it."""
        leads = -1 if edge is None else int(self._tree.leads[edge])
        if self._as_all_in and self._node is not None:
            self._jumps += 1
            self._node = self._lookup.nearest_all_in(street, actor, self._committed, self._node)
            self._as_all_in = False
        elif leads >= 0 and self._tree.street[leads] == street and self._tree.player[leads] == actor:
            self._node = leads
        else:
            self._jumps += 1
            self._node = self._lookup.nearest(street, actor, self._committed, self.raiser)

    def _able(self, player: int) -> int:
        """That player, or the other if all its chips are in."""
        return player if self._committed[player] < self._game.stack[player] else 1 - player


def _last_raisers(tree: BettingTree) -> NDArray[np.int8]:
    """[node] who raised last before it."""
    raisers = np.full(tree.num_nodes, _NO_RAISER, np.int8)
    node_of = np.repeat(np.arange(tree.num_nodes), np.diff(tree.first))
    by = np.where(tree.does > CALLED, tree.player[node_of].astype(np.int8), _NO_RAISER)
    for edge in np.flatnonzero(tree.leads >= 0).tolist():  # edges of a node come after those that lead to it
        raisers[tree.leads[edge]] = by[edge] if by[edge] >= 0 else raisers[node_of[edge]]
    return raisers


def _order(action: Action) -> int:
    return action.to if isinstance(action, Raise) else 0 if isinstance(action, Call) else -1
