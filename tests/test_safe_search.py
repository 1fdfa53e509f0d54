"""Search is safe: the numbers of Brown's thesis (5.1), and its theorems as properties of small games.

All that is asserted of strategies is computed by walks and linear programmes in float64
(`reference.augmented_games`); only solving, gifts and gadgets are the solver's. How much more the opponent may win than
in theory follows from the exploitability that each subgame was solved to (`Search.slack`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference.augmented_games import Array, Programme, Worth, best_response, worths
from searches import SAFE, Search, Technique, after_chance, blueprint, two_rounds
from small_games import COIN, coin_toss, guess, two_subgames
from variants import some_of

from solver.engine import Engine
from solver.gadget_kinds import Form
from solver.gadgets import Gadget, gift
from solver.small import Decision, Leaf, Path, SmallGame

RESOLVE, MAXMARGIN = Technique(Form.RESOLVE), Technique(Form.MAXMARGIN)

# --- Coin Toss ------------------------------------------------------------------------------------------------------

PLAY = ("play",)
BLUEPRINT = (0.5, 0.25, 0.25)
"""Figure 5.2: heads, tails, forfeit."""


def guesses(*shares: float) -> Array:
    """[action, our only hand]"""
    return np.array(shares)[:, None]


def worth_of_play(*shares: float) -> list[float]:
    """What the opponent wins after Play with heads and with tails."""
    return list(worths(guess(), COIN, {(): guesses(*shares)}, 0)[()].value)


def worth_of_all(shares: Sequence[float] | Array, sell: Sequence[float] = (0.5, -0.5)) -> float:
    """What it wins by responding best in the whole game."""
    return best_response(*coin_toss(sell), {PLAY: guesses(*shares)}, 0)


def solved(payoffs: Sequence[float] | Array, form: Form) -> list[float]:
    """Our guesses after search with these alternative payoffs."""
    game = SmallGame(guess(), COIN)
    engine = Engine(game, threads=1, gadget=Gadget(0, payoffs, form))
    engine.iterate(5000)
    assert engine.exploitability().chips < 1e-3
    return list(game.strategy(engine)[:, 0])


@pytest.mark.parametrize(
    ("shares", "won"), [((1, 0, 0), 0.75), ((0, 1, 0), 0.25), ((0.25, 0.75, 0), 0), (BLUEPRINT, 0.5)]
)
def test_what_guesses_cost(shares: Sequence[float], won: float) -> None:
    """Section 5.1.1: $0.75, $0.25 and $0; and the blueprint of Figure 5.2, where it sells heads and plays tails."""
    assert worth_of_all(shares) == pytest.approx(won, abs=1e-12)


@pytest.mark.parametrize(("sell", "heads"), [((0.5, -0.5), 0.25), ((-0.5, 0.5), 0.75)])
def test_optimal_guesses(sell: tuple[float, float], heads: float) -> None:
    """Section 5.1.1: one quarter heads if heads are lucky, three quarters if tails are; it is then indifferent."""
    root, joint = coin_toss(sell)
    best = Programme(root, joint, 0).best_response()
    assert best.value == pytest.approx(0, abs=1e-9)
    assert best.policy[PLAY][:, 0] == pytest.approx([heads, 1 - heads, 0], abs=1e-9)
    assert worth_of_play(heads, 1 - heads, 0) == pytest.approx(sell)
    for other in np.linspace(0, 1, 41):
        assert worth_of_all((other, 1 - other, 0), sell) == pytest.approx(abs(other - heads), abs=1e-12)


def test_what_forfeit_pays() -> None:
    """Figure 5.2 gives Play as worth 0 and 1/2: with either side only $1 for forfeit makes that true."""
    for side, worth in ((-1, 0), (1, 0.5)):  # what a guess of heads pays
        assert (worth - 0.5 * side + 0.25 * side) / 0.25 == 1
    assert worth_of_play(*BLUEPRINT) == pytest.approx([0, 0.5])


def test_unsafe_search_always_guesses_heads() -> None:
    """Section 5.1.2: which costs more than the blueprint."""
    entered = COIN * [[0.75], [0.5]]
    assert Programme(guess(), entered, 0).best_response().policy[()][:, 0] == pytest.approx([1, 0, 0])
    game = SmallGame(guess(), entered / entered.sum())
    engine = Engine(game, threads=1)
    engine.iterate(1000)
    shares = game.strategy(engine)[:, 0]
    assert shares == pytest.approx([1, 0, 0], abs=1e-3)
    assert worth_of_all(shares) == pytest.approx(0.75, abs=1e-3)
    assert worth_of_all(shares) > worth_of_all(BLUEPRINT) + 0.2


def test_resolve_is_no_worse_than_the_blueprint() -> None:
    """Section 5.1.2: the blueprint is one of the solutions, always heads is none."""

    def won(shares: Sequence[float]) -> float:
        return float(np.maximum(worth_of_play(*shares), worth_of_play(*BLUEPRINT)).mean())

    least = Programme(guess(), COIN, 0).resolve([worth_of_play(*BLUEPRINT)]).value
    assert least == pytest.approx(won(BLUEPRINT)) == pytest.approx(0.25)
    assert won((1, 0, 0)) == pytest.approx(0.5)
    shares = solved(worth_of_play(*BLUEPRINT), Form.RESOLVE)
    assert won(shares) == pytest.approx(least, abs=2e-3)
    assert worth_of_all(shares) <= worth_of_all(BLUEPRINT) + 4e-3


GIFTS = gift(np.array([[0.5, -0.5], [0.0, 0.5]]), 1, [0])
"""Of Play instead of Sell, which ends the game, by what both are worth against the blueprint."""


@pytest.mark.parametrize(
    ("payoffs", "heads", "margins", "won"),
    [
        # Maxmargin, section 5.1.2: -1/4 and 1/4 after Play, 3/8 in all by selling heads.
        (worth_of_play(*BLUEPRINT), 5 / 8, (1 / 4, 1 / 4), 3 / 8),
        # Reach-Maxmargin by equation 5.2: the gift is 1/2 with heads and nothing with tails.
        (worth_of_play(*BLUEPRINT) + GIFTS, 1 / 2, (1 / 2, 1 / 2), 1 / 4),
        # Theorem 21 with an exact estimate: what Play is worth against the optimal guesses of 5.1.1.
        ((0.5, -0.5), 1 / 4, (0, 0), 0),
        # A gift of 1/2 with tails instead of heads would give the 3/4 of 5.1.3.
        (worth_of_play(*BLUEPRINT) + GIFTS[::-1], 3 / 4, (1 / 2, 1 / 2), 1 / 2),
    ],
    ids=["Maxmargin", "Reach-Maxmargin", "exact estimate", "gift on the wrong side"],
)
def test_maxmargin(payoffs: Array, heads: float, margins: tuple[float, float], won: float) -> None:
    best = Programme(guess(), COIN, 0).least_margin(payoffs)
    assert best.value == pytest.approx(min(margins), abs=1e-9)
    assert best.policy[()][:, 0] == pytest.approx([heads, 1 - heads, 0], abs=1e-9)
    assert payoffs - best.values == pytest.approx(margins, abs=1e-9)
    assert worth_of_all(best.policy[()][:, 0]) == pytest.approx(won, abs=1e-9)
    shares = solved(payoffs, Form.MAXMARGIN)
    assert shares == pytest.approx([heads, 1 - heads, 0], abs=1e-3)
    assert worth_of_all(shares) == pytest.approx(won, abs=2e-3)


def test_three_quarters_heads_is_not_the_better_strategy_of_the_thesis() -> None:
    """Section 5.1.3 says that with 3/4 heads "P1 is indifferent [...] and overall receives an expected payoff of 0".

    That is true of 1/4 heads, as 5.1.1 says. 3/4 heads cost 1/2, more than Maxmargin and as much as the blueprint;
    the sentence is true only of the mirrored game, in which tails are lucky.
    """
    assert GIFTS.tolist() == [0.5, 0]
    assert worth_of_play(0.75, 0.25, 0) == pytest.approx([-0.5, 0.5])  # Sell: 0.5 and -0.5
    assert worth_of_all((0.75, 0.25, 0)) == pytest.approx(0.5)
    assert worth_of_all((0.25, 0.75, 0)) == pytest.approx(0)
    assert worth_of_all((0.75, 0.25, 0), (-0.5, 0.5)) == pytest.approx(0)


# --- Figure 5.4: one gift and two subgames --------------------------------------------------------------------------

BOTH: list[Path] = [("play", "first"), ("play", "second")]
EVEN = {path: np.full((2, 1), 0.5) for path in BOTH} | {(): np.full((2, 2), 0.5)}
ALWAYS_TAILS, SPLIT, ESTIMATE = (1.0, -1.0), (0.5, 0.0), (0.5, -0.5)


def test_the_gift_of_figure_5_4() -> None:
    search = Search(two_subgames(), EVEN, 0)
    for path in BOTH:
        assert search.before[path].value.tolist() == [0, 0]
        assert search.gifts(path, "ends").tolist() == search.gifts(path, "all").tolist() == [0.5, 0]


@pytest.mark.parametrize(
    ("paths", "payoffs", "play", "won"),
    [
        # With one subgame alone the alternative payoff for heads may be 1, and always tails there is optimal.
        (BOTH[:1], ALWAYS_TAILS, (0.5, -0.5), 0.0),
        # With both it may not: Play becomes worth 1 with heads, and Sell is worth 0.5 only.
        (BOTH, ALWAYS_TAILS, (1, -1), 0.25),
        # Split, both may be solved.
        (BOTH, ESTIMATE, (0.5, -0.5), 0.0),
        (BOTH, SPLIT, (0.25, -0.25), 0.125),
        (BOTH, (0.0, 0.0), (0, 0), 0.25),
    ],
)
def test_two_subgames_share_a_gift(
    paths: Sequence[Path], payoffs: tuple[float, float], play: tuple[float, float], won: float
) -> None:
    search = Search(two_subgames(), EVEN, 0, iterations=4000)
    for path in paths:
        search.solve(path, MAXMARGIN, np.array(payoffs))
    assert worths(*two_subgames(), search.policy, 0)[PLAY].value == pytest.approx(play, abs=2e-3)
    assert search.exploited() == pytest.approx(won, abs=2e-3)


@pytest.mark.parametrize(("heads", "most"), [(1.0, 1.0), (0.5, 0.5)], ids=["whole", "split"])
def test_what_resolve_may_come_to_with_a_gift(heads: float, most: float) -> None:
    """Figure 5.4: with 1 for heads always tails is a solution; with 0.5 none gives away more than that.

    A solution wins no more than the payoffs; of those take the one that gives away most with heads.
    """
    payoffs = np.array([heads, 0.0])
    least = Programme(guess(forfeit=False), COIN, 0).resolve([payoffs]).value
    assert least == pytest.approx(payoffs.mean())
    given_away = []
    for tails in np.linspace(0, 1, 101):
        values = worths(guess(forfeit=False), COIN, {(): guesses(1 - tails, tails)}, 0)[()].value
        if np.maximum(values, payoffs).mean() <= least + 1e-9:
            given_away.append(values[0])
    assert max(given_away) == pytest.approx(most)
    search = Search(two_subgames(), EVEN, 0)
    for path in BOTH:
        search.solve(path, RESOLVE, np.array(payoffs))
    assert worths(*two_subgames(), search.policy, 0)[PLAY].value[0] <= most + search.slack


def test_search_again_takes_what_is_left_of_a_gift() -> None:
    """Each time with what the last left as the blueprint: half of what is left to win, in both subgames."""
    policy, won = dict(EVEN), [0.25]
    for _ in range(4):
        search = Search(two_subgames(), policy, 0, iterations=4000)
        for path in BOTH:
            search.solve(path, Technique(Form.MAXMARGIN, "ends"))
        policy = search.policy
        won.append(search.exploited())
    assert won == pytest.approx([1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64], abs=3e-3)


# --- Any small game -------------------------------------------------------------------------------------------------

SEEDS = st.integers(0, 2**20)
BLUEPRINTS = st.tuples(st.sampled_from([0, 10, 100, 300, 1000]), st.sampled_from([0.0, 0.02, 0.1, 0.5]))
"""Iterations of CFR+, and the share of noise in the result. Only of a good one is it easy to see what is lost."""
OPPONENTS = st.integers(0, 1)
MOST = 0.02
"""The slack of a search, in chips, of which one or two are at stake: more would prove nothing."""


def searched(seed: int, quality: tuple[int, float], opponent: int, technique: Technique) -> Search:
    """Every subgame that begins with the public card, each on its own."""
    rules = two_rounds(seed)
    search = Search(rules, blueprint(rules, *quality, seed), opponent)
    for path in after_chance(rules[0]):
        search.solve(path, technique)
    assert search.slack < MOST
    return search


@settings(max_examples=15)
@given(SEEDS, BLUEPRINTS, OPPONENTS)
@pytest.mark.parametrize("technique", some_of(SAFE, every=2), ids=str)
def test_search_wins_the_opponent_nothing(
    technique: Technique, seed: int, quality: tuple[int, float], opponent: int
) -> None:
    """All subgames solved independently: a best response wins no more than against the blueprint."""
    search = searched(seed, quality, opponent, technique)
    assert search.exploited() <= search.exploited(search.blueprint) + search.slack


@settings(max_examples=12)
@given(SEEDS, BLUEPRINTS, OPPONENTS, st.sampled_from(SAFE))
def test_margins_are_the_best_that_there_are(
    seed: int, quality: tuple[int, float], opponent: int, technique: Technique
) -> None:
    """Subgame by subgame against the linear programme: the largest least (reach) margin; none negative for Resolve."""
    rules = two_rounds(seed)
    search = Search(rules, blueprint(rules, *quality, seed), opponent)
    solved = 0
    for path in after_chance(rules[0]):
        payoffs = search.before[path].value + search.gifts(path, technique.gifts)
        engine = search.solve(path, technique)
        if engine is None:
            continue
        programme = Programme(search.places[path].node, search.weights(path), opponent)
        live = programme.weight > 0
        close = 2 * engine.exploitability().chips + 1e-5
        after = worths(*rules, search.policy, opponent)[path].value
        margins = (payoffs - after)[live]
        assert engine.margins()[live] == pytest.approx(margins, abs=1e-4)
        best = programme.least_margin(payoffs)
        if technique.form is Form.MAXMARGIN:
            assert best.value - close <= margins.min() <= best.value + 1e-5
        else:
            share = (programme.weight / programme.weight.sum())[live]
            assert (np.maximum(-margins, 0) * share).sum() <= close
        assert best.value >= -1e-7  # the blueprint is there to fall back on
        solved += 1
    assume(solved)


@settings(max_examples=30)
@given(SEEDS, BLUEPRINTS, OPPONENTS)
def test_theorem_20(seed: int, quality: tuple[int, float], opponent: int) -> None:
    """Who comes to a subgame with a best response wins less than without search there, by the hand's reach margin."""
    search = searched(seed, quality, opponent, Technique(Form.MAXMARGIN, "ends"))
    after = worths(*search.rules, search.policy, opponent)
    for path in after_chance(search.rules[0]):
        payoffs = search.before[path].value + search.gifts(path, "ends")
        margins = payoffs - after[path].value
        without = search.policy | {p: s for p, s in search.blueprint.items() if p[: len(path)] == path}
        for hand in np.flatnonzero(after[path].weight > 1e-12).tolist():
            if comes(search, after, path, hand):
                gained = after[path].weight[hand] * margins[hand]
                assert search.exploited() <= search.exploited(without) - gained + search.slack


