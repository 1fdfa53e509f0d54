"""Blueprint files: what is written comes back, rounded as it should be, and nothing else is read."""

from __future__ import annotations

import json
import struct
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from blueprint_files import CARDS, HOLDEM, MENU, cards_of, counts, file_of, folder, random_averages, small_game, write
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from blueprints.cards.exact import ExactCards
from blueprints.container import MAGIC, Container, write_container
from blueprints.rounding import round_nodes
from blueprints.settings import BlueprintSettings
from blueprints.storage import Blueprint, game_hash, quantise_nodes, write_blueprint
from blueprints.tree import build_tree
from protocol.errors import BlueprintError
from protocol.game import game_text, load_game
from solver.menu import parse_menu

SMALL_MENU = "100%,a / 100%,a; cap 2"


@pytest.fixture(scope="module")
def small() -> Path:
    """A file of a few kB."""
    return file_of(small_game())


def message(call, *arguments, **options) -> str:
    with pytest.raises(BlueprintError) as caught:
        call(*arguments, **options)
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 600
    return text


def verified(path: Path) -> Blueprint:
    return Blueprint.open(path, verify=True)


# --- Rounding -------------------------------------------------------------------------------------------------------

numbers = st.one_of(
    st.just(0.0), st.floats(0, 1, width=32), st.floats(0, 2.0**127, width=32), st.sampled_from([1.0, 2.0, 3.0])
)
tables = st.tuples(st.integers(1, 7), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=numbers)
)


def quantise(averages: np.ndarray) -> np.ndarray:
    """Of a single node."""
    return quantise_nodes(averages, np.array([0, len(averages)]))


def largest_remainders(column: list[float]) -> list[int]:
    """By exact fractions."""
    exact = [Fraction(number) for number in column]
    total = sum(exact)
    shares = [255 * each / total if total else Fraction(255, len(exact)) for each in exact]
    whole = [int(share) for share in shares]
    by_rest = sorted(range(len(shares)), key=lambda number: (whole[number] - shares[number], number))
    for number in by_rest[: 255 - sum(whole)]:
        whole[number] += 1
    return whole


@given(tables)
def test_columns_add_up_and_no_number_is_off_by_one(averages):
    rounded = quantise(averages)
    assert rounded.dtype == np.uint8
    assert rounded.shape == averages.shape
    assert (rounded.sum(axis=0, dtype=int) == 255).all()
    exact = averages.astype(np.float64)
    sums = exact.sum(axis=0)
    shares = np.where(sums > 0, exact / np.where(sums > 0, sums, 1), 1 / len(averages))
    assert (np.abs(rounded / 255 - shares) <= 1 / 255).all()
    assert not rounded[(averages == 0) & (sums > 0)].any()


@given(arrays(np.float32, (5, 2), elements=st.integers(0, 20).map(float)))
def test_rounding_by_exact_fractions(averages):
    """Whole numbers, so that ties are ties."""
    expected = [largest_remainders(column) for column in averages.T.tolist()]
    # A remainder that floating point cannot tell from another may go to either: then both are equally right.
    rounded = quantise(averages).T.tolist()
    for mine, exact, column in zip(rounded, expected, averages.T.tolist(), strict=True):
        if mine != exact:
            total = Fraction(sum(map(int, column)))
            rests = [255 * Fraction(number) / total % 1 for number in column]
            moved = [rest for rest, one, two in zip(rests, mine, exact, strict=True) if one != two]
            assert len(set(moved)) == 1


@pytest.mark.parametrize(
    ("averages", "rounded"),
    [
        ([0, 0], [128, 127]),
        ([0, 0, 0], [85, 85, 85]),
        ([0, 0, 0, 0], [64, 64, 64, 63]),
        ([1, 1], [128, 127]),
        ([3], [255]),
        ([0], [255]),
        ([0, 5, 0], [0, 255, 0]),
        ([1e-30, 0], [255, 0]),
        ([1e-45, 3e38], [0, 255]),
        ([1, 1, 510], [1, 0, 254]),
    ],
)
def test_rounding_by_hand(averages, rounded):
    assert quantise(np.array(averages, np.float32)[:, None])[:, 0].tolist() == rounded


