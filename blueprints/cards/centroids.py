"""The centres of all streets: what a blueprint file ships of its card abstraction, and how they are computed.

They are some 100 kB, while the tables of buckets that follow from them are 330 MB. Whole numbers on the grid of
`nearest`: a centre of -512 to 512 in each dimension, for which two machines find the same buckets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from blueprints.cards.features import BOARD_CARDS, LIVE_HANDS, RIVER, Features, river_strengths
from blueprints.cards.features import multiplicities as boards_for
from blueprints.cards.kernels import strengths
from blueprints.cards.kernels.nearest import GRID
from blueprints.cards.kmeans import assign, cluster
from blueprints.cards.points import Points, points_of
from blueprints.cards.settings import CardSettings
from blueprints.cards.work import PieceWork, Progress
from machine.errors import quote
from protocol.arrays import I64
from protocol.errors import BlueprintError
from protocol.game import STREET_NAMES
from protocol.hands import NUM_CLASSES, canonical_boards, hand_classes_array

EDITION: Final = 1
"""Of the features. It goes into the digest: with other features the same centres mean other buckets."""

_STREETS: Final = STREET_NAMES[1:]
_HANDS_A_BOARD: Final = 20
_OPPONENT_QUANTILES: Final = 32
_OPPONENT_STARTS: Final = 20

I16 = NDArray[np.int16]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Centroids:
    """Centres by street, int16[bucket, dimension], numbered from weak to strong."""

    settings: CardSettings
    opponents: NDArray[np.uint8]
    """uint8[169], the cluster of each class of opposing hands."""
    flop: I16
    turn: I16
    river: I16

    def __post_init__(self) -> None:
        expected: dict[str, tuple[tuple[int, ...], type, int, int]] = {
            "opponents": ((NUM_CLASSES,), np.uint8, 0, self.settings.opponents - 1)
        }
        for street, name in enumerate(_STREETS, 1):
            rows, columns = self.settings.counts[street], self.settings.dimensions[street]
            expected[name] = ((rows, columns), np.int16, -GRID // 2, GRID // 2)
        for name, (shape, dtype, low, high) in expected.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != dtype:
                raise BlueprintError(
                    f"card abstraction: {name} is {array.dtype}{list(array.shape)}: "
                    f"expected {np.dtype(dtype)}{list(shape)}"
                )
            if array.min() < low or array.max() > high:
                raise BlueprintError(f"card abstraction: {name} has values outside {low} to {high}")
            array.setflags(write=False)

    def centres(self, street: int) -> I16:
        """Those of a street from the flop on."""
        return (self.flop, self.turn, self.river)[street - 1]

    @cached_property
    def digest(self) -> str:
        """The same for the same buckets: of edition, settings and arrays."""
        found = blake2b(digest_size=16)
        for name, array in self.to_arrays().items():
            little = array.astype(array.dtype.newbyteorder("<"))
            found.update(f"{EDITION} {name} {little.dtype.str} {little.shape}\n".encode() + little.tobytes())
        return found.hexdigest()

    def to_arrays(self) -> Arrays:
        """For a file; settings as JSON in bytes."""
        text = json.dumps({"edition": EDITION, **self.settings.model_dump()}, sort_keys=True)
        arrays: Arrays = {"settings": np.frombuffer(text.encode(), np.uint8)}
        return arrays | {name: getattr(self, name) for name in ("opponents", *_STREETS)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Centroids:
        """Read `to_arrays` back. Raises `BlueprintError`, which says what is wrong."""
        missing = {"settings", "opponents", *_STREETS} - set(arrays)
        if missing:
            raise BlueprintError(f"card abstraction: no array {', '.join(sorted(missing))}")
        try:
            values = dict(json.loads(np.asarray(arrays["settings"], np.uint8).tobytes()))
            edition = values.pop("edition", EDITION)
            settings = CardSettings.model_validate(values) if edition == EDITION else CardSettings()
        except (ValueError, TypeError) as error:
            raise BlueprintError(f"card abstraction: its settings cannot be read: {quote(str(error))}") from None
        if edition != EDITION:
            raise BlueprintError(f"card abstraction: features of edition {edition}: expected {EDITION}")
        # Copies, in the byte order of this machine.
        found = {name: array.astype(array.dtype.newbyteorder("=")) for name, array in arrays.items()}
        return cls(settings, *[np.ascontiguousarray(found[name]) for name in ("opponents", *_STREETS)])


def build_centroids(
    settings: CardSettings, *, threads: int | None = None, progress: Progress | None = None
) -> Centroids:
    """Seconds to minutes of work, the same for the same settings."""
    work = PieceWork(threads, progress)
    rivers = river_strengths(work)
    opponents = opponent_clusters(settings, rivers, work)
    features = Features(settings, opponents, rivers)
    centres = {name: _centres(features, street, settings, opponents, work) for street, name in enumerate(_STREETS, 1)}
    return Centroids(settings, opponents, **centres)


def _centres(
    features: Features, street: int, settings: CardSettings, opponents: NDArray[np.uint8], work: PieceWork
) -> I16:
    name, seed = _STREETS[street - 1], [settings.seed, street]
    points, weights = sample_points(features, street, settings.sample, seed, work, f"{name}: features of a sample")
    found = cluster(
        points, weights, settings.counts[street], starts=settings.starts, rounds=settings.rounds, seed=seed, work=work,
        task=f"{name}: clusters",
    )  # fmt: skip
    # Mean strength: of quantiles, or of equities against clusters, each as large as it is.
    if street == RIVER:
        sizes = np.bincount(opponents[hand_classes_array()], minlength=settings.opponents)
        strength = found.centres[:, : settings.opponents].astype(np.int64) @ sizes
    else:
        strength = found.centres.astype(np.int64).sum(axis=1)
    return np.ascontiguousarray(found.centres[np.argsort(strength, kind="stable")])


def sample_points(
    features: Features, street: int, size: int, seed: list[int], work: PieceWork, task: str = ""
) -> tuple[Points, I64]:
    """Features of up to `size` hands on boards, drawn evenly, and how many they stand for."""
    boards, picks = draw_hands(street, size, seed)
    points = features.sample(street, canonical_boards(BOARD_CARDS[street])[boards], picks, work, task)
    return points, np.repeat(boards_for(street)[boards], picks.shape[1])


def draw_hands(street: int, size: int, seed: list[int]) -> tuple[NDArray[np.int64], I16]:
    """Places of boards, ascending, and [board, pick] numbers of live hands: no pair twice."""
    draws = np.random.default_rng(seed)
    boards, live = len(canonical_boards(BOARD_CARDS[street])), LIVE_HANDS[street]
    chosen = min(boards, max(1, size // _HANDS_A_BOARD))
    places = np.sort(draws.choice(boards, chosen, replace=False))
    picks = min(live, max(1, size // chosen))
    order = draws.random((chosen, live), np.float32).argsort(axis=1, kind="stable")[:, :picks]
    return places, np.ascontiguousarray(order, np.int16)


def opponent_clusters(settings: CardSettings, rivers: NDArray[np.uint16], work: PieceWork) -> NDArray[np.uint8]:
    """Clusters of the 169 classes, from weak to strong, by the distribution of their strength on all rivers."""
    classes, weights = hand_classes_array(), boards_for(RIVER)

    def count(begin: int, end: int) -> I64:
        counts = np.zeros((NUM_CLASSES, strengths.RIVER_STRENGTH + 1), np.int64)
        strengths.count_strengths(rivers, weights, begin, end, classes, counts)
        return counts

    counts = np.sum(work.pieces(len(rivers), count), axis=0)
    rows = np.stack([_quantiles(row, _OPPONENT_QUANTILES) for row in counts])
    rows = np.rint(rows * (GRID / strengths.RIVER_STRENGTH)) - GRID // 2
    points, combos = points_of(rows), np.bincount(classes, minlength=NUM_CLASSES).astype(np.int64)
    clusters = cluster(
        points, combos, settings.opponents, starts=_OPPONENT_STARTS, rounds=100, seed=[settings.seed, 0], work=work
    )
    centres = clusters.centres[np.argsort(clusters.centres.astype(np.int64).sum(axis=1), kind="stable")]
    labels, _ = assign(points, centres, work)
    return labels.astype(np.uint8)


def _quantiles(counts: I64, quantiles: int) -> NDArray[np.float64]:
    """The quantile function of a distribution over 0, 1, …: means over equal shares of its counts."""
    total = int(counts.sum())
    values = np.arange(len(counts))
    # In units of a `quantiles`-th of a count edges are whole numbers, and so are sums up to them.
    ends, sums = np.cumsum(counts * quantiles), np.cumsum(counts * quantiles * values)
    edges = np.arange(quantiles + 1) * total
    at = np.minimum(np.searchsorted(ends, edges, side="left"), len(counts) - 1)
    up_to = sums[at] - (ends[at] - edges) * values[at]
    found: NDArray[np.float64] = np.diff(up_to) / total
    return found
