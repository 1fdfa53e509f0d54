"""Logs: every line of random matches round trips, everything else is refused with its reason."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from random_play import Match, play_match, random_game, random_hand

from protocol.game import load_game
from protocol.log import (
    HandRecord,
    Limits,
    LogError,
    MatchHeader,
    MatchScore,
    Transaction,
    clock_text,
    parse_header,
    parse_score_line,
    parse_state_line,
    parse_transaction,
    score_line,
    state_line,
    transaction_line,
    value_text,
    values_text,
)
from protocol.state import CALL, FOLD, Raise, apply, payoffs, start
from protocol.wire import read_betting

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
THREE = load_game("holdem.nolimit.3p").game
LEDUC = load_game("leduc").game


# --- Round trips ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(150))
def test_finished_hands_round_trip(seed: int) -> None:
    """Cards, betting, names exactly; values to the six decimals that are written."""
    rng = Random(seed)
    game = random_game(rng)
    played = random_hand(rng, game)
    last = played.states[-1]
    deal = played.deal._replace(board=played.deal.board[: game.board_cards_by(last.street)])
    names = tuple(rng.choice(("Alice", "Bob", "a", "bot-7_é", "with blank")) for _ in range(game.num_players))
    written = HandRecord(rng.randrange(10**6), last, deal, payoffs(last, played.deal), names)
    line = state_line(written)
    read = parse_state_line(line, game)
    assert read.values == pytest.approx(written.values, abs=5e-7)
    assert replace(read, values=written.values) == written
    assert state_line(read) == line


@pytest.mark.parametrize("seed", range(40))
def test_whole_logs_round_trip(seed: int) -> None:
    """Every line that a match of ours writes: hands, score and transactions."""
    rng = Random(seed)
    game = random_game(rng)
    match = Match(game, hands=6, seed=seed)
    play_match(rng, match)
    assert len(match.log) == 7
    totals = dict.fromkeys(match.names, 0.0)
    for line in match.log[:-1]:
        record = parse_state_line(line, game)
        assert state_line(record) == line
        for name, value in zip(record.names, record.values, strict=True):
            totals[name] += value
    score = parse_score_line(match.log[-1])
    assert score_line(score) == match.log[-1]
    assert score.names == match.names
    assert score.values == pytest.approx(tuple(totals.values()), abs=1e-4)
    state, taken = start(game), 0
    for line in match.transactions:
        transaction = parse_transaction(line, state)
        assert transaction_line(transaction, game) == line
        assert transaction.sent_us <= transaction.received_us
        state, taken = apply(state, transaction.action), taken + 1
        if state.finished:
            state = start(game)
    assert taken >= 6
    assert state is start(game)


def test_headers_round_trip() -> None:
    for header in (
        MatchHeader("nl2p", "holdem.nolimit.2p.reverse_blinds.game", 300, 1, Limits()),
        MatchHeader("some/where/m", "/some/where/leduc.game", 0, 0, Limits(1, 2, 3)),
        MatchHeader("é", "x", 4_294_967_295, 4_294_967_295, Limits(0, 999_999_999_999_999, 0)),
        MatchHeader("1", "5", 6, 7, Limits()),
    ):
        assert parse_header(header.lines()) == header
        assert parse_header([*header.lines(), "STATE:", ""]) == header


@pytest.mark.parametrize("text", ["", " ", "two words", "m ", "a\nb", "tab\t", "\x07", "a\u00a0b", "\u2028", "\udcff"])
@pytest.mark.parametrize("field", ["name", "game"])
def test_names_that_would_make_a_header_ambiguous_are_refused(field: str, text: str) -> None:
    what = {"name": "name of the match", "game": "game"}[field]
    with pytest.raises(LogError) as caught:
        MatchHeader(**{"name": "m", "game": "g", field: text}, hands=1, seed=0, limits=Limits())
    assert str(caught.value) == f"{what} {text!r}: expected printable characters without blanks"


def test_header_is_written_as_the_reference_does() -> None:
    assert MatchHeader("nl3p", "holdem.nolimit.3p.game", 200, 3, Limits()).lines() == [
        "# name/game/hands/seed nl3p holdem.nolimit.3p.game 200 3",
        "#--t_response 600000",
        "#--t_hand 600000",
        "#--t_per_hand 7000",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (100.0, "100"),
        (-20_000.0, "-20000"),
        (88_615.5, "88615.5"),
        (1 / 3, "0.333333"),
        (-200 / 3, "-66.666667"),
        (0.000001, "0.000001"),
        (1000000.0, "1000000"),
        (10.0, "10"),
        (1135.183939, "1135.183939"),
        (2.0**31, "2147483648"),
    ],
)
def test_values_are_trimmed(value: float, text: str) -> None:
    assert value_text(value) == text
    assert values_text((value, -1.0)) == f"{text}|-1"
    line = f"SCORE:{text}|0:A|B"
    assert score_line(parse_score_line(line)) == line


def test_clocks_are_exact() -> None:
    assert clock_text(0) == "0.000000"
    assert clock_text(1) == "0.000001"
    assert clock_text(1_795_002_385_445_799) == "1795002385.445799"
    line = "c 0 1795002385.445799 1795002385.000001"
    assert parse_transaction(line, start(HOLDEM)) == Transaction(CALL, 0, 1_795_002_385_445_799, 1_795_002_385_000_001)
    assert parse_transaction("r300 7 0.000000 999999999999.999999", start(HOLDEM)).action == Raise(300)
    assert parse_transaction("f 7 0.000000 0.000000", start(HOLDEM)).action == FOLD


def test_values_are_taken_as_written() -> None:
    """A scorer may have put expectations in place of what was won."""
    line = "STATE:0:r20000c///:5d5c|9hQd/8dAs8s/4h/6d:1135.183939|-1135.183939:Alice|Bob"
    record = parse_state_line(line, HOLDEM)
    assert record.values == (1135.183939, -1135.183939)
    assert state_line(record) == line


# --- Refusals -------------------------------------------------------------------------------------------------------

STATE_FORM = "expected STATE:<hand>:<betting>:<cards>:<values>:<names>"
VALUE_FORM = "expected a number with at most six decimals"

BAD_STATES = {
    "": STATE_FORM,
    "STATE": STATE_FORM,
    "STATE:0:f:3c4d|9d6c:-1|1": STATE_FORM,
    "STATE:0:f:3c4d|9d6c:-1|1:A|B:": STATE_FORM,
    "state:0:f:3c4d|9d6c:50|-50:A|B": STATE_FORM,
    " STATE:0:f:3c4d|9d6c:50|-50:A|B": STATE_FORM,
    "STATE:00:f:3c4d|9d6c:50|-50:A|B": STATE_FORM,
    "STATE:-1:f:3c4d|9d6c:50|-50:A|B": STATE_FORM,
    "STATE:x:f:3c4d|9d6c:50|-50:A|B": STATE_FORM,
    "STATE:12345678901:f:3c4d|9d6c:50|-50:A|B": STATE_FORM,
    "STATE:0::3c4d|9d6c:50|-50:A|B": "the hand is not over",
    "STATE:0:r300:3c4d|9d6c:50|-50:A|B": "the hand is not over",
    "STATE:0:cc/:3c4d|9d6c/6d7hAs:50|-50:A|B": "the hand is not over",
    "STATE:0:F:3c4d|9d6c:50|-50:A|B": "betting 'F' at character 0: expected f, c or r",
    "STATE:0:f :3c4d|9d6c:50|-50:A|B": "betting 'f ' at character 1",
    "STATE:0:r100f:3c4d|9d6c:50|-50:A|B": "illegal raise to 100",
    "STATE:0:f:3c4d:50|-50:A|B": "expected 2 hands of hole cards",
    "STATE:0:f:3c4d|9d6c|:50|-50:A|B": "expected 2 hands of hole cards",
    "STATE:0:f:3c4d|9d6c/:50|-50:A|B": "expected a board of 0 cards",
    "STATE:0:f:3c4d|9d3c:50|-50:A|B": "the same card twice",
    "STATE:0:f:3c4d|9d6:50|-50:A|B": "does not spell cards",
    "STATE:0:f:3c4d|9d6x:50|-50:A|B": "'6x' is not a card",
    "STATE:0:r20000c///:3c4d|9d6c/6d7hAs/Ks:1|-1:A|B": "expected a board of 0/3/1/1 cards",
    "STATE:0:r20000c///:3c4d|9d6c/6d7hAs/Ks/:1|-1:A|B": "expected a board of 0/3/1/1 cards",
    "STATE:0:r20000c///:3c4d|9d6c/6d7hAsKsTd:1|-1:A|B": "expected a board of 0/3/1/1 cards",
    # A log shows every hand: without them nobody could say who won.
    "STATE:0:r20000c///:3c4d|/6d7hAs/Ks/Td:1|-1:A|B": "hole cards",
    "STATE:0:r20000c///:|9d6c/6d7hAs/Ks/Td:1|-1:A|B": "hole cards",
    "STATE:0:r20000c///:|/6d7hAs/Ks/Td:1|-1:A|B": "hole cards",
    "STATE:0:f:3c4d|:50|-50:A|B": "hole cards",
    "STATE:0:f:3c4d|9d6c::A|B": "1 values but 2 names",
    "STATE:0:f:3c4d|9d6c:50:A|B": "1 values but 2 names",
    "STATE:0:f:3c4d|9d6c:50|-50|0:A|B": "3 values but 2 names",
    "STATE:0:f:3c4d|9d6c:50|-50:A": "2 values but 1 names",
    "STATE:0:f:3c4d|9d6c:50|-50|0:A|B|C": "expected 2 names",
    "STATE:0:f:3c4d|9d6c:50:A": "expected 2 names",
    "STATE:0:f:3c4d|9d6c:50|-50:A|": "an empty name",
    "STATE:0:f:3c4d|9d6c:50|:A|B": f"value '': {VALUE_FORM}",
}

BAD_VALUES = [
    *("", "-", "+1", "01", "-01", "00", "1.", "1.0", "1.50", ".5", "0.0", "1.1234567", "1e5", "nan", "inf", "0x10"),
    *(" 1", "1 ", "1,000", "1_000", "--1", "१", "12345678901234567", "1\n"),
]


@pytest.mark.parametrize("line", BAD_STATES)
def test_refused_state_lines(line: str) -> None:
    with pytest.raises(LogError) as caught:
        parse_state_line(line, HOLDEM)
    assert BAD_STATES[line] in str(caught.value)
    assert repr(line) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", BAD_VALUES)
def test_refused_values(value: str) -> None:
    with pytest.raises(LogError, match="expected a number with at most six decimals"):
        parse_score_line(f"SCORE:0|{value}:A|B")
    with pytest.raises(LogError, match="expected a number with at most six decimals"):
        parse_state_line(f"STATE:0:f:3c4d|9d6c:50|{value}:A|B", HOLDEM)


@pytest.mark.parametrize("value", ["9999999999999999", "1234567890123456.123456", "-4611686018427387.904001"])
def test_values_are_refused_or_kept_to_the_last_digit(value: str) -> None:
    """Sixteen digits and six decimals do not fit a float: what is accepted must be written back the same."""
    line = f"SCORE:{value}|0:A|B"
    try:
        score = parse_score_line(line)
    except LogError:
        return
    assert score_line(score) == line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "expected SCORE:<values>:<names>"),
        ("SCORE", "expected SCORE:<values>:<names>"),
        ("SCORE:1|-1", "expected SCORE:<values>:<names>"),
        ("SCORE:1|-1:A|B:", "expected SCORE:<values>:<names>"),
        ("score:1|-1:A|B", "expected SCORE:<values>:<names>"),
        ("SCORE: 1|-1:A|B", VALUE_FORM),
        ("SCORE:1|-1:A", "2 values but 1 names"),
        ("SCORE:1:A|B", "1 values but 2 names"),
        ("SCORE::", VALUE_FORM),
        ("SCORE:1|-1:|B", "an empty name"),
        ("SCORE:1|-1:A|", "an empty name"),
    ],
)
def test_refused_score_lines(line: str, reason: str) -> None:
    with pytest.raises(LogError) as caught:
        parse_score_line(line)
    assert reason in str(caught.value)
    assert repr(line) in str(caught.value)


GOOD_HEADER = MatchHeader("m", "leduc.game", 10, 7, Limits()).lines()
HEADER_FORM = "expected # name/game/hands/seed <name> <game> <n> <seed>"
LIMIT_FORM = "expected #--t_response, #--t_hand"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], HEADER_FORM),
        ([""], HEADER_FORM),
        (["# name/game/hands/seed m leduc.game 10", *GOOD_HEADER[1:]], HEADER_FORM),
        (["# name/game/hands/seed  leduc.game 10 7", *GOOD_HEADER[1:]], HEADER_FORM),
        (["# name/game/hands/seed m leduc.game 10 7 ", *GOOD_HEADER[1:]], HEADER_FORM),
        (["# name/game/hands/seed m leduc.game ten 7", *GOOD_HEADER[1:]], HEADER_FORM),
        (["# name/game/hands/seed m leduc.game -10 7", *GOOD_HEADER[1:]], HEADER_FORM),
        (["# name/game/hands/seed m leduc.game 10 -7", *GOOD_HEADER[1:]], HEADER_FORM),
        (["# name/game/hands/seed m leduc.game 10 99999999999", *GOOD_HEADER[1:]], HEADER_FORM),
        (["#name/game/hands/seed m leduc.game 10 7", *GOOD_HEADER[1:]], HEADER_FORM),
        (["# name/game/hands/seed my match leduc.game 10 7", *GOOD_HEADER[1:]], HEADER_FORM),
        (["# name/game/hands/seed m m leduc.game 10 10 7", *GOOD_HEADER[1:]], HEADER_FORM),
        (["# name/game/hands/seed m\x07 leduc.game 10 7", *GOOD_HEADER[1:]], "name of the match 'm\\x07': expected"),
        (GOOD_HEADER[1:], HEADER_FORM),
        (GOOD_HEADER[:1], "the header ends early"),
        (GOOD_HEADER[:3], "the header ends early"),
        ([GOOD_HEADER[0], GOOD_HEADER[1], GOOD_HEADER[1], GOOD_HEADER[2]], "#--t_response"),
        ([*GOOD_HEADER[:3], "STATE:0:"], LIMIT_FORM),
        ([*GOOD_HEADER[:3], "#--t_per_hand"], LIMIT_FORM),
        ([*GOOD_HEADER[:3], "#--t_per_hand 7 "], LIMIT_FORM),
        ([*GOOD_HEADER[:3], "#--t_per_hand -7"], LIMIT_FORM),
        ([*GOOD_HEADER[:3], "#--t_per_hand 7.5"], LIMIT_FORM),
        ([*GOOD_HEADER[:3], "#--start_timeout 7"], LIMIT_FORM),
        ([*GOOD_HEADER[:3], "#--t_per_hand " + "9" * 5000], LIMIT_FORM),
    ],
)
def test_refused_headers(lines: list[str], reason: str) -> None:
    with pytest.raises(LogError) as caught:
        parse_header(lines)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "lines",
    [
        ["# name/game/hands/seed m leduc.game 010 7", *GOOD_HEADER[1:]],
        ["# name/game/hands/seed m leduc.game 10 007", *GOOD_HEADER[1:]],
        [*GOOD_HEADER[:3], "#--t_per_hand 07000"],
        [GOOD_HEADER[0], GOOD_HEADER[2], GOOD_HEADER[1], GOOD_HEADER[3]],
    ],
    ids=["hands", "seed", "limit", "order"],
)
def test_a_header_has_one_spelling(lines: list[str]) -> None:
    with pytest.raises(LogError):
        parse_header(lines)


def test_a_header_names_only_seeds_that_can_be_dealt() -> None:
    """Seeds are 32 bits: what the header accepts, the cards can be dealt from."""
    with pytest.raises(LogError):
        parse_header(["# name/game/hands/seed m leduc.game 10 4294967296", *GOOD_HEADER[1:]])


TRANSACTION_FORM = "expected <action> <hand> <sent> <received>"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", TRANSACTION_FORM),
        ("c 0 1.000000", TRANSACTION_FORM),
        ("c 0 1.000000 1.000000 ", TRANSACTION_FORM),
        (" c 0 1.000000 1.000000", TRANSACTION_FORM),
        ("c  0 1.000000 1.000000", TRANSACTION_FORM),
        ("c 0 1.0 1.000000", TRANSACTION_FORM),
        ("c 0 1.0000000 1.000000", TRANSACTION_FORM),
        ("c 0 1 1.000000", TRANSACTION_FORM),
        ("c 0 -1.000000 1.000000", TRANSACTION_FORM),
        ("c -1 1.000000 1.000000", TRANSACTION_FORM),
        ("c 0 1.000000 1.000000\n", TRANSACTION_FORM),
        ("c 0 9999999999999.000000 1.000000", TRANSACTION_FORM),
        ("r99999999999 0 1.000000 1.000000", TRANSACTION_FORM),
        ("x 0 1.000000 1.000000", "action 'x': expected f, c or r"),
        ("C 0 1.000000 1.000000", "action 'C': expected f, c or r"),
        ("r 0 1.000000 1.000000", "a raise in a no-limit game needs a size"),
        ("r0300 0 1.000000 1.000000", "expected f, c or r"),
        ("r199 0 1.000000 1.000000", "illegal raise to 199: expected a raise to 200-20000"),
        ("rr 0 1.000000 1.000000", "expected f, c or r"),
    ],
)
def test_refused_transactions(line: str, reason: str) -> None:
    with pytest.raises(LogError) as caught:
        parse_transaction(line, start(HOLDEM))
    assert reason in str(caught.value)
    assert repr(line) in str(caught.value)


@pytest.mark.parametrize("line", ["c 00 1.000000 1.000000", "c 0 01.000000 1.000000", "c 0 1.000000 01.000000"])
def test_a_transaction_has_one_spelling(line: str) -> None:
    with pytest.raises(LogError):
        parse_transaction(line, start(HOLDEM))


def test_transactions_are_checked_against_their_state() -> None:
    folded, checked = read_betting(start(HOLDEM), "f"), read_betting(start(HOLDEM), "cc/")
    with pytest.raises(LogError, match="illegal call: the hand is over"):
        parse_transaction("c 0 1.000000 1.000000", folded)
    with pytest.raises(LogError, match="illegal fold: nothing is owed"):
        parse_transaction("f 0 1.000000 1.000000", checked)


def test_names_and_cards_belong_to_the_game() -> None:
    line = "STATE:0:cc/cc:Qs|Kh/Ah:-100|100:Bob|Alice"
    assert state_line(parse_state_line(line, LEDUC)) == line
    with pytest.raises(LogError, match="a card that is not in this game's deck"):
        parse_state_line(line.replace("Ah", "Ac"), LEDUC)
    with pytest.raises(LogError):
        parse_state_line(line, THREE)
    assert parse_score_line("SCORE:-1|1:B ob|Alice") == MatchScore((-1.0, 1.0), ("B ob", "Alice"))
