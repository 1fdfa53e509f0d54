"""The dealer as a machine: phases, versions, clocks, lost seats, resuming, seats, and that chips are conserved."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random

import pytest
from random_play import Match, play_match, random_game

from machine.errors import ParatusError
from protocol.bot_replies import BAD_STATE, UNREQUESTED
from protocol.dealer import Dealer, DealerPhase, Logged, Report, Tell, Transacted
from protocol.dealing import CardStream
from protocol.errors import LocalProtocolError
from protocol.game import Game, load_game
from protocol.line_buffer import TOO_LONG
from protocol.log import Limits, LogError, MatchHeader, parse_score_line, parse_state_line, state_line
from protocol.wire import MatchState, match_state_text, parse_match_state, view

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
THREE = load_game("holdem.nolimit.3p").game
LIMITS = Limits(response_ms=1_000, hand_ms=1_500, per_hand_ms=700)


def new_match(hands: int = 3, game: Game = HOLDEM, *, limits: Limits | None = None, fixed: bool = False) -> Match:
    return Match(game, hands, seed=11, limits=limits, fixed=fixed)


def fold(match: Match, after_us: int = 0) -> None:
    match.receive(f"{match.question}:f", after_us)


def call(match: Match, after_us: int = 0) -> None:
    match.receive(f"{match.question}:c", after_us)


# --- Phases ---------------------------------------------------------------------------------------------------------


def match_in(phase: DealerPhase) -> Match:
    match = new_match(hands=1)
    if phase in (DealerPhase.PLAYING, DealerPhase.OVER):
        match.greet()
    if phase is DealerPhase.OVER:
        fold(match)
    if phase is DealerPhase.FAILED:
        match.receive("hello")
    assert match.dealer.phase is phase
    return match


HAPPENS: dict[str, Callable[[Match], None]] = {
    "version": lambda match: match.receive("VERSION:2.0.0"),
    "both versions": lambda match: (match.receive("VERSION:2.0.0"), match.receive("VERSION:2.0.0"))[0],
    "garbage": lambda match: match.receive("hello"),
    "too long": lambda match: match.carry_out(match.dealer.receive(TOO_LONG, 0)),
    "comment": lambda match: match.receive("# hello"),
    "answer": lambda match: match.receive("MATCHSTATE:1:0::|9d6c:c"),
    "last answer": lambda match: match.receive("MATCHSTATE:1:0::|9d6c:f"),
    "expire": lambda match: match.carry_out(match.dealer.expire(10**12)),
    "lost": lambda match: match.carry_out(match.dealer.lost(match.names.index("bot1"), 0, "disconnected")),
    "resume": lambda match: match.dealer.resume([]) and None,
}

AFTERWARDS: dict[tuple[DealerPhase, str], DealerPhase | None] = {
    (DealerPhase.GREETING, "version"): DealerPhase.GREETING,
    (DealerPhase.GREETING, "both versions"): DealerPhase.PLAYING,
    (DealerPhase.GREETING, "garbage"): DealerPhase.FAILED,
    (DealerPhase.GREETING, "too long"): DealerPhase.FAILED,
    (DealerPhase.GREETING, "comment"): DealerPhase.FAILED,
    (DealerPhase.GREETING, "answer"): DealerPhase.FAILED,
    (DealerPhase.GREETING, "last answer"): DealerPhase.FAILED,
    (DealerPhase.GREETING, "expire"): DealerPhase.FAILED,
    (DealerPhase.GREETING, "lost"): DealerPhase.FAILED,
    (DealerPhase.GREETING, "resume"): DealerPhase.GREETING,
    (DealerPhase.PLAYING, "version"): DealerPhase.PLAYING,
    (DealerPhase.PLAYING, "both versions"): DealerPhase.PLAYING,
    (DealerPhase.PLAYING, "garbage"): DealerPhase.PLAYING,
    (DealerPhase.PLAYING, "too long"): DealerPhase.PLAYING,
    (DealerPhase.PLAYING, "comment"): DealerPhase.PLAYING,
    (DealerPhase.PLAYING, "answer"): DealerPhase.PLAYING,
    (DealerPhase.PLAYING, "last answer"): DealerPhase.OVER,
    (DealerPhase.PLAYING, "expire"): DealerPhase.FAILED,
    (DealerPhase.PLAYING, "lost"): DealerPhase.FAILED,
    (DealerPhase.PLAYING, "resume"): None,
}
"""The phase after each event; None, and whatever is not named, is the driver's mistake and changes nothing."""


