"""How much an abstraction of hold'em cannot tell apart, in figures that compare any two.

A sample of hands on boards is drawn, the same for all abstractions, and described by the standard features: those of
default settings, whatever the abstraction itself was made from. Per street:

    distance    mean distance of the features (W2 of stretched strength; on the river the root mean square over groups
                of opposing hands) between a hand and the mean of its bucket's hands in the sample
    spread      the root of the mean squared difference between a hand's equity against a random hand and the mean
                equity of its bucket
    explained   share of the variance of the features that lies between buckets, not within

They say how fine buckets are, not how well a strategy plays that is trained on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.centroids import draw_hands, opponent_clusters
from blueprints.cards.features import (
    BOARD_CARDS,
    FLOP,
    RIVER,
    TURN,
    Features,
    live_hands,
    multiplicities,
    river_strengths,
)
from blueprints.cards.interface import Cards
from blueprints.cards.kernels import strengths
from blueprints.cards.kernels.nearest import GRID
from blueprints.cards.settings import CardSettings
from blueprints.cards.work import PieceWork, Progress
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import STREET_NAMES
from protocol.hands import canonical_boards

_STANDARD = CardSettings()
# The mean over all run-outs, in the last dimension.
_EQUITY = CardSettings(emphasis=0.0, quantiles=1, turn_share=0.0)


@dataclass(frozen=True, slots=True)
class StreetQuality:
    """Of one street."""

    street: str
    buckets: int
    used: int
    """Buckets of which the sample has a hand."""
    distance: float
    spread: float
    explained: float

    def __str__(self) -> str:
        return (
            f"{self.street:5} {self.buckets:6,} buckets ({self.used:,} used): distance {self.distance:.4f}, "
            f"spread of equity {self.spread:.4f}, {self.explained:.2%} of variance explained"
        )


@dataclass(frozen=True, slots=True)
class Quality:
    """Of an abstraction."""

    digest: str
    sample: int
    """Hands on boards, of each street, that were looked at."""
    streets: tuple[StreetQuality, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.streets))


def quality(
    cards: Cards,
    *,
    sample: int = 200_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    rivers: NDArray[np.uint16] | None = None,
) -> Quality:
    """Measure on a sample. `rivers` are the strengths of all hands there, if the caller has them already."""
    work = PieceWork(threads, progress)
    if rivers is None:
        rivers = river_strengths(work)
    opponents = opponent_clusters(_STANDARD, rivers, work)
    features = Features(_STANDARD, opponents, rivers), Features(_EQUITY, opponents, rivers)
    streets = [_street(cards, street, features, rivers, sample, [seed, street], work) for street in (FLOP, TURN, RIVER)]
    return Quality(cards.digest, sample, tuple(streets))


def _street(
    cards: Cards,
    street: int,
    features: tuple[Features, Features],
    rivers: NDArray[np.uint16],
    sample: int,
    seed: list[int],
    work: PieceWork,
) -> StreetQuality:
    places, picks = draw_hands(street, sample, seed)
    boards = canonical_boards(BOARD_CARDS[street])[places]
    weights = np.repeat(multiplicities(street)[places], picks.shape[1]).astype(np.float64)
    task = f"{STREET_NAMES[street]}: features of a sample"
    points = features[0].sample(street, boards, picks, work, task).rows() / GRID
    hands = np.stack([live_hands(board)[of_board] for board, of_board in zip(boards, picks, strict=True)])
    buckets = np.concatenate(
        [cards.buckets([Card(card) for card in board])[own] for board, own in zip(boards.tolist(), hands, strict=True)]
    )
    if street == RIVER:
        equity = (rivers[places[:, None], hands] / strengths.RIVER_STRENGTH).ravel()
    else:
        equity = features[1].sample(street, boards, picks, work).rows()[:, -1] / GRID
    return _measure(STREET_NAMES[street], cards.counts[street], buckets, points, equity.astype(np.float64), weights)


def _measure(
    name: str, count: int, buckets: NDArray[np.uint16], points: F64 | NDArray[np.float32], equity: F64, weights: F64
) -> StreetQuality:
    held = np.bincount(buckets, weights, count)
    columns = np.column_stack([points, equity]).astype(np.float64)
    sums = np.column_stack([np.bincount(buckets, weights * column, count) for column in columns.T])
    means = sums / np.maximum(held, 1)[:, None]
    squares = (columns - means[buckets]) ** 2
    # Means over shares of probability; on the flop two halves of them make one.
    shares = _STANDARD.quantiles if name != "river" else _STANDARD.dimensions[RIVER]
    within = squares[:, :-1].sum(axis=1)
    around = ((columns[:, :-1] - np.average(columns[:, :-1], axis=0, weights=weights)) ** 2).sum(axis=1)
    return StreetQuality(
        name,
        count,
        int((held > 0).sum()),
        float(np.average(np.sqrt(within / shares), weights=weights)),
        float(np.sqrt(np.average(squares[:, -1], weights=weights))),
        1 - float((within * weights).sum() / (around * weights).sum()),
    )
