"""Small games through the solver's kernels: known values, the poker front, Brown's thesis, and a twin over histories.

How close. Kernels add up in float32, whose last bit is 6e-8 of the sum: where the same is computed in another order or
in float64, results are held to a millionth of what is at stake. Whoever plays on after that is held to what is
converged: exploitability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
from leduc import LEDUC
from reference.slow_small_game import SlowGame, histories, picked
from small_games import (
    COIN,
    RPS_PLUS,
    Rules,
    betting_and_board,
    coin_toss,
    guess,
    kinds,
    kuhn,
    leduc,
    poker,
    random_game,
    rps_plus,
    two_subgames,
)
from solver_tables import average, decisions, everyone, matched, write

from protocol.cards import cards_text
from protocol.game import Game, load_game, parse_game
from protocol.state import start
from solver.algorithms import CFR, CFR_PLUS, DCFR, Algorithm
from solver.engine import Engine
from solver.gadgets import Gadget, GadgetError, hidden_choice
from solver.kernels.cfr import lead
from solver.menu import parse_menu
from solver.small import Chance, Decision, Leaf, Node, Path, SmallGame, SmallGameError
from solver.subgame import Subgame
from solver.subgame_solver import Solver

MENU = parse_menu("100%,a / a; cap 2")


def play(game: SmallGame, engine: Engine, policy: dict[Path, np.ndarray]) -> None:
    """Make these the averages: [action, hand] by path."""
    tables = [engine.table(player, 0) if engine.averages[player].size else np.zeros((0, 0)) for player in range(2)]
    for path, sums in policy.items():
        tables[game.decisions[path].player][game.edges(path)] = sums
    for player, table in enumerate(tables):
        if table.size:
            engine.set_table(player, 0, table)


# --- Poker, and what else is known ----------------------------------------------------------------------------------


def limit(cards: str, hole: int, board: str, sizes: str, raises: str) -> Game:
    ranks, suits = cards.split("x")
    return parse_game(
        f"limit\nnumPlayers 2\nnumRounds {len(board.split())}\nblind 1 1\nraiseSize {sizes}\nmaxRaises {raises}\n"
        f"numSuits {suits}\nnumRanks {ranks}\nnumHoleCards {hole}\nnumBoardCards {board}\nend gamedef"
    ).game


KUHN = limit("3x1", 1, "0", "1", "1")
GAMES = {
    "Kuhn": (KUHN, kuhn),
    "Leduc": (LEDUC, leduc),
    "no-limit Leduc": (load_game("leduc").game, None),
    "flop hold'em of nine cards": (limit("3x3", 2, "0 3", "2 4", "1 1"), None),
    "turn hold'em of eight cards": (limit("4x2", 2, "0 3 1", "2 2 4", "0 1 1"), None),
}


@pytest.mark.parametrize("name", [*[*GAMES][:-1], pytest.param([*GAMES][-1], marks=pytest.mark.proof)])
def test_random_policies_are_worth_the_same_as_in_the_poker_front(name: str) -> None:
    """Values and best responses of every hand. The trees of Kuhn and Leduc are written from their rules."""
    game, rules = GAMES[name]
    small = SmallGame(*(rules() if rules else poker(game, MENU)))
    # Alike boards too, so that every decision of one front is one of the other's.
    subgame = Subgame(start(game), (), everyone(game), MENU, alike=False)
    ours, theirs = Engine(small), Solver(subgame)
    by_betting = {}
    for decision in decisions(subgame):
        by_betting[decision.betting.replace("/", ""), cards_text(decision.board)] = decision
    assert len(by_betting) == len(small.decisions)
    for seed in range(3 if rules else 1):
        rng, policy = np.random.default_rng(seed), {}
        for path, node in small.decisions.items():
            decision = by_betting[betting_and_board(path)]
            assert decision.player == node.player
            policy[path] = rng.random((len(node.children), small.joint.shape[node.player]))
            policy[path] *= rng.random(policy[path].shape) < 0.7
            write(theirs, decision, policy[path])
        play(small, ours, policy)
        stake = float(subgame.trees.showdown_chips.max())
        for player in range(2):
            close = pytest.approx(theirs.root_values(player), abs=1e-6 * stake)
            assert ours.root_values(player) == close
            assert ours.game_value(player) == pytest.approx(theirs.game_value(player), abs=1e-6 * stake)
            close = pytest.approx(theirs.best_response_values(player), abs=1e-6 * stake)
            assert ours.best_response_values(player) == close
        assert ours.exploitability().chips == pytest.approx(theirs.exploitability().chips, abs=1e-6 * stake)


@pytest.mark.parametrize("name", ["Kuhn", "Leduc"])
def test_learns_as_the_poker_front_does(name: str) -> None:
    """The same averages after every one of ten iterations."""
    game, rules = GAMES[name]
    small = SmallGame(*rules())
    subgame = Subgame(start(game), (), everyone(game), MENU, alike=False)
    ours, theirs = Engine(small), Solver(subgame)
    for _ in range(10):
        ours.iterate()
        theirs.iterate()
        assert ours.exploitability().chips == pytest.approx(theirs.exploitability().chips, rel=1e-4)
    by_betting = {(d.betting.replace("/", ""), cards_text(d.board)): d for d in decisions(subgame)}
    for path in small.decisions:
        decision = by_betting[betting_and_board(path)]
        live = [not set(hand) & set(decision.board) for hand in subgame.hands[decision.player]]
        wanted = matched(average(theirs, decision))[:, live]
        assert small.strategy(ours, path)[:, live] == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("rules", "bits", "value", "exploitability"),
    [
        (kuhn, 32, -1 / 18, 1e-3),
        (leduc, 32, -0.0856, 1e-3),
        (coin_toss, 32, 0.0, 1e-3),
        (two_subgames, 32, 0.0, 1e-3),
        (kuhn, 16, -1 / 18, 1e-2),
        (leduc, 16, -0.0856, 1e-2),
        (coin_toss, 16, 0.0, 1e-2),
    ],
)
def test_known_values(rules: Callable[[], Rules], bits: int, value: float, exploitability: float) -> None:
    game = SmallGame(*rules(), bits=bits)
    engine = Engine(game)
    engine.iterate(2000)
    assert engine.exploitability().chips < exploitability
    assert engine.game_value(0) == pytest.approx(value, abs=exploitability / 10)
    assert engine.game_value(1) == pytest.approx(-engine.game_value(0), abs=1e-6)


# --- Brown's thesis -------------------------------------------------------------------------------------------------

PLAY = ("play",)


def against(guesses: Sequence[float]) -> tuple[SmallGame, Engine]:
    """Coin Toss in which player 1 guesses so (heads, tails, forfeit)."""
    game = SmallGame(*coin_toss())
    engine = Engine(game)
    play(game, engine, {PLAY: np.array(guesses)[:, None]})
    return game, engine


@pytest.mark.parametrize(("sell", "guesses"), [((0.5, -0.5), (0.25, 0.75, 0)), ((-0.5, 0.5), (0.75, 0.25, 0))])
def test_coin_toss_depends_on_what_the_coin_is_sold_for(sell: tuple[float, float], guesses: tuple[float, ...]) -> None:
    """Section 5.1.1: the optimal guesses, and the other player indifferent between its actions with either side."""
    game = SmallGame(*coin_toss(sell))
    engine = Engine(game)
    engine.iterate(4000)
    assert game.strategy(engine, PLAY)[:, 0] == pytest.approx(guesses, abs=1e-3)
    assert game.values(engine, 0, PLAY) == pytest.approx(sell, abs=2e-3)
    assert game.values(engine, 0, ["sell"]) == pytest.approx(sell, abs=1e-6)
    assert engine.exploitability().chips < 1e-3


@pytest.mark.parametrize(
    ("guesses", "by_side"), [((1, 0, 0), (0.5, 1)), ((0, 1, 0), (1, -0.5)), ((0.25, 0.75, 0), (0.5, -0.5))]
)
def test_best_responses_in_coin_toss(guesses: tuple[float, ...], by_side: tuple[float, float]) -> None:
    """Section 5.1.1: $0.75, $0.25 and $0 on average."""
    _, engine = against(guesses)
    assert engine.best_response_values(0) == pytest.approx(by_side, abs=1e-6)
    assert engine.exploitability().best_response[0] == pytest.approx(sum(by_side) / 2, abs=1e-6)


def test_the_blueprint_of_coin_toss() -> None:
    """Figure 5.2: Play is worth 0 with heads and 1/2 with tails."""
    game, engine = against((0.5, 0.25, 0.25))
    play(game, engine, {(): np.array([[0.25, 0.5], [0.75, 0.5]])})
    assert game.values(engine, 0, PLAY) == pytest.approx([0, 0.5], abs=1e-6)
    assert engine.best_response_values(0) == pytest.approx([0.5, 0.5], abs=1e-6)
    assert game.reach(engine, 0, PLAY).tolist() == [0.75, 0.5]
    # Player 1 comes to guess with certainty, and wins with tails what it loses with heads.
    assert game.reach(engine, 1, PLAY).tolist() == [1.0]
    assert game.values(engine, 1, PLAY) == pytest.approx([-(0.75 * 0 + 0.5 * 0.5) / 1.25], abs=1e-6)
    assert game.values(engine, 1, PLAY, best=True) == pytest.approx([(0.75 - 0.5) / 1.25], abs=1e-6)


def test_unsafe_search_in_coin_toss_always_guesses_heads() -> None:
    """Section 5.1.2: the subgame after Play alone, with the blueprint's range."""
    game = SmallGame(guess(), np.array([[0.6], [0.4]]))
    engine = Engine(game)
    engine.iterate(500)
    assert game.strategy(engine)[:, 0] == pytest.approx([1, 0, 0], abs=1e-3)
    assert engine.game_value(0) == pytest.approx(-0.2, abs=1e-3)