@pytest.mark.parametrize(("phase", "event"), list(product(DealerPhase, HAPPENS)))
def test_every_phase_and_event(phase: DealerPhase, event: str) -> None:
    match = match_in(phase)
    before = (match.dealer.reason, list(match.dealer.totals), match.dealer.hands_played)
    after = AFTERWARDS.get((phase, event))
    if after is None:
        with pytest.raises(LocalProtocolError):
            HAPPENS[event](match)
        assert (match.dealer.reason, list(match.dealer.totals), match.dealer.hands_played) == before
        assert match.dealer.phase is phase
    else:
        HAPPENS[event](match)
        assert match.dealer.phase is after
        assert bool(match.dealer.reason) == (after is DealerPhase.FAILED)
        assert "\n" not in match.dealer.reason


@pytest.mark.parametrize("phase", [DealerPhase.OVER, DealerPhase.FAILED])
def test_nobody_acts_and_nothing_is_due_at_the_end(phase: DealerPhase) -> None:
    dealer = match_in(phase).dealer
    for ask in (lambda: dealer.acting_seat, lambda: dealer.deadline_us):
        with pytest.raises(LocalProtocolError, match=f"no seat is acting: the match is {phase.value}"):
            ask()


def test_a_match_of_no_hands_is_over_once_greeted() -> None:
    match = new_match(hands=0).greet()
    assert match.dealer.phase is DealerPhase.OVER
    assert match.log == ["SCORE:0|0:bot0|bot1"]
    assert match.told == [[], []]


# --- Versions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["VERSION:2.0.0", "VERSION:2.0.99", "VERSION: 2. 0. 0", "VERSION:+2.+0.+0", "VERSION:2.0.0 and more"]
)
def test_versions_that_are_ours(line: str) -> None:
    match = new_match()
    match.receive(line)
    assert match.dealer.acting_seat == 1
    assert match.reports == []
    match.receive(line)
    assert match.dealer.phase is DealerPhase.PLAYING
    assert match.reports == ["STARTED at 0.000000"]


@pytest.mark.parametrize("line", ["VERSION:1.0.0", "VERSION:3.0.0", "VERSION:2.1.0", "VERSION:0.0.0"])
def test_another_version_is_complained_about_and_tolerated(line: str) -> None:
    """As in the reference, which goes on with a player of another major version."""
    match = new_match()
    match.receive(line)
    assert match.reports == ["ERROR: this server is currently using version 2.0.0"]
    assert match.dealer.acting_seat == 1
    match.receive("VERSION:2.0.0")
    assert match.dealer.phase is DealerPhase.PLAYING


@pytest.mark.parametrize(
    "line",
    [
        *("", "hello", "version:2.0.0", " VERSION:2.0.0", "VERSION", "VERSION:", "VERSION:2", "VERSION:2.0", "#", ";"),
        *("VERSION:2.0.", "VERSION:x.0.0", "VERSION:2,0,0", "VERSION:2 .0.0", "VERSION:٢.0.0", "GET / HTTP/1.1"),
        *("VERSION:" + "9" * 4000, "MATCHSTATE:1:0::|9d6c:c", "\x00", "\ufffd" * 100),
    ],
)
def test_bad_versions_end_the_match(line: str) -> None:
    match = new_match()
    match.receive("VERSION:2.0.0")
    match.receive(line)
    assert match.dealer.phase is DealerPhase.FAILED
    assert match.reports == [f"ERROR: invalid version string {line}"]
    assert match.dealer.reason.startswith("seat 2 (bot1) sent ")
    assert match.dealer.reason.endswith(" instead of VERSION:2.0.0")
    assert len(match.dealer.reason) < 1_000
    assert match.told == [[], []]


def test_a_version_too_long_has_its_own_reason() -> None:
    match = new_match()
    match.carry_out(match.dealer.receive(TOO_LONG, 0))
    assert match.dealer.reason == "seat 1 (bot0) sent a line that is too long instead of VERSION:2.0.0"


# --- Clocks ---------------------------------------------------------------------------------------------------------


