"""Endgames of our own making: `python -m benchmarks.endgames.make` writes them beside this file, the same every time.

They are of the nature of the published Libratus endgames (hundreds of hands a side, weights over many orders of
magnitude, no two suits alike) and in their format, so that speed and convergence can be measured without them. Where
ranges come from, in three steps:

1. Before the flop: the button opens a range, the big blind calls with another; text ranges (`LINES`).
2. The streets before: a hand goes on with a probability that depends on how strong it is, `s`, from 0 to 1: its rank
   among all hands, averaged over the rivers to come (on a river, its rank there). The caller goes on like a logistic
   function of s, the bettor with much of what is strong, little of what is middling, and some of what is weak.
3. Every hand's weight is multiplied by exp(n), n normal with the line's `noise`: the strategies behind the originals
   are rough as well, and this makes every suit different.

Weights are scaled to at most 1, rounded to four digits, and hands below 1e-9 are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bot.solve.endgames import Endgame, Ranges, write_endgame
from protocol.cards import NUM_CARDS, Card, parse_cards
from protocol.hands import NUM_HANDS, holdem_hands
from protocol.kernels import rank_board
from protocol.ranges import parse_range

FOLDER = Path(__file__).parent

BUTTON_OPENS = (
    "22+,A2+,K2+,Q2s+,Q3o+,J2s+,J5o+,T2s+,T6o+,94s+,96o+,84s+,86o+,73s+,75o+,63s+,65o,53s+,43s,"
    "Q2o:0.5,J4o:0.5,T5o:0.5,95o:0.4,85o:0.3,64o:0.4,54o:0.7,92s:0.5,82s:0.3,72s:0.2,62s:0.6,52s:0.7,42s:0.5,32s:0.4"
)
BLIND_CALLS = (
    "99-22,TT+:0.2,A2+:0.8,AJ+:0.3,K2s+,K4o+:0.9,Q2s+,Q6o+:0.9,J3s+,J7o+:0.9,T4s+,T7o+:0.9,95s+,97o+:0.8,84s+,86o+:0.7,"
    "74s+,76o:0.8,63s+,65o:0.6,53s+,54o:0.6,43s,K2o:0.4,K3o:0.5,Q4o:0.3,Q5o:0.5,J6o:0.3,93s:0.4,73s:0.4,52s:0.5,42s:0.3"
)
BUTTON_CALLS_A_RERAISE = (
    "TT-22,JJ+:0.3,A2s+,A5o+:0.7,K5s+,K9o+:0.8,Q7s+,QTo+:0.8,J7s+,JTo:0.8,T7s+,T9o:0.5,97s+,86s+,75s+,64s+,54s,"
    "K2s:0.4,K3s:0.5,K4s:0.6,Q5s:0.4,Q6s:0.5,J9o:0.4,98o:0.3,53s:0.5,43s:0.4"
)
BLIND_RERAISES = (
    "88+,77-22:0.3,AT+,A2s+:0.8,A2o+:0.25,KTs+:0.8,KQo,K2s+:0.4,K5o+:0.15,Q8s+:0.5,QTo+:0.3,J8s+:0.5,T8s+:0.5,97s+:0.5,"
    "86s+:0.45,75s+:0.4,64s+:0.35,53s+:0.3,J9o+:0.15,T9o:0.15"
)


@dataclass(frozen=True, slots=True)
class Way:
    """How a hand came to an endgame."""

    name: str
    seed: int
    board: tuple[Card, ...]
    pot: int
    oop: str
    ip: str
    oop_bet: bool
    """Whether the player out of position bet on the streets before and the other called; else the reverse."""
    pressure: float
    """How strong a hand must be to call, from 0 up."""
    noise: float


LINES = (
    Way("turn-small-pot", 1, parse_cards("8s6hJcTc"), 600, BLIND_CALLS, BUTTON_OPENS, False, 0.25, 0.4),
    Way("turn-large-pot", 2, parse_cards("Qd4sKh9s"), 4800, BLIND_RERAISES, BUTTON_CALLS_A_RERAISE, True, 0.5, 0.8),
    Way("river-small-pot", 3, parse_cards("5h9sAd7c3s"), 500, BLIND_CALLS, BUTTON_OPENS, False, 0.3, 0.5),
    Way("river-large-pot", 4, parse_cards("TdKs6c2dJh"), 3800, BLIND_CALLS, BUTTON_OPENS, False, 0.55, 1.0),
)


def make(way: Way) -> Endgame:
    """The endgame of one way to play."""
    rng = np.random.default_rng(way.seed)
    strong = strength(way.board)
    ranges = []
    for text, bet in ((way.oop, way.oop_bet), (way.ip, not way.oop_bet)):
        weights = parse_range(text).astype(np.float64)
        weights *= bets(strong) if bet else calls(strong, way.pressure)
        weights *= np.exp(way.noise * rng.standard_normal(NUM_HANDS))
        ranges.append(_rounded(weights / weights.max()))
    both: Ranges = (ranges[0], ranges[1])
    return Endgame(way.board, way.pot, both)


def strength(board: tuple[Card, ...]) -> NDArray[np.float64]:
    """[hand] the share of all hands that it beats on the river, ties half, averaged over rivers; nan if it is dead."""
    rivers = [board] if len(board) == 5 else [(*board, Card(card)) for card in range(NUM_CARDS) if card not in board]
    shares = np.full((len(rivers), NUM_HANDS), np.nan)
    for number, river in enumerate(rivers):
        ranks = rank_board(np.array(river, np.uint8))
        alive = ranks > 0
        order = np.sort(ranks[alive])
        below, to = (np.searchsorted(order, ranks[alive], side=side) for side in ("left", "right"))
        shares[number, alive] = (below + to) / 2 / len(order)
    dead = ~holdem_hands().live(board)
    result = np.full(NUM_HANDS, np.nan)
    result[~dead] = np.nanmean(shares[:, ~dead], axis=0)
    return result


def calls(strong: NDArray[np.float64], pressure: float) -> NDArray[np.float64]:
    return np.nan_to_num(1 / (1 + np.exp(-14 * (strong - pressure))))


def bets(strong: NDArray[np.float64]) -> NDArray[np.float64]:
    value = 1 / (1 + np.exp(-16 * (strong - 0.62)))
    bluff = 0.35 / (1 + np.exp(14 * (strong - 0.4)))
    return np.nan_to_num(value + bluff + 0.04)


def _rounded(weights: NDArray[np.float64]) -> NDArray[np.float32]:
    kept = [float(f"{weight:.4g}") if weight >= 1e-9 else 0.0 for weight in weights.tolist()]
    return np.array(kept, np.float32)


def main() -> None:
    """Write all of them."""
    for way in LINES:
        endgame = make(way)
        write_endgame(FOLDER / f"{way.name}.txt", endgame)
        hands = " × ".join([str(int(np.count_nonzero(weights))) for weights in endgame.ranges])
        print(f"{way.name}: {hands} hands, pot {way.pot}")


if __name__ == "__main__":
    main()
