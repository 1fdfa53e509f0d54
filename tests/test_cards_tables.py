"""Buckets of hold'em: lookups, tables on disk, and what must hold for every board.

Tables are computed for a few hundred boards of each street; `proof/test_cards_proof.py` has those of all.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
from abstractions import SMALL, rivers, small_centroids
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.canonical_forms import board_keys

from blueprints.cards import tables
from blueprints.cards.centroids import Centroids, build_centroids, draw_hands
from blueprints.cards.features import BOARD_CARDS, LIVE_HANDS, Features, keys, live_hands
from blueprints.cards.holdem import HoldemCards
from blueprints.cards.kernels import nearest, places, rows
from blueprints.cards.kernels import strengths as river_kernels
from blueprints.cards.quality import _measure, quality
from blueprints.cards.settings import CardSettings
from blueprints.cards.work import PieceWork
from protocol.cards import CardError, parse_cards
from protocol.errors import BlueprintError
from protocol.hands import (
    NUM_HANDS,
    SUIT_PERMUTATIONS,
    canonical_boards,
    hand_classes_array,
    hand_permutation,
    parse_hand,
    permute_cards,
)

STREETS = (1, 2, 3)
DEALS = [tuple(map(int, np.random.default_rng(seed).choice(52, 5, replace=False))) for seed in range(300)]
"""Whose boards are in the tables."""
READ = parse_cards("2c7dKhTs3c")
SAMPLE = 1000
"""Of which the quality is measured."""
ABSENT = 0xFFFF
"""What a table has for all other boards: no bucket."""


def _apart(street):
    """Places of six boards of a street that lie far apart."""
    return np.arange(0, len(keys(street)), 400 * 8 ** (street - 1))[:6]


def _places(street):
    """Places of all boards of a street that are in the tables."""
    boards = np.array([deal[: BOARD_CARDS[street]] for deal in (*DEALS, READ)], np.uint8)
    dealt = np.searchsorted(keys(street), board_keys(boards))
    return np.unique(np.concatenate([dealt, _apart(street), draw_hands(street, SAMPLE, [0, street])[0]]))


def _build_some(centroids, street, strengths, work, build=tables.build_table):
    """As the real function builds it, but not all of it."""
    places, whole = _places(street), np.full((len(keys(street)), LIVE_HANDS[street]), ABSENT, np.uint16)
    with (
        patch.object(tables, "canonical_boards", lambda cards: canonical_boards(cards)[places]),
        patch.object(tables, "_shape", lambda street: (len(places), LIVE_HANDS[street])),
    ):
        whole[places] = build(centroids, street, strengths, work)
    return whole


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def on_demand(folder):
    """With tables of the flop and the turn."""
    with (
        patch.object(tables, "river_strengths", lambda work: rivers()),
        patch.object(tables, "build_table", _build_some),
    ):
        return HoldemCards.open(small_centroids(), folder, rivers=False)


@pytest.fixture(scope="module")
def cards(folder, on_demand):
    """With all tables."""
    with patch.object(tables, "build_table", _build_some):
        return HoldemCards.open(small_centroids(), folder)


# --- Buckets


def test_the_first_street_has_the_classes(cards):
    assert cards.counts == (169, 40, 50, 30)
    assert np.array_equal(cards.buckets(()), hand_classes_array())
    cards.buckets(())[:] = 0
    assert np.array_equal(cards.buckets(()), hand_classes_array())


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DEALS), st.sampled_from(SUIT_PERMUTATIONS), st.randoms(use_true_random=False))
def test_buckets_do_not_depend_on_suits_nor_on_the_order_of_the_board(cards, on_demand, board, permutation, random):
    deal = cards.deal(board)
    assert deal.dtype == np.uint16
    assert (deal.max(axis=1) < cards.counts).all()
    assert np.array_equal(on_demand.deal(board), deal)
    other = permute_cards(board, permutation)
    assert np.array_equal(cards.deal(other)[:, hand_permutation(permutation)], deal)
    for street in STREETS:
        shown = list(board[: BOARD_CARDS[street]])
        random.shuffle(shown)
        assert np.array_equal(cards.buckets(shown), deal[street])
        assert np.array_equal(on_demand.buckets(shown), deal[street])
        dead = np.setdiff1d(np.arange(NUM_HANDS), live_hands(shown))
        assert not deal[street, dead].any()


def test_buckets_are_the_nearest_centres(cards):
    """On boards of every street, against distances in float64 from features made without tables."""
    centroids = small_centroids()
    features = Features(SMALL, centroids.opponents, rivers())
    for street in STREETS:
        boards = canonical_boards(BOARD_CARDS[street])[_apart(street)]
        picks = np.tile(np.arange(LIVE_HANDS[street], dtype=np.int16), (len(boards), 1))
        work = PieceWork(2)
        rows = features.sample(street, boards, picks, work).rows().reshape(*picks.shape, -1)
        for board, row in zip(boards.tolist(), rows.astype(np.float64), strict=True):
            expected = ((row[:, None] - centroids.centres(street)) ** 2).sum(axis=2).argmin(axis=1)
            assert np.array_equal(cards.buckets(board)[live_hands(board)], expected)


@pytest.mark.parametrize("street", STREETS)
def test_every_live_hand_has_a_bucket(cards, street, folder):
    """Tables have one column for each live hand: what is left is that no bucket lies outside, and all are in use."""
    (path,) = folder.glob(f"{('preflop', 'flop', 'turn', 'river')[street]}-*.npy")
    whole = np.load(path, mmap_mode="r")
    assert whole.shape == (len(keys(street)), LIVE_HANDS[street])
    table = whole[_places(street)]
    assert table.max() < cards.counts[street]
    used = np.bincount(table.ravel(), minlength=cards.counts[street])
    assert len(used) == cards.counts[street]
    assert (used > 0).mean() > 0.9  # centres were found on a small sample


def test_good_hands_have_higher_buckets_than_bad_ones(cards):
    for street in STREETS:
        buckets = cards.buckets(READ[: BOARD_CARDS[street]])
        best, worst, middle = (int(buckets[parse_hand(hand)]) for hand in ("KsKd", "6h4h", "7s6s"))
        assert worst < middle < best


@pytest.mark.parametrize("board", [(0,), (0, 1), (0, 1, 1), (0, 1, 2, 3, 4, 5), (0, 1, 52), (0, 1, -1)])
def test_what_is_no_board_is_refused(cards, board):
    with pytest.raises(CardError):
        cards.buckets(board)


def test_a_deal_has_five_cards(cards):
    with pytest.raises(CardError, match="five cards, not 4"):
        cards.deal(parse_cards("2c7dKhTs"))


def test_lookups_from_several_threads(cards):
    boards = DEALS[:200]
    expected = [cards.deal(board) for board in boards]
    with ThreadPoolExecutor(4) as pool:
        for found, deal in zip(pool.map(cards.deal, boards), expected, strict=True):
            assert np.array_equal(found, deal)


def test_no_kernel_is_compiled_twice(cards, on_demand):
    """A stray type would compile a second form in silence. Forms for constants are those that other kernels inline."""
    for each in (cards, on_demand):
        each.deal((0, 1, 2, 3, 4))
        each.buckets((0, 1, 2))
    kernels = [nearest.nearest, nearest.totals, nearest.approach, places.look_up, places.deal_into, rows.river_buckets]
    kernels += [rows.flop_rows, rows.turn_rows, rows.river_rows, river_kernels.river_strengths]
    forms = [[form for form in kernel.signatures if "Literal" not in str(form)] for kernel in kernels]
    assert [len(each) for each in forms] == [1] * len(kernels)


# --- Files


@pytest.fixture
def fake_tables(monkeypatch):
    """Tables that cost nothing, and which streets were built."""
    built = []

    def build(centroids, street, strengths, work):
        built.append(street)
        rows, columns = len(keys(street)), LIVE_HANDS[street]
        return (np.arange(rows * columns, dtype=np.uint32) % 40).astype(np.uint16).reshape(rows, columns)

    monkeypatch.setattr(tables, "build_table", build)
    monkeypatch.setattr(tables, "river_strengths", lambda work: None)
    return built


def _open(folder, streets=(1, 2)):
    work = PieceWork(1)
    return tables.open_tables(small_centroids(), folder, list(streets), work)


def test_tables_are_built_once(tmp_path, fake_tables):
    first = _open(tmp_path / "new" / "folder")
    again = _open(tmp_path / "new" / "folder")
    assert fake_tables == [1, 2]
    assert len(list((tmp_path / "new" / "folder").iterdir())) == 2  # nothing temporary is left
    for street in (1, 2):
        assert np.array_equal(first[street], again[street])
        assert not again[street].flags.writeable


def _cut(path):
    path.write_bytes(path.read_bytes()[:-1000])


def _empty(path):
    path.write_bytes(b"")


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def _other_shape(path):
    np.save(path, np.zeros((3, 3), np.uint16))


def _other_type(path):
    np.save(path, np.array([{}], object))


def _zeros_at_the_end(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))


@pytest.mark.parametrize("damage", [_cut, _empty, _flip, _other_shape, _other_type, _zeros_at_the_end])
def test_a_damaged_table_is_built_again(tmp_path, fake_tables, damage):
    whole = np.array(_open(tmp_path, [1])[1])
    (path,) = tmp_path.iterdir()
    damage(path)
    assert np.array_equal(_open(tmp_path, [1])[1], whole)
    assert np.array_equal(_open(tmp_path, [1])[1], whole)
    assert fake_tables == [1, 1]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path, fake_tables, monkeypatch):
    def fail(descriptor):
        raise OSError("no space")

    monkeypatch.setattr(tables.os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        _open(tmp_path, [1])
    assert not list(tmp_path.iterdir())


# --- Centroids


def test_centroids_survive_a_file(tmp_path):
    centroids = small_centroids()
    np.savez(tmp_path / "centroids.npz", **centroids.to_arrays())
    with np.load(tmp_path / "centroids.npz", allow_pickle=False) as arrays:
        again = Centroids.from_arrays(arrays)
    assert again.settings == SMALL
    assert again.digest == centroids.digest
    for street in STREETS:
        assert np.array_equal(again.centres(street), centroids.centres(street))


def test_the_same_settings_find_the_same_centroids_on_any_number_of_threads():
    assert build_centroids(SMALL, threads=3).digest == small_centroids().digest


def test_buckets_go_from_weak_to_strong():
    centroids = small_centroids()
    for centres in (centroids.flop, centroids.turn):
        strengths_of = centres.astype(int).sum(axis=1)
        assert (np.diff(strengths_of) >= 0).all()
        assert strengths_of[-1] > strengths_of[0]


def test_digests_see_every_array_and_every_setting():
    arrays = small_centroids().to_arrays()
    digests = {small_centroids().digest}
    for name in ("opponents", "flop", "turn", "river"):
        changed = arrays[name].copy()
        changed.flat[0] = 1 if changed.flat[0] != 1 else 0
        digests.add(Centroids.from_arrays(arrays | {name: changed}).digest)
    text = bytes(arrays["settings"]).replace(b'"seed": 1', b'"seed": 2')
    digests.add(Centroids.from_arrays(arrays | {"settings": np.frombuffer(text, np.uint8)}).digest)
    assert len(digests) == 6


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("flop", None, "no array flop"),
        ("flop", lambda array: array[:-1], r"flop is int16\[39, 16\]: expected int16\[40, 16\]"),
        ("turn", lambda array: array.astype(np.float32), "turn is float32"),
        ("river", lambda array: array + np.int16(2000), "outside -512 to 512"),
        ("opponents", lambda array: array + np.uint8(200), "outside 0 to 7"),
        ("settings", lambda array: array[:-3], "settings cannot be read"),
        ("settings", lambda array: np.frombuffer(b'{"edition": 0}', np.uint8), "edition 0"),
        ("settings", lambda array: np.frombuffer(b'{"colour": 0}', np.uint8), "settings cannot be read"),
        ("settings", lambda array: np.frombuffer(b"[1]", np.uint8), "settings cannot be read"),
    ],
)
def test_damaged_centroids_are_refused(name, change, message):
    arrays = dict(small_centroids().to_arrays())
    whole = arrays.pop(name)
    if change is not None:
        arrays[name] = change(whole)
    with pytest.raises(BlueprintError, match=message):
        Centroids.from_arrays(arrays)


def test_settings_out_of_range_are_refused():
    wrong: list[dict[str, float]] = [{"flop": 0}, {"turn": 70_000}, {"quantiles": 17}, {"turn_share": 1.5}, {"x": 1}]
    for values in [*wrong, {"opponents": 17}, {"opponents": 14, "halvings": 3}]:
        with pytest.raises(ValueError, match="validation error"):
            CardSettings(**values)


# --- Quality


def test_quality_of_a_coarse_abstraction(on_demand):
    found = quality(on_demand, sample=SAMPLE, rivers=rivers())
    assert [street.street for street in found.streets] == ["flop", "turn", "river"]
    assert [street.buckets for street in found.streets] == [40, 50, 30]
    assert found.digest == small_centroids().digest
    assert len(str(found).splitlines()) == 3
    table = rivers()[::134].astype(np.float64)
    spread = (table[table <= 1980] / 1980).std()
    for street in found.streets:
        assert 0.8 < street.explained < 1
        assert street.used > 0.9 * street.buckets
        assert 0 < street.distance < 0.1
        assert 0 < street.spread < spread / 3


def test_figures_of_quality_are_what_one_counts():
    """Four hands of one bucket, three of another, on the turn, where sixteen dimensions make one distance."""
    draws = np.random.default_rng(1)
    points, equity, weights = draws.random((7, 16)), draws.random(7), np.array([1.0, 2, 3, 4, 1, 1, 1])
    buckets = np.array([0, 0, 0, 0, 2, 2, 2], np.uint16)
    found = _measure("turn", 4, buckets, points, equity, weights)
    within = spread = distance = 0.0
    for bucket in (0, 2):
        own = buckets == bucket
        mean = np.average(points[own], axis=0, weights=weights[own])
        squares = ((points[own] - mean) ** 2).sum(axis=1)
        within += (squares * weights[own]).sum()
        distance += (np.sqrt(squares / 16) * weights[own]).sum()
        spread += ((equity[own] - np.average(equity[own], weights=weights[own])) ** 2 * weights[own]).sum()
    around = (((points - np.average(points, axis=0, weights=weights)) ** 2).sum(axis=1) * weights).sum()
    assert (found.buckets, found.used) == (4, 2)
    assert found.distance == pytest.approx(distance / 13)
    assert found.spread == pytest.approx(np.sqrt(spread / 13))
    assert found.explained == pytest.approx(1 - within / around)
