"""Endgame files: the Libratus format both ways, everything that is refused, and the endgames shipped for benchmarks."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.endgames.make import LINES, make, strength
from bot.solve.endgames import (
    Endgame,
    EndgameError,
    endgame_text,
    file_order,
    parse_endgame,
    read_endgame,
    write_endgame,
)
from protocol.cards import parse_cards
from protocol.hands import NUM_HANDS, hand_cards_array, hand_index, hand_text
from protocol.ranking import hand_rank

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks" / "endgames"


def small(**changes: str) -> str:
    """A turn endgame in which one hand of each player has a weight, with fields changed; an empty one is left out."""
    oop, button = ["0.0"] * NUM_HANDS, ["0.0"] * NUM_HANDS
    oop[0], button[-1] = "0.5", "1.0"
    fields = {"round": "3", "board": "7s9h9cTc", "pot": "500", "reach": " ".join(oop + button)} | changes
    return "".join([f"-{key} {value}\n" for key, value in fields.items() if value])


def reach(*numbers: tuple[int, str]) -> str:
    """2,652 numbers, all 0 but some, and a hand for each player."""
    words = ["0"] * (2 * NUM_HANDS)
    words[0] = words[-1] = "1"
    for place, word in numbers:
        words[place] = word
    return " ".join(words)


def test_the_order_is_that_of_the_published_description() -> None:
    texts = [hand_text(index) for index in file_order().tolist()]
    first = ["2s2h", "2s2d", "2s2c", "3s2s", "3h2s", "3d2s", "3c2s", "4s2s"]
    assert texts[:8] == first
    assert texts[50] == "Ac2s"
    assert texts[51:53] == ["2h2d", "2h2c"]
    assert texts[-1] == "AdAc"
    assert sorted(file_order().tolist()) == list(range(NUM_HANDS))
    deck = [rank + suit for rank in "23456789TJQKA" for suit in "shdc"]
    assert file_order().tolist() == [hand_index(*parse_cards(a + b)) for a, b in combinations(deck, 2)]


def test_where_the_numbers_go() -> None:
    endgame = parse_endgame(small())
    assert endgame.board == parse_cards("7s9h9cTc")
    assert endgame.pot == 500
    assert np.flatnonzero(endgame.ranges[0]).tolist() == [hand_index(*parse_cards("2s2h"))]
    assert np.flatnonzero(endgame.ranges[1]).tolist() == [hand_index(*parse_cards("AdAc"))]
    assert [weights.max() for weights in endgame.ranges] == [0.5, 1.0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n"])
def test_lines_end_as_on_any_system(end: str) -> None:
    assert endgame_text(parse_endgame(small().replace("\n", end))) == endgame_text(parse_endgame(small()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "-round, -board, -pot, -reach missing"),
        (small(pot=""), "-pot missing: expected -round, -board, -pot, -reach"),
        (small() + "-pot 500\n", "-pot: given twice"),
        (small() + "pot 500\n", "'pot': expected one of -round"),
        (small() + "-blinds 50\n", "'-blinds': expected one of -round"),
        (small(round="x"), "-round 'x': expected a whole number"),
        (small(round="1"), "-round 1: expected 3 (turn) or 4 (river)"),
        (small(round="4"), "-board 7s9h9cTc: expected 5 cards in round 4"),
        (small(board="7s9h9cT"), "-board '7s9h9cT' does not spell cards"),
        (small(board="7s9h9cTx"), "-board 'Tx' is not a card"),
        (small(board="7s9h9c9c"), "-board '7s9h9c9c' holds the same card twice"),
        (small(pot="-500"), "-pot '-500': expected a whole number"),
        (small(pot="0"), "-pot 0: expected an even number"),
        (small(pot="501"), "-pot 501: expected an even number"),
        (small(pot="5e2"), "-pot '5e2': expected a whole number"),
        (small(pot="9" * 5000), "expected a whole number"),
        (small(reach="0 1"), "-reach has 2 numbers: expected 2,652"),
        (small(reach=reach() + " 0"), "-reach has 2,653 numbers: expected 2,652"),
        (small(reach=reach((7, "x"))), "-reach, number 8: 'x': expected a number from 0 to 1"),
        (small(reach=reach((7, "nan"))), "-reach, number 8: 'nan'"),
        (small(reach=reach((7, "-0.5"))), "-reach, number 8: '-0.5'"),
        (small(reach=reach((7, "1.0000000001"))), "-reach, number 8: '1.0000000001': expected a number from 0 to 1"),
        (small(reach=reach((7, "1e999"))), "-reach, number 8: '1e999'"),
        (small(reach=reach((0, "0"))), "-reach, out of position: nothing but 0"),
        (small(reach=reach((2651, "0"))), "-reach, button: nothing but 0"),
        (small(reach=reach((19, "0.25"))), "-reach, out of position, 7s2s: 0.25: expected 0, since it meets the board"),
        ("\udcff\x00", "expected one of -round"),
    ],
)
def test_refused_with_field_and_value(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(EndgameError) as caught:
        read_endgame(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert said in message
    assert message.isprintable()
    assert len(message) < 400


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="No such file or directory: expected a file"):
        read_endgame(tmp_path / "missing.txt")
    (tmp_path / "large.txt").write_bytes(b"-" * (2 << 20))
    with pytest.raises(Exception, match="expected a smaller file"):
        read_endgame(tmp_path / "large.txt")


@pytest.mark.parametrize("seed", range(10))
def test_round_trips_are_exact(seed: int, tmp_path: Path) -> None:
    """Weights of every size; what was written reads back to the same bits."""
    rng = np.random.default_rng(seed)
    board = parse_cards("KsKd7h2c3c"[: 2 * int(rng.integers(3, 6))])
    dead = np.isin(hand_cards_array(), np.array(board)).any(axis=1)
    ranges = []
    for _ in range(2):
        weights = (10.0 ** rng.uniform(-44, 0, NUM_HANDS) * (rng.random(NUM_HANDS) < rng.random())).astype(np.float32)
        weights[dead], weights[-1] = 0, 1
        ranges.append(weights)
    endgame = Endgame(board, 2 * int(rng.integers(1, 10_000)), (ranges[0], ranges[1]))
    path = tmp_path / "endgame.txt"
    write_endgame(path, endgame)
    back = read_endgame(path)
    assert (back.board, back.pot) == (endgame.board, endgame.pot)
    for mine, theirs in zip(endgame.ranges, back.ranges, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert endgame_text(back) == path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["endgame.txt"]


@given(st.text(alphabet="-roundbapteh 0123456789.eE\nsx", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(EndgameError):
        parse_endgame(text)


def test_an_endgame_that_cannot_be_dealt_is_not_made() -> None:
    ones = np.ones(NUM_HANDS, np.float32)
    board = parse_cards("7s9h9cTc")
    with pytest.raises(EndgameError, match="meets the board"):
        Endgame(board, 500, (ones, ones))
    with pytest.raises(EndgameError, match=r"expected float32\[1326\]"):
        Endgame(board, 500, (np.ones(NUM_HANDS), ones))  # type: ignore[arg-type]
    with pytest.raises(EndgameError, match="expected 3 to 5 different cards"):
        Endgame(board[:2], 500, (ones, ones))
    with pytest.raises(EndgameError, match="nan: expected a number from 0 to 1"):
        Endgame(board, 500, (np.full(NUM_HANDS, np.nan, np.float32), ones))


# --- Those that exist ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", LINES, ids=lambda way: way.name)
def test_our_endgames_are_what_their_maker_makes(way) -> None:
    """Weights may differ in the last of their four digits, where another machine rounds otherwise."""
    shipped, made = read_endgame(FOLDER / f"{way.name}.txt"), make(way)
    assert (shipped.board, shipped.pot) == (made.board, made.pot)
    for mine, theirs in zip(shipped.ranges, made.ranges, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-3)
        assert np.count_nonzero(mine) > 400
        # No class is the same in all suits, so that nothing can be saved by symmetry.
        assert len(np.unique(mine[mine > 0])) > 300
    assert len(list(FOLDER.glob("*.txt"))) == len(LINES) == 4
    assert sum(len(each.board) == 4 for each in LINES) == 2


def test_strength_by_another_ranking() -> None:
    """On a river, against counting with the scalar ranking."""
    board = parse_cards("5h9sAd7c3s")
    hands = [tuple(hand) for hand in hand_cards_array().tolist()]
    ranks = {hand: hand_rank((*hand, *board)) for hand in hands if not set(hand) & set(board)}
    strong = strength(board)
    for text in ("AhAc", "6d4d", "KsQs", "2d2c"):
        mine = ranks[tuple(sorted(parse_cards(text), reverse=True))]
        below = sum((rank < mine) + (rank == mine) / 2 for rank in ranks.values())
        assert strong[hand_index(*parse_cards(text))] == pytest.approx(below / len(ranks))
    assert np.isnan(strong[hand_index(*parse_cards("AdKd"))])
