"""The client against its table, honest dealers and lying ones."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from random import Random

import pytest
from random_play import Match, play_match, random_game
from records import Record

from protocol.client import TRANSITIONS, Client, ClientPhase, Event
from protocol.errors import IllegalAction, LocalProtocolError, ProtocolError, RemoteProtocolError
from protocol.game import load_game
from protocol.line_buffer import TOO_LONG, LineBuffer
from protocol.state import CALL, FOLD, Raise
from protocol.wire import MAX_LINE_BYTES, MatchState, parse_action

GAME = load_game("holdem.nolimit.2p.reverse_blinds").game
THREE = load_game("holdem.nolimit.3p").game

OURS = "MATCHSTATE:1:0::|9d6c"
"""The first state of a hand, in which position 1 acts."""
THEIRS = "MATCHSTATE:0:0::3c4d|"


# --- The table ------------------------------------------------------------------------------------------------------


def opened() -> Client:
    client = Client(GAME)
    client.hello()
    return client


def client_in(phase: ClientPhase) -> Client:
    """A client brought to `phase` by what is open to everyone."""
    if phase is ClientPhase.NEW:
        return Client(GAME)
    client = opened()
    if phase is ClientPhase.ACTING:
        client.receive(OURS)
    elif phase is ClientPhase.CLOSED:
        client.closed()
    elif phase is ClientPhase.BROKEN:
        with suppress(RemoteProtocolError):
            client.receive("MATCHSTATE")
    assert client.phase is phase
    return client


PAIRS = list(product(ClientPhase, Event))
HAPPENS = {
    Event.HELLO: lambda client: client.hello(),
    Event.WATCH: lambda client: client.receive(THEIRS),
    Event.TURN: lambda client: client.receive(OURS),
    Event.ACT: lambda client: client.act(CALL),
    Event.CLOSE: lambda client: client.closed(),
    Event.BREAK: lambda client: client.receive("MATCHSTATE"),
}

# What the module's opening says, from outside: the phase afterwards, or the error and the phase it leaves.
OUTCOMES: dict[tuple[ClientPhase, Event], tuple[ClientPhase, type[ProtocolError] | None]] = {
    (ClientPhase.NEW, Event.HELLO): (ClientPhase.WATCHING, None),
    (ClientPhase.NEW, Event.CLOSE): (ClientPhase.CLOSED, None),
    (ClientPhase.WATCHING, Event.WATCH): (ClientPhase.WATCHING, None),
    (ClientPhase.WATCHING, Event.TURN): (ClientPhase.ACTING, None),
    (ClientPhase.WATCHING, Event.CLOSE): (ClientPhase.CLOSED, None),
    (ClientPhase.WATCHING, Event.BREAK): (ClientPhase.BROKEN, RemoteProtocolError),
    (ClientPhase.ACTING, Event.ACT): (ClientPhase.WATCHING, None),
    (ClientPhase.ACTING, Event.CLOSE): (ClientPhase.CLOSED, None),
    (ClientPhase.ACTING, Event.BREAK): (ClientPhase.BROKEN, RemoteProtocolError),
    # The dealer goes on although it is our turn: that breaks the conversation.
    (ClientPhase.ACTING, Event.WATCH): (ClientPhase.BROKEN, RemoteProtocolError),
    (ClientPhase.ACTING, Event.TURN): (ClientPhase.BROKEN, RemoteProtocolError),
}


@pytest.mark.parametrize(("phase", "event"), PAIRS)
def test_every_phase_and_event_from_outside(phase: ClientPhase, event: Event) -> None:
    """Pairs that OUTCOMES does not name are our own mistake: refused, and nothing changes."""
    client = client_in(phase)
    after, error = OUTCOMES.get((phase, event), (phase, LocalProtocolError))
    if error is None:
        HAPPENS[event](client)
    else:
        with pytest.raises(error):
            HAPPENS[event](client)
    assert client.phase is after
    if error is None or error is RemoteProtocolError:
        assert after is TRANSITIONS[phase, event if error is None else Event.BREAK]


@pytest.mark.parametrize(("phase", "event"), PAIRS)
def test_every_phase_and_event_of_the_table(phase: ClientPhase, event: Event) -> None:
    client = client_in(phase)
    after = TRANSITIONS.get((phase, event))
    if after is None:
        with pytest.raises(LocalProtocolError, match=f"{event.value}: not possible .* {phase.value}"):
            client._step(event)
        assert client.phase is phase
    else:
        client._step(event)
        assert client.phase is after


def test_table_says_what_its_theory_says() -> None:
    """Closed and broken are final, every open phase can close and break, and every phase is reached."""
    assert not [phase for phase, _ in TRANSITIONS if phase in (ClientPhase.CLOSED, ClientPhase.BROKEN)]
    for phase in (ClientPhase.NEW, ClientPhase.WATCHING, ClientPhase.ACTING):
        assert TRANSITIONS[phase, Event.CLOSE] is ClientPhase.CLOSED
        assert TRANSITIONS[phase, Event.BREAK] is ClientPhase.BROKEN
    assert {ClientPhase.NEW, *TRANSITIONS.values()} == set(ClientPhase)
    assert {event for _, event in TRANSITIONS} == set(Event)


def test_version_is_the_first_thing_said() -> None:
    assert Client(GAME).hello() == b"VERSION:2.0.0\r\n"


# --- An honest dealer -----------------------------------------------------------------------------------------------


def test_first_state_may_lie_in_the_middle_of_a_hand() -> None:
    client = opened()
    client.receive("MATCHSTATE:0:7:r300c/cr600:3c4d|/6d7hAs")
    assert client.phase is ClientPhase.ACTING
    assert client.act(Raise(1200)) == b"MATCHSTATE:0:7:r300c/cr600:3c4d|/6d7hAs:r1200\r\n"
    client.receive("MATCHSTATE:0:7:r300c/cr600r1200:3c4d|/6d7hAs")
    client.receive("MATCHSTATE:0:7:r300c/cr600r1200f:3c4d|/6d7hAs")
    assert client.hands_finished == 1
    assert not client.in_hand


def test_first_state_may_be_the_end_of_a_hand() -> None:
    client = opened()
    client.receive("MATCHSTATE:0:7:r300f:3c4d|")
    assert (client.phase, client.hands_finished, client.in_hand) == (ClientPhase.WATCHING, 1, False)


def test_comments_change_nothing() -> None:
    client = opened()
    for comment in ("", " hello", "MATCHSTATE", THEIRS):
        assert client.receive(f"#{comment}") is None
        assert client.receive(f";{comment}") is None
    client.receive(OURS)
    assert client.receive("# still yours") is None
    assert client.phase is ClientPhase.ACTING
    assert client.act(CALL) == f"{OURS}:c\r\n".encode()
    assert client.receive("# after the answer") is None
    client.receive("MATCHSTATE:1:0:c:|9d6c")


def test_illegal_action_of_ours_is_refused_before_anything_is_sent() -> None:
    client = opened()
    client.receive(OURS)
    for action in (Raise(199), Raise(20_001), Raise(0)):
        with pytest.raises(IllegalAction):
            client.act(action)
        assert client.phase is ClientPhase.ACTING
    assert client.act(FOLD) == f"{OURS}:f\r\n".encode()
    with pytest.raises(LocalProtocolError, match="an action while the conversation is waiting for the dealer"):
        client.act(CALL)


def test_end_of_the_connection() -> None:
    """In a hand or between hands: the driver can tell the two apart."""
    client = opened()
    client.receive(THEIRS)
    client.closed()
    assert client.in_hand
    client = opened()
    client.receive(THEIRS)
    client.receive("MATCHSTATE:0:0:f:3c4d|")
    client.closed()
    assert not client.in_hand
    for late in (lambda: client.receive(THEIRS), lambda: client.act(CALL), client.closed, client.hello):
        with pytest.raises(LocalProtocolError):
            late()
    assert client.phase is ClientPhase.CLOSED


@pytest.mark.parametrize("seed", range(60))
def test_matches_of_random_games_pass_every_check(seed: int) -> None:
    """Every client accepts all that an honest dealer says, in games of every kind, and reads what it says."""
    rng = Random(seed)
    game = random_game(rng)
    match = Match(game, hands=5, seed=seed, fixed=seed % 3 == 0)
    clients = play_match(rng, match)
    assert [client.hands_finished for client in clients] == [5] * game.num_players
    assert not any(client.in_hand for client in clients)
    assert len({len(told) for told in match.told}) == 1


def test_a_line_too_long_breaks_the_conversation() -> None:
    client = opened()
    with pytest.raises(RemoteProtocolError, match=f"a line longer than {MAX_LINE_BYTES} bytes"):
        client.receive(TOO_LONG)
    assert client.phase is ClientPhase.BROKEN


# --- A lying dealer -------------------------------------------------------------------------------------------------

# What was heard before (`>` is our answer), the lie, and what is said about it.
LIES = {
    "size raised": (
        [OURS, ">r250", "MATCHSTATE:1:0:r300:|9d6c"],
        r"the dealer did not take our action r250 at ''",
    ),
    "call for raise": ([OURS, ">r250", "MATCHSTATE:1:0:c:|9d6c"], "did not take our action r250"),
    "fold for call": ([OURS, ">c", "MATCHSTATE:1:0:f:|9d6c"], "did not take our action c"),
    "one more action than ours": ([OURS, ">c", "MATCHSTATE:1:0:cr300:|9d6c"], "did not take our action c"),
    "state repeated after our answer": ([OURS, ">c", OURS], "did not take our action c"),
    "street skipped after our answer": (
        [THEIRS, "MATCHSTATE:0:0:c:3c4d|", ">c", "MATCHSTATE:0:0:cc/c:3c4d|/6d7hAs"],
        "did not take our action c",
    ),
    "without our action": ([OURS, "MATCHSTATE:1:0:c:|9d6c"], "the dealer went on without our action"),
    "repeated while we act": ([OURS, OURS], "the dealer went on without our action"),
    "two actions at once": ([THEIRS, "MATCHSTATE:0:0:cc/:3c4d|/6d7hAs"], "expected one more action after ''"),
    "repeated while we watch": ([THEIRS, THEIRS], "expected one more action after ''"),
    "an action taken back": (
        [
            "MATCHSTATE:0:0:r300c/:3c4d|/6d7hAs",
            ">c",
            "MATCHSTATE:0:0:r300c/c:3c4d|/6d7hAs",
            "MATCHSTATE:0:0:r300c/:3c4d|/6d7hAs",
        ],
        "expected one more action after 'r300c/c'",
    ),
    "a street taken back": (
        ["MATCHSTATE:0:0:r300c/c:3c4d|/6d7hAs", "MATCHSTATE:0:0:r300:3c4d|"],
        "the board changed within the hand",
    ),
    "an earlier action changed": (
        ["MATCHSTATE:1:0:r300c/:|9d6c/6d7hAs", "MATCHSTATE:1:0:r400c/c:|9d6c/6d7hAs"],
        "expected one more action after 'r300c/'",
    ),
    "our cards changed": ([THEIRS, "MATCHSTATE:0:0:c:3c4h|"], "our hole cards changed within the hand"),
    "our cards swapped": ([THEIRS, "MATCHSTATE:0:0:c:4d3c|"], "our hole cards changed within the hand"),
    "our cards missing": ([THEIRS, "MATCHSTATE:0:0:c:|"], "the hole cards of position 0 are missing"),
    "board changed": (
        ["MATCHSTATE:1:0:cc/:|9d6c/6d7hAs", "MATCHSTATE:1:0:cc/c:|9d6c/6d7hAc"],
        "the board changed within the hand",
    ),
    "board changed behind a new card": (
        ["MATCHSTATE:1:0:cc/c:|9d6c/6d7hAs", ">c", "MATCHSTATE:1:0:cc/cc/:|9d6c/7h6dAs/2c"],
        "the board changed within the hand",
    ),
    "position changed": ([THEIRS, "MATCHSTATE:1:0:c:|9d6c"], "our position changed from 0 within the hand"),
    "hand cut short": ([THEIRS, "MATCHSTATE:0:1::3c4d|"], "hand 0 was cut short after ''"),
    "hand cut short after our answer": ([OURS, ">c", "MATCHSTATE:0:1::3c4d|"], "hand 0 was cut short after ''"),
    "hand played again": ([THEIRS, "MATCHSTATE:0:0:f:3c4d|", "MATCHSTATE:0:0::3c4d|"], "hand 0 is already over"),
    "end repeated": ([THEIRS, "MATCHSTATE:0:0:f:3c4d|", "MATCHSTATE:0:0:f:3c4d|"], "hand 0 is already over"),
    "next hand has begun": (
        [THEIRS, "MATCHSTATE:0:0:f:3c4d|", "MATCHSTATE:1:1:c:|9d6c"],
        "hand 1 begins with actions: expected the first state of a hand",
    ),
    "more after the end": ([THEIRS, "MATCHSTATE:0:0:f:3c4d|", "MATCHSTATE:0:0:fc:3c4d|"], "illegal call"),
    "cards shown too early": ([THEIRS, "MATCHSTATE:0:0:c:3c4d|9d6c"], "shows the hole cards of position 1"),
    "an illegal action": ([THEIRS, "MATCHSTATE:0:0:r199:3c4d|"], "illegal raise to 199"),
    "the end of a line missing": ([THEIRS, "MATCHSTATE:0:0:c"], "expected MATCHSTATE"),
    "two lines in one": ([THEIRS, "MATCHSTATE:0:0:c:3c4d|MATCHSTATE:0:0:c:3c4d|"], "expected MATCHSTATE"),
    "a reply": ([THEIRS, "MATCHSTATE:0:0:c:3c4d|:c"], "expected MATCHSTATE"),
    "an empty line": ([THEIRS, ""], "expected MATCHSTATE"),
}


@pytest.mark.parametrize(("lines", "reason"), LIES.values(), ids=LIES)
def test_lies_are_noticed(lines: list[str], reason: str) -> None:
    client = opened()
    for line in lines[:-1]:
        if line.startswith(">"):
            assert client.phase is ClientPhase.ACTING
            client.act(Raise(int(line[2:])) if line[1] == "r" else CALL)
        else:
            assert client.receive(line) is not None
    with pytest.raises(RemoteProtocolError) as caught:
        client.receive(lines[-1])
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert client.phase is ClientPhase.BROKEN
    with pytest.raises(LocalProtocolError):
        client.receive(THEIRS)


def test_an_earlier_opponent_action_may_not_change_among_three() -> None:
    client = Client(THREE)
    client.hello()
    client.receive("MATCHSTATE:1:0:r300:|KhKc|")
    with pytest.raises(RemoteProtocolError, match="expected one more action after 'r300'"):
        client.receive("MATCHSTATE:1:0:fc:|KhKc|")


def test_an_earlier_size_may_not_grow_a_digit() -> None:
    """`r3000c` begins with the characters of `r300`, but it is another raise."""
    client = Client(THREE)
    client.hello()
    client.receive("MATCHSTATE:1:0:r300:|KhKc|")
    with pytest.raises(RemoteProtocolError, match="expected one more action after 'r300'"):
        client.receive("MATCHSTATE:1:0:r3000c:|KhKc|")


def conversation(record: Record, seat: int) -> list[tuple[str, str]]:
    """What one seat heard (TO) and said (FROM)."""
    said = [line.split(" at T ", 1) for line in record.messages if line.startswith((f"TO {seat} ", f"FROM {seat} "))]
    return [(head.split()[0], text) for head, text in said]


def noticed_at(record: Record, lines: list[tuple[str, str]]) -> int:
    """The index of the line that breaks the conversation, or the number of lines. Answers only when it may."""
    client = Client(record.game)
    client.hello()
    for index, (direction, text) in enumerate(lines):
        if direction == "TO":
            try:
                seen = client.receive(text)
            except RemoteProtocolError:
                return index
            assert seen is not None
        elif client.phase is ClientPhase.ACTING:
            client.act(parse_action(text.rpartition(":")[2], seen.state))
    return len(lines)


def test_lost_repeated_and_swapped_lines_are_noticed(record: Record) -> None:
    """From any honest conversation take away, repeat or swap one line: noticed there, or at the very next line."""
    rng = Random(record.name)
    whole = conversation(record, 1)
    heard = [index for index, (direction, _) in enumerate(whole) if direction == "TO"]
    assert noticed_at(record, whole) == len(whole)
    for _ in range(60):
        choice = rng.randrange(len(heard) - 40)
        first, here, after = heard[choice], heard[choice + rng.randint(1, 30)], heard[choice + 31]
        window, at = whole[first : after + 1], here - first
        following = next(i for i in range(at + 1, len(window)) if window[i][0] == "TO")
        missing = window[:at] + window[at + 1 :]
        assert noticed_at(record, missing) == following - 1
        repeated = window[: at + 1] + window[at:]
        assert noticed_at(record, repeated) == at + 1
        swapped = window.copy()
        swapped[at], swapped[following] = window[following], window[at]
        assert noticed_at(record, swapped) == at


def test_any_cutting_of_a_conversation_is_the_same_to_the_client(record: Record) -> None:
    """Byte by byte, as one piece up to our next answer, or cut at random: the client sees the same states."""
    rng = Random(record.name)
    whole = conversation(record, 2)[:400]
    heard_in_one_read = 0
    expected: list[MatchState] | None = None
    for most in (1, 9, 100, 1_000_000):
        client, buffer, states, waiting = Client(record.game), LineBuffer(), [], b""
        client.hello()
        for direction, text in [*whole, ("FROM", "")]:
            if direction == "TO":
                waiting += text.encode() + b"\r\n"
                continue
            while waiting:
                size = min(most, rng.randint(1, most))
                lines = buffer.feed(waiting[:size] if most < 1_000_000 else waiting)
                heard_in_one_read = max(heard_in_one_read, len(lines))
                waiting = waiting[size:] if most < 1_000_000 else b""
                states += [client.receive(line) for line in lines]
            if text:
                client.act(parse_action(text.rpartition(":")[2], states[-1].state))
        assert buffer.partial == b""
        assert expected is None or states == expected
        expected = states
    assert expected is not None
    assert len(expected) > 150
    assert heard_in_one_read > 1
