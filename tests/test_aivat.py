"""AIVAT by complete enumeration: every deal and all betting of small games, so that nothing is left to sampling."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from leduc import LEDUC
from small_matches import KUHN, NAMES, NO_LIMIT_LEDUC, Happened, Play, every_hand, random_play
from small_values import RandomValues, TrueValues
from variants import some_of

from dealer_tools.scoring import aivat
from dealer_tools.scoring.aivat import Aivat, Parts
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.learned import Mixture
from dealer_tools.scoring.values import Equity, Values, Zero
from protocol.game import Game

GAMES = {"kuhn": KUHN, "leduc": LEDUC, "no-limit leduc": NO_LIMIT_LEDUC}
PARTS = {
    "imaginary": Parts(chance=False, ours=False),
    "mivat": Parts(imagine=False, ours=False),
    "mivat and imaginary": Parts(ours=False),
    "actions alone": Parts(chance=False),
    "aivat": Parts(),
    "one history": Parts(imagine=False),
    "aivat-both": Parts(theirs=True),
}
EXACT = 1e-9


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
    if name == "learned":
        weights = np.random.default_rng(1).normal(size=(2, 4))
        return Mixture([Equity(holdings), RandomValues(holdings)], weights)
    return Zero() if name == "zero" else Equity(holdings)


@pytest.mark.parametrize(
    ("parts", "values", "position"),
    [
        *[(parts, "random", number % 2) for number, parts in enumerate(PARTS) if parts in ("aivat", "aivat-both")],
        ("aivat", "learned", 1),
        *some_of(
            [
                ("aivat", "absurd", 1),
                ("aivat", "equity", 0),
                *[(parts, "random", number % 2) for number, parts in enumerate(PARTS)],
                *[("aivat", values, side) for side in (0, 1) for values in ("zero", "absurd", "random")],
                ("mivat", "equity", 1),
                ("aivat-both", "equity", 0),
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
    if game_of(hands) == KUHN:
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
