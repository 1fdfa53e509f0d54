"""Slumbot's notation against ACPC's both ways, its replies, and the log of a session: exact, and strict otherwise."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from played_hands import random_record, random_session, records
from random_play import random_hand

from dealer_tools.formats import acpc, slumbot
from dealer_tools.formats.reading import FormatError
from dealer_tools.formats.slumbot import (
    Begun,
    SlumbotError,
    action_to_text,
    begun_line,
    betting_to_text,
    broken_line,
    hand_line,
    parse_reply,
    read_action,
    read_numbers,
    read_session,
    read_session_log,
    reply_of,
    slumbot_game,
    write_session,
)
from machine.errors import ParatusError
from protocol import wire
from protocol.game import load_game
from protocol.log import state_line
from protocol.state import CALL, FOLD, Raise, apply, payoffs, start

GAME = slumbot_game()

# --- Betting --------------------------------------------------------------------------------------------------------

VECTORS = {
    "b200b1250c/kb750b18750": "r200r1250c/cr2000r20000",
    "b200c/kb200f": "r200c/cr400f",
    "b200": "r200",
    "": "",
    "f": "f",
    "b20000c///": "r20000c///",
    "ck/kk/kk/kk": "cc/cc/cc/cc",
    "ck/b150c/b250c": "cc/r250c/r500c/",
    "ck/kk/kk/b19900c": "cc/cc/cc/r20000c",
    "cb300c/kk/b19700c/": "cr300c/cc/r20000c/",
}


@pytest.mark.parametrize("text", VECTORS)
def test_vectors(text):
    theirs, ours = slumbot.read_betting(text), wire.read_betting(start(GAME), VECTORS[text])
    assert theirs == ours
    assert betting_to_text(ours).rstrip("/") == text.rstrip("/")
    assert slumbot.read_betting(betting_to_text(ours)) == ours


@pytest.mark.parametrize(
    "text", ["b200c", "b200c/", "b200c/kk", "b200c/kk/", "b20000c", "b20000c///", "b200c/b19800c//"]
)
def test_slashes_at_the_end_may_be_left_out(text):
    state = slumbot.read_betting(text)
    assert betting_to_text(state).startswith(text)
    assert set(betting_to_text(state)[len(text) :]) <= {"/"}


@pytest.mark.parametrize("seed", range(8))
def test_thousands_of_random_hands_both_ways(seed):
    rng = Random(seed)
    for _ in range(400):
        states = random_hand(rng, GAME).states
        for state in (states[-1], rng.choice(states)):
            assert slumbot.read_betting(betting_to_text(state)) == state
        state, after = rng.choice([*pairwise(states)])
        text = action_to_text(state, after.actions[-1])
        assert apply(state, read_action(text, state)) == after
        assert betting_to_text(after).rstrip("/") == (betting_to_text(state) + text)


BAD_BETTING = {
    "x": "betting 'x' at character 0: expected k, c, f or b with chips",
    "r200": "at character 0: expected k, c, f or b with chips",
    "B200": "at character 0",
    " f": "at character 0",
    "k": "action 'k' at character 0: expected c, since chips are owed",
    "cc": "action 'cc' at character 1: expected k, since nothing is owed",
    "b200k": "action 'b200k' at character 4: expected c, since chips are owed",
    "b": "at character 0",
    "b0200": "at character 0",
    "b199": "illegal raise to 199: expected a raise to 200-20000",
    "b20001": "illegal raise to 20001",
    "b200c/b19801": "illegal raise to 20001: expected a raise to 300-20000",
    "b99999999999": "illegal raise to 9999999999",
    "ck/f": "illegal fold: nothing is owed",
    "ckk": "at character 2: expected / since the street is over",
    "ck//": "at character 3: expected k, c",
    "/": "at character 0",
    "b200c/k/": "at character 7",
    "b20000c/": "at character 7: expected / since the street is over",
    "b20000c////": "at character 10",
    "fk": "illegal call: the hand is over",
    "fc": "illegal call: the hand is over",
    "ff": "illegal fold: the hand is over",
    "fb400": "illegal raise to 400: the hand is over",
    "f/": "at character 1",
    "ck/kk/kk/kk/": "at character 11",
}


@pytest.mark.parametrize("text", BAD_BETTING)
def test_other_betting_is_refused(text):
    with pytest.raises(SlumbotError) as caught:
        slumbot.read_betting(text)
    assert BAD_BETTING[text] in str(caught.value)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("betting", "text"),
    [
        ("", "k"),
        ("", "c/"),
        ("", "bc"),
        ("", ""),
        ("", "b100"),
        ("b200c/", "c"),
        ("b200c/", "f"),
        ("b200c/", "b99"),
        ("f", "k"),
    ],
)
def test_other_actions_are_refused(betting, text):
    with pytest.raises(SlumbotError, match=f"action {text!r}"):
        read_action(text, slumbot.read_betting(betting))


def test_actions():
    state = slumbot.read_betting("b200c/")
    assert read_action("k", state) is CALL
    assert read_action("b100", state) == Raise(300)
    assert read_action("f", apply(state, Raise(300))) is FOLD
    assert [action_to_text(state, action) for action in (CALL, Raise(300), Raise(20_000))] == ["k", "b100", "b19800"]
    assert action_to_text(start(GAME), CALL) == "c"


# --- Replies --------------------------------------------------------------------------------------------------------

REPLY = {
    "old_action": "b200c/kb200",
    "action": "b200c/kb200f",
    "client_pos": 0,
    "hole_cards": ["Kd", "2h"],
    "board": ["Th", "9s", "4s"],
    "bot_hole_cards": ["Kh", "7h"],
    "winnings": -200,
    "won_pot": -600,
    "session_num_hands": 19,
    "baseline_winnings": 0,
    "session_total": 8850,
    "session_baseline_total": 4450,
}


def test_a_reply_of_the_server():
    read = parse_reply(REPLY, 18, "me")
    assert state_line(read.record) == "STATE:18:r200c/cr400f:Kd2h|Kh7h/Th9s4s:-200|200:me|slumbot"
    assert (read.position, read.baseline_chips) == (0, 0.0)
    swapped = parse_reply(REPLY | {"client_pos": 1, "winnings": 200, "baseline_winnings": -12.5}, 7)
    assert state_line(swapped.record) == "STATE:7:r200c/cr400f:Kh7h|Kd2h/Th9s4s:-200|200:slumbot|paratus"
    assert (swapped.position, swapped.baseline_chips) == (1, -12.5)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"winnings": None}, "no winnings: the hand is not over"),
        ({"winnings": 200}, "winnings 200: expected -200, what 'b200c/kb200f' pays"),
        ({"winnings": "-200"}, "winnings \"'-200'\": expected chips"),
        ({"winnings": True}, "winnings 'True': expected chips"),
        ({"winnings": float("inf")}, "winnings 'inf': expected chips"),
        ({"winnings": float("nan")}, "winnings 'nan': expected chips"),
        ({"baseline_winnings": []}, "baseline_winnings '[]': expected chips"),
        ({"client_pos": 2}, "client_pos '2': expected 0 to 1"),
        ({"client_pos": False}, "client_pos 'False': expected 0 to 1"),
        ({"client_pos": 1}, "winnings -200: expected 200"),
        ({"action": "b200c/kb200"}, "there are winnings, but the hand is not over"),
        ({"action": "b200c/kb200z"}, "betting 'b200c/kb200z' at character 11"),
        ({"action": None}, "action 'None': expected text"),
        ({"hole_cards": ["Kd"]}, "hole_cards \"['Kd']\": expected 2 cards"),
        ({"hole_cards": "Kd2h"}, "expected 2 cards"),
        ({"hole_cards": ["Kd", 7]}, "'7' is not a card"),
        ({"hole_cards": ["Kd", "1h"]}, "'1h' is not a card"),
        ({"bot_hole_cards": None}, "bot_hole_cards 'None': expected 2 cards"),
        ({"bot_hole_cards": ["Kd", "7h"]}, "expected no card twice"),
        ({"board": ["Th", "9s"]}, "expected 3 cards"),
        ({"board": ["Th", "9s", "4s", "4c"]}, "expected 3 cards"),
        ({"error_msg": "Unknown token"}, "the server answered 'Unknown token'"),
    ],
)
def test_replies_that_are_refused(changes, reason):
    with pytest.raises(SlumbotError) as caught:
        parse_reply(REPLY | changes)
    assert reason in str(caught.value)


@pytest.mark.parametrize("key", ["winnings", "client_pos", "action", "hole_cards", "bot_hole_cards", "board"])
def test_what_a_reply_must_have(key):
    with pytest.raises(SlumbotError, match=key):
        parse_reply({name: value for name, value in REPLY.items() if name != key})
    without = {name: value for name, value in REPLY.items() if name != "baseline_winnings"}
    assert parse_reply(without).baseline_chips is None
    for document in (None, [], "x", 7):
        with pytest.raises(SlumbotError, match="expected an object"):
            parse_reply(document)


@pytest.mark.parametrize("seed", range(4))
def test_random_replies_both_ways(seed):
    rng = Random(seed)
    for hand in range(300):
        names = ("me", "slumbot") if rng.random() < 0.5 else ("slumbot", "me")
        record = random_record(rng, GAME, hand, names)
        reply = json.loads(json.dumps(reply_of(record, "me")))
        assert parse_reply(reply, hand, "me").record == record
        if record.values[0]:
            with pytest.raises(SlumbotError, match="winnings"):
                parse_reply(reply | {"winnings": -reply["winnings"]}, hand, "me")


# --- Session logs ---------------------------------------------------------------------------------------------------


def write(tmp_path, *lines: str):
    path = tmp_path / "session.jsonl"
    path.write_text("".join(line + "\n" for line in lines))
    return path


def reasons(session) -> list[str]:
    return [f"{refused.where.rpartition(':')[2]}: {refused.reason}" for refused in session.refused]


def test_a_session(tmp_path):
    path = write(
        tmp_path,
        hand_line(0, REPLY | {"token": "secret", "baseline_winnings": 25}),
        broken_line(1, "no answer for 60 s"),
        "",
        hand_line(3, REPLY | {"client_pos": 1, "winnings": 200}),
        hand_line(3, REPLY | {"client_pos": 1, "winnings": 200}),
    )
    assert "secret" not in path.read_text()
    log = read_session_log(path, "me")
    assert read_session(path, "me") == log.session
    assert log.session.players == ("me", "slumbot")
    assert log.session.game == GAME
    assert [state_line(record) for record in records(log.session)] == [
        "STATE:0:r200c/cr400f:Kd2h|Kh7h/Th9s4s:-200|200:me|slumbot",
        "STATE:3:r200c/cr400f:Kh7h|Kd2h/Th9s4s:-200|200:slumbot|me",
    ]
    assert log.session.hands[1].where == f"{path}:4"
    assert reasons(log.session) == ["2: hand 1 is broken: 'no answer for 60 s'"]
    assert dict(log.baselines) == {0: 25.0, 3: 0.0}
    assert log.session.notes == (
        f"{path}:5: hand 3 once more, exactly as before: counted once",
        f"{path}: 1 hands are missing: 2",
    )


def test_hands_that_were_begun(tmp_path):
    """A line for asking changes nothing where an end is known; without one the hand is left out, its number used."""
    path = write(
        tmp_path,
        *[begun_line(hand, "2026-11-19T06:17:27Z") for hand in (0, 1)],
        hand_line(0, REPLY),
        broken_line(1, "cut off", {"action": "b200", "token": "secret"}),
        begun_line(2, "2026-11-19T06:17:29Z"),
        hand_line(3, REPLY | {"client_pos": 1, "winnings": 200}),
        "{",
    )
    assert "secret" not in path.read_text()
    session = read_session(path)
    assert [record.hand for record in records(session)] == [0, 3]
    assert [hand.baseline_chips for hand in session.hands] == [0.0, 0.0]
    assert reasons(session)[:2] == [
        "4: hand 1 is broken: 'cut off'",
        "5: hand 2 was begun, and how it ended is not known: not counted",
    ]
    assert session.notes == ()
    assert read_numbers(path) == Begun(frozenset({0, 3}), frozenset({1}), frozenset({2}))
    assert read_numbers(tmp_path / "nothing") == Begun(frozenset(), frozenset(), frozenset())


def test_hands_that_contradict_each_other(tmp_path):
    other = REPLY | {"hole_cards": ["Kd", "3h"]}
    path = write(tmp_path, *[hand_line(hand, REPLY) for hand in range(3)], hand_line(1, other), broken_line(2, "?"))
    assert reasons(read_session(path)) == [
        f"2: hand 1 is another one at {path}:4: neither is counted",
        f"3: hand 2 is broken at {path}:5: not counted",
        f"4: hand 1 is another one at {path}:2: neither is counted",
        "5: hand 2 is broken: '?'",
    ]
    assert [record.hand for record in records(read_session(path))] == [0]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "null",
        '{"hand": 0}',
        '{"hand": 0, "reply": {}, "broken": ""}',
        '{"hand": 0, "other": 1}',
        "x",
        "\x00",
        '{"hand": 0, "broken": "", "broken": ""}',
        '{"hand": NaN, "broken": ""}',
        "[" * 5000,
        "9" * 5000,
        '{"hand": 0, "reply": ' + "[" * 99 + "]" * 99 + "}",
    ],
)
def test_lines_that_are_refused(line, tmp_path):
    session = read_session(write(tmp_path, line, hand_line(0, REPLY)))
    assert len(session.hands) == 1
    assert len(session.refused) == 1
    assert session.refused[0].where.endswith("session.jsonl:1")
    assert "expected" in session.refused[0].reason
    assert len(session.refused[0].reason) < 500


@pytest.mark.parametrize("number", ["-1", "4294967296", "1.0", "true", '"1"', "null"])
def test_numbers_of_hands(number, tmp_path):
    session = read_session(write(tmp_path, f'{{"hand": {number}, "broken": "?"}}'))
    assert "expected 0 to 4294967295" in session.refused[0].reason


@pytest.mark.parametrize("seed", range(10))
def test_sessions_and_logs_both_ways(seed, tmp_path):
    session = random_session(Random(seed), GAME, 200, ("paratus", "slumbot"))
    path, log = tmp_path / "session.jsonl", tmp_path / "match.log"
    write_session(path, session)
    again = read_session(path)
    assert records(again) == records(session)
    assert (again.refused, again.notes, again.players) == ((), (), session.players)
    acpc.write_log(log, again)
    assert records(acpc.read_log(log)) == records(session)
    text = path.read_bytes()
    write_session(path, acpc.read_log(log))
    assert path.read_bytes() == text


def test_what_slumbot_does_not_play_is_not_written(tmp_path):
    session = random_session(Random(1), GAME, 3, ("me", "slumbot"))
    with pytest.raises(FormatError, match="with 'paratus': not written for Slumbot"):
        write_session(tmp_path / "x", session)
    with pytest.raises(FormatError, match=r"expected holdem\.nolimit\.2p\.reverse_blinds"):
        write_session(tmp_path / "x", random_session(Random(1), load_game("leduc").game, 3, ("paratus", "slumbot")))
    hand = session.hands[0]
    unknown = replace(hand, record=replace(hand.record, deal=hand.record.deal._replace(hole=((), ()))))
    with pytest.raises(FormatError, match="hole cards are unknown"):
        write_session(tmp_path / "x", replace(session, hands=(unknown,)), "me")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("seed", range(6))
def test_damaged_bytes(seed, tmp_path):
    """Whatever happens to a byte, hands are refused or read as they were, apart from what nobody can see."""
    rng = Random(seed)
    path = tmp_path / "session.jsonl"
    write_session(path, random_session(rng, GAME, 25, ("paratus", "slumbot")))
    data, refused = path.read_bytes(), 0
    for _ in range(250):
        at, kind = rng.randrange(len(data)), rng.randrange(4)
        middle = (bytes([rng.randrange(256)]), b"", data[at : at + 1] * 2, b"")[kind]
        path.write_bytes(data[:at] + middle + (data[at + 1 :] if kind < 3 else b""))
        try:
            session = read_session(path)
        except ParatusError as error:
            raise AssertionError(f"one line cannot spoil a session: {error}") from error
        refused += bool(session.refused)
        for hand in session.refused:
            assert hand.where.startswith(f"{path}:")
            assert "\n" not in hand.reason
        for record in records(session):
            assert record.values == payoffs(record.state, record.deal)
    assert refused > 100
