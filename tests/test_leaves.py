"""Leaves of a street: their values against exact ones, whole run-outs counted; roots of the blueprint and scales."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from blueprint_files import HOLDEM, cards_of, opened, small_game
from test_rollouts import Plain

from blueprints.lookup import Lookup
from blueprints.values.leaves import SampledLeaves, Settled, StreetGame
from blueprints.values.margins import margins_of, run_out_ranks
from blueprints.values.rollouts import BIASES, Bias, Rollouts
from protocol.cards import parse_cards
from protocol.game import Game
from protocol.hands import hand_cards_array, hand_classes_array, hands_of
from protocol.state import CALL, Raise, State, apply, start
from protocol.wire import read_betting
from solver.betting import ForestError
from solver.deals import opposing_weights
from solver.depth_limited import NO_CHOICE
from solver.menu import parse_menu

Array = np.ndarray[Any, Any]
WIDE = parse_menu("50%,100%,a / 100%,a; cap 2")


def lookup_of(game: Game) -> Lookup:
    blueprint = opened(game)
    return Lookup(blueprint, blueprint.cards(blueprint.path.parent, rivers=False))


def rollouts_of(lookup: Lookup, biases: tuple[Bias, ...] = BIASES) -> Rollouts:
    blueprint = lookup.blueprint
    strategies = [blueprint.strategy(street) for street in range(blueprint.game.num_rounds)]
    return Rollouts(blueprint.game, blueprint.tree, lookup.cards, strategies, biases=biases)


def states(game: StreetGame) -> dict[int, State]:
    """What each leaf is, by applying the actions that lead to it."""
    found = {}
    for number, node in enumerate(game.nodes):
        for place, action in enumerate(node.actions):
            child = int(game.child[game.first[number] + place])
            if child >= len(game.nodes):
                found[child - len(game.nodes)] = apply(node.state, action)
    return found


@pytest.mark.parametrize("betting", ["", "r300c/", "r300c/r500"])
def test_a_street_is_cut_into_its_leaves(betting: str) -> None:
    root = read_betting(start(HOLDEM), betting)
    game = StreetGame.of(root, WIDE, max_nodes=1000)
    leaves = states(game)
    assert sorted(leaves) == list(range(game.num_leaves))
    for number, leaf in enumerate(game.folds.tolist()):
        state = leaves[leaf]
        folder = state.folded.index(True)
        chips = min(state.committed)
        assert game.fold_chips[:, number].tolist() == [-chips if player == folder else chips for player in range(2)]
    for number, leaf in enumerate(game.all_ins.tolist()):
        assert leaves[leaf].showdown
        assert game.all_in_chips[number] == min(leaves[leaf].committed)
    for number, leaf in enumerate(game.ends.tolist()):
        assert leaves[leaf] == game.end_states[number]
        assert leaves[leaf].street == root.street + 1
    assert len(game.folds) >= 2
    assert len(game.all_ins) >= 1
    assert len(game.ends) >= 2
    for number, node in enumerate(game.nodes):
        assert game.node(node.state.actions[len(root.actions) :]) == number
    assert game.node([Raise(19_999)]) is None


def test_choices_are_made_where_the_next_street_begins_and_nowhere_else() -> None:
    game = StreetGame.of(start(HOLDEM), WIDE, max_nodes=1000)
    for continuations in ((4, 4), (1, 3), (1, 1)):
        tree = game.tree(continuations)
        for player, count in enumerate(continuations):
            chosen = tree.choices[player]
            assert (chosen[game.folds] == NO_CHOICE).all()
            assert (chosen[game.all_ins] == NO_CHOICE).all()
            ends = chosen[game.ends].tolist()
            assert ends == (list(range(len(game.ends))) if count > 1 else [NO_CHOICE] * len(game.ends))


def test_a_street_that_is_too_large_is_refused() -> None:
    with pytest.raises(ForestError, match="more than 3 decisions"):
        StreetGame.of(start(HOLDEM), WIDE, max_nodes=3)


# --- Values -----------------------------------------------------------------------------------------------------------


class EveryRunOut(Rollouts):
    """Deals all run-outs one after another."""

    def all_of(self, board: tuple[int, ...]) -> EveryRunOut:
        left = [card for card in sorted(self.game.deck()) if card not in board]
        self.waiting = list(combinations(left, self._missing(board)))
        self.count = len(self.waiting)
        return self

    def draw(self, board: Any, rng: Any) -> Any:
        return self.waiting.pop()


def test_all_run_outs_together_give_exact_values() -> None:
    """On a deck of ten cards: folds by counting hands, the rest by brute force over boards, hands and continuations."""
    lookup = lookup_of(small_game())
    blueprint, deck_game = lookup.blueprint, small_game()
    biases = BIASES[:3]
    strategies = [blueprint.strategy(street) for street in range(2)]
    rollouts = EveryRunOut(deck_game, blueprint.tree, lookup.cards, strategies, biases=biases).all_of(())
    game = StreetGame.of(start(deck_game), parse_menu("70%,a / 100%,a; cap 2"), max_nodes=200)
    leaves = SampledLeaves(game, rollouts, lookup, (), (3, 3), 1, run_outs=rollouts.count)
    rng, hands = np.random.default_rng(5), hands_of(deck_game)
    reaches = tuple([rng.random((game.num_leaves, 3, len(hands))).astype(np.float32) for _ in range(2)])
    found = [values * leaves.factor for values in leaves((reaches[0], reaches[1]))]
    for number, leaf in enumerate(game.folds.tolist()):
        for player in range(2):
            against = opposing_weights(hands, hands, reaches[1 - player][leaf, 0].astype(np.float64))
            np.testing.assert_allclose(
                found[player][leaf, 0], game.fold_chips[player, number] * against, rtol=1e-4, atol=1e-3
            )
    case: Any = type("Case", (), {})()
    case.game, case.tree, case.cards, case.strategies = deck_game, blueprint.tree, lookup.cards, strategies
    plain = Plain(case, biases)
    boards = list(combinations(sorted(deck_game.deck()), 3))
    compared = 0
    for number, leaf in enumerate(game.all_ins.tolist()):
        won = sum(plain.won(board) for board in boards)
        for player in range(2):
            exact = game.all_in_chips[number] * (won @ reaches[1 - player][leaf, 0])
            np.testing.assert_allclose(
                found[player][leaf, 0], exact / len(boards) / rollouts.chance(()), rtol=1e-3, atol=1e-2
            )
            compared += 1
    for number, leaf in enumerate(game.ends.tolist()):
        root = lookup.root(game.end_states[number], lambda place: 0.5)
        chips = blueprint.tree.committed[blueprint.tree.root_at[root]].max()
        both = np.stack([each[leaf] for each in reaches]).astype(np.float64)
        exact_values = sum(plain.values(root, board, both) for board in boards)
        scale = game.end_states[number].maximum / chips / len(boards) / rollouts.chance(())
        for player in range(2):
            np.testing.assert_allclose(found[player][leaf], exact_values[player] * scale, rtol=1e-3, atol=2e-2)
            compared += 1
    assert compared >= 8


def test_what_is_settled_on_a_flop_is_the_mean_over_all_run_outs() -> None:
    """And the ends are those of the sample, in chips."""

    class Silent(EveryRunOut):
        def values(self, *asked: Any, **options: Any) -> Any:
            return np.zeros((2, len(self.biases), len(game.ends), self.num_hands), np.float32)

    lookup, board = lookup_of(HOLDEM), parse_cards("Ks7h2d")
    blueprint = lookup.blueprint
    strategies = [blueprint.strategy(street) for street in range(4)]
    silent = Silent(HOLDEM, blueprint.tree, lookup.cards, strategies, biases=BIASES[:2]).all_of(board)
    game = StreetGame.of(read_betting(start(HOLDEM), "r250c/"), parse_menu("100%,a / a; cap 2"), max_nodes=100)
    assert len(game.folds) > 1
    assert len(game.all_ins)
    rng = np.random.default_rng(8)
    drawn = [rng.random((game.num_leaves, count, 1328)).astype(np.float32) for count in (2, 1)]
    alive = (hand_cards_array()[:, :, None] != np.array(board)).all(axis=(1, 2))
    for each in drawn:
        each[:, :, :1326] *= alive
        each[:, :, 1326:] = 0
    reaches = drawn[0], drawn[1]
    every = SampledLeaves(game, silent, lookup, board, (2, 1), 1, run_outs=silent.count)
    expected = [values * every.factor for values in every(reaches)]
    settled = Settled(game, board, margins_of(run_out_ranks(board), 2))
    one = SampledLeaves(game, rollouts_of(lookup, BIASES[:2]), lookup, board, (2, 1), 1)
    same = SampledLeaves(game, rollouts_of(lookup, BIASES[:2]), lookup, board, (2, 1), 1, settled=settled)
    assert same.factor == 1.0
    for mean, sample, found in zip(expected, one(reaches), same(reaches), strict=True):
        for leaves in (game.folds, game.all_ins):
            size = float(np.abs(mean[leaves]).max())
            np.testing.assert_allclose(found[leaves, 0], mean[leaves, 0], rtol=1e-3, atol=1e-4 * size)
        np.testing.assert_allclose(found[game.ends], sample[game.ends] * one.factor, rtol=1e-5)
        assert not found[:, :, :1326][:, :, ~alive].any()


def test_a_sample_depends_on_the_seed_and_the_number_of_the_iteration_alone() -> None:
    lookup = lookup_of(HOLDEM)
    game = StreetGame.of(read_betting(start(HOLDEM), "r250c/"), WIDE, max_nodes=500)
    board = parse_cards("Ks7h2d")

    def leaves(seed: int, reuse: int = 1) -> SampledLeaves:
        return SampledLeaves(game, rollouts_of(lookup), lookup, board, (2, 1), seed, reuse=reuse)

    rng = np.random.default_rng(2)
    reaches = tuple([rng.random((game.num_leaves, count, 1328)).astype(np.float32) for count in (2, 1)])

    def values(of: SampledLeaves, iteration: int) -> Array:
        of.iteration = iteration
        return of((reaches[0], reaches[1]))[0]

    first = leaves(1)
    assert np.array_equal(values(first, 3), values(leaves(1), 3))
    assert not np.array_equal(values(first, 3), values(first, 4))
    assert not np.array_equal(values(first, 3), values(leaves(2), 3))
    again = leaves(1, reuse=5)
    for one, other in pairwise(range(5, 10)):
        assert np.array_equal(values(again, one), values(again, other))
    assert not np.array_equal(values(again, 9), values(again, 10))


def test_a_class_has_the_mean_of_its_hands() -> None:
    lookup, classes = lookup_of(HOLDEM), hand_classes_array()
    game = StreetGame.of(start(HOLDEM), parse_menu("preflop 2.5x,a / a; 100% / a; cap 2"), max_nodes=500)
    rng = np.random.default_rng(4)
    by_class = [rng.random((game.num_leaves, 1, 176)).astype(np.float32) for _ in range(2)]
    by_hand = [np.zeros((game.num_leaves, 1, 1328), np.float32) for _ in range(2)]
    for one, other in zip(by_hand, by_class, strict=True):
        one[..., :1326] = other[..., classes]
    few = SampledLeaves(game, rollouts_of(lookup, (Bias(),)), lookup, (), (1, 1), 7, classes=classes)
    all_hands = SampledLeaves(game, rollouts_of(lookup, (Bias(),)), lookup, (), (1, 1), 7)
    assert (few.hands, all_hands.hands) == (169, 1326)
    for short, long in zip(few((by_class[0], by_class[1])), all_hands((by_hand[0], by_hand[1])), strict=True):
        for leaf in range(game.num_leaves):
            mean = np.bincount(classes, long[leaf, 0, :1326]) / np.bincount(classes)
            np.testing.assert_allclose(short[leaf, 0, :169], mean, rtol=1e-3, atol=1.0)


# --- Roots ------------------------------------------------------------------------------------------------------------


def test_every_root_of_the_blueprint_is_found_from_its_own_line() -> None:
    lookup = lookup_of(HOLDEM)
    tree, found = lookup.blueprint.tree, 0
    for node, state in tree.walk(start(HOLDEM)):
        roots = np.flatnonzero(tree.root_at[:-1] == node)
        if len(roots) and state.street:
            assert lookup.root(state, lambda place: 0.5) == roots[0]
            found += 1
    assert found == len(tree.root_at) - 2


@pytest.mark.parametrize(
    "betting", ["r237c/", "r300r1000c/", "r250c/cr777c/", "r250c/r400r1200r3600r9000c/", "r9000c/cc/"]
)
def test_a_line_that_the_blueprint_does_not_have_goes_on_at_a_root_of_its_street(betting: str) -> None:
    lookup, state = lookup_of(HOLDEM), read_betting(start(HOLDEM), betting)
    tree = lookup.blueprint.tree
    root = lookup.root(state, lambda place: 0.5)
    assert tree.street[tree.root_at[root]] == state.street
    chips = tree.committed[tree.root_at[root]]
    assert chips[0] == chips[1]
    others = tree.committed[tree.root_at[tree.street_at[state.street] : tree.street_at[state.street + 1]]].max(axis=1)
    nearest = np.abs(np.log(others / state.maximum)).min()
    assert abs(np.log(chips[0] / state.maximum)) <= max(nearest, 0.6)
    assert state.actions[-1] == CALL
    assert cards_of(HOLDEM).digest == lookup.cards.digest
