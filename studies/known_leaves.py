"""Leaves before the flop whose values are known, not sampled, and the continuations that opponents may choose there.

In flop hold'em all that follows a leaf is one street of betting. What a continuation of the opponent wins there from
the big blind's trained strategy is a matrix over pairs of hands, the mean over all flops: small enough to be kept, as
Modicum kept values of the first street (thesis 5.2.3). The continuations are

- *biased*: the trained strategy with folds, calls or raises more likely, as agents have them;
- *self-generated* (thesis 5.2.2): the trained strategy first; then, again and again, the game before the flop is solved
  with the continuations there are so far, and the best response after the flop to what that solution comes to it with,
  and to the trained strategy there, is one more. Where the solution never comes, the response is to all hands alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Final

import numpy as np

from blueprints.lookup import Lookup
from blueprints.tree import CALLED, FOLDED, NOBODY
from blueprints.values.leaves import StreetGame, roots_of
from blueprints.values.rollouts import Bias
from protocol.arrays import F32, F64
from protocol.game import Game
from protocol.hands import hands_of
from protocol.kernels import rank_hands
from protocol.state import start
from solver.depth_limited import LimitedSolver
from solver.menu import Menu

FLOP: Final = 1
UNBIASED: Final = Bias()
_RARE: Final = np.float32(1e-9)
"""What is answered at least, for each hand: so that there is an answer where nobody comes."""
_MAX_NODES: Final = 100

Strategies = Mapping[int, F32]
"""By node of the blueprint's flop: [action, flop, hand]."""


class KnownFlops:
    """All flops of a game at once, after the roots of a blueprint."""

    def __init__(self, game: Game, lookup: Lookup, averages: F32, us: int) -> None:
        """`averages` are the blueprint's on the flop, [edge of the street, bucket]."""
        self.game, self.lookup, self.us = game, lookup, us
        hands = hands_of(game)
        self.hands, self.compatible = len(hands), hands.compatible
        self._boards = np.array(list(combinations(sorted(game.deck()), 3)), np.uint8)
        self._live = np.array([hands.live(board) for board in self._boards])
        self._buckets = np.stack([lookup.cards.buckets(board) for board in self._boards.tolist()])
        self._averages = averages

    @property
    def roots(self) -> range:
        """Those of the flop."""
        at = self.lookup.blueprint.tree.street_at
        return range(int(at[FLOP]), int(at[FLOP + 1]))

    @cached_property
    def shown(self) -> F32:
        """[flop, our hand, their hand] 1 where ours is better, -1 where theirs is; 0 too where they cannot be."""
        held = hands_of(self.game).cards
        pairs = self._live[:, :, None] & self._live[:, None, :] & (self.compatible > 0)
        rows = np.concatenate(
            [np.broadcast_to(held, (len(self._boards), *held.shape)), np.repeat(self._boards[:, None], len(held), 1)], 2
        )
        ranks = np.zeros(self._live.shape, np.int32)
        ranks[self._live] = rank_hands(np.ascontiguousarray(rows[self._live]))
        return (np.sign(ranks[:, :, None] - ranks[:, None, :]) * pairs).astype(np.float32)

    def trained(self, bias: Bias = UNBIASED) -> dict[int, F32]:
        """The blueprint's strategies on the flop, of both players, biased."""
        tree = self.lookup.blueprint.tree
        nodes = tree.nodes_of(FLOP)
        first, found = int(tree.first[nodes.start]), {}
        for node in nodes:
            edges = tree.edges(node)
            factors = [{FOLDED: bias.fold, CALLED: bias.call}.get(int(tree.does[edge]), bias.raises) for edge in edges]
            rows = self._averages[edges.start - first : edges.stop - first] * np.array(factors, np.float32)[:, None]
            total = rows.sum(axis=0)
            shares = np.where(total > 0, rows / np.where(total > 0, total, 1), np.float32(1 / len(edges)))
            found[node] = shares[:, self._buckets].astype(np.float32)
        return found

    def worth(self, root: int, theirs: Strategies, ours: Strategies) -> F32:
        """[our hand, their hand] what we win, on average over the flops."""
        tree, live = self.lookup.blueprint.tree, self._live.astype(np.float32)
        ends: dict[bool, list[tuple[F32, F32]]] = {False: [], True: []}

        def below(node: int, our: F32, their: F32) -> None:
            if node < 0:
                folder, chips = int(tree.folder[~node]), np.float32(tree.pays[~node])
                ends[folder == NOBODY].append((our * (-chips if folder == self.us else chips), their))
                return
            mine = int(tree.player[node]) == self.us
            for place, edge in enumerate(tree.edges(node)):
                share = (ours if mine else theirs)[node][place]
                below(int(tree.leads[edge]), our * share if mine else our, their if mine else their * share)

        below(int(tree.root_at[root]), live, live)
        left = len(self.game.deck()) - 2 * self.game.num_hole_cards
        our, their = (np.stack(each) for each in zip(*ends[True], strict=True))
        won = np.einsum("bho,bho->ho", our.transpose(1, 2, 0) @ their.transpose(1, 0, 2), self.shown)
        our, their = (np.concatenate(each) for each in zip(*ends[False], strict=True))
        won += our.T @ their * self.compatible
        return np.asarray(won / comb(left, self._boards.shape[1]), np.float32)

    def response(self, root: int, ours: Strategies, reach: F32) -> dict[int, F32]:
        """Their best response below a root to our strategy there, if we come with hands [hand] so often."""
        tree = self.lookup.blueprint.tree
        found: dict[int, F32] = {}

        def below(node: int, come: F32) -> F32:
            """[flop, their hand]"""
            if node < 0:
                folder, chips = int(tree.folder[~node]), np.float32(tree.pays[~node])
                if folder == NOBODY:
                    return -chips * np.matmul(come[:, None, :], self.shown)[:, 0]
                return (chips if folder == self.us else -chips) * (come @ self.compatible)
            edges = tree.edges(node)
            if int(tree.player[node]) == self.us:
                each = [below(int(tree.leads[edge]), come * ours[node][place]) for place, edge in enumerate(edges)]
                return np.sum(each, axis=0, dtype=np.float32)
            values = np.stack([below(int(tree.leads[edge]), come) for edge in edges])
            best = values.argmax(axis=0)
            found[node] = (np.arange(len(edges))[:, None, None] == best).astype(np.float32)
            return np.asarray(values.max(axis=0), np.float32)

        below(int(tree.root_at[root]), self._live * (reach + _RARE))
        return found


