"""How likely a hand is to win against each other hand if both check and call to the end: exact, ties count half.

A chance of winning against a range is the mean of these numbers, weighted by the range, over the hands that share no
card with ours or the board. So they need to be found once for a hand and a board, whatever the range is:

- flop, turn, river of hold'em: every completion of the board is ranked (1,081, 46 or one; 6 ms, 0.5 ms, 20 µs).
- before the flop: a table of all hands against one of each of the 169 classes, over all 1,712,304 boards that a pair of
  hands allows. It is made of whole numbers, by ranking the 134,459 canonical boards, the first time that it is needed
  (a minute or two), and kept in the user's cache folder. A file that is not what was computed here is computed again.
- other games: by enumeration in plain Python, for decks small enough.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import combinations
from math import comb
from typing import Final

import numpy as np
import numpy.typing as npt

from blueprints.files import whole_file
from blueprints.shipped import tables_folder
from dealer_tools.lbr import kernels
from protocol.cards import NUM_CARDS, Card
from protocol.errors import ConfigError
from protocol.game import Game
from protocol.hands import (
    NUM_CLASSES,
    NUM_HANDS,
    SUIT_PERMUTATIONS,
    HandIndex,
    canonical_boards,
    hand_class,
    hand_index,
    hand_permutation,
)
from protocol.kernels import rank_tables
from protocol.ranking import hand_rank
from strategies.policy import holes_of

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
Tell = Callable[[int, int], None]
"""So many canonical boards of so many are done."""

PAIR_BOARDS: Final = comb(48, 5)
"""Boards that two hands allow."""
_DIGEST: Final = "ff601d36208fe9d1"
"""Of the table's numbers."""
_BATCH: Final = 256
_KEPT: Final = 64
"""Hands with a board whose numbers are kept."""
_MOST_WORK: Final = 2_000_000
"""Pairs of hand and completed board that plain Python ranks for one answer."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Equity:
    """One hand on one board."""

    possible: F64
    """[hand] 1 for hands that share no card with this one or the board, else 0."""
    wins: F64
    """[hand] the chance of beating it, 0 where it is not possible."""

    def against(self, weights: F64) -> float:
        """The chance of winning against a range that has a possible hand."""
        alive = weights * self.possible
        return float(alive @ self.wins / alive.sum())


class Equities:
    """Of one game; what was asked for last is remembered."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._holes = holes_of(game)
        self._number = {hole: number for number, hole in enumerate(self._holes)}
        self._holding = {card: np.array([card in hole for hole in self._holes]) for card in game.deck()}
        self._holdem = len(game.deck()) == NUM_CARDS and game.num_hole_cards == 2 and sum(game.num_board_cards) == 5
        self._known: OrderedDict[tuple[tuple[Card, ...], tuple[Card, ...]], Equity] = OrderedDict()
        self._ranks: dict[tuple[Card, ...], list[int]] = {}

    def prepare(self) -> None:
        """Read or compute the table for decisions before the flop."""
        if self._holdem:
            preflop_margins()

    def of(self, hole: Sequence[Card], board: Sequence[Card]) -> Equity:
        """A hand on a board, or before there is any."""
        key = tuple(sorted(hole)), tuple(board)
        found = self._known.get(key)
        if found is None:
            possible = self.possible((*hole, *board))
            wins = self._in_holdem(*key) if self._holdem else self._in_any(*key)
            found = self._known[key] = Equity(possible, wins * possible)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    def possible(self, seen: Sequence[Card]) -> F64:
        """[hand] 1 for hands without any of these cards, else 0."""
        free = np.ones(len(self._holes), np.bool_)
        for card in seen:
            free &= ~self._holding[card]
        return free.astype(np.float64)

    def _in_holdem(self, hole: tuple[Card, ...], board: tuple[Card, ...]) -> F64:
        if not board:
            return before_the_flop(hand_index(*hole))
        wins = np.empty(NUM_HANDS, np.float64)
        cards = np.array(hole, np.uint8), np.array(board, np.uint8)
        kernels.equity_into(rank_tables(), *cards, wins)
        return wins

    def _in_any(self, hole: tuple[Card, ...], board: tuple[Card, ...]) -> F64:
        left = [card for card in sorted(self._game.deck()) if card not in (*hole, *board)]
        missing = sum(self._game.num_board_cards) - len(board)
        boards = comb(len(left), missing)
        if boards * len(self._holes) > _MOST_WORK:
            raise ConfigError(
                f"{self._game.name}: {boards:,} boards for {len(self._holes):,} hands: expected hold'em with 52 cards, "
                f"or a deck small enough for {_MOST_WORK:,} hands to be ranked"
            )
        won, ways = np.zeros(len(self._holes)), np.zeros(len(self._holes))
        for dealt in combinations(left, missing):
            ranks = np.array(self._ranked(tuple(sorted((*board, *dealt)))))
            mine = ranks[self._number[hole]]
            free = self.possible((*hole, *board, *dealt))
            won += free * ((mine > ranks) + 0.5 * (mine == ranks))
            ways += free
        return won / np.maximum(ways, 1)

    def _ranked(self, board: tuple[Card, ...]) -> list[int]:
        """The rank of every hand on a whole board, 0 for those that meet it."""
        known = self._ranks.get(board)
        if known is None:
            met = set(board)
            known = [hand_rank((*hole, *board)) if met.isdisjoint(hole) else 0 for hole in self._holes]
            self._ranks[board] = known
        return known


