"""Given policies, and equilibria, on both sides: our solver against open_spiel.

*Whole games.* A policy written into the solver's averages is given to open_spiel too, whose C++ best responses and
expected returns walk histories one by one. Compared are the value of every hand, of the best response with every hand,
and both over all hands; exploitability is half of open_spiel's NashConv. That the trees are the same is checked on the
way: same information sets, same number of actions, same betting.

*Subgames*, of the whole deck and of a short one, with weighted ranges: open_spiel's Python algorithms from a root that
deals pairs of hands into states of the full game, played up to the street. (`potSize` and `boardCards`, its own way to
begin in the middle, set what players have put in but not the bet to match: a check then takes chips back.)

*Equilibria*: what a game is worth says a linear programme over open_spiel's tree (`reference/sequence_form.py`).

How close. The solver adds up in float32, whose 24 bits make an error of 6e-8 of the most chips at stake, a few times
over; open_spiel uses float64. Kuhn and Leduc agree to a millionth of a chip in everything. In general a result over all
hands is held to `GAME` of the most that can be lost, and a single hand's to `HAND`: a small difference of large sums
(card removal), divided by the weight of the hands it can meet. The seen maxima are half of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as open_spiel_policy
from open_spiel.python.algorithms.best_response import BestResponsePolicy
from open_spiel.python.algorithms.expected_game_score import policy_value
from open_spiel_names import (
    Parse,
    Policy,
    average_policy,
    chance_outcome,
    kuhn_names,
    leduc_names,
    their_policy,
    universal_names,
    universal_poker,
)
from reference import sequence_form
from solver_tables import everyone, set_random_averages
from variants import some_of

from protocol.cards import Card, parse_cards, rank_of
from protocol.game import Game, load_game, parse_game
from protocol.hands import hands_of
from protocol.state import CALL, Raise, State, apply, start
from solver.menu import parse_menu
from solver.subgame import Storage, Subgame
from solver.subgame_solver import Solver

GAME = 2e-7
HAND = 5e-7
MILLIONTH = 1e-6

FCPA = "100%,a"
"""What open_spiel calls fold, call, pot, all-in."""
EVERY_RAISE = ",".join(f"{chips}c" for chips in range(1, 8))
"""Its full game, for stacks of up to seven chips."""


def game_of(betting: str, blind: str, chips: str, cards: str, hole: int, board: str, first: str = "1 1") -> Game:
    """`chips` are the stacks, or sizes and numbers of raises; `cards` are ranks x suits."""
    ranks, suits = cards.split("x")
    rules = f"stack = {chips}"
    if betting == "limit":
        sizes, raises = chips.split(" by ")
        rules = f"raiseSize = {sizes}\nmaxRaises = {raises}"
    return parse_game(
        f"GAMEDEF\n{betting}\nnumPlayers = 2\nnumRounds = {len(board.split())}\nblind = {blind}\n{rules}\n"
        f"firstPlayer = {first}\nnumSuits = {suits}\nnumRanks = {ranks}\nnumHoleCards = {hole}\n"
        f"numBoardCards = {board}\nEND GAMEDEF\n"
    ).game


KUHN = game_of("limit", "1 1", "1 by 1", "3x1", 1, "0", "1")
LEDUC = game_of("limit", "1 1", "2 4 by 2 2", "3x2", 1, "0 1")
HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
SHORT_DECK = game_of("nolimit", "100 50", "1000 1000", "4x3", 2, "0 3 1 1", "2 1 1 1")


# --- What both sides say --------------------------------------------------------------------------------------------

Deal = tuple[frozenset[Card], frozenset[Card]]


@dataclass(frozen=True, slots=True)
class Deals:
    """Pairs of hands, open_spiel's states after they are dealt, and weights."""

    hands: list[Deal]
    states: list[pyspiel.State]
    weights: np.ndarray

    def mean(self, values: np.ndarray) -> float:
        return float(np.average(values, weights=self.weights))

    def by_hand(self, values: np.ndarray, player: int, hands: Sequence[Sequence[Card]]) -> np.ndarray:
        rows = [np.array([deal[player] == frozenset(hand) for deal in self.hands]) for hand in hands]
        return np.array([np.average(values[row], weights=self.weights[row]) if row.any() else 0.0 for row in rows])


