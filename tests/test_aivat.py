"""AIVAT by complete enumeration: every deal and all betting of small games, so that nothing is left to sampling."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from leduc import LEDUC
from small_matches import (
    KUHN,
    NAMES,
    NO_LIMIT_LEDUC,
    Happened,
    Play,
    actions_of,
    every_hand,
    probability_of,
    random_play,
)
from variants import some_of

from dealer_tools.scoring import aivat
from dealer_tools.scoring.aivat import Aivat, Parts
from dealer_tools.scoring.holdings import F64, Holdings
from dealer_tools.scoring.values import Equity, Side, Values, Zero, mean_over_cards, missing_cards
from protocol.cards import Card
from protocol.game import Game
from protocol.state import Deal, State, apply, payoffs

GAMES = {"kuhn": KUHN, "leduc": LEDUC, "no-limit leduc": NO_LIMIT_LEDUC}
PARTS = {
    "imaginary": Parts(chance=False, ours=False),
    "mivat": Parts(imagine=False, ours=False),
    "mivat and imaginary": Parts(ours=False),
    "actions alone": Parts(chance=False),
    "aivat": Parts(),
    "one history": Parts(imagine=False),
    "self-play": Parts(theirs=True),
}
EXACT = 1e-9


class RandomValues:
    """Numbers that mean nothing, the same for the same history; `scale` makes them absurd."""

    name, digest = "random", ""

    def __init__(self, holdings: Holdings, scale: float = 1.0, shift: float = 0.0) -> None:
        self._holdings, self._scale, self._shift = holdings, scale, shift
        self._known: dict[tuple[Side, str, tuple[Card, ...]], F64] = {}

    def at(self, side: Side, state: State, board: tuple[Card, ...]) -> F64:
        return self._scale * self._normal(side, state.betting, tuple(sorted(board))) + self._shift

    def _normal(self, side: Side, betting: str, board: tuple[Card, ...]) -> F64:
        key = side, betting, board
        if key not in self._known:
            rng = np.random.default_rng([side.position, side.theirs, *betting.encode(), 99, *board])
            self._known[key] = rng.normal(size=self._holdings.num_hands)
        return self._known[key]

    def before(self, side: Side, state: State, board: tuple[Card, ...]) -> F64:
        missing = missing_cards(state, board)
        return mean_over_cards(self._holdings, side, board, missing, lambda whole: self.at(side, state, whole))


class TrueValues:
    """What both players win from a history on if they play so, with both hands known: by recursion."""

    name, digest = "true", ""

    def __init__(self, holdings: Holdings, plays: tuple[Play, Play]) -> None:
        self._holdings, self._plays = holdings, plays
        self._known: dict[tuple[Side, str, tuple[Card, ...]], F64] = {}

    def at(self, side: Side, state: State, board: tuple[Card, ...]) -> F64:
        key = side, state.betting, board
        if key not in self._known:
            self._known[key] = np.array(
                [self._value(side, state, board, mine) for mine in range(self._holdings.num_hands)]
            )
        return self._known[key]

    def before(self, side: Side, state: State, board: tuple[Card, ...]) -> F64:
        missing = missing_cards(state, board)
        return mean_over_cards(self._holdings, side, board, missing, lambda whole: self.at(side, state, whole))

    def _value(self, side: Side, state: State, board: tuple[Card, ...], mine: int) -> float:
        holdings = self._holdings
        hands = {side.position: holdings.hole(mine), 1 - side.position: holdings.hole(side.theirs)}
        if set(hands[0]) & set(hands[1]) or set(board) & {*hands[0], *hands[1]}:
            return 0.0
        if state.actor is None:
            missing = sum(state.game.num_board_cards) - len(board)
            left = [card for card in holdings.deck if card not in (*hands[0], *hands[1], *board)]
            boards = [(*board, card) for card in left] if missing else [board]
            assert missing <= 1
            paid = [payoffs(state, Deal((hands[0], hands[1]), whole))[side.position] for whole in boards]
            return sum(paid) / len(paid)
        if len(board) < state.game.board_cards_by(state.street):
            left = [card for card in holdings.deck if card not in (*hands[0], *hands[1], *board)]
            return sum(self._value(side, state, (*board, card), mine) for card in left) / len(left)
        policy = self._plays[state.actor](state, board)
        column = mine if state.actor == side.position else side.theirs
        return sum(
            probability_of(policy, action, column) * self._value(side, apply(state, action), board, mine)
            for action in actions_of(policy)
            if probability_of(policy, action, column)
        )


def plays_of(game: Game) -> tuple[Play, Play]:
    return random_play(game, 1), random_play(game, 2, sizes=game.no_limit)


@pytest.fixture(scope="module", params=GAMES)
def hands(request: pytest.FixtureRequest) -> list[Happened]:
    game = GAMES[request.param]
    found = list(every_hand(game, plays_of(game)))
    assert math.fsum(hand.probability for hand in found) == pytest.approx(1, abs=1e-12)
    assert len(found) > (15 if game is KUHN else 1000)
    return found


def game_of(hands: list[Happened]) -> Game:
    return hands[0].played.record.state.game


def values_of(name: str, holdings: Holdings) -> Values:
    if name == "random":
        return RandomValues(holdings)
    if name == "absurd":
        return RandomValues(holdings, scale=1e4, shift=-3e4)
    return Zero() if name == "zero" else Equity(holdings)


@pytest.mark.parametrize(
    ("parts", "values", "position"),
    [
        *[(parts, "random", number % 2) for number, parts in enumerate(PARTS) if parts in ("aivat", "self-play")],
        *some_of(
            [
                ("aivat", "absurd", 1),
                ("aivat", "equity", 0),
                *[(parts, "random", number % 2) for number, parts in enumerate(PARTS)],
                *[("aivat", values, side) for side in (0, 1) for values in ("zero", "absurd", "random")],
                ("mivat", "equity", 1),
                ("self-play", "equity", 0),
            ],
            every=5,
        ),
    ],
)
def test_unbiased_and_so_is_each_term(hands: list[Happened], parts: str, values: str, position: int) -> None:
    """Whatever v is, for a known and for an unknown opponent; and each event's correction given what came before."""
    holdings = Holdings(game_of(hands))
    scorer, player = Aivat(holdings, values_of(values, holdings)), NAMES[position]
    errors, scale = [], 1.0
    terms: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for hand in hands:
        found = scorer.score(hand.played, player, PARTS[parts])
        errors.append(hand.probability * (found.chips - hand.paid[position]))
        scale = max(scale, *[abs(term.chips) for term in found.terms], 1.0)
        board = hand.played.record.deal.board
        for term in found.terms:
            seen = () if term.kind == "deal" or term.betting.count("/") == 0 else board
            known = seen if term.kind != "board" else ()
            terms[term.kind, term.betting, known].append(hand.probability * term.chips)
    assert math.fsum(errors) == pytest.approx(0, abs=EXACT * scale)
    for key, each in terms.items():
        assert math.fsum(each) == pytest.approx(0, abs=EXACT * scale), key
    expected = {"deal", "board"} if PARTS[parts].chance else set()
    expected |= {"ours"} if PARTS[parts].ours else set()
    expected |= {"theirs"} if PARTS[parts].theirs else set()
    if game_of(hands) is KUHN:
        expected -= {"board"}
    assert {key[0] for key in terms} == expected
    if values in ("random", "absurd"):
        assert all(any(any(each) for key, each in terms.items() if key[0] == kind) for kind in expected)