def comes(search: Search, after: Mapping[Path, Worth], path: Path, hand: int) -> bool:
    """Whether a best response, the one that prefers earlier actions, goes there with a hand."""
    for number, name in enumerate(path):
        node = search.places[path[:number]].node
        if isinstance(node, Decision) and node.player == search.opponent:
            values = [after[*path[:number], action].value[hand] for action in node.children]
            if list(node.children)[int(np.argmax(values))] != name:
                return False
    return True


@settings(max_examples=10)
@given(SEEDS, BLUEPRINTS, OPPONENTS, st.sampled_from([RESOLVE, MAXMARGIN]), st.sampled_from([0.0, 0.05, 0.3]))
def test_theorem_21(seed: int, quality: tuple[int, float], opponent: int, technique: Technique, error: float) -> None:
    """Estimates of what subgames are worth against the best strategy in all of them are as good as they are exact.

    Maxmargin loses at most twice the largest error, and Resolve with them.
    """
    rules = two_rounds(seed)
    search = Search(rules, blueprint(rules, *quality, seed), opponent)
    paths = after_chance(rules[0])
    trunk = {p: s for p, s in search.blueprint.items() if not any(p[: len(path)] == path for path in paths)}
    best = Programme(*rules, opponent, trunk).best_response()
    exact = worths(*rules, best.policy, opponent)
    rng = np.random.default_rng(seed)
    for path in paths:
        values = exact[path].value
        search.solve(path, technique, values + error * rng.choice([-1, 1], len(values)))
    assert search.slack < MOST
    assert best.value - 1e-6 <= search.exploited() <= best.value + 2 * error + search.slack