@pytest.mark.parametrize(
    ("alternative", "heads", "by_side", "exploited"),
    [
        ((0, 0.5), 5 / 8, (-1 / 4, 1 / 4), 3 / 8),
        ((0.5, 0.5), 1 / 2, (0, 0), 1 / 4),
        ((0.5, -0.5), 1 / 4, (0.5, -0.5), 0),
    ],
    ids=["Maxmargin", "Reach-Maxmargin", "what the coin is sold for"],
)
def test_safe_search_in_coin_toss(
    alternative: tuple[float, float], heads: float, by_side: tuple[float, float], exploited: float
) -> None:
    """Sections 5.1.2, 5.1.3 and 5.1.10: player 0 picks the side it enters with, for what it wins beyond alternatives.

    Maxmargin's are what the blueprint gave it; Reach adds the gift of 1/2 at heads, where Sell would have been better
    (equation 5.2; the first action is no gift at tails). The thesis gives Maxmargin's numbers, and names guesses that
    make the other player indifferent, with heads and tails exchanged: 3/4 heads would cost 1/2.
    """
    shifted = {
        name: Leaf(np.array(leaf.payoff) - np.array(alternative)[:, None]) for name, leaf in guess().children.items()
    }
    game = SmallGame(Decision(1, shifted), COIN)
    chooser = Engine(game, gadget=hidden_choice(0))
    chooser.iterate(4000)
    guesses = game.strategy(chooser)[:, 0]
    assert guesses == pytest.approx([heads, 1 - heads, 0], abs=1e-3)
    assert chooser.exploitability().chips < 1e-3
    whole, engine = against(guesses)
    assert whole.values(engine, 0, PLAY, best=True) == pytest.approx(by_side, abs=2e-3)
    assert engine.exploitability().best_response[0] == pytest.approx(exploited, abs=2e-3)


