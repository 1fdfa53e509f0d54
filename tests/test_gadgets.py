"""Gadgets: each plays the game that it should, learns in it as it should, and comes to what a linear programme finds.

Three oracles, none of which shares anything with the kernels. A walk in float64 says what best responses win against
what the engine came to. A linear programme says what the best solution is worth: the two best responses must lie on
both sides of it, so that an exploitability is not only small but also of the right game. And CFR over histories, with
the choice as a decision like others, must do the same in every iteration (`reference.augmented_games` has all three).

Sums in float32 lose some 6e-8 of the terms a few times: what is only computed is held to a hundred-thousandth of what
is at stake, here about 1. What is iterated is held to the exploitability that it has come to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from leduc import LEDUC
from reference.augmented_games import (
    Array,
    Policy,
    Programme,
    against_us,
    less,
    maxmargin_histories,
    normalised,
    outcomes_of_normals,
    resolve_histories,
    with_a_choice,
    worths,
)
from reference.slow_small_game import SlowGame, matched
from scipy.integrate import quad
from scipy.stats import norm
from small_games import COIN, betting_and_board, guess, leduc, random_game
from solver_tables import decisions

from protocol.cards import cards_text
from protocol.state import start
from solver.algorithms import CFR, CFR_PLUS, DCFR, Algorithm
from solver.engine import Engine, SolverError
from solver.gadget_kinds import Form
from solver.gadgets import Gadget, GadgetError, gift
from solver.menu import parse_menu
from solver.small import Chance, Decision, Leaf, Node, Path, SmallGame
from solver.subgame import Storage, Subgame
from solver.subgame_solver import Solver

CLOSE = 1e-5
"""For what is computed once in float32."""
HANDS = [(2, 3), (4, 5), (3, 1), (1, 3), (5, 2), (3, 18)]
ALGORITHMS: list[Algorithm] = [DCFR(), CFR_PLUS(), DCFR(1, 1, 1)]


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A subgame and the opponent's alternative payoffs there."""

    root: Node
    weights: Array
    """[hand of player 0, hand of player 1] chance times our reach."""
    opponent: int
    payoffs: Array

    @property
    def weight(self) -> Array:
        """[opponent's hand]"""
        return np.asarray(against_us(self.weights, self.opponent).sum(axis=1))

    @property
    def live(self) -> npt.NDArray[np.bool_]:
        """[opponent's hand] whether it can be."""
        return self.weight > 0

    def game(self, bits: int = 32) -> SmallGame:
        return SmallGame(self.root, self.weights, bits=bits)

    def gadget(self, form: Form = Form.RESOLVE, spreads: float | Array | None = None, *, hedge: bool = True) -> Gadget:
        return Gadget(self.opponent, self.payoffs, form, spreads, hedge)

    def programme(self) -> Programme:
        return Programme(self.root, self.weights, self.opponent)

    def best(self, policy: Policy) -> Array:
        """[opponent's hand] what it wins within the subgame by responding best."""
        return worths(self.root, self.weights, policy, self.opponent)[()].value

    def mean(self, values: Array) -> float:
        return float(values @ self.weight / self.weight.sum())


