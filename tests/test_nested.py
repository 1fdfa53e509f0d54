"""Nested search, decision by decision: what is asked, what is kept for the next, and what time and settings do to it.

Most of it plays a game with 24 cards (276 hands, 20 rivers), in which a turn is solved in a fraction of a second. What
is expected is computed here from what the solver kept of the decision before, or from a solve of its own in float32
with all averages, or from equities by enumeration. The opponent's sizes are some that the trees have (300 and 900 into
pots of 200 and 600), and some that they have not.

The lines are ACPC betting; position 0 acts first after the flop.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from threading import Event
from typing import Any

import numpy as np
import pytest
from agents import agent_of
from clocks import timed_by_work
from scipy.optimize import linprog
from test_session import MemoryTable, as_stream, decisions

from bot.config import BotConfig, BotSection, ClockSection, StoreSection, load_config
from bot.session import Ending, Outcome, Session
from machine.errors import ConfigError
from protocol.cards import Card, cards_text, parse_cards
from protocol.errors import Disconnected
from protocol.game import DEFAULT_GAME, Game, Position, load_game, parse_game
from protocol.hands import hands_of
from protocol.line_buffer import ReceivedLine
from protocol.ranking import hand_rank
from protocol.state import CALL, FOLD, Action, Raise, State, apply, raise_bounds, start
from protocol.wire import read_betting
from solver.gadget_kinds import Kind
from solver.menu import menu_text, parse_menu
from solver.subgame import ROOT, Storage, Subgame
from solver.subgame_solver import Solver
from strategies.draws import Draws
from strategies.policy import FALLBACK, SCALE, Origin, Policy, alike, check_or_fold, check_policy, round_columns
from strategies.registry import make_strategy
from strategies.search import nested
from strategies.search.nested import NestedSearch
from strategies.search.settings import Effort, MenuRule, NestedSettings
from strategies.search.subgames import SolvedSubgame, SubgameQuestion
from strategies.settings import StrategySettings
from strategies.store import MatchStore
from strategies.strategy import Budget, Decided, Spot

Array = np.ndarray

HOLDEM = load_game(DEFAULT_GAME).game
_SMALL = """\
nolimit
numPlayers 2
numRounds 4
stack {0} {0}
blind 100 50
firstPlayer 2 1 1 1
numSuits 4
numRanks 6
numHoleCards 2
numBoardCards 0 3 1 1
end gamedef
"""


def small(stack: int) -> Game:
    """Hold'em with the cards from nine up."""
    return parse_game(_SMALL.format(stack)).game


DEEP, SHALLOW = small(20_000), small(2_000)
BOARD = parse_cards("KsQh9dTc9s")
MENU = "100%,a / 100%,a / a"
OOP, IP = Position(0), Position(1)


def settings(turn: int = 40, river: int = 100, menu: str = MENU, **changes: Any) -> NestedSettings:
    """Fixed iterations."""
    values: dict[str, Any] = {
        "turn": Effort(iterations=turn, share=1.0),
        "river": Effort(iterations=river, share=1.0),
        "menus": (MenuRule(menu=menu),),
        "trusted_iterations": 0,
        "threads": 1,
    }
    return NestedSettings(**(values | changes))


def make(game: Game = DEEP, given: NestedSettings | None = None) -> NestedSearch:
    strategy = make_strategy("nested", game, StrategySettings(nested=given or settings()))
    assert isinstance(strategy, NestedSearch)
    return strategy


def ample() -> Budget:
    """Time for any fixed number of iterations."""
    return Budget(deadline_s=time.monotonic() + 600.0, fair_share_s=600.0)


def draws(spot: Spot, seed: int = 7) -> Draws:
    return Draws(seed, "nested", spot.hand, len(spot.state.actions), "strategy")


@dataclass(slots=True)
class Seat:
    """A player of one hand, asked as a session asks."""

    strategy: NestedSearch
    position: Position = OOP
    hand: int = 0
    game: Game = DEEP
    board: tuple[Card, ...] = BOARD
    seed: int = 7
    past: list[Decided] = field(default_factory=list)
    solved: list[SolvedSubgame] = field(default_factory=list)
    """After each decision that was searched, what was solved for it."""

    def spot(self, betting: str) -> Spot:
        state = read_betting(start(self.game), betting)
        assert state.actor == self.position, betting
        return Spot(self.hand, self.position, state, self._board(state), tuple(self.past))

    def ask(self, betting: str, budget: Budget | None = None) -> Policy:
        spot = self.spot(betting)
        policy = self.strategy.policy(spot, budget or ample(), draws(spot, self.seed))
        check_policy(policy, spot.state, spot.board)
        self.past.append(Decided(spot.state, policy))
        if policy.origin.route == "nested":
            self.solved.append(self._solved(policy))
        return policy

    def play(self, betting: str) -> Policy:
        """Ask at every decision of ours from the turn on, up to the one with this betting."""
        for state in _states(read_betting(start(self.game), betting)):
            if state.actor == self.position and state.street >= 2:
                policy = self.ask(state.betting)
        return policy

    def _board(self, state: State) -> tuple[Card, ...]:
        return self.board[: self.game.board_cards_by(state.street)]

    def _solved(self, policy: Policy) -> SolvedSubgame:
        known = self.strategy._memory.of(policy)
        assert known is not None
        assert known.last is not None
        return known.last

    @property
    def question(self) -> SubgameQuestion:
        """The latest."""
        return self.solved[-1].question


def _states(state: State) -> Iterator[State]:
    """Those on the way to a state, and itself."""
    now = start(state.game)
    yield now
    for action in state.actions:
        now = apply(now, action)
        yield now


def same(one: Policy, two: Policy) -> bool:
    return one.support == two.support and np.array_equal(one.weights, two.weights) and one.origin == two.origin


def details(policy: Policy) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(policy.origin.details)
    return found


@cache
def allowed(game: Game, board: tuple[Card, ...]) -> Array:
    """[hand] whether the board allows it."""
    return np.array([not {*hand} & {*board} for hand in hands_of(game)])


def whole(solver: Solver, player: int, numbers: Array) -> Array:
    """[hand of the subgame] to [hand of the game], zero elsewhere."""
    spread = np.zeros(len(hands_of(solver.subgame.root.game)))
    spread[solver.subgame.hand_index[player]] = numbers
    return spread


# --- What is asked --------------------------------------------------------------------------------------------------

QUESTIONS = [
    # position, betting, then the root, and the betting whose values are held against the opponent (None: unsafe).
    (OOP, "cc/cc/", "cc/cc/", None),
    (IP, "cc/cc/c", "cc/cc/", None),
    (IP, "cc/cc/r300", "cc/cc/", None),  # the opponent's first action of the street is in the tree, whatever its size
    (IP, "cc/cc/r250", "cc/cc/", None),
    (IP, "cc/cc/r20000", "cc/cc/", None),
    (OOP, "cc/cc/cr300", "cc/cc/cr300", "cc/cc/c"),
    (OOP, "cc/cc/cr257", "cc/cc/cr257", "cc/cc/c"),
    (OOP, "cc/cc/cr20000", "cc/cc/cr20000", "cc/cc/c"),
    (OOP, "cc/cc/r300r700", "cc/cc/r300r700", "cc/cc/r300"),
    (IP, "cc/cc/cr300r900", "cc/cc/cr300r900", "cc/cc/cr300"),
    (IP, "cc/cc/r300r900r2700", "cc/cc/r300r900r2700", "cc/cc/r300r900"),  # a raise war
    (OOP, "cc/cc/cr257r771r3000", "cc/cc/cr257r771r3000", "cc/cc/cr257r771"),
    (OOP, "cc/cc/cc/", "cc/cc/cc/", "cc/cc/cc/"),  # what the turn's solve left, for the card that came
    (OOP, "cc/cc/r300c/", "cc/cc/r300c/", "cc/cc/r300c/"),
    (OOP, "cc/cc/cr257c/", "cc/cc/cr257c/", "cc/cc/cr257c/"),
    (IP, "cc/cc/cc/c", "cc/cc/cc/", "cc/cc/cc/"),
    (IP, "cc/cc/r250c/c", "cc/cc/r250c/", "cc/cc/r250c/"),
    (IP, "cc/cc/cc/r300", "cc/cc/cc/r300", "cc/cc/cc/"),  # the opponent leads the river
    (IP, "cc/cc/cr300c/r555", "cc/cc/cr300c/r555", "cc/cc/cr300c/"),
    (IP, "cc/cc/cc/r20000", "cc/cc/cc/r20000", "cc/cc/cc/"),
    (OOP, "cc/cc/cc/cr300", "cc/cc/cc/cr300", "cc/cc/cc/c"),
    (OOP, "cc/cc/cc/r300r700", "cc/cc/cc/r300r700", "cc/cc/cc/r300"),
    (IP, "cc/cc/cc/cr300r900", "cc/cc/cc/cr300r900", "cc/cc/cc/cr300"),
    (IP, "cc/cc/cc/r300r900r2700", "cc/cc/cc/r300r900r2700", "cc/cc/cc/r300r900"),
]
every_line = pytest.mark.parametrize(("position", "betting", "root", "known"), QUESTIONS)


def expected_payoffs(seat: Seat, known: str) -> Array:
    """[hand] from the decision before: its opponent's best action at a decision, or what a river was worth."""
    solver = seat.solved[-2].solver
    state = read_betting(start(seat.game), known)
    begun = len(solver.subgame.root.actions)
    opponent = 1 - seat.position
    cards = seat.board[len(solver.subgame.board) :] if state.street > solver.subgame.root.street else ()
    place = solver.place(state.actions[begun:], cards)
    assert solver.node(place).state.betting == known
    if state.street > solver.subgame.root.street:
        values = solver.kept_values(opponent, place)
    else:
        assert state.actor == opponent
        values = solver.kept_action_values(opponent, place).max(axis=0)
    return whole(solver, opponent, values)


