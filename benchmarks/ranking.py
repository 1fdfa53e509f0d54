"""How fast hands are ranked, on one core: `python -m benchmarks.ranking`.

Times are of the public functions, checks and allocation included; compiling is not. Batches report their best of
several runs, single calls the median over many different boards.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from time import perf_counter

import numpy as np

from protocol import kernels
from protocol.cards import NUM_CARDS, Card
from protocol.ranking import hand_rank

NUM_HANDS = 4_000_000
NUM_BOARDS = 1_000
NUM_SCALAR_HANDS = 20_000
REPEATS = 5


def run() -> dict[str, object]:
    """Measure everything, in a few seconds."""
    rng = np.random.default_rng(1)
    kernels.warm_up()
    cards = _random_cards(rng, NUM_HANDS, 7)
    boards = _random_cards(rng, NUM_BOARDS, 5)
    scalar_hands = [[Card(card) for card in hand] for hand in cards[:NUM_SCALAR_HANDS].tolist()]
    holes = np.array([[0, 1], [46, 51]], np.uint8)
    no_board = np.empty(0, np.uint8)

    def scalar() -> None:
        for hand in scalar_hands:
            hand_rank(hand)

    return {
        "random_hands": NUM_HANDS,
        "million_random_seven_card_ranks_per_s": NUM_HANDS / _best_s(lambda: kernels.rank_hands(cards)) / 1e6,
        "river_rank_us": _median_us(kernels.rank_board, boards),
        "river_rank_and_order_us": _median_us(kernels.order_board, boards),
        "preflop_runouts": len(kernels.rank_runouts(holes, no_board, 5)),
        "preflop_runouts_two_players_s": _best_s(lambda: kernels.rank_runouts(holes, no_board, 5)),
        "table_read_s": _best_s(kernels.rank_tables.__wrapped__),
        "table_build_s": _best_s(kernels.build_rank_tables),
        "table_bytes": sum(table.nbytes for table in kernels.rank_tables()),
        "scalar_hand_rank_us": _best_s(scalar) / NUM_SCALAR_HANDS * 1e6,
    }


def _random_cards(rng: np.random.Generator, num_hands: int, num_cards: int) -> np.ndarray:
    """Rows of different cards, uint8[num_hands, num_cards]."""
    hands = np.empty((num_hands, num_cards), np.uint8)
    for start in range(0, num_hands, 100_000):
        rows = hands[start : start + 100_000]
        rows[:] = rng.random((len(rows), NUM_CARDS), np.float32).argpartition(num_cards, axis=1)[:, :num_cards]
    return hands


def _best_s(call: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def _median_us(call: Callable[[np.ndarray], object], boards: np.ndarray) -> float:
    times = []
    for board in boards:
        start = perf_counter()
        call(board)
        times.append(perf_counter() - start)
    return statistics.median(times) * 1e6


if __name__ == "__main__":
    print(json.dumps(run()))
