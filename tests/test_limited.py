"""Depth-limited games: against a slow twin, Rock-Paper-Scissors+, Kuhn poker cut short."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from reference.slow_limited import Acts, Ends, SlowLimited

from solver.algorithms import CFR_PLUS, DCFR, LCFR, Algorithm
from solver.depth_limited import NO_CHOICE, LimitedError, LimitedSolver, LimitedTree, apart

Array = np.ndarray[Any, np.dtype[np.float64]]


class Flat:
    """A tree of the slow twin as arrays, with its matrices as leaf values."""

    def __init__(self, root: Acts, continuations: tuple[int, int]) -> None:
        nodes: list[Acts] = [root]
        leaves: list[Ends] = []
        rows: list[tuple[str, int]] = []
        first = [0]
        for node in nodes:
            for child in node.children:
                if isinstance(child, Acts):
                    nodes.append(child)
                    rows.append(("node", len(nodes) - 1))
                else:
                    leaves.append(child)
                    rows.append(("leaf", len(leaves) - 1))
            first.append(len(rows))
        self.nodes, self.leaves = nodes, leaves
        child = [number + (len(nodes) if kind == "leaf" else 0) for kind, number in rows]
        choices = [
            np.array([NO_CHOICE if leaf.choices[player] is None else leaf.choices[player] for leaf in leaves], np.int32)
            for player in range(2)
        ]
        self.tree = LimitedTree(
            np.array([node.player for node in nodes], np.int32),
            np.array(first, np.int32),
            np.array(child, np.int32),
            (choices[0], choices[1]),
            continuations,
        )

    def __call__(self, reaches: tuple[Any, Any]) -> tuple[Any, Any]:
        values = np.zeros_like(reaches[0]), np.zeros_like(reaches[1])
        for number, leaf in enumerate(self.leaves):
            first, second = leaf.payoffs.shape[2:]
            values[0][number, :, :first] = np.einsum("mjho,jo->mh", leaf.payoffs, reaches[1][number, :, :second])
            values[1][number, :, :second] = -np.einsum("mjho,mh->jo", leaf.payoffs, reaches[0][number, :, :first])
        return values

    def solver(self, ranges: tuple[Array, Array], algorithm: Algorithm = LCFR, **options: Any) -> LimitedSolver:
        return LimitedSolver(self.tree, ranges, self, algorithm=algorithm, **options)


def random_game(seed: int) -> tuple[Acts, tuple[Array, Array], tuple[int, int], dict[int, Array]]:
    """Decisions at random, some given; leaves where both, one or none choose, sometimes one choice at several."""
    rng = np.random.default_rng(seed)
    hands = int(rng.integers(1, 20)), int(rng.integers(1, 40))
    continuations = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    numbers, choices = iter(range(1000)), [0, 0]

    def leaf() -> Ends:
        made: list[int | None] = []
        for player in range(2):
            again = choices[player] and rng.random() < 0.2
            made.append(
                None if rng.random() < 0.3 else int(rng.integers(choices[player])) if again else choices[player]
            )
            choices[player] += made[-1] == choices[player]
        return Ends(rng.normal(size=(*continuations, *hands)), (made[0], made[1]))

    def grow(depth: int) -> Acts | Ends:
        if depth == 0 or (depth < 3 and rng.random() < 0.4):
            return leaf()
        number = next(numbers)
        return Acts(number, int(rng.integers(2)), [grow(depth - 1) for _ in range(int(rng.integers(2, 4)))])

    root = grow(3)
    assert isinstance(root, Acts)
    given = {}
    waiting: list[Acts | Ends] = [root]
    for node in waiting:
        if isinstance(node, Acts):
            waiting += node.children
            if rng.random() < 0.25:
                played = rng.random((len(node.children), hands[node.player]))
                given[node.number] = played / played.sum(axis=0)
    return root, (rng.random(hands[0]), rng.random(hands[1])), continuations, given


@pytest.mark.parametrize("seed", range(40))
def test_it_does_what_the_slow_twin_does(seed: int) -> None:
    root, ranges, continuations, given = random_game(seed)
    algorithm = [LCFR, DCFR(), CFR_PLUS()][seed % 3]
    flat = Flat(root, continuations)
    places = {node.number: place for place, node in enumerate(flat.nodes)}
    relative = ranges[0] / ranges[0].max(), ranges[1] / ranges[1].max()
    slow = SlowLimited(root, relative, continuations, given)
    solver = flat.solver(ranges, algorithm, given={places[number]: played for number, played in given.items()})
    for iteration in range(1, 8):
        slow.iterate(*algorithm.weights(iteration))
        solver.iterate()
    compared = 0
    for node in flat.nodes:
        expected = given[node.number] if node.number in given else slow.strategy(node.number)
        np.testing.assert_allclose(solver.strategy(places[node.number]), expected, atol=2e-3)
        compared += 1
    for player in range(2):
        for choice in range(int(flat.tree.choices[player].max()) + 1):
            expected = slow.strategy(("choice", player, choice))
            np.testing.assert_allclose(solver.continuation(player, choice), expected, atol=2e-3)
            compared += 1
    assert compared >= len(flat.nodes)


# --- Rock-Paper-Scissors+ -------------------------------------------------------------------------------------------

RPS_PLUS = np.array([[0.0, -1.0, 2.0], [1.0, 0.0, -2.0], [-2.0, 2.0, 0.0]])
EQUILIBRIUM = [0.4, 0.4, 0.2]


def cut_rock_paper_scissors(continuations: Sequence[Sequence[float]]) -> Flat:
    """The first player moves, unseen, and there the tree ends: the second one chooses what it would have done."""
    won = RPS_PLUS @ np.array(continuations, float).T
    leaves = [Ends(won[move].reshape(1, -1, 1, 1), (None, 0)) for move in range(3)]
    return Flat(Acts(0, 0, leaves), (1, len(continuations)))


def test_one_equilibrium_value_a_leaf_is_not_enough() -> None:
    """All moves are worth nothing against it, so that nothing is learnt (thesis 5.2.1)."""
    solver = cut_rock_paper_scissors([EQUILIBRIUM]).solver((np.ones(1), np.ones(1)))
    solver.iterate(1000)
    assert solver.strategy(0).ravel() == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=1e-6)


def test_all_pure_continuations_are_enough() -> None:
    """Proposition 3; the second player finds its own equilibrium by choosing."""
    solver = cut_rock_paper_scissors(np.eye(3).tolist()).solver((np.ones(1), np.ones(1)), DCFR())
    solver.iterate(20_000)
    assert solver.strategy(0).ravel() == pytest.approx(EQUILIBRIUM, abs=0.005)
    assert solver.continuation(1, 0).ravel() == pytest.approx(EQUILIBRIUM, abs=0.005)


def test_a_choice_that_saw_the_move_would_be_another_game() -> None:
    """Were the three leaves told apart, each move would meet its best answer: the least bad is paper or rock at -1."""
    won = [Ends(RPS_PLUS[move].reshape(1, 3, 1, 1), (None, move)) for move in range(3)]
    solver = Flat(Acts(0, 0, won), (1, 3)).solver((np.ones(1), np.ones(1)))
    solver.iterate(2000)
    assert solver.strategy(0).ravel()[0] > 0.99
    assert solver.root_values(0)[0] == pytest.approx(-1.0, abs=0.02)


# --- Kuhn poker, cut after the first action ---------------------------------------------------------------------------


def kuhn_cut(choosers: tuple[bool, bool]) -> tuple[Flat, Array]:
    """Leaves after a check and after a bet; continuations are all that a hand can do, with what the others do apart."""
    shown = np.sign(np.arange(3)[:, None] - np.arange(3)[None]).astype(float)
    dealt = 1.0 - np.eye(3)
    fold, call = 0, 1
    bet = np.empty((2, 2, 3, 3))
    for mine, theirs in product(range(2), repeat=2):
        bet[mine, theirs] = (np.ones((3, 3)) if theirs == fold else 2 * shown) * dealt
    checked = np.empty((2, 2, 3, 3))
    for mine, theirs in product(range(2), repeat=2):  # mine: what to do against a bet; theirs: check or bet
        if theirs == 0:
            checked[mine, theirs] = shown * dealt
        else:
            checked[mine, theirs] = (2 * shown if mine == call else -np.ones((3, 3))) * dealt
    leaves = [
        Ends(payoffs, (leaf if choosers[0] else None, leaf if choosers[1] else None))
        for leaf, payoffs in enumerate((checked, bet))
    ]
    return Flat(Acts(0, 0, leaves), (2, 2)), dealt


def test_kuhn_cut_short_with_every_continuation_is_kuhn() -> None:
    flat, dealt = kuhn_cut((True, True))
    solver = flat.solver((np.ones(3), np.ones(3)), DCFR())
    solver.iterate(20_000)
    # The mean of what was played on the way comes near as fast as regrets vanish.
    assert solver.root_values(0).sum() / dealt.sum() == pytest.approx(-1 / 18, abs=1e-3)
    bets = solver.strategy(0)[1]
    assert bets[1] == pytest.approx(0.0, abs=0.01)
    assert bets[2] == pytest.approx(3 * bets[0], abs=0.02)
    assert solver.continuation(1, 1)[1] == pytest.approx([0, 1 / 3, 1], abs=0.01)


def test_who_may_not_choose_does_what_comes_first() -> None:
    """Always folding and checking: so everybody bets at once."""
    flat, dealt = kuhn_cut((True, False))
    solver = flat.solver((np.ones(3), np.ones(3)))
    solver.iterate(2000)
    assert solver.strategy(0)[1, :2].min() > 0.99
    assert solver.root_values(0).sum() / dealt.sum() == pytest.approx(1.0, abs=0.01)


# --- Beginning, going on, what is refused -----------------------------------------------------------------------------


def test_it_begins_where_it_is_told_and_stays_there_under_a_great_weight() -> None:
    root, ranges, continuations, _ = random_game(3)
    flat = Flat(root, continuations)
    rng = np.random.default_rng(1)
    begun = {}
    for number, node in enumerate(flat.nodes):
        shares = rng.random((len(node.children), len(ranges[node.player])))
        begun[number] = shares / shares.sum(axis=0)
    heavy = np.full(len(ranges[0]), 1e6), np.full(len(ranges[1]), 1e6)
    solver = flat.solver(ranges)
    solver.begin(begun, 10, heavy)
    assert solver.iterations == 10
    for after in (0, 3):
        solver.iterate(after)
        for number, strategy in begun.items():
            np.testing.assert_allclose(solver.strategy(number), strategy, atol=1e-3)
    assert solver.continuation(0, 0)[0].min() > 0.99


def test_a_light_beginning_is_forgotten() -> None:
    flat = cut_rock_paper_scissors(np.eye(3).tolist())
    solver = flat.solver((np.ones(1), np.ones(1)), DCFR())
    solver.begin({0: np.array([[0.0], [0.0], [1.0]])}, 5, (np.ones(1), np.ones(1)))
    assert solver.strategy(0).ravel() == pytest.approx([0, 0, 1])
    solver.iterate(20_000)
    assert solver.strategy(0).ravel() == pytest.approx(EQUILIBRIUM, abs=0.005)


def test_it_goes_on_from_what_was_kept_to_the_same_bits() -> None:
    root, ranges, continuations, _ = random_game(5)
    flat = Flat(root, continuations)
    whole, before, after = (flat.solver(ranges) for _ in range(3))
    whole.iterate(9)
    before.iterate(4)
    after.restore({name: array.copy() for name, array in before.state().items()})
    after.iterate(5)
    for name, array in whole.state().items():
        np.testing.assert_array_equal(after.state()[name], array, err_msg=name)


def test_what_was_kept_of_another_game_is_refused() -> None:
    first, second = random_game(5), random_game(6)
    kept = Flat(first[0], first[2]).solver(first[1]).state()
    with pytest.raises(LimitedError, match="not of this game"):
        Flat(second[0], second[2]).solver(second[1]).restore(kept)


def test_no_iteration_is_begun_that_would_be_late() -> None:
    solver = cut_rock_paper_scissors([EQUILIBRIUM]).solver((np.ones(1), np.ones(1)))
    solver.solve(10, until_s=0.0)
    assert solver.iterations == 0
    solver.solve(10)
    assert solver.iterations == 10


def test_it_stops_when_told() -> None:
    solver = cut_rock_paper_scissors([EQUILIBRIUM]).solver((np.ones(1), np.ones(1)))
    solver.solve(10, stopped=lambda: solver.iterations == 4)
    assert solver.iterations == 4


@pytest.mark.parametrize("weights", [np.zeros(2), np.array([1.0, -1.0]), np.array([1.0, np.nan]), np.ones((1, 2))])
def test_ranges_that_are_none_are_refused(weights: Array) -> None:
    with pytest.raises(LimitedError, match="a range"):
        cut_rock_paper_scissors([EQUILIBRIUM]).solver((weights, np.ones(1)))


@pytest.mark.parametrize(
    ("first", "child"),
    [([0, 2], [1, 1]), ([0, 2], [1, 3]), ([0, 1], [1, 2]), ([0, 2], [0, 1])],
    ids=["twice", "beyond", "too few", "itself"],
)
def test_arrays_that_are_no_tree_are_refused(first: list[int], child: list[int]) -> None:
    with pytest.raises(LimitedError, match="tree"):
        LimitedTree(
            np.zeros(1, np.int32), np.array(first, np.int32), np.array(child, np.int32), (apart([]), apart([])), (1, 1)
        )
