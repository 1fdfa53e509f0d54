"""The short way through heads-up betting against the judge: the same state or no answer."""

from __future__ import annotations

import re
from random import Random

import pytest
from random_play import random_game, random_hand

from machine.errors import ParatusError
from protocol.fast_betting import follow, plain
from protocol.game import Game, Position, load_game
from protocol.state import MAX_ACTIONS_PER_STREET, Raise, State, apply, raise_bounds, start
from protocol.wire import WireError, parse_action, read_betting

SHIPPED = [load_game(name).game for name in ("holdem.nolimit.2p.reverse_blinds", "leduc")]


def plain_game(rng: Random) -> Game:
    """Any game that the short way knows."""
    if rng.random() < 0.4:
        return rng.choice(SHIPPED)
    stack, rounds = rng.choice((2, 7, 30, 500, 20_000)), rng.randint(1, 4)
    return Game(
        no_limit=True,
        num_players=2,
        num_rounds=rounds,
        blind=(rng.randrange(min(stack, 120)), rng.randrange(min(stack, 60))),
        stack=(stack, stack),
        first_player=tuple(Position(rng.randrange(2)) for _ in range(rounds)),
        raise_size=(),
        max_raises=(255,) * rounds,
        num_suits=4,
        num_ranks=13,
        num_hole_cards=2,
        num_board_cards=(0, 3, 1, 1)[:rounds],
    )


def judged(game: Game, text: str) -> State | None:
    """What the rules say, step by step; None if they forbid it or it is spelled otherwise."""
    state = start(game)
    try:
        for step in re.findall(r"r[0-9]*|[^r/]", text):
            state = apply(state, parse_action(step, state))
    except ParatusError:
        return None
    return state if state.betting == text else None


@pytest.mark.parametrize("seed", range(12))
def test_every_step_of_random_hands(seed):
    rng = Random(seed)
    for _ in range(150):
        for state in random_hand(rng, plain_game(rng)).states:
            assert follow(state.game, state.betting) == state
            assert read_betting(start(state.game), state.betting) == state


@pytest.mark.parametrize("seed", range(12))
def test_text_that_was_tampered_with(seed):
    rng, taken, refused = Random(seed), 0, 0
    for _ in range(1200):
        game = plain_game(rng)
        text = random_hand(rng, game).states[-1].betting
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(text) + 1)
            change = rng.choice(("", "c", "f", "/", "r", "0", "9", "r300", "x", "\n", "٣"))
            text = text[:at] + change + text[at + rng.randint(0, 2) :]
        expected, found = judged(game, text), follow(game, text)
        assert found == expected, text
        taken, refused = taken + (found is not None), refused + (found is None)
        if expected is None:
            with pytest.raises(WireError):
                read_betting(start(game), text)
        else:
            assert read_betting(start(game), text) == expected
    assert min(taken, refused) > 50


def test_the_cap_on_actions():
    game = Game(True, 2, 1, (0, 0), (20_000, 20_000), (Position(0),), (), (255,), 4, 13, 2, (0,))
    state = start(game)
    while (bounds := raise_bounds(state)) is not None:
        state = apply(state, Raise(bounds.low))
        assert follow(game, state.betting) == state
    assert len(state.actions) == MAX_ACTIONS_PER_STREET - 1
    assert follow(game, f"{state.betting}r{state.min_raise_to}") is None


def test_other_games_are_left_to_the_judge():
    rng = Random(1)
    others = [game for game in (random_game(rng) for _ in range(300)) if not plain(game)]
    assert len(others) > 200
    for game in others:
        assert follow(game, "") is None
        assert read_betting(start(game), "") is start(game)
