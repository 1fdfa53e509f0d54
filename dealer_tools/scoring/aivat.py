"""AIVAT: the value of a hand with the luck taken out that somebody's known probabilities decided.

After N. Burch, M. Schmid, M. Moravčík, D. Morrill and M. Bowling, AIVAT: A New Variance Reduction Technique for Agent
Evaluation in Imperfect Information Games, AAAI 2018. One player is scored. Its policy is known for every hand it could
have held, chance is known, the opponent is not.

*Groups.* All histories with the same betting, the same board and the same hand of the opponent are one group, with a
history for each of our hands. Its weight π is the product of chance's and OUR probabilities: the opponent's do not
depend on our hand, so they cancel. Chance gives every hand that meets no known card the same weight. So a group is a
vector of weights [hand], and A(group), the weighted mean of a value v over it, one product.

*The base* is the mean of what the hand pays over the group in which it ended: what we would have won with the other
hands that would have played the same, as often as they would (imaginary observations).

*Corrections.* For each event that known probabilities decide, from group H to its outcome o:

    Σ_H π(h) Σ_a p(a|h) v(ha) / Σ_H π(h)  −  A({ho : h in H, o possible at h})

    the deal    one event, whose outcome is the opponent's hand; our own cards are summed over and have no term
    the board   each street's cards
    a decision  each of ours; of the opponent only where its policy is truly known

Each has mean zero given H, whatever v is, as long as the logged policy is the one that was sampled from. v is the
payoff where a hand is over. Where it ends with cards to come (all-in) the payoff is its mean over them, which is what
the terms of those cards would leave of it.

Terms are `Term`s, kept apart: a replay shows which event was lucky. The other estimators are parts of the same sum
(`Parts`): a group may also be the one history that happened (`imagine` off), as in MIVAT.

Where a policy holds a range of raise sizes (thousands of outcomes), v is taken at representative sizes for all raises
of that decision: still a function of the history.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from dealer_tools.formats.records import PlayedHand
from dealer_tools.scoring.holdings import Holdings, ScoreError
from dealer_tools.scoring.values import KnownSide, Values, missing_cards
from protocol.arrays import F64
from protocol.cards import cards_text
from protocol.game import Position
from protocol.state import Action, Deal, Raise, State, action_text, apply, raise_bounds, start
from protocol.wire import deal_text
from strategies.policy import SCALE, Policy, RaiseBetween

_SIZES: Final = 24
"""Representative raise sizes of a decision whose policy has a range of them."""

Kind = Literal["deal", "board", "ours", "theirs"]


@dataclass(frozen=True, slots=True)
class Parts:
    """What an estimator is made of."""

    imagine: bool = True
    """Groups are over all our hands; else only the one that we held counts."""
    chance: bool = True
    ours: bool = True
    theirs: bool = False
    """Correct the opponent's decisions: its policies must be there."""


@dataclass(frozen=True, slots=True)
class Term:
    """The correction of one event. Good luck has a negative one."""

    kind: Kind
    betting: str
    """Before it."""
    outcome: str
    """The cards or the action."""
    chips: float


@dataclass(frozen=True, slots=True)
class Corrected:
    """One hand."""

    base: float
    terms: tuple[Term, ...]

    @property
    def chips(self) -> float:
        """What the hand was worth."""
        return math.fsum([self.base, *[term.chips for term in self.terms]])


class Aivat:
    """Scores hands of one game by one value function."""

    def __init__(self, holdings: Holdings, values: Values) -> None:
        self._holdings, self._values = holdings, values
        self._deals: dict[Position, float] = {}

    def score(self, played: PlayedHand, player: str, parts: Parts) -> Corrected:
        """The hand as `player` played it. Raises `ScoreError` if something that it takes is not there."""
        return _Walk(self._holdings, self._values, self, played, player, parts).corrected()

    def mean_deal(self, position: Position) -> float:
        """The mean of v over all deals, before anybody acts."""
        known = self._deals.get(position)
        if known is None:
            state, total = start(self._holdings.game), 0.0
            hands = self._holdings.hands
            for theirs in range(len(hands)):
                values = first_value(self._values, KnownSide(position, theirs), state)
                free = hands.live(hands[theirs])
                total += float(np.broadcast_to(values, free.shape)[free].mean())
            known = self._deals[position] = total / len(hands)
        return known


