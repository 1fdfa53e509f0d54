"""Safe search in larger games, and in more of the small ones than `test_safe_search.py` has time for.

Leduc from its rules and hold'em with nine cards and one round after the flop, each whole: from blueprints of little CFR
every subgame that begins with public cards is solved on its own; a float64 walk says what a best response then wins.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from reference.augmented_games import Array, Programme, worths
from searches import SAFE, Search, Technique, after_chance, blueprint, two_rounds
from small_games import Rules, leduc, poker

from protocol.game import parse_game
from solver.gadget_kinds import Form
from solver.menu import parse_menu
from solver.small import Path

pytestmark = pytest.mark.proof

NINE_CARDS = parse_game(
    "limit\nnumPlayers 2\nnumRounds 2\nblind 1 1\nraiseSize 2 4\nmaxRaises 1 1\n"
    "numSuits 3\nnumRanks 3\nnumHoleCards 2\nnumBoardCards 0 3\nend gamedef"
).game


@lru_cache(maxsize=1)
def flop_holdem() -> Rules:
    return poker(NINE_CARDS, parse_menu("small"))


@lru_cache(maxsize=2)
def blueprint_of(name: str, iterations: int, noise: float) -> tuple[Rules, dict[Path, Array]]:
    rules = leduc() if name == "Leduc" else flop_holdem()
    return rules, blueprint(rules, iterations, noise, iterations)


@pytest.mark.parametrize("technique", SAFE, ids=str)
@pytest.mark.parametrize("opponent", [0, 1])
@pytest.mark.parametrize(("iterations", "noise"), [(0, 0.0), (0, 1.0), (5, 0.0), (40, 0.0), (300, 0.0), (300, 0.1)])
def test_leduc(iterations: int, noise: float, opponent: int, technique: Technique) -> None:
    rules, policy = blueprint_of("Leduc", iterations, noise)
    search = Search(rules, policy, opponent, iterations=3000)
    paths = after_chance(rules[0])
    assert len(paths) == 5 * 6
    for path in paths:
        search.solve(path, technique)
    assert search.slack < 0.01
    assert search.exploited() <= search.exploited(policy) + search.slack


@pytest.mark.parametrize("opponent", [0, 1])
@pytest.mark.parametrize(("iterations", "noise"), [(300, 0.0), (300, 0.1)])
def test_leduc_with_what_subgames_are_worth_at_best(iterations: int, noise: float, opponent: int) -> None:
    """Theorem 21 without error: as good as solving all subgames together."""
    rules, policy = blueprint_of("Leduc", iterations, noise)
    search = Search(rules, policy, opponent, iterations=3000)
    paths = after_chance(rules[0])
    inside = {p for p in policy if any(p[: len(path)] == path for path in paths)}
    best = Programme(*rules, opponent, {p: s for p, s in policy.items() if p not in inside}).best_response()
    exact = worths(*rules, best.policy, opponent)
    for path in paths:
        search.solve(path, Technique(Form.MAXMARGIN), exact[path].value)
    assert search.slack < 0.01
    assert best.value - 1e-5 <= search.exploited() <= best.value + search.slack


@pytest.mark.parametrize("technique", [Technique(Form.RESOLVE), Technique(Form.MAXMARGIN, "ends")], ids=str)
@pytest.mark.parametrize("opponent", [0, 1])
@pytest.mark.parametrize("iterations", [5, 100])
def test_flop_holdem_of_nine_cards(iterations: int, opponent: int, technique: Technique) -> None:
    rules, policy = blueprint_of("hold'em", iterations, 0.0)
    search = Search(rules, policy, opponent, iterations=1500)
    paths = after_chance(rules[0])
    assert len(paths) == 3 * 84
    for path in paths:
        search.solve(path, technique)
    assert search.slack < 0.05
    assert search.exploited() <= search.exploited(policy) + search.slack


@pytest.mark.parametrize("technique", SAFE, ids=str)
@pytest.mark.parametrize("opponent", [0, 1])
@pytest.mark.parametrize("seed", range(20))
def test_small_games(seed: int, opponent: int, technique: Technique) -> None:
    """And searches within searches."""
    rules, rng = two_rounds(seed), np.random.default_rng(seed)
    policy = blueprint(rules, int(rng.choice([1, 10, 100, 1000])), float(rng.choice([0, 0.02, 0.3])), seed)
    before, slack = None, 0.0
    for _ in range(3):
        search = Search(rules, policy, opponent, iterations=2000)
        for path in after_chance(rules[0]):
            search.solve(path, technique)
        assert search.slack < 0.01
        slack += search.slack
        assert before is None or search.exploited(policy) == before
        assert search.exploited() <= search.exploited(policy) + search.slack
        policy, before = search.policy, search.exploited()
