"""A hand step by step, with what was luck in it.

At each decision of the player: the range it had come with, what it would have done with every hand, what it did, and
which route decided. At each event that known probabilities decide, its luck: by how much the value of the hand, in the
mean over all hands that would have played so, moved away from what was to be expected (the terms of AIVAT with their
signs turned).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dealer_tools.expectation import last_street_with_actions
from dealer_tools.formats.records import PlayedHand
from dealer_tools.scoring.aivat import Aivat, Corrected, Parts
from dealer_tools.scoring.estimators import available
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.values import Values
from dealer_tools.scoring.valuing import values_for
from protocol.arrays import F64
from protocol.cards import Card, cards_text
from protocol.hands import NUM_CLASSES, NUM_HANDS, HandClass, class_text, hand_classes_array, hands_of
from protocol.log import HandRecord
from protocol.state import Action, State, action_text, apply, start
from strategies.policy import SCALE, support_text
from strategies.store import StoredDecision


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Something that happened."""

    state: State
    """Before it."""
    board: tuple[Card, ...]
    actor: str
    """A player, or `chance`."""
    outcome: str
    luck: float | None
    """In chips; None where probabilities are not known."""
    decision: StoredDecision | None = None
    weights: F64 | None = None
    """[hand] our range before a decision of ours, the largest weight 1."""

    @property
    def has_classes(self) -> bool:
        """Whether the 169 classes of hold'em make sense of its hands."""
        return self.decision is not None and self.weights is not None and len(self.weights) == NUM_HANDS


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A hand."""

    played: PlayedHand
    player: str
    steps: tuple[Step, ...]
    worth: float | None
    values: Values
    why_not: str
    """Why luck is not known, if it is not."""

    def mbb(self, chips: float | None) -> float | None:
        """In thousandths of a big blind."""
        return None if chips is None else 1000 * chips / self.played.record.state.game.big_blind

    def document(self) -> dict[str, Any]:
        """For machines."""
        record = self.played.record
        return {
            "where": self.played.where,
            "hand": record.hand,
            "player": self.player,
            "names": list(record.names),
            "holes": [cards_text(hole) for hole in record.deal.hole],
            "board": cards_text(record.deal.board),
            "betting": record.state.betting,
            "won_chips": list(record.values),
            "worth_mbb": self.mbb(self.worth),
            "values": {"name": self.values.name, "hash": self.values.digest},
            "luck_not_known": self.why_not or None,
            "steps": [self._step(step) for step in self.steps],
        }

    def _step(self, step: Step) -> dict[str, Any]:
        found: dict[str, Any] = {
            "betting": step.state.betting,
            "board": cards_text(step.board),
            "pot_chips": step.state.pot,
            "actor": step.actor,
            "outcome": step.outcome,
            "luck_mbb": self.mbb(step.luck),
        }
        if step.decision is not None:
            policy = step.decision.policy
            found["decision"] = {
                "route": policy.origin.route,
                "reason": policy.origin.reason,
                "iterations": policy.origin.iterations,
                "seconds": step.decision.seconds,
                "support": support_text(policy.support).split(","),
                "held": policy.probabilities(self.column(step)),
                "range": frequencies(step).tolist(),
            }
            if step.has_classes:
                found["decision"]["by_class"] = by_class(step)
        return found

    def column(self, step: Step) -> int:
        """Of the hand that the actor held."""
        record = self.played.record
        return hands_of(record.state.game).column(record.deal.hole[record.names.index(step.actor)])


def make_replay(played: PlayedHand, player: str, values_name: str | None, blueprint: Path | None) -> Replay:
    """Walk the hand; luck only where everything is known that it takes."""
    holdings = Holdings(played.record.state.game)
    missing = available([played], player)
    parts = Parts() if "aivat" not in missing else Parts(imagine=False, ours=False)
    if "chance" in missing:
        values, corrected, why_not = values_for([played], "zero", None, holdings), None, missing["chance"]
    else:
        values = values_for([played], values_name if "aivat" not in missing else "equity", blueprint, holdings)
        corrected, why_not = Aivat(holdings, values).score(played, player, parts), missing.get("aivat", "")
    steps = tuple(_steps(played, player, holdings, corrected))
    return Replay(played, player, steps, corrected.chips if corrected else None, values, why_not)


def _steps(played: PlayedHand, player: str, holdings: Holdings, corrected: Corrected | None) -> Iterator[Step]:
    record = played.record
    game, state, board = record.state.game, start(record.state.game), record.deal.board[:0]
    luck = {(term.kind, term.betting): -term.chips for term in corrected.terms} if corrected else {}
    position = record.names.index(player)
    theirs = record.deal.hole[1 - position]
    weights = holdings.hands.live(theirs).astype(np.float64)
    yield Step(state, board, "chance", _dealt(record), luck.get(("deal", "")))
    for action in record.state.actions:
        assert state.actor is not None
        name, decision = record.names[state.actor], None
        if name in played.decisions:
            decision = played.decisions[name].get(state.betting)
        ours = state.actor == position
        yield Step(
            state, board, name, action_text(action, game),
            luck.get(("ours" if ours else "theirs", state.betting)), decision, weights.copy() if ours else None,
        )  # fmt: skip
        if ours and decision is not None:
            weights = _narrowed(weights, decision, action)
        street, state = state.street, apply(state, action)
        shown = record.deal.board[: game.board_cards_by(state.street)]
        if state.street > street and len(shown) > len(board):
            coming, before = shown[len(board) :], board
            if not state.finished:
                board, weights = shown, weights * holdings.hands.live(coming)
            if not state.finished:
                yield Step(state, before, "chance", f"deals {cards_text(coming)}", luck.get(("board", state.betting)))
    yield from _end(played, holdings, position, weights, known=corrected is not None)


def _end(played: PlayedHand, holdings: Holdings, position: int, weights: F64, *, known: bool) -> Iterator[Step]:
    """The boards that come after an all-in, and which of the hands that would have played so was held."""
    record, state = played.record, played.record.state
    game, theirs = state.game, record.deal.hole[1 - position]
    board = record.deal.board[: game.board_cards_by(last_street_with_actions(state))]
    if not known or not theirs:
        return
    column = holdings.hands.column(theirs)

    def worth(lying: tuple[Card, ...]) -> float:
        if not state.showdown:
            return record.values[position]
        margins = min(state.committed) * holdings.margins(column, lying)
        return float((weights * margins).sum() / weights.sum())

    for street in range(game.num_rounds):
        shown = record.deal.board[: game.board_cards_by(street)]
        if len(shown) > len(board):
            coming, before, expected = shown[len(board) :], board, worth(board)
            board, weights = shown, weights * holdings.hands.live(shown[len(board) :])
            yield Step(state, before, "chance", f"deals {cards_text(coming)}", worth(board) - expected)
    held = cards_text(record.deal.hole[position])
    yield Step(state, board, "chance", f"gave {held}", record.values[position] - worth(board))


def _dealt(record: HandRecord) -> str:
    hands = [f"{name} {cards_text(hole) or '?'}" for name, hole in zip(record.names, record.deal.hole, strict=True)]
    return f"deals {', '.join(hands)}"


def _narrowed(weights: F64, decision: StoredDecision, action: Action) -> F64:
    likelihood = decision.policy.likelihood(action).astype(np.float64)
    after = weights * likelihood
    return after / after.max() if after.max() > 0 else weights


def frequencies(step: Step) -> F64:
    """[entry] how often the whole range takes each."""
    assert step.decision is not None
    shares = step.decision.policy.weights / SCALE
    if step.weights is None or shares.shape[1] == 1:
        mean: F64 = shares.mean(axis=1) if shares.shape[1] == 1 else shares[:, shares.any(axis=0)].mean(axis=1)
        return mean
    weighted: F64 = (shares * step.weights).sum(axis=1) / step.weights.sum()
    return weighted


def by_class(step: Step) -> dict[str, dict[str, float | list[float]]]:
    """Of each class that is in the range: its weight, and what it does."""
    assert step.decision is not None
    assert step.weights is not None
    classes, shares = hand_classes_array(), step.decision.policy.weights / SCALE
    total = np.bincount(classes, step.weights, NUM_CLASSES)
    count = np.bincount(classes, minlength=NUM_CLASSES)
    rows = [np.bincount(classes, step.weights * np.broadcast_to(row, (NUM_HANDS,)), NUM_CLASSES) for row in shares]
    return {
        class_text(HandClass(each)): {
            "weight": float(total[each] / count[each]),
            "policy": [float(row[each] / total[each]) for row in rows],
        }
        for each in range(NUM_CLASSES)
        if total[each] > 0
    }  # fmt: skip
