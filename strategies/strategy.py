"""What a strategy is: a function from a public spot to a policy for every hand.

A strategy never sees its own cards. It is given what both players can see (and its own earlier policies of the hand,
from which it can tell its range), a budget, and draws keyed to this decision; it returns a `Policy`. Whoever asked
samples the action, once. So a strategy cannot leak its hand into its policy, decisions can be repeated, and AIVAT can
be computed from what is logged.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Event
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from protocol.cards import Card
from protocol.game import Position
from protocol.state import Action, State
from strategies.draws import Draws
from strategies.policy import Policy


@dataclass(frozen=True, slots=True)
class Decided:
    """One of our earlier decisions in the same hand."""

    state: State
    policy: Policy


@dataclass(frozen=True, slots=True)
class Spot:
    """A decision to make, as both players see it."""

    hand: int
    position: Position
    state: State
    board: tuple[Card, ...]
    past: tuple[Decided, ...]
    """Our earlier decisions of this hand, in order; after a restart, as far as they could be recovered."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a decision may take."""

    deadline_s: float
    """On `time.monotonic`'s scale; an answer after it counts for nothing."""
    fair_share_s: float
    """What is left for the match divided by the hands left: spend more here, and less is left for others."""
    stop: Event | None = field(default=None, compare=False)
    """Set by whoever needs no answer any more: searches look at it where they look at the time."""

    def share_s(self, share: float) -> float:
        """A share of what a hand may take on average."""
        return share * self.fair_share_s

    def stopped(self) -> bool:
        """True when the answer counts for nothing, early or not; there still has to be one."""
        return self.stop is not None and self.stop.is_set()

    @property
    def left_s(self) -> float:
        """Seconds until the deadline."""
        return self.deadline_s - time.monotonic()


class Strategy(Protocol):
    """What decides for an agent; `tests/test_strategies.py` runs its conformance suite on each."""

    @property
    def name(self) -> str:
        """The agent's."""
        ...

    def identity(self) -> dict[str, str]:
        """What made it: models, hashes, settings; stored with every match."""
        ...

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        """What to do with every hand at `spot`. Equal arguments (the clock aside) give equal policies."""
        ...


@runtime_checkable
class ReadsActions(Protocol):
    """A strategy that knows what actions mean that its own policies do not have, such as bets of other sizes."""

    def likelihood(self, spot: Spot, action: Action, draws: Draws) -> NDArray[np.float32] | None:
        """[hand] how likely each hand takes `action`, or what stands for it; None where nothing can be said."""
        ...


@runtime_checkable
class KeepsHands(Protocol):
    """A strategy that keeps what it found out about a hand for its next decisions, so that matches need one each."""

    def another(self) -> Strategy:
        """One for another match: it shares what is large, and knows of no hand. Not to be used at the same time."""
        ...
