"""One street as a depth-limited game whose leaves go on in a blueprint.

The street is any betting tree from the street's start (`solver.betting`), with whatever sizes. Its leaves are

- folds and all-ins, which are worth what they are worth;
- *ends*, where the next street begins. There each player chooses a continuation (`solver.depth_limited`), and what
  hands win then is what they win at a root of the blueprint's tree, by roll-outs (`blueprints.values.rollouts`).

**Which root.** The actions that lead to an end are walked through the blueprint's tree as in play
(`blueprints.lookup`), each size taken for the likelier of its neighbours. Should the walk arrive inside a street, or at
a pot of quite another size, the root counts at which the players have committed the most similar chips.

**Scale.** Values are taken as shares of the pot. Both players have committed c chips at an end, C at its root. Net
chips over the whole hand are then multiplied by c / C: a share s of the pot is worth s · 2c − c, which is
(s · 2C − C) · c / C.

**One sample for all.** In an iteration all ends are evaluated on the same run-outs, so that the differences between
actions, which is all that regrets are, have little of the luck of the cards in them. Folds and all-ins are evaluated on
them too: a hand that a run-out makes impossible then wins nothing anywhere, and the chance of a run-out is the same
factor for all (`Rollouts.chance`).

**Without luck.** On a flop folds and all-ins can be known exactly, from the margins of all pairs of hands
(`blueprints.values.margins`). Where stacks are deep an all-in is worth fifty pots and more, and the luck in it drowns
what the ends say. An iteration takes longer so: elsewhere more iterations are worth more.

**Classes.** Before the flop all hands of a class are alike. The solver then has classes for hands, and the value of a
class is the mean of its hands': four, six or twelve samples for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from blueprints.lookup import Lookup
from blueprints.values.rollouts import Rollouts
from protocol.arrays import F32, I32
from protocol.cards import Card
from protocol.hands import hand_cards_array, holdem_hands
from protocol.state import Action, State
from solver.betting import Node, build_forest
from solver.depth_limited import LimitedTree, apart
from solver.menu import Menu

_MIDDLE: Final = 0.5
"""The draw by which a size is taken for the likelier of its neighbours."""


@dataclass(frozen=True, eq=False)
class StreetGame:
    """The betting of one street, and where its ends go on."""

    nodes: tuple[Node, ...]
    """Parents first."""
    first: I32
    child: I32
    folds: I32
    """Leaves where somebody has folded."""
    fold_chips: F32
    """[player, fold] what each wins."""
    all_ins: I32
    """Leaves where all chips are in."""
    all_in_chips: F32
    """[all-in] what the loser pays."""
    ends: I32
    """Leaves where the next street begins."""
    end_states: tuple[State, ...]

    @classmethod
    def of(cls, root: State, menu: Menu, *, max_nodes: int) -> StreetGame:
        """The street from a state on, by a menu. Raises `TreeError` if it is too large."""
        part = build_forest((root,), menu, (), last=False, max_nodes=max_nodes).parts[0]
        nodes, folds = len(part.nodes), part.fold_lanes
        slots = np.unique(part.child[part.child >= nodes]) - nodes  # without padding
        child = part.child.copy()
        child[child >= nodes] = nodes + np.searchsorted(slots, part.child[part.child >= nodes] - nodes)
        folded = slots < folds
        ends = (slots >= folds) & (slots < folds + part.num_next)
        all_ins = slots >= folds + part.num_next
        numbers = np.arange(len(slots), dtype=np.int32)
        return cls(
            nodes=part.nodes,
            first=part.first,
            child=child,
            folds=numbers[folded],
            fold_chips=np.ascontiguousarray(part.fold_chips[:, slots[folded]]),
            all_ins=numbers[all_ins],
            all_in_chips=np.array(part.all_in_chips, np.float32),
            ends=numbers[ends],
            end_states=part.next_states,
        )

    @property
    def num_leaves(self) -> int:
        """All leaves."""
        return len(self.folds) + len(self.all_ins) + len(self.ends)

    def tree(self, continuations: tuple[int, int]) -> LimitedTree:
        """For the solver: each player chooses from so many continuations, one if it does not choose."""
        end = np.isin(np.arange(self.num_leaves), self.ends)
        choices = [apart((end & (count > 1)).tolist()) for count in continuations]
        player = np.array([node.state.actor for node in self.nodes], np.int32)
        return LimitedTree(player, self.first, self.child, (choices[0], choices[1]), continuations)

    def node(self, actions: Sequence[Action]) -> int | None:
        """The decision after some actions of the street; None if the tree has it not."""
        here = 0
        for action in actions:
            offered = self.nodes[here].actions
            if action not in offered:
                return None
            here = int(self.child[self.first[here] + offered.index(action)])
            if here >= len(self.nodes):
                return None
        return here

    @cached_property
    def street(self) -> int:
        """Whose betting this is."""
        return int(self.nodes[0].state.street)


class Settled:
    """What hands win at the leaves of a flop where nothing is left to decide: exactly, over all run-outs."""

    def __init__(self, game: StreetGame, board: Sequence[Card], margins: F32) -> None:
        self._game, self.margins = game, margins
        hands = holdem_hands()
        self.live: F32 = hands.live(board).astype(np.float32)
        self._holding: F32 = np.ascontiguousarray(hands.holding.T, np.float32)

    def put(self, reaches: tuple[F32, F32], values: tuple[F32, F32]) -> None:
        """Values at folds and all-ins, from reaches there: both [leaf, continuation, hand]."""
        game = self._game
        shown = np.concatenate([reaches[1][game.all_ins, 0], reaches[0][game.all_ins, 0]]) @ self.margins.T
        for player, at_showdowns in enumerate(np.split(shown, 2)):
            come = reaches[1 - player][game.folds, 0]
            values[player][game.folds, 0] = self._apart(come) * game.fold_chips[player][:, None]
            values[player][game.all_ins, 0] = at_showdowns * game.all_in_chips[:, None]

    def _apart(self, come: F32) -> F32:
        """[any, hand] the sum over all hands that share no card with a hand."""
        of_card = come @ self._holding
        first, second = hand_cards_array().T
        found: F32 = come.sum(axis=1)[:, None] - of_card[:, first] - of_card[:, second] + come
        found *= self.live
        return found


def roots_of(game: StreetGame, lookup: Lookup) -> list[int]:
    """Where in a blueprint's tree the ends go on."""
    return [lookup.root(state, lambda place: _MIDDLE) for state in game.end_states]


