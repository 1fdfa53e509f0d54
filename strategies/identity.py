"""What played a match, and by which draws: stored with the match, and enough to make its decisions again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from protocol.state import State
from strategies.draws import Draws

_SEED, _MATCH = "seed", "match"


@dataclass(frozen=True, slots=True)
class DrawKey:
    """What the draws of a match are keyed by."""

    seed: int
    match: str

    def draws(self, hand: int, state: State, purpose: str) -> Draws:
        """The draws of a decision: its number is that of the actions before it in the hand."""
        return Draws(self.seed, self.match, hand, len(state.actions), purpose)


def stored_identity(agent: Mapping[str, str], key: DrawKey, **more: str) -> dict[str, str]:
    """As it stands in a match store: of the agent, the program and the draws."""
    return {**agent, "paratus": version("paratus"), _SEED: str(key.seed), _MATCH: key.match, **more}


def stored_key(identity: Mapping[str, str]) -> DrawKey:
    """The draws of a match that was stored."""
    return DrawKey(int(identity[_SEED]), identity[_MATCH])
