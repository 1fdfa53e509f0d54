"""The solver against known values, published numbers, and its slow twin."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from reference.slow_cfr import SlowCFR
from solver_tables import average, decisions, matched, moved, write
from variants import some_of

from protocol.cards import parse_cards
from protocol.game import Game, load_game, parse_game
from protocol.hands import SUIT_PERMUTATIONS, hands_of, permute_cards
from protocol.state import CALL, Raise, State, apply, start
from solver.algorithms import CFR, CFR_PLUS, DCFR, Algorithm
from solver.betting import ForestError
from solver.menu import LIBRATUS, Menu, parse_menu
from solver.subgame import Subgame, SubgameError, SubgameLimits
from solver.subgame_solver import Solver

KUHN = parse_game(
    "limit\nnumPlayers 2\nnumRounds 1\nblind 1 1\nraiseSize 1\nmaxRaises 1\n"
    "numSuits 1\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0\nend gamedef"
).game
LEDUC = parse_game(
    "limit\nnumPlayers 2\nnumRounds 2\nblind 1 1\nraiseSize 2 4\nmaxRaises 2 2\n"
    "numSuits 2\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0 1\nend gamedef"
).game
SHORT_DECK = parse_game(
    "nolimit\nnumPlayers 2\nnumRounds 4\nblind 100 50\nstack 1000 1000\nfirstPlayer 2 1 1 1\n"
    "numSuits 3\nnumRanks 4\nnumHoleCards 2\nnumBoardCards 0 3 1 1\nend gamedef"
).game
HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game


def whole_game(game: Game, algorithm: Algorithm | None = None) -> tuple[Solver, Subgame]:
    subgame = Subgame(start(game), (), [np.ones(len(hands_of(game)))] * 2, LIBRATUS)
    return Solver(subgame, algorithm), subgame


def test_kuhn_is_worth_minus_an_eighteenth() -> None:
    solver, _ = whole_game(KUHN)
    solver.iterate(5000)
    assert solver.game_value(0) == pytest.approx(-1 / 18, abs=1e-5)
    assert solver.exploitability().chips < 1e-4


def test_leduc_has_its_known_value() -> None:
    solver, _ = whole_game(LEDUC)
    assert solver.exploitability().mbb == pytest.approx(2373.6, abs=0.05)  # uniform play
    solver.iterate(2000)
    assert solver.game_value(0) == pytest.approx(-0.0856, abs=1e-4)
    assert solver.game_value(1) == pytest.approx(0.0856, abs=1e-4)
    assert solver.exploitability().chips < 1e-3


@pytest.mark.parametrize(("action", "expected"), [(1, 1466.7), (-1, 2366.7), (0, 1000.0)])
def test_exploitability_of_pure_strategies_in_leduc(action: int, expected: float) -> None:
    """Always-call, always-raise and check/fold lose what an independent program says they do."""
    solver, subgame = whole_game(LEDUC)
    for decision in decisions(subgame):
        names = [type(each).__name__ for each in decision.actions]
        wanted = {1: "Call", -1: names[-1], 0: names[0]}[action]
        sums = np.zeros((len(names), len(subgame.hands[decision.player])))
        sums[names.index(wanted)] = 1.0
        write(solver, decision, sums)
    assert solver.exploitability().mbb == pytest.approx(expected, abs=0.05)


def test_cfr_plus_in_leduc_converges_as_published() -> None:
    """CFR+ after 100 and 1,000 iterations: 13.4 and 0.25 (13.4 to the digit, the other within the conventions)."""
    solver, _ = whole_game(LEDUC, CFR_PLUS())
    solver.iterate(100)
    assert solver.exploitability().mbb == pytest.approx(13.4, abs=0.1)
    solver.iterate(900)
    assert solver.exploitability().mbb == pytest.approx(0.25, rel=0.15)


def at_turn(game: Game, to: int | None) -> State:
    """The first state of the turn after calls, or after one raise before the flop."""
    state = start(game)
    for action in ([Raise(to)] if to else []) + [CALL] * 8:
        if state.street == 2:
            return state
        state = apply(state, action)
    raise AssertionError("the turn is reached")


def random_case(rng: Random) -> tuple[State, tuple, list[dict], Menu]:
    """A small subgame of a twelve-card deck: board, sparse ranges, sizes and stacks at random."""
    state = at_turn(SHORT_DECK, rng.choice([None, 200, 400]))
    if rng.random() < 0.5:
        state = apply(apply(state, CALL), CALL)
    deck = list(SHORT_DECK.deck())
    rng.shuffle(deck)
    board = tuple(deck[: SHORT_DECK.board_cards_by(state.street)])
    if rng.random() < 0.5:
        ranges = [{hand: rng.random() for hand in rng.sample(hands_of(SHORT_DECK), 12)} for _ in range(2)]
    else:  # by class, so that boards can be alike
        ranges = [dict.fromkeys(hands_of(SHORT_DECK), 0.0) for _ in range(2)]
        for weights in ranges:
            classes = {(a >> 2, b >> 2, a & 3 == b & 3) for a, b in weights}
            chosen = {each: rng.random() for each in rng.sample(sorted(classes), 5)}
            weights |= {(a, b): chosen.get((a >> 2, b >> 2, a & 3 == b & 3), 0.0) for a, b in weights}
    ranges = [{hand: w for hand, w in weights.items() if w and not set(hand) & set(board)} for weights in ranges]
    # The largest weight is 1, as the solver makes it, so that regrets of both are on one scale.
    ranges = [{hand: w / max(weights.values()) for hand, w in weights.items()} for weights in ranges]
    first = ",".join([*rng.sample(["30%", "50%", "100%", "200%"], rng.choice([0, 1, 2])), "a"])
    return state, board, ranges, parse_menu(f"{first} / {rng.choice(['a', '100%,a'])}; cap {rng.choice([1, 2, 64])}")


def as_array(game: Game, weights: dict) -> np.ndarray:
    return np.array([weights.get(hand, 0.0) for hand in hands_of(game)])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("alike", [True, False], ids=["alike", "each"])
@pytest.mark.parametrize("seed", some_of(range(16), every=3))
def test_equals_the_slow_twin(seed: int, alike: bool, threads: int) -> None:
    """Regrets, averages and best responses after several iterations, for every hand, board and decision."""
    rng = Random(seed)
    while True:
        root, board, ranges, menu = random_case(rng)
        if any(not set(a) & set(b) for a in ranges[0] for b in ranges[1]):
            break
    # Not CFR+: it floors at zero, from where rounding alone decides the sign of the next sum.
    algorithm = rng.choice([CFR(), DCFR(), DCFR(1, 1, 1), DCFR(1.5, 0.5, 4)])
    simultaneous = rng.random() < 0.3
    subgame = Subgame(root, board, [as_array(SHORT_DECK, weights) for weights in ranges], menu, alike=alike)
    solver = Solver(subgame, algorithm, threads=threads, simultaneous=simultaneous)
    twin = SlowCFR(root, board, ranges, menu, algorithm, simultaneous=simultaneous)
    start_from_random_regrets(solver, subgame, twin, rng)
    for _ in range(3):
        solver.iterate()
        twin.iterate()
    for player in range(2):
        chance = subgame.chance(subgame.weights[player], player)
        best = float(solver.best_response_values(player) @ chance)
        assert best == pytest.approx(twin.best_response(player), rel=1e-4, abs=1e-2)
    assert compare_averages(solver, subgame, twin) > 10


def start_from_random_regrets(solver: Solver, subgame: Subgame, twin: SlowCFR, rng: Random) -> None:
    """The same regrets for both, as if some iterations were done; equal where a change of suits makes things alike.

    From nothing, many regrets stay zero but for rounding, and float32 and float64 would then play different strategies.
    """
    solver.iterations = twin.iterations = 5
    salt, given = rng.random(), len(subgame.board)
    for decision in decisions(subgame):
        player, number, hands = decision.player, decision.board_number, subgame.hands[decision.player]
        # The solver's regrets of later streets leave out the probability of the board.
        scale = 1 / float(subgame.deals.chance[: subgame.deals.street[number] + 1].prod())
        table = solver.table(player, number, regrets=True)
        for column, hand in enumerate(hands):
            regrets = random_regrets(salt, decision.betting, hand, decision.board, given, len(decision.actions))
            table[decision.edge : decision.edge + len(regrets), column] = np.array(regrets) * scale
            for cards, _ in decision.images:
                values = random_regrets(salt, decision.betting, hand, cards, given, len(decision.actions))
                twin.regrets[player, hand, decision.betting, cards] = values
        solver.set_table(player, number, table, regrets=True)


def random_regrets(salt: float, betting: str, hand: tuple, board: tuple, given: int, count: int) -> list[float]:
    """Numbers from -100 to 100 that a change of suits leaves alone; `given` cards lay at the root."""
    looks = [
        (
            sorted(permute_cards(hand, suits)),
            sorted(permute_cards(board[:given], suits)),
            permute_cards(board[given:], suits),
        )
        for suits in SUIT_PERMUTATIONS
    ]
    source = Random(f"{salt} {betting} {min(looks)}")
    return [source.uniform(-100, 100) for _ in range(count)]


def compare_averages(solver: Solver, subgame: Subgame, twin: SlowCFR) -> int:
    """How many strategies were compared, on every board."""
    compared = 0
    for decision in decisions(subgame):
        strategy = matched(average(solver, decision))
        for cards, suits in decision.images:
            of = moved(subgame.hands[decision.player], suits)
            for column, hand in enumerate(subgame.hands[decision.player]):
                expected = twin.averages.get((decision.player, hand, decision.betting, cards))
                if expected is None or sum(expected) < 1e-3 or set(hand) & set(cards):
                    continue
                wanted = np.array(expected) / sum(expected)
                assert strategy[:, of[column]] == pytest.approx(wanted, abs=2e-3)
                compared += 1
    return compared


def test_values_of_both_players_add_up_to_nothing() -> None:
    rng = np.random.default_rng(1)
    root = at_turn(HOLDEM, 300)
    ranges = [rng.random(1326) * (rng.random(1326) < 0.1) for _ in range(2)]
    solver = Solver(Subgame(root, parse_cards("7h8cJsQd"), ranges, parse_menu("100%,a / a")))
    solver.iterate(300)
    assert abs(solver.game_value(0) + solver.game_value(1)) < 1e-4 * root.pot
    assert solver.exploitability().pot_share < 0.02


@pytest.mark.parametrize("weight", [1.0, 1e-12])
def test_one_hand_against_one(weight: float) -> None:
    """Ranges of a single hand, also with tiny weights, give finite values."""
    ranges = [np.zeros(1326), np.zeros(1326)]
    ranges[0][0], ranges[1][1000] = weight, weight
    solver = Solver(Subgame(at_turn(HOLDEM, None), parse_cards("7h8cJsQd"), ranges, LIBRATUS))
    solver.iterate(10)
    assert np.isfinite(solver.values(0)).all()
    assert np.isfinite(solver.exploitability().chips)


def test_what_cannot_be_solved_is_refused_with_the_reason() -> None:
    ones = [np.ones(1326)] * 2
    turn = at_turn(HOLDEM, None)
    with pytest.raises(SubgameError, match="expected 4 different cards"):
        Subgame(turn, parse_cards("7h8cJs"), ones, LIBRATUS)
    with pytest.raises(SubgameError, match="at least one hand"):
        Subgame(turn, parse_cards("7h8cJsQd"), [np.zeros(1326), ones[1]], LIBRATUS)
    with pytest.raises(SubgameError, match="expected 1326 weights"):
        Subgame(turn, parse_cards("7h8cJsQd"), [np.ones(10), ones[1]], LIBRATUS)
    with pytest.raises(SubgameError, match="offer fewer sizes"):
        Subgame(turn, parse_cards("7h8cJsQd"), ones, LIBRATUS, limits=SubgameLimits(bytes=1 << 20))
    with pytest.raises(ForestError, match="offer fewer sizes"):
        Subgame(turn, parse_cards("7h8cJsQd"), ones, LIBRATUS, limits=SubgameLimits(nodes=10))
    same = np.zeros(1326)
    same[1000] = 1
    with pytest.raises(SubgameError, match="block each other"):
        Subgame(turn, parse_cards("2c3c4c5c"), [same, same], LIBRATUS)