# Before the flop.


def before_the_flop(hand: HandIndex) -> F64:
    """[hand] the chance of beating it, over all boards; of no meaning for hands that share a card."""
    margins = preflop_margins()[hand_class(hand)][_to_class(hand)]
    wins: F64 = 0.5 + 0.5 * margins / PAIR_BOARDS
    return wins


def _to_class(hand: HandIndex) -> npt.NDArray[np.int16]:
    """[hand] what it becomes when suits change so that a hand becomes the one that stands for its class."""
    stands = _representatives()[hand_class(hand)]
    return next(moved for moved in map(hand_permutation, SUIT_PERMUTATIONS) if moved[hand] == stands)


@cache
def _representatives() -> tuple[int, ...]:
    """[class] the first of its hands."""
    first: dict[int, int] = {}
    for hand in range(NUM_HANDS):
        first.setdefault(hand_class(HandIndex(hand)), hand)
    return tuple(first[number] for number in range(NUM_CLASSES))


@cache
def preflop_margins() -> I32:
    """[class, hand] on how many more boards the class's first hand wins than loses; from the cache, or computed."""
    path = tables_folder().parent / "equity" / "preflop.npy"
    try:
        found = np.load(path, allow_pickle=False)
        if _digest(found) == _DIGEST:
            return np.asarray(found, np.int32)
        _log.warning("%s is damaged: computed again", path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, EOFError) as error:
        _log.warning("%s: computed again: %s", path, error)
    margins = compute_margins(_telling())
    if _digest(margins) != _DIGEST:
        raise AssertionError(f"the table of chances before the flop has digest {_digest(margins)}: expected {_DIGEST}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            np.save(file, margins)
    except OSError as error:
        _log.warning("%s: not kept: %s", path, error)
    return margins


def compute_margins(tell: Tell) -> I32:
    """The table, by ranking every hand on every canonical board; `tell` hears about progress.

    A board counts for all boards that a change of suits makes of it: add it up once, weighted by their number, and take
    the mean over all changes of suits of both hands.
    """
    boards = canonical_boards(5).copy()
    weights = _orbits(boards)
    sums = np.zeros((NUM_HANDS, NUM_HANDS), np.int32)
    ranks = np.zeros((_BATCH, NUM_HANDS), np.uint16)
    for begin in range(0, len(boards), _BATCH):
        end = min(begin + _BATCH, len(boards))
        kernels.duels_into(rank_tables(), boards, weights, begin, end, ranks, sums)
        tell(end, len(boards))
    sums = sums - sums.T
    total = np.zeros((NUM_CLASSES, NUM_HANDS), np.int64)
    for permutation in SUIT_PERMUTATIONS:
        moved = hand_permutation(permutation)
        total += sums[np.ix_(moved[list(_representatives())], moved)]
    return (total // len(SUIT_PERMUTATIONS)).astype(np.int32)


def _orbits(boards: npt.NDArray[np.uint8]) -> I32:
    """How many boards a change of suits makes of each."""
    counts = []
    for board in boards.tolist():
        cards = [Card(card) for card in board]
        masks = [sum(1 << (card >> 2) for card in cards if card & 3 == suit) for suit in range(4)]
        same = [masks.count(mask) for mask in set(masks)]
        alike = 1
        for count in same:
            alike *= (1, 1, 2, 6, 24)[count]
        counts.append(len(SUIT_PERMUTATIONS) // alike)
    return np.array(counts, np.int32)


def _digest(margins: npt.NDArray[np.generic]) -> str:
    if margins.shape != (NUM_CLASSES, NUM_HANDS) or margins.dtype != np.int32:
        return "none"
    return blake2b(np.ascontiguousarray(margins).astype("<i4").tobytes(), digest_size=8).hexdigest()


def _telling() -> Tell:
    """A line every ten seconds, for whoever waits."""
    begun: tuple[float, int] | None = None
    next_s = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal begun, next_s
        now = time.monotonic()
        begun = begun or (now, done)  # the first batch may have been compiling
        if now >= next_s and done > begun[1]:
            next_s = now + 10.0
            left_s = (now - begun[0]) * (total - done) / (done - begun[1])
            _log.warning("chances before the flop (once): %d%%, %.0f s left", 100 * done // total, left_s)

    return tell
