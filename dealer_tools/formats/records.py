"""Played hands as scoring sees them, whatever file they came from, and what was left out and why.

Readers never guess: a hand is taken as a whole or refused with a reason. The reasons look at what was written, never at
who won: a rule that drops hands by their result would change the win rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from protocol.game import Game
from protocol.log import HandRecord
from strategies.store import StoredDecision

Decisions = Mapping[str, StoredDecision]
"""What one player would have done with every hand, by the betting that it answered."""


@dataclass(frozen=True, slots=True)
class PlayedHand:
    """One finished hand. Hole cards are empty where nobody wrote them down; the board is as far as it was dealt."""

    where: str
    """File and line, or whatever finds it again."""
    record: HandRecord
    decisions: Mapping[str, Decisions] = field(default_factory=dict)
    """By the name of the player, for those whose policies are known."""
    baseline_chips: float | None = None
    """What we won above what the server says it wins itself with these cards, where one says so."""


@dataclass(frozen=True, slots=True)
class RefusedHand:
    """A hand, or a line that should have been one, that is left out."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """All hands of one file, in order."""

    source: str
    game: Game
    players: tuple[str, ...]
    """In seat order where that is known."""
    hands: tuple[PlayedHand, ...]
    refused: tuple[RefusedHand, ...] = ()
    notes: tuple[str, ...] = ()
    """What whoever reads the score should know: gaps, a log without its end."""
