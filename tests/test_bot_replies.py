"""The forgiving reader: what the reference dealer makes of replies, case by case; `test_fuzz.py` does the rest."""

from __future__ import annotations

import pytest
from random_play import Match

from protocol.bot_replies import (
    ACTION_CAP,
    BAD_ACTION,
    BAD_STATE,
    INVALID_ACTION,
    UNREQUESTED,
    Answered,
    AskedState,
    Ignored,
    read_reply,
)
from protocol.game import Game, load_game
from protocol.state import CALL, FOLD, Action, Raise, apply, raise_bounds, start
from protocol.wire import VERSION_LINE, parse_match_state

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
LIMIT = load_game("holdem.limit.2p.reverse_blinds").game
THREE = load_game("holdem.nolimit.3p").game


def asked(line: str, game: Game = HOLDEM) -> AskedState:
    seen = parse_match_state(line, game)
    assert seen.acting
    return AskedState(line, seen.position, seen.hand, seen.state, seen.deal)


FIRST = asked("MATCHSTATE:1:31::|9d6c")
"""A call costs 50, raises go to 200-20000."""
BET = asked("MATCHSTATE:0:31:r300:JdTc|")
"""Raises go to 500-20000."""
CHECKED = asked("MATCHSTATE:1:31:cc/c:|9d6c/6d7hAs")
"""Nothing is owed, so no fold."""
ALL_IN = asked("MATCHSTATE:0:31:r20000:JdTc|")
"""No raise: nobody has chips left to call with."""
FIXED = asked("MATCHSTATE:1:31::|9d6c", LIMIT)
FIXED_CAPPED = asked("MATCHSTATE:0:31:rrr:JdTc|", LIMIT)