def test_the_response_limit() -> None:
    """An answer at the last microsecond counts; one later ends the match."""
    match = new_match(limits=LIMITS).greet()
    assert match.dealer.deadline_us == 1_000_000
    call(match, 1_000_000)
    assert match.dealer.phase is DealerPhase.PLAYING
    assert match.dealer.acting_seat == 0
    assert match.dealer.deadline_us == 2_000_000
    call(match, 1_000_001)
    assert match.dealer.phase is DealerPhase.FAILED
    assert match.dealer.reason == "seat 1 (bot0) ran out of time in hand 0"
    assert match.reports[-1] == "ERROR: seat 1 ran out of time"
    assert len(match.transactions) == 1


def test_the_hand_limit_adds_up_and_starts_again() -> None:
    match = new_match(limits=Limits(1_000, 1_500, 700_000)).greet()
    call(match, 900_000)
    call(match)
    # On the flop the other seat acts first, then ours again: 600 ms of its 1,500 are left.
    call(match)
    assert match.dealer.acting_seat == 1
    assert match.dealer.deadline_us == match.now_us + 600_000
    call(match, 600_000)
    # Nothing is left, and the other seat has lost nothing.
    assert match.dealer.deadline_us == match.now_us + 1_000_000
    call(match)
    assert match.dealer.acting_seat == 1
    assert match.dealer.deadline_us == match.now_us
    call(match)
    call(match)
    call(match)
    # The next hand has its own time.
    assert match.dealer.hands_played == 1
    assert match.dealer.deadline_us == match.now_us + 1_000_000
    call(match)
    assert match.dealer.acting_seat == 1
    assert match.dealer.deadline_us == match.now_us + 1_000_000


def test_the_hand_limit_ends_the_match() -> None:
    match = new_match(limits=Limits(1_000, 1_500, 700_000)).greet()
    call(match, 900_000)
    call(match)
    call(match)
    match.carry_out(match.dealer.expire(match.dealer.deadline_us))
    assert match.dealer.phase is DealerPhase.FAILED
    assert match.dealer.reason == "seat 2 (bot1) ran out of time in hand 0"
    assert match.reports[-1] == "ERROR: seat 2 ran out of time"


def test_the_match_limit_counts_every_hand_of_a_seat() -> None:
    """700 ms a hand on average: 2.1 s over three hands, whenever they are spent."""
    match = new_match(limits=LIMITS).greet()
    for hand in range(3):
        assert match.dealer.hands_played == hand
        seat = match.dealer.acting_seat
        assert seat == (hand + 1) % 2
        if seat == 0:
            assert match.dealer.deadline_us == match.now_us + 1_000_000
            fold(match)
        elif hand == 0:
            call(match, 1_000_000)
            call(match)
            call(match)
            call(match, 400_000)
            call(match)
            call(match)
            call(match)
            call(match)
        else:
            assert match.dealer.deadline_us == match.now_us + 700_000
            fold(match, 700_001)
    assert match.dealer.phase is DealerPhase.FAILED
    assert match.dealer.reason == "seat 2 (bot1) ran out of time in hand 2"
    assert not [line for line in match.log if line.startswith("SCORE")]


def test_an_answer_that_never_comes() -> None:
    match = new_match(limits=LIMITS).greet()
    match.carry_out(match.dealer.expire(1_234_567))
    assert match.reports[-2:] == [
        "ERROR: could not get action from seat 2",
        "1.2 seconds spent waiting; timeout 1.0",
    ]
    assert match.dealer.reason == "seat 2 (bot1) ran out of time in hand 0"


def test_a_version_that_never_comes() -> None:
    match = new_match()
    match.receive("VERSION:2.0.0")
    match.carry_out(match.dealer.expire(10**9))
    assert match.dealer.phase is DealerPhase.FAILED
    assert match.reports == ["ERROR: could not read version string from seat 2"]
    assert match.dealer.reason == "seat 2 (bot1) sent no version line in time"


def test_ignored_lines_neither_stop_nor_restart_the_clock() -> None:
    match = new_match(limits=LIMITS).greet()
    due, question = match.dealer.deadline_us, match.question
    for line in ("hello", "", f"{question}".replace(":0:", ":5:"), "# thinking", "; thinking", "VERSION:2.0.0"):
        effects = match.dealer.receive(line, 500_000)
        assert effects[0] == Report(f"FROM 2 at 0.500000 {line}\r")
        expected = {"#": None, ";": None, "M": UNREQUESTED}.get(line[:1], BAD_STATE)
        assert effects[1:] == ([Report(expected)] if expected else [])
        assert match.dealer.deadline_us == due
    assert match.dealer.receive(TOO_LONG, 500_000)[1:] == [Report(BAD_STATE)]
    match.receive(f"{question}:c", 900_000)
    call(match)
    call(match)
    # The wait was counted once: 900 of 1,500 ms.
    assert match.dealer.deadline_us == match.now_us + 600_000
    late = new_match(limits=LIMITS).greet()
    late.receive("hello", 1_000_001)
    assert late.dealer.phase is DealerPhase.FAILED