def test_nodes_are_rounded_one_by_one():
    averages = np.random.default_rng(3).random((9, 11), np.float32)
    together = quantise_nodes(averages, np.array([0, 2, 3, 9]))
    for begin, end in ((0, 2), (2, 3), (3, 9)):
        assert np.array_equal(together[begin:end], quantise(averages[begin:end]))


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, -np.inf])
def test_what_is_no_strategy_is_refused(wrong):
    averages = np.ones((3, 4), np.float32)
    averages[1, 2] = wrong
    assert "1 are negative or not finite" in message(quantise, averages)
    assert "float64" in message(quantise, averages.astype(np.float64))
    assert "the nodes have 2" in message(quantise_nodes, np.ones((3, 4), np.float32), np.array([0, 2]))


# --- There and back -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [HOLDEM, small_game(), load_game("leduc").game], ids=["holdem", "small", "leduc"])
def test_what_was_written_comes_back(game, tmp_path):
    menu = MENU if game is HOLDEM else SMALL_MENU
    path = write(tmp_path / "x.blueprint", game, menu, seed=5)
    tree, cards = build_tree(game, parse_menu(menu)), cards_of(game)
    blueprint = verified(path)
    assert blueprint.tree.digest == tree.digest
    assert game_text(blueprint.game) == game_text(game)
    assert blueprint.game.name == game.name
    assert blueprint.name == "random"
    assert blueprint.buckets == counts(cards)
    assert blueprint.settings.cards == CARDS
    assert blueprint.header.training.updates == 12_345
    averages = random_averages(tree, counts(cards), 5)
    for node in range(tree.num_nodes):
        street = int(tree.street[node])
        first = int(tree.first[tree.nodes_of(street).start])
        mine = averages[street][tree.first[node] - first : tree.first[node + 1] - first]
        assert np.array_equal(blueprint.rows(node), quantise(mine))
    assert sum(blueprint.strategy(street).size for street in range(game.num_rounds)) == sum(a.size for a in averages)
    opened = blueprint.cards(folder(), rivers=False)
    assert opened.digest == cards.digest
    assert tuple(opened.counts) == blueprint.buckets
    assert isinstance(opened, ExactCards) == (game is not HOLDEM)


def test_the_same_content_is_the_same_file(small, tmp_path):
    one, two = write(tmp_path / "one", small_game(), SMALL_MENU), write(tmp_path / "two", small_game(), SMALL_MENU)
    assert one.read_bytes() == two.read_bytes()
    other = write(tmp_path / "other", small_game(), SMALL_MENU, seed=2)
    assert Blueprint.open(one).digest == Blueprint.open(two).digest != Blueprint.open(other).digest