MEANINGS: list[tuple[AskedState, str, Action, tuple[str, ...]]] = [
    # Letters in either case, two of them other than ours.
    (FIRST, ":c", CALL, ()),
    (FIRST, ":C", CALL, ()),
    (FIRST, ":k", CALL, ()),
    (FIRST, ":K", CALL, ()),
    (FIRST, ":f", FOLD, ()),
    (FIRST, ":F", FOLD, ()),
    (FIRST, ":r300", Raise(300), ()),
    (FIRST, ":R300", Raise(300), ()),
    (FIRST, ":b300", Raise(300), ()),
    (FIRST, ":B300", Raise(300), ()),
    # Numbers as scanf reads them.
    (FIRST, ":r0300", Raise(300), ()),
    (FIRST, ":r+300", Raise(300), ()),
    (FIRST, ":r  300", Raise(300), ()),
    (FIRST, ":r\t\v\f\r+000300", Raise(300), ()),
    (FIRST, ":r300.9", Raise(300), ()),
    (FIRST, ":r300e9", Raise(300), ()),
    (FIRST, ":r", CALL, (BAD_ACTION,)),
    (FIRST, ":r ", CALL, (BAD_ACTION,)),
    (FIRST, ":r+-300", CALL, (BAD_ACTION,)),
    (FIRST, ":r+ 300", CALL, (BAD_ACTION,)),
    (FIRST, ":rx", CALL, (BAD_ACTION,)),
    (FIRST, ":r0x200", Raise(200), ("WARNING: raise of 0 increased to 200",)),
    (FIRST, ":r٣٠٠", CALL, (BAD_ACTION,)),
    # Sizes are moved into the legal range.
    (FIRST, ":r200", Raise(200), ()),
    (FIRST, ":r199", Raise(200), ("WARNING: raise of 199 increased to 200",)),
    (FIRST, ":r0", Raise(200), ("WARNING: raise of 0 increased to 200",)),
    (FIRST, ":r-5", Raise(200), ("WARNING: raise of -5 increased to 200",)),
    (FIRST, ":r20000", Raise(20_000), ()),
    (FIRST, ":r20001", Raise(20_000), ("WARNING: raise of 20001 decreased to 20000",)),
    (BET, ":r499", Raise(500), ("WARNING: raise of 499 increased to 500",)),
    (BET, ":r500", Raise(500), ()),
    # Overflow: 64 bits saturate, then the low 32 are a signed number.
    (FIRST, ":r2147483647", Raise(20_000), ("WARNING: raise of 2147483647 decreased to 20000",)),
    (FIRST, ":r2147483648", Raise(200), ("WARNING: raise of -2147483648 increased to 200",)),
    (FIRST, ":r4294967295", Raise(200), ("WARNING: raise of -1 increased to 200",)),
    (FIRST, ":r4294967596", Raise(300), ()),
    (FIRST, ":r99999999999", Raise(20_000), ("WARNING: raise of 1215752191 decreased to 20000",)),
    (FIRST, ":r-99999999999", Raise(200), ("WARNING: raise of -1215752191 increased to 200",)),
    (FIRST, ":r9223372036854775807", Raise(200), ("WARNING: raise of -1 increased to 200",)),
    (FIRST, ":r9223372036854775808", Raise(200), ("WARNING: raise of -1 increased to 200",)),
    (FIRST, ":r-9223372036854775809", Raise(200), ("WARNING: raise of 0 increased to 200",)),
    (FIRST, ":r" + "9" * 2000, Raise(200), ("WARNING: raise of -1 increased to 200",)),
    # Not an action.
    (FIRST, "", CALL, (BAD_ACTION,)),
    (FIRST, " :c", CALL, (BAD_ACTION,)),
    (FIRST, "c", CALL, (BAD_ACTION,)),
    (FIRST, ";f", CALL, (BAD_ACTION,)),
    (FIRST, ":", CALL, (INVALID_ACTION,)),
    (FIRST, ":x", CALL, (INVALID_ACTION,)),
    (FIRST, ": f", CALL, (INVALID_ACTION,)),
    (FIRST, "::f", CALL, (INVALID_ACTION,)),
    (FIRST, ":\x00", CALL, (INVALID_ACTION,)),
    (FIRST, ":\ufffd", CALL, (INVALID_ACTION,)),
    # What follows the action counts for nothing.
    (FIRST, ":fold", FOLD, ()),
    (FIRST, ":call me", CALL, ()),
    (FIRST, ":c:f", CALL, ()),
    (FIRST, ":r300:f", Raise(300), ()),
    (FIRST, ":r300 and 400", Raise(300), ()),
    (FIRST, ":c" + "x" * 4000, CALL, ()),
    # Illegal actions are calls.
    (CHECKED, ":f", CALL, (INVALID_ACTION,)),
    (CHECKED, ":F", CALL, (INVALID_ACTION,)),
    (CHECKED, ":r200", Raise(200), ()),
    (CHECKED, ":r100", Raise(200), ("WARNING: raise of 100 increased to 200",)),
    (ALL_IN, ":f", FOLD, ()),
    (ALL_IN, ":r20000", CALL, (INVALID_ACTION,)),
    (ALL_IN, ":r40000", CALL, (INVALID_ACTION,)),
    (ALL_IN, ":r", CALL, (BAD_ACTION,)),
    # In a limit game a raise has no size, and what follows the letter is ignored like the rest.
    (FIXED, ":r", Raise(20), ()),
    (FIXED, ":B", Raise(20), ()),
    (FIXED, ":r999999", Raise(20), ()),
    (FIXED, ":rx", Raise(20), ()),
    (FIXED_CAPPED, ":r", CALL, (INVALID_ACTION,)),
    (FIXED_CAPPED, ":f", FOLD, ()),
]


@pytest.mark.parametrize(
    ("question", "answer", "action", "warnings"),
    MEANINGS,
    ids=[f"{i}{row[1][:20]!a}" for i, row in enumerate(MEANINGS)],
)
def test_what_an_answer_means(question: AskedState, answer: str, action: Action, warnings: tuple[str, ...]) -> None:
    assert read_reply(question.text + answer, question) == Answered(action, warnings)
    apply(question.state, action)


FLOP = asked("MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd")
FLOP3 = asked("MATCHSTATE:2:7:r2273cc/cr4000:||3s2h/Ah9d4s", THREE)

SAME_STATE = [
    # Case, zeros, signs and blanks.
    (FLOP, "MATCHSTATE:1:31:R300C/CR600R1200C/C:|9D6C/6D7HaS/kD"),
    (FLOP, "MATCHSTATE:1:31:b300k/kb600b1200k/k:|9d6c/6d7hAs/Kd"),
    (FLOP, "MATCHSTATE:01:0031:r0300c/cr+600r 1200c/c:|9d6c/6d7hAs/Kd"),
    (FLOP, "MATCHSTATE: +1: 31:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd"),
    # Separators missing, or where none belong.
    (FLOP, "MATCHSTATE:1:31:r300ccr600r1200cc:|9d6c/6d7hAs/Kd"),
    (FLOP, "MATCHSTATE:1:31:/r300/c//cr600r1200/c/c/:|9d6c/6d7hAs/Kd"),
    (FLOP, "MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d6c/6d7hAsKd"),
    (FLOP3, FLOP3.text),
    (FLOP3, "MATCHSTATE:2:7:r2273cc/cr4000:4cKsKhKc3s2hAh9d4s"),
    # Numbers that leave the same low bits.
    (FLOP, f"MATCHSTATE:{1 + 256}:{31 + 2**32}:r{300 + 2**32}c/cr600r1200c/c:|9d6c/6d7hAs/Kd"),
    # Cards that the seat was not shown are not compared.
    (FLOP, "MATCHSTATE:1:31:r300c/cr600r1200c/c:2c2d|9d6c/6d7hAs/Kd"),
    (FLOP3, "MATCHSTATE:2:7:r2273cc/cr4000:4cKs|KhKc|3s2h/Ah9d4s"),
]