def test_a_clock_that_stands_still_or_steps_back_costs_nothing() -> None:
    match = new_match(limits=LIMITS).greet()
    match.dealer.mark_sent(5_000_000)
    match.carry_out(match.dealer.receive(f"{match.question}:c", 4_000_000))
    match.dealer.mark_sent(5_000_000)
    call(match)
    call(match)
    match.dealer.mark_sent(5_000_000)
    assert match.dealer.deadline_us == 6_000_000


def test_the_clock_starts_when_the_states_are_written() -> None:
    match = new_match(limits=LIMITS).greet()
    match.dealer.mark_sent(300_000)
    assert match.dealer.deadline_us == 1_300_000
    match.dealer.receive(f"{match.question}:c", 1_300_000)
    assert match.dealer.phase is DealerPhase.PLAYING


# --- Lost seats -----------------------------------------------------------------------------------------------------


def test_a_lost_seat_ends_the_match_with_its_reason() -> None:
    match = new_match(limits=LIMITS).greet()
    call(match)
    match.carry_out(match.dealer.lost(match.dealer.acting_seat, 250_000, "disconnected"))
    assert match.dealer.phase is DealerPhase.FAILED
    assert match.dealer.reason == "seat 1 (bot0) disconnected in hand 0"
    assert match.reports[-2:] == [
        "ERROR: could not get action from seat 1",
        "0.2 seconds spent waiting; timeout 1.0",
    ]
    assert not match.log


def test_a_seat_lost_before_its_version() -> None:
    match = new_match()
    match.carry_out(match.dealer.lost(match.dealer.acting_seat, 0, "disconnected"))
    assert match.reports == ["ERROR: could not read version string from seat 1"]
    assert match.dealer.reason == "seat 1 (bot0) disconnected before its version line"


def test_the_first_reason_stays() -> None:
    """Whatever the driver notices afterwards: a failed match keeps its reason, a finished one stays finished."""
    match = new_match().greet()
    match.carry_out(match.dealer.lost(match.dealer.acting_seat, 0, "disconnected"))
    reason = match.dealer.reason
    with pytest.raises(LocalProtocolError):
        match.dealer.lost(match.names.index("bot0"), 0, "disconnected too")
    assert match.dealer.reason == reason
    over = match_in(DealerPhase.OVER)
    with pytest.raises(LocalProtocolError):
        over.dealer.lost(over.names.index("bot0"), 0, "disconnected")
    assert over.dealer.phase is DealerPhase.OVER


# --- Names and seats ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", " ", "a b", "a\tb", "a\n", "a:b", "a|b", "a\u2003b", "x" * 65])
def test_names_that_would_not_survive_a_log_are_refused(name: str) -> None:
    header = MatchHeader("m", "g", 1, 0, Limits())
    with pytest.raises(LocalProtocolError, match="expected 1 to 64 characters without blanks, : and"):
        Dealer(HOLDEM, header, ("Alice", name))
    with pytest.raises(LocalProtocolError, match="expected 1 to 64 characters"):
        Dealer(HOLDEM, header, (name, "Bob"))


@pytest.mark.parametrize("names", [(), ("A",), ("A", "B", "C")])
def test_as_many_names_as_players(names: tuple[str, ...]) -> None:
    with pytest.raises(LocalProtocolError, match=f"{len(names)} names: expected 2, one a player"):
        Dealer(HOLDEM, MatchHeader("m", "g", 1, 0, Limits()), names)


def test_good_names() -> None:
    for name in ("A", "x" * 64, "bot-7_(é)", "1"):
        assert Dealer(HOLDEM, MatchHeader("m", "g", 1, 0, Limits()), (name, name)).names == (name, name)


def test_a_seed_that_cannot_be_dealt_is_our_own_error() -> None:
    with pytest.raises(ParatusError):
        Dealer(HOLDEM, MatchHeader("m", "g", 1, 2**32, Limits()), ("A", "B"))


