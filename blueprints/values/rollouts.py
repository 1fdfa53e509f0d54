"""What hands are worth if both players go on as the blueprint says, or as it says with a bias: leaves of a search.

A depth-limited search ends where a street does. Each of its leaves goes on at a *root* of the blueprint's tree, the
first decision of the next street. There each player has chosen, for each hand and before the cards to come are seen,
one of k continuations: the blueprint, or the blueprint with the probabilities of folds, of calls or of raises
multiplied by a factor and renormalised. Given how often a hand comes to a root with each choice, a *roll-out* says what
each choice is worth to each hand on one run-out, one way in which the missing cards may come.

    values[i, m, r, h]  =  Σ over hands o of the opponent, continuations j:
                           reaches[1 − i, j, r, o] × what i wins with h by m against o by j, on this run-out

in chips over the whole hand, chips of player i, o and h and the run-out sharing no card: a counterfactual value, as
everywhere in the solver. What meets the run-out has value 0 and adds nothing.

**The mean over run-outs.** A run-out is drawn uniformly from the n cards that the board leaves; m cards are to come,
hands hold c. Given two hands it should be uniform among the cards that those leave too. It is, where it misses both;
else the pair adds nothing. That it misses both has the same probability for every pair,

    chance = C(n − 2c, m) / C(n, m)         hold'em: 44/48 after the turn, 990/1176 after the flop,
                                            C(48, 5)/C(52, 5) = 0.659 before it

so the mean of the values over run-outs, divided by `chance`, is an unbiased estimate of their expectation, for each
hand, with one run-out or many. (Less noisy with many, and unbiased too: divide the sum of a hand's values by the number
of run-outs that missed *it*, and by C(n − 2c, m) / C(n − c, m), the chance that one of those misses the opponent.)

A state in which nobody can bet any more goes on at no root: `showdown_values` on the same run-outs, with the same
mean, is its value.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import comb
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from blueprints.boards.dealer import BoardDealer
from blueprints.boards.kernels import FinalBoard
from blueprints.cards.interface import Cards
from blueprints.tree import CALLED, FOLDED, BettingTree, BettingTreeError
from blueprints.values.kernels import rollouts as kernels
from blueprints.values.kernels.types import Play, RolloutFrames, RolloutParts, RolloutScratch
from blueprints.values.rollout_layout import PART_ROOTS, cut
from protocol.arrays import F32, I64
from protocol.cards import Card, CardError, cards_text
from protocol.errors import BlueprintError
from protocol.game import MAX_STREETS, Game
from solver.kernels.sweeps import MAX_VECTORS, NUM_CARD_ROWS
from solver.kernels.types import aligned_zeros, padded
from solver.kernels.vectors import LANES

Hands = npt.NDArray[np.intp]
Board = Sequence[Card]

_PLANS: Final = 4
"""Sets of roots that are kept ready: each holds some tens of megabytes."""
_DEALS: Final = 64
"""Run-outs that are kept ready."""


@dataclass(frozen=True, slots=True)
class Bias:
    """By what a continuation multiplies the blueprint's probabilities, before they are made to add up again."""

    fold: float = 1.0
    call: float = 1.0
    """Checks too."""
    raises: float = 1.0

    def __post_init__(self) -> None:
        if not all(0 < factor < 1e6 for factor in (self.fold, self.call, self.raises)):
            raise BlueprintError(f"{self}: expected factors above 0")


FACTOR: Final = 10.0
BIASES: Final = (Bias(), Bias(fold=FACTOR), Bias(call=FACTOR), Bias(raises=FACTOR))
"""The blueprint, and its three biased forms (Pluribus)."""


