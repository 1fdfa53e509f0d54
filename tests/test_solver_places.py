"""What a solver says of any place of a subgame, against sums over pairs of hands (`reference/slow_places.py`).

The subgames are random ones of a short deck, with strategies set at random, so that no result rests on convergence. In
half of them the ranges do not look at suits: many boards are then images of others, and all that is said of them goes
through a change of suits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from random import Random

import numpy as np
import pytest
from reference import slow_places
from reference.slow_places import Policy
from solver_tables import average, decisions, everyone, matched, moved, set_random_averages
from variants import some_of

from protocol.cards import Card, parse_cards
from protocol.game import Game, load_game, parse_game
from protocol.hands import hands_of, permute_cards
from protocol.state import CALL, FOLD, Action, Raise, State, apply, start
from solver.algorithms import CFR
from solver.menu import parse_menu
from solver.subgame import ROOT, Place, Subgame, SubgameError
from solver.subgame_solver import Solver

DECK_OF_12 = parse_game(
    "nolimit\nnumPlayers 2\nnumRounds 4\nblind 100 50\nstack 1000 1000\nfirstPlayer 2 1 1 1\n"
    "numSuits 3\nnumRanks 4\nnumHoleCards 2\nnumBoardCards 0 3 1 1\nend gamedef"
).game
ONE_CARD = parse_game(
    "nolimit\nnumPlayers 2\nnumRounds 3\nblind 1 1\nstack 9 9\nfirstPlayer 1 1 1\n"
    "numSuits 3\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0 1 1\nend gamedef"
).game
HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game

FLOAT32 = 5e-7
"""Of the largest stake times all the opponent's reach: a counterfactual value is a small difference of such sums, each
rounded to 6e-8 a few times. The seen maxima are half of this."""


@dataclass(frozen=True, slots=True)
class Case:
    """A subgame with random strategies."""

    solver: Solver
    subgame: Subgame
    policy: Policy
    """Of both players on all boards, images among them."""

    @property
    def game(self) -> Game:
        return self.subgame.root.game


@dataclass(frozen=True, slots=True)
class Spot:
    """A decision on one board: the line from the root, and the cards dealt on the way."""

    line: tuple[Action, ...]
    state: State
    cards: tuple[Card, ...]


def at_street(game: Game, street: int, to: int | None = None) -> State:
    """The first state of a street after calls, or after one raise."""
    state = start(game)
    for action in ([Raise(to)] if to else []) + [CALL] * 8:
        if state.street == street:
            return state
        state = apply(state, action)
    raise AssertionError("the street is reached")


def by_class(rng: Random, game: Game, classes: int) -> np.ndarray:
    """A range that does not look at suits: a weight for some classes of hands."""

    def class_of(hand: Sequence[Card]) -> tuple:
        return tuple(sorted(card >> 2 for card in hand)), len({card & 3 for card in hand})

    kinds = sorted({class_of(hand) for hand in hands_of(game)})
    chosen = {each: rng.uniform(0.1, 1.0) for each in rng.sample(kinds, min(classes, len(kinds)))}
    return np.array([chosen.get(class_of(hand), 0.0) for hand in hands_of(game)])


def some_hands(rng: Random, game: Game, count: int) -> np.ndarray:
    weights = np.zeros(len(hands_of(game)))
    for number in rng.sample(range(len(weights)), count):
        weights[number] = rng.uniform(0.1, 1.0)
    return weights


def random_case(seed: int) -> Case:
    """A turn or flop subgame of twelve cards, or a game of one-card hands; with even seeds some boards are alike."""
    rng = Random(seed)
    game = ONE_CARD if seed % 3 == 2 else DECK_OF_12
    flop = seed % 3 == 1
    while True:
        if game is ONE_CARD:
            root, board = start(game), ()
            ranges = everyone(game) if seed % 2 == 0 else [some_hands(rng, game, 6) for _ in range(2)]
            menu = parse_menu("100%,a / a; cap 2" if seed % 2 else "a")
        else:
            root = at_street(game, 1 if flop else 2, rng.choice([None, 200]))
            board = tuple(rng.sample(game.deck(), game.board_cards_by(root.street)))
            if seed % 2 == 0:
                ranges = [by_class(rng, game, 4 if flop else 7) for _ in range(2)]
            else:
                ranges = [some_hands(rng, game, 16 if flop else 30) for _ in range(2)]
            menu = parse_menu(
                rng.choice(["a", "100% / -; turn - ; river a"]) if flop else rng.choice(["50%,a", "100%,a"])
            )
        try:
            subgame = Subgame(root, board, ranges, menu)
        except SubgameError:
            continue
        merged = any(len(each.images) > 1 for street in subgame.boards for each in street)
        if merged == (seed % 2 == 0):
            solver = Solver(subgame)
            set_random_averages(solver, subgame, seed)
            return Case(solver, subgame, policy_of(solver))


def policy_of(solver: Solver) -> Policy:
    """All strategies, images among them, read from the tables."""
    policy = {}
    subgame = solver.subgame
    for decision in decisions(subgame):
        strategy = matched(average(solver, decision))
        for cards, suits in decision.images:
            board = subgame.board + cards[len(subgame.board) :]  # the root's as given, which images have in any order
            of = moved(subgame.hands[decision.player], suits)
            for column, hand in enumerate(subgame.hands[decision.player]):
                policy[decision.player, hand, decision.betting, board] = strategy[:, of[column]].tolist()
    return policy


def lines(subgame: Subgame) -> Iterator[tuple[tuple[Action, ...], State]]:
    """Every line that leads to a decision."""
    waiting: list[tuple[tuple[Action, ...], State]] = [((), subgame.root)]
    while waiting:
        line, state = waiting.pop()
        if not state.finished:
            yield line, state
            waiting += [((*line, action), apply(state, action)) for action in subgame.menu.actions(state)]


def dealt(case: Case, state: State, rng: Random) -> tuple[Card, ...]:
    """Cards for the streets from the root's to the state's, at random."""
    game, subgame = case.game, case.subgame
    left = [card for card in game.deck() if card not in subgame.board]
    rng.shuffle(left)
    return tuple(left[: game.board_cards_by(state.street) - len(subgame.board)])


def spots(case: Case, seed: int, count: int) -> list[Spot]:
    """The root, and so many decisions at random on every street, each on cards at random."""
    rng, found = Random(seed), [Spot((), case.subgame.root, ())]
    everywhere = list(lines(case.subgame))
    for street in range(case.subgame.root.street, case.game.num_rounds):
        there = [each for each in everywhere if each[1].street == street and each[0]]
        for line, state in rng.sample(there, min(count, len(there))):
            found.append(Spot(line, state, dealt(case, state, rng)))
    return found


def by_street(case: Case, board: tuple[Card, ...]) -> list[set[Card]]:
    """What lies there at the end of each street: images of a board are in no order within a street."""
    cuts = [case.game.board_cards_by(street) for street in range(case.subgame.root.street, case.game.num_rounds)]
    return [set(board[:cut]) for cut in cuts]


CASES = range(12)


@pytest.fixture(scope="module", params=some_of(CASES, every=4))
def case(request: pytest.FixtureRequest) -> Case:
    return random_case(request.param)


def test_a_place_is_where_its_line_leads(case: Case) -> None:
    """On every decision, with cards at random: state, actions, board, and the way back to the root."""
    rng, visited = Random(1), 0
    for line, state in lines(case.subgame):
        cards = dealt(case, state, rng)
        place = case.solver.place(line, cards)
        node = case.solver.node(place)
        assert node.state == state
        assert list(node.actions) == case.subgame.menu.actions(state)
        assert by_street(case, case.subgame.cards(place)) == by_street(case, case.subgame.board + cards)
        visited += 1
        for back in range(len(line) - 1, -1, -1):
            step = case.subgame.before(place)
            assert step is not None
            place, action = step
            node = case.solver.node(place)
            assert node.actions[action] == line[back]
            shown = case.game.board_cards_by(node.state.street)
            assert by_street(case, case.subgame.cards(place)) == by_street(case, (case.subgame.board + cards)[:shown])
        assert place.node == place.street == 0
        assert case.subgame.before(place) is None
    assert visited == len([node for forest in case.subgame.forests for node in forest.nodes])


def test_every_board_is_found(case: Case) -> None:
    """A place on every way to deal: what stands for it, with the suits changed, has its cards street by street."""
    game, subgame = case.game, case.subgame
    line = next(line for line, state in lines(subgame) if state.street == game.num_rounds - 1)
    given = len(subgame.board)
    count = game.board_cards_by(game.num_rounds - 1) - given
    left, images = sorted(set(game.deck()) - set(subgame.board)), 0
    for cards in permutations(left, count):
        place = case.solver.place(line, cards)
        solved = subgame.boards[place.street][place.board].cards
        assert by_street(case, permute_cards(subgame.board + cards, place.suits)) == by_street(case, solved)
        images += place.suits != (0, 1, 2, 3)
    assert (images > 0) == any(len(board.images) > 1 for street in subgame.boards for board in street)


def test_strategies_reaches_and_values_are_those_of_pairs_of_hands(case: Case) -> None:
    """Every hand of both players. Values to what float32 can know of them: sums of all the opponent's reaches."""
    solver, subgame, compared = case.solver, case.subgame, 0
    most = max(case.game.stack)
    for spot in spots(case, 7, 2):
        place, board = solver.place(spot.line, spot.cards), subgame.board + spot.cards
        actor = int(spot.state.actor or 0)
        reaches = [
            {
                hand: weight
                * slow_places.reach(subgame.root, subgame.menu, case.policy, player, hand, spot.line, board)
                for hand, weight in zip(subgame.hands[player], subgame.weights[player].tolist(), strict=True)
            }
            for player in range(2)
        ]
        strategy = solver.strategy(place)
        for column, hand in enumerate(subgame.hands[actor]):
            if not set(hand) & set(board):
                wanted = case.policy[actor, hand, spot.state.betting, board]
                assert strategy[:, column] == pytest.approx(wanted, abs=1e-6)
        for player in range(2):
            assert solver.reach(player, place) == pytest.approx(list(reaches[player].values()), rel=1e-5)
            against = reaches[1 - player]
            found = {"state": solver.values(player, place)}
            if player == actor:
                found |= dict(zip(solver.node(place).actions, solver.action_values(place), strict=True))
            for action, values in found.items():
                state = spot.state if action == "state" else apply(spot.state, action)
                for value, hand in zip(values, subgame.hands[player], strict=True):
                    if set(hand) & set(board):
                        continue
                    met = sum(weight for other, weight in against.items() if not set(other) & set(hand))
                    wanted = slow_places.value(state, subgame.menu, case.policy, player, hand, against, board)
                    slack = FLOAT32 * most * sum(against.values())
                    assert value * met == pytest.approx((wanted or 0.0) * met, abs=slack)
                    compared += wanted is not None
    assert compared > 100