def compare(
    solver: Solver, subgame: Subgame, deals: Deals, player: int, value: np.ndarray, best: np.ndarray, *, closely: bool
) -> None:
    """What open_spiel says of each deal, against what we say of hands and of all of them."""
    stake = float(subgame.trees.showdown_chips.max())
    game, hand = (MILLIONTH, MILLIONTH) if closely else (GAME * stake, HAND * stake)
    hands = subgame.hands[player]
    assert solver.game_value(player) == pytest.approx(deals.mean(value), abs=game)
    assert solver.exploitability().best_response[player] == pytest.approx(deals.mean(best), abs=game)
    for ours, theirs in ((solver.values(player), value), (solver.best_response_values(player), best)):
        assert ours == pytest.approx(deals.by_hand(theirs, player, hands), abs=hand)


# --- Whole games ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Whole:
    """A game from its start, every pair of hands alike."""

    game: Game
    menu: str = FCPA
    theirs: str = "universal_poker"
    seeds: tuple[int | None, ...] = (None, 0)
    """Of random policies; None is uniform play."""

    def subgame(self, *, alike: bool = True, bits: int = 32) -> Subgame:
        menu, storage = parse_menu(self.menu), Storage(bits=bits)
        return Subgame(start(self.game), (), everyone(self.game), menu, alike=alike, storage=storage)

    def open_spiel(self) -> tuple[pyspiel.Game, Parse]:
        if self.theirs == "kuhn_poker":
            return pyspiel.load_game(self.theirs), kuhn_names
        if self.theirs == "leduc_poker":
            return pyspiel.load_game(self.theirs), leduc_names
        abstraction = "fullgame" if self.menu == EVERY_RAISE else "fcpa"
        return universal_poker(self.game, abstraction), universal_names(self.game)

    def deals(self, theirs: pyspiel.Game, parse: Parse) -> Deals:
        found: dict[Deal, pyspiel.State] = {}
        waiting = [theirs.new_initial_state()]
        while waiting:
            state = waiting.pop()
            if state.is_chance_node():
                waiting += [state.child(outcome) for outcome in state.legal_actions()]
            else:
                first, second = [parse(state.information_state_string(player))[1] for player in range(2)]
                found.setdefault((first, second), state)
        return Deals(list(found), list(found.values()), np.ones(len(found)))


WHOLE_GAMES = {
    "Kuhn": Whole(KUHN, theirs="kuhn_poker", seeds=(None, 0, 1, 2, 3)),
    "Leduc": Whole(LEDUC, theirs="leduc_poker", seeds=(None, 0, 1, 2, 3)),
    "Kuhn as universal poker": Whole(KUHN),
    "Leduc as universal poker": Whole(LEDUC),
    "no-limit Leduc": Whole(load_game("leduc").game),
    "every raise": Whole(game_of("nolimit", "1 2", "7 7", "3x2", 1, "0 1"), EVERY_RAISE),
    "unequal stacks": Whole(game_of("nolimit", "2 1", "6 7", "3x2", 1, "0 1", "2 1"), EVERY_RAISE),
    # With three suits there are changes that do not undo themselves.
    "three suits": Whole(game_of("limit", "1 1", "2 4 by 1 2", "3x3", 1, "0 1"), seeds=(0,)),
    "two board cards at once": Whole(game_of("nolimit", "2 1", "20 20", "3x2", 1, "0 2", "2 1"), seeds=(0,)),
    # Only uniform play, which does not look at cards: open_spiel forgets which board card came first.
    "three streets": Whole(game_of("nolimit", "2 1", "9 9", "3x2", 1, "0 1 1", "2 1 1"), seeds=(None,)),
    "two hole cards": Whole(game_of("nolimit", "2 1", "20 20", "4x2", 2, "0", "2"), seeds=(0,)),
    "two hole cards and a board": Whole(game_of("limit", "2 1", "2 4 by 1 2", "3x2", 2, "0 1", "2 1")),
    "two hole cards and all-ins": Whole(game_of("nolimit", "2 1", "6 6", "3x2", 2, "0 1", "2 1")),
}


def compare_policies(case: Whole, subgame: Subgame, seeds: Sequence[int | None]) -> None:
    """Policies at random, and the uniform one for None, on both sides."""
    solver, (theirs, parse) = Solver(subgame, threads=1), case.open_spiel()
    every_set, deals = information_sets(theirs), case.deals(theirs, parse)
    for seed in seeds:
        set_random_averages(solver, subgame, seed)
        policy = their_policy(every_set, average_policy(solver, subgame), parse)
        nash_conv = pyspiel.nash_conv(theirs, policy)
        assert solver.exploitability().chips == pytest.approx(nash_conv / 2, abs=MILLIONTH * case.game.big_blind)
        for player in range(2):
            value, best = their_values(theirs, player, policy, deals)
            compare(solver, subgame, deals, player, value, best, closely=case.theirs != "universal_poker")