@settings(max_examples=8)
@given(SEEDS, BLUEPRINTS, OPPONENTS, st.sampled_from(SAFE))
def test_search_within_a_search_wins_the_opponent_nothing(
    seed: int, quality: tuple[int, float], opponent: int, technique: Technique
) -> None:
    """Everything after the first action is solved, then what follows the public card, with that as the blueprint."""
    rules = two_rounds(seed)
    first = Search(rules, blueprint(rules, *quality, seed), opponent)
    for path, place in first.places.items():
        if len(path) == 1 and not isinstance(place.node, Leaf):
            first.solve(path, technique)
    second = Search(rules, first.policy, opponent)
    for path in after_chance(rules[0]):
        second.solve(path, technique)
    assert first.slack + second.slack < 2 * MOST
    won = [search.exploited() for search in (first, second)]
    assert won[0] <= first.exploited(first.blueprint) + first.slack
    assert won[1] <= won[0] + second.slack


# --- What is not safe -----------------------------------------------------------------------------------------------


def test_unsafe_search_can_lose_a_lot() -> None:
    """A blueprint that loses 0.35 of the game: 0.66 after unsafe search, at most 0.25 after any safe one."""
    rules = two_rounds(2)
    found = {}
    for technique in [None, *SAFE]:
        search = Search(rules, blueprint(rules, 500, 0.2, 2), 1)
        for path in after_chance(rules[0]):
            search.solve(path, technique) if technique else search.solve_unsafely(path)
        found[technique] = search.exploited()
    before = search.exploited(search.blueprint)
    assert found.pop(None) > before + 0.25
    assert max(found.values()) < before - 0.05


