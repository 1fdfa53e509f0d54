"""Hands against hands over all ways in which a flop may go on, if nobody bets any more.

Two hands' *margin* is the probability that one wins less that it loses, over the 990 run-outs that meet neither: exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from blueprints.values.margin_kernels import count_wins, rank_boards
from protocol.arrays import F32
from protocol.cards import NUM_CARDS, Card
from protocol.hands import NUM_HANDS, holdem_hands
from protocol.kernels import rank_tables

_RUN_OUTS: Final = comb(49, 2)
_MEETING_NEITHER: Final = comb(45, 2)
_MEETING_THE_OTHER: Final = comb(47, 2) - comb(45, 2)


def run_out_ranks(flop: Sequence[Card]) -> NDArray[np.uint16]:
    """[run-out, hand] 0 where a hand meets the run-out or the flop."""
    rest = np.array([card for card in range(NUM_CARDS) if card not in flop], np.uint8)
    ranks = np.zeros((_RUN_OUTS, NUM_HANDS), np.uint16)
    rank_boards(rank_tables(), np.array(flop, np.uint8), rest, ranks)
    return ranks


def margins_of(ranks: NDArray[np.uint16], threads: int) -> F32:
    """[hand, hand] 0 where they share a card with each other or with the flop."""
    wins = np.zeros((NUM_HANDS, NUM_HANDS), np.int16)
    if threads == 1:
        count_wins(ranks, 0, NUM_HANDS, wins)
    else:
        # A hand is compared with those before it: so many hands are the same work for each thread.
        ends = (NUM_HANDS * np.sqrt(np.arange(threads + 1) / threads)).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            parts = [pool.submit(count_wins, ranks, first, last, wins) for first, last in pairwise(ends)]
            for part in parts:
                part.result()
    lower = np.tril(wins - np.int16(_MEETING_THE_OTHER), -1).astype(np.float32)
    live: NDArray[np.bool_] = ranks.max(axis=0) > 0
    found: F32 = (lower - lower.T) * holdem_hands().compatible * (live * live[:, None]) / np.float32(_MEETING_NEITHER)
    return found
