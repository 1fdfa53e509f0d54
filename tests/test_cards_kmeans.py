"""k-means: nearest centres against brute force and scipy, and the same clusters on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.vq import kmeans2, vq

from blueprints.cards.kmeans import PART, assign, cluster
from blueprints.cards.points import points_of
from blueprints.cards.work import PieceWork


def _cloud(seed, count, dimensions, clumps=12):
    """Whole numbers around some centres."""
    draws = np.random.default_rng(seed)
    middles = draws.integers(-400, 401, (clumps, dimensions))
    rows = middles[draws.integers(clumps, size=count)] + draws.normal(0, 40, (count, dimensions))
    return np.clip(np.rint(rows), -512, 512).astype(np.int16)


def _spent(rows, weights, centres):
    squares = ((rows[:, None].astype(np.int64) - centres) ** 2).sum(axis=2)
    return int((squares.min(axis=1) * weights).sum())


def _cluster(rows, weights, count, *, threads=2, seed=1, starts=2, rounds=30):
    work = PieceWork(threads)
    return cluster(points_of(rows), weights, count, starts=starts, rounds=rounds, seed=[seed], work=work)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 70), st.integers(1, 40), st.integers(1, 32), st.booleans())
def test_the_nearest_centre_is_the_first_at_the_least_distance(seed, count, centres, dimensions, coarse):
    """Coarse ones have many ties."""
    draws = np.random.default_rng(seed)
    low, high = (-1, 2) if coarse else (-512, 513)
    rows = draws.integers(low, high, (count, dimensions)).astype(np.int16)
    middles = draws.integers(low, high, (centres, dimensions)).astype(np.int16)
    work = PieceWork(2)
    labels, scores = assign(points_of(rows), middles, work)
    squares = ((rows[:, None].astype(np.int64) - middles) ** 2).sum(axis=2)
    assert labels.tolist() == squares.argmin(axis=1).tolist()
    own = (rows.astype(np.int64) ** 2).sum(axis=1)
    assert (own - 2 * scores.astype(np.float64)).tolist() == squares.min(axis=1).tolist()


def test_the_nearest_centres_are_scipys():
    rows, middles = _cloud(1, 20_000, 16), _cloud(2, 300, 16)
    work = PieceWork(2)
    labels, _ = assign(points_of(rows), middles, work)
    theirs, distances = vq(rows.astype(np.float64), middles.astype(np.float64))
    ours = np.sqrt(((rows.astype(np.float64) - middles[labels]) ** 2).sum(axis=1))
    assert ours == pytest.approx(distances)
    assert (labels == theirs).mean() > 0.999  # scipy may break a tie in another way


def test_points_come_back_as_they_went_in():
    rows = _cloud(3, 21, 5)
    assert points_of(rows).rows().tolist() == rows.tolist()
    assert points_of(rows).select(np.array([20, 0, 7])).tolist() == rows[[20, 0, 7]].tolist()


@pytest.mark.parametrize("count", [PART // 2 * 40, PART * 200])
def test_clusters_do_not_depend_on_the_number_of_threads(count):
    """With one sample that is searched whole, and one of which a part is searched first."""
    rows = _cloud(4, count, 8)
    weights = np.random.default_rng(5).integers(1, 25, count)
    found = [_cluster(rows, weights, 40, threads=threads) for threads in (1, 2, 3)]
    for other in found[1:]:
        assert np.array_equal(found[0].centres, other.centres)
        assert found[0].spent == other.spent
    assert found[0].spent == _spent(rows, weights, found[0].centres.astype(np.int64))


def test_other_seeds_find_other_clusters():
    rows = _cloud(4, 3000, 8)
    weights = np.ones(3000, np.int64)
    assert not np.array_equal(_cluster(rows, weights, 40).centres, _cluster(rows, weights, 40, seed=2).centres)


def test_clusters_are_as_good_as_scipys():
    rows = _cloud(6, 5000, 6)
    weights = np.ones(5000, np.int64)
    ours = _cluster(rows, weights, 30, rounds=50).spent
    theirs = min(
        _spent(rows, weights, kmeans2(rows.astype(np.float64), 30, iter=50, minit="++", rng=seed)[0])
        for seed in range(4)
    )
    assert ours < 1.05 * theirs


def test_clear_clumps_are_found():
    draws = np.random.default_rng(7)
    middles = np.array([[-300, 0], [300, 0], [0, 300], [0, -300]])
    rows = (middles[np.arange(800) % 4] + draws.integers(-20, 21, (800, 2))).astype(np.int16)
    found = _cluster(rows, np.ones(800, np.int64), 4)
    nearest = ((middles[:, None] - found.centres) ** 2).sum(axis=2).min(axis=1)
    assert (nearest < 10).all()


def test_a_weight_is_as_many_points():
    rows = _cloud(8, 300, 4)
    weights = np.random.default_rng(9).integers(1, 4, 300)
    centres = rows[:7]
    work = PieceWork(1)
    one = cluster(points_of(rows), weights, 5, starts=3, rounds=60, seed=[3], work=work)
    repeated = np.repeat(rows, weights, axis=0)
    assert one.spent == _spent(repeated, np.ones(len(repeated), np.int64), one.centres.astype(np.int64))
    assert one.spent < _spent(rows, weights, centres.astype(np.int64))
    # Nothing moves any more: every centre is the mean of its points, each as often as it weighs.
    labels = ((repeated[:, None].astype(int) - one.centres) ** 2).sum(axis=2).argmin(axis=1)
    means = [np.rint(repeated[labels == label].mean(axis=0)).astype(int).tolist() for label in range(5)]
    assert means == one.centres.tolist()


def test_no_cluster_is_empty_where_there_are_points_enough():
    """Twenty copies of one point and nine others: k-means++ alone may begin with copies."""
    rows = np.array([[0, 0]] * 20 + [[50 * number, 10] for number in range(1, 10)], np.int16)
    found = _cluster(rows, np.ones(len(rows), np.int64), 10, rounds=50)
    assert found.spent == 0
    assert len(np.unique(found.centres, axis=0)) == 10


def test_more_clusters_than_points_is_no_error():
    rows = np.array([[1, 2], [3, 4]], np.int16)
    assert _cluster(rows, np.ones(2, np.int64), 5).spent == 0


def test_more_rounds_are_no_worse():
    rows = _cloud(10, 2000, 6)
    spent = [_cluster(rows, np.ones(2000, np.int64), 20, rounds=rounds, starts=1).spent for rounds in (1, 2, 4, 8, 16)]
    assert spent == sorted(spent, reverse=True)


def test_progress_ends_with_nothing_left():
    seen = []
    work = PieceWork(2, lambda task, share, left: seen.append((task, share, left)))
    assert sum(work.pieces(1000, lambda begin, end: end - begin, grain=8, task="count")) == 1000
    assert [task for task, _, _ in seen] == ["count"] * len(seen)
    assert seen[0][1] == 0.0
    assert seen[-1][1:] == (1.0, 0.0)
    assert [share for _, share, _ in seen] == sorted(share for _, share, _ in seen)


def test_progress_of_clusters_goes_from_nothing_to_all():
    seen = []
    rows = _cloud(11, PART * 40, 4)
    work = PieceWork(2, lambda task, share, left: seen.append((share, left)))
    cluster(points_of(rows), np.ones(len(rows), np.int64), 20, starts=2, rounds=5, seed=[1], work=work, task="clusters")
    shares = [share for share, _ in seen]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert seen[-1] == (1.0, 0.0)


def test_a_failing_piece_fails_the_work():
    def fail(begin, end):
        raise ValueError(f"{begin}")

    with pytest.raises(ValueError, match=r"\d+"):
        PieceWork(2).pieces(100, fail)
