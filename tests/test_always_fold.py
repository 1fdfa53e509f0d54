"""The exact value against a player who folds, beside the walks of the whole tree that trainers make."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import comb
from pathlib import Path

import numpy as np
import pytest
from blueprint_files import HOLDEM, folder, opened, write

from blueprints.cards.features import RIVER, multiplicities
from blueprints.cards.kernels.strengths import river_strengths
from blueprints.storage import Blueprint
from blueprints.train.public.walker import Walker
from protocol.hands import NUM_HANDS, canonical_boards, hand_cards_array
from protocol.kernels import rank_tables
from release.always_fold import exact_value, line_of, on_board
from release.blueprint import baseline

IN_THE_BIG_BLIND, ON_THE_BUTTON = 0, 1


def walked(blueprint: Blueprint, player: int, boards: Sequence[tuple[int, ...]]) -> list[float]:
    """Chips a hand against the baseline on each board, its cards in this order: every line, every pair of hands."""
    cards = blueprint.cards(folder(), rivers=False)
    walker = Walker.of(HOLDEM, blueprint.tree, (cards, cards))
    mine = [blueprint.strategy(street) for street in range(4)]
    theirs = [baseline(blueprint.tree, street, cards.counts[street], "always-fold") for street in range(4)]
    tables = [mine, theirs] if player == 0 else [theirs, mine]
    weights = walker.tables(0).packed(tables[0]), walker.tables(1).packed(tables[1])
    pairs = walker.dealer.num_pairs()
    return [walker.walk(walker.ready(board), weights).values[player].sum() / pairs for board in boards]


def strengths(boards: np.ndarray) -> np.ndarray:
    out = np.empty((len(boards), NUM_HANDS), np.uint16)
    some = np.ascontiguousarray(boards)
    some.setflags(write=False)  # to numba, arrays that can be written are another type
    river_strengths(rank_tables(), some, 0, len(some), hand_cards_array(), out)
    return out


def test_a_board_is_worth_the_mean_of_its_orders() -> None:
    blueprint, some = opened(), canonical_boards(5)[[7, 90_000]]
    cards = blueprint.cards(folder(), rivers=False)
    line = line_of(blueprint, ON_THE_BUTTON)
    assert len(line.steps) == 4
    assert all(step.goes_on.any() for step in line.steps)
    for board, row in zip(some.tolist(), strengths(some), strict=True):
        orders = [order for order in permutations(board) if order[0] < order[1] < order[2]]
        assert len(orders) == 20
        expected = np.mean(walked(blueprint, ON_THE_BUTTON, orders))
        assert on_board(line, cards, board, row) == pytest.approx(expected, rel=1e-5)
        assert walked(blueprint, ON_THE_BUTTON, orders[:1])[0] != pytest.approx(expected, rel=1e-5)


def test_in_the_big_blind_it_wins_the_small_blind_at_once() -> None:
    blueprint = opened()
    assert line_of(blueprint, IN_THE_BIG_BLIND).steps == ()
    board = tuple(canonical_boards(5)[1234].tolist())
    cards = blueprint.cards(folder(), rivers=False)
    assert exact_value(blueprint, cards, IN_THE_BIG_BLIND) == 50
    assert walked(blueprint, IN_THE_BIG_BLIND, [board])[0] == pytest.approx(50)


def test_without_limping_nobody_sees_a_flop(tmp_path: Path) -> None:
    blueprint = Blueprint.open(write(tmp_path / "some.blueprint", HOLDEM, "nolimp; preflop a / a; a"))
    value = exact_value(blueprint, blueprint.cards(folder(), rivers=False), ON_THE_BUTTON)
    board = tuple(canonical_boards(5)[1234].tolist())
    folds = blueprint.rows(0)[0] / 255
    classes = blueprint.cards(folder(), rivers=False).buckets(())
    expected = float(np.mean(100 - 150 * folds[classes]))
    assert value == pytest.approx(expected)
    live = [h for h, held in enumerate(hand_cards_array().tolist()) if not set(held) & set(board)]
    assert walked(blueprint, ON_THE_BUTTON, [board])[0] == pytest.approx(np.mean(100 - 150 * folds[classes[live]]))


def test_all_boards_by_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a few boards standing for all, the value is their weighted mean."""
    blueprint = opened()
    cards = blueprint.cards(folder(), rivers=False)
    line, chosen = line_of(blueprint, ON_THE_BUTTON), np.array([3, 5000, 77_777, 134_458])
    some, weights = canonical_boards(5)[chosen], multiplicities(RIVER)[chosen]
    some.setflags(write=False)
    assert len(set(weights.tolist())) > 1
    monkeypatch.setattr("release.always_fold.canonical_boards", lambda count: some)
    monkeypatch.setattr("release.always_fold.multiplicities", lambda street: weights)
    monkeypatch.setattr("release.always_fold._AT_ONCE", 3)
    told: list[float] = []
    found = exact_value(blueprint, cards, ON_THE_BUTTON, told.append)
    each = [on_board(line, cards, board, row) for board, row in zip(some.tolist(), strengths(some), strict=True)]
    assert found == pytest.approx(np.average(each, weights=weights))
    assert told == [0.75, 1.0]


def test_weights_are_those_of_all_boards() -> None:
    assert multiplicities(RIVER).sum() == comb(52, 5)