def random_spot(seed: int) -> Spot:
    """Pairs of hands that exclude each other, ours with any reach; payoffs of a blueprint's, or any at all."""
    rng, opponent = np.random.default_rng(seed), (seed + seed // len(HANDS)) % 2
    root, joint = random_game(seed, HANDS[seed % len(HANDS)], most=40)
    while isinstance(root, Leaf):
        seed += len(HANDS)
        root, joint = random_game(seed, HANDS[seed % len(HANDS)], most=40)
    ours = rng.random((joint.shape[1 - opponent],))
    weights = joint * (ours if opponent == 0 else ours[:, None])
    if joint.shape[opponent] > 1 and rng.random() < 0.3:
        against_us(weights, opponent)[rng.integers(joint.shape[opponent])] = 0  # no hand of ours beside it
    spot = Spot(root, weights / weights.sum(), opponent, np.zeros(joint.shape[opponent]))
    if rng.random() < 0.5:
        payoffs = rng.normal(size=(joint.shape[opponent],))
    else:
        blueprint = {
            path: normalised(rng.random(sums.shape)) for path, sums in spot.programme().best_response().policy.items()
        }
        payoffs = spot.best(blueprint)
    return Spot(spot.root, spot.weights, opponent, payoffs)


def policy_of(game: SmallGame, engine: Engine) -> dict[Path, Array]:
    """The averages of both."""
    return {path: game.strategy(engine, path) for path in game.decisions}


def response_of_ours(spot: Spot, form: Form, policy: Policy, entering: Array) -> float:
    """What our best response wins in the game with the gadget: a walk in float64 of all that comes through."""
    entered = np.where(spot.live, entering, 0.0)
    if form is Form.MAXMARGIN:
        entered = np.divide(entered, spot.weight, out=np.zeros_like(entered), where=spot.live)
        root, outside = less(spot.root, spot.payoffs, spot.opponent, spot.weights.shape[1 - spot.opponent]), 0.0
    else:
        root, outside = spot.root, spot.mean((1 - entered) * spot.payoffs)
    through = spot.weights * (entered[:, None] if spot.opponent == 0 else entered)
    ours = worths(root, through, policy, 1 - spot.opponent)[()]
    return float(ours.value @ ours.weight) - outside


# --- What it comes to -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("seed", range(30))
def test_comes_to_what_the_linear_programme_finds(seed: int, form: Form) -> None:
    """Both best responses are what a walk in float64 says, and the programme's value lies between them."""
    spot, rng = random_spot(seed), Random(seed)
    algorithm, bits, simultaneous = rng.choice(ALGORITHMS), rng.choice([32, 32, 16]), seed % 5 < 2
    game = spot.game(bits)
    engine = Engine(game, algorithm, threads=1, simultaneous=simultaneous, gadget=spot.gadget(form))
    target = 2e-2 if bits == 16 else 1e-2 if simultaneous else 1e-3
    engine.solve(10_000, target=target)
    policy, entering, found = policy_of(game, engine), engine.entering(), engine.exploitability()
    inside = spot.best(policy)
    if form is Form.RESOLVE:
        value = spot.programme().resolve([spot.payoffs]).value
        theirs = spot.mean(np.maximum(inside, spot.payoffs))
        assert ((entering >= 0) & (entering <= 1 + CLOSE)).all()
    else:
        value = -spot.programme().least_margin(spot.payoffs).value
        theirs = float((inside - spot.payoffs)[spot.live].max())
        assert entering.sum() == pytest.approx(1, abs=CLOSE)
    ours = response_of_ours(spot, form, policy, entering)
    assert found.best_response[spot.opponent] == pytest.approx(theirs, abs=CLOSE)
    assert found.best_response[1 - spot.opponent] == pytest.approx(ours, abs=CLOSE)
    assert -ours - CLOSE <= value <= theirs + CLOSE
    assert found.chips <= target
    assert engine.best_response_values(spot.opponent)[spot.live] == pytest.approx(inside[spot.live], abs=CLOSE)
    assert engine.margins()[spot.live] == pytest.approx((spot.payoffs - inside)[spot.live], abs=CLOSE)


def test_the_spots_have_all_there_can_be() -> None:
    spots = [random_spot(seed) for seed in range(30)]
    assert {(spot.opponent, seed % 5 < 2) for seed, spot in enumerate(spots)} == set(product((0, 1), (False, True)))
    assert sum(not spot.live.all() for spot in spots) >= 3
    assert max(len(spot.weight) for spot in spots) > 16  # several blocks of hands
    reached = [spot.programme().resolve([spot.payoffs]).value > spot.mean(spot.payoffs) + 0.01 for spot in spots]
    assert 5 <= sum(reached) <= 25  # the opponent gains by entering, or we can keep it from that


# --- Iteration by iteration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("seed", range(24))
def test_equals_the_twin(seed: int, form: Form) -> None:
    """CFR over histories in which the choice is a decision: the same averages after each of five iterations."""
    spot, rng = random_spot(seed), Random(seed)
    if form is Form.MAXMARGIN and not spot.live.all():
        spot = alive(spot)
    algorithm, simultaneous = rng.choice([CFR(), *ALGORITHMS]), seed % 5 < 2
    game = spot.game()
    engine = Engine(game, algorithm, threads=1, simultaneous=simultaneous, gadget=spot.gadget(form))
    make = resolve_histories if form is Form.RESOLVE else maxmargin_histories
    twin = SlowGame(make(spot.root, spot.weights, spot.payoffs, spot.opponent), algorithm, simultaneous=simultaneous)
    compared = 0
    for _ in range(5):
        engine.iterate()
        twin.iterate()
        if form is Form.RESOLVE:
            chosen = [matched(twin.averages["gadget", hand])[0] for hand in np.flatnonzero(spot.live).tolist()]
        else:
            chosen = matched(twin.averages["set", 0]).tolist()
        assert engine.entering()[spot.live] == pytest.approx(chosen, abs=CLOSE)
        for path, node in game.decisions.items():
            strategy = game.strategy(engine, path)
            for hand in range(strategy.shape[1]):
                sums = twin.averages.get((node.player, path, hand), np.zeros(1))
                if sums.sum() > 1e-3:
                    assert strategy[:, hand] == pytest.approx(sums / sums.sum(), abs=5e-5)
                    compared += 1
        best = [twin.best_response(player) for player in range(2)]
        assert engine.exploitability().best_response == pytest.approx(best, abs=CLOSE)
    assert compared >= 5


def alive(spot: Spot) -> Spot:
    """Without the hands that cannot be: no move of the twin's leads there."""
    weights = spot.weights + 0.01 * spot.weights.max()
    return Spot(spot.root, weights / weights.sum(), spot.opponent, spot.payoffs)


# --- Distributed alternative payoffs --------------------------------------------------------------------------------

MANY, LEFT_OUT = 200, 7e-4
"""How many payoffs stand for a distribution, and what a choice is worth more with the distribution, in spreads."""


@pytest.mark.parametrize("hedge", [True, False], ids=["Hedge", "Theorem 22"])
@pytest.mark.parametrize("seed", range(10))
def test_enters_as_the_thesis_says(seed: int, hedge: bool) -> None:
    """The mean over iterations of the integral (5.3), or of P(X <= v), of the values that entering had.

    Those are computed in float64 from the regrets which the engine had then.
    """
    spot, rng = random_spot(seed), Random(seed)
    algorithm, simultaneous = rng.choice([CFR(), *ALGORITHMS]), seed % 5 < 2
    spreads = np.array([rng.uniform(0.05, 2) for _ in spot.payoffs])
    game = spot.game()
    gadget = spot.gadget(spreads=spreads, hedge=hedge)
    engine = Engine(game, algorithm, threads=1, simultaneous=simultaneous, gadget=gadget)
    seen: list[Array] = []
    total, weight = np.zeros(len(spreads)), 0.0
    for number in range(1, 9):
        before = present(game, engine)
        engine.iterate()
        after = present(game, engine)
        learns_first = spot.opponent == 0 and not simultaneous
        ours = before if spot.opponent == 0 or simultaneous else after
        policy = {
            path: (before if node.player == spot.opponent else ours)[path] for path, node in game.decisions.items()
        }
        value = worths(spot.root, spot.weights, policy, spot.opponent, best=False)[()].value
        known = [*seen, value] if learns_first else seen
        kept = algorithm.weights(number)
        share = np.array([entered(known, hand, spot, spreads, hedge) for hand in range(len(spreads))])
        total = total * kept.keep_average + share * kept.add_average
        weight = weight * kept.keep_average + kept.add_average
        seen.append(value)
        assert engine.entering()[spot.live] == pytest.approx((total / weight)[spot.live], abs=1e-4)


def present(game: SmallGame, engine: Engine) -> dict[Path, Array]:
    """The strategies of the iteration to come."""
    tables = [engine.table(player, 0, regrets=True) for player in range(2)]
    return {
        path: normalised(np.maximum(tables[node.player][game.edges(path)], 0)) for path, node in game.decisions.items()
    }


def entered(seen: list[Array], hand: int, spot: Spot, spreads: Array, hedge: bool) -> float:
    """The probability of entering after these values."""
    if not seen or not spot.live[hand]:
        return 0.5
    mean, spread, values = spot.payoffs[hand], spreads[hand], np.array([value[hand] for value in seen])
    if not hedge:
        return float(norm.cdf(values[-1], mean, spread))
    count, variance = len(values), float(values.var())
    if variance < 1e-12:
        return float(norm.cdf(values[-1], mean, spread))  # the limit: Hedge is then as sure as a best response
    eta = np.sqrt(np.log(2)) / (3 * np.sqrt(variance) * np.sqrt(count))

    def taken(x: float) -> float:
        return float(norm.pdf(x, mean, spread) / (1 + np.exp(np.clip(eta * (count * x - values.sum()), -500, 500))))

    return float(quad(taken, mean - 9 * spread, mean + 9 * spread, points=[float(values.mean())], limit=200)[0])


@pytest.mark.parametrize("hedge", [True, False], ids=["Hedge", "Theorem 22"])
@pytest.mark.parametrize("seed", range(12))
def test_solves_the_game_of_distributed_payoffs(seed: int, hedge: bool) -> None:
    """Its value lies between the programme's with many equally probable payoffs for each normal distribution, and ours.

    In that game, which has more and more information sets, an outcome is seen by the opponent alone before it chooses.
    """
    spot = random_spot(seed)
    spreads = np.random.default_rng(seed).uniform(0.1, 1, len(spot.payoffs))
    game = spot.game()
    engine = Engine(game, threads=1, gadget=spot.gadget(spreads=spreads, hedge=hedge))
    engine.solve(10_000, target=1e-3)
    inside = spot.best(policy_of(game, engine))
    theirs = spot.mean(with_a_choice(inside, spot.payoffs, spreads))
    found = engine.exploitability()
    assert found.chips <= 1e-3
    assert found.best_response[spot.opponent] == pytest.approx(theirs, abs=CLOSE)
    below = spot.programme().resolve(outcomes_of_normals(spot.payoffs, spreads, MANY)).value
    assert -found.best_response[1 - spot.opponent] - CLOSE <= below + LEFT_OUT * spreads.max()
    assert below <= theirs + CLOSE


def test_many_payoffs_stand_for_a_normal_distribution() -> None:
    values = np.linspace(-5, 5, 101)
    few = outcomes_of_normals(np.zeros(101), np.ones(101), MANY)
    assert few.mean() == pytest.approx(0, abs=1e-12)
    lost = with_a_choice(values, np.zeros(101), np.ones(101)) - np.maximum(few, values).mean(axis=0)
    assert lost.min() > -1e-12
    assert lost.max() < LEFT_OUT


@pytest.mark.parametrize("seed", range(8))
def test_wide_distributions_maximise_the_sum_of_margins(seed: int) -> None:
    """Section 5.1.5: what entering is worth on average is as little as it can be, whatever the payoffs.

    With spread s the second-order term of E max(X, v) is (v - payoff)^2 / (s sqrt(8 pi)); the first is v / 2.
    """
    spot = random_spot(seed)
    game = spot.game()
    engine = Engine(game, threads=1, gadget=spot.gadget(spreads=1000.0))
    engine.solve(4000, target=2e-4)
    found = engine.exploitability().chips
    assert found <= 2e-4
    inside = spot.best(policy_of(game, engine))
    least = spot.programme().best_response().value
    assert least - CLOSE <= spot.mean(inside) <= least + 2 * (2 * found + 8**2 / (1000 * np.sqrt(8 * np.pi)))


@pytest.mark.parametrize("seed", range(8))
def test_narrow_distributions_are_resolve(seed: int) -> None:
    """Section 5.1.5. A spread s adds at most s / sqrt(2 pi) to what a choice is worth."""
    spot = random_spot(seed)
    game = spot.game()
    engine = Engine(game, threads=1, gadget=spot.gadget(spreads=1e-3))
    engine.solve(10_000, target=1e-3)
    found = engine.exploitability().chips
    assert found <= 1e-3
    won = spot.mean(np.maximum(spot.best(policy_of(game, engine)), spot.payoffs))
    value = spot.programme().resolve([spot.payoffs]).value
    assert value - CLOSE <= won <= value + 2 * found + 1e-3 / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("hedge", [True, False], ids=["Hedge", "Theorem 22"])
@pytest.mark.parametrize("spreads", [(0.1, 0.1), (0.3, 0.3), (1, 1), (0.6, 0.2), (0.1, 0.4)])
def test_spreads_share_the_margin_in_coin_toss(spreads: tuple[float, float], hedge: bool) -> None:
    """The margins of Maxmargin, 1/4 and 1/4, in proportion to the spreads.

    What one margin gains the other loses, here out of 1/2, and P(X <= v) must be the same for both sides.
    """
    engine = Engine(SmallGame(guess(), COIN), threads=1, gadget=Gadget(0, [0, 0.5], spreads=spreads, hedge=hedge))
    engine.iterate(5000)
    assert engine.margins() == pytest.approx(0.5 * np.array(spreads) / sum(spreads), abs=2e-3)


# --- In poker -------------------------------------------------------------------------------------------------------

GADGETS: dict[str, Callable[[Array], Gadget]] = {
    "resolve": lambda payoffs: Gadget(0, payoffs),
    "resolve, second": lambda payoffs: Gadget(1, payoffs),
    "maxmargin": lambda payoffs: Gadget(0, payoffs, Form.MAXMARGIN),
    "maxmargin, second": lambda payoffs: Gadget(1, payoffs, Form.MAXMARGIN),
    "Hedge": lambda payoffs: Gadget(0, payoffs, spreads=0.3),
    "Theorem 22, second": lambda payoffs: Gadget(1, payoffs, spreads=0.3, hedge=False),
}
PAYOFFS = np.linspace(-2.5, 1.5, 6)
"""What each card of Leduc is worth elsewhere."""


RANGES = [np.array([0.3, 1.0, 0.6, 0.2, 0.9, 0.5]), np.array([0.8, 0.1, 0.4, 1.0, 0.7, 0.3])]
"""The opponent's too: Resolve then deals its hands so often, Maxmargin does not care."""


def poker_subgame(bits: int = 32) -> Subgame:
    return Subgame(start(LEDUC), (), RANGES, parse_menu("small"), storage=Storage(bits), alike=False)


@pytest.mark.parametrize("simultaneous", [False, True], ids=["alternating", "simultaneous"])
@pytest.mark.parametrize("name", GADGETS)
def test_small_games_and_poker_have_the_same_gadgets(name: str, simultaneous: bool) -> None:
    """Leduc from its rules as one street of matrices, and as streets, boards and hands: the same, pass by pass.

    Some actions are worth exactly the same, and CFR learns from what rounding makes of that. With simultaneous updates
    it shows from the fourth iteration on.
    """
    gadget = GADGETS[name](PAYOFFS)
    root, joint = leduc()
    dealt = joint * np.outer(*RANGES)
    small = SmallGame(root, dealt / dealt.sum())
    ours = Engine(small, gadget=gadget, simultaneous=simultaneous)
    theirs = Solver(poker_subgame(), gadget=gadget, simultaneous=simultaneous)
    for number in range(3 if simultaneous else 10):
        ours.iterate()
        theirs.iterate()
        close = 1e-4 if number < 4 else 2e-3  # what is rounded differently is learnt from
        assert ours.entering() == pytest.approx(theirs.entering(), abs=close)
        assert ours.margins() == pytest.approx(theirs.margins(), abs=close)
        found = ours.exploitability().best_response, theirs.exploitability().best_response
        assert found[0] == pytest.approx(found[1], abs=close)
    by_betting = {(d.betting.replace("/", ""), cards_text(d.board)): d for d in decisions(poker_subgame())}
    assert {betting_and_board(path) for path in small.decisions} == set(by_betting)


@pytest.mark.parametrize("bits", [32, 16])
@pytest.mark.parametrize("name", GADGETS)
def test_the_number_of_threads_changes_no_bit(name: str, bits: int) -> None:
    found = []
    for threads in (1, 2, 3):
        engine = Engine(poker_subgame(bits), threads=threads, gadget=GADGETS[name](PAYOFFS))
        engine.iterate(30)
        tables = [*engine.regrets, *engine.averages]
        numbers = [engine.entering(), engine.margins(), np.array(engine.exploitability().best_response)]
        found.append([each.tobytes() for each in [*tables, *numbers]])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("name", GADGETS)
def test_batches_change_no_bit(name: str) -> None:
    """Thirty iterations at once, or one by one and with questions between them."""
    whole, parts = (Engine(poker_subgame(), threads=1, gadget=GADGETS[name](PAYOFFS)) for _ in range(2))
    whole.iterate(30)
    for _ in range(30):
        parts.iterate()
        parts.exploitability()
    assert [each.tobytes() for each in [*whole.regrets, *whole.averages, whole.entering()]] == [
        each.tobytes() for each in [*parts.regrets, *parts.averages, parts.entering()]
    ]


# --- Hands that cannot be -------------------------------------------------------------------------------------------


def with_dead_hands(node: Node, opponent: int) -> Node:
    """The same tree for one more hand of the opponent before all others, and one after them."""
    room = [(0, 0), (0, 0)]
    room[opponent] = (1, 1)
    match node:
        case Leaf(payoff):
            return Leaf(np.pad(payoff, room, constant_values=7) if np.ndim(payoff) else payoff)
        case Decision(player, children):
            return Decision(player, {name: with_dead_hands(child, opponent) for name, child in children.items()})
        case Chance(outcomes):
            padded = {name: np.pad(p, room) if np.ndim(p) else p for name, (p, _) in outcomes.items()}
            return Chance({name: (padded[name], with_dead_hands(c, opponent)) for name, (_, c) in outcomes.items()})


@pytest.mark.parametrize("form", ["resolve", "maxmargin", "Hedge", "Theorem 22"])
@pytest.mark.parametrize("seed", [1, 4, 7])
def test_hands_that_cannot_be_change_nothing(seed: int, form: str) -> None:
    """Two more hands of the opponent for which we hold nothing, with very good and very bad alternatives."""
    spot = alive(random_spot(seed))
    room = [(0, 0), (0, 0)]
    room[spot.opponent] = (1, 1)
    weights, root = np.pad(spot.weights, room), with_dead_hands(spot.root, spot.opponent)
    wide = Spot(root, weights, spot.opponent, np.pad(spot.payoffs, 1, constant_values=(-100, 100)))
    engines = []
    for each in (spot, wide):
        spreads = 0.3 if form in ("Hedge", "Theorem 22") else None
        gadget = each.gadget(Form(form) if spreads is None else Form.RESOLVE, spreads, hedge=form == "Hedge")
        engines.append(Engine(each.game(), threads=1, gadget=gadget))
        engines[-1].iterate(100)
    plain, padded = engines
    assert padded.entering()[1:-1] == pytest.approx(plain.entering(), abs=CLOSE)
    assert padded.problem.weights[spot.opponent][[0, -1]].tolist() == [0, 0]
    assert padded.margins()[1:-1] == pytest.approx(plain.margins(), abs=1e-4)
    assert padded.margins()[[0, -1]].tolist() == [np.inf, np.inf]
    assert padded.exploitability().best_response == pytest.approx(plain.exploitability().best_response, abs=1e-4)
    assert np.isfinite(padded.exploitability().chips)


# --- Gifts, and what makes no sense ---------------------------------------------------------------------------------


def test_gifts() -> None:
    """Section 5.1.3 by hand: [action, hand] values, the second action taken."""
    values = np.array([[3.0, 0.0, -1.0], [1.0, 2.0, -1.0], [2.0, 5.0, -4.0]])
    assert gift(values, 1, [0]).tolist() == [2, 0, 0]
    assert gift(values, 1, [2]).tolist() == [1, 3, 0]
    assert gift(values, 1, [0, 2]).tolist() == gift(values, 1).tolist() == [2, 3, 0]
    assert gift(values, 1, []).tolist() == gift(values, 1, [1]).tolist() == [0, 0, 0]
    assert gift(values, 0, [2]).tolist() == [0, 5, 0]
    assert gift(values, 1, scale=10).tolist() == [20, 30, 0]


@pytest.mark.parametrize(
    ("gadget", "message"),
    [
        (lambda: Gadget(0, [0, 0, 0]), r"payoffs \(3,\): expected one number or 2, by hand, all finite"),
        (lambda: Gadget(0, [0, np.nan]), "payoffs .* all finite"),
        (lambda: Gadget(0, 0, spreads=[1, 2, 3]), r"spreads \(3,\): expected"),
        (lambda: Gadget(0, 0, spreads=[1, -1]), "spreads: expected standard deviations from 0 up"),
        (lambda: Gadget(0, 0, Form.MAXMARGIN, spreads=1), "spreads: .* form resolve"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(gadget: Callable[[], Gadget], message: str) -> None:
    with pytest.raises(GadgetError, match=message):
        Engine(SmallGame(guess(), COIN), gadget=gadget())


def test_nobody_chooses_without_a_gadget() -> None:
    engine = Engine(SmallGame(guess(), COIN))
    for ask in (engine.entering, engine.margins):
        with pytest.raises(SolverError, match="no gadget"):
            ask()


def test_a_problem_is_left_alone() -> None:
    """An engine with a gadget does not change what others solve."""
    game = SmallGame(guess(), COIN)
    before = Engine(game).exploitability()
    Engine(game, gadget=Gadget(0, [0, 0.5], Form.MAXMARGIN)).iterate(20)
    assert Engine(game).exploitability() == before