def check_question(seat: Seat, betting: str, root: str, known: str | None, kind: Kind) -> None:
    question = seat.question
    assert question.root.betting == root
    assert question.board == seat.spot(betting).board
    assert question.opponent == 1 - seat.position
    assert question.kind is kind
    assert seat.solved[-1].place(seat.spot(betting).state, seat.spot(betting).board) is not None
    if kind is Kind.UNSAFE:
        assert not question.payoffs.any()
    else:
        assert known is not None
        assert question.payoffs == pytest.approx(expected_payoffs(seat, known), abs=1e-9)
        assert question.payoffs.std() > 1
    logged = details(seat.past[-1].policy)
    assert (logged["kind"], logged["root"]) == (kind, root)


@every_line
def test_what_is_asked(position: Position, betting: str, root: str, known: str | None) -> None:
    seat = Seat(make(), position)
    policy = seat.play(betting)
    kind = Kind.REACH_MAXMARGIN if known else Kind.UNSAFE
    check_question(seat, betting, root, known, kind)
    street = seat.question.root.street
    assert policy.origin.reason == (f"{kind} from {root}" if known else f"unsafe from the start of street {street}")
    assert policy.origin.iterations == (40 if street == 2 else 100)


@pytest.mark.parametrize(
    ("position", "betting", "known", "kind"),
    [
        (OOP, "cc/cc/cr257", "cc/cc/c", Kind.RESOLVE),
        (IP, "cc/cc/cr300r777", "cc/cc/cr300", Kind.MAXMARGIN),
        (IP, "cc/cc/cc/r257", "cc/cc/cc/", Kind.REACH_RESOLVE),
        (OOP, "cc/cc/cc/cr257", "cc/cc/cc/c", Kind.REACH_MAXMARGIN),
    ],
)
def test_expensive_nesting_starts_before_the_bet(kind: Kind, position: Position, betting: str, known: str) -> None:
    """With the size added, and the same payoffs."""
    seat = Seat(make(DEEP, settings(10, 10, kind=str(kind), nesting="expensive")), position)
    policy = seat.play(betting)
    check_question(seat, betting, known, known, kind)
    added = betting.rpartition("r")[2]
    assert details(policy)["menu"] == f"{MENU}; also {betting.removesuffix(f'r{added}')}r{added}"
    node = seat.solved[-1].solver.node(ROOT)
    assert Raise(int(added)) in node.actions
    assert node.state.actor == seat.question.opponent


@pytest.mark.parametrize(
    ("position", "betting", "root", "nesting"),
    [
        (OOP, "cc/cc/cr257", "cc/cc/c", "inexpensive"),
        (IP, "cc/cc/cr300r777", "cc/cc/cr300", "expensive"),
        (IP, "cc/cc/cc/c", "cc/cc/cc/", "inexpensive"),
        (IP, "cc/cc/cc/r257", "cc/cc/cc/", "inexpensive"),
        (OOP, "cc/cc/cc/cr257", "cc/cc/cc/c", "expensive"),
    ],
)
def test_unsafe_search_never_starts_after_a_bet(nesting: str, position: Position, betting: str, root: str) -> None:
    """Nobody knows how likely a size is that was not in the tree (5.1.7)."""
    seat = Seat(make(DEEP, settings(10, 10, kind="unsafe", nesting=nesting)), position)
    seat.play(betting)
    check_question(seat, betting, root, None, Kind.UNSAFE)
    assert not seat.question.gifts.any()


def test_the_reach_kinds_alone_add_gifts() -> None:
    question = SubgameQuestion(
        start(DEEP), (), OOP, Kind.MAXMARGIN, (np.ones(276), np.ones(276)), np.arange(276.0), np.full(276, 5.0)
    )
    for kind in Kind:
        more = 5.0 if kind in (Kind.REACH_RESOLVE, Kind.REACH_MAXMARGIN) else 0.0
        assert np.array_equal(replace(question, kind=kind).shifted, np.arange(276.0) + more)


def test_a_gadgets_opponent_comes_with_any_hand() -> None:
    """Whatever range is tracked: weight 1 each, and a payoff for each."""
    seat = Seat(make(DEEP, settings(kind="resolve")), OOP)
    seat.play("cc/cc/cr257")
    live = allowed(DEEP, BOARD[:4])
    assert seat.question.ranges[IP][live].std() > 0.1
    for kind in Kind:
        question = replace(seat.question, kind=kind)
        subgame = question.subgame(parse_menu(MENU), 1 << 30)
        weights = np.zeros(276)
        weights[subgame.hand_index[IP]] = subgame.weights[IP]
        expected = seat.question.ranges[IP] * live / (seat.question.ranges[IP] * live).max()
        assert weights == pytest.approx(expected if kind is Kind.UNSAFE else live.astype(float))
        ours = seat.question.ranges[OOP][subgame.hand_index[OOP]]
        assert subgame.weights[OOP] == pytest.approx(ours / ours.max())


def gift_of(seat: Seat, number: int, betting: str, action: Action, *, bound: bool = False, scale: float = 1.0) -> Array:
    """[hand] by the solve of a decision: what the opponent gave away by an action at one of its own."""
    solver = seat.solved[number].solver
    state = read_betting(start(seat.game), betting)
    opponent = 1 - seat.position
    assert state.actor == opponent
    place = solver.place(state.actions[len(solver.subgame.root.actions) :])
    actions, values = solver.node(place).actions, solver.kept_action_values(opponent, place)
    taken = values[actions.index(action)]
    others = [
        value
        for each, value in zip(actions, values, strict=True)
        if each == action or not bound or apply(state, each).finished
    ]
    return whole(solver, opponent, scale * (np.max(others, axis=0) - taken))


@pytest.mark.parametrize(("gifts", "scale"), [("estimate", 1.0), ("estimate", 2.5), ("bound", 1.0)])
def test_gifts_are_those_of_earlier_decisions(gifts: str, scale: float) -> None:
    """On the street: not that of the bet itself, which is in the payoffs, nor of anything before the last solve."""
    seat = Seat(make(DEEP, settings(gifts=gifts, gift_scale=scale)), IP)
    seat.play("cc/cc/cr300r900")
    by_check = gift_of(seat, 0, "cc/cc/", CALL, bound=gifts == "bound", scale=scale)
    assert seat.question.gifts == pytest.approx(by_check, abs=1e-9)
    assert (seat.question.gifts.max() > 1) == (gifts == "estimate")  # no first action of a street ends the hand
    seat = Seat(make(DEEP, settings(gifts=gifts, gift_scale=scale)), IP)
    seat.play("cc/cc/r300r900r2700")
    by_bet = gift_of(seat, 0, "cc/cc/", Raise(300), bound=gifts == "bound", scale=scale)
    assert seat.question.gifts == pytest.approx(by_bet, abs=1e-9)


@pytest.mark.parametrize(
    ("position", "betting", "given"),
    [
        (OOP, "cc/cc/cc/", [("cc/cc/c", CALL)]),
        (OOP, "cc/cc/r300c/", [("cc/cc/r300", CALL)]),
        (IP, "cc/cc/cr300c/c", [("cc/cc/", CALL), ("cc/cc/cr300", CALL)]),
        (IP, "cc/cc/r257c/r555", [("cc/cc/", Raise(257))]),
    ],
)
@pytest.mark.parametrize("gifts", ["estimate", "bound"])
def test_gifts_of_the_turn_count_on_the_river(
    position: Position, betting: str, given: list[tuple[str, Action]], gifts: str
) -> None:
    """All that the opponent did between the last solve's root and the river; calls may be worse than folds."""
    seat = Seat(make(DEEP, settings(gifts=gifts)), position)
    seat.play(betting)
    expected = sum(gift_of(seat, 0, *action, bound=gifts == "bound") for action in given)
    live = allowed(DEEP, BOARD)
    assert seat.question.gifts[live] == pytest.approx(expected[live], abs=1e-9)
    called = any(action == CALL and "r" in state for state, action in given)
    assert (seat.question.gifts.max() > 1) == (gifts == "estimate" or called)


def test_gifts_are_not_given_twice() -> None:
    """A solve that counted gifts may have let the opponent have them: what is left of them counts in the next.

    At its root the opponent may win the payoff and the gift with a hand; the margin is what it does not. Of a gift of
    65 chips 23 would be given again here, in a pot of 1,000; the solve is exact to 1, all margins are positive.
    """
    game = small(5000)
    given = settings(600, 600, menu="50%,a / 50%,a", least_probability=0.0)
    seat = Seat(make(game, given), IP, game=game, board=parse_cards("AsAh9dTcKs"))
    for betting in ("cc/cc/r500", "cc/cc/r500c/c", "cc/cc/r500c/cr1000r2500"):
        seat.ask(betting)
    river, last = seat.solved[1:]
    assert our_range(seat, river.question.root).sum() > 20  # a line that we play
    solver = again(river, 600, Storage(16))
    margins = solver.margins()
    live = np.isfinite(margins)
    before, after = (each.question.gifts[solver.subgame.hand_index[OOP]][live] for each in (river, last))
    inside = gift_of(seat, 1, "cc/cc/r500c/", CALL)[solver.subgame.hand_index[OOP]][live]
    assert before.max() > 50
    assert solver.exploitability().chips < 1
    assert (after <= np.maximum(margins[live], 0) + inside + 5).all()