@pytest.mark.parametrize("position", some_of([0, 1]))
def test_true_values_and_both_policies_leave_no_luck(hands: list[Happened], position: int) -> None:
    game = game_of(hands)
    if game.no_limit:  # sizes are representative there, which is exact only for what is linear in them
        plays = random_play(game, 1), random_play(game, 2)
        hands = list(every_hand(game, plays))
    else:
        plays = plays_of(game)
    holdings = Holdings(game)
    scorer = Aivat(holdings, TrueValues(holdings, plays))
    mean = math.fsum(hand.probability * hand.paid[position] for hand in hands)
    for hand in hands:
        assert scorer.score(hand.played, NAMES[position], Parts(theirs=True)).chips == pytest.approx(mean, abs=1e-9)


def test_a_constant_changes_nothing(hands: list[Happened], monkeypatch: pytest.MonkeyPatch) -> None:
    """Added to v everywhere, ends included, where v is what is paid: then the base alone moves, by as much."""
    hands, holdings = hands[::5], Holdings(game_of(hands))
    plain = Aivat(holdings, RandomValues(holdings))
    expected = [plain.score(hand.played, NAMES[0], Parts(theirs=True)).chips for hand in hands]
    paid = aivat._Walk._paid
    monkeypatch.setattr(aivat._Walk, "_paid", lambda self, state: paid(self, state) + 1000)
    moved = Aivat(holdings, RandomValues(holdings, shift=1000))
    for hand, before in zip(hands, expected, strict=True):
        after = moved.score(hand.played, NAMES[0], Parts(theirs=True))
        assert after.chips == pytest.approx(before + 1000, abs=1e-8)