@pytest.mark.parametrize(
    ("first", "second", "value"), [(0.5, 0.5, 0.25), (1, 0.5, 0.0), (0.75, 0.75, 0.0), (1, 1, 0.25)]
)
def test_two_subgames_share_what_can_be_given_away(first: float, second: float, value: float) -> None:
    """Figure 5.4, by how probably tails is guessed in each: always in one is optimal, always in both is too much."""
    game = SmallGame(*two_subgames())
    engine = Engine(game)
    tails = {"first": first, "second": second}
    play(game, engine, {("play", name): np.array([[1 - p], [p]]) for name, p in tails.items()})
    assert engine.exploitability().best_response[0] == pytest.approx(value, abs=1e-6)
    mean = first + second - 1
    assert game.values(engine, 0, PLAY) == pytest.approx([mean, -mean], abs=1e-6)


@pytest.mark.parametrize("algorithm", [DCFR(), CFR_PLUS()], ids=str)
@pytest.mark.parametrize("bits", [32, 16])
@pytest.mark.parametrize("player", [0, 1])
def test_rock_paper_scissors_plus(player: int, bits: int, algorithm: Algorithm) -> None:
    """Section 5.2.1: 40 %, 40 % and 20 % for both, and every action is worth nothing."""
    root, joint = rps_plus()
    if player == 1:
        names = list(root.children)
        root, joint = Decision(0, {n: Leaf(RPS_PLUS[[row]]) for row, n in enumerate(names)}), joint.T
    game = SmallGame(root, joint, bits=bits)
    chooser = Engine(game, algorithm, gadget=hidden_choice(player))
    chooser.iterate(5000)
    close = 1e-3 if bits == 32 else 1e-2  # bfloat16 has two digits
    assert chooser.entering() == pytest.approx([0.4, 0.4, 0.2], abs=close)
    assert game.strategy(chooser)[:, 0] == pytest.approx([0.4, 0.4, 0.2], abs=close)
    assert chooser.exploitability().chips < (1e-3 if bits == 32 else 1e-2)
    assert chooser.root_values(player) == pytest.approx([0, 0, 0], abs=4 * close)
    assert chooser.game_value(1 - player) == pytest.approx(0, abs=close)


