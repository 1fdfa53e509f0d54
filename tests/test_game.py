"""Game definitions: what a file may say, what is said about a bad one, and that writing and reading agree."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_play import random_game

from machine.errors import ConfigError, ParatusError
from protocol.cards import cards_text
from protocol.game import (
    DEFAULT_GAME,
    DEFAULT_MAX_RAISES,
    MAX_PLAYERS,
    UNLIMITED,
    Game,
    GameError,
    find_game,
    game_text,
    load_game,
    parse_game,
    shipped_games,
)

SHIPPED = [
    "holdem.limit.2p.reverse_blinds",
    "holdem.limit.3p",
    "holdem.nolimit.2p.reverse_blinds",
    "holdem.nolimit.3p",
    "kuhn.limit.2p",
    "kuhn.limit.3p",
    "leduc",
    "leduc.limit.2p",
]

GOOD = """\
GAMEDEF
nolimit
numPlayers = 2
numRounds = 4
stack = 20000 20000
blind = 100 50
firstPlayer = 2 1 1 1
numSuits = 4
numRanks = 13
numHoleCards = 2
numBoardCards = 0 3 1 1
END GAMEDEF
"""


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


# --- Good files -----------------------------------------------------------------------------------------------------


def test_shipped_definitions_are_these() -> None:
    assert list(shipped_games()) == SHIPPED
    assert DEFAULT_GAME in SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_definitions_parse_without_warnings_and_round_trip(name: str) -> None:
    parsed = load_game(name)
    assert parsed.warnings == ()
    assert parsed.game.name == name
    assert load_game(f"{name}.game") == parsed
    assert parse_game(game_text(parsed.game), name) == parsed
    assert load_game(str(shipped_games()[name])).game == parsed.game


def test_the_default_game_word_by_word() -> None:
    game = load_game(DEFAULT_GAME).game
    assert game == Game(
        no_limit=True,
        num_players=2,
        num_rounds=4,
        blind=(100, 50),
        stack=(20_000, 20_000),
        first_player=(1, 0, 0, 0),
        raise_size=(),
        max_raises=(255,) * 4,
        num_suits=4,
        num_ranks=13,
        num_hole_cards=2,
        num_board_cards=(0, 3, 1, 1),
        name=DEFAULT_GAME,
    )
    assert game.big_blind == 100
    assert len(game.deck()) == 52
    assert [game.board_cards_by(street) for street in range(4)] == [0, 3, 4, 5]


def test_small_decks_keep_the_top() -> None:
    assert cards_text(load_game("leduc").game.deck()) == "QhKhAhQsKsAs"
    assert cards_text(load_game("kuhn.limit.3p").game.deck()) == "JsQsKsAs"


def test_what_a_file_need_not_say() -> None:
    text = (
        "limit\nnumPlayers 3\nnumRounds 2\nraiseSize 1 2\nnumSuits 4\nnumRanks 13\nnumHoleCards 1\nnumBoardCards 0 1\n"
    )
    parsed = parse_game(text, "dir/short.game")
    assert parsed.warnings == (
        "dir/short.game: no END GAMEDEF line: the file may be cut short",
        "dir/short.game: no blind: nobody posts any chips",
    )
    game = parsed.game
    assert (game.blind, game.stack, game.first_player) == ((0, 0, 0), (UNLIMITED,) * 3, (0, 0))
    assert (game.max_raises, game.raise_size, game.name) == ((DEFAULT_MAX_RAISES,) * 2, (1, 2), "short")
    assert game.big_blind == 1


@pytest.mark.parametrize(
    "text",
    [
        GOOD.lower(),
        GOOD.upper(),
        GOOD.swapcase(),
        GOOD.replace(" = ", " "),
        GOOD.replace(" = ", "="),
        GOOD.replace(" = ", ""),
        GOOD.replace(" = ", "\t==  = "),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\n\n   \n# a comment\n  # numPlayers = 3\n#numRounds 1\n"),
        GOOD.replace("\n", "  \n\t "),
        GOOD.replace("20000 20000", "020000 = 20000"),
        GOOD + "numPlayers = 17\nnonsense after the end\n",
        GOOD.replace("GAMEDEF\nnolimit", "GAMEDEF of mine\nNoLimit hold'em"),
        GOOD.replace("nolimit\n", "").replace("END GAMEDEF", "nolimit\nEND GAMEDEF and more"),
    ],
)
def test_other_spellings_of_the_same_game(text: str) -> None:
    """Keys are prefixes in any case, `=` is white space, blank lines and comments are nothing."""
    assert parse_game(text, "x").warnings == ()
    assert parse_game(text, "x").game == parse_game(GOOD, "x").game


def test_every_key_is_read() -> None:
    text = """gamedef
        limit
        numplayers 3
        NUMROUNDS 2
        stack 100 200 300
        blind 1 2 3
        raiseSize 4 8
        firstPlayer 3 2
        maxRaises 5 6
        numSuits 3
        numRanks 12
        numHoleCards 2
        numBoardCards 1 2
        end gamedef"""
    parsed = parse_game(text, "all")
    assert parsed.warnings == ()
    assert parsed.game == Game(
        False, 3, 2, (1, 2, 3), (100, 200, 300), (2, 1), (4, 8), (5, 6), 3, 12, 2, (1, 2), name="all"
    )


# --- Warnings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (changed("blind =", "maxRaise = 3\nblind ="), "my.game:6: unknown key 'maxRaise = 3': ignored"),
        (changed("blind =", "big blind = 3\nblind ="), "my.game:6: unknown key 'big blind = 3': ignored"),
        (changed("nolimit", "nolimit\nno limit"), "my.game:3: unknown key 'no limit': ignored"),
        (changed("blind =", "// blind\nblind ="), "my.game:6: unknown key '// blind': ignored"),
        (
            changed("blind =", "blind = 7 7\nblind ="),
            "my.game:7: blind was already given on line 6: the later line counts",
        ),
        (changed("100 50", "100 50 25"), "my.game: blind has 3 values, 2 are used"),
        (changed("0 3 1 1", "0 3 1 1\nraiseSize = 1"), "my.game: raiseSize means nothing in a no-limit game: ignored"),
        (changed("END GAMEDEF\n", ""), "my.game: no END GAMEDEF line: the file may be cut short"),
    ],
)
def test_warnings_name_their_place(text: str, warning: str) -> None:
    parsed = parse_game(text, "my.game")
    assert warning in parsed.warnings
    assert len(parsed.warnings) == 1
    assert parsed.game == replace(parse_game(GOOD, "x").game, name="my")


# --- Bad files ------------------------------------------------------------------------------------------------------

BAD = {
    # Nothing to read.
    "empty": ("", "my.game: missing limit or nolimit, numPlayers, numRounds, numSuits, numRanks, numHoleCards"),
    "no betting": (changed("nolimit\n", ""), "my.game: missing limit or nolimit"),
    "no players": (changed("numPlayers = 2\n", ""), "my.game: missing numPlayers"),
    "two missing": (
        changed("numRanks = 13\nnumHoleCards = 2\n", ""),
        "my.game: missing numRanks, numHoleCards",
    ),
    "end first": (f"END GAMEDEF\n{GOOD}", "my.game: missing limit or nolimit, numPlayers"),
    # Values.
    "no value": (changed("blind = 100 50", "blind ="), "my.game:6: blind has no value: expected a number"),
    "no number": (changed("100 50", "100 x"), "my.game:6: blind = 'x': expected a number from 0 to 2147483647"),
    "negative": (changed("100 50", "-100 50"), "my.game:6: blind = '-100': expected a number from 0"),
    "sign": (changed("100 50", "+100 50"), "my.game:6: blind = '+100': expected a number from 0"),
    "fraction": (changed("100 50", "100 0.5"), "my.game:6: blind = '0.5': expected a number from 0"),
    "hexadecimal": (changed("100 50", "0x64 50"), "my.game:6: blind = '0x64': expected a number from 0"),
    "underscore": (changed("100 50", "1_00 50"), "my.game:6: blind = '1_00': expected a number from 0"),
    "comma": (changed("100 50", "100,50"), "my.game:6: blind = '100,50': expected a number from 0"),
    "other digits": (changed("100 50", "١٠٠ 50"), "my.game:6: blind = '١٠٠': expected a number from 0"),
    "too large": (changed("100 50", "2147483648 50"), "my.game:6: blind = '2147483648': expected a number from 0"),
    "far too large": (changed("100 50", "9" * 5000), "999'… (5000 in all): expected a number from 0 to 2147483647"),
    "a comment behind": (changed("100 50", "100 50 # big"), "my.game:6: blind = '#': expected a number"),
    "a longer key": (changed("blind =", "blinds ="), "my.game:6: blind = 's': expected a number"),
    "too many at all": (changed("100 50", "1 " * 11), "my.game:6: blind has 11 values: expected at most 10"),
    "two players": (changed("numPlayers = 2", "numPlayers = 2 3"), "my.game:3: numPlayers has 2 values"),
    "bad and replaced": (changed("blind =", "blind = x\nblind ="), "my.game:6: blind = 'x': expected a number"),
    # Ranges.
    "one player": (changed("numPlayers = 2", "numPlayers = 1"), "my.game:3: numPlayers = 1: expected 2 to 10"),
    "no player": (changed("numPlayers = 2", "numPlayers = 0"), "my.game:3: numPlayers = 0: expected 2 to 10"),
    "11 players": (changed("numPlayers = 2", "numPlayers = 11"), "my.game:3: numPlayers = 11: expected 2 to 10"),
    "no round": (changed("numRounds = 4", "numRounds = 0"), "my.game:4: numRounds = 0: expected 1 to 4"),
    "5 rounds": (changed("numRounds = 4", "numRounds = 5"), "my.game:4: numRounds = 5: expected 1 to 4"),
    "no suit": (changed("numSuits = 4", "numSuits = 0"), "my.game:8: numSuits = 0: expected 1 to 4"),
    "5 suits": (changed("numSuits = 4", "numSuits = 5"), "my.game:8: numSuits = 5: expected 1 to 4"),
    "14 ranks": (changed("numRanks = 13", "numRanks = 14"), "my.game:9: numRanks = 14: expected 1 to 13"),
    "no hole cards": (changed("HoleCards = 2", "HoleCards = 0"), "my.game:10: numHoleCards = 0: expected 1 to 3"),
    "4 hole cards": (changed("HoleCards = 2", "HoleCards = 4"), "my.game:10: numHoleCards = 4: expected 1 to 3"),
    # Lists.
    "a blind missing": (changed("100 50", "100"), "my.game:6: blind has 1 values: expected 2"),
    "a stack missing": (changed("20000 20000", "20000"), "my.game:5: stack has 1 values: expected 2"),
    "a first player missing": (changed("2 1 1 1", "2 1 1"), "my.game:7: firstPlayer has 3 values: expected 4"),
    "a board missing": (changed("0 3 1 1", "0 3 1"), "my.game:11: numBoardCards has 3 values: expected 4"),
    "no raise size": (changed("nolimit", "limit"), "my.game: raiseSize has 0 values: expected 4"),
    "a raise size missing": (
        changed("nolimit", "limit\nraiseSize = 1 1 1"),
        "my.game:3: raiseSize has 3 values: expected 4",
    ),
    "no raise at all": (
        changed("nolimit", "limit\nraiseSize = 1 0 1 1"),
        "my.game:3: raiseSize = 0: expected at least one chip",
    ),
    "maxRaises missing": (
        changed("nolimit", "nolimit\nmaxRaises = 1"),
        "my.game:3: maxRaises has 1 values: expected 4",
    ),
    # Players and chips.
    "first player 0": (changed("2 1 1 1", "2 0 1 1"), "my.game:7: firstPlayer = 0: expected 1 to 2"),
    "first player 3": (changed("2 1 1 1", "2 1 3 1"), "my.game:7: firstPlayer = 3: expected 1 to 2"),
    "no stack": (changed("20000 20000", "20000 0"), "my.game:5: stack = 0 for player 2: expected 1 to 2147483647"),
    "blind above stack": (
        changed("20000 20000", "20000 49"),
        "my.game:6: blind = 50 for player 2: expected at most the stack, 49",
    ),
    "all all-in": (changed("20000 20000", "100 50"), "my.game: the blinds put every player all-in"),
    # Cards.
    "more cards than the deck": (
        changed("numRanks = 13", "numRanks = 2"),
        "my.game: a hand needs 9 cards, but numSuits × numRanks make a deck of 8",
    ),
    "more cards than a hand": (
        changed("0 3 1 1", "0 3 2 1"),
        "my.game:10: numHoleCards and numBoardCards make hands of 8 cards: expected at most 7",
    ),
    # Bounds.
    "too long": (GOOD + "#" * 65_536, "characters: expected a game definition of at most 65536"),
}


@pytest.mark.parametrize(("text", "reason"), BAD.values(), ids=BAD)
def test_bad_definitions_are_refused_with_place_and_value(text: str, reason: str) -> None:
    with pytest.raises(GameError) as caught:
        parse_game(text, "my.game")
    assert reason in str(caught.value)
    assert str(caught.value).startswith("my.game:")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert isinstance(caught.value, ConfigError)


@pytest.mark.parametrize("key", ["numPlayers", "numRounds", "numSuits", "numRanks", "numHoleCards", "numBoardCards"])
def test_huge_counts_cost_no_memory(key: str) -> None:
    """A count is refused before anything of its size is made: 2,147,483,647 rounds would take 17 GB."""
    lines = [f"{key} = 3000000" if line.startswith(key) else line for line in GOOD.splitlines()]
    tracemalloc.start()
    try:
        with pytest.raises(GameError, match=f"my.game:[0-9]+: {key}.*|my.game: a hand needs"):
            parse_game("\n".join(lines), "my.game")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


# --- Files ----------------------------------------------------------------------------------------------------------


def test_a_file_is_found_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.game"
    path.write_text(GOOD)
    assert load_game(str(path)).game.name == "mine"
    assert find_game("leduc") == find_game("leduc.game") == shipped_games()["leduc"]
    assert find_game("other") == Path("other")


def test_a_file_here_comes_before_a_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("leduc.game").write_text(GOOD)
    assert load_game("leduc.game").game.num_rounds == 4
    assert load_game("leduc").game.num_rounds == 2


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary.game"
    binary.write_bytes(b"\xff\xfe\x00")
    for name, reason in (
        (str(tmp_path / "none.game"), "No such file or directory: expected a .game file or one of holdem.limit.2p"),
        (str(tmp_path), "Is a directory"),
        (str(binary), "not a text file"),
        ("", "expected a .game file"),
    ):
        with pytest.raises(GameError) as caught:
            load_game(name)
        assert str(caught.value).startswith(f"{name}: ")
        assert reason in str(caught.value)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "\udc80"])
def test_names_that_cannot_be_files_are_refused_too(name: str) -> None:
    """The name may come from the header of a log."""
    with pytest.raises(ParatusError):
        load_game(name)


# --- Round trips ----------------------------------------------------------------------------------------------------


def test_random_games_round_trip() -> None:
    seen = set()
    for seed in range(1_500):
        game = random_game(Random(seed))
        parsed = parse_game(game_text(game), "random")
        assert parsed.game == game, seed
        assert parsed.warnings == ()
        assert game_text(parsed.game) == game_text(game)
        seen.add((game.no_limit, game.num_players, game.num_rounds))
    assert len(seen) > 40
    assert {players for _, players, _ in seen} >= {2, MAX_PLAYERS}


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["lower", "upper", "swapcase"]), st.sampled_from(["=", " "]))
def test_random_games_round_trip_however_they_are_spelled(rng: Random, case: str, equals: str) -> None:
    game = random_game(rng)
    text = getattr(game_text(game), case)().replace("=", equals)
    assert parse_game(text, "random").game == game
