"""Roll-outs against the same written down plainly: recursion over nodes, matrices of pairs of hands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from leduc import LEDUC
from trained import THIRD

from blueprints.cards.exact import ExactCards
from blueprints.cards.interface import Buckets, Cards
from blueprints.storage import quantise_nodes
from blueprints.tree import CALLED, FOLDED, NOBODY, BettingTree, TreeError, build_tree
from blueprints.values.rollout_layout import cut
from blueprints.values.rollouts import BIASES, Bias, Rollouts, subtrees
from protocol.cards import Card, CardError
from protocol.errors import BlueprintError
from protocol.game import DEFAULT_GAME, Game, load_game
from protocol.hands import SUIT_PERMUTATIONS, hand_cards_array, hands_of, permute_cards
from protocol.kernels import rank_hands
from solver.boards import permutation_of
from solver.menu import parse_menu
from studies.search_tables.games import flop_holdem

HOLDEM = load_game(DEFAULT_GAME).game


class SomeCards:
    """Buckets of hold'em out of nowhere that know no suits' names, nor the order of the board."""

    def __init__(self, counts: Sequence[int] = (20, 30, 40, 50)) -> None:
        self.counts, self.digest = tuple(counts), "some"

    def buckets(self, board: Sequence[Card]) -> Buckets:
        held = hand_cards_array().astype(np.int64)
        ranks, suits = held >> 2, held & 3
        shown = np.array(sorted(board), np.int64)
        suited = (suits[:, :, None] == (shown & 3)).sum(axis=(1, 2)) + 7 * (suits[:, 0] == suits[:, 1])
        paired = (ranks[:, :, None] == (shown >> 2)).sum(axis=(1, 2))
        mixed = 31 * ranks.max(axis=1) + 7 * ranks.min(axis=1) + 3 * suited + 5 * paired + 11 * (shown >> 2).sum()
        return (mixed % self.counts[{0: 0, 3: 1, 4: 2, 5: 3}[len(board)]]).astype(np.uint16)

    def deal(self, board: Sequence[Card]) -> Buckets:
        return np.stack([self.buckets(board[:length]) for length in (0, 3, 4, 5)])


@dataclass(frozen=True, eq=False)
class Case:
    """A game with a strategy out of nowhere."""

    game: Game
    menu: str
    cards: Cards
    floats: bool = False

    @cached_property
    def tree(self) -> BettingTree:
        return build_tree(self.game, parse_menu(self.menu))

    @cached_property
    def strategies(self) -> list[np.ndarray[Any, Any]]:
        rng, found = np.random.default_rng(3), []
        for street, count in enumerate(self.cards.counts):
            nodes = self.tree.nodes_of(street)
            first = self.tree.first[nodes.start : nodes.stop + 1] - self.tree.first[nodes.start]
            numbers = (rng.random((int(first[-1]), count)) * (rng.random((int(first[-1]), count)) < 0.8)).astype(
                np.float32
            )
            found.append(
                numbers if self.floats else quantise_nodes(numbers, first) if len(numbers) else numbers.astype(np.uint8)
            )
        return found

    def rollouts(self, biases: Sequence[Bias] = BIASES, threads: int = 1) -> Rollouts:
        return Rollouts(self.game, self.tree, self.cards, self.strategies, biases=biases, threads=threads)

    def roots(self, street: int) -> range:
        return range(int(self.tree.street_at[street]), int(self.tree.street_at[street + 1]))

    def reaches(self, count: int, roots: int, seed: int = 0) -> np.ndarray[Any, Any]:
        rng = np.random.default_rng((9, seed))
        return rng.random((2, count, roots, len(hands_of(self.game)))).astype(np.float32)


class Plain:
    """Values as the definition says, one root at a time."""

    def __init__(self, case: Case, biases: Sequence[Bias]) -> None:
        self.case, self.biases = case, biases
        held = np.array(hands_of(case.game))
        self.held = held
        self.compatible = ~(held[:, None, :, None] == held[None, :, None, :]).any(axis=(2, 3))

    def won(self, board: Sequence[Card]) -> np.ndarray[Any, Any]:
        """[hand, other hand] 1, 0 or -1 at a showdown; 0 for what cannot be."""
        rows = np.hstack([self.held, np.tile(np.array(board, self.held.dtype), (len(self.held), 1))]).astype(np.uint8)
        live = ~np.isin(self.held, board).any(axis=1)
        ranks = np.full(len(rows), 0, np.int64)
        ranks[live] = rank_hands(np.ascontiguousarray(rows[live]))
        return np.sign(ranks[:, None] - ranks[None]).astype(np.float64) * self.pairs(board)

    def pairs(self, board: Sequence[Card]) -> np.ndarray[Any, Any]:
        """[hand, other hand] whether they and the board share no card."""
        live = ~np.isin(self.held, board).any(axis=1)
        return self.compatible & live[:, None] & live[None]

    def strategy(self, node: int, board: Sequence[Card]) -> np.ndarray[Any, Any]:
        """[continuation, action, hand]"""
        tree, game = self.case.tree, self.case.game
        street = int(tree.street[node])
        first = int(tree.first[tree.nodes_of(street).start])
        numbers = self.case.strategies[street][[edge - first for edge in tree.edges(node)]].astype(np.float64)
        numbers = np.where(numbers.sum(axis=0) > 0, numbers, 1.0)
        numbers = numbers[:, self.case.cards.buckets(board[: game.board_cards_by(street)])]
        found = []
        for bias in self.biases:
            by = {FOLDED: bias.fold, CALLED: bias.call}
            factors = [by.get(int(tree.does[edge]), bias.raises) for edge in tree.edges(node)]
            biased = numbers * np.array(factors)[:, None]
            found.append(biased / biased.sum(axis=0))
        return np.stack(found)

    def values(self, root: int, board: Sequence[Card], reaches: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """[player, continuation, hand] on a final board, from reaches of the same shape."""
        tree, won, pairs = self.case.tree, self.won(board), self.pairs(board).astype(np.float64)

        def below(node: int, reach: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            if node < 0:
                folder, chips = int(tree.folder[~node]), int(tree.pays[~node])
                paid = [(won if folder == NOBODY else pairs) @ reach[1 - player].sum(axis=0) for player in range(2)]
                if folder != NOBODY:
                    paid[folder] *= -1
                return np.stack([np.tile(chips * each, (len(self.biases), 1)) for each in paid])
            player, strategy, total = int(tree.player[node]), self.strategy(node, board), np.zeros(reach.shape)
            for place, edge in enumerate(tree.edges(node)):
                after = reach.copy()
                after[player] *= strategy[:, place]
                found = below(int(tree.leads[edge]), after)
                found[player] *= strategy[:, place]
                total += found
            return total

        return below(int(tree.root_at[root]), reaches.astype(np.float64))


LEDUC_CASE = Case(load_game("leduc").game, "100%,a / a", ExactCards(load_game("leduc").game))
LIMIT_LEDUC = Case(LEDUC, "a", ExactCards(LEDUC))
FLOP = Case(flop_holdem(4), "100% / 100% / -; flop 100%,200% / 100% / -", ExactCards(flop_holdem(4)))
SMALL_FLOP = Case(THIRD, "100%", ExactCards(THIRD), floats=True)
HUNL = Case(HOLDEM, "preflop 3x / -; flop 100%,a / -; turn 100%,a / a / -; river 50%,100% / a / -", SomeCards())
WIDE = Case(
    HOLDEM,
    "preflop 3x / 100% / -; flop 100%,a / a / -; turn 50%,100%,a / 100%,a / a; river 50%,100% / a / -",
    SomeCards(),
)
"""Of several parts on each street."""
BOARD = (3, 17, 40, 5)


def near(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    """As float32 sums of many terms are."""
    assert found == pytest.approx(expected, rel=1e-4, abs=3e-5 * float(abs(expected).max()))


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("case", [LEDUC_CASE, LIMIT_LEDUC, SMALL_FLOP, FLOP])
def test_one_run_out(case: Case, count: int) -> None:
    biases = (BIASES[0], Bias(fold=3, call=0.5, raises=7), *BIASES[2:])[:count]
    rollouts, plain, roots = case.rollouts(biases), Plain(case, biases), list(case.roots(1))
    reaches = case.reaches(count, len(roots))
    for seed in range(3):
        run_out = rollouts.draw((), np.random.default_rng(seed))
        found = rollouts.values(roots, (), run_out, reaches)
        near(
            found, np.stack([plain.values(root, run_out, reaches[:, :, place]) for place, root in enumerate(roots)], 2)
        )


@pytest.mark.parametrize("street", [2, 3])
def test_one_run_out_of_holdem(street: int) -> None:
    """Roots in any order, one of them twice; from the turn on there are two streets below a leaf."""
    biases = BIASES[:3:2]
    rollouts, plain, every = HUNL.rollouts(biases), Plain(HUNL, biases), HUNL.roots(street)
    roots = [every[-1], every[0], every[-1]]
    board = BOARD[: street + 1]
    reaches = HUNL.reaches(2, len(roots))
    run_out = rollouts.draw(board, np.random.default_rng(1))
    found = rollouts.values(roots, board, run_out, reaches)
    for place in range(2):
        near(found[:, :, place], plain.values(roots[place], (*board, *run_out), reaches[:, :, place]))
    reaches[:, :, 2] = reaches[:, :, 0]
    found = rollouts.values(roots, board, run_out, reaches)
    assert np.array_equal(found[:, :, 2], found[:, :, 0]) or found[:, :, 2] == pytest.approx(found[:, :, 0], rel=1e-4)


# --- The mean over run-outs -----------------------------------------------------------------------------------------


def expectation(
    case: Case, biases: Sequence[Bias], root: int, run_outs: list[tuple[Card, ...]]
) -> np.ndarray[Any, Any]:
    """[continuation of 0, of 1, hand of 0, hand of 1] what 0 wins: for each pair the mean over what it leaves."""
    plain, hands, k = Plain(case, biases), len(hands_of(case.game)), len(biases)
    total, seen = np.zeros((k, k, hands, hands)), np.zeros((hands, hands))
    for run_out in run_outs:
        pairs = plain.pairs(run_out)
        seen += pairs
        for theirs in range(k):
            for hand in np.flatnonzero(pairs.any(axis=0)):
                reaches = np.zeros((2, k, hands))
                reaches[1, theirs, hand] = 1.0
                total[:, theirs, :, hand] += plain.values(root, run_out, reaches)[0]
    return total / np.maximum(seen, 1)


@pytest.mark.parametrize("case", [LEDUC_CASE, SMALL_FLOP])
def test_the_mean_over_all_run_outs_is_the_expectation(case: Case) -> None:
    """For both players, whose pairs see different run-outs: what divides is the same for all."""
    biases, root = BIASES[:2], case.roots(1)[1]
    rollouts, deck = case.rollouts(biases), sorted(case.game.deck())
    run_outs = list(combinations(deck, sum(case.game.num_board_cards)))
    exact = expectation(case, biases, root, run_outs)
    reaches = case.reaches(2, 1)
    each = [rollouts.values([root], (), run_out, reaches).astype(np.float64) for run_out in run_outs]
    mean = np.mean(each, axis=0)[:, :, 0] / rollouts.chance(())
    near(mean[0], np.einsum("mjho,jo->mh", exact, reaches[1, :, 0]))
    near(mean[1], -np.einsum("mjho,mh->jo", exact, reaches[0, :, 0]))
    # The other way of the module's head: by how many run-outs missed the hand.
    game = case.game
    missed = np.array([[not set(hand) & set(run_out) for run_out in run_outs] for hand in hands_of(game)]).sum(axis=1)
    left = len(deck) - game.num_hole_cards
    missing = sum(game.num_board_cards)
    chance = comb(left - game.num_hole_cards, missing) / comb(left, missing)
    assert np.sum(each, axis=0)[:, :, 0] / (missed * chance) == pytest.approx(mean, rel=1e-6, abs=1e-9)


def test_sampled_run_outs_estimate_it() -> None:
    case, root = LEDUC_CASE, LEDUC_CASE.roots(1)[1]
    rollouts = case.rollouts()
    reaches = case.reaches(4, 1)
    every = [rollouts.values([root], (), (card,), reaches) for card in sorted(case.game.deck())]
    exact = np.mean(every, axis=0) / rollouts.chance(())
    error = np.std(every, axis=0) / rollouts.chance(()) / np.sqrt(2000)
    found = rollouts.mean([root], (), reaches, np.random.default_rng(4), run_outs=2000)
    assert (abs(found - exact) <= 4.5 * error + 1e-3).all()  # 48 numbers: by chance once in 3,000 seeds
    assert (abs(found - exact) > 0.2 * error).mean() > 0.5


def test_chances() -> None:
    """Hold'em's, and by drawing."""
    rollouts = HUNL.rollouts(BIASES[:1])
    assert rollouts.chance(BOARD) == pytest.approx(44 / 48)
    assert rollouts.chance(BOARD[:3]) == pytest.approx(990 / 1176)
    assert rollouts.chance(()) == pytest.approx(1_712_304 / 2_598_960)
    rng = np.random.default_rng(2)
    drawn = [rollouts.draw(BOARD[:3], rng) for _ in range(20_000)]
    assert all(len({*BOARD[:3], *cards}) == 5 for cards in drawn)
    missed = np.mean([not set(cards) & {0, 1, 2, 4} for cards in drawn])
    assert missed == pytest.approx(990 / 1176, abs=4 * 0.0026)


# --- What must hold whatever the numbers ----------------------------------------------------------------------------


def some(street: int = 2, count: int = 4) -> tuple[list[int], tuple[Card, ...], tuple[Card, ...], np.ndarray[Any, Any]]:
    roots = list(HUNL.roots(street))
    return roots, BOARD[: street + 1], (9, 30)[street - 2 :], HUNL.reaches(count, len(roots))


def test_linear_in_the_opponents_reaches() -> None:
    rollouts = HUNL.rollouts()
    roots, board, run_out, reaches = some()
    other = HUNL.reaches(4, len(roots), seed=1)
    first, second = (rollouts.values(roots, board, run_out, each) for each in (reaches, other))
    near(rollouts.values(roots, board, run_out, 2 * reaches + other), 2 * first + second)
    changed = reaches.copy()
    changed[0] = other[0]
    assert np.array_equal(rollouts.values(roots, board, run_out, changed)[0], first[0])


def test_what_one_wins_the_other_loses() -> None:
    rollouts = HUNL.rollouts()
    roots, board, run_out, reaches = some()
    reaches[:, 1:] *= 0.3
    won = (rollouts.values(roots, board, run_out, reaches).astype(np.float64) * reaches).sum(axis=(1, 3))
    assert won[0] == pytest.approx(-won[1], abs=1e-5 * float(abs(won).max()))
    assert abs(won).max() > 1e6


def test_suits_have_no_names() -> None:
    rollouts = HUNL.rollouts()
    roots, board, run_out, reaches = some()
    first = rollouts.values(roots, board, run_out, reaches)
    for suits in SUIT_PERMUTATIONS[5::7]:
        images = permutation_of(hands_of(HOLDEM), suits)
        moved = np.zeros_like(reaches)
        moved[..., images] = reaches
        found = rollouts.values(roots, permute_cards(board, suits), permute_cards(run_out, suits), moved)
        near(found[..., images], first)


@pytest.mark.parametrize("street", [2, 3])
def test_many_roots_at_once_are_one_at_a_time(street: int) -> None:
    rollouts, roots = WIDE.rollouts(), list(WIDE.roots(street))
    np.random.default_rng(1).shuffle(roots)
    roots = roots[:40]
    board, run_out, reaches = BOARD[: street + 1], (9, 30)[street - 2 :], WIDE.reaches(4, len(roots))
    found = rollouts.values(roots, board, run_out, reaches)
    assert len(roots) == (15, 40)[street - 2]
    for place in range(0, len(roots), 8):
        alone = rollouts.values([roots[place]], board, run_out, np.ascontiguousarray(reaches[:, :, [place]]))
        near(found[:, :, [place]], alone)


def test_threads_change_nothing() -> None:
    roots = 3 * list(WIDE.roots(2))
    reaches = WIDE.reaches(4, len(roots))
    found = [WIDE.rollouts(threads=threads).values(roots, BOARD[:3], (9, 30), reaches) for threads in (1, 2, 3)]
    assert np.diff(cut(subtrees(WIDE.tree, roots)[0]).child_at)[0] > 2
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_one_players_values() -> None:
    rollouts = HUNL.rollouts()
    roots, board, run_out, reaches = some(3)
    both = rollouts.values(roots, board, run_out, reaches)
    for player in range(2):
        alone = rollouts.values(roots, board, run_out, reaches, player=player)
        assert np.array_equal(alone[player], both[player])
        assert not alone[1 - player].any()


def test_equal_biases_are_no_bias() -> None:
    """Probabilities that are all multiplied alike stay as they are; reaches of equal choices add up."""
    roots, board, run_out, reaches = some(count=3)
    found = HUNL.rollouts((Bias(), Bias(3, 3, 3), Bias(0.1, 0.1, 0.1))).values(roots, board, run_out, reaches)
    alone = HUNL.rollouts((Bias(),)).values(roots, board, run_out, reaches.sum(axis=1, keepdims=True))
    for place in range(3):
        near(found[:, place], alone[:, 0])


# --- Showdowns ------------------------------------------------------------------------------------------------------


def test_showdowns() -> None:
    """More leaves than a sweep has lanes, some without a full vector."""
    rng = np.random.default_rng(8)
    for case, leaves in ((HUNL, 131), (HUNL, 3), (FLOP, 20), (LEDUC_CASE, 17)):
        rollouts, plain = case.rollouts(), Plain(case, BIASES)
        board = rollouts.draw((), rng)
        reaches, chips = case.reaches(1, leaves)[:, 0], rng.integers(100, 20_000, leaves)
        found = rollouts.showdown_values(board, reaches, chips)
        won = plain.won(board)
        for player in range(2):
            near(found[player], (won @ reaches[1 - player].T.astype(np.float64) * chips).T)


# --- Trees and refusals ---------------------------------------------------------------------------------------------


def test_a_tree_of_all_roots_is_the_rest_of_the_tree() -> None:
    tree = WIDE.tree
    for street in (1, 2, 3):
        found, edges, of = subtrees(tree, WIDE.roots(street))
        nodes, first = tree.nodes_of(street).start, int(tree.first[tree.nodes_of(street).start])
        roots = len(WIDE.roots(street))
        assert of == street
        assert np.array_equal(edges[roots:], np.arange(first, tree.num_edges))
        assert np.array_equal(found.player[1:], tree.player[nodes:])
        assert np.array_equal(found.first[1:] - roots, tree.first[nodes:] - first)
        leads = tree.leads[first:]
        assert np.array_equal(found.leads[roots:], np.where(leads >= 0, leads - nodes + 1, leads))
        assert np.array_equal(found.street_at[street:], tree.street_at[street:] - WIDE.roots(street).start + 1)


def test_what_is_refused() -> None:
    rollouts = HUNL.rollouts()
    roots, board, run_out, reaches = some()
    with pytest.raises(CardError, match="a board of 3 cards and 1 to come, for roots of street 2: expected 3 and 2"):
        rollouts.values(roots, board, run_out[:1], reaches)
    with pytest.raises(CardError, match="a board of 4 cards and 1"):
        rollouts.values(roots, (*board, run_out[0]), run_out[1:], reaches)
    with pytest.raises(CardError, match="no final board"):
        rollouts.values(roots, board, (board[0], 51), reaches)
    with pytest.raises(BlueprintError, match="reaches are float64"):
        rollouts.values(roots, board, run_out, reaches.astype(np.float64))
    with pytest.raises(BlueprintError, match=r"expected float32\(2, 4, 1, 1326\)"):
        rollouts.values(roots[:1], board, run_out, reaches)
    with pytest.raises(TreeError, match="roots of streets"):
        rollouts.values([roots[0], HUNL.roots(3)[0]], board, run_out, reaches)
    with pytest.raises(TreeError, match="0 roots"):
        rollouts.values([], board, run_out, reaches)
    with pytest.raises(BlueprintError, match="factors above 0"):
        Bias(fold=0.0)
    with pytest.raises(BlueprintError, match="strategy of street 1"):
        Rollouts(HOLDEM, HUNL.tree, HUNL.cards, [HUNL.strategies[0], *HUNL.strategies[2:], HUNL.strategies[1]])
