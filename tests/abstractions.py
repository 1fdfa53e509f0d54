"""A small card abstraction of full hold'em and the strengths of all hands, computed once for several test files."""

from __future__ import annotations

from functools import lru_cache
from unittest.mock import patch

from blueprints.cards import centroids
from blueprints.cards.centroids import Centroids, build_centroids
from blueprints.cards.features import river_strengths
from blueprints.cards.settings import CardSettings
from blueprints.cards.work import PieceWork
from protocol.arrays import U16

SMALL = CardSettings(flop=40, turn=50, river=30, quantiles=8, sample=4000, starts=2, rounds=10)


@lru_cache(maxsize=1)
def rivers() -> U16:
    """The strengths of all hands on all rivers."""
    work = PieceWork()
    return river_strengths(work)


@lru_cache(maxsize=1)
def small_centroids() -> Centroids:
    """Those of `SMALL`."""
    with patch.object(centroids, "river_strengths", lambda work: rivers()):
        return build_centroids(SMALL)