def test_an_actors_value_is_the_mean_of_its_actions_and_both_add_up_to_nothing(case: Case) -> None:
    solver, subgame, visited = case.solver, case.subgame, 0
    most = max(case.game.stack)
    for spot in spots(case, 8, 6):
        place = solver.place(spot.line, spot.cards)
        actor = int(spot.state.actor or 0)
        reaches = [solver.reach(player, place) for player in range(2)]
        met = [subgame.opposing(player, reaches[1 - player]) for player in range(2)]
        values = [solver.values(player, place) for player in range(2)]
        slack = FLOAT32 * most * reaches[1 - actor].sum()
        mixed = (solver.strategy(place) * solver.action_values(place)).sum(axis=0)
        possible = ~np.array([bool(set(hand) & set(subgame.cards(place))) for hand in subgame.hands[actor]])
        assert (mixed * met[actor])[possible] == pytest.approx((values[actor] * met[actor])[possible], abs=slack)
        won = [float(reaches[player] @ (met[player] * values[player])) for player in range(2)]
        assert sum(won) == pytest.approx(0.0, abs=FLOAT32 * most * reaches[0].sum() * reaches[1].sum())
        visited += 1
    assert visited > 6


def test_ranges_that_half_look_at_suits_change_only_the_suits_that_they_do_not_look_at() -> None:
    """One hand more in one suit leaves the other two alike; places on images still agree with pairs of hands."""
    game = DECK_OF_12
    suits = sorted({card & 3 for card in game.deck()})
    ranks = sorted({card >> 2 for card in game.deck()})
    board = tuple([Card(rank << 2 | suits[0]) for rank in ranks])  # all four of one suit
    ranges = [by_class(Random(seed), game, 6) for seed in (5, 6)]
    for number, hand in enumerate(hands_of(game)):
        if {card & 3 for card in hand} == {suits[1], suits[2]} and len({card >> 2 for card in hand}) == 1:
            ranges[0][number] = 0.77
    solver = Solver(Subgame(at_street(game, 2), board, ranges, parse_menu("a")), CFR())
    assert [len(each.images) for each in solver.subgame.boards[1]] == [2] * 4
    solver.iterate(20)
    for card in sorted(set(game.deck()) - set(board)):
        place = solver.place([CALL, CALL], [card])
        assert solver.subgame.cards(place) == (*board, card)
        for player in range(2):
            for hand, weight in zip(solver.subgame.hands[player], solver.reach(player, place), strict=True):
                assert (weight == 0) == (card in hand)


