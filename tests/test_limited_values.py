"""The parts of the experiment with values at leaves: the blueprint as agents have it, and what is held fixed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from protocol.hands import hands_of
from protocol.state import start
from solver.subgame import Place
from studies import limited_values
from studies.limited_values import US, LimitedPlay, OneBet, ValuesExperiment, biases, continuations
from studies.search_tables.nested import normalised


@cache
def experiment() -> ValuesExperiment:
    return ValuesExperiment(ranks=4, suits=2, iterations=40)


def test_the_blueprint_has_what_was_solved() -> None:
    """Every decision, hand and flop: the numbers of a bucket are the strategy of each of its hands."""
    lookup, strategies = experiment().opened()
    tree, solver, game = lookup.blueprint.tree, experiment().blueprint, experiment().game
    compared = 0
    for node, state in tree.walk(start(game)):
        street, player = state.street, int(tree.player[node])
        first = int(tree.first[tree.nodes_of(street).start])
        rows = normalised(strategies[street][[edge - first for edge in tree.edges(node)]].astype(np.float64))
        forest = solver.subgame.forests[street]
        place = next(number for number, each in enumerate(forest.nodes) if each.state.betting == state.betting)
        assert list(forest.nodes[place].actions) == tree.actions(node)
        for number, board in enumerate(solver.subgame.boards[street]):
            buckets = lookup.cards.buckets(board.cards)
            expected = solver.strategy(Place(street, place, number))
            for hand, index in enumerate(solver.subgame.hand_index[player].tolist()):
                if not set(hands_of(game)[index]) & set(board.cards) and expected[:, hand].any():
                    np.testing.assert_allclose(rows[:, buckets[index]], expected[:, hand], atol=1e-4)
                    compared += 1
    assert compared > 1000


def test_what_is_held_fixed_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The big blind's play before the flop after the third bet is what it was given, to the end of the flop's solve."""
    monkeypatch.setattr(limited_values, "ITERATIONS", 25)
    made, rng = experiment(), np.random.default_rng(2)
    count = len(hands_of(made.game))
    mixed = OneBet().mixed(US)
    bet = next(
        action for action in mixed.actions(start(made.game)) if action not in OneBet().small.actions(start(made.game))
    )
    strategies = {f"r{bet.to}": normalised(rng.random((3, count)))}  # type: ignore[union-attr]
    strategies = {key: np.stack([made.field.symmetric(row) for row in rows]) for key, rows in strategies.items()}
    averages = made.blueprint.averages
    play = LimitedPlay(made.field, (averages[0], averages[1]), strategies)
    for _ in play.run():
        pass
    assert play.searches == 1
    forest, table = play.mixed.subgame.forests[0], play.mixed.table(US, 0)
    node = next(number for number, each in enumerate(forest.nodes) if each.state.betting == f"r{bet.to}")  # type: ignore[union-attr]
    edge = int(forest.edge[node])
    played = normalised(table[edge : edge + 3])
    np.testing.assert_allclose(played, strategies[f"r{bet.to}"], atol=1e-3)  # type: ignore[union-attr]
    assert play.best_response_mbb() > 0


def test_continuations_by_chooser() -> None:
    assert [len(biases(count)) for count in limited_values.COUNTS] == list(limited_values.COUNTS)
    assert len(set(biases(16))) == 16
    assert continuations("both", 4) == (4, 4)
    assert continuations("opponent", 4) == (1, 4)