def test_a_gift_given_to_every_subgame_is_too_much() -> None:
    """As in Figure 5.4: each subgame after a gift takes all of it, as if the others did not."""
    rules, won = two_rounds(82), []
    for whole in (False, True):
        search = Search(rules, blueprint(rules, 100, 0.0, 82), 1)
        for path in after_chance(rules[0]):
            share = search.before[path].weight / np.maximum(search.before[path[:-1]].weight, 1e-9)
            gifts = search.gifts(path, "ends") / (np.maximum(share, 0.05) if whole else 1)
            search.solve(path, MAXMARGIN, search.before[path].value + gifts)
        won.append(search.exploited() - search.exploited(search.blueprint))
    assert won[0] <= search.slack
    assert won[1] > 0.05


def test_a_gift_given_again_to_a_search_within_a_search_is_too_much() -> None:
    """The second search knows from its own blueprint what is left of the gift; the first one's gift is used up."""
    rules, technique = two_rounds(12), Technique(Form.MAXMARGIN, "ends")
    first = Search(rules, blueprint(rules, 100, 0.0, 12), 0)
    paths = after_chance(rules[0])
    for path in {path[:-1] for path in paths}:
        first.solve(path, technique)
    won = []
    for giver in (None, first):
        second = Search(rules, first.policy, 0)
        for path in paths:
            second.solve(path, technique, second.before[path].value + (giver or second).gifts(path, "ends"))
        won.append(second.exploited() - first.exploited(first.blueprint))
    assert won[0] <= first.slack + second.slack
    assert won[1] > 0.03
