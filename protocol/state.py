"""The betting: whose turn it is, what the rules allow, and what comes of it.

A `State` is frozen; `apply(state, action)` is the only way forward. It knows chips and actions, never cards: `Deal`
holds those, and `payoffs` joins the two. Chips are what a player has committed over the WHOLE hand, blinds and earlier
streets included, and so are raises (`raise to`).

The rules are those of the reference ACPC dealer, for 2-10 players, limit and no-limit:

- A call is always legal, and is a check when nothing is owed. A fold is legal when chips are owed.
- The smallest raise-to starts at twice the big blind; after a raise to S over a maximum of M it is max(itself, 2S - M);
  a new street makes it the maximum + the big blind (at least one chip). A short all-in never lowers it. Whoever cannot
  reach it but can exceed the maximum may go all-in for less.
- No raise when at most one player still has chips to act with, after `maxRaises` raises on the street, or when actions
  on the street + players > 64.
- The street ends when everyone who can still act has matched the last raise; the hand ends when one player is left, on
  the last street, or when at most one player can still act (the remaining streets are then empty).

One departure: in a limit game with short stacks the reference lets a player "raise" to a stack below the current
maximum, which would lower what others owe. Here such a raise is illegal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, assert_never

from protocol.cards import Card
from protocol.errors import IllegalAction
from protocol.game import Game, Position
from protocol.ranking import hand_rank

MAX_ACTIONS_PER_STREET: Final = 64


@dataclass(frozen=True, slots=True)
class Fold:
    """Give up the hand."""

    def __str__(self) -> str:
        return "fold"


@dataclass(frozen=True, slots=True)
class Call:
    """Match the maximum, or check when nothing is owed, or go all-in for less."""

    def __str__(self) -> str:
        return "call"


@dataclass(frozen=True, slots=True)
class Raise:
    """Bet or raise to `to` chips, counted over the whole hand. In a limit game `to` is the one size there is."""

    to: int

    def __str__(self) -> str:
        return f"raise to {self.to}"


Action = Fold | Call | Raise

FOLD: Final = Fold()
CALL: Final = Call()


def action_text(action: Action, game: Game) -> str:
    """`f`, `c`, `r` (limit) or `r` with the raise-to (no-limit)."""
    if isinstance(action, Raise):
        return f"r{action.to}" if game.no_limit else "r"
    return "c" if isinstance(action, Call) else "f"


class RaiseBounds(NamedTuple):
    """The smallest and the largest legal raise-to."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class State:
    """The public betting of one hand, in position order."""

    game: Game
    committed: tuple[int, ...]
    """Chips of each player in the pot, over the whole hand."""
    folded: tuple[bool, ...]
    actor: Position | None
    """Whose turn it is; None once the hand is over."""
    maximum: int
    """The most that anyone has committed: what a call must match."""
    min_raise_to: int
    history: tuple[tuple[Action, ...], ...]
    """The actions of each street so far. An all-in that ends the betting leaves the later streets empty."""
    matched: int
    """How many players with chips behind have matched the last raise on this street (the raiser included)."""
    betting: str
    """The history in ACPC's canonical text, kept because every message needs it."""

    @property
    def street(self) -> int:
        """The current street, from 0."""
        return len(self.history) - 1

    @property
    def actions(self) -> tuple[Action, ...]:
        """All actions of the hand so far."""
        return tuple([action for street in self.history for action in street])

    @property
    def finished(self) -> bool:
        """True once the hand is over."""
        return self.actor is None

    @property
    def pot(self) -> int:
        """All chips committed."""
        return sum(self.committed)

    @property
    def owed(self) -> int:
        """Chips that a call costs the acting player."""
        if self.actor is None:
            return 0
        return min(self.maximum, self.game.stack[self.actor]) - self.committed[self.actor]

    @property
    def showdown(self) -> bool:
        """True when the hand is over and at least two players are left to compare cards."""
        return self.actor is None and self.folded.count(False) > 1


