"""Any file of played hands is known by what it holds; the same hands through every format."""

from __future__ import annotations

import gzip
from random import Random

import pytest
from played_hands import random_session, records
from records import DATA

from dealer_tools.formats import acpc, phh, slumbot
from dealer_tools.formats.open import read_sessions
from dealer_tools.formats.reading import FormatError, missing
from protocol.game import load_game
from protocol.log import state_line
from strategies.store import MatchStore

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
NAMES = ("paratus", "slumbot")
WRITERS = {"acpc": acpc.write_log, "slumbot": slumbot.write_session, "phh": phh.write_session}


@pytest.mark.parametrize("first", WRITERS)
@pytest.mark.parametrize("second", WRITERS)
@pytest.mark.parametrize("seed", range(2))
def test_all_ways_between_the_formats(first, second, seed, tmp_path):
    path, other = tmp_path / "one.txt", tmp_path / "other.txt"
    session = random_session(Random(seed), HOLDEM, 120, NAMES)
    WRITERS[first](path, session)
    [read] = read_sessions(path)
    WRITERS[second](other, read)
    [again] = read_sessions(other)
    assert [*map(state_line, records(again))] == [*map(state_line, records(session))]
    assert records(again) == records(session)
    assert (again.players, again.game, again.refused, again.notes) == (NAMES, HOLDEM, (), ())
    WRITERS[first](other, again)
    assert other.read_bytes() == path.read_bytes()


def test_known_by_content(tmp_path):
    path = tmp_path / "file"
    path.write_text("\n# a comment\n; another\n\nSTATE:0:f:3c4d|9d6c:50|-50:A|B\n")
    assert len(read_sessions(path, HOLDEM)[0].hands) == 1
    with pytest.raises(FormatError, match="that names the game"):
        read_sessions(path)
    path.write_text('# a comment\n{"hand": 0, "broken": "no"}\n')
    assert read_sessions(path, player="me")[0].players == ("me", "slumbot")
    path.write_text('oops\n{"hand": 0, "broken": "no"}\n')
    assert len(read_sessions(path)[0].refused) == 2
    assert len(read_sessions(DATA / "leduc.log")[0].hands) == 300


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "empty"),
        (b"\n", "empty"),
        (b"# comment\n", "nothing but comments"),
        (b"hello\n", "'hello'"),
        (b"MATCHSTATE:0:0::3c4d|\n", "what a dealer and a bot said to each other"),
        (b"TO 1 at 1.0 MATCHSTATE:0:0::3c4d|\n", "what a dealer and a bot said to each other"),
        (b"GAMEDEF\n", "the definition of a game"),
        (gzip.compress(b"x", mtime=0), "compressed"),
        (b"PK\x03\x04", "compressed"),
        (b"\xff\xfe\x00", "'\ufffd\ufffd\\x00'"),
    ],
)
def test_other_files_are_refused_in_one_line(text, reason, tmp_path):
    path = tmp_path / "file.log"
    path.write_bytes(text)
    with pytest.raises(FormatError) as caught:
        read_sessions(path)
    assert str(caught.value) == f"{path}: {reason}: expected an ACPC log, a Slumbot session or a PHH file"


def test_stores_and_folders_are_refused(tmp_path):
    path = tmp_path / "match.sqlite"
    MatchStore(path, HOLDEM, "agent", {}).close()
    with pytest.raises(FormatError, match="a match store, not a file of text: expected"):
        read_sessions(path)
    with pytest.raises(FormatError, match="expected a file of played hands"):
        read_sessions(tmp_path)


@pytest.mark.parametrize(
    ("numbers", "expected", "count", "text"),
    [
        ([], None, 0, ""),
        ([], 3, 3, "0-2"),
        ([0, 1, 2], 3, 0, ""),
        ([0, 1, 2], None, 0, ""),
        ([1], 3, 2, "0, 2"),
        ([2, 2, 0], 2, 1, "1"),
        ([4294967295], None, 4294967295, "0-4294967294"),
        ([0, 2, 4, 6, 8, 10, 12], None, 6, "1, 3, 5, 7, 9 and 1 more gaps"),
    ],
)
def test_gaps(numbers, expected, count, text):
    assert missing(numbers, expected) == (count, text)