# --- The twin -------------------------------------------------------------------------------------------------------

SIZES = [(1, 1), (2, 3), (3, 1), (4, 5), (1, 17), (18, 2)]
ALGORITHMS = [CFR(), CFR_PLUS(), DCFR(), DCFR(1, 1, 1), DCFR(1.5, 0.5, 4)]
SEEDS = range(36)


def random_rules(seed: int) -> Rules:
    return random_game(seed, SIZES[seed % len(SIZES)], most=200 if seed % len(SIZES) < 3 else 40)


def set_random_regrets(game: SmallGame, engine: Engine, twin: SlowGame, scale: Sequence[np.ndarray]) -> None:
    """As if some iterations were done; `scale` [player][hand] is how much larger the twin's are."""
    rng = np.random.default_rng(1)
    for player in range(2):
        paths = [path for path, node in game.decisions.items() if node.player == player]
        if paths:
            table = engine.table(player, 0, regrets=True)
            table[:] = rng.uniform(-0.1, 0.1, table.shape).astype(np.float32)
            engine.set_table(player, 0, table, regrets=True)
            for path in paths:
                for hand, times in enumerate(scale[player]):
                    twin.regrets[player, path, hand] = table[game.edges(path), hand] * times
    engine.iterations = twin.iterations = 5