def test_what_is_no_place_is_refused_with_the_reason() -> None:
    root = at_street(HOLDEM, 2, 300)
    solver = Solver(
        Subgame(
            root, parse_cards("7h8cJsQd"), [some_hands(Random(s), HOLDEM, 60) for s in (1, 2)], parse_menu("100%,a")
        )
    )
    allin, pot = Raise(20000), Raise(900)
    for line, cards, reason in (
        ([Raise(901)], "", r"action 1 of the line, raise to 901: expected one of call, raise to 900, raise to 20000"),
        ([FOLD], "", "action 1 of the line, fold: expected one of call"),
        ([pot, Raise(901)], "", "action 2 of the line"),
        ([pot, FOLD], "", "action 2 of the line, fold: the hand is over, nobody acts"),
        ([allin, CALL], "", "action 2 of the line, call: the hand is over, nobody acts"),
        ([allin, CALL], "2c", "the hand is over"),
        ([CALL, CALL, CALL, CALL], "2c", "action 4 of the line, call: the hand is over"),
        ([pot, FOLD, CALL], "", "action 2 of the line, fold: the hand is over"),
        ([CALL, CALL], "", "cards '': expected 1 different cards"),
        ([CALL, CALL], "2c3c", "cards '2c3c': expected 1 different cards"),
        ([CALL, CALL], "7h", "cards '7h': expected 1 different cards that the board leaves"),
        ([CALL], "2c", "cards '2c': expected 0 different cards"),
    ):
        with pytest.raises(SubgameError, match=reason):
            solver.place(line, parse_cards(cards))
    assert solver.place([]) == ROOT
    assert solver.place([CALL, CALL], parse_cards("2c")) == Place(1, 0, 0)


def test_same_cards_twice_are_refused() -> None:
    root = at_street(DECK_OF_12, 1)
    board = sorted(DECK_OF_12.deck())[:3]
    solver = Solver(Subgame(root, board, everyone(DECK_OF_12), parse_menu("a")))
    card = sorted(DECK_OF_12.deck())[5]
    with pytest.raises(SubgameError, match="expected 2 different cards"):
        solver.place([CALL] * 4, [card, card])