def test_the_first_bet_of_a_river_is_no_gift() -> None:
    """The opponent leads: the values are those before the bet."""
    seat = Seat(make(), IP)
    seat.play("cc/cc/r250c/r555")
    other = Seat(make(), IP)
    other.play("cc/cc/r250c/c")
    assert np.array_equal(seat.question.payoffs, other.question.payoffs)
    assert np.array_equal(seat.question.gifts, other.question.gifts)


# --- Menus ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("betting", "menu"),
    [  # the pot, and the smaller stack behind it
        ("cc/cc/", "50% / a"),  # 200, 1900
        ("cc/cc/cr300", "100% / a"),  # 400, 1700
        ("cc/cc/cr600", "100%,a / a"),  # 700, 1400
        ("cc/cc/cr2000", "100%,a / a"),
        ("cc/cc/cc/", "200% / a"),  # on the river the first rule
        ("cc/cc/cr600c/", "200% / a"),
    ],
)
def test_the_first_rule_that_fits(betting: str, menu: str) -> None:
    """By the ratio of what is behind to the pot at the root, both bounds included."""
    rules = (
        MenuRule(street="river", menu="200% / a"),
        MenuRule(spr=2.0, menu="100%,a / a"),
        MenuRule(street="turn", spr=4.25, menu="100% / a"),
        MenuRule(street="turn", spr=9.5, menu="50% / a"),
        MenuRule(menu="75% / a"),
    )
    seat = Seat(make(SHALLOW, settings(3, 3, menus=rules)), OOP, game=SHALLOW)
    assert details(seat.play(betting))["menu"] == menu
    deep = Seat(make(DEEP, settings(3, 3, menus=rules)), OOP)
    assert details(deep.play("cc/cc/"))["menu"] == "75% / a"


def test_sizes_that_were_bet_are_added_where_they_were() -> None:
    seat = Seat(make(DEEP, settings(3, 3)), IP)
    assert details(seat.play("cc/cc/r257"))["menu"] == f"{MENU}; also cc/cc/r257"
    seat = Seat(make(DEEP, settings(3, 3)), IP)
    assert details(seat.play("cc/cc/r300"))["menu"] == MENU  # 100 %: is there


# --- Ranges ---------------------------------------------------------------------------------------------------------


def our_range(seat: Seat, root: State) -> Array:
    """[hand] by what was logged."""
    weights = allowed(seat.game, seat.board[: seat.game.board_cards_by(root.street)]).astype(float)
    for decided in seat.past:
        if len(decided.state.actions) < len(root.actions):
            taken = root.actions[len(decided.state.actions)]
            weights = weights * decided.policy.weights[decided.policy.support.index(taken)] / SCALE
    return weights


def their_range(seat: Seat, floor: float) -> Array:
    """[hand] by the average strategy of each solve for what the opponent did until the next root."""
    weights = np.ones(len(hands_of(seat.game)))
    for solved, later in zip(seat.solved, seat.solved[1:], strict=False):
        begun = solved.question.root
        for state in _states(later.question.root):
            at = len(state.actions)
            if state.actor == seat.position or at < len(begun.actions) or at >= len(later.question.root.actions):
                continue
            solver = solved.solver
            if state.street > begun.street:
                continue
            place = solver.place(state.actions[len(begun.actions) :])
            actions, taken = solver.node(place).actions, later.question.root.actions[at]
            if taken not in actions:  # the nearest size that is there
                taken = min((each for each in actions if isinstance(each, Raise)), key=lambda a: abs(a.to - taken.to))
            likelihood = whole(solver, 1 - seat.position, solver.strategy(place)[actions.index(taken)])
            weights = weights * np.maximum(likelihood / likelihood.max(), floor)
    return weights


TURN_LINES = [(OOP, "cc/cc/cr300"), (OOP, "cc/cc/cr257"), (IP, "cc/cc/cr300r900"), (OOP, "cc/cc/cr257r771r3000")]
RIVER_LINES = [
    (OOP, "cc/cc/cc/"),
    (OOP, "cc/cc/cr257c/"),
    (OOP, "cc/cc/r300c/"),
    (IP, "cc/cc/cc/r300"),
    (IP, "cc/cc/cr300c/c"),
]


@pytest.mark.parametrize(("position", "betting"), TURN_LINES + RIVER_LINES)
def test_our_range_is_what_our_policies_say(position: Position, betting: str) -> None:
    seat = Seat(make(), position)
    seat.play(betting)
    assert seat.question.ranges[position] == pytest.approx(our_range(seat, seat.question.root), rel=1e-6, abs=1e-12)


def check_their_range(position: Position, betting: str, floor: float) -> Seat:
    seat = Seat(make(DEEP, settings(floor=floor)), position)
    seat.play(betting)
    board = seat.question.board
    found, expected = seat.question.ranges[1 - position] * allowed(DEEP, board), their_range(seat, floor)
    expected = expected * allowed(DEEP, board)
    assert found / found.max() == pytest.approx(expected / expected.max(), rel=1e-6, abs=1e-12)
    assert (found[allowed(DEEP, board)] > 0).all()
    assert len(np.unique(found.round(6))) > 20  # it has learnt something
    return seat


@pytest.mark.parametrize(
    ("position", "betting", "floor"), [*[(*line, 1e-4) for line in TURN_LINES], (*TURN_LINES[-1], 0.1)]
)
def test_the_opponents_range_follows_the_last_solve(position: Position, betting: str, floor: float) -> None:
    check_their_range(position, betting, floor)


@pytest.mark.parametrize(("position", "betting"), RIVER_LINES)
def test_the_opponents_range_on_the_river_follows_the_turn(position: Position, betting: str) -> None:
    """What it did on the turn after the last solve's root: checks, calls and bets alike."""
    check_their_range(position, betting, 1e-4)