def compare_with_the_twin(game: SmallGame, engine: Engine, twin: SlowGame, scale: Sequence[np.ndarray]) -> None:
    """Regrets and averages of all information sets, values, best responses."""
    compared = 0
    for path, node in game.decisions.items():
        regrets = engine.table(node.player, 0, regrets=True)[game.edges(path)] * scale[node.player]
        for hand in range(regrets.shape[1]):
            name = node.player, path, hand
            if name not in twin.averages:
                continue  # the hand never comes there
            assert regrets[:, hand] == pytest.approx(twin.regrets[name], abs=1e-5, rel=1e-5)
            sums = twin.averages[name]
            if sums.sum() > 1e-3:
                assert game.strategy(engine, path)[:, hand] == pytest.approx(sums / sums.sum(), abs=1e-5)
            compared += 1
    assert compared == sum(name[0] in (0, 1) for name in twin.averages) >= len(game.decisions)
    assert engine.game_value(0) == pytest.approx(twin.value(), abs=2e-6)
    assert engine.game_value(1) == pytest.approx(-twin.value(), abs=2e-6)
    found = engine.exploitability().best_response
    assert found == pytest.approx([twin.best_response(player) for player in range(2)], abs=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_equals_the_twin(seed: int) -> None:
    rules, rng = random_rules(seed), Random(seed)
    algorithm, simultaneous = rng.choice(ALGORITHMS), rng.random() < 0.4
    game, twin = SmallGame(*rules), SlowGame(histories(*rules), algorithm, simultaneous=simultaneous)
    engine = Engine(game, algorithm, simultaneous=simultaneous)
    scale = [np.full(count, rules[1].max()) for count in game.joint.shape]
    set_random_regrets(game, engine, twin, scale)
    for _ in range(3):
        engine.iterate()
        twin.iterate()
    compare_with_the_twin(game, engine, twin, scale)


@pytest.mark.parametrize("seed", SEEDS)
def test_hands_that_are_picked_equal_the_twins(seed: int) -> None:
    """Its tree has a decision for each set, before chance deals the other hand."""
    (root, joint), rng = random_rules(seed), Random(seed)
    joint = (joint + 0.01) / (joint + 0.01).sum()
    player, algorithm, simultaneous = rng.randrange(2), rng.choice(ALGORITHMS), rng.random() < 0.4
    sets = [0] * joint.shape[player]
    game = SmallGame(root, joint)
    twin = SlowGame(picked(root, joint, player, sets), algorithm, simultaneous=simultaneous)
    engine = Engine(game, algorithm, simultaneous=simultaneous, gadget=hidden_choice(player))
    # A hand's values count as often as it is dealt; the twin's as often as its set.
    dealt = joint.sum(axis=1 - player)
    of_set = np.array([dealt[np.array(sets) == each].sum() for each in sets])
    scale = [joint.max() * np.ones(count) for count in joint.shape]
    scale[player] *= of_set / dealt
    set_random_regrets(game, engine, twin, scale)
    for _ in range(3):
        engine.iterate()
        twin.iterate()
    choice = engine.entering()
    for each in set(sets):
        hands = np.array(sets) == each
        assert choice[hands] == pytest.approx(matched(twin.averages["set", each][:, None])[:, 0], abs=1e-5)
    compare_with_the_twin(game, engine, twin, scale)


def test_random_games_have_all_there_can_be() -> None:
    """So that every loop of the kernels runs: one to seven children, several blocks, more lanes than a sweep has."""
    found = set()
    for seed in SEEDS:
        found |= set(kinds(random_rules(seed)[0]))
    assert found == {(player, count) for player in range(3) for count in range(1, 8)}
    games = [SmallGame(*random_rules(seed)) for seed in SEEDS]
    assert any((game.joint == 0).any() for game in games)
    assert max(game.trees.matrices.shape[-1] for game in games) > 128
    assert max(int(game.deals.hands.max()) for game in games) == 32


def test_the_twin_knows_kuhn() -> None:
    twin = SlowGame(histories(*kuhn()), CFR_PLUS())
    for _ in range(300):
        twin.iterate()
    assert twin.value() == pytest.approx(-1 / 18, abs=1e-4)
    assert twin.best_response(0) + twin.best_response(1) < 2e-3


# --- The rest -------------------------------------------------------------------------------------------------------


def test_hands_are_picked_in_poker_too() -> None:
    """Kuhn whose first player picks its card: through both fronts, iteration by iteration."""
    game = SmallGame(*kuhn())
    ours = Engine(game, gadget=hidden_choice(0))
    theirs = Solver(Subgame(start(KUHN), (), everyone(KUHN), MENU), gadget=hidden_choice(0))
    for _ in range(20):
        ours.iterate()
        theirs.iterate()
        assert ours.entering() == pytest.approx(theirs.entering(), abs=1e-5)
        assert ours.exploitability().best_response == pytest.approx(theirs.exploitability().best_response, abs=1e-5)
    ours.solve(target=1e-3)
    assert ours.entering() == pytest.approx([0, 0, 1], abs=1e-2)


def test_a_problem_is_left_alone_by_who_picks_its_hands() -> None:
    game = SmallGame(*rps_plus())
    before = Engine(game).best_response_values(1).tolist()
    Engine(game, gadget=hidden_choice(0)).iterate(10)
    assert Engine(game).best_response_values(1).tolist() == before


def test_compiles_no_second_form_of_the_kernels() -> None:
    Solver(Subgame(start(KUHN), (), everyone(KUHN), MENU)).iterate(2)
    forms = len(lead.signatures)
    engine = Engine(SmallGame(*kuhn()), simultaneous=True)
    engine.solve(2, on_progress=lambda progress: None)
    Engine(SmallGame(*rps_plus()), gadget=hidden_choice(0)).solve(2, on_progress=lambda progress: None)
    assert len(lead.signatures) == forms


COMMON = {"a": Leaf(1), "b": Leaf([[1, 2]])}
BY_HAND = np.array([[0.5, 0.5]])


@pytest.mark.parametrize(
    ("root", "joint", "message"),
    [
        (Decision(0, COMMON), [[0.5, 0.4]], "joint .*: expected .* probabilities that sum to 1"),
        (Decision(0, COMMON), [[1.5, -0.5]], "joint .*: expected .* probabilities that sum to 1"),
        (Decision(0, COMMON), [[np.nan, 1]], "joint .*: expected .* probabilities that sum to 1"),
        (Decision(0, COMMON), [0.5, 0.5], "joint .*: expected .* probabilities that sum to 1"),
        (Decision(0, COMMON), [[0.5], [0.5]], r"path 'b': \(1, 2\) numbers: expected one or 2 x 1"),
        (Decision(0, {"a": Leaf([1, 2])}), BY_HAND, r"path 'a': \(2,\) numbers: expected one or 1 x 2"),
        (Decision(0, {"a": Leaf(np.inf)}), BY_HAND, "path 'a': .* all finite"),
        (Chance({"x": (0.5, Leaf(1)), "y": (0.4, Leaf(2))}), BY_HAND, "path '': .* sum to 1"),
        (Chance({"x": (1.5, Leaf(1)), "y": (-0.5, Leaf(2))}), BY_HAND, "path '': .* sum to 1"),
        (Chance({"x": ([[1, 0.5]], Leaf(1)), "y": ([[0, 0.4]], Leaf(2))}), BY_HAND, "path '': .* sum to 1"),
        (Chance({"x": ([[1], [1]], Leaf(1))}), BY_HAND, "path 'x': .* expected one or 1 x 2"),
        (Decision(0, {"a": Decision(1, {})}), BY_HAND, "path 'a': a node without children"),
        (Chance({}), BY_HAND, "path '': a node without children"),
        (Leaf(1), BY_HAND, "the root is a leaf"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(root: Node, joint: list, message: str) -> None:
    with pytest.raises(SmallGameError, match=message) as caught:
        SmallGame(root, joint)
    assert "\n" not in str(caught.value)


def test_what_is_not_there_is_refused_with_the_reason() -> None:
    with pytest.raises(SmallGameError, match="player 2: expected 0 or 1"):
        Decision(2, COMMON)
    with pytest.raises(SmallGameError, match="too many nodes: expected at most 439"):
        SmallGame(*leduc(), max_bytes=900_000)
    game = SmallGame(*coin_toss())
    engine = Engine(game)
    with pytest.raises(SmallGameError, match="'play/none': the tree has no such place"):
        game.reach(engine, 0, ["play", "none"])
    with pytest.raises(SmallGameError, match="'sell': nobody acts there"):
        game.strategy(engine, ["sell"])
    with pytest.raises(GadgetError, match=r"payoffs \(3,\): expected one number or 2"):
        Engine(game, gadget=Gadget(0, [0, 0, 1]))


def test_chance_of_hands_that_cannot_be_is_of_no_interest() -> None:
    shares = np.full((6, 6), np.nan)
    np.fill_diagonal(shares, 0)
    root, joint = leduc()
    assert isinstance(root, Decision)
    certain = Chance({"x": (np.where(np.isnan(shares), 1.0, shares), root)})
    assert Engine(SmallGame(certain, joint)).exploitability() == Engine(SmallGame(root, joint)).exploitability()
