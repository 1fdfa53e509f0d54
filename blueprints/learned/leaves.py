"""Values of a flop's leaves without sampling: showdowns exactly, and what betting adds to them by the network.

A leaf where the next street begins is worth, to a hand against all hands of the opponent, what showdowns over all
run-outs would bring, exactly and hand by hand; and what the network says that betting adds for its group, against each
group of the opponent with each pair of continuations. All this is known before the first iteration and is linear in
the reaches, as the values of a game must be: an iteration is a few products of matrices, and no luck is in it.

Values are of both players at once: what one wins the other loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from blueprints.learned.flops import NONE, Flop
from blueprints.learned.network import LeafNetwork
from blueprints.lookup import Lookup
from blueprints.values.leaves import Settled, StreetGame, roots_of
from protocol.arrays import F32
from protocol.hands import NUM_HANDS

_POTS: Final = 2.0
"""Chips that both have in the pot, for each that one has."""


class LearnedLeaves:
    """What hands win at the leaves of a flop: values for `solver.depth_limited`."""

    factor = 1.0
    hands = NUM_HANDS

    def __init__(
        self, game: StreetGame, network: LeafNetwork, flop: Flop, lookup: Lookup, continuations: tuple[int, int]
    ) -> None:
        self._game, self._flop = game, flop
        self.iteration = 0
        """Nothing follows from it: values are always the same."""
        self._settled = Settled(game, flop.board, flop.margins)
        self._group = np.where(flop.groups != NONE, flop.groups, 0)
        roots = roots_of(game, lookup)
        self._chips = np.array([state.maximum for state in game.end_states], np.float32)
        self._tables = _tables(network, roots, flop, self._chips, continuations)

    def __call__(self, reaches: tuple[F32, F32]) -> tuple[F32, F32]:
        self.iteration += 1
        game, values = self._game, (np.zeros_like(reaches[0]), np.zeros_like(reaches[1]))
        here = reaches[0][:, :, : self.hands], reaches[1][:, :, : self.hands]
        ours = values[0][:, :, : self.hands], values[1][:, :, : self.hands]
        self._settled.put(here, ours)
        for player in range(2) if len(game.ends) else ():
            come = here[1 - player][game.ends]
            at_showdowns = (come.sum(axis=1) @ self._settled.margins.T) * self._chips[:, None]
            ours[player][game.ends] = at_showdowns[:, None] + self._by_betting(player, come)
        return values

    def _by_betting(self, player: int, come: F32) -> F32:
        """[end, continuation, hand] what is won beyond showdowns."""
        tables = self._tables[player]
        ends, groups = len(tables), self._flop.apart.shape[0]
        grouped = self._flop.summed(come).transpose(0, 2, 1).reshape(ends, -1, 1)
        won = (tables @ grouped).reshape(ends, groups, -1).transpose(0, 2, 1)
        found: F32 = won[:, :, self._group] * self._settled.live
        return found


def _tables(
    network: LeafNetwork, roots: Sequence[int], flop: Flop, chips: F32, continuations: tuple[int, int]
) -> tuple[F32, F32]:
    """For each player [end, group and continuation of it, group and continuation of the other]."""
    first, second = continuations
    known = {root: place for place, root in enumerate(sorted({*roots}))}
    learnt = network.values(list(known), flop)[:, :, :, :first, :second]
    scale = _POTS * chips[:, None, None] * flop.apart
    table = learnt[[known[root] for root in roots]] * scale[..., None, None]
    ends, groups = len(roots), len(flop.apart)
    mine = table.transpose(0, 1, 3, 2, 4).reshape(ends, groups * first, groups * second)
    theirs = -table.transpose(0, 2, 4, 1, 3).reshape(ends, groups * second, groups * first)
    return np.ascontiguousarray(mine), np.ascontiguousarray(theirs)
