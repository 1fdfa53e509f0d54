"""All-in expectation: what a hand was worth when its betting ended, over all boards that could still come.

Where every player but at most one is all-in before the last street, the remaining cards decide alone: their luck is
taken out exactly by averaging the payoffs over every completion of the board that the known cards allow. (Cards of
players who folded are known from the log, and cannot come either.) All other hands keep the value they had.
"""

from __future__ import annotations

import numpy as np

from protocol.cards import Card
from protocol.log import HandRecord
from protocol.state import State, payoffs, split_pots


def expected_values(record: HandRecord) -> tuple[float, ...]:
    """The values of a finished hand by position, with the all-in luck averaged out."""
    state, deal, game = record.state, record.deal, record.state.game
    board = deal.board[: game.board_cards_by(last_street_with_actions(state))]
    missing = sum(game.num_board_cards) - len(board)
    if not state.showdown or missing == 0:
        return payoffs(state, deal)
    inside = [position for position, folded in enumerate(state.folded) if not folded]
    known = {card for hole in deal.hole for card in hole} | set(board)
    return _mean_over_boards(
        state.committed,
        inside,
        [deal.hole[position] for position in inside],
        board,
        missing,
        [card for card in game.deck() if card not in known],
    )


def last_street_with_actions(state: State) -> int:
    """Of those that come after an all-in, none has any."""
    return max((street for street, actions in enumerate(state.history) if actions), default=0)


def _mean_over_boards(
    committed: tuple[int, ...],
    inside: list[int],
    holes: list[tuple[Card, ...]],
    board: tuple[Card, ...],
    missing: int,
    remaining: list[Card],
) -> tuple[float, ...]:
    """Payoffs depend only on who beats whom: count each order of the hands, then pay each order once."""
    from protocol.kernels import rank_runouts

    ranks = rank_runouts(
        np.array(holes, dtype=np.uint8), np.array(board, dtype=np.uint8), missing, np.array(remaining, dtype=np.uint8)
    )
    players = len(inside)
    codes = np.zeros(len(ranks), dtype=np.int64)
    for mine in range(players):
        beaten = sum((ranks[:, mine] > ranks[:, other]).astype(np.int64) for other in range(players))
        codes = codes * players + beaten
    orders, counts = np.unique(codes, return_counts=True)
    totals = np.zeros(len(committed))
    for order, count in zip(orders.tolist(), counts.tolist(), strict=True):
        places = [-1] * len(committed)
        for position in reversed(inside):
            order, places[position] = divmod(order, players)
        totals += count * np.array(split_pots(committed, places))
    return tuple((totals / len(ranks)).tolist())