def test_arrays_are_read_only_and_aligned(small):
    blueprint, container = Blueprint.open(small), Container(small)
    with pytest.raises(ValueError, match="read-only"):
        blueprint.rows(0)[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        blueprint.tree.does[0] = 1
    assert len(container.records) > 10
    assert all(record.offset % 64 == 0 for record in container.records.values())


def test_a_file_that_cannot_be_finished_leaves_nothing(tmp_path, monkeypatch):
    path = write(tmp_path / "x.blueprint", small_game(), SMALL_MENU)
    before = path.read_bytes()

    def full(_file):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        write(path, small_game(), SMALL_MENU, seed=9)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def parts():
    game = small_game()
    tree, cards = build_tree(game, parse_menu(SMALL_MENU)), ExactCards(game)
    return {
        "settings": BlueprintSettings(name="random", game=game.name, menu=SMALL_MENU),
        "game": game,
        "tree": tree,
        "cards": cards,
        "averages": random_averages(tree, cards.counts),
        "training": {},
    }


def test_averages_of_another_shape_are_not_written(tmp_path):
    path, given = tmp_path / "x.blueprint", parts()
    first, second = given["averages"]
    for averages, expected in (
        ([first], "averages of 1 streets, buckets of 2, a tree of 2: expected the 2 of the game"),
        ([first, second[1:]], f"averages of street 1 are [{len(second) - 1}, {second.shape[1]}]"),
        ([first[:, 1:], second], "averages of street 0 are"),
    ):
        assert expected in message(write_blueprint, path, **{**given, "averages": averages})
    assert "training: walks = -1" in message(write_blueprint, path, **{**given, "training": {"walks": -1}})
    assert not path.exists()


# --- Refused --------------------------------------------------------------------------------------------------------


def test_every_damaged_byte_is_found(small, tmp_path):
    """Whichever byte it is, and without looking at everything if it is in the header or the tree."""
    whole, path = small.read_bytes(), tmp_path / "x.blueprint"
    begins = Container(small).records["strategy_0"].offset
    rng = np.random.default_rng(1)
    places = {*range(40), *rng.integers(0, len(whole), 400).tolist(), len(whole) - 1}
    for place in sorted(places):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        assert str(path) in message(verified, path)
    for place in rng.integers(0, begins, 50).tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:
            Blueprint.open(path)
        except BlueprintError:
            continue
        assert whole[place] == 0  # between arrays


def test_files_that_are_cut_or_longer(small, tmp_path):
    whole, path = small.read_bytes(), tmp_path / "x.blueprint"
    for length in [*range(0, 64, 3), *range(64, len(whole), len(whole) // 100), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert str(path) in message(Blueprint.open, path)
    path.write_bytes(whole[:20])
    assert message(Blueprint.open, path).endswith("cut short, 20 bytes: expected 32 before the header")
    path.write_bytes(whole[:-1])
    assert message(Blueprint.open, path).endswith(f"cut short, {len(whole) - 1:,} bytes: expected {len(whole):,}")
    path.write_bytes(whole + b"\0")
    assert message(Blueprint.open, path).endswith(f"{len(whole) + 1:,} bytes: expected {len(whole):,}")


def test_what_is_no_blueprint_file(small, tmp_path):
    path = tmp_path / "x.blueprint"
    assert message(Blueprint.open, path).endswith("No such file or directory: expected a blueprint file")
    assert "Is a directory" in message(Blueprint.open, tmp_path)
    path.write_bytes(b"PK\3\4" * 20)
    assert "begins with" in message(Blueprint.open, path)
    whole = small.read_bytes()
    path.write_bytes(whole[:8] + struct.pack("<I", 2) + whole[12:])
    assert message(Blueprint.open, path).endswith("version 2: this program reads version 1")
    path.write_bytes(whole[:12] + struct.pack("<I", 2**31) + whole[16:])
    assert "a header of 2,147,483,648 bytes" in message(Blueprint.open, path)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"[" * 50_000, b'{"fields":{},"arrays":[1]}', b'{"fields":{}}', b"\xff"]
)
def test_headers_that_are_none(text, tmp_path):
    path = tmp_path / "x.blueprint"
    start = struct.pack("<8sII16s", MAGIC, 1, len(text), blake2b(text, digest_size=16).digest())
    path.write_bytes(start + text)
    assert "the header cannot be read" in message(Blueprint.open, path)


def contents(path: Path):
    """The fields and arrays of a file, to be changed and written again with right hashes."""
    container = Container(path)
    return json.loads(json.dumps(container.fields)), {name: np.array(container[name]) for name in container.records}


def test_arrays_that_change_places(small, tmp_path):
    """In the file alone: hashes differ. With the directory: shapes do."""
    container, whole, path = Container(small), bytearray(small.read_bytes()), tmp_path / "x.blueprint"
    does, leads = container.records["tree_does"], container.records["tree_leads"]
    assert does.size == leads.size
    one, two = (bytes(whole[each.offset : each.offset + each.size]) for each in (does, leads))
    whole[does.offset : does.offset + does.size], whole[leads.offset : leads.offset + leads.size] = two, one
    path.write_bytes(whole)
    assert "hash of tree_does is" in message(Blueprint.open, path)
    for first, second, expected in (
        ("tree_does", "tree_leads", "tree: its arrays do not fit together"),
        ("strategy_0", "strategy_1", "strategy_0 is uint8"),
        ("tree_player", "tree_pays", "tree: player is int32"),
    ):
        fields, found = contents(small)
        found[first], found[second] = found[second], found[first]
        write_container(path, fields, found)
        assert expected in message(Blueprint.open, path)


def test_fields_that_do_not_match(small, tmp_path):
    path = tmp_path / "x.blueprint"
    for key, value, expected in (
        ("format", "paratus-solution", "format = 'paratus-solution'"),
        ("name", 3, "name = 3"),
        ("name", "other", "name is other: expected random"),
        ("game_name", "\x1b[31m", "game_name = '\\x1b[31m'"),
        ("extra", 1, "extra = 1"),
        ("game", "gamedef", "game: "),
        ("game_hash", "00", "hash of the game is"),
        ("game_hash", "a\nb", "game_hash = 'a\\nb'"),
        ("menu", "50%", "menu is"),
        ("tree", "00", "hash of the tree is"),
        ("cards", "00", "hash of the card abstraction is"),
        ("card_kind", "centroids", "card abstraction: no array"),
        ("buckets", [1], "streets of buckets is 1: expected 2"),
        ("buckets", [1, 1], "strategy_0 is"),
        ("training", {"walks": -1}, "training.walks = -1"),
    ):
        fields, found = contents(small)
        fields[key] = value
        write_container(path, fields, found)
        assert expected in message(verified, path), key


def test_arrays_that_are_missing_or_too_many(small, tmp_path):
    path = tmp_path / "x.blueprint"
    for name in ("tree_leads", "strategy_1"):
        fields, found = contents(small)
        del found[name]
        write_container(path, fields, found)
        assert name in message(Blueprint.open, path)
    for name in ("strategy_2", "tree_more", "cards_flop", "more", "strategy_01"):
        fields, found = contents(small)
        write_container(path, fields, {**found, name: np.zeros(3, np.uint8)})
        if name != "tree_more":
            assert f"array '{name}': expected none of that name" in message(Blueprint.open, path)


@pytest.mark.parametrize("array", ["first", "leads", "root_at", "street_at", "player", "street", "committed", "does"])
def test_trees_that_point_elsewhere(small, tmp_path, array):
    """Their hashes are right, so somebody made them so: no index may leave the arrays."""
    path, rng = tmp_path / "x.blueprint", np.random.default_rng(len(array))
    refused = 0
    for wrong in (-100, 100, 10_000):
        fields, found = contents(small)
        numbers = found[f"tree_{array}"].reshape(-1)
        place = int(rng.integers(len(numbers)))
        numbers[place] = wrong if numbers.dtype != np.uint8 else wrong % 256
        tree = {name.removeprefix("tree_"): each for name, each in found.items() if name.startswith("tree_")}
        fields["tree"] = type(Blueprint.open(small).tree).from_arrays(tree).digest
        write_container(path, fields, found)
        assert str(path) in message(verified, path)
        try:
            Blueprint.open(path)
        except BlueprintError:
            refused += 1
    assert refused >= (1 if array in ("does", "committed") else 3)  # chips are compared by verify, with the real tree


def test_numbers_that_do_not_add_up(small, tmp_path):
    path = tmp_path / "x.blueprint"
    fields, found = contents(small)
    found["strategy_1"][3, 5] ^= 1
    write_container(path, fields, found)
    Blueprint.open(path)
    assert message(verified, path).endswith("strategy_1: 1 buckets of a node do not add up to 255: expected none")


def test_a_tree_of_another_menu(small, tmp_path):
    path = tmp_path / "x.blueprint"
    fields, found = contents(small)
    fields["menu"] = fields["settings"]["menu"] = "100%,a / -"
    write_container(path, fields, found)
    Blueprint.open(path)
    assert "hash of the tree that game and menu make" in message(verified, path)


def test_which_games_it_is_for(small):
    blueprint = Blueprint.open(file_of(HOLDEM))
    blueprint.check_matches(HOLDEM)
    for name, what in (
        ("holdem.nolimit.3p", "numPlayers = 2: expected holdem.nolimit.3p, numPlayers = 3"),
        ("leduc", "numRounds = 4: expected leduc, numRounds = 2"),
        (
            "holdem.limit.2p.reverse_blinds",
            "betting = nolimit: expected holdem.limit.2p.reverse_blinds, betting = limit",
        ),
    ):
        assert what in message(blueprint.check_matches, load_game(name).game)
    assert game_hash(HOLDEM) == blueprint.header.game_hash != Blueprint.open(small).header.game_hash


def test_a_file_that_is_replaced_while_it_is_open(tmp_path):
    """What was opened stays what it was."""
    path = write(tmp_path / "x.blueprint", small_game(), SMALL_MENU)
    opened = Blueprint.open(path)
    write(path, small_game(), SMALL_MENU, seed=2)
    opened.verify()
    assert Blueprint.open(path).digest != opened.digest


def test_one_compiled_form():
    """A stray dtype would compile a second one in silence."""
    quantise(np.ones((3, 4), np.float32))
    quantise_nodes(np.ones((8, 6), np.float32)[::2, ::2], np.array([0, 4], np.int32))
    assert len(round_nodes.signatures) == 1
