"""What every hand is worth against every other before the flop, counted over all boards, for `dealer_tools.scoring`.

    python -m release.preflop [FILE]

Each of the 134,459 canonical boards stands for as many boards as it has images under renamings of the suits. Totals
over canonical boards, each so often, become totals over all boards once they are averaged over the 24 renamings.
"""

from __future__ import annotations

import sys
import time
from math import comb
from pathlib import Path

import numpy as np

from dealer_tools.scoring.holdings import PREFLOP_FILE
from dealer_tools.scoring.kernels import add_signs
from protocol.hands import (
    NUM_CLASSES,
    NUM_HANDS,
    SUIT_PERMUTATIONS,
    canonical_boards,
    hand_classes_array,
    hand_permutation,
)
from protocol.kernels import rank_tables

_PART = 1024


def count() -> np.ndarray:
    """int32[class, hand]: wins less losses of a hand against the first hand of a class."""
    boards = canonical_boards(5)
    images = np.array([_images(board) for board in boards], np.int32)
    assert images.sum() == comb(52, 5)
    totals, begun = np.zeros((NUM_HANDS, NUM_HANDS), np.int32), time.monotonic()
    for begin in range(0, len(boards), _PART):
        part = slice(begin, begin + _PART)
        add_signs(rank_tables(), np.ascontiguousarray(boards[part]), images[part].copy(), totals)
        done = min(begin + _PART, len(boards))
        left_s = (time.monotonic() - begun) * (len(boards) / done - 1)
        print(f"\r{done:,} of {len(boards):,} boards, {left_s:.0f} s left ", end="", file=sys.stderr)
    print(file=sys.stderr)
    whole = totals.astype(np.int64) - totals.T  # [row, column] the row's margin
    mean = sum(whole[np.ix_(each, each)] for each in map(hand_permutation, SUIT_PERMUTATIONS))
    assert not (mean % 24).any()
    classes = hand_classes_array()
    first = [int(np.flatnonzero(classes == number)[0]) for number in range(NUM_CLASSES)]
    return (mean // 24).T[first].astype(np.int32)


def _images(board: np.ndarray) -> int:
    """How many boards a canonical one stands for."""
    suits, ranks = board & 3, board & ~np.uint8(3)
    return len({tuple(sorted((ranks | np.array(each, np.uint8)[suits]).tolist())) for each in SUIT_PERMUTATIONS})


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("dealer_tools/scoring") / PREFLOP_FILE
    np.savez_compressed(target, margins=count())
    print(f"{target}: {target.stat().st_size:,} bytes")