@pytest.mark.parametrize("name", some_of(WHOLE_GAMES, every=2))
def test_given_policies_in_whole_games(name: str) -> None:
    case = WHOLE_GAMES[name]
    compare_policies(case, case.subgame(alike=False), case.seeds)


@pytest.mark.parametrize(
    "name", ["Leduc", "three suits", "two board cards at once", "three streets", "two hole cards and a board"]
)
def test_given_policies_where_boards_that_are_alike_are_solved_once(name: str) -> None:
    case = WHOLE_GAMES[name]
    subgame = case.subgame()
    assert any(len(board.images) > 1 for boards in subgame.boards for board in boards)
    compare_policies(case, subgame, case.seeds[-1:])


@pytest.mark.parametrize("name", ["Leduc", "two hole cards and a board"])
def test_given_policies_in_16_bits(name: str) -> None:
    """What storage has rounded is what is valued, as exactly."""
    case = WHOLE_GAMES[name]
    compare_policies(case, case.subgame(bits=16), [0])


def information_sets(theirs: pyspiel.Game) -> Policy:
    """Every information set with its legal actions; the probabilities are of no interest."""
    return pyspiel.CFRSolver(theirs).tabular_average_policy().policy_table()


def their_values(theirs: pyspiel.Game, player: int, policy: Policy, deals: Deals) -> tuple[np.ndarray, np.ndarray]:
    """[deal] what a player wins by following the policy, and by responding best to it."""
    table, best = pyspiel.TabularPolicy(policy), pyspiel.TabularBestResponse(theirs, player, policy)
    value = [pyspiel.expected_returns(state, table, -1, True)[player] for state in deals.states]
    return np.array(value), np.array([best.value_from_state(state) for state in deals.states])


# --- Subgames -------------------------------------------------------------------------------------------------------


class DealtRoot:
    """A chance node that deals pairs of hands into states of a game under way; what open_spiel asks of its states."""

    def __init__(self, deals: Deals) -> None:
        self._states = deals.states
        self._outcomes = list(enumerate((deals.weights / deals.weights.sum()).tolist()))

    def is_terminal(self) -> bool:
        return False

    def is_chance_node(self) -> bool:
        return True

    def is_simultaneous_node(self) -> bool:
        return False

    def current_player(self) -> int:
        return int(pyspiel.PlayerId.CHANCE)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self._outcomes

    def child(self, outcome: int) -> pyspiel.State:
        return self._states[outcome]

    def history_str(self) -> str:
        return "root"


class OurPolicy(open_spiel_policy.Policy):
    """A solver's averages, looked up by open_spiel's names."""

    def __init__(self, theirs: pyspiel.Game, solver: Solver, subgame: Subgame) -> None:
        super().__init__(theirs, [0, 1])
        self._table = average_policy(solver, subgame)
        self._parse = universal_names(subgame.root.game, subgame.root.betting)

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        probabilities = self._table[self._parse(state.information_state_string())].tolist()
        return dict(zip(state.legal_actions(), probabilities, strict=True))


@dataclass(frozen=True, slots=True)
class Spot:
    """A subgame after pot-sized raises before the flop, a call, and checks."""

    game: Game
    raises: int
    board: str
    hands: int
    """In each range, with random weights."""
    seed: int = 0
    by_ranks: bool = False
    """Ranges of whole classes of hands that have the same ranks, at one weight each: they do not look at suits."""

    def subgame(self) -> Subgame:
        board = parse_cards(self.board)
        state = start(self.game)
        for number in range(9):
            if self.game.board_cards_by(state.street) == len(board):
                break
            state = apply(state, Raise(3 * state.maximum) if number < self.raises else CALL)
        ranges = [self._range(2 * self.seed + player) for player in range(2)]
        return Subgame(state, board, ranges, parse_menu(FCPA))

    def _range(self, seed: int) -> np.ndarray:
        rng, everything, board = np.random.default_rng(seed), hands_of(self.game), set(parse_cards(self.board))
        weights = np.zeros(len(everything))
        classes: dict[object, list[int]] = {}
        for number, hand in enumerate(everything):
            if board.isdisjoint(hand):
                classes.setdefault(tuple(map(rank_of, hand)) if self.by_ranks else hand, []).append(number)
        shuffled = list(classes.values())
        rng.shuffle(shuffled)
        for numbers in shuffled:
            if np.count_nonzero(weights) >= self.hands:
                break
            weights[numbers] = rng.random()
        return weights

    def deals(self, theirs: pyspiel.Game, subgame: Subgame) -> Deals:
        hands, states, weights = [], [], []
        for mine, weight in zip(subgame.hands[0], subgame.weights[0], strict=True):
            for other, their_weight in zip(subgame.hands[1], subgame.weights[1], strict=True):
                if set(mine).isdisjoint(other):
                    hands.append((frozenset(mine), frozenset(other)))
                    states.append(self._dealt(theirs, (*mine, *other), subgame.root))
                    weights.append(weight * their_weight)
        return Deals(hands, states, np.array(weights))

    def _dealt(self, theirs: pyspiel.Game, holes: Sequence[Card], root: State) -> pyspiel.State:
        state, cards = theirs.new_initial_state(), iter([*holes, *parse_cards(self.board)])
        for action in root.actions:
            while state.is_chance_node():
                state.apply_action(chance_outcome(self.game, next(cards)))
            state.apply_action(2 if isinstance(action, Raise) else 1)
        for card in cards:
            state.apply_action(chance_outcome(self.game, card))
        return state


