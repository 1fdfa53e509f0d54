"""What buckets are worth when a blueprint plays itself, against sums over every deal of small games."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from blueprint_files import opened, small_game
from leduc import LEDUC
from small_matches import Play, probability_of
from test_aivat import TrueValues

from blueprints.cards.exact import ExactCards
from blueprints.lookup import Lookup
from blueprints.rounding import TOTAL
from blueprints.storage import Blueprint
from blueprints.train.measures.exploitability import Measure
from blueprints.values import bucket_values as selfplay
from dealer_tools.scoring.blueprint_values import BlueprintValues
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.values import KnownSide
from protocol.cards import Card
from protocol.game import Position
from protocol.state import State, apply, start
from solver.menu import parse_menu
from strategies.policy import SCALE, Policy


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody trembles: then values are exact."""
    monkeypatch.setattr(selfplay, "_TREMBLE", 0.0)


def played_as(blueprint: Blueprint) -> tuple[Lookup, Play]:
    lookup = Lookup(blueprint, ExactCards(blueprint.game))

    @cache
    def play(state: State, board: tuple[Card, ...]) -> Policy:
        found = lookup.policy(state, board, lambda number: 0.5)
        assert found is not None
        return Policy(found.actions, found.shares * np.uint16(SCALE // TOTAL))

    return lookup, play


def every_board(blueprint: Blueprint) -> list[tuple[Card, ...]]:
    return list(combinations(sorted(blueprint.game.deck()), sum(blueprint.game.num_board_cards)))


@pytest.mark.usefixtures("steady")
def test_worths_are_means_over_all_that_the_opponent_may_hold() -> None:
    """Leduc, each player, node and bucket: by recursion over every pair of hands and every board."""
    blueprint = opened(LEDUC)
    lookup, play = played_as(blueprint)
    cards, holdings, tree = lookup.cards, Holdings(LEDUC), blueprint.tree
    values = selfplay.compute(blueprint, cards, every=every_board(blueprint))
    worths = selfplay.Worths("", values, selfplay._places(tree, blueprint.buckets), blueprint.buckets, tree)
    true = TrueValues(holdings, (play, play))
    checked = 0
    for node, state in tree.walk(start(LEDUC)):
        boards = every_board(blueprint) if state.street else [()]
        for player in range(2):
            won, met = defaultdict(float), defaultdict(float)
            for board in boards:
                buckets = cards.buckets(board)
                for ours, theirs in permutations(range(len(holdings.hands)), 2):
                    if set(board) & {*holdings.hands[ours], *holdings.hands[theirs]}:
                        continue
                    weight = came_there(state, board, 1 - player, theirs, play)
                    worth = true.at(KnownSide(Position(player), theirs), state, board)[ours]
                    won[int(buckets[ours])] += weight * worth
                    met[int(buckets[ours])] += weight
            for bucket, weight in met.items():
                if weight > 0:
                    found = float(worths.of(player, node)[bucket]) * tree.committed[node].sum()
                    assert found == pytest.approx(won[bucket] / weight, rel=1e-3, abs=2e-3)
                    checked += 1
    assert checked > 300


def came_there(state: State, board: tuple[Card, ...], player: int, column: int, play: Play) -> float:
    """How probable a player's own actions make a state."""
    here, probability = start(state.game), 1.0
    for action in state.actions:
        if here.actor == player:
            seen = board[: state.game.board_cards_by(here.street)]
            probability *= probability_of(play(here, seen), action, column)
        here = apply(here, action)
    return probability


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("threads", [1, 2])
def test_two_cards_in_hand(threads: int) -> None:
    """The mean worth at the root is the value of the game, which the solver knows exactly."""
    blueprint = opened(small_game())
    game, tree, cards = blueprint.game, blueprint.tree, ExactCards(blueprint.game)
    values = selfplay.compute(blueprint, cards, every=every_board(blueprint), threads=threads)
    worths = selfplay.Worths("", values, selfplay._places(tree, blueprint.buckets), blueprint.buckets, tree)
    averages = [blueprint.strategy(street).astype(np.float32) for street in range(game.num_rounds)]
    expected = Measure(game, parse_menu(blueprint.header.menu), tree, cards).value(averages)
    buckets = cards.buckets(())
    for player, sign in ((0, 1), (1, -1)):
        mean = worths.of(player, 0).astype(np.float64)[buckets].mean() * tree.committed[0].sum()
        assert mean == pytest.approx(sign * expected, abs=5e-3 * abs(expected) + 2e-3)


def test_the_last_street_is_exact() -> None:
    """Values of every hand against one, at every decision of Leduc's second street, and before its card."""
    blueprint = opened(LEDUC)
    lookup, play = played_as(blueprint)
    holdings, tree = Holdings(LEDUC), blueprint.tree
    worths = selfplay.Worths(
        "", np.zeros(1 << 14, np.float16), selfplay._places(tree, blueprint.buckets), blueprint.buckets, tree
    )
    values, true, checked = BlueprintValues(holdings, lookup, worths), TrueValues(holdings, (play, play)), 0
    for _, state in tree.walk(start(LEDUC)):
        for board in every_board(blueprint) if state.street else []:
            for theirs in np.flatnonzero(holdings.hands.live(board)).tolist():
                able = holdings.hands.live((*board, *holdings.hands[theirs]))
                for position in (Position(0), Position(1)):
                    side = KnownSide(position, theirs)
                    expected = true.at(side, state, board)[able]
                    assert values.at(side, state, board)[able] == pytest.approx(expected, rel=1e-5, abs=1e-5)
                    if not state.history[-1]:
                        free = holdings.hands.live(holdings.hands[theirs])
                        mean = true.before(side, state, ())[free]
                        assert values.before(side, state, ())[free] == pytest.approx(mean, rel=1e-5, abs=1e-5)
                    checked += 1
    assert checked > 500


def test_the_table_is_kept_and_named_by_what_it_depends_on(tmp_path: Path) -> None:
    blueprint = opened(LEDUC)
    cards, heard = ExactCards(LEDUC), []
    first = selfplay.open_worths(blueprint, cards, tmp_path, boards=6, tell=lambda done, of: heard.append(done))
    again = selfplay.open_worths(blueprint, cards, tmp_path, boards=6, tell=lambda done, of: heard.append(done))
    assert heard == [1, 2, 3, 4, 5, 6]
    assert first.digest == again.digest != selfplay.worths_digest(blueprint, 7)
    assert np.array_equal(first.of(1, 0), again.of(1, 0))
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-10])
    mended = selfplay.open_worths(blueprint, cards, tmp_path, boards=6, tell=lambda done, of: heard.append(done))
    assert len(heard) == 12
    assert np.array_equal(first.of(0, 0), mended.of(0, 0))