@pytest.mark.parametrize(("question", "spelling"), SAME_STATE)
def test_other_spellings_of_the_question(question: AskedState, spelling: str) -> None:
    assert read_reply(f"{spelling}:r2400", question).__class__ is Answered
    assert read_reply(f"{spelling}:c", question) == Answered(CALL)
    bounds = raise_bounds(question.state)
    assert bounds is not None
    assert read_reply(f"{spelling}:B 0{bounds.low}!", question) == Answered(Raise(bounds.low))
    assert read_reply(f"{spelling}:x", question) == Answered(CALL, (INVALID_ACTION,))
    assert read_reply(spelling, question) == Answered(CALL, (BAD_ACTION,))


def test_cards_the_seat_was_not_shown_may_follow_its_own() -> None:
    """The reference reads them and compares only the seat's own: with them the reply still counts."""
    question = asked("MATCHSTATE:0:31:r300:JdTc|")
    assert read_reply("MATCHSTATE:0:31:r300:JdTc|9d6c:r900", question) == Answered(Raise(900))
    assert read_reply("MATCHSTATE:0:31:R300:JdTc|9d6c:r900", question) == Answered(Raise(900))


def test_half_of_a_hand_behind_our_own_is_no_state() -> None:
    question = asked("MATCHSTATE:0:31:r300:JdTc|")
    assert read_reply("MATCHSTATE:0:31:R300:JdTc|9d:c", question) == Ignored(BAD_STATE)
    assert read_reply("MATCHSTATE:0:31:r300:JdTc|9d:c", question) == Ignored(BAD_STATE)


OTHER_STATE = [
    "MATCHSTATE:1:30:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd",  # a stale hand
    "MATCHSTATE:1:32:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd",
    "MATCHSTATE:0:31:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd",  # another seat's line
    "MATCHSTATE:0:31:r300c/cr600r1200c/c:JdTc|/6d7hAs/Kd",
    "MATCHSTATE:1:31:r300c/cr600r1200:|9d6c/6d7hAs",  # a stale state
    "MATCHSTATE:1:31::|9d6c",
    "MATCHSTATE:1:31:r300c/cr600r1200c/cc/:|9d6c/6d7hAs/Kd/2c",
    "MATCHSTATE:1:31:r300c/cr600r1201c/c:|9d6c/6d7hAs/Kd",  # another size
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:|6c9d/6d7hAs/Kd",  # our cards the other way round
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d6h/6d7hAs/Kd",
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:|/6d7hAs/Kd",  # our cards missing
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:9d6c|/6d7hAs/Kd",  # our cards in another place
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kc",
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d6c/7h6dAs/Kd",
]


@pytest.mark.parametrize("line", OTHER_STATE)
def test_answers_to_other_questions_are_not_requested(line: str) -> None:
    for action in ("", ":", ":c", ":r2400", ":f"):
        assert read_reply(line + action, FLOP) == Ignored(UNREQUESTED)


