"""What a search remembers of the hand being played, by decision.

A hand's solves hang together: the opponent's range, alternative payoffs and gifts of the next come from the last. So a
search keeps what it knew after each of its latest decisions, and finds it again by the decision's *key*, which is
logged with the policy: a digest of the betting, the board, our policies before it and the answer. It goes with the
policy to other processes and comes back from the store, whatever the router has made of reason and weights since. A
decision of another line, board or past has another key; one that is equal in all of that has the same, in any process.

What is not remembered is solved again: the match was interrupted, another process decided, or too much came between.
The menu and the number of iterations are logged too, so the same solve comes out. Decisions that were logged before
there were keys are named by what the log has of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final, Generic, Protocol, TypeVar

from protocol.cards import cards_text
from solver.menu import Menu, menu_text, parse_menu
from strategies.policy import Policy, support_text
from strategies.strategy import Budget, Decided, Spot

_MENU, _KEY = "menu", "key"
_MOST: Final = 8
"""Decisions of a hand: more than one line has on the streets that are searched, with 5 to 40 MB each."""

_log = logging.getLogger(__name__)


class Solve(Protocol):
    """What is remembered of a decision."""

    @property
    def iterations(self) -> int:
        """Those that were done for it."""
        ...


Known = TypeVar("Known", bound=Solve)


@dataclass(frozen=True, slots=True)
class EarlierSolve:
    """How an earlier decision of the hand was solved, by its log."""

    spot: Spot
    """As it was then."""
    menu: Menu
    """With all sizes that were added to it."""
    iterations: int


SolveAgain = Callable[[EarlierSolve, Known | None], Known | None]
"""Solves an earlier decision after the one before it, if that is known; None if there is no time."""


class Memory(Generic[Known]):
    """Of one search in one match."""

    def __init__(self, route: str) -> None:
        """`route` is what the search's policies are logged with."""
        self._route = route
        self._hand: tuple[int, int] | None = None
        self._known: dict[str, Known] = {}
        """By key; what was used last is last."""

    def of(self, policy: Policy) -> Known | None:
        """What is remembered of the decision that a policy answered."""
        return self._known.get(_logged_key(policy))

    def decisions(self, spot: Spot) -> list[Decided]:
        """Those of ours in the hand so far that the search answered."""
        return [decided for decided in spot.past if self._answered(decided.policy)]

    def remember(self, spot: Spot, policy: Policy, menu: Menu, known: Known) -> Policy:
        """Keep what is known after a decision; returns the policy with all that finds it, or solves it, again."""
        origin = policy.origin.with_notes(**{_MENU: menu_text(menu)})
        key = _decision_key(spot, replace(policy, origin=origin))
        self._begin(spot)
        self._keep(key, known)
        return replace(policy, origin=origin.with_notes(**{_KEY: key}))

    def recall(
        self, spot: Spot, decisions: Sequence[Decided], budget: Budget, again: SolveAgain[Known]
    ) -> Known | None:
        """What was known after the last of some decisions of the hand.

        Those after the latest that is remembered are solved again, in their order, as far as there is time.
        """
        self._begin(spot)
        keys = [_logged_key(each.policy) or _decision_key(_before(spot, each), each.policy) for each in decisions]
        first = max([number for number, key in enumerate(keys, 1) if key in self._known], default=0)
        known = self._known[keys[first - 1]] if first else None
        if known is not None:
            self._keep(keys[first - 1], known)
        for decided, key in zip(decisions[first:], keys[first:], strict=True):
            earlier = _earlier_solve(spot, decided)
            solved = again(earlier, known)
            done = solved.iterations if solved is not None else 0
            if done < earlier.iterations:
                _log.warning(
                    "hand %d, %s: no time to solve it as before: %d of %d iterations",
                    spot.hand, decided.state.betting, done, earlier.iterations,
                )  # fmt: skip
            if solved is None or budget.stopped():
                break
            known = solved
            self._keep(key, known)
        return known

    def _answered(self, policy: Policy) -> bool:
        return policy.origin.route == self._route and _MENU in policy.origin.notes

    def _begin(self, spot: Spot) -> None:
        """Forget other hands."""
        if self._hand != (spot.hand, spot.position):
            self._hand, self._known = (spot.hand, spot.position), {}

    def _keep(self, key: str, known: Known) -> None:
        self._known.pop(key, None)
        self._known[key] = known
        if len(self._known) > _MOST:
            del self._known[next(iter(self._known))]


def digest_of(*parts: str | bytes) -> str:
    """Names what some parts say."""
    total = blake2b(digest_size=16)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


def policies_parts(policies: Sequence[Policy]) -> list[str | bytes]:
    """What some policies do, as parts of a digest."""
    return [part for policy in policies for part in (support_text(policy.support), policy.weights.tobytes())]


def _decision_key(spot: Spot, policy: Policy) -> str:
    """Names what was decided, where, and after what: all that a solve that goes on from it depends on."""
    origin = policy.origin
    played = [*(decided.policy for decided in spot.past), policy]
    about = spot.state.betting, cards_text(spot.board), str(origin.iterations), origin.details
    return digest_of(*about, *policies_parts(played))


def _logged_key(policy: Policy) -> str:
    return str(policy.origin.notes.get(_KEY, ""))


def _before(spot: Spot, decided: Decided) -> Spot:
    """The spot of an earlier decision of the hand."""
    board = spot.board[: decided.state.game.board_cards_by(decided.state.street)]
    return replace(spot, state=decided.state, board=board, past=spot.past[: spot.past.index(decided)])


def _earlier_solve(spot: Spot, decided: Decided) -> EarlierSolve:
    origin = decided.policy.origin
    return EarlierSolve(_before(spot, decided), parse_menu(origin.notes[_MENU]), origin.iterations)
