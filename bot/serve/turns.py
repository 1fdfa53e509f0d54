"""Which decision a worker takes up next, and how long it may think: the rules, without I/O.

Matches sit at one worker each (searches keep what they found out about a hand), and a match asks for one decision at a
time. So every worker has its own line of waiting decisions:

1. **Round robin.** Next is the match that was served longest ago; of several that never were, the one that has waited
   longest. A match that asks often, or long, never comes twice before another that waits.
2. **Think times shrink.** With n decisions waiting, the one that is taken up included, it may use 1/n of the time that
   it would have had alone (`fair_share_s`), but no less than `USEFUL_S` of it: searches that are too short to begin
   would leave the worker idle and everybody with the blueprint. Those for whom there is no time then (rule 5) have that
   answer anyway.
3. **Room for those behind.** Its deadline is pulled in to now + the least of (d_k − now) / k, d_k the deadline of the
   k-th in line: if each of them takes no more than that, none is late.
4. **Thinking is bounded.** No decision takes more than `MOST_SHARES` times what a hand may take on average, or
   `MOST_S` if that is more, however far the dealer's limit is. (Searches mean to take one share or less.)
5. **Waiting is bounded.** A decision that has waited as long as a hand may take on average, or that could not get
   `LEAST_S` any more, leaves the line: it is answered at once by what its spec names (the blueprint, or
   check or fold). Late is nobody.

Waiting counts as thinking on the match's clock, so a server that is overloaded for long gives every match less: by rule
2 now, and by what is left for the match later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from strategies.strategy import Budget

LEAST_S: Final = 0.02
"""Less than that is not worth a worker's while."""
USEFUL_S: Final = 0.3
"""What a hand may take on average where a search begins to be worth something."""
MOST_SHARES: Final = 4.0
MOST_S: Final = 1.0
"""Rule 4: for one that has stopped to be noticed in time."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A decision in line."""

    ask: int
    match: str
    asked_s: float
    budget: Budget

    @property
    def expires_s(self) -> float:
        """When it leaves the line (rule 5)."""
        return min(self.budget.deadline_s - LEAST_S, self.asked_s + max(self.budget.fair_share_s, LEAST_S))


@dataclass(slots=True)
class WaitingLine:
    """The decisions that wait for one worker."""

    _waiting: dict[int, Waiting] = field(default_factory=dict)
    _served: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, decision: Waiting) -> None:
        """A match asks."""
        self._waiting[decision.ask] = decision

    def remove(self, ask: int) -> bool:
        """Whoever asked does not wait any more; False if it was not in line."""
        return self._waiting.pop(ask, None) is not None

    def forget(self, match: str) -> None:
        """A match has ended."""
        self._served.pop(match, None)
        for ask in [ask for ask, each in self._waiting.items() if each.match == match]:
            del self._waiting[ask]

    def in_order(self) -> list[Waiting]:
        """Rule 1."""
        return sorted(
            self._waiting.values(), key=lambda each: (self._served.get(each.match, 0), each.asked_s, each.ask)
        )

    def take(self, now_s: float) -> tuple[Waiting, Budget] | None:
        """The next decision, and what it may take by rules 2 to 4. Those whose time is over are left to expire."""
        order = [each for each in self.in_order() if each.expires_s > now_s]
        if not order:
            return None
        first = order[0]
        del self._waiting[first.ask]
        self._count += 1
        self._served[first.match] = self._count
        slice_s = min((each.budget.deadline_s - now_s) / place for place, each in enumerate(order, 1))
        share_s = first.budget.fair_share_s
        most_s = max(MOST_SHARES * share_s, MOST_S)
        shrunk_s = max(share_s / len(order), min(share_s, USEFUL_S))
        return first, Budget(now_s + min(slice_s, most_s), shrunk_s)
