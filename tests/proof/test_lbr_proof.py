"""Local best response at length: the table of chances before the flop, and hundreds of strategies in small games."""

from __future__ import annotations

import math

import pytest
from lbr_games import Everything, ask, random_strategy
from test_exploitability import KUHN, LEDUC, NO_LIMIT, values

from dealer_tools.lbr.hand import Players
from dealer_tools.lbr.settings import Setting
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, load_game
from protocol.state import Deal
from strategies.registry import open_agent

pytestmark = pytest.mark.proof


def test_fold_or_call_wins_250_of_always_fold():
    """With the true table: no hand is worse than a quarter before the flop, so the small blind is always completed."""
    game = load_game(DEFAULT_GAME).game
    players, stream = Players(Setting.FC, open_agent("always-fold", game), 1), CardStream(game, 1)
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
