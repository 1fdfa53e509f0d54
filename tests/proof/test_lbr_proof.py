"""Local best response at length: the table of chances before the flop, and hundreds of strategies in small games."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lbr_games import Everything, ask, random_strategy
from test_exploitability import KUHN, LEDUC, NO_LIMIT, values

from dealer_tools.lbr import equity
from dealer_tools.lbr.hand import Players
from dealer_tools.lbr.settings import Setting
from protocol.cards import parse_cards
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, load_game
from protocol.hands import NUM_HANDS, SUIT_PERMUTATIONS, canonical_boards, hand_cards, hand_index, hand_permutation
from protocol.kernels import rank_runouts
from protocol.state import Deal
from strategies.registry import make_strategy

pytestmark = pytest.mark.proof

PAIRS = [("AsAh", "KdKc"), ("AsKs", "QhQd"), ("2c2d", "AhKs"), ("JsTs", "As2d"), ("7h2c", "7d2s"), ("AcKc", "AdKc")]


@pytest.fixture(scope="module")
def margins() -> equity.I32:
    return equity.compute_margins(lambda done, total: None)


def test_the_table_is_what_its_digest_says(margins):
    assert equity._digest(margins) == equity._DIGEST
    assert equity._orbits(canonical_boards(5)).sum() == math.comb(52, 5)


def test_chances_before_the_flop_are_those_of_counting_all_boards(margins, monkeypatch):
    """Every one of 1,712,304 boards, for pairs that share suits, ranks, both or neither."""
    monkeypatch.setattr(equity, "preflop_margins", lambda: margins)
    counted = 0
    for one, two in PAIRS:
        mine, theirs = parse_cards(one), parse_cards(two)
        if {*mine} & {*theirs}:
            continue
        ranks = rank_runouts(np.array([mine, theirs], np.uint8), np.zeros(0, np.uint8), 5).astype(np.int32)
        assert len(ranks) == equity.PAIR_BOARDS
        won = (ranks[:, 0] > ranks[:, 1]).mean() + 0.5 * (ranks[:, 0] == ranks[:, 1]).mean()
        assert equity.before_the_flop(hand_index(*mine))[hand_index(*theirs)] == pytest.approx(won, abs=1e-12)
        counted += 1
    assert counted == 5


def test_what_one_hand_wins_the_other_loses(margins, monkeypatch):
    """And a change of suits changes nothing."""
    monkeypatch.setattr(equity, "preflop_margins", lambda: margins)
    rows = np.array([equity.before_the_flop(hand) for hand in range(NUM_HANDS)])
    cards = np.array([hand_cards(hand) for hand in range(NUM_HANDS)])
    apart = (cards[:, None, :, None] != cards[None, :, None, :]).all(axis=(2, 3))
    assert np.abs((rows + rows.T - 1)[apart]).max() < 1e-12
    for permutation in SUIT_PERMUTATIONS[::5]:
        moved = hand_permutation(permutation)
        assert np.abs((rows[np.ix_(moved, moved)] - rows)[apart]).max() < 1e-12


def test_fold_or_call_wins_250_of_always_fold(margins, monkeypatch):
    """With the true table: no hand is worse than a quarter before the flop, so the small blind is always completed."""
    monkeypatch.setattr(equity, "preflop_margins", lambda: margins)
    game = load_game(DEFAULT_GAME).game
    players, stream = Players(game, Setting.FC, make_strategy("always-fold", game), 1), CardStream(game, 1)
    chips = 0.0
    for number in range(300):
        deal = stream.deal()
        for each in (deal, Deal((deal.hole[1], deal.hole[0]), deal.board)):
            chips += math.fsum(played.chips for played in players.pair(number, each))
    assert 1000 * chips / game.big_blind / 1200 == 250


@pytest.mark.parametrize("game", [KUHN, LEDUC, NO_LIMIT], ids=["kuhn", "leduc", "no-limit"])
def test_never_above_the_best_response(game):
    for seed in range(40):
        strategy = random_strategy(game, seed)
        best = values(game, strategy).best_response
        for setting in Setting:
            wins = Everything(game, setting, ask(strategy)).wins()
            assert all(won <= most + 1e-9 for won, most in zip(wins, best, strict=True)), (seed, setting)
