"""Players that need no thought: calibration opponents, and the last step of every ladder of fallbacks."""

from __future__ import annotations

from typing import ClassVar

from protocol.state import CALL, FOLD, Raise, State, can_fold, raise_bounds
from strategies.draws import Draws
from strategies.policy import Entry, Origin, Policy, RaiseBetween, alike
from strategies.strategy import Budget, Spot


class Baseline:
    """A strategy that looks at the betting alone, and plays all hands alike."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What it does, in a line of the documentation."""

    def identity(self) -> dict[str, str]:
        return {"kind": "baseline"}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        entries = self.entries(spot.state)
        return alike(entries, (1.0,) * len(entries), Origin(self.name))

    def entries(self, state: State) -> tuple[Entry, ...]:
        """The entries among which it chooses uniformly."""
        raise NotImplementedError


class AlwaysFold(Baseline):
    """Folds as soon as chips are owed, checks otherwise."""

    name = "always-fold"
    summary = "folds as soon as chips are owed, else checks"

    def entries(self, state: State) -> tuple[Entry, ...]:
        return (FOLD,) if can_fold(state) else (CALL,)


class AlwaysCall(Baseline):
    """Checks and calls."""

    name = "always-call"
    summary = "checks and calls"

    def entries(self, state: State) -> tuple[Entry, ...]:
        return (CALL,)


class AlwaysRaise(Baseline):
    """Raises by the minimum while the rules allow it, calls otherwise."""

    name = "always-raise"
    summary = "raises by the minimum while it may, else calls"

    def entries(self, state: State) -> tuple[Entry, ...]:
        bounds = raise_bounds(state)
        return (Raise(bounds.low),) if bounds else (CALL,)


class AllIn(Baseline):
    """Raises to its whole stack (in a limit game: raises), calls otherwise."""

    name = "all-in"
    summary = "raises to its stack, else calls"

    def entries(self, state: State) -> tuple[Entry, ...]:
        bounds = raise_bounds(state)
        return (Raise(bounds.high),) if bounds else (CALL,)


class Random(Baseline):
    """Draws the kind uniformly among the legal kinds, then a raise's size uniformly between its bounds."""

    name = "random"
    summary = "draws the kind uniformly among the legal kinds, then the size uniformly between its bounds"

    def entries(self, state: State) -> tuple[Entry, ...]:
        entries: list[Entry] = [FOLD] if can_fold(state) else []
        entries.append(CALL)
        bounds = raise_bounds(state)
        if bounds:
            entries.append(RaiseBetween(*bounds) if bounds.low < bounds.high else Raise(bounds.low))
        return tuple(entries)