class Rollouts:
    """A blueprint as the continuation of a search. One call at a time; results do not depend on the threads."""

    def __init__(
        self,
        game: Game,
        tree: BettingTree,
        cards: Cards,
        strategies: Sequence[npt.NDArray[Any]],
        *,
        biases: Sequence[Bias] = BIASES,
        threads: int = 1,
    ) -> None:
        """`strategies` are by street [edge of the street, bucket], uint8 or float32, in any unit: only ratios count.

        They are not copied: those of a file may stay where they are.
        """
        if not biases:
            raise BlueprintError("no continuations: expected one at least")
        self.game, self.tree, self.biases = game, tree, tuple(biases)
        self._strategies = _checked(tree, cards, strategies)
        self._first_edge = [int(tree.first[tree.nodes_of(street).start]) for street in range(game.num_rounds)]
        self._dealer = BoardDealer(game, (cards, cards))
        self._buckets = np.array([min(self._dealer.num_hands, padded(count)) for count in cards.counts])
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._plans: OrderedDict[tuple[int, ...], _Plan] = OrderedDict()
        self._deals: OrderedDict[tuple[Card, ...], tuple[FinalBoard, Hands]] = OrderedDict()
        self._show = _scratch(None, self._dealer.num_hands, 1, 0)

    @property
    def num_hands(self) -> int:
        """Hands of the whole deck: the last dimension of reaches and values."""
        return self._dealer.all_hands

    def draw(self, board: Board, rng: np.random.Generator) -> tuple[Card, ...]:
        """The cards to come, uniformly from those that the board leaves, in the order of dealing."""
        left = [card for card in sorted(self.game.deck()) if card not in board]
        drawn = rng.permutation(len(left))[: self._missing(board)]
        return tuple([left[place] for place in drawn.tolist()])

    def chance(self, board: Board) -> float:
        """That a run-out misses two given hands: what means over run-outs are to be divided by."""
        left, missing = len(self.game.deck()) - len(board), self._missing(board)
        return comb(left - 2 * self.game.num_hole_cards, missing) / comb(left, missing)

    def values(
        self, roots: Sequence[int], board: Board, run_out: Board, reaches: F32, *, player: int | None = None
    ) -> F32:
        """[player, continuation, root, hand] on one run-out; see the head of this file.

        `roots` are of one street, in any order, and may repeat. `board` is what lies at the leaves, before that street;
        `run_out` are all cards to come. `reaches` are [player, continuation, root, hand], float32; those of hands that
        the cards make impossible do not matter. With a `player` only that one's values are computed, others are 0.
        """
        plan = self._plan(tuple(map(int, roots)))
        self._check(plan, board, run_out, reaches)
        deal, hands = self._deal((*board, *run_out))
        players = (0, 2) if player is None else (player, player + 1)
        kernels.put(reaches, hands, deal.order.size, plan.lanes, plan.shared)
        work: Callable[..., None] = kernels.work
        apart = self._pool is not None
        fixed = plan.parts, deal, self._strategies, plan.play, players, apart, plan.shared, plan.frame
        ticket = np.zeros(8, np.int64)
        if self._pool is None:
            work(*fixed, plan.scratches[0], ticket)
        else:
            for done in [self._pool.submit(work, *fixed, scratch, ticket) for scratch in plan.scratches]:
                done.result()
        values = np.zeros(reaches.shape, np.float32)
        kernels.take(values, hands, deal.order.size, plan.lanes, players, plan.shared, plan.frame.values[0])
        return values

    def mean(self, roots: Sequence[int], board: Board, reaches: F32, rng: np.random.Generator, *, run_outs: int) -> F32:
        """An unbiased estimate of the values' expectation over run-outs, from so many."""
        total = np.zeros(reaches.shape, np.float32)
        for _ in range(run_outs):
            total += self.values(roots, board, self.draw(board, rng), reaches)
        return total / np.float32(run_outs * self.chance(board))

    def showdown_values(self, board: Board, reaches: F32, chips: npt.ArrayLike) -> F32:
        """[player, leaf, hand] where nobody bets any more, on a final board; means and units as of `values`.

        `reaches` are [player, leaf, hand], float32; the loser of a leaf pays its `chips`.
        """
        paid = np.asarray(chips, np.float32)
        return self._ended(board, reaches, np.stack([paid, paid]), shown=True)

    def fold_values(self, board: Board, reaches: F32, chips: npt.ArrayLike) -> F32:
        """[player, leaf, hand] where somebody has folded: player i wins `chips[i, leaf]`, which may be below 0.

        A fold needs no board; on one it is a sample of the same deals as the values of other leaves.
        """
        return self._ended(board, reaches, np.asarray(chips, np.float32), shown=False)

    def _ended(self, board: Board, reaches: F32, chips: F32, *, shown: bool) -> F32:
        deal, hands = self._deal(tuple(board))
        expected = 2, chips.shape[1], self._dealer.all_hands
        if reaches.dtype != np.float32 or reaches.shape != expected:
            raise BlueprintError(f"reaches are {reaches.dtype}{reaches.shape}: expected float32{expected}")
        values = np.zeros(expected, np.float32)
        kernels.end(deal, hands, np.ascontiguousarray(reaches), chips, shown, values, self._show)
        return values

    def _missing(self, board: Board) -> int:
        return sum(self.game.num_board_cards) - len(board)

    def _deal(self, board: tuple[Card, ...]) -> tuple[FinalBoard, Hands]:
        if board not in self._deals:
            if len(set(board)) != sum(self.game.num_board_cards) or not set(board) <= set(self.game.deck()):
                raise CardError(f"{cards_text(board)} is no final board of this game")
            if len(self._deals) == _DEALS:
                self._deals.popitem(last=False)
            self._deals[board] = self._dealer.deal(board)
        self._deals.move_to_end(board)
        return self._deals[board]

    def _plan(self, roots: tuple[int, ...]) -> _Plan:
        if roots not in self._plans:
            if len(self._plans) == _PLANS:
                self._plans.popitem(last=False)
            self._plans[roots] = self._planned(roots)
        self._plans.move_to_end(roots)
        return self._plans[roots]

    def _planned(self, roots: tuple[int, ...]) -> _Plan:
        below, edges, street = subtrees(self.tree, roots)
        parts = cut(below)
        old = edges[parts.edge]
        streets = np.repeat(parts.street, np.diff(parts.edge_at))
        does = self.tree.does[old]
        factors = np.array([(bias.fold, bias.call, bias.raises) for bias in self.biases], np.float32)
        play = Play(
            row=(old - np.array(self._first_edge)[streets]).astype(np.int32),
            kind=np.where(does == FOLDED, 0, np.where(does == CALLED, 1, 2)).astype(np.int32),
            factors=np.repeat(factors, LANES),
            count=len(self.biases),
        )
        hands, count = self._dealer.num_hands, len(self.biases)
        frame, above, below_size = _frames(parts, self._buckets, hands, count)
        scratches = [_scratch(parts, hands, count, below_size) for _ in range(self._threads)]
        return _Plan(street, len(roots), parts, play, frame, aligned_zeros(above + LANES), tuple(scratches))

    def _check(self, plan: _Plan, board: Board, run_out: Board, reaches: F32) -> None:
        shown = self.game.board_cards_by(plan.street - 1)
        if len(board) != shown or len(run_out) != self._missing(board):
            raise CardError(
                f"a board of {len(board)} cards and {len(run_out)} to come, for roots of street {plan.street}: "
                f"expected {shown} and {sum(self.game.num_board_cards) - shown}"
            )
        expected = 2, len(self.biases), plan.roots, self._dealer.all_hands
        if reaches.dtype != np.float32 or reaches.shape != expected or not reaches.flags.c_contiguous:
            raise BlueprintError(f"reaches are {reaches.dtype}{reaches.shape}: expected float32{expected}, C order")


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """What a set of roots needs."""

    street: int
    roots: int
    parts: RolloutParts
    play: Play
    frame: RolloutFrames
    shared: F32
    scratches: tuple[RolloutScratch, ...]

    @property
    def lanes(self) -> int:
        return int(self.parts.next[0])


