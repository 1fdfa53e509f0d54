"""All hands against all hands, over all ways in which a flop may go on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from protocol import kernels as ranking
from protocol.kernels import rank_board_into
from solver.kernels.compiled import kernels_in

kernel = kernels_in(Path(__file__).parent, ranking.__file__)


@kernel
def rank_boards(tables, flop, rest, ranks):
    """ranks[run-out, hand], run-outs in the order of pairs of `rest`; of dead hands 0."""
    board = np.empty(5, np.uint8)
    board[:3] = flop
    number = np.int64(0)
    for place in range(rest.shape[0]):
        for other in range(place + 1, rest.shape[0]):
            board[3], board[4] = rest[place], rest[other]
            rank_board_into(tables, board, ranks[number])
            number += 1


@kernel
def count_wins(ranks, first, last, wins):
    """wins[hand, other] += run-outs won less those lost, for hands from first to last and those before each.

    A run-out that meets the other hand counts as won.
    """
    for hand in range(first, last):
        row = wins[hand]
        for number in range(ranks.shape[0]):
            mine = ranks[number, hand]
            if mine:
                others = ranks[number]
                for other in range(hand):
                    row[other] += np.int16(mine > others[other]) - np.int16(mine < others[other])
