"""All-in expectations against the reference tool's, and against a slow twin."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from records import DATA, read_record

from dealer_tools.expectation import expected_values
from protocol.dealing import CardStream
from protocol.game import load_game
from protocol.log import HandRecord, parse_state_line
from protocol.state import CALL, FOLD, Deal, Raise, State, apply, payoffs, raise_bounds, start


def test_equals_the_reference_tool_on_every_hand() -> None:
    record = read_record("nl2p")
    hands = [line for line in record.log if line.startswith("STATE:")]
    rescored = (DATA / "nl2p.all_in_expectation.log").read_text().splitlines()
    assert len(hands) == len(rescored) == 300
    changed = 0
    for line, expected in zip(hands, rescored, strict=True):
        before, after = parse_state_line(line, record.game), parse_state_line(expected, record.game)
        values = expected_values(before)
        assert values == pytest.approx(after.values, abs=1e-6)
        changed += before.values != after.values
    assert changed > 50


def test_the_oracle_before_the_flop() -> None:
    """5d5c against 9hQd, all-in before the flop, is worth 1135.183939 to position 0."""
    game = load_game("holdem.nolimit.2p.reverse_blinds").game
    state = apply(apply(start(game), Raise(20_000)), CALL)
    assert state.betting == "r20000c///"
    deal = CardStream(game, 0).deal()
    values = expected_values(HandRecord(0, state, deal, (0.0, 0.0), ("A", "B")))
    assert values == pytest.approx((1135.183939, -1135.183939), abs=1e-6)


def random_all_in(rng: Random, state: State) -> State:
    """A hand that somebody goes all-in in, often before the last street."""
    while not state.finished:
        bounds = raise_bounds(state)
        kind = rng.random()
        if bounds is not None and kind < 0.4:
            state = apply(state, Raise(bounds.high))
        elif state.owed and kind < 0.6:
            state = apply(state, FOLD)
        else:
            state = apply(state, CALL)
    return state


@pytest.mark.parametrize("name", ["leduc", "holdem.nolimit.3p", "kuhn.limit.3p"])
def test_equals_a_slow_twin(name: str) -> None:
    """The mean of `payoffs` over every board, one by one, with two or three players."""
    game = load_game(name).game
    rng, stream = Random(3), CardStream(game, 3)
    averaged = 0
    for _ in range(400):
        deal, state = stream.deal(), random_all_in(rng, start(game))
        streets = [street for street, actions in enumerate(state.history) if actions]
        board = deal.board[: game.board_cards_by(streets[-1])]
        missing = len(deal.board) - len(board)
        if missing > 2:
            continue
        values = expected_values(HandRecord(0, state, deal, (), ()))
        known = {card for hole in deal.hole for card in hole} | set(board)
        boards = list(combinations([card for card in game.deck() if card not in known], missing))
        slow = [payoffs(state, Deal(deal.hole, (*board, *rest))) for rest in boards]
        assert values == pytest.approx([sum(column) / len(boards) for column in zip(*slow, strict=True)])
        assert sum(values) == pytest.approx(0, abs=1e-6)
        averaged += state.showdown and missing > 0
    assert averaged > 20 or game.num_rounds == 1
