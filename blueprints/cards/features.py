"""Features of hands on many boards: the strengths they come from, and the kernels with their settings filled in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.kernels import rows, strengths
from blueprints.cards.kernels.nearest import GRID
from blueprints.cards.kernels.quantiles import exchanges
from blueprints.cards.points import Packed, Points, empty_points, no_centres
from blueprints.cards.settings import CardSettings
from blueprints.cards.work import PieceWork
from protocol.arrays import F32, U8, U16
from protocol.hands import (
    NUM_HANDS,
    SUIT_PERMUTATIONS,
    canonical_board_keys,
    canonical_boards,
    hand_cards_array,
    hand_classes_array,
    hand_permutation,
    holdem_hands,
)
from protocol.kernels import rank_tables
from solver.kernels.vectors import LANES

I16 = NDArray[np.int16]

FLOP, TURN, RIVER = 1, 2, 3
BOARD_CARDS = (0, 3, 4, 5)
LIVE_HANDS = (1326, 1176, 1128, 1081)
"""Hands that share no card with the board, by street."""


def keys(street: int) -> NDArray[np.uint64]:
    """The keys of the canonical boards of a street, ascending; read-only."""
    return canonical_board_keys(BOARD_CARDS[street])


@cache
def hand_permutations() -> NDArray[np.int16]:
    """[permutation of suits, hand] the hand that each hand becomes; read-only."""
    found = np.array([hand_permutation(permutation) for permutation in SUIT_PERMUTATIONS])
    found.setflags(write=False)
    return found


def live_hands(board: Sequence[int]) -> NDArray[np.intp]:
    """The hands that share no card with a board, ascending."""
    return np.flatnonzero(holdem_hands().live(board))


@cache
def multiplicities(street: int) -> NDArray[np.int64]:
    """How many boards each canonical board of a street stands for.

    Those are 24 over the number of permutations that leave it as it is: of suits with the same ranks.
    """
    masks = keys(street)[:, None] >> np.arange(0, 52, 13, dtype=np.uint64) & np.uint64(8191)
    same = (masks[:, :, None] == masks[:, None, :]).sum(axis=2)
    # A group of n equal suits has n! orders: for each of its members, n!^(1/n); 1, √2, ∛6, ∜24.
    orders = np.array([1.0, 1.0, 2 ** (1 / 2), 6 ** (1 / 3), 24 ** (1 / 4)])[same].prod(axis=1)
    found: NDArray[np.int64] = np.rint(24 / orders).astype(np.int64)
    found.setflags(write=False)
    return found


def river_strengths(work: PieceWork, task: str = "strengths of all hands") -> U16:
    """The strength of every hand on every canonical river: uint16[board, 1326], 356 MB, in a few seconds."""
    boards, tables, hand_cards = canonical_boards(5), rank_tables(), hand_cards_array()
    table = np.empty((len(boards), NUM_HANDS), np.uint16)
    work.pieces(
        len(boards),
        lambda begin, end: strengths.river_strengths(tables, boards, begin, end, hand_cards, table),
        task=task,
    )
    table.setflags(write=False)
    return table


def turn_strengths(rivers: U16, scale: U16, work: PieceWork) -> U16:
    """The strength of every hand on every canonical turn, on a stretched scale."""
    boards, perms = canonical_boards(4), hand_permutations()
    table = np.empty((len(boards), NUM_HANDS), np.uint16)
    work.pieces(
        len(boards),
        lambda begin, end: strengths.turn_strengths(boards, begin, end, keys(RIVER), rivers, scale, perms, table),
    )
    table.setflags(write=False)
    return table


def groups_of(settings: CardSettings, opponents: U8) -> tuple[F32, F32, int]:
    """Opposing hands of the river as `showdowns` reads them: `units` and `halves`, read-only, and how many clusters."""
    units = np.zeros((NUM_HANDS, LANES), np.float32)
    units[np.arange(NUM_HANDS), opponents[hand_classes_array()]] = 1.0
    halves = np.zeros((settings.halvings + 1, LANES), np.float32)
    for level in range(1, settings.halvings + 1):
        halves[level:, settings.opponents + level - 1] = 1.0
    flat = units.reshape(-1), halves.reshape(-1)
    for array in flat:
        array.setflags(write=False)
    return *flat, settings.opponents


@cache
def _network(count: int) -> NDArray[np.int32]:
    found: NDArray[np.int32] = exchanges(count)  # type: ignore[no-untyped-call]
    return found


class Features:
    """What is computed from boards under given settings.

    `opponents` uint8[169] is the cluster of each class of opposing hands, for the river. The strengths of all hands on
    all rivers are needed for the other streets.
    """

    def __init__(self, settings: CardSettings, opponents: U8, rivers: U16 | None) -> None:
        self.settings = settings
        self._river_strengths = rivers
        self._turn_strengths: U16 | None = None
        self._scale: U16 = strengths.stretched(settings.emphasis, settings.halvings)  # type: ignore[no-untyped-call]
        self._groups = groups_of(settings, opponents)

    def buckets(self, street: int, boards: U8, packed: Packed, table: U16, work: PieceWork, task: str = "") -> None:
        """The nearest centre of all live hands of boards [board, card]: to table [board, live hand]."""
        self._run(street, boards, packed, table, np.empty((len(boards), 0), np.int16), no_points(), work, task)

    def sample(self, street: int, boards: U8, picks: I16, work: PieceWork, task: str = "") -> Points:
        """The features of live hands `picks` [board, pick], by number among the live hands of their boards."""
        points = empty_points(picks.size, self.settings.dimensions[street])
        nothing = np.empty((len(boards), 0), np.uint16)
        self._run(street, boards, no_centres(), nothing, picks, points, work, task)
        return points

    def _run(
        self,
        street: int,
        boards: U8,
        packed: Packed,
        table: U16,
        picks: I16,
        points: Points,
        work: PieceWork,
        task: str,
    ) -> None:
        boards = np.array(boards, order="C")  # to numba a read-only array is another type
        last = packed.values, packed.norms, table, picks, points.values
        if street == RIVER:
            run = self._rivers(boards, last)
        elif street == TURN:
            run = self._turns(boards, last)
        else:
            run = self._flops(boards, last, work)
        work.pieces(len(boards), run, task=task)

    def _rivers(self, boards: U8, last: tuple[object, ...]) -> Callable[[int, int], None]:
        tables, hand_cards = rank_tables(), hand_cards_array()

        def run(begin: int, end: int) -> None:
            rows.river_rows(tables, boards, begin, end, hand_cards, *self._groups, *last)

        return run

    def _turns(self, boards: U8, last: tuple[object, ...]) -> Callable[[int, int], None]:
        assert self._river_strengths is not None
        tables = self._river_strengths, self._scale, keys(RIVER), hand_permutations()
        quantiles, network, unit, middle = self.settings.quantiles, _network(48), GRID / (46 * strengths.FULL), GRID / 2

        def run(begin: int, end: int) -> None:
            rows.turn_rows(boards, begin, end, *tables, network, quantiles, unit, middle, *last)

        return run

    def _flops(self, boards: U8, last: tuple[object, ...], work: PieceWork) -> Callable[[int, int], None]:
        assert self._river_strengths is not None
        if self._turn_strengths is None:
            self._turn_strengths = turn_strengths(self._river_strengths, self._scale, work)
        places = keys(TURN), keys(RIVER), hand_permutations()
        tables = self._turn_strengths, self._river_strengths, self._scale, *places
        quantiles, networks = self.settings.quantiles, (_network(49), _network(1176))
        sizes = sqrt(self.settings.turn_share) * GRID, sqrt(1 - self.settings.turn_share) * GRID
        units = sizes[0] / (47 * strengths.TURN_STRENGTH), sizes[1] / (1081 * strengths.FULL)
        middles = float(round(sizes[0] / 2)), float(round(sizes[1] / 2))

        def run(begin: int, end: int) -> None:
            rows.flop_rows(boards, begin, end, *tables, networks, quantiles, units, middles, *last)

        return run


def no_points() -> Points:
    """Where no sample is taken."""
    return Points(np.empty(0, np.float32), 0, 1)
