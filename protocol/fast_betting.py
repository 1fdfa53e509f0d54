"""Betting of the most common kind of game, followed at once: two players, no limit, equal stacks.

`protocol.state` is the one judge of what is legal, and makes a `State` of every step. Readers of hundreds of thousands
of hands need only the last one, and nearly all of what they read is legal. So here betting is followed with a few
numbers, and the answer is the state that the judge would reach, or None for whatever is not plainly legal: then the
judge is asked, and says what is wrong. The tests compare the two on random games, each step of the way and with text
that has been tampered with.

With equal stacks and two players there is little to know: nobody raises once somebody is all-in, and a call of an
all-in bet ends the betting.
"""

from __future__ import annotations

import re
from functools import lru_cache

from protocol.game import Game, Position
from protocol.state import CALL, FOLD, MAX_ACTIONS_PER_STREET, Action, Raise, State

_STEPS = re.compile("[fc/]|r[1-9][0-9]{0,9}")


@lru_cache(maxsize=16)
def plain(game: Game) -> bool:
    """True for the games that `follow` knows."""
    return (
        game.no_limit
        and game.num_players == 2
        and game.stack[0] == game.stack[1] > max(game.blind)
        and min(game.max_raises) >= MAX_ACTIONS_PER_STREET
    )


@lru_cache(maxsize=4096)
def follow(game: Game, betting: str) -> State | None:
    """The state that `betting` leads to from the start of a hand; None if that takes more than this module knows."""
    steps = _STEPS.findall(betting)
    if not plain(game) or "".join(steps) != betting:
        return None
    stack, rounds, committed, folded = game.stack[0], game.num_rounds, [*game.blind], [False, False]
    maximum, actor, matched, slashes = max(game.blind), int(game.first_player[0]), 0, 0
    min_raise_to = max(2 * maximum, 1)
    history: list[tuple[Action, ...]] = []
    actions: list[Action] = []
    finished = False
    for step in steps:
        if slashes:
            if step != "/":
                return None
            slashes -= 1
        elif finished or step == "/":
            return None
        elif step == "c":
            actions.append(CALL)
            committed[actor] = maximum
            matched += maximum < stack
            if maximum < stack and matched < 2:
                actor = 1 - actor
                continue
            history.append(tuple(actions))
            actions = []
            if maximum == stack:
                slashes, finished = rounds - len(history), True
                history += [()] * slashes
            elif len(history) == rounds:
                finished = True
            else:
                slashes, matched, min_raise_to = 1, 0, maximum + game.big_blind
                actor = int(game.first_player[len(history)])
        elif step == "f":
            if committed[actor] >= maximum:
                return None
            history.append((*actions, FOLD))
            folded[actor] = finished = True
        else:
            to = int(step[1:])
            if not maximum < to <= stack or (to < min_raise_to and to < stack):
                return None
            if len(actions) + 2 > MAX_ACTIONS_PER_STREET:
                return None
            actions.append(Raise(to))
            min_raise_to = max(min_raise_to, 2 * to - maximum)
            committed[actor] = maximum = to
            matched, actor = int(to < stack), 1 - actor
    if slashes:
        return None
    if not finished:
        history.append(tuple(actions))
    return State(
        game=game,
        committed=(committed[0], committed[1]),
        folded=(folded[0], folded[1]),
        actor=None if finished else Position(actor),
        maximum=maximum,
        min_raise_to=min_raise_to,
        history=tuple(history),
        matched=matched,
        betting=betting,
    )
