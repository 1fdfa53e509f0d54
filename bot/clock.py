"""Our own time: how much of each limit a match has used, and how much a decision may take.

ACPC limits a response, the thinking of a hand, and the mean per hand over the match. The dealer measures from its
write to its read, we from our read to our write: `margin_s` covers the difference (but takes at most a fifth of what is
left, so that short limits leave something to think with). Over a match the differences add up: each response counts as
`way_s` longer than it took us.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from protocol.log import Limits
from strategies.strategy import Budget


class Clock:
    """The time of one seat in one match."""

    def __init__(
        self,
        limits: Limits,
        hands: int,
        margin_s: float,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        way_s: float = 0.0,
        think_s: float = 0.0,
        hands_begun: int = 0,
        used_s: float = 0.0,
    ) -> None:
        """`think_s`: how long a hand may take on average, if not 0 and less than allowed; `hands_begun` and `used_s`:
        what an interrupted match had used before.
        """
        self._way_s = way_s
        self._think_s = think_s or float("inf")
        self._limits = limits
        self._hands = hands
        self._margin_s = margin_s
        self._monotonic = monotonic
        self._hand: int | None = None
        self._hands_begun = hands_begun
        self._used_hand_s = 0.0
        self.used_match_s = used_s

    def begin_hand(self, hand: int) -> None:
        """A state of `hand` has arrived."""
        if hand != self._hand:
            self._hand = hand
            self._hands_begun += 1
            self._used_hand_s = 0.0

    def budget(self, hand: int) -> Budget:
        """What the decision that has just been asked for may take."""
        self.begin_hand(hand)
        limits = self._limits
        match_left_s = limits.per_hand_ms / 1e3 * self._hands - self.used_match_s
        left_s = min(limits.response_ms / 1e3, limits.hand_ms / 1e3 - self._used_hand_s, match_left_s)
        hands_left = max(self._hands - self._hands_begun + 1, 1)
        return Budget(
            deadline_s=self._monotonic() + max(left_s - min(self._margin_s, left_s / 5), 0.0),
            fair_share_s=min(max(match_left_s, 0.0) / hands_left, self._think_s),
        )

    def spent(self, seconds: float) -> None:
        """A decision took that long."""
        self._used_hand_s += seconds + self._way_s
        self.used_match_s += seconds + self._way_s