def subtrees(tree: BettingTree, roots: Sequence[int]) -> tuple[BettingTree, I64, int]:
    """A tree of these roots and all below them, after one decision that leads to each in turn.

    Also [edge] the edges' numbers in the tree they were taken from, 0 for those of that decision, and the street of the
    roots. Leaves keep their numbers.
    """
    here: I64 = np.array(roots, np.int64)
    if not len(here) or here.min() < 0 or here.max() >= len(tree.root_at) - 1:
        raise BettingTreeError(f"{len(here)} roots: expected some of the {len(tree.root_at) - 1} of the tree")
    streets = tree.street[tree.root_at[here]]
    street = int(streets[0])
    if (streets != street).any() or street == 0:
        raise BettingTreeError(f"roots of streets {sorted(set(streets.tolist()))}: expected one street, not the first")
    nodes, edges, first = [np.zeros(1, np.int64)], [np.zeros(len(here), np.int64)], [np.array([0, len(here)])]
    sizes = np.diff(tree.root_at)[here]
    leads: list[I64] = [1 + np.cumsum(sizes) - sizes]
    root_at, street_at = [np.array([0, 1])], [0] * street + [1]
    while len(here):
        begin, count = tree.root_at[here].astype(np.int64), np.diff(tree.root_at)[here]
        end = int(root_at[-1][-1])
        starts = end + np.cumsum(count) - count
        old = _ranges(begin, count)
        actions = np.diff(tree.first)[old]
        taken = _ranges(tree.first[old].astype(np.int64), actions)
        root = np.repeat(np.repeat(np.arange(len(here)), count), actions)
        to = tree.leads[taken].astype(np.int64)
        inside = (to >= begin[root]) & (to < (begin + count)[root])
        after = (to >= 0) & ~inside
        nodes.append(old)
        edges.append(taken)
        first.append(first[-1][-1] + np.cumsum(actions))
        root_at.append(starts + count)
        street_at.append(street_at[-1] + len(here))
        here = np.searchsorted(tree.root_at, to[after])
        following = np.diff(tree.root_at)[here]
        to[inside] += (starts - begin)[root[inside]]
        to[after] = end + len(old) + np.cumsum(following) - following
        leads.append(to)
    street_at += [street_at[-1]] * (tree.num_streets + 1 - len(street_at))
    every, acts = np.concatenate(nodes), np.concatenate(edges)
    made = tree.street[every].copy()
    made[0] = street - 1
    found = BettingTree(
        street=made, player=tree.player[every], committed=tree.committed[every],
        first=np.concatenate(first).astype(np.int32), does=tree.does[acts],
        leads=np.concatenate(leads).astype(np.int32), folder=tree.folder, pays=tree.pays,
        root_at=np.concatenate(root_at).astype(np.int32), street_at=np.array(street_at, np.int32),
    )  # fmt: skip
    return found, acts, street


