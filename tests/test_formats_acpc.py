"""ACPC logs as sessions: the reference dealer's and random ones both ways, and every kind of damage."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from played_hands import random_session, records
from random_play import Match, play_match, random_game
from records import DATA, RECORDS

from dealer_tools.formats.acpc import log_text, read_log, write_log
from dealer_tools.formats.reading import FormatError
from machine.errors import ParatusError
from protocol.game import game_text, load_game
from protocol.log import state_line

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
NL2P = (DATA / "nl2p.log").read_text()
LINES = NL2P.splitlines()


def read(tmp_path: Path, text: str | bytes, game=HOLDEM):
    path = tmp_path / "match.log"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_log(path, game)


def attempt(tmp_path: Path, data: str | bytes):
    """The session, or why there is none."""
    try:
        return read(tmp_path, data)
    except ParatusError as error:
        return str(error)


def reasons(session) -> list[str]:
    return [f"{refused.where.rpartition(':')[2]}: {refused.reason}" for refused in session.refused]


def changed(line: int, old: str, new: str) -> str:
    """The reference log with something else on one line, counted from 1."""
    lines = list(LINES)
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return "\n".join(lines) + "\n"


# --- Whole logs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDS)
def test_logs_of_the_reference_dealer(name, tmp_path):
    path = DATA / f"{name}.log"
    session = read_log(path)
    assert len(session.hands) == RECORDS[name]
    assert session.refused == ()
    assert session.notes == ()
    assert "|".join(session.players) == path.read_text().rstrip().rpartition(":")[2]
    assert session.hands[7].where == f"{path}:12"
    lines = path.read_text().splitlines()
    assert [state_line(record) for record in records(session)] == lines[4:-1]
    assert read_log(path, session.game) == session
    written = tmp_path / "again.log"
    write_log(written, session, name)
    assert written.read_text().splitlines()[4:] == lines[4:]


@pytest.mark.parametrize("seed", range(60))
def test_random_sessions_both_ways(seed, tmp_path):
    rng = Random(seed)
    game = HOLDEM if seed % 2 else random_game(rng)
    players = tuple(f"bot{seat}" for seat in range(game.num_players))
    session = random_session(rng, game, 50, players)
    text = log_text(session)
    again = read(tmp_path, text, game)
    assert (again.refused, again.notes, again.players) == ((), (), players)
    for one, other in zip(records(session), records(again), strict=True):
        assert (one.state, one.deal, one.names) == (other.state, other.deal, other.names)
        assert other.values == pytest.approx(one.values, abs=6e-7)
    assert log_text(again).splitlines()[:-1] == text.splitlines()[:-1]  # the score's last decimal may be rounded


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_matches_of_our_dealer(seed, fixed, tmp_path):
    rng = Random(seed)
    game = random_game(rng)
    match = Match(game, hands=20, seed=seed, fixed=fixed)
    play_match(rng, match)
    session = read(tmp_path, "\n".join([*match.header.lines(), *match.log, ""]), game)
    assert len(session.hands) == 20
    assert session.players == match.names
    assert session.refused == ()
    assert len(session.notes) == fixed
    assert log_text(session).splitlines()[4:] == match.log


def test_the_game_is_found(tmp_path):
    path = tmp_path / "match.log"
    path.write_text(
        "\n".join([LINES[0].replace("holdem.nolimit.2p.reverse_blinds.game", "match.game"), *LINES[1:], ""])
    )
    with pytest.raises(FormatError, match=r"match\.log: game 'match\.game' of the header: .*expected a \.game file"):
        read_log(path)
    (tmp_path / "match.game").write_text(game_text(HOLDEM).replace("stack", "unknown = 1\nstack"))
    session = read_log(path)
    assert session.game.name == "match"
    assert len(session.hands) == 300
    assert len(session.notes) == 1  # the unknown key
    (tmp_path / "match.game").write_text(game_text(HOLDEM).replace("20000 20000", "30000 30000"))
    assert len(read_log(path).hands) < 300  # all-in calls are none any more
    path.write_text("\n".join(LINES[4:]))
    with pytest.raises(FormatError, match="no line # name/game/hands/seed that names the game"):
        read_log(path)


@pytest.mark.parametrize("name", ["x" * 300, "...game", "nowhere/leduc", "é"])
def test_games_of_headers_are_names_not_paths(name, tmp_path):
    path = tmp_path / "match.log"
    path.write_text(f"# name/game/hands/seed m {name} 300 1\n" + "\n".join(LINES[1:]))
    if name == "nowhere/leduc":
        assert read_log(path).game == load_game("leduc").game
    else:
        with pytest.raises(FormatError, match=r"match\.log: game .* of the header"):
            read_log(path)


def test_windows_ends_comments_and_blank_lines(tmp_path):
    plain = read(tmp_path, NL2P)
    assert records(read(tmp_path, NL2P.replace("\n", "\r\n"))) == records(plain)
    assert records(read(tmp_path, NL2P.replace("STATE:7:", "# note\n\n; note\nSTATE:7:"))) == records(plain)


def test_rescored_logs_are_refused(tmp_path):
    rescored = DATA / "nl2p.all_in_expectation.log"
    with pytest.raises(FormatError, match=r"log:1: hand 0: the values -14545\.454545\|14545\.454545 are all-in expect"):
        read_log(rescored, HOLDEM)
    with pytest.raises(
        FormatError, match="all-in expectations, not what was won: expected the log as the dealer wrote"
    ):
        read(tmp_path, "\n".join([*LINES[:4], *rescored.read_text().splitlines(), ""]))


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / "none.log", tmp_path / "a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(FormatError, match="expected a file of played hands"):
            read_log(path, HOLDEM)


# --- Damage ---------------------------------------------------------------------------------------------------------


def test_a_malformed_line_costs_its_hand(tmp_path):
    session = read(tmp_path, changed(9, "STATE", "STALE"))
    assert len(session.hands) == 299
    assert reasons(session) == [
        f"9: {LINES[8].replace('STATE', 'STALE')!r}: expected STATE:<hand>:<betting>:<cards>:<values>:<names>"
    ]
    assert "the score cannot be checked" in session.notes[-1]


def test_values_that_the_hand_does_not_pay(tmp_path):
    """Cards changed: the score still agrees with the values, the values no longer with the cards."""
    session = read(tmp_path, changed(5, "8s2h|Kd5c", "Kd5c|8s2h"))
    assert len(session.hands) == 299
    assert reasons(session) == ["5: hand 0: the values -20000|20000: expected 20000|-20000, what this hand pays"]
    assert session.notes == ()


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (5, "-20000|20000", "20000|-20000"),
        (7, "100|-100", "101|-101"),
        (-1, "SCORE:", "SCORE:1"),
        (-1, "|", "|1"),
    ],
)
def test_an_edited_result_refuses_the_file(line, old, new, tmp_path):
    place = line % (len(LINES) + 1)
    with pytest.raises(FormatError, match=r"match\.log:305: .*(its hands add up to .*the result was changed|expected)"):
        read(tmp_path, changed(place, old, new))


def test_an_edited_result_is_seen_where_both_places_are_edited(tmp_path):
    values = LINES[-1].split(":")[1].split("|")
    total = float(values[0]) + 40_000, float(values[1]) - 40_000
    edited = changed(5, "-20000|20000", "20000|-20000").replace(LINES[-1], f"SCORE:{total[0]:g}|{total[1]:g}:Alice|Bob")
    session = read(tmp_path, edited)
    assert reasons(session) == ["5: hand 0: the values 20000|-20000: expected -20000|20000, what this hand pays"]


def test_swapped_names(tmp_path):
    session = read(tmp_path, changed(10, "Bob|Alice", "Alice|Bob"))
    assert reasons(session) == ["10: hand 5: names 'Alice|Bob': expected Bob|Alice in these positions"]
    assert len(session.hands) == 299
    assert session.players == ("Alice", "Bob")


def test_strangers(tmp_path):
    session = read(tmp_path, changed(10, "Bob|Alice", "Bob|Mallory"))
    assert reasons(session) == ["10: hand 5: 'Mallory' does not play in this match: expected Bob|Alice"]
    with pytest.raises(FormatError, match=r"the score names 'Bob\|Alice': expected the players in the order of their"):
        read(tmp_path, changed(305, "Alice|Bob", "Bob|Alice"))


def test_names_that_rotate_do_not_need_the_score_or_the_first_hands(tmp_path):
    session = read(tmp_path, "\n".join([*LINES[:4], *LINES[7:-1], ""]))
    assert session.players == ("Alice", "Bob")
    assert len(session.hands) == 297
    assert [note.partition(": ")[2] for note in session.notes] == [
        "3 hands are missing: 0-2",
        "no SCORE line: the match was not finished, or the log is cut",
    ]


def test_repeats_count_once(tmp_path):
    text = "\n".join([*LINES[:8], LINES[7], *LINES[8:20], *LINES[10:12], *LINES[20:], ""])
    session = read(tmp_path, text)
    assert records(session) == records(read_log(DATA / "nl2p.log"))
    assert session.refused == ()
    assert session.notes == (f"{tmp_path}/match.log:9: hand 3 once more, exactly as before (and 2 more): counted once",)


def test_two_hands_of_one_number_are_both_refused(tmp_path):
    session = read(tmp_path, changed(12, "STATE:7:", "STATE:8:"))
    assert len(session.hands) == 298
    assert reasons(session) == [
        f"12: hand 8 is another one at {tmp_path}/match.log:13: neither is counted",
        f"13: hand 8 is another one at {tmp_path}/match.log:12: neither is counted",
    ]
    assert any("1 hands are missing: 7" in note for note in session.notes)


def test_gaps(tmp_path):
    lines = [line for number, line in enumerate(LINES) if number not in (4, 9, 10, 50, 70, 90, 110, 303)]
    session = read(tmp_path, "\n".join([*lines, ""]))
    assert len(session.hands) == 292
    assert session.notes[0].endswith("8 hands are missing: 0, 5-6, 46, 66, 86 and 2 more gaps")
    assert "the score cannot be checked" in session.notes[1]


def test_more_hands_than_the_match_has(tmp_path):
    session = read(
        tmp_path,
        NL2P.replace(
            "hands/seed nl2p holdem.nolimit.2p.reverse_blinds.game 300",
            "hands/seed nl2p holdem.nolimit.2p.reverse_blinds.game 299",
        ),
    )
    assert reasons(session) == ["304: hand 299: expected 0 to 298, since the match has 299 hands"]


def test_two_matches_in_one_file(tmp_path):
    assert len(read(tmp_path, NL2P + NL2P).hands) == 300
    other = NL2P.replace(" 300 1\n", " 300 2\n", 1)
    with pytest.raises(FormatError, match=r"match\.log:306: a second header, unlike the first: expected one match"):
        read(tmp_path, NL2P + other)
    with pytest.raises(FormatError, match=r"match\.log:306: .* a second score, unlike the first"):
        read(tmp_path, NL2P + LINES[-1].replace("SCORE:", "SCORE:1") + "\n")


def test_headers_are_read_strictly(tmp_path):
    with pytest.raises(FormatError, match=r"match\.log:1: .*expected # name/game/hands/seed"):
        read(tmp_path, NL2P.replace(" 300 1\n", " three 1\n", 1))
    with pytest.raises(FormatError, match="expected #--t_response"):
        read(tmp_path, NL2P.replace("#--t_hand", "#--t_hund", 1))


def test_empty_logs(tmp_path):
    for text in ("", "\n", "# comment\n"):
        session = read(tmp_path, text)
        assert (session.hands, session.players, session.refused) == ((), (), ())
        assert len(session.notes) == 1
    assert read(tmp_path, "SCORE:0|0:A|B\n").players == ("A", "B")


def test_bytes_that_are_no_text(tmp_path):
    session = read(tmp_path, NL2P.encode().replace(b"Bob|Alice", b"B\xffb|Alice", 1))
    assert len(session.hands) == 299
    assert "bytes that are no UTF-8" in reasons(session)[0]


SHORT = "\n".join([*LINES[:16], ""]).replace(" 300 1", " 12 1", 1)


def test_a_log_cut_anywhere(tmp_path):
    """Every prefix: whole lines count, half a line is refused with its number, and nothing else happens."""
    session = read(tmp_path, SHORT)
    assert len(session.hands) == 12
    ends = [end for end, character in enumerate(SHORT) if character == "\n"]
    for length in range(len(SHORT)):
        text = SHORT[:length]
        cut = attempt(tmp_path, text)
        if isinstance(cut, str):
            assert length < ends[3], cut  # in the header
            continue
        whole = sum(end < length for end in ends[4:])
        assert len(cut.hands) == whole
        assert any("no SCORE line" in note for note in cut.notes)
        half = length > ends[3] + 1 and text[-1] != "\n" and length - 1 <= ends[15] and whole < 12
        assert len(cut.refused) == half
        if half:
            assert "the file ends in the middle of this line: expected a line end" in cut.refused[0].reason


@pytest.mark.parametrize("seed", range(8))
def test_damaged_bytes(seed, tmp_path):
    """A byte changed, lost, doubled or swapped: hands are refused or the file is, and what is taken was written."""
    rng, scored = Random(seed), "\n".join([*LINES[:34], ""]).replace(" 300 1", " 30 1", 1)
    totals = [0.0, 0.0]
    for hand, line in enumerate(scored.splitlines()[4:]):
        for position, value in enumerate(line.split(":")[4].split("|")):
            totals[(position + hand) % 2] += float(value)
    data = f"{scored}SCORE:{totals[0]:g}|{totals[1]:g}:Alice|Bob\n".encode()
    originals = {record.hand: record for record in records(read(tmp_path, data))}
    assert len(originals) == 30
    seen = {"file": 0, "hand": 0, "nothing": 0}
    for _ in range(250):
        session = attempt(tmp_path, damage(rng, data))
        if isinstance(session, str):
            seen["file"] += 1
            assert re.match(rf"{tmp_path}/match\.log(:\d+)?: ", session)
            assert "\n" not in session
            continue
        seen["hand" if session.refused else "nothing"] += 1
        for refused in session.refused:
            assert re.fullmatch(rf"{tmp_path}/match\.log:\d+", refused.where)
            assert "\n" not in refused.reason
        for record in records(session):
            assert record.values == originals[record.hand].values
            assert record.names == originals[record.hand].names
    assert min(seen["file"], seen["hand"]) > 10


def damage(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    match rng.randrange(5):
        case 0:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at] + data[at + rng.randint(1, 3) :]
        case 2:
            return data[:at] + bytes([rng.randrange(256)]) + data[at:]
        case 3:
            return data[:at] + data[at : at + 5] * 2 + data[at + 5 :]
        case _:
            return data[:at] + data[at + 1 : at + 2] + data[at : at + 1] + data[at + 2 :]


def test_what_a_log_cannot_hold_is_not_written(tmp_path):
    session = read_log(DATA / "nl2p.log")
    hand = session.hands[0]
    unknown = replace(hand, record=replace(hand.record, deal=hand.record.deal._replace(hole=((), (1, 2)))))
    with pytest.raises(FormatError, match="hole cards are unknown: a log shows those of all players: not written"):
        write_log(tmp_path / "x.log", replace(session, hands=(unknown,)))
    shifted = replace(
        session,
        hands=(
            *session.hands[:4],
            *session.hands[5:7],
            replace(hand, record=replace(session.hands[7].record, names=("Alice", "Bob"))),
        ),
    )
    with pytest.raises(FormatError, match=r"hand 7: names 'Alice\|Bob': expected Bob\|Alice"):
        write_log(tmp_path / "x.log", shifted)
    assert not (tmp_path / "x.log").exists()
    with pytest.raises(FormatError, match="cannot be written"):
        write_log(tmp_path / "none" / "x.log", session)


def test_sessions_without_hands_and_names_that_no_log_can_hold(tmp_path):
    session = replace(read_log(DATA / "nl2p.log"), hands=())
    again = read(tmp_path, log_text(session))
    assert (again.hands, again.players, again.refused, again.notes) == ((), ("Alice", "Bob"), (), ())
    for name in ("a:b", "a|b", "a\nb", ""):
        with pytest.raises(FormatError, match="expected printable characters without : and"):
            log_text(random_session(Random(1), HOLDEM, 3, ("Alice", name)))


def test_players_of_one_name_are_told(tmp_path):
    session = read(tmp_path, log_text(random_session(Random(1), HOLDEM, 4, ("Bob", "Bob"))))
    assert len(session.hands) == 4
    assert session.notes[0].endswith("players Bob|Bob: two have one name, and nothing else tells them apart")