@lru_cache(maxsize=64)
def start(game: Game) -> State:
    """The state once blinds are posted and hole cards dealt."""
    maximum, folded = max(game.blind), (False,) * game.num_players
    return State(
        game=game,
        committed=game.blind,
        folded=folded,
        actor=_next_to_act(game, game.blind, folded, game.first_player[0]),
        maximum=maximum,
        min_raise_to=max(2 * maximum, 1) if game.no_limit else 0,
        history=((),),
        matched=0,
        betting="",
    )


def _next_to_act(game: Game, committed: tuple[int, ...], folded: tuple[bool, ...], position: int) -> Position:
    """The first player from `position` on, around the table, with a hand and chips behind."""
    players, stack = game.num_players, game.stack
    for step in range(players):
        seat = (position + step) % players
        if not folded[seat] and committed[seat] < stack[seat]:
            return Position(seat)
    raise AssertionError("someone can act while the hand goes on")


def _no_raise_reason(state: State) -> str | None:
    """Why nobody may raise here, or None."""
    game, street_actions = state.game, state.history[-1]
    limit = game.max_raises[len(state.history) - 1]
    if len(street_actions) >= limit and sum(type(action) is Raise for action in street_actions) >= limit:
        return f"this street already has {limit} raises, the most the game allows"
    if at_action_cap(state):
        return f"this street already has {len(street_actions)} actions, and {MAX_ACTIONS_PER_STREET} must suffice"
    stack, folded = game.stack, state.folded
    acting = 0
    for position, chips in enumerate(state.committed):
        if chips < stack[position] and not folded[position]:
            acting += 1
    if acting <= 1:
        return "no other player has chips left to call with"
    return None


def at_action_cap(state: State) -> bool:
    """True when a raise and the calls it asks for might exceed the actions a street can hold."""
    return len(state.history[-1]) + state.game.num_players > MAX_ACTIONS_PER_STREET


def raise_bounds(state: State) -> RaiseBounds | None:
    """The legal raise-to sizes, or None when no raise is legal. Both bounds are equal in a limit game."""
    if state.actor is None or _no_raise_reason(state) is not None:
        return None
    return _sizes(state, state.actor)


def _sizes(state: State, actor: int) -> RaiseBounds | None:
    game, maximum = state.game, state.maximum
    stack = game.stack[actor]
    if stack <= maximum:
        return None
    if not game.no_limit:
        to = min(maximum + game.raise_size[len(state.history) - 1], stack)
        return RaiseBounds(to, to)
    return RaiseBounds(min(state.min_raise_to, stack), stack)


def check(state: State, action: Action) -> None:
    """Raise `IllegalAction` with the reason if the rules forbid `action`. The one source of legality."""
    actor = state.actor
    if actor is None:
        raise IllegalAction(f"{action}: the hand is over")
    if isinstance(action, Raise):
        reason = _no_raise_reason(state)
        if reason is not None:
            raise IllegalAction(f"{action}: {reason}")
        bounds = _sizes(state, actor)
        if bounds is None:
            stack = state.game.stack[actor]
            raise IllegalAction(f"{action}: a stack of {stack} cannot exceed the current {state.maximum}")
        if not bounds.low <= action.to <= bounds.high:
            raise IllegalAction(f"{action}: expected a raise to {bounds.low}-{bounds.high}")
    elif isinstance(action, Fold) and state.committed[actor] >= state.maximum:
        raise IllegalAction("fold: nothing is owed")


def can_fold(state: State) -> bool:
    """True when the acting player owes chips."""
    return state.actor is not None and state.committed[state.actor] < state.maximum


