"""What a solution says about one decision: who acts, how often what, and what it is worth.

EV is in chips from here on: what a player can expect to take out of the pot, less what it still puts in. What it has
put in before is gone, so folding is worth 0 and both players' EVs add up to the pot.

A hand counts by the probability with which it is there: its own weight, times its player's strategy on the way, times
the weight of the opponent's hands that share no card with it. If the strategies never come to a decision, every hand
counts with its weight in the range given, and the EVs of the players are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bot.solve.lines import NodeLine, action_code, action_words
from bot.solve.spots import IP, OOP, SolveSpot
from protocol.arrays import F64
from protocol.cards import NUM_CARDS, Card
from protocol.hands import hand_cards_array, hand_classes_array, holdem_hands
from protocol.state import Action, State

if TYPE_CHECKING:
    from solver.subgame_solver import Solver


_ROUNDING: Final = 1e-12
"""What is left of a sum from which everything was taken is less than this share of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One decision of a solved spot."""

    line: str
    board: tuple[Card, ...]
    state: State
    actions: tuple[Action, ...]
    share: float
    """Of the deals that these cards allow, how many come here; 0 if the strategies never do. What is unknown is nan."""
    hands: NDArray[np.int64]
    """[hand] the index in the 1,326 of each hand that the acting player can hold here."""
    reach: F64
    """[hand] its weight in the range, times its player's strategy on the way."""
    weight: F64
    """[hand] the share of deals here in which the acting player holds it."""
    strategy: F64
    """[action, hand]"""
    action_ev: F64
    """[action, hand] chips from here on."""
    hand_ev: F64
    """[hand] chips from here on."""
    player_ev: tuple[float, float]
    """Out of position, in position: chips from here on."""

    @property
    def actor(self) -> int:
        """Who acts."""
        assert self.state.actor is not None
        return self.state.actor

    @property
    def codes(self) -> list[str]:
        """The actions as lines write them."""
        return [action_code(self.state, action) for action in self.actions]

    @property
    def words(self) -> list[str]:
        """The actions as people say them."""
        return [action_words(self.state, action) for action in self.actions]

    @property
    def frequencies(self) -> F64:
        """[action] over all hands."""
        frequencies: F64 = self.strategy @ self.weight
        return frequencies

    @property
    def behind(self) -> int:
        """The chips that both can still put in, at most."""
        return max(self.state.game.stack) - self.state.maximum


@dataclass(frozen=True, slots=True, eq=False)
class HandGroup:
    """Hands taken together."""

    hand_class: int
    count: int
    """Different hands."""
    reach: float
    weight: float
    frequencies: F64
    """[action]"""
    ev: float


def make_answer(solver: Solver, spot: SolveSpot, line: NodeLine) -> Answer:
    """What the average strategies do at the end of a line."""
    place = solver.place(line.actions, line.cards)
    actor = line.state.actor
    assert actor is not None  # lines end at decisions
    board = (*spot.board, *line.cards)
    indices = [np.asarray(solver.subgame.hand_index[player], np.int64) for player in (OOP, IP)]
    alive = [holdem_hands().live(board)[index] for index in indices]
    reach = [np.where(alive[p], solver.reach(p, place) * spot.largest[p], 0.0) for p in (OOP, IP)]
    against = [compatible_weights(indices[p], reach[1 - p], indices[1 - p]) for p in (OOP, IP)]
    weights = [shares(reach[p] * against[p]) for p in (OOP, IP)]
    given = [np.where(alive[p], spot.ranges[p][indices[p]].astype(np.float64), 0.0) for p in (OOP, IP)]
    deals = float(given[OOP] @ compatible_weights(indices[OOP], given[IP], indices[IP]))
    share = float(reach[OOP] @ against[OOP]) / deals if deals > 0 else 0.0
    paid = line.state.committed
    evs = [_known(solver.values(p, place), against[p]) + paid[p] for p in (OOP, IP)]
    held, weight = reach[actor], weights[actor]
    if share == 0:
        held, weight = given[actor], shares(given[actor])
    shown = alive[actor]
    return Answer(
        line=line.text,
        board=board,
        state=line.state,
        actions=line.choices,
        share=share,
        hands=indices[actor][shown],
        reach=held[shown],
        weight=weight[shown],
        strategy=np.asarray(solver.strategy(place), np.float64)[:, shown],
        action_ev=_known(solver.action_values(place), against[actor])[:, shown] + paid[actor],
        hand_ev=evs[actor][shown],
        player_ev=(_mean(evs[OOP], weights[OOP]), _mean(evs[IP], weights[IP])),
    )


def compatible_weights(hands: NDArray[np.int64], theirs: F64, their_hands: NDArray[np.int64]) -> F64:
    """[hand] the weight of the opponent's hands that share no card with it."""
    cards = hand_cards_array()
    by_card = np.zeros(NUM_CARDS)
    for column in cards[their_hands].T:
        np.add.at(by_card, column, theirs)
    same = np.zeros(len(cards))
    same[their_hands] = theirs
    first, second = cards[hands].T
    total = theirs.sum()
    compatible = total - by_card[first] - by_card[second] + same[hands]
    return np.where(compatible > _ROUNDING * total, compatible, 0.0)


def shares(weights: F64) -> F64:
    """Scaled to add up to 1, if there is anything."""
    total = weights.sum()
    return weights / total if total > 0 else np.zeros_like(weights)


def _known(values: NDArray[np.floating], against: F64) -> F64:
    """Values [.., hand], nan for hands that no hand of the opponent can meet."""
    return np.where(against > 0, np.asarray(values, np.float64), np.nan)


def _mean(values: F64, weights: F64) -> float:
    """The weighted mean; nan if nothing has a weight."""
    present = weights > 0
    return float(weights[present] @ values[present]) if present.any() else np.nan


def by_class(answer: Answer) -> list[HandGroup]:
    """The hands that come here by class, from aces down: AA, AKs, AKo, …, KK, KQs, …"""
    classes = hand_classes_array()[answer.hands]
    present = answer.reach > 0
    numbers = sorted(set(classes[present].tolist()), key=class_order)
    return [_group(answer, number, (classes == number) & present) for number in numbers]


def class_order(number: int) -> tuple[int, int, bool]:
    """What to sort classes by."""
    row, column = divmod(number, 13)
    return -max(row, column), -min(row, column), column > row


def _group(answer: Answer, number: int, members: NDArray[np.bool_]) -> HandGroup:
    weight, reach = answer.weight[members], answer.reach[members]
    # Hands that meet all of the opponent's have no weight: they count as they are in the range.
    parts = shares(weight if weight.any() else reach)
    return HandGroup(
        hand_class=number,
        count=int(members.sum()),
        reach=float(reach.sum()),
        weight=float(weight.sum()),
        frequencies=answer.strategy[:, members] @ parts,
        ev=_mean(answer.hand_ev[members], parts),
    )