class _Walk:
    """From the deal of a hand to its end."""

    def __init__(
        self, holdings: Holdings, values: Values, aivat: Aivat, played: PlayedHand, player: str, parts: Parts
    ) -> None:
        record = played.record
        if player not in record.names:
            raise ScoreError(f"{played.where}: {player} is not one of {', '.join(record.names)}")
        self._holdings, self._values, self._aivat = holdings, values, aivat
        self._played, self._parts = played, parts
        self._position = Position(record.names.index(player))
        self._opponent = record.names[1 - self._position]
        self._player = player
        ours, theirs = record.deal.hole[self._position], record.deal.hole[1 - self._position]
        if not theirs or not ours:
            whose = player if not ours else self._opponent
            raise ScoreError(f"{played.where}: the cards of {whose} are not known: expected those of both players")
        self._hands = hands = holdings.hands
        self._held = hands.column(ours)
        self._side = KnownSide(self._position, hands.column(theirs), None if parts.imagine else self._held)
        self._terms: list[Term] = []
        self._state, self._board = start(holdings.game), record.deal.board[:0]
        self._weights = hands.live(theirs).astype(np.float64)
        if not parts.imagine:
            self._weights = np.where(np.arange(len(hands)) == self._held, 1.0, 0.0)

    def corrected(self) -> Corrected:
        """The base and all terms."""
        if self._parts.chance:
            self._correct_deal()
        if missing_cards(self._state, self._board):
            self._deal_board()
        for action in self._played.record.state.actions:
            street, state = self._state.street, self._state
            if state.actor == self._position:
                self._our_action(action)
            elif self._parts.theirs:
                self._their_action(action)
            self._state = apply(state, action)
            if self._state.street != street and not self._state.finished:
                self._deal_board()
        return Corrected(self._mean(self._weights, self._value(self._state)), tuple(self._terms))

    # Events

    def _correct_deal(self) -> None:
        mean = self._mean(self._weights, first_value(self._values, self._side, self._state))
        cards = cards_text(self._hands[self._side.theirs])
        self._terms.append(Term("deal", "", cards, self._aivat.mean_deal(self._position) - mean))

    def _deal_board(self) -> None:
        street, known = self._state.street, self._played.record.deal.board
        board = known[: self._state.game.board_cards_by(street)]
        coming = board[len(self._board) :]
        expected = self._mean(self._weights, self._value(self._state)) if self._parts.chance else 0.0
        self._weights = self._weights * self._hands.live(coming)
        self._board = board
        if not self._weights[self._held]:
            raise self._error("the board holds a card of the player's hand")
        if self._parts.chance:
            realised = self._mean(self._weights, self._value(self._state))
            self._terms.append(Term("board", self._state.betting, cards_text(coming), expected - realised))

    def _our_action(self, action: Action) -> None:
        if not (self._parts.imagine or self._parts.ours):
            return
        policy = self._policy(self._player, action)
        taken = policy.probability(action)
        weights = self._weights * taken
        if not weights[self._held]:
            raise self._never(self._player, action)
        if self._parts.ours:
            value_of = self._value_of_actions(policy)
            total = float(self._weights.sum())
            expected = math.fsum(
                float((self._weights * shares * value_of(option)).sum()) for option, shares in self._outcomes(policy)
            )
            term = expected / total - self._mean(weights, value_of(action))
            self._terms.append(Term("ours", self._state.betting, action_text(action, self._state.game), term))
        if self._parts.imagine:
            self._weights = weights

    def _their_action(self, action: Action) -> None:
        policy = self._policy(self._opponent, action)
        value_of = self._value_of_actions(policy)
        theirs = self._side.theirs
        expected = math.fsum(
            float(np.broadcast_to(shares, (len(self._hands),))[theirs]) * self._mean(self._weights, value_of(option))
            for option, shares in self._outcomes(policy)
        )
        if not np.broadcast_to(policy.probability(action), (len(self._hands),))[theirs]:
            raise self._never(self._opponent, action)
        term = expected - self._mean(self._weights, value_of(action))
        self._terms.append(Term("theirs", self._state.betting, action_text(action, self._state.game), term))

    # Values

    @staticmethod
    def _mean(weights: F64, values: F64) -> float:
        return float((weights * values).sum() / weights.sum())

    def _value(self, state: State) -> F64:
        """[hand] or [1]: v at a state, the board as it lies."""
        if state.finished:
            return self._paid(state)
        if missing_cards(state, self._board):
            return self._values.before(self._side, state, self._board)
        return self._values.at(self._side, state, self._board)

    def _paid(self, state: State) -> F64:
        mine, other = state.committed[self._position], state.committed[1 - self._position]
        if not state.showdown:
            return np.array([float(-mine if state.folded[self._position] else other)])
        return min(mine, other) * self._holdings.margins(self._side.theirs, self._board, self._side.ours)

    def _value_of_actions(self, policy: Policy) -> _ActionValues:
        return _ActionValues(self, self._state, any(isinstance(entry, RaiseBetween) for entry in policy.support))

    # Policies

    def _policy(self, name: str, action: Action) -> Policy:
        decisions = self._played.decisions.get(name)
        betting = self._state.betting
        if decisions is None or betting not in decisions:
            raise self._error(f"no policy of {name} at {betting!r}: expected one for each of its decisions")
        decision = decisions[betting]
        policy, board = decision.policy, deal_text(self._state, Deal((), self._board))
        done = action_text(action, self._state.game)
        if (decision.action, decision.board) != (done, board):
            raise self._error(
                f"{done} on {board or 'no board'} here, {decision.action} on {decision.board or 'no board'} as {name} "
                "stored it: log and policies do not belong together"
            )
        if policy.weights.shape[1] not in (1, len(self._hands)):
            raise self._error(f"a policy for {policy.weights.shape[1]} hands: expected {len(self._hands)}")
        return policy

    def _outcomes(self, policy: Policy) -> Iterator[tuple[Action, F64]]:
        """What may be done, and how often [hand] or [1]; of a range of sizes one for each representative size."""
        for entry, weights in zip(policy.support, policy.weights, strict=True):
            shares = weights / SCALE
            if not isinstance(entry, RaiseBetween):
                yield entry, shares
                continue
            sizes = representative_sizes(self._state)
            for size, above in zip(sizes, [*sizes[1:], math.inf], strict=True):
                count = min(entry.high, above - 1) - max(entry.low, size) + 1
                if count > 0:
                    yield Raise(size), shares * (count / (entry.high - entry.low + 1))

    def _never(self, player: str, action: Action) -> ScoreError:
        return self._error(
            f"the policy of {player} at {self._state.betting!r} never plays {action} with the hand it held: "
            "log and policies do not belong together"
        )

    def _error(self, text: str) -> ScoreError:
        return ScoreError(f"{self._played.where}: {text}")


class _ActionValues:
    """v after each action of one decision."""

    def __init__(self, walk: _Walk, state: State, coarse: bool) -> None:
        self._walk, self._state = walk, state
        self._sizes = representative_sizes(state) if coarse else []
        self._known: dict[Action, F64] = {}

    def __call__(self, action: Action) -> F64:
        if self._sizes and isinstance(action, Raise):
            action = Raise(max(size for size in self._sizes if size <= action.to))
        if action not in self._known:
            self._known[action] = self._walk._value(apply(self._state, action))
        return self._known[action]


def first_value(values: Values, side: KnownSide, state: State) -> F64:
    """[hand] or [1]: v once hands are dealt, and nothing else."""
    return values.before(side, state, ()) if missing_cards(state, ()) else values.at(side, state, ())


def representative_sizes(state: State) -> list[int]:
    """Legal raises from the smallest to the largest, closer together where they are small."""
    bounds = raise_bounds(state)
    if bounds is None:
        return []
    return sorted({round(size) for size in np.geomspace(bounds.low, bounds.high, _SIZES)} | set(bounds))