def apply(state: State, action: Action) -> State:
    """The state after the acting player's `action`; raises `IllegalAction` if the rules forbid it."""
    check(state, action)
    game, actor = state.game, state.actor
    assert actor is not None  # check() has refused finished hands
    committed, folded, maximum = state.committed, state.folded, state.maximum
    min_raise_to, matched = state.min_raise_to, state.matched
    stack = game.stack[actor]
    if isinstance(action, Call):
        chips = maximum if maximum < stack else stack
        committed = (*committed[:actor], chips, *committed[actor + 1 :])
        if chips < stack:
            matched += 1
    elif isinstance(action, Raise):
        to = action.to
        committed = (*committed[:actor], to, *committed[actor + 1 :])
        if game.no_limit and 2 * to - maximum > min_raise_to:
            min_raise_to = 2 * to - maximum
        maximum = to
        matched = 1 if to < stack else 0
    elif isinstance(action, Fold):
        folded = (*folded[:actor], True, *folded[actor + 1 :])
    else:
        assert_never(action)
    history = (*state.history[:-1], (*state.history[-1], action))
    betting = state.betting + action_text(action, game)

    if folded.count(False) == 1:
        return State(game, committed, folded, None, maximum, min_raise_to, history, matched, betting)
    acting = 0
    for position, chips in enumerate(committed):
        if chips < game.stack[position] and not folded[position]:
            acting += 1
    if matched < acting:
        actor = _next_to_act(game, committed, folded, actor + 1)
        return State(game, committed, folded, actor, maximum, min_raise_to, history, matched, betting)
    street = len(history)
    if acting > 1 and street < game.num_rounds:
        if game.no_limit:
            min_raise_to = maximum + game.big_blind
        actor = _next_to_act(game, committed, folded, game.first_player[street])
        return State(game, committed, folded, actor, maximum, min_raise_to, (*history, ()), 0, betting + "/")
    if acting <= 1:
        history += ((),) * (game.num_rounds - street)
        betting += "/" * (game.num_rounds - street)
    return State(game, committed, folded, None, maximum, min_raise_to, history, matched, betting)


def replay(game: Game, actions: Iterable[Action]) -> State:
    """The state after `actions` from the start of a hand."""
    state = start(game)
    for action in actions:
        state = apply(state, action)
    return state


def steps(state: State) -> Iterator[tuple[State, Action]]:
    """How a state came about: every action, with the state in which it was taken."""
    at = start(state.game)
    for action in state.actions:
        yield at, action
        at = apply(at, action)


class Deal(NamedTuple):
    """All cards of one hand, known or yet to be seen."""

    hole: tuple[tuple[Card, ...], ...]
    """By position."""
    board: tuple[Card, ...]
    """All streets together, in dealing order."""


def payoffs(state: State, deal: Deal) -> tuple[float, ...]:
    """What each position won or lost in a finished hand, in chips.

    Pots are split exactly, with no odd chip: halves and thirds are fractions. The arithmetic is that of the reference
    dealer, side pot after side pot in double precision, so that printed values agree to the last digit.
    """
    if not state.finished:
        raise IllegalAction("payoffs: the hand is not over")
    committed, folded = state.committed, state.folded
    if not state.showdown:
        pot = sum(committed)
        return tuple(
            float(-chips) if gone else float(pot - chips) for chips, gone in zip(committed, folded, strict=True)
        )
    ranks = [-1 if gone else hand_rank((*hole, *deal.board)) for hole, gone in zip(deal.hole, folded, strict=True)]
    return split_pots(committed, ranks)


def split_pots(committed: tuple[int, ...], ranks: list[int]) -> tuple[float, ...]:
    """Payoffs of a showdown in which `ranks` are the hands' ranks, -1 for folded hands."""
    if len(ranks) == 2 and min(ranks) >= 0:  # what is below, for the two players of most showdowns
        size, better = float(min(committed)), ranks[0] - ranks[1]
        return (0.0, 0.0) if not better else (size, 0.0 - size) if better > 0 else (0.0 - size, size)
    values = [0.0] * len(committed)
    levels = sorted({chips for chips in committed if chips})
    paid = 0
    for level in levels:
        size, paid = level - paid, level
        inside = [position for position, chips in enumerate(committed) if chips >= level]
        best = max(ranks[position] for position in inside)
        winners = [position for position in inside if ranks[position] == best]
        share = size * (len(inside) - len(winners)) / len(winners)
        for position in inside:
            if ranks[position] == best:
                values[position] += share
            else:
                values[position] -= size
    return tuple(
        float(-chips) if rank < 0 else value for chips, rank, value in zip(committed, ranks, values, strict=True)
    )
