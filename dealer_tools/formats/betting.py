"""What formats that count bets by street need to know: the chips that were in before it."""

from __future__ import annotations

from protocol.state import Raise, State


def chips_before_street(state: State) -> int:
    """Chips that each player who still acts put in on earlier streets: their last raise, or the largest blind."""
    if state.street == 0:
        return 0
    for actions in reversed(state.history[:-1]):
        for action in reversed(actions):
            if isinstance(action, Raise):
                return action.to
    return max(state.game.blind)