def raising() -> Array:
    """[hand] how often a base raises before the flop: always with aces and kings, seldom with queens."""
    high = np.array([float({card // 4 for card in hand} <= {11, 12}) for hand in hands_of(DEEP)])
    queens = np.array([float({card // 4 for card in hand} == {10}) for hand in hands_of(DEEP)])
    return high + 0.25 * queens


class Base:
    """Looks at its cards before the flop, then checks and calls."""

    name = "base"

    def identity(self) -> dict[str, str]:
        return {}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        bounds = raise_bounds(spot.state)
        if spot.state.street or bounds is None:
            return alike((CALL,), (1.0,), Origin("base"))
        return Policy((CALL, Raise(bounds.low)), round_columns(np.stack([1 - raising(), raising()])))


def test_the_opponents_range_before_the_turn_follows_the_base() -> None:
    seat = Seat(NestedSearch(DEEP, settings(10, 10, floor=0.01), Base()), OOP)
    seat.play("r200c/cc/")  # the opponent has the button
    assert seat.question.ranges[IP] == pytest.approx(np.maximum(raising(), 0.01), rel=1e-3)
    assert set(seat.question.ranges[OOP]) == {0.0, 1.0}


def test_a_river_says_how_well_it_was_solved() -> None:
    """Against a solve of the same question in float32 that is asked itself; a turn keeps too little to say."""
    seat = Seat(make())
    first = seat.play("cc/cc/")
    assert "exploitability" not in details(first)
    seat.play("cc/cc/cc/")
    found, question = details(seat.past[-1].policy), seat.question
    assert question.kind.form is not None
    subgame = question.subgame(parse_menu(found["menu"]), 1 << 30, Storage(32))
    solver = question.solver(subgame, 1)
    solver.iterate(seat.past[-1].policy.origin.iterations)
    assert found["exploitability"] == pytest.approx(solver.exploitability().pot_share, abs=0.01)
    assert found["margin"] == pytest.approx(solver.margins().min() / question.root.pot, abs=0.05)
    longer = Seat(make(given=settings(river=400)))
    longer.play("cc/cc/")
    longer.play("cc/cc/cc/")
    assert 0 <= details(longer.past[-1].policy)["exploitability"] < found["exploitability"]


def test_what_nobody_does_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The range stays, with a line in the log; always-call never raises."""
    seat = Seat(make(DEEP, settings(3, 3)), OOP)
    with caplog.at_level(logging.WARNING):
        seat.play("r300c/cc/")
    assert set(seat.question.ranges[IP]) == {1.0}
    messages = [record.message for record in caplog.records]
    assert messages == [
        "hand 0, : no hand was expected to raise to 300 (0 at most): the opponent's range stays as it was"
    ]


def test_an_action_of_the_tree_that_nobody_takes(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    seat = Seat(make(DEEP, settings(3, 3)), OOP)
    seat.play("cc/cc/")
    monkeypatch.setattr(SolvedSubgame, "likelihood", lambda self, place, action: np.full(276, 0.5e-4))
    with caplog.at_level(logging.WARNING):
        seat.ask("cc/cc/cr300")
    assert set(seat.question.ranges[IP]) == {1.0}
    assert "hand 0, cc/cc/c: no hand was expected to raise to 300 (5e-05 at most)" in caplog.text


def test_a_surprise_is_logged_once(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """However many ranges follow from it."""
    seat = Seat(make(DEEP, settings(3, 3)), OOP)
    seat.play("cc/cc/")
    monkeypatch.setattr(SolvedSubgame, "likelihood", lambda self, place, action: np.zeros(276))
    with caplog.at_level(logging.WARNING):
        seat.ask("cc/cc/cc/")
    assert [record.message.partition(":")[0] for record in caplog.records] == ["hand 0, cc/cc/c"]


def test_a_past_that_leaves_us_no_hand_leaves_us_all(caplog: pytest.LogCaptureFixture) -> None:
    """Somebody else made our decision: it is no reason to give up."""
    seat = Seat(make(DEEP, settings(3, 3)), OOP)
    seat.play("cc/cc/")
    state, policy = seat.past[0].state, seat.past[0].policy
    seat.past = [Decided(state, alike((Raise(300),), (1.0,), policy.origin))]  # and we checked
    with caplog.at_level(logging.WARNING):
        policy = seat.ask("cc/cc/cr300")
    assert np.array_equal(seat.question.ranges[OOP], allowed(DEEP, BOARD[:4]).astype(float))
    assert policy.origin.route == "nested"
    assert "no hand of ours plays so" in caplog.text


def test_cards_that_come_leave_the_ranges() -> None:
    """No hand of the river's policy holds a card of the board, whatever it did before."""
    seat = Seat(make(), OOP)
    policy = seat.play("cc/cc/r300c/")
    live = allowed(DEEP, BOARD)
    assert np.array_equal(policy.weights.any(axis=0), live)
    assert not seat.question.ranges[OOP][~live].any()
    for player in range(2):
        assert live[seat.solved[-1].solver.subgame.hand_index[player]].all()
    turn = seat.past[0].policy
    assert np.array_equal(turn.weights.any(axis=0), allowed(DEEP, BOARD[:4]))


# --- Payoffs, recomputed --------------------------------------------------------------------------------------------


def again(solved: SolvedSubgame, iterations: int, storage: Storage) -> Solver:
    """Its question, asked of another solver with the logged menu."""
    question, menu = solved.question, parse_menu(menu_text(solved.solver.subgame.menu))
    solver = question.solver(question.subgame(menu, 1 << 30, storage), 1)
    solver.iterate(iterations)
    return solver


def compatible(seat: Seat, root: State) -> Array:
    """[hand of the opponent] our range beside it, by counting; 0 where the board has its cards."""
    ours, hands = our_range(seat, root), hands_of(seat.game)
    beside = [sum(w for w, own in zip(ours, hands, strict=True) if not {*own} & {*hand}) for hand in hands]
    return np.array(beside) * allowed(seat.game, seat.board[: seat.game.board_cards_by(root.street)])


def check_close(found: Array, expected: Array, weights: Array, pot: float, mean: float, most: float) -> None:
    """As shares of the pot, over the hands that can be held beside one of ours."""
    off, kept = np.abs(found - expected)[weights > 0] / pot, weights[weights > 0]
    assert len(off) > 100
    assert float(off @ kept / kept.sum()) < mean
    assert off.max() < most


def test_payoffs_on_a_river_are_the_best_action_before_the_bet() -> None:
    """Of an off-tree raise, by best responses to the float32 averages of another solver.

    Both solves are exploitable by less than 0.1 % of the pot; hands that seldom come there may be off by more. A wrong
    place, player, unit or reach is off by tens of per cent.
    """
    seat = Seat(make(SHALLOW, settings(river=1000)), IP, game=SHALLOW)
    seat.ask("cc/cc/cc/c")  # as if the match had begun here: unsafe
    seat.ask("cc/cc/cc/cr300r777")
    assert seat.question.kind is Kind.REACH_MAXMARGIN
    solver, pot = again(seat.solved[0], 1000, Storage()), 400
    assert solver.exploitability().chips < 0.001 * pot

    def best(betting: str) -> Array:
        place = solver.place(read_betting(start(SHALLOW), betting).actions[6:])
        return whole(solver, OOP, solver.action_values(place, best=True).max(axis=0))

    weights = compatible(seat, read_betting(start(SHALLOW), "cc/cc/cc/cr300"))
    check_close(seat.question.payoffs, best("cc/cc/cc/cr300"), weights, pot, mean=0.003, most=0.02)
    for other in ("cc/cc/cc/", "cc/cc/cc/cr2000"):
        assert np.abs(best(other) - best("cc/cc/cc/cr300"))[weights > 0].max() > 0.1 * pot


@pytest.mark.parametrize(
    ("position", "betting", "board"),
    [
        (OOP, "cc/cc/cc/", BOARD),
        (IP, "cc/cc/r300c/c", BOARD),
        (IP, "cc/cc/cc/r555", BOARD),
        (OOP, "cc/cc/cr257c/", BOARD),
        (OOP, "cc/cc/r300c/", parse_cards("KsQsJs9sAd")),  # hearts, diamonds and clubs are alike
    ],
)
def test_payoffs_of_a_river_are_what_the_turns_solve_left(
    position: Position, betting: str, board: tuple[Card, ...]
) -> None:
    """For the card that came, by best responses to the float32 averages of another solver of the turn.

    Both are exploitable by less than 0.1 % of the pot, over all rivers; one river may be off by ten times that.
    """
    seat = Seat(make(SHALLOW, settings(turn=400, least_probability=0.0)), position, game=SHALLOW, board=board)
    seat.play(betting)
    opponent, turn = 1 - position, seat.solved[-2]
    solver = again(turn, 400, Storage())
    if board != BOARD:
        plain = turn.solver.subgame
        assert len(plain.boards[1]) < 20
        solver = Solver(Subgame(plain.root, plain.board, turn.question.ranges, plain.menu, alike=False), threads=1)
        assert len(solver.subgame.boards[1]) == 20
        solver.iterate(400)
    root = read_betting(start(SHALLOW), betting.rpartition("/")[0] + "/")
    assert solver.exploitability().pot_share < 0.001
    line = root.actions[len(turn.question.root.actions) :]

    def best(card: str) -> Array:
        return whole(solver, opponent, solver.values(opponent, solver.place(line, parse_cards(card)), best=True))

    weights = compatible(seat, root)
    came = best(cards_text(board[4:]))
    check_close(seat.question.payoffs, came, weights, root.pot, mean=0.003, most=0.02)
    for other in ("Jd", "Td"):
        shared = (weights > 0) & allowed(SHALLOW, parse_cards(other))
        assert np.abs(best(other) - came)[shared].max() > 0.2 * root.pot


# --- Safety ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "betting", "kind"),
    [
        (OOP, "cc/cc/cc/", "maxmargin"),
        (IP, "cc/cc/r300c/c", "maxmargin"),
        (OOP, "cc/cc/cr257c/", "maxmargin"),
        (OOP, "cc/cc/cc/", "reach-maxmargin"),
        (OOP, "cc/cc/cc/", "resolve"),
    ],
)
def test_the_river_gives_the_opponent_no_more_than_the_turn_left(position: Position, betting: str, kind: str) -> None:
    """The margins of the river's solve, by exact best response, are below 0 by no more than convergence explains.

    The strategy that the turn's solve had for this river holds the opponent to B(h), its best response there; payoffs
    are the averages V(h) of the same iterations. So there is a strategy without a margin below min V - B; Maxmargin's
    own error costs at most twice its exploitability more. B is read from the same iterations with all averages kept.
    (Gifts only add to margins. Resolve does not look for the least margin: what it loses in sum is bounded, not what
    one hand does.)
    """
    seat = Seat(make(SHALLOW, settings(400, 400, kind=kind, least_probability=0.0)), position, game=SHALLOW)
    seat.play(betting)
    opponent, turn, river = 1 - position, seat.solved[-2], seat.solved[-1]
    root = river.question.root
    before = again(turn, 400, Storage(16))
    place = before.place(root.actions[len(turn.question.root.actions) :], BOARD[4:])
    best = whole(before, opponent, before.values(opponent, place, best=True))
    short = float((best - river.question.payoffs)[compatible(seat, root) > 0].max())
    solver = again(river, 400, Storage(16))
    error, least = solver.exploitability().chips, float(solver.margins().min())
    assert -0.001 * root.pot < short < 0.01 * root.pot
    assert error < 0.005 * root.pot
    if kind == "resolve":
        assert least > -0.1 * root.pot
        assert np.minimum(solver.margins(), 0).mean() > -0.005 * root.pot
    else:
        assert least >= -short - 2 * error - 0.001 * root.pot  # and rounding to 16 bits
    if kind == "maxmargin":
        assert least < 0.05 * root.pot  # what the opponent had was not overstated either


def test_a_bet_that_was_in_the_tree_wins_what_it_won_there() -> None:
    """The opponent moves in as the last solve expected: nothing can be gained on all of the hands that do so.

    If all margins were positive, that solve would not have been near an equilibrium; if one were clearly negative, the
    payoffs would be too low, or the new solve bad.
    """
    seat = Seat(make(SHALLOW, settings(river=1000, kind="maxmargin", least_probability=0.0)), IP, game=SHALLOW)
    seat.ask("cc/cc/cc/c")
    seat.ask("cc/cc/cc/cr300r2000")
    first = seat.solved[0].solver
    place = first.place(read_betting(start(SHALLOW), "cc/cc/cc/cr300").actions[6:])
    raising = first.strategy(place)[first.node(place).actions.index(Raise(2000))]
    assert raising.max() > 0.9
    solver = again(seat.solved[1], 1000, Storage(16))
    assert abs(float(solver.margins().min())) < 0.005 * 2300


# --- All-ins --------------------------------------------------------------------------------------------------------


@cache
def equities(board: tuple[Card, ...]) -> Array:
    """[hand, other hand] the share won minus the share lost by a showdown after a card to come; NaN if they collide."""
    hands = hands_of(SHALLOW)
    won, seen = np.zeros((len(hands), len(hands))), np.zeros((len(hands), len(hands)))
    for card in SHALLOW.deck():
        if card in board:
            continue
        ranks = np.array([hand_rank((*h, *board, card)) if not {*h} & {*board, card} else -1 for h in hands])
        both = (ranks[:, None] >= 0) & (ranks >= 0)
        won += both * np.sign(ranks[:, None] - ranks)
        seen += both
    apart = np.array([[not {*one} & {*two} for two in hands] for one in hands])
    return np.where(apart & (seen > 0), won / np.maximum(seen, 1), np.nan)


def test_a_call_of_an_all_in_is_the_best_there_is() -> None:
    """We check, the opponent moves in on the turn: fold or call, by a linear programme over exact equities.

    Margins are then linear in our calling frequencies. The solve's least margin may be off the best by twice its
    exploitability, which 1,000 iterations bring below 0.5 % of the pot.
    """
    seat = Seat(make(SHALLOW, settings(turn=1000, kind="maxmargin", least_probability=0.0)), OOP, game=SHALLOW)
    policy = seat.play("cc/cc/cr2000")
    assert again(seat.solved[1], 1000, Storage(16)).exploitability().pot_share < 0.005
    assert policy.support == (FOLD, CALL)
    board, pot = BOARD[:4], seat.question.root.pot
    live = allowed(SHALLOW, board)
    equity = equities(board)[np.ix_(live, live)]  # [their hand, ours]
    ours = np.where(np.isnan(equity), 0.0, our_range(seat, seat.question.root)[live])
    chances = ours / ours.sum(axis=1, keepdims=True)
    called, folded = chances * np.nan_to_num(2000 * equity), chances * 100.0
    payoffs = seat.question.payoffs[live]

    def margins(calls: Array) -> Array:
        return payoffs - called @ calls - folded @ (1 - calls)

    count = int(live.sum())
    gain = np.hstack([called - folded, np.ones((count, 1))])
    best = linprog(
        np.append(np.zeros(count), -1.0), A_ub=gain, b_ub=payoffs - folded.sum(axis=1),
        bounds=[(0, 1)] * count + [(None, None)],
    )  # fmt: skip
    assert best.success
    found = float(margins(policy.weights[1, live] / SCALE).min())
    assert found == pytest.approx(-best.fun, abs=0.01 * pot)
    for calls in (np.zeros(count), np.ones(count)):
        assert margins(calls).min() < found - 0.05 * pot


def test_a_lead_all_in_is_called_by_the_hands_that_win_enough() -> None:
    """Unsafe from the start of the street, by the range that its solution gives the opponent; exact equities."""
    short = small(400)
    seat = Seat(make(short, settings(turn=1000)), IP, game=short)
    policy = seat.play("cc/cc/r400")
    board, live = BOARD[:4], allowed(short, BOARD[:4])
    solver = seat.solved[0].solver
    actions = solver.node(ROOT).actions
    bets = whole(solver, OOP, solver.strategy(ROOT)[actions.index(Raise(400))])[live]
    assert bets.sum() > 10  # of 190 hands: it does happen
    equity = equities(board)[np.ix_(live, live)]  # [ours, theirs]
    chances = np.where(np.isnan(equity), 0.0, bets)
    wins = (chances * np.nan_to_num(400 * equity)).sum(axis=1) / chances.sum(axis=1) + 100.0
    calls = policy.weights[policy.support.index(CALL), live] / SCALE
    assert policy.support == (FOLD, CALL)
    clear = 0.05 * seat.past[0].state.pot
    assert (wins > clear).sum() > 20
    assert (wins < -clear).sum() > 20
    assert calls[wins > clear].min() > 0.98
    assert calls[wins < -clear].max() < 0.02


# --- Policies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [0.0, 0.01, 0.2])
def test_what_is_done_too_seldom_is_not_done(least: float) -> None:
    seat = Seat(make(DEEP, settings(least_probability=least)), OOP)
    policy = seat.play("cc/cc/")
    _, strategy = seat.solved[0].strategy(ROOT)
    kept = np.where(np.nan_to_num(strategy) >= least, np.nan_to_num(strategy), 0.0)
    kept = kept / np.maximum(kept.sum(axis=0), 1e-9) * allowed(DEEP, BOARD[:4])
    assert policy.weights / SCALE == pytest.approx(kept, abs=1.5 / SCALE)
    shares = policy.weights[policy.weights > 0] / SCALE
    assert shares.min() >= least - 1e-4
    assert ((np.nan_to_num(strategy) > 0) & (policy.weights == 0))[:, allowed(DEEP, BOARD[:4])].any() == (least > 0)


def test_something_is_left_to_every_hand() -> None:
    """Though none of its actions is taken as often as it must be."""
    seat = Seat(make(DEEP, settings(turn=1, menu="50%,100%,a / a", least_probability=0.4)), IP)
    policy = seat.play("cc/cc/c")  # the first iteration's are uniform
    assert np.array_equal(policy.weights.any(axis=0), allowed(DEEP, BOARD[:4]))


def test_hands_that_we_would_not_hold_check_or_call() -> None:
    """Those that our earlier policies exclude; the others have what was solved."""
    seat = Seat(make(DEEP, settings(least_probability=0.2)), OOP)
    for betting in ("cc/cc/r300r900", "cc/cc/r300c/"):
        policy = seat.play(betting)
        weights, live = our_range(seat, seat.question.root), allowed(DEEP, seat.question.board)
        gone = live & (weights == 0)
        assert gone.sum() > 10
        assert (policy.weights[policy.support.index(CALL), gone] == SCALE).all()
        assert (policy.weights[policy.support.index(CALL), live & ~gone] < SCALE).any()
        assert np.array_equal(policy.weights.any(axis=0), live)
        seat.past.clear()


def test_before_the_turn_the_base_plays() -> None:
    seat = Seat(make(DEEP, settings(base="always-raise")), IP)
    for betting in ("", "r200c/c"):
        assert seat.ask(betting).origin.route == "always-raise"
    assert not seat.strategy._memory._known


# --- Perturbation ---------------------------------------------------------------------------------------------------


def factor_of(policy: Policy) -> float:
    """By the logged menu, whose first bet was 100 %."""
    return float(details(policy)["menu"].partition("%")[0]) / 100


def test_sizes_are_perturbed_once_a_hand() -> None:
    strategy = make(DEEP, settings(3, 3, perturb_percent=8.0))
    factors = []
    for hand in range(12):
        seat = Seat(strategy, OOP, hand)
        policies = [seat.ask("cc/cc/")]
        sizes = [entry.to for entry in policies[0].support if isinstance(entry, Raise)]
        factor = factor_of(policies[0])
        assert sizes == [100 + round(200 * factor), 20_000]  # the pot is 200; all-in is all-in
        line = f"cc/cc/r{sizes[0]}r900"
        policies += [seat.ask(line), seat.ask(f"{line}c/")]
        assert [factor_of(policy) for policy in policies] == [factor] * 3
        menu = parse_menu(details(policies[2])["menu"])
        assert policies[2].support == tuple(menu.actions(seat.past[2].state))
        assert policies[2].support[1] == Raise(900 + round(1800 * factor))
        factors.append(factor)
    assert len(set(factors)) == len(factors)
    assert 1.0 <= min(factors) < 1.03  # of 12 even draws: (5/8)^12 = 0.4 % to fail, and the seed is fixed
    assert 1.05 < max(factors) <= 1.08


def test_what_perturbs_is_the_matchs_seed_and_the_hand() -> None:
    def factor(hand: int, seed: int) -> float:
        seat = Seat(make(DEEP, settings(3, 3, perturb_percent=8.0)), OOP, hand, seed=seed)
        return factor_of(seat.ask("cc/cc/"))

    assert factor(3, 7) == factor(3, 7)
    assert len({factor(3, 7), factor(4, 7), factor(3, 8)}) == 3


def test_unperturbed_sizes_are_those_of_the_menu() -> None:
    seat = Seat(make(DEEP, settings(3, 3)), OOP)
    assert seat.ask("cc/cc/").support == (CALL, Raise(300), Raise(20_000))


# --- Asked again, resumed, interleaved ------------------------------------------------------------------------------

CHAIN = ("cc/cc/", "cc/cc/cr257", "cc/cc/cr257c/", "cc/cc/cr257c/cr777")


def test_the_same_chain_in_another_instance() -> None:
    """Given the same past, however much of it the instance has seen."""
    seat = Seat(make(), OOP)
    policies = [seat.ask(betting) for betting in CHAIN]
    for number in range(len(CHAIN)):
        other = Seat(make(), OOP, past=seat.past[:number])
        for betting, policy in zip(CHAIN[number:], policies[number:], strict=True):
            assert same(other.ask(betting), policy)
    for number in (3, 1, 2, 0):  # back and forth in the same instance
        seat.past = seat.past[:number]
        assert same(seat.ask(CHAIN[number]), policies[number])
        seat.past = [Decided(seat.spot(b).state, p) for b, p in zip(CHAIN, policies, strict=True)]


def test_timed_decisions_are_repeated_by_their_iterations() -> None:
    """The turn runs for 0.5 s, the river for fixed iterations: it is the same after the turn has been solved again.

    An iteration takes milliseconds, but other tests and programs may have the cores for most of a tenth of a second.
    """
    given = settings(turn=1_000_000, river=50)
    seat = Seat(make(DEEP, given), OOP)
    pressed = Budget(time.monotonic() + 600, 0.5)
    turns = [seat.ask(betting, replace(pressed, deadline_s=time.monotonic() + 600)) for betting in CHAIN[:2]]
    counts = [turn.origin.iterations for turn in turns]
    assert 0 < min(counts) < 1_000_000
    river = seat.ask(CHAIN[2])
    other = Seat(make(DEEP, given), OOP, past=seat.past[:2])
    assert same(other.ask(CHAIN[2]), river)
    wrong = [Decided(d.state, replace(d.policy, origin=replace(d.policy.origin, iterations=2))) for d in seat.past[:2]]
    assert not same(Seat(make(DEEP, given), OOP, past=wrong).ask(CHAIN[2]), river)


def test_another_board_is_another_hand() -> None:
    """Two matches may have a hand of the same number with the same betting."""
    one, two = Seat(make(), OOP), Seat(make(), OOP, board=parse_cards("AhJd9sTc9c"))
    for seat in (one, two):
        seat.play("cc/cc/")
    expected = two.ask("cc/cc/r300c/")
    moved = Seat(one.strategy, OOP, board=two.board, past=two.past[:1])
    assert same(moved.ask("cc/cc/r300c/"), expected)


def test_another_line_is_another_hand() -> None:
    """Though nothing has been solved of the one before, for lack of time."""
    strategy = NestedSearch(DEEP, settings(10, 10), Base())
    late = Seat(strategy, OOP)
    assert late.ask("r200c/cc/", Budget(time.monotonic(), 60.0)).origin.route == FALLBACK
    seat = Seat(strategy, OOP)
    seat.ask("cc/cc/")
    other = Seat(NestedSearch(DEEP, settings(10, 10), Base()), OOP)
    other.ask("cc/cc/")
    assert np.array_equal(seat.question.ranges[IP], other.question.ranges[IP])


def test_another_line_after_the_same_past_is_another_hand() -> None:
    """Though nothing was solved on the river of the one before, for lack of time."""
    seat, other = Seat(make(), OOP), Seat(make(), OOP)
    for each in (seat, other):
        each.ask("cc/cc/")
    assert seat.ask("cc/cc/r300c/", Budget(time.monotonic(), 60.0)).origin.route == FALLBACK
    seat.past = seat.past[:1]
    seat.ask("cc/cc/cc/")
    other.ask("cc/cc/cc/")
    assert np.array_equal(seat.question.ranges[IP], other.question.ranges[IP])


def test_another_past_is_another_hand() -> None:
    """The same line, of which the first decision took fewer iterations: a replay of a match beside a match."""
    one, two = Seat(make(), OOP), Seat(make(DEEP, settings(turn=3)), OOP)
    for seat in (one, two):
        seat.ask("cc/cc/")
    moved = Seat(one.strategy, OOP, past=two.past[:1])
    assert same(moved.ask("cc/cc/r300c/"), Seat(make(), OOP, past=two.past[:1]).ask("cc/cc/r300c/"))


def test_lines_of_a_hand_are_asked_about_without_solving_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that follow one decision share its solve, and each is answered as if it had been the only one."""
    seat = Seat(make(), OOP)
    solves = count_solves(seat.strategy, monkeypatch)
    seat.ask("cc/cc/")
    lines = ["cc/cc/r300c/", "cc/cc/r300r900", "cc/cc/cr257", "cc/cc/cc/", "cc/cc/r300c/"]
    answers = []
    for line in lines:
        seat.past = seat.past[:1]
        answers.append(seat.ask(line))
    assert solves == ["cc/cc/", *lines]
    for line, answer in zip(lines, answers, strict=True):
        alone = Seat(make(), OOP, past=seat.past[:1])
        assert same(alone.ask(line), answer)


def copied(decided: Decided, *left_out: str) -> Decided:
    """As it comes from a store, or another process; from an older one without all that is logged now."""
    policy = decided.policy
    text = json.dumps({name: value for name, value in details(policy).items() if name not in left_out})
    origin = replace(policy.origin, details=text)
    return Decided(decided.state, Policy(policy.support, policy.weights.copy(), origin))


def count_solves(strategy: NestedSearch, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The betting of each decision that is solved from now on."""
    solves, solve = list[str](), strategy._solve
    monkeypatch.setattr(
        strategy, "_solve", lambda *given, **how: (solves.append(given[2].state.betting), solve(*given, **how))[1]
    )
    return solves


def test_a_past_that_comes_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is known by its keys; what was logged without by an older process is solved again, once."""
    seat = Seat(make(), OOP)
    expected = [seat.ask(betting) for betting in CHAIN]
    past = seat.past[:2]
    for strategy, left_out, again in ((seat.strategy, "", ()), (make(), "key", CHAIN[:2])):
        solves = count_solves(strategy, monkeypatch)
        seat = Seat(strategy, OOP, past=[copied(decided, left_out) for decided in past])
        for betting, policy in zip(CHAIN[2:], expected[2:], strict=True):
            assert same(seat.ask(betting), policy)
        assert solves == [*again, *CHAIN[2:]]


def test_a_decision_that_was_taken_over_costs_no_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was solved before it is still known after it."""
    seat = Seat(make(), OOP)
    seat.ask("cc/cc/")
    state = seat.spot("cc/cc/cr257").state
    seat.past.append(Decided(state, check_or_fold(state, "late")))
    solves = count_solves(seat.strategy, monkeypatch)
    policy = seat.ask("cc/cc/cr257c/")
    assert solves == ["cc/cc/cr257c/"]
    assert same(Seat(make(), OOP, past=seat.past[:2]).ask("cc/cc/cr257c/"), policy)


def test_nobody_is_asked_for_what_nobody_waits_for() -> None:
    """The first decision that is solved again notices it. The base was asked about what came before, once."""
    asked, stop = list[str](), Event()

    class Counted(Base):
        def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
            asked.append(spot.state.betting)
            return super().policy(spot, budget, draws)

    seat = Seat(NestedSearch(DEEP, settings(10, 10), Counted()), OOP)
    seat.ask("r200c/cc/")
    asked.clear()
    stop.set()
    other = Seat(NestedSearch(DEEP, settings(10, 10), Counted()), OOP, past=seat.past)
    policy = other.ask("r200c/cc/cr500", replace(ample(), stop=stop))
    assert policy.origin == Origin(FALLBACK, "no time for the smallest search")
    assert asked == ["", "r200c/c"]


def test_a_past_that_is_not_solved_to_the_end_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """A resumed match has no time for as many iterations as were logged: the decision is not the one it would have
    been."""
    seat = Seat(make(), OOP)
    seat.ask("cc/cc/")
    policy = seat.past[0].policy
    seat.past[0] = Decided(seat.past[0].state, replace(policy, origin=replace(policy.origin, iterations=1_000_000)))
    with caplog.at_level(logging.WARNING):
        Seat(make(), OOP, past=seat.past).ask("cc/cc/r300c/", Budget(time.monotonic() + 0.8, 60.0))
    assert "hand 0" in caplog.text


def test_hands_in_turns() -> None:
    strategy = make()
    one, two = Seat(strategy, OOP, 1), Seat(strategy, IP, 2)
    alone = [Seat(make(), OOP, 1), Seat(make(), IP, 2)]
    lines = zip(CHAIN, ("cc/cc/r257", "cc/cc/r257c/c", "cc/cc/r257c/cr771r3000"), strict=False)
    for first, second in lines:
        assert same(one.ask(first), alone[0].ask(first))
        assert same(two.ask(second), alone[1].ask(second))


def test_decisions_that_are_missing() -> None:
    """What the last tree does not have is solved anew from the start of the street."""
    seat = Seat(make(), OOP)
    seat.play("cc/cc/cr257c/")
    seat.past = seat.past[:1]  # the call of 257, which the first tree does not have, is lost
    policy = seat.ask("cc/cc/cr257c/")
    assert policy.origin.reason == "unsafe from the start of street 3: not in the last tree"
    assert seat.question.root.betting == "cc/cc/cr257c/"
    assert seat.question.ranges[OOP] == pytest.approx(our_range(seat, seat.question.root), rel=1e-6)
    seat.past = []
    assert seat.ask("cc/cc/cr257c/").origin.reason == "unsafe from the start of street 3"
    seat.past = seat.past[:0]
    assert seat.ask("cc/cc/cr257").origin.reason == "unsafe from the start of street 2"


@pytest.mark.parametrize(("trusted", "kind"), [(40, Kind.REACH_MAXMARGIN), (41, Kind.UNSAFE)])
@pytest.mark.parametrize(("betting", "root"), [("cc/cc/cr257c/", "cc/cc/cr257c/"), ("cc/cc/r300r700", "cc/cc/r300")])
def test_a_short_solve_is_not_trusted(trusted: int, kind: Kind, betting: str, root: str) -> None:
    """Forty iterations of the turn are enough to say what the opponent's hands were worth, or are not."""
    seat = Seat(make(DEEP, settings(trusted_iterations=trusted)), OOP)
    policy = seat.play(betting)
    assert seat.question.kind is kind
    if kind is Kind.UNSAFE:
        assert policy.origin.reason == "unsafe: 40 iterations before"
        assert seat.question.root.betting == root
        assert not seat.question.payoffs.any()
    again = Seat(make(DEEP, settings(trusted_iterations=trusted)), OOP, past=seat.past[:-1])
    assert same(again.ask(betting), policy)


def test_a_fallback_in_the_middle() -> None:
    """Our first decision of the turn was made by somebody else: nothing is known of the street."""
    seat = Seat(make(), OOP)
    state = seat.spot("cc/cc/").state
    seat.past = [Decided(state, check_or_fold(state, "late"))]
    policy = seat.ask("cc/cc/cr257")
    assert policy.origin.reason == "unsafe from the start of street 2"
    assert seat.question.root.betting == "cc/cc/"
    policy = seat.ask("cc/cc/cr257c/")
    assert policy.origin.reason == "reach-maxmargin from cc/cc/cr257c/"
    assert same(Seat(make(), OOP, past=seat.past[:2]).ask("cc/cc/cr257c/"), policy)


def test_a_policy_that_was_not_taken_is_not_learnt_from() -> None:
    """The session replaced it, say because it came late: the next decision is as if it had never been made."""
    seat = Seat(make(), OOP)
    seat.ask("cc/cc/")
    seat.past[0] = Decided(seat.past[0].state, check_or_fold(seat.past[0].state, "late"))
    other = Seat(make(), OOP, past=list(seat.past))
    assert same(seat.ask("cc/cc/cr257"), other.ask("cc/cc/cr257"))


# --- Time -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left_s", [-5.0, 0.0, 0.001, 0.05])
@pytest.mark.parametrize("betting", ["cc/cc/", "cc/cc/r300", "cc/cc/cc/"])
def test_without_time_it_checks_or_folds(left_s: float, betting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: nothing is solved first."""
    strategy = make(HOLDEM, NestedSettings(threads=1))
    clock = timed_by_work(monkeypatch, 1e-9)
    monkeypatch.setattr(Solver, "iterate", None)
    state = read_betting(start(HOLDEM), betting)
    spot = Spot(0, state.actor, state, BOARD[: HOLDEM.board_cards_by(state.street)], ())
    policy = strategy.policy(spot, Budget(clock.now_s + left_s, 7.0), draws(spot))
    check_policy(policy, state, spot.board)
    assert policy.origin == Origin(FALLBACK, "no time for the smallest search")
    assert policy.support == ((FOLD,) if betting == "cc/cc/r300" else (CALL,))


@pytest.mark.parametrize("s_per_pair", [1e-9, 4e-9])
@pytest.mark.parametrize(("betting", "left_s"), [("cc/cc/", 0.6), ("cc/cc/", 1.2), ("cc/cc/cc/", 0.4)])
def test_an_answer_before_the_deadline(
    betting: str, left_s: float, s_per_pair: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not long before, given such a share; on a machine that is slower than assumed, too."""
    strategy = make(HOLDEM, NestedSettings(threads=1))
    clock = timed_by_work(monkeypatch, s_per_pair)
    state = read_betting(start(HOLDEM), betting)
    spot = Spot(0, state.actor, state, BOARD[: HOLDEM.board_cards_by(state.street)], ())
    begun = clock.now_s
    policy = strategy.policy(spot, Budget(begun + left_s, 600.0), draws(spot))
    check_policy(policy, state, spot.board)
    assert policy.origin.route == "nested"
    assert policy.origin.iterations > 0
    assert 0.3 * left_s < clock.now_s - begun < left_s


def test_a_first_iteration_that_takes_longer_than_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is slower than assumed, or because memory is touched for the first time: it counts."""
    seat = Seat(make(DEEP, settings(turn=1_000_000)), OOP)
    clock, iterate = timed_by_work(monkeypatch, 20e-9), Solver.iterate

    def slow_at_first(self: Solver, count: int = 1) -> None:
        if not self.iterations:
            clock.now_s += 0.5
        iterate(self, count)

    monkeypatch.setattr(Solver, "iterate", slow_at_first)
    begun = clock.now_s
    policy = seat.ask("cc/cc/", Budget(begun + 1.0, 600.0))
    assert policy.origin.route == "nested"
    assert policy.origin.iterations > 1
    assert 0.5 < clock.now_s - begun < 1.0


def test_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision takes about its share of what a hand may take, and a decision that needs less takes less."""
    given = settings(turn=1_000_000).model_copy(update={"turn": Effort(iterations=1_000_000, share=0.25)})
    seat, clock = Seat(make(DEEP, given), OOP), timed_by_work(monkeypatch, 20e-9)
    begun = clock.now_s
    seat.ask("cc/cc/", Budget(begun + 60, 1.6))
    assert 0.3 < clock.now_s - begun < 0.45  # 0.4 s
    begun = clock.now_s
    policy = Seat(make(DEEP, settings(3, 3)), OOP).ask("cc/cc/", Budget(begun + 60, 60.0))
    assert policy.origin.iterations == 3
    assert 0 < clock.now_s - begun < 0.1


def test_a_menu_that_takes_too_long_gives_way() -> None:
    """To the next that does not; the last may take twice its share, then it is to check or fold; said in the reason."""
    given = settings(30, 130, menu="50%,100%,200%,a / 50%,100%,a / a", coarser=("100%,a / a", "100%", "-"))
    seat = Seat(make(DEEP, given), OOP)
    by_share = {}
    for share in (600.0, 20.0, 2.0):  # long enough that nothing else on this machine decides
        seat.strategy._iterating.unit_s = 1e-6  # a slow machine: 24 iterations take 40 s, 9 s with the second menu
        policy = seat.ask("cc/cc/", Budget(time.monotonic() + 6000, share))
        by_share[share] = details(policy)["menu"], policy.origin.reason
        assert policy.origin.iterations <= 30
        seat.past.clear()
    reason = "unsafe from the start of street 2"
    assert by_share[600.0] == ("50%,100%,200%,a / 50%,100%,a / a", reason)
    assert by_share[20.0] == ("100%,a / a", f"{reason}; coarser menu")
    assert by_share[2.0] == ("-", f"{reason}; coarser menu")
    seat.past.clear()
    assert seat.ask("cc/cc/", Budget(time.monotonic() + 60, 0.001)).origin.route == FALLBACK


def test_a_tree_that_needs_too_much_memory_gives_way() -> None:
    seat = Seat(make(HOLDEM, settings(2, 2, menu="50%,100% / 100% / a", memory_mb=16)), OOP, game=HOLDEM)
    policy = seat.ask("cc/cc/")
    assert details(policy)["menu"] == "75%,a / a"
    assert policy.origin.reason == "unsafe from the start of street 2; coarser menu"


def test_a_tree_with_too_many_decisions_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that needs too much memory."""
    monkeypatch.setattr(nested, "MOST_NODES", 40)
    seat = Seat(make(DEEP, settings(2, 2, menu="50%,100%,200% / 50%,100% / 100%")), OOP)
    policy = seat.ask("cc/cc/")
    assert details(policy)["menu"] == "75%,a / a"


def test_a_tree_that_would_take_too_long_to_build_gives_way() -> None:
    """Trees grow slowly, and nobody looks at the clock meanwhile: what grew before says how much is too much."""
    large = settings(2, 2, menu="50%,100%,200% / 50%,100% / 100%", coarser=("-",))
    seat = Seat(make(DEEP, large), OOP)
    assert details(seat.ask("cc/cc/", Budget(time.monotonic() + 600, 600.0)))["menu"] != "-"
    seat.past.clear()
    seat.strategy._building.unit_s = 1 / 5
    assert details(seat.ask("cc/cc/", Budget(time.monotonic() + 600, 5.0)))["menu"] == "-"


def test_a_menu_without_sizes_for_the_street_gives_way(caplog: pytest.LogCaptureFixture) -> None:
    seat = Seat(make(DEEP, settings(2, 2, menu="river 50%")), OOP)
    with caplog.at_level(logging.WARNING):
        policy = seat.ask("cc/cc/")
    assert details(policy)["menu"] == "75%,a / a"
    assert "the menu has no sizes for the turn" in caplog.text


def test_without_any_menu_for_the_street_it_checks_and_says_why() -> None:
    seat = Seat(make(DEEP, settings(2, 2, menu="river 50%", coarser=("river -",))), OOP)
    policy = seat.ask("cc/cc/")
    assert policy.origin.route == FALLBACK
    assert "no time" not in policy.origin.reason


def test_a_coarser_tree_has_what_was_bet() -> None:
    seat = Seat(make(DEEP, settings(coarser=("-",))), IP)
    seat.strategy._iterating.unit_s = 1e-7  # a slow machine
    policy = seat.ask("cc/cc/r257", Budget(time.monotonic() + 60, 0.4))
    assert details(policy)["menu"] == "-; also cc/cc/r257"
    assert policy.support == (FOLD, CALL)


# --- In a session ---------------------------------------------------------------------------------------------------


def answer(state: State) -> str:
    """Raises the least once a street."""
    bounds = raise_bounds(state)
    return f"r{bounds.low}" if bounds and not any(isinstance(action, Raise) for action in state.history[-1]) else "c"


def config(hands: int, *, resume: bool = False, **clock: float) -> BotConfig:
    return BotConfig(
        bot=BotSection(seed=3, hands=hands), clock=ClockSection(**clock), store=StoreSection(resume=resume)
    )


def session(strategy: Any, table: MemoryTable, folder: Any, told: BotConfig) -> tuple[Session, Ending]:
    store = MatchStore(folder / "match.sqlite", DEEP, "nested", {}, resume=told.store.resume)
    playing = Session(agent_of(strategy, DEEP, on_loop=False), told, store)
    ending = asyncio.run(playing.play(as_stream(table)))
    store.close()
    return playing, ending


def test_fallbacks_of_the_strategy_are_counted(tmp_path: Any) -> None:
    """Too little time for any search, from the turn on."""
    table = MemoryTable(4, DEEP, answer)
    playing, ending = session(make(), table, tmp_path, config(4, response_s=0.1, margin_s=0.0))
    table.check_over()
    assert ending.outcome is Outcome.COMPLETE
    made = decisions(tmp_path)
    late = [each for each in made if each.policy.origin.route == FALLBACK]
    assert playing.fallbacks == len(late) > 3
    assert {each.policy.origin.reason for each in late} <= {
        "no time for the smallest search", "nested was not back in time"
    }  # fmt: skip
    assert all(each.betting.count("/") >= 2 for each in late)
    assert {each.policy.origin.route for each in made if each not in late} == {"always-call"}


class Cut(MemoryTable):
    """A connection that is lost after some answers."""

    def __init__(self, answers: int, hands: int) -> None:
        super().__init__(hands, DEEP, answer)
        self._answers = answers

    async def read_line(self, timeout_s: float) -> ReceivedLine:
        if len(self.sent) > self._answers:
            raise Disconnected("disconnected", clean=True)
        return await super().read_line(timeout_s)

    def resumed(self) -> MemoryTable:
        table = MemoryTable(self.match.header.hands, DEEP, answer)
        table.match.dealer.resume(self.match.transactions)
        return table


def test_a_match_that_was_interrupted_goes_on_as_it_would_have(tmp_path: Any) -> None:
    """Wherever in its two hands: the same actions, from the same policies, to the bit."""
    given = settings(5, 10, perturb_percent=5.0)
    whole_match = MemoryTable(2, DEEP, answer)
    session(make(DEEP, given), whole_match, tmp_path, config(2))
    whole_match.check_over()
    expected = {(each.hand, each.betting): each for each in decisions(tmp_path)}
    searched = [key for key, each in expected.items() if each.policy.origin.route == "nested"]
    assert len(searched) >= 5
    count = len(whole_match.our_actions())
    for answers in range(3, count):
        folder = tmp_path / str(answers)
        folder.mkdir()
        cut = Cut(answers, 2)
        session(make(DEEP, given), cut, folder, config(2))
        rest = cut.resumed()
        playing, _ = session(make(DEEP, given), rest, folder, config(2, resume=True))
        rest.check_over()
        assert playing.fallbacks == 0
        assert cut.our_actions() + rest.our_actions() == whole_match.our_actions()
        found = {(each.hand, each.betting): each for each in decisions(folder)}
        for key in searched:
            assert same(found[key].policy, expected[key].policy), (answers, key)


def test_an_answer_that_comes_late_spoils_nothing(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is dropped; the strategy, which has learnt from it, goes by what was played."""
    strategy, spots, slow = make(), [], [True]
    policy = NestedSearch.policy

    def late_once(self: NestedSearch, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        if spot.state.street < 2:
            return policy(self, spot, budget, draws)
        made = policy(self, spot, ample(), draws)
        spots.append((spot, made))
        if slow and slow.pop():
            time.sleep(max(budget.left_s, 0.0) + 0.1)
        return made

    monkeypatch.setattr(NestedSearch, "policy", late_once)
    table = MemoryTable(2, DEEP, answer)
    playing, ending = session(strategy, table, tmp_path, config(2, response_s=1.0, margin_s=0.0))
    table.check_over()
    assert ending.outcome is Outcome.COMPLETE
    assert playing.fallbacks == 1
    monkeypatch.undo()
    assert len(spots) > 3
    assert spots[1][0].past[-1].policy.origin.route == FALLBACK
    for spot, made in spots[1:4]:
        fresh = Seat(make(), spot.position, spot.hand)
        drawn = Draws(3, "", spot.hand, len(spot.state.actions), "strategy")
        assert same(fresh.strategy.policy(spot, ample(), drawn), made)


# --- Settings -------------------------------------------------------------------------------------------------------

CHANGED = """\
[bot]
agent = "nested"
[nested]
base = "random"
kind = "resolve"
nesting = "expensive"
trusted_iterations = 5
gifts = "bound"
gift_scale = 0.5
coarser = ["a"]
perturb_percent = 3.5
least_probability = 0.02
floor = 1e-3
threads = 2
memory_mb = 100
[nested.turn]
iterations = 11
share = 0.125
[nested.river]
iterations = 12
share = 0.0625
[[nested.menus]]
street = "turn"
spr = 1.5
menu = "a"
[[nested.menus]]
menu = "50% / a"
"""


def test_settings_of_a_file_reach_the_strategy(tmp_path: Any) -> None:
    path = tmp_path / "my.toml"
    path.write_text(CHANGED)
    loaded = load_config(path, {})
    assert loaded.nested == NestedSettings(
        base="random", kind="resolve", nesting="expensive", trusted_iterations=5, gifts="bound", gift_scale=0.5,
        coarser=("a",), perturb_percent=3.5, least_probability=0.02, floor=1e-3, threads=2, memory_mb=100,
        turn=Effort(iterations=11, share=0.125), river=Effort(iterations=12, share=0.0625),
        menus=(MenuRule(street="turn", spr=1.5, menu="a"), MenuRule(menu="50% / a")),
    )  # fmt: skip
    defaults = NestedSettings()
    assert all(getattr(loaded.nested, key) != getattr(defaults, key) for key in NestedSettings.model_fields)
    strategy = make_strategy(loaded.bot.agent, DEEP, loaded.strategies)
    identity = strategy.identity()
    assert json.loads(identity["settings"]) == json.loads(loaded.nested.model_dump_json())
    assert identity["base kind"] == "baseline"
    seat = Seat(strategy, OOP)
    assert seat.ask("cc/cc/").origin.iterations == 11


def test_different_settings_are_different_identities() -> None:
    identities = [make(DEEP, given).identity() for given in (settings(), settings(41), settings(kind="resolve"))]
    assert len({tuple(sorted(identity.items())) for identity in identities}) == 3
    assert identities[0] == make().identity()


def refusal(tmp_path: Any, content: str) -> str:
    path = tmp_path / "my.toml"
    path.write_text(content)

    def begin() -> None:
        make_strategy("nested", DEEP, load_config(path, {}).strategies)

    with pytest.raises(ConfigError) as caught:
        begin()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[nested]\nkinds = 1", "nested.kinds = 1: unknown key: expected one of base, kind, nesting"),
        ('[nested]\nkind = "safe"', "nested.kind = 'safe': expected 'unsafe', 'resolve', "),
        ('[nested]\nnesting = "cheap"', "nested.nesting = 'cheap'"),
        ('[nested]\ngifts = "all"', "nested.gifts = 'all'"),
        ("[nested]\nbase = 3", "nested.base = 3"),
        ("[nested]\ngift_scale = -0.1", "nested.gift_scale = -0.1: expected at least 0"),
        ("[nested]\ngift_scale = nan", "nested.gift_scale = nan"),
        ("[nested]\nperturb_percent = 8.01", "nested.perturb_percent = 8.01: expected at most 8"),
        ("[nested]\nperturb_percent = -1", "nested.perturb_percent = -1"),
        ("[nested]\nleast_probability = 0.5", "nested.least_probability = 0.5"),
        ("[nested]\nfloor = 0.0", "nested.floor = 0.0"),
        ("[nested]\nfloor = nan", "nested.floor = nan"),
        ("[nested]\nthreads = -1", "nested.threads = -1"),
        ("[nested]\nmemory_mb = 1", "nested.memory_mb = 1"),
        ('[nested]\ncoarser = ["50"]', "nested.coarser.0 = '50': "),
        ('[nested]\ncoarser = "a"', "nested.coarser = 'a'"),
        ("[nested.turn]\niterations = 0\nshare = 0.5", "nested.turn.iterations = 0"),
        ("[nested.turn]\niterations = 1\nshare = 0.0", "nested.turn.share = 0.0"),
        ("[nested.river]\niterations = 1\nshare = 1.1", "nested.river.share = 1.1"),
        ("[nested.river]\nshare = 2.0", "nested.river.share = 2.0"),
        ('[[nested.menus]]\nmenu = "50%,,"', "nested.menus.0.menu = '50%,,': "),
        ('[[nested.menus]]\nmenu = "turn 50%; turn 70%"', "nested.menus.0.menu = "),
        ('[[nested.menus]]\nspr = -1.0\nmenu = "a"', "nested.menus.0.spr = -1.0"),
        ('[[nested.menus]]\nspr = nan\nmenu = "a"', "nested.menus.0.spr = nan"),
        ('[[nested.menus]]\nstreet = "flop"\nmenu = "a"', "nested.menus.0.street = 'flop'"),
        ("[[nested.menus]]\nspr = 1.0", "nested.menus.0.menu = "),
        ('[nested]\nbase = "nested"', "nested.base = 'nested': expected "),
        ('[nested]\nbase = "rnd"', "nested.base = 'rnd': expected one of always-fold, always-call, "),
        ("[nested]\ngift_scale = inf", "nested.gift_scale = inf"),
        ('[nested]\nfloor = "0.01"', "nested.floor = '0.01'"),  # as strict as other sections
        ("[nested]\nthreads = true", "nested.threads = True"),
    ],
)
def test_wrong_settings_are_refused_by_name(tmp_path: Any, content: str, says: str) -> None:
    message = refusal(tmp_path, content)
    assert says in message


@pytest.mark.parametrize(
    ("content", "known"),
    [
        ("[nested.turn]\niterations = 1\nshare = 0.5\nseconds = 1", "iterations, share"),
        ('[[nested.menus]]\nmenu = "a"\nsrp = 1.0', "street, spr, menu"),
    ],
)
def test_unknown_keys_are_answered_with_those_of_their_own_section(tmp_path: Any, content: str, known: str) -> None:
    assert refusal(tmp_path, content).endswith(f"unknown key: expected one of {known}")