class KnownLeaves:
    """What hands win at the leaves before the flop: values for `solver.depth_limited`, where only the opponent
    chooses."""

    def __init__(self, game: StreetGame, flops: KnownFlops, worth: F32) -> None:
        """`worth` are [root, continuation, our hand, their hand]."""
        assert not len(game.all_ins), "the menus have none"
        self._game, self._us, self._compatible = game, flops.us, flops.compatible
        self.roots = roots_of(game, flops.lookup)
        tree = flops.lookup.blueprint.tree
        chips = tree.committed[tree.root_at[self.roots]].max(axis=1)
        scale = np.array([state.maximum for state in game.end_states]) / chips
        ends = worth[np.array(self.roots) - flops.roots.start]
        self._worth = (ends * scale[:, None, None, None]).astype(np.float32)

    def __call__(self, reaches: tuple[F32, F32]) -> tuple[F32, F32]:
        game, us, hands = self._game, self._us, len(self._compatible)
        values = np.zeros_like(reaches[0]), np.zeros_like(reaches[1])
        for player in range(2):
            come = reaches[1 - player][game.folds, 0, :hands]
            values[player][game.folds, 0, :hands] = come @ self._compatible * game.fold_chips[player][:, None]
        ours, theirs = reaches[us][game.ends, 0, :hands], reaches[1 - us][game.ends][:, :, :hands]
        values[us][game.ends, 0, :hands] = np.einsum("ekho,eko->eh", self._worth, theirs, optimize=True)
        values[1 - us][game.ends, :, :hands] = -np.matmul(ours[:, None, None, :], self._worth)[:, :, 0]
        return values[0], values[1]


def solved(flops: KnownFlops, menu: Menu, worth: F32, iterations: int) -> tuple[StreetGame, LimitedSolver]:
    """The game before the flop, by any menu."""
    street = StreetGame.of(start(flops.game), menu, max_nodes=_MAX_NODES)
    chosen = (1, worth.shape[1]) if flops.us == 0 else (worth.shape[1], 1)
    everyone = np.ones(flops.hands)
    solver = LimitedSolver(street.tree(chosen), (everyone, everyone), KnownLeaves(street, flops, worth))
    solver.iterate(iterations)
    return street, solver


def biased(flops: KnownFlops, biases: Sequence[Bias]) -> F32:
    """[root, continuation, our hand, their hand]"""
    ours = flops.trained()
    each = [flops.trained(bias) for bias in biases]
    return np.stack([np.stack([flops.worth(root, theirs, ours) for theirs in each]) for root in flops.roots])


def generated(flops: KnownFlops, menu: Menu, count: int, iterations: int) -> F32:
    """The same of so many continuations that were made by self-play, in the order in which they were."""
    ours = flops.trained()
    worth = biased(flops, (UNBIASED,))
    while worth.shape[1] < count:
        street, solver = solved(flops, menu, worth, iterations)
        more = []
        for root, reach in zip(flops.roots, our_reaches(flops, street, solver), strict=True):
            more.append(flops.worth(root, flops.response(root, ours, reach), ours))
        worth = np.concatenate([worth, np.stack(more)[:, None]], axis=1)
    return worth


def our_reaches(flops: KnownFlops, street: StreetGame, solver: LimitedSolver) -> F32:
    """[root of the flop, hand] how likely we come there, by the average strategy."""
    found = np.zeros((len(flops.roots), flops.hands), np.float32)
    reaches: list[F64] = [np.ones(flops.hands)] * len(street.nodes)
    ends = dict(zip(street.ends.tolist(), roots_of(street, flops.lookup), strict=True))
    for node in range(len(street.nodes)):
        mine = street.nodes[node].state.actor == flops.us
        strategy = solver.strategy(node) if mine else None
        for place, child in enumerate(street.child[street.first[node] : street.first[node + 1]].tolist()):
            reach = reaches[node] if strategy is None else reaches[node] * strategy[place]
            if child < len(street.nodes):
                reaches[child] = reach
            elif child - len(street.nodes) in ends:
                found[ends[child - len(street.nodes)] - flops.roots.start] = reach
    return found