def positions(match: Match, seat: int) -> list[int]:
    """The position of a seat in each hand."""
    first = {line.split(":")[2]: int(line.split(":")[1]) for line in reversed(match.told[seat])}
    return [first[str(hand)] for hand in range(len(first))]


def test_seats_move_by_one_position_each_hand() -> None:
    """Seat 0 has position 0 in hand 0; the next hand the next seat has it."""
    match = new_match(hands=7, game=THREE)
    play_match(Random(0), match)
    for seat in range(3):
        assert positions(match, seat) == [(seat - hand) % 3 for hand in range(7)]
    names = [parse_state_line(line, THREE).names for line in match.log[:-1]]
    assert names[:4] == [
        ("bot0", "bot1", "bot2"),
        ("bot1", "bot2", "bot0"),
        ("bot2", "bot0", "bot1"),
        ("bot0", "bot1", "bot2"),
    ]


def test_fixed_seats_stay() -> None:
    match = new_match(hands=5, game=THREE, fixed=True)
    play_match(Random(0), match)
    for seat in range(3):
        assert positions(match, seat) == [seat] * 5
    assert {parse_state_line(line, THREE).names for line in match.log[:-1]} == {("bot0", "bot1", "bot2")}


def test_the_cards_do_not_depend_on_the_betting() -> None:
    """The seed alone names them: the same match with players swapped is a duplicate match."""
    matches = [new_match(hands=20, game=THREE) for _ in range(2)]
    for seed, match in enumerate(matches):
        play_match(Random(seed), match)
    one, two = ([parse_state_line(line, THREE).deal for line in match.log[:-1]] for match in matches)
    stream = CardStream(THREE, 11)
    for first, second in zip(one, two, strict=True):
        dealt = stream.deal()
        assert first.hole == second.hole == dealt.hole
        assert dealt.board[: len(first.board)] == first.board
        assert dealt.board[: len(second.board)] == second.board
    assert matches[0].log != matches[1].log


# --- Whole matches --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_random_matches(seed: int) -> None:
    """Chips are conserved hand by hand; every seat is told each state in its own view; logs agree with the score."""
    rng = Random(1_000 + seed)
    game = random_game(rng)
    match = Match(game, hands=8, seed=seed, fixed=seed % 4 == 0)
    play_match(rng, match)
    dealer = match.dealer
    assert dealer.phase is DealerPhase.OVER
    assert dealer.hands_played == 8
    scale = max(1, max(map(abs, dealer.totals)))
    assert abs(sum(dealer.totals)) <= 1e-9 * scale
    records = [parse_state_line(line, game) for line in match.log[:-1]]
    totals = dict.fromkeys(match.names, 0.0)
    for record in records:
        assert abs(sum(record.values)) <= 1e-6 * game.num_players
        for name, value in zip(record.names, record.values, strict=True):
            totals[name] += value
    assert tuple(totals.values()) == pytest.approx(dealer.totals, abs=1e-4)
    assert parse_score_line(match.log[-1]).values == pytest.approx(dealer.totals, abs=1e-6)
    stream = CardStream(game, seed)
    deals = [stream.deal() for _ in range(8)]
    for seat, told in enumerate(match.told):
        assert len(told) == len(match.transactions) + 8
        for line in told:
            seen = parse_match_state(line, game)
            expected = view(seen.state, deals[seen.hand], seen.position)
            assert line == match_state_text(MatchState(seen.position, seen.hand, seen.state, expected))
            assert seen.position == (seat if seed % 4 == 0 else (seat - seen.hand) % game.num_players)


def test_effects_come_in_the_order_of_the_reference() -> None:
    """The transaction, the hand's line, its last states, the seconds (every 100 hands), the next hand's states."""
    match = new_match(hands=2).greet()
    effects = match.dealer.receive(f"{match.question}:f", 2_500_000)
    assert effects == [
        Report("FROM 2 at 2.500000 MATCHSTATE:1:0::|9d6c:f\r"),
        Transacted("f 0 0.000000 2.500000"),
        Logged("STATE:0:f:3c4d|9d6c:50|-50:bot0|bot1"),
        Tell(match.dealer.names.index("bot0"), "MATCHSTATE:0:0:f:3c4d|"),
        Tell(match.dealer.names.index("bot1"), "MATCHSTATE:1:0:f:|9d6c"),
        Report("Seconds cumulatively spent in match for seat 0: 0"),
        Report("Seconds cumulatively spent in match for seat 1: 2"),
        effects[-2],
        effects[-1],
    ]
    assert [(tell.seat, tell.text[:15]) for tell in effects[-2:]] == [(0, "MATCHSTATE:1:1:"), (1, "MATCHSTATE:0:1:")]
    match.carry_out(effects)
    fold(match)
    assert match.log[-1] == "SCORE:0|0:bot0|bot1"
    assert match.reports[-2:] == ["FINISHED at 0.000000", "SCORE:0|0:bot0|bot1"]