SPOTS = {
    "river": Spot(HOLDEM, 1, "7h8cJsQd2c", 14),
    "river of a big pot": Spot(HOLDEM, 3, "AhAd7s7c2c", 14),
    "river of a short deck": Spot(SHORT_DECK, 1, "JdJsQdKhAs", 20),
    "turn": Spot(HOLDEM, 3, "7h8cJsQd", 4, seed=1),
    "turn of a short deck": Spot(SHORT_DECK, 1, "JdJsQdKh", 8),
    "turn with boards alike": Spot(SHORT_DECK, 1, "JdJsQdQs", 8, by_ranks=True),
}


@pytest.mark.parametrize("name", SPOTS)
def test_given_policies_in_subgames(name: str) -> None:
    spot = SPOTS[name]
    theirs, subgame = universal_poker(spot.game), spot.subgame()
    assert spot.by_ranks == any(len(board.images) > 1 for boards in subgame.boards for board in boards)
    solver, deals = Solver(subgame), spot.deals(theirs, subgame)
    assert len(deals.states) > spot.hands
    root = DealtRoot(deals)
    for seed in range(2):
        set_random_averages(solver, subgame, seed)
        policy = OurPolicy(theirs, solver, subgame)
        values = np.array([policy_value(state, [policy, policy]) for state in deals.states])
        for player in range(2):
            response = BestResponsePolicy(theirs, player, policy, root)
            best = np.array([response.value(state) for state in deals.states])
            compare(solver, subgame, deals, player, values[:, player], best, closely=False)


# --- Equilibria -----------------------------------------------------------------------------------------------------


def check_equilibrium(solver: Solver, subgame: Subgame, root: Any, *, value: float) -> None:
    """What the averages of DCFR win and lose encloses the value of the game; `value` is how close they come to it."""
    worth, unit = sequence_form.value(root), subgame.root.pot / 2
    solver.iterate(1000)
    found = solver.exploitability()
    rounding = GAME * float(subgame.trees.showdown_chips.max())
    assert -found.best_response[1] - rounding <= worth <= found.best_response[0] + rounding
    assert found.chips < 2e-3 * unit
    assert solver.game_value(0) == pytest.approx(worth, abs=value * unit)
    assert solver.game_value(1) == pytest.approx(-worth, abs=value * unit)


@pytest.mark.parametrize("name", some_of([name for name in WHOLE_GAMES if name != "three streets"], every=2))
def test_equilibria_of_whole_games(name: str) -> None:
    case = WHOLE_GAMES[name]
    subgame, (theirs, parse) = case.subgame(), case.open_spiel()
    solver = Solver(subgame, threads=1)
    check_equilibrium(solver, subgame, theirs.new_initial_state(), value=2e-5)
    policy = their_policy(information_sets(theirs), average_policy(solver, subgame), parse)
    nash_conv = pyspiel.nash_conv(theirs, policy)
    assert solver.exploitability().chips == pytest.approx(nash_conv / 2, abs=MILLIONTH * case.game.big_blind)


@pytest.mark.parametrize("name", SPOTS)
def test_equilibria_of_subgames(name: str) -> None:
    spot = SPOTS[name]
    subgame = spot.subgame()
    root = DealtRoot(spot.deals(universal_poker(spot.game), subgame))
    check_equilibrium(Solver(subgame), subgame, root, value=1e-3)
