"""Best responses to an agent by going through the whole of a small game: exact, with hands as vectors.

The agent is asked for its policy at each of its decisions, with its earlier ones of the hand, as in a match; what is
computed is exact for the policies that it gives. It is asked once for each board and betting. An agent that draws (how
it takes a bet of an odd size, say) draws as in hand 0 of a match: the result is that of these draws, which the best
response knows.

In one pass the best responder is a fixed position, and reach [hand] is how likely each hand of the agent plays as it
has so far. Values [hand of the best responder] are sums over the agent's hands and the boards to come; the mean over
all pairs of hands that share no card is the value in chips. At the responder's decisions the larger value of each hand
counts; it may take every legal action, of every size. The value of the agent against itself comes from the same pass
with its own policies in both positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

import numpy as np

from dealer_tools.probe import Probe
from machine.errors import ConfigError
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Game, Position
from protocol.hands import hands_of
from protocol.ranking import hand_rank
from protocol.state import CALL, FOLD, Action, Raise, State, apply, can_fold, raise_bounds, start
from strategies.policy import Policy, RaiseBetween
from strategies.strategy import Decided

Past = tuple[Decided, ...]

MOST_STATES: Final = 300_000
"""Public decisions, each counted for every board, that are gone through; about 3,000 a second."""
_MOST_HANDS: Final = 1_500


@dataclass(frozen=True, slots=True)
class ExactValues:
    """In chips a hand."""

    best_response: tuple[float, float]
    """What a best response in position 0, and in position 1, wins against the agent in the other."""
    self_play: float
    """What the agent in position 0 wins against itself."""

    @property
    def exploitability(self) -> float:
        """The mean of both best responses: half of NashConv, since what both players win of a hand adds up to 0."""
        return sum(self.best_response) / 2


def check_size(game: Game) -> int:
    """How many public decisions there are, each counted for every board; refuses games with too many."""
    boards, left = [1], game.num_suits * game.num_ranks
    for cards in game.num_board_cards:
        boards.append(boards[-1] * comb(left, cards))
        left -= cards
    count = 0
    for street in _decisions(start(game)):
        count += boards[street + 1]
        if count > MOST_STATES:
            raise ConfigError(
                f"{game.name}: more than {MOST_STATES:,} public decisions, counted for every board and legal bet: "
                "expected a game with fewer, such as kuhn.limit.2p or leduc.limit.2p"
            )
    if comb(game.num_suits * game.num_ranks, game.num_hole_cards) > _MOST_HANDS:
        raise ConfigError(f"{game.name}: expected a game with at most {_MOST_HANDS:,} hands")
    return count


def _decisions(state: State) -> Iterator[int]:
    """The street of every decision of the betting."""
    if state.finished:
        return
    yield state.street
    for action in legal(state):
        yield from _decisions(apply(state, action))


def legal(state: State) -> Iterator[Action]:
    """Everything that the rules allow."""
    if can_fold(state):
        yield FOLD
    yield CALL
    bounds = raise_bounds(state)
    if bounds is not None:
        yield from (Raise(to) for to in range(bounds.low, bounds.high + 1))


class Exact:
    """An agent in a small game."""

    def __init__(self, game: Game, probe: Probe) -> None:
        check_size(game)
        self._game, self._probe = game, probe
        self._hands = hands_of(game)
        self._apart = self._hands.compatible.astype(np.float64)
        self._signs: dict[tuple[Card, ...], F64] = {}
        self._asked: dict[tuple[str, tuple[Card, ...]], Policy] = {}

    def values(self) -> ExactValues:
        """Of both best responses, and of the agent against itself."""
        first, second = (self._pass(Position(seat), best=True) for seat in (0, 1))
        return ExactValues((first, second), self._pass(Position(0), best=False))

    def _pass(self, seat: Position, *, best: bool) -> float:
        everyone = np.ones(len(self._hands))
        values = self._value(start(self._game), (), everyone, ((), ()), seat, best=best)
        return float(values.sum() / self._apart.sum())

    def _value(
        self, state: State, board: tuple[Card, ...], reach: F64, pasts: tuple[Past, Past], seat: Position, *, best: bool
    ) -> F64:
        """[hand of `seat`] what a state is worth."""
        if state.finished and not state.showdown:
            chips = -state.committed[seat] if state.folded[seat] else state.committed[1 - seat]
            return chips * (self._apart @ reach)
        if self._game.board_cards_by(state.street) > len(board):
            return self._dealt(state, board, reach, pasts, seat, best=best)
        if state.finished:
            return min(state.committed) * (self._sign(board) @ reach)
        assert state.actor is not None  # the hand goes on
        if state.actor == seat and best:
            options = [self._value(apply(state, a), board, reach, pasts, seat, best=best) for a in legal(state)]
            most: F64 = np.max(options, axis=0)
            return most
        policy = self._policy(state, board, pasts[state.actor])
        after = (*pasts[state.actor], Decided(state, policy))
        pasts = (after, pasts[1]) if state.actor == 0 else (pasts[0], after)
        total = np.zeros(len(self._hands))
        for action in _support(policy):
            taken = np.broadcast_to(policy.likelihood(action).astype(np.float64), reach.shape)
            ours = state.actor == seat
            value = self._value(apply(state, action), board, reach if ours else reach * taken, pasts, seat, best=best)
            total += taken * value if ours else value
        return total

    def _dealt(
        self, state: State, board: tuple[Card, ...], reach: F64, pasts: tuple[Past, Past], seat: Position, *, best: bool
    ) -> F64:
        """The sum over what may come on the next street that deals."""
        game = self._game
        street = next(each for each in range(game.num_rounds) if game.board_cards_by(each) > len(board))
        cards = game.num_board_cards[street]
        left = [card for card in sorted(game.deck()) if card not in board]
        ways = comb(len(left) - 2 * game.num_hole_cards, cards)
        total = np.zeros(len(self._hands))
        for dealt in combinations(left, cards):
            free = self._hands.live(dealt).astype(np.float64)
            total += free * self._value(state, (*board, *dealt), reach * free, pasts, seat, best=best) / ways
        return total

    def _policy(self, state: State, board: tuple[Card, ...], past: Past) -> Policy:
        """The agent's, which is the same each time that it is asked."""
        key = state.betting, board
        if key not in self._asked:
            assert state.actor is not None
            self._asked[key] = self._probe.policy(0, state.actor, state, board, past)
        return self._asked[key]

    def _sign(self, board: tuple[Card, ...]) -> F64:
        """[mine, theirs] 1 where mine wins, −1 where theirs does; 0 where they share a card."""
        key = tuple(sorted(board))
        if key not in self._signs:
            live = self._hands.live(board)
            ranks = np.zeros(len(self._hands), np.int64)
            ranks[live] = [hand_rank((*self._hands[column], *board)) for column in np.flatnonzero(live).tolist()]
            self._signs[key] = np.sign(np.subtract.outer(ranks, ranks)) * self._apart * live * live[:, None]
        return self._signs[key]


def _support(policy: Policy) -> Iterator[Action]:
    """Every action that some hand takes."""
    seen: set[Action] = set()
    for entry, weights in zip(policy.support, policy.weights, strict=True):
        if weights.any():
            each = (
                [Raise(to) for to in range(entry.low, entry.high + 1)] if isinstance(entry, RaiseBetween) else [entry]
            )
            seen.update(each)
    return iter(sorted(seen, key=str))