def test_seconds_are_reported_every_hundred_hands() -> None:
    match = new_match(hands=201).greet()
    while match.dealer.phase is DealerPhase.PLAYING:
        fold(match)
    assert sum(report.startswith("Seconds cumulatively") for report in match.reports) == 3 * 2


# --- Resuming -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(15))
def test_a_match_resumes_at_every_action(seed: int) -> None:
    """From any prefix of the transaction log: the same cards, seats, totals, and the same question."""
    rng = Random(seed)
    game = random_game(rng)
    whole = Match(game, hands=4, seed=seed, fixed=seed % 2 == 0)
    play_match(rng, whole)
    for cut in range(len(whole.transactions) + 1):
        match = Match(game, hands=4, seed=seed, fixed=seed % 2 == 0)
        finished = match.dealer.resume(whole.transactions[:cut])
        assert [state_line(record) for record in finished] == whole.log[: len(finished)]
        match.greet()
        assert (
            match.told[0][0] in whole.told[0]
            if cut < len(whole.transactions)
            else match.dealer.phase is DealerPhase.OVER
        )
        for line in whole.transactions[cut:]:
            match.receive(f"{match.question}:{line.split()[0]}")
        assert match.dealer.phase is DealerPhase.OVER
        assert whole.log[: len(finished)] + match.log == whole.log
        assert match.dealer.totals == whole.dealer.totals


def test_time_already_spent_is_resumed() -> None:
    match = new_match(limits=LIMITS)
    match.dealer.resume(["c 0 10.000000 10.900000", "c 0 11.000000 11.100000", "c 0 12.000000 12.000000"])
    match.greet()
    assert match.dealer.acting_seat == 1
    assert match.dealer.deadline_us == 600_000
    spent = new_match(limits=LIMITS)
    spent.dealer.resume(["c 0 10.000000 99.000000", "c 0 11.000000 11.100000", "c 0 12.000000 12.000000"])
    spent.greet()
    assert spent.dealer.deadline_us < 0
    call(spent)
    assert spent.dealer.phase is DealerPhase.FAILED
    assert spent.dealer.reason == "seat 2 (bot1) ran out of time in hand 0"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["hello"], "'hello': expected <action> <hand> <sent> <received>"),
        ([""], "expected <action> <hand> <sent> <received>"),
        (["c 0 1.000000 1.000000", "c"], "'c': expected <action> <hand> <sent> <received>"),
        (["c 1 1.000000 1.000000"], "hand 1: expected hand 0"),
        (["f 0 1.000000 1.000000", "c 0 1.000000 1.000000"], "hand 0: expected hand 1"),
        (["r199 0 1.000000 1.000000"], "illegal raise to 199"),
        (["c 0 1.000000 1.000000", "c 0 1.000000 1.000000", "f 0 1.000000 1.000000"], "illegal fold: nothing is owed"),
        (["r 0 1.000000 1.000000"], "a raise in a no-limit game needs a size"),
        ([f"f {hand} 1.000000 1.000000" for hand in range(4)], "the match has only 3 hands"),
    ],
)
def test_foreign_transaction_logs_are_refused(lines: list[str], reason: str) -> None:
    with pytest.raises(LogError) as caught:
        new_match().dealer.resume(lines)
    assert reason in str(caught.value)
    assert repr(lines[-1]) in str(caught.value)


def test_a_match_resumes_only_before_its_first_message() -> None:
    match = new_match()
    match.receive("VERSION:2.0.0")
    with pytest.raises(LocalProtocolError, match="a match resumes before its first message"):
        match.dealer.resume([])


def test_a_finished_match_resumes_to_its_score() -> None:
    match = new_match()
    assert len(match.dealer.resume(f"f {hand} 1.000000 1.000000" for hand in range(3))) == 3
    match.greet()
    assert match.dealer.phase is DealerPhase.OVER
    assert match.log == ["SCORE:50|-50:bot0|bot1"]