class SampledLeaves:
    """What hands win at the leaves of a street, by roll-outs of the blueprint: values for `solver.depth_limited`."""

    def __init__(
        self,
        game: StreetGame,
        rollouts: Rollouts,
        lookup: Lookup,
        board: Sequence[Card],
        continuations: tuple[int, int],
        seed: int,
        *,
        run_outs: int = 1,
        reuse: int = 1,
        classes: npt.NDArray[np.integer] | None = None,
        settled: Settled | None = None,
    ) -> None:
        """So many run-outs an iteration, each sample used for `reuse` iterations; `classes` [hand] of hands alike.

        What an iteration draws follows from the seed and the iteration's number. Folds and all-ins are `settled`
        exactly, or else sampled.
        """
        self._game, self._rollouts, self._board = game, rollouts, tuple(board)
        self._continuations, self._seed = continuations, seed
        self._run_outs, self._reuse, self._settled = run_outs, reuse, settled
        self._roots = roots_of(game, lookup)
        tree = rollouts.tree
        chips = tree.committed[tree.root_at[self._roots]].max(axis=1) if self._roots else np.zeros(0)
        self._scale = (np.array([state.maximum for state in game.end_states]) / chips).astype(np.float32)
        self._drawn: list[tuple[Card, ...]] = []
        self.iteration = 0
        """How many are done; a solve that goes on sets it."""
        self._all_hands = rollouts.num_hands
        self._classes = classes
        self._means = None if classes is None else _means(classes)

    @property
    def hands(self) -> int:
        """How many the solver has to do with: hands, or classes."""
        return self._all_hands if self._means is None else self._means.shape[1]

    @property
    def factor(self) -> float:
        """What a value has to be multiplied with for counterfactual chips."""
        return 1.0 if self._settled is not None else self._of_sample

    @property
    def _of_sample(self) -> float:
        return 1 / (self._run_outs * self._rollouts.chance(self._board))

    def __call__(self, reaches: tuple[F32, F32]) -> tuple[F32, F32]:
        sample, again = divmod(self.iteration, self._reuse)
        if not again or not self._drawn:
            rng = np.random.default_rng((self._seed, sample))
            self._drawn = [self._rollouts.draw(self._board, rng) for _ in range(self._run_outs)]
        self.iteration += 1
        shown = self._by_hand(reaches[0]), self._by_hand(reaches[1])
        values = np.zeros_like(shown[0]), np.zeros_like(shown[1])
        for run_out in self._drawn:
            self._add(run_out, shown, values)
        if self._settled is not None:
            for player in range(2):
                values[player][self._game.ends] *= np.float32(self._of_sample)
            self._settled.put(shown, values)
        return self._back(values[0], reaches[0]), self._back(values[1], reaches[1])

    def _add(self, run_out: tuple[Card, ...], reaches: tuple[F32, F32], values: tuple[F32, F32]) -> None:
        """Values of all leaves that are sampled on one run-out; [leaf, continuation, hand]."""
        game, final = self._game, (*self._board, *run_out)
        sampled = self._settled is None
        if sampled and len(game.folds):
            come = np.stack([each[game.folds, 0] for each in reaches])
            won = self._rollouts.fold_values(final, come, game.fold_chips)
            for player in range(2):
                values[player][game.folds, 0] += won[player]
        if sampled and len(game.all_ins):
            come = np.stack([each[game.all_ins, 0] for each in reaches])
            won = self._rollouts.showdown_values(final, come, game.all_in_chips)
            for player in range(2):
                values[player][game.all_ins, 0] += won[player]
        if len(game.ends):
            count = len(self._rollouts.biases)
            come = np.zeros((2, count, len(game.ends), self._all_hands), np.float32)
            for player, chosen in enumerate(self._continuations):
                come[player, :chosen] = reaches[player][game.ends].transpose(1, 0, 2)
            won = self._rollouts.values(self._roots, self._board, run_out, come)
            won *= self._scale[:, None]
            for player, chosen in enumerate(self._continuations):
                values[player][game.ends] += won[player, :chosen].transpose(1, 0, 2)

    def _by_hand(self, reaches: F32) -> F32:
        """Reaches of the solver's hands, or classes, as those of all hands."""
        if self._classes is None:
            return reaches[:, :, : self._all_hands]
        return reaches[:, :, self._classes]

    def _back(self, values: F32, like: F32) -> F32:
        """The inverse: a class has the mean of its hands."""
        found = np.zeros_like(like)
        found[:, :, : self.hands] = values if self._means is None else values @ self._means
        return found


def _means(classes: npt.NDArray[np.integer]) -> F32:
    """[hand, class]"""
    of = np.zeros((len(classes), int(classes.max()) + 1), np.float32)
    of[np.arange(len(classes)), classes] = 1.0
    means: F32 = of / of.sum(axis=0)
    return means