NO_STATE = [
    "",
    "c",
    "r300",
    "VERSION:2.0.0",
    "MATCHSTATE",
    "MATCHSTATE:",
    "MATCHSTATE::31:c:|9d6c",
    "MATCHSTATE:1::c:|9d6c",
    "matchstate:1:31:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd",
    " MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd",
    "MATCHSTATE:2:31:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd",  # no such position
    "MATCHSTATE:-1:31:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd",
    "MATCHSTATE:1 :31:r300c/cr600r1200c/c:|9d6c/6d7hAs/Kd",
    "MATCHSTATE:1:31:r300c/cr600r1200c/x:|9d6c/6d7hAs/Kd",
    "MATCHSTATE:1:31:r300c/cr600rc/c:|9d6c/6d7hAs/Kd",  # a raise without its size
    "MATCHSTATE:1:31:r100c/cr600r1200c/c:|9d6c/6d7hAs/Kd",  # an illegal one
    "MATCHSTATE:1:31:r300c/f:|9d6c/6d7hAs",
    "MATCHSTATE:1:31:r300fc:|9d6c/6d7hAs",  # more after the end
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d6/6d7hAs/Kd",  # half a hand
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d/6d7hAs/Kd",
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d6c/6d7h/Kd",  # a card of the flop missing
    "MATCHSTATE:1:31:r300c/cr600r1200c/c:|9d6c/6d7hAs",
    "MATCHSTATE:1:31:r300c/cr600r1200c/c|9d6c/6d7hAs/Kd",
    "\x00" * 4096,
    "\ufffd" * 4096,
]


@pytest.mark.parametrize("line", NO_STATE)
def test_lines_that_are_no_state_are_ignored(line: str) -> None:
    for action in ("", ":c", ":r2400"):
        assert read_reply(line + action, FLOP) == Ignored(BAD_STATE)


def test_a_street_at_its_action_cap_has_its_own_warning() -> None:
    """Raises stop when the calls they ask for might not fit into the 64 actions of a street."""
    state, text = start(HOLDEM), ""
    while raise_bounds(state) is not None:
        bounds = raise_bounds(state)
        assert bounds is not None
        state, text = apply(state, Raise(bounds.low)), f"{text}r{bounds.low}"
    assert len(state.history[0]) == 63
    position = state.actor
    question = asked(f"MATCHSTATE:{position}:0:{text}:" + ("JdTc|" if position == 0 else "|JdTc"))
    for letter in ("r", "R", "b"):
        answer = read_reply(f"{question.text}:{letter}20000", question)
        assert answer == Answered(CALL, (ACTION_CAP, INVALID_ACTION))
    assert read_reply(f"{question.text}:f", question) == Answered(FOLD)


@pytest.mark.parametrize("digits", [4096, 5000, 20_000])
@pytest.mark.parametrize("place", ["size", "position", "hand", "betting"])
def test_numbers_of_any_length_are_read(place: str, digits: int) -> None:
    """Longer than a line can be, but the reader is total: the bound is not its caller's business."""
    number = "9" * digits
    line = {
        "size": f"{FIRST.text}:r{number}",
        "position": f"MATCHSTATE:{number}:31::|9d6c:c",
        "hand": f"MATCHSTATE:1:{number}::|9d6c:c",
        "betting": f"MATCHSTATE:1:31:r{number}:|9d6c:c",
    }[place]
    expected = {
        "size": Answered(Raise(200), ("WARNING: raise of -1 increased to 200",)),
        "position": Ignored(BAD_STATE),
        "hand": Ignored(UNREQUESTED),
        "betting": Ignored(BAD_STATE),
    }[place]
    assert read_reply(line, FIRST) == expected


def test_a_betting_may_end_with_the_line() -> None:
    """As in the reference: nothing follows it then, so the cards are not those asked about."""
    assert read_reply("MATCHSTATE:1:31:", FLOP) == Ignored(UNREQUESTED)
    assert read_reply("MATCHSTATE:1:31:c", FLOP) == Ignored(UNREQUESTED)


def test_a_line_with_an_endless_betting_is_read_in_time() -> None:
    assert read_reply(f"MATCHSTATE:1:31:{'/' * 4000}:|9d6c:c", FIRST) == Answered(CALL)
    assert read_reply(f"MATCHSTATE:1:31:{'c' * 4000}:|9d6c:c", FIRST) == Ignored(BAD_STATE)


def test_the_dealer_takes_what_was_read_and_says_so() -> None:
    """Through the machine: warnings before the next states, the mended action in them."""
    match = Match(HOLDEM, hands=1, seed=0)
    match.receive(VERSION_LINE)
    match.receive(VERSION_LINE)
    question = match.question
    match.receive("hello")
    match.receive(question.replace(":0:", ":9:") + ":f")
    match.receive(f"{question}:R99999999999 please")
    assert match.question.split(":")[3] == "r20000"
    assert [report for report in match.reports if report.startswith("WARNING")] == [
        BAD_STATE,
        UNREQUESTED,
        "WARNING: raise of 1215752191 decreased to 20000",
    ]
    assert [line.split()[:2] for line in match.transactions] == [["r20000", "0"]]