def _ranges(begin: I64, count: npt.NDArray[Any]) -> I64:
    """All numbers of some ranges, one after another."""
    ends = np.cumsum(count)
    found: I64 = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin - ends + count, count)
    return found


def _checked(tree: BettingTree, cards: Cards, strategies: Sequence[npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], ...]:
    """As kernels take them: of one type, read-only, and as many whatever the game, or they would be compiled anew."""
    dtypes = {rows.dtype for rows in strategies if rows.size}
    if len(dtypes) > 1 or not dtypes <= {np.dtype(np.uint8), np.dtype(np.float32)}:
        raise BlueprintError(f"strategies of {sorted(map(str, dtypes))}: expected uint8 or float32")
    dtype = dtypes.pop() if dtypes else np.dtype(np.uint8)
    found = []
    for street, rows in enumerate(strategies):
        nodes = tree.nodes_of(street)
        expected = int(tree.first[nodes.stop] - tree.first[nodes.start]), cards.counts[street]
        if rows.shape != expected:
            raise BlueprintError(f"strategy of street {street}: {list(rows.shape)}, expected {list(expected)}")
        view = np.ascontiguousarray(rows, dtype).view()
        view.flags.writeable = False
        found.append(view)
    nothing = np.zeros((0, 0), dtype)
    nothing.flags.writeable = False
    return (*found, *[nothing] * (MAX_STREETS - len(found)))


def _frames(parts: RolloutParts, buckets: npt.NDArray[Any], hands: int, count: int) -> tuple[RolloutFrames, int, int]:
    """Where frames lie, and the sizes of what they lie in: shared, and of each thread."""
    width, following = np.diff(parts.lane_at).astype(np.int64), parts.next.astype(np.int64)
    coefficients, roots = 2 * count * buckets[parts.street] * width, 2 * count * hands * following
    coefficients[0] = 0
    at, below = np.zeros(len(width), np.int64), 0
    for street in range(int(parts.street[0]) + 1, len(parts.part_at) - 1):
        some = slice(parts.part_at[street], parts.part_at[street + 1])
        at[some] = below
        below += int((coefficients + 2 * roots)[some].max(initial=0))
    return RolloutFrames(at, at + coefficients, at + coefficients + roots), int(2 * roots[0]), below


def _scratch(parts: RolloutParts | None, hands: int, count: int, frames: int) -> RolloutScratch:
    """For walks of some parts, or for showdowns."""
    edges = np.diff(parts.edge_at) if parts else np.zeros(1, np.int32)
    chunk, roots = MAX_VECTORS * LANES, PART_ROOTS if parts else 0
    return RolloutScratch(
        frames=aligned_zeros(frames + LANES),
        weights=aligned_zeros(int(edges.max()) * LANES),
        rows=aligned_zeros((roots + int(edges.max())) * LANES),
        reach=aligned_zeros((hands + 2) * chunk),
        value=aligned_zeros((hands + 1) * chunk),
        root_value=aligned_zeros(count * roots * hands + LANES),
        tile=aligned_zeros(LANES * LANES),
        masks=_masks(),
        totals=aligned_zeros(NUM_CARD_ROWS * chunk),
        chips=aligned_zeros(chunk),
    )


def _masks() -> F32:
    masks = aligned_zeros(LANES * LANES)
    masks.reshape(LANES, LANES)[:] = np.arange(LANES)[:, None] + np.arange(LANES) < LANES
    return masks
