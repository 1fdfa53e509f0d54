"""Gadgets: what a player may do instead of entering a subgame, which makes the other's solution of it safe.

A subgame cannot be solved alone: how to play it depends on what the opponent could have had elsewhere. Unsafe search
takes the opponent's range for granted. A gadget lets the opponent choose at the root instead, with every hand at its
disposal (range 1 a hand; only our reach and chance weigh hands), and holds against it for each hand an *alternative
payoff*, what the opponent would have had without the search (chapter 5.1 of Brown's thesis):

- Resolve: with each hand the opponent enters, or takes the alternative payoff.
- Maxmargin: the opponent picks the hand to enter with, and wins what it has more than the alternative payoff of that
  hand. Our best answer makes the least *margin*, payoff - value of the best response, as large as it can be (5.1.10).

Both are safe if the payoffs are what a best response to the blueprint wins (*exact*); with an *estimate* of what it
would win against the best strategy they are stronger in practice, and as good as the estimate. With `spreads`, standard
deviations of normally distributed payoffs, Resolve does not overfit to them (5.1.5, 5.1.6). The *Reach* forms raise the
payoffs by gifts: what the opponent gave away by coming here (`gift`).

A player that picks its hand unseen is also how a game with hidden actions is solved: an action that nobody sees is a
private hand that its player has picked instead of being dealt (`hidden_choice`). That is CFR on the very game if hidden
actions come before all else, as in Rock-Paper-Scissors+. Two nodes with the edges of one information set would not do:
kernels go node by node, so the second would play what the first has just learnt.

`Engine` takes a gadget and passes it on to the kernels (`solver.kernels.gadgets`), which choose and learn between
passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf

import numpy as np
import numpy.typing as npt

from machine.errors import ParatusError
from protocol.arrays import F32, F64
from solver.gadget_kinds import Form
from solver.kernels.gadgets import CHOSEN, ENTER, ENTERED, HEDGE, NO_GATE, NORMAL, OUTSIDE, PICK, ROWS, SHARE, WEIGHT
from solver.kernels.types import Gate, aligned_zeros
from solver.kernels.vectors import LANES
from solver.problem import Problem


class GadgetError(ParatusError):
    """A gadget that makes no sense."""


@dataclass(frozen=True, slots=True, eq=False)
class Gadget:
    """What `player` chooses at the root."""

    player: int
    payoffs: npt.ArrayLike
    """[hand of the problem] chips: one number, or one for each hand, in the unit of best-response values."""
    form: Form = Form.RESOLVE
    spreads: npt.ArrayLike | None = None
    """Their standard deviations, if they are distributed; only for Resolve."""
    hedge: bool = True
    """Against distributed payoffs the player enters as Hedge does (5.1.6), else as Theorem 22 says."""


def hidden_choice(player: int) -> Gadget:
    """The player picks its hand, unseen, instead of being dealt it."""
    return Gadget(player, 0.0, Form.MAXMARGIN)


def gift(values: F64, taken: int, ends: Sequence[int] | None = None, scale: float = 1.0) -> F64:
    """[hand] what a player gave away by an action, given what each [action, hand] wins by best response.

    With `ends`, the actions that end the hand at once, it is the lower bound of 5.1.3, which no search elsewhere can
    make untrue; else the estimate, by all actions. Everything below the action may win so much more and the action
    still be no better than another: given to every subgame below, a gift is split over chance by its probabilities.
    `scale` gives more, since many subgames do not use theirs (5.1.11).
    """
    actions = range(len(values)) if ends is None else {*ends, taken}
    most: F64 = values[list(actions)].max(axis=0) - values[taken]
    return scale * most


class Entrance:
    """A gadget on a problem: the arrays of its gate, and what follows from its averages."""

    def __init__(self, gadget: Gadget, problem: Problem) -> None:
        player = self.player = gadget.player
        weights, against = problem.weights[player], problem.compatible[player]
        self._count, self._padded = len(weights), int(problem.deals.hands[player])
        self.payoffs = _column("payoffs", gadget.payoffs, self._count)
        spreads = _column("spreads", 0.0 if gadget.spreads is None else gadget.spreads, self._count)
        self._picks = gadget.form is Form.MAXMARGIN
        if (spreads < 0).any() or (self._picks and gadget.spreads is not None):
            raise GadgetError("spreads: expected standard deviations from 0 up, and form resolve")
        self._live = against > problem.least_share * against.max()  # what others win says nothing
        dealt = weights * against
        self._total = float(dealt.sum())
        self._dealt = dealt / self._total
        inverse = np.divide(1.0, against, out=np.zeros(self._count), where=self._live)
        kind = ENTER if gadget.spreads is None else HEDGE if gadget.hedge else NORMAL
        self.chosen = aligned_zeros(self._padded)
        """[hand] the player's range in the pass to come."""
        self.gate = Gate(
            kind=PICK if self._picks else kind,
            player=player,
            numbers=aligned_zeros(ROWS * self._padded),
            payoffs=self._row(self.payoffs * self._live),
            spreads=self._row(spreads),
            inverse=self._row(inverse),
            scale=self._row(self._total * inverse if self._picks else weights * self._live),
            lanes=aligned_zeros(LANES),
            counts=np.array([0.0, 0.0, 0.0, 0.0, self._live.sum()]),
        )
        self._settled_at = -1.0
        shares = self.gate.numbers[SHARE * self._padded :]
        shares[: self._count] = self.entering()  # for a player that learns before it chooses
        self.settle(problem)

    def _row(self, numbers: F64) -> F32:
        row = aligned_zeros(self._padded)
        row[: self._count] = numbers
        return row

    def entering(self) -> F64:
        """[hand] the average probability of entering with it, or of picking it."""
        entered = self._average(ENTERED) if self.gate.counts[WEIGHT] else np.where(self._live, 0.5, 0.0)
        if self._picks:
            entered /= entered.sum()
        return entered

    def settle(self, problem: Problem) -> None:
        """Make the average choice the range by which the player's hands come, unless it is already."""
        if self._settled_at == self.gate.counts[CHOSEN]:
            return
        self._settled_at = self.gate.counts[CHOSEN]
        both = list(problem.weights)
        both[self.player] = self.entering() * self.gate.scale[: self._count]
        problem.weights = (both[0], both[1])
        problem.ranges[self.player][: len(both[self.player])] = both[self.player]
        problem.compatible = (problem.opposing(0, both[1]), problem.opposing(1, both[0]))

    def margins(self, best: F64) -> F64:
        """[hand] by how much the alternative payoff exceeds the best response."""
        return np.where(self._live, self.payoffs - best, np.inf)

    def best_response(self, inside: F64, against: float) -> tuple[float, float]:
        """What each player's best response wins in the game with the gadget.

        `inside` [hand] is what the gadget's player wins within the subgame, `against` the sum of the other's
        counterfactual values there.
        """
        if self._picks:
            mine = float((inside - self.payoffs)[self._live].max())
            theirs = against / self._total + float(self.entering() @ self.payoffs)
        else:
            mine = float(self._above(inside) @ self._dealt)
            theirs = against / self._total - float(self._average(OUTSIDE) @ self._dealt)
        return (mine, theirs) if self.player == 0 else (theirs, mine)

    def _average(self, row: int) -> F64:
        numbers = self.gate.numbers[row * self._padded :][: self._count].astype(np.float64)
        return numbers / (float(self.gate.counts[WEIGHT]) or 1.0)

    def _above(self, best: F64) -> F64:
        """[hand] what the better of entering and the alternative payoff wins, on average over its distribution."""
        spreads, gain = self.gate.spreads[: self._count].astype(np.float64), best - self.payoffs
        z = np.divide(gain, spreads, out=np.zeros_like(gain), where=spreads > 0)
        below = 0.5 * (1 + np.array([erf(each) for each in (z / np.sqrt(2)).tolist()]))
        normal: F64 = gain * below + spreads * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        return self.payoffs + np.where(spreads > 0, normal, np.maximum(gain, 0.0))


def no_gate() -> Gate:
    """The gate of a problem without a gadget."""
    none = np.zeros(0, np.float32)
    return Gate(NO_GATE, 0, none, none, none, none, none, none, np.zeros(0))


def _column(name: str, given: npt.ArrayLike, count: int) -> F64:
    numbers = np.asarray(given, np.float64)
    if numbers.shape not in ((), (count,)) or not np.isfinite(numbers).all():
        raise GadgetError(f"{name} {numbers.shape}: expected one number or {count}, by hand, all finite")
    return np.array(np.broadcast_to(numbers, count))
