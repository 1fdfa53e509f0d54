"""Corrupted sessions: whatever is done to valid text, only our own errors come out, and what is accepted is exact.

Every target takes valid lines of the reference records, breaks them, and reads them. The oracles:

- nothing but `ParatusError` escapes; `read_reply` and a dealer that is playing raise nothing at all;
- what a strict parser accepts, it writes back as the same text: a corrupted line that reads is another valid line;
- what a forgiving reader makes of a line is legal, and does not depend on short cuts;
- chips are conserved and no single input takes long.
"""

from __future__ import annotations

import gzip
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from time import thread_time

import pytest
from random_play import Match, random_action
from records import DATA, RECORDS, Record, read_record

from machine.errors import ParatusError
from protocol.bot_replies import Answered, AskedState, Ignored, read_reply
from protocol.cards import cards_text, parse_cards
from protocol.client import Client, ClientPhase
from protocol.dealer import DealerPhase
from protocol.errors import LocalProtocolError, RemoteProtocolError
from protocol.game import game_text, parse_game, shipped_games
from protocol.line_buffer import TOO_LONG, LineBuffer
from protocol.log import (
    LogError,
    parse_header,
    parse_score_line,
    parse_state_line,
    parse_transaction,
    score_line,
    state_line,
    transaction_line,
)
from protocol.state import Deal, State, check, replay
from protocol.wire import VERSION_LINE, WireError, match_state_text, parse_action, parse_match_state, reply_text

MAX_INPUT_S = 0.5
"""Processor time of one input. The slowest take a few milliseconds; the rest is for garbage collection."""
MAX_MORE_BYTES = 256 << 20
"""Memory that the readers may take altogether, on top of what the tests hold already."""
SHOWN_FAILURES = 5


# --- Corruption -----------------------------------------------------------------------------------------------------

SIGNIFICANT = (
    *(b":", b"/", b"//", b"|", b"||", b"c", b"f", b"r", b"k", b"b", b"C", b"R", b"0", b"00", b"1", b"9", b"-", b"+"),
    *(b".", b" ", b"  ", b"\t", b"\r", b"\n", b"\r\n", b"\v", b"=", b"#", b";", b"_", b"As", b"2c", b"r300", b"r0"),
    *(b"MATCHSTATE:", b"STATE:", b"SCORE:", b"VERSION:", b"%s%n", b"1e5", b"nan", b"inf", b"-0", b"0x10", b"1_0"),
)
HUGE = (
    *(b"255", b"256", b"65536", b"2147483647", b"2147483648", b"4294967295", b"4294967296", b"99999999999"),
    *(b"9223372036854775808", b"18446744073709551616", b"1234567890123456.123456", b"0" * 30, b"9" * 60, b"7" * 3000),
)
UNICODE = ("٣", "²", "Ⅷ", "３", "：", "İ", "\u2028", "\x85", "\udc80", "\U0001f0a1", "\x1c")
_DIGITS = b"0123456789"


def corrupted(rng: Random, line: bytes, other: bytes) -> bytes:
    """`line` after one to three mutations, mostly one; `other` is spliced in sometimes. Never `line` itself."""
    while True:
        broken = line
        for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
            broken = rng.choice(MUTATIONS)(rng, broken, other)
        if broken != line:
            return broken


def _flip_bit(rng: Random, line: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(line) + 1)
    return line[:at] + bytes([byte ^ 1 << rng.randrange(8) for byte in line[at : at + 1]]) + line[at + 1 :]


def _any_byte(rng: Random, line: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(line) + 1)
    return line[:at] + bytes([rng.choice((0, 127, 128, 255, rng.randrange(256)))]) + line[at + rng.randrange(2) :]


def _delete(rng: Random, line: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(line) + 1)
    return line[:at] + line[at + rng.choice((1, 1, 1, 2, 3, 8)) :]


def _insert(rng: Random, line: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(line) + 1)
    return line[:at] + rng.choice(SIGNIFICANT) + line[at:]


def _overwrite(rng: Random, line: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(line) + 1)
    return line[:at] + rng.choice(SIGNIFICANT) + line[at + 1 :]


def _splice(rng: Random, line: bytes, other: bytes) -> bytes:
    return line[: rng.randrange(len(line) + 1)] + other[rng.randrange(len(other) + 1) :]


def _truncate(rng: Random, line: bytes, _: bytes) -> bytes:
    return line[: rng.randrange(len(line) + 1)]


def _repeat(rng: Random, line: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(line) + 1)
    end = at + rng.choice((1, 2, 5, 20))
    return line[:end] + line[at:end] * rng.choice((1, 1, 2, 70)) + line[end:]


def _numbers(line: bytes) -> list[tuple[int, int]]:
    found, at = [], 0
    while at < len(line):
        end = at
        while end < len(line) and line[end] in _DIGITS:
            end += 1
        if end > at:
            found.append((at, end))
        at = end + 1
    return found


def _another_number(rng: Random, line: bytes, other: bytes) -> bytes:
    """A number replaced by a huge one, its neighbour, itself with a zero or a sign before it, or one of `other`."""
    numbers = _numbers(line)
    if not numbers:
        return line
    at, end = rng.choice(numbers)
    number = line[at:end]
    others = _numbers(other) or [(0, 0)]
    start, stop = rng.choice(others)
    new = rng.choice(
        (
            rng.choice(HUGE),
            b"%d" % (int(number[:20]) + rng.choice((-1, 1))),
            b"0" + number,
            b"+" + number,
            b"-" + number,
            number + b".5",
            b"",
            other[start:stop],
        )
    )
    return line[:at] + new + line[end:]


def _swap_fields(rng: Random, line: bytes, _: bytes) -> bytes:
    separator = rng.choice((b":", b"/", b"|", b" ", b"\n"))
    fields = line.split(separator)
    one, two = rng.randrange(len(fields)), rng.randrange(len(fields))
    fields[one], fields[two] = fields[two], fields[one]
    return separator.join(fields)


MUTATIONS: tuple[Callable[[Random, bytes, bytes], bytes], ...] = (
    *(_flip_bit, _any_byte, _delete, _insert, _overwrite, _splice, _truncate, _repeat),
    *(_another_number, _another_number, _swap_fields),
)


def text_of(rng: Random, data: bytes) -> str:
    """As it comes from a `LineBuffer`, or from a file in another encoding, at times with digits that are not ours."""
    text = data.decode(rng.choice(("ascii", "ascii", "ascii", "utf-8")), "replace")
    if rng.random() < 0.05:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(UNICODE) + text[at + rng.randrange(2) :]
    return text


# --- What is corrupted ----------------------------------------------------------------------------------------------


@cache
def record_of(name: str) -> Record:
    return read_record(name)


@cache
def lines_of(kind: str) -> tuple[tuple[str, bytes], ...]:
    """(record, line) of one kind, the same number from every record."""
    found = []
    for name in sorted(RECORDS):
        record = record_of(name)
        if kind in ("TO", "FROM"):
            lines = [text.split(" at T ", 1)[1] for text in record.messages if text.startswith(f"{kind} ")]
        else:
            lines = [text for text in record.log if text.startswith(f"{kind}:")]
        found += [(name, line.encode()) for line in Random(name).sample(lines, min(len(lines), 200))]
    return tuple(found)


@cache
def asked_at(name: str, line: bytes) -> tuple[AskedState, str]:
    """The question that a recorded reply answers, and the action it gives."""
    text, _, action = line.decode().rpartition(":")
    seen = parse_match_state(text, record_of(name).game)
    return AskedState(text, seen.position, seen.hand, seen.state, seen.deal), action


class Fuzz:
    """Counts inputs, times each, keeps what went wrong."""

    def __init__(self, seed: str) -> None:
        self.rng = Random(seed)
        self.seen: Counter[str] = Counter()
        self.inputs = 0
        self.slowest_s = 0.0
        self.slowest: object = None
        self.failures: list[str] = []
        self.match: Match | None = None
        """The match in progress, where there is one."""

    def pick(self, lines: tuple[tuple[str, bytes], ...]) -> tuple[str, bytes, bytes]:
        """A record, a line of it, and that line corrupted."""
        name, line = self.rng.choice(lines)
        return name, line, corrupted(self.rng, line, self.rng.choice(lines)[1])

    def run(self, given: object, read: Callable[[], str], *errors: type[ParatusError]) -> None:
        """One input. `read` returns how it ended and asserts what must hold; only `errors` may come out of it."""
        self.inputs += 1
        started = thread_time()
        try:
            ended = read()
        except errors as error:
            ended = "refused"
            if not str(error) or "\n" in str(error) or len(str(error)) > 3000:
                self.failures.append(f"{given!r:.300}: not a bounded line: {str(error)!r:.200}")
        except Exception as error:
            ended = "failed"
            self.failures.append(f"{given!r:.300}: {type(error).__name__}: {str(error)!r:.200}")
        taken = thread_time() - started
        self.seen[ended] += 1
        if taken > self.slowest_s:
            self.slowest_s, self.slowest = taken, given


def same(written: object, given: object) -> str:
    assert written == given, f"accepted, but is written {written!r:.200}"
    return "accepted"


# --- The targets ----------------------------------------------------------------------------------------------------


def fuzz_match_states(fuzz: Fuzz) -> None:
    """With and without the state before it, a line means the same."""
    name, line, broken = fuzz.pick(lines_of("TO"))
    game, text = record_of(name).game, text_of(fuzz.rng, broken)
    before = previous_of(name, line) if fuzz.rng.random() < 0.5 else None

    def read() -> str:
        try:
            seen = parse_match_state(text, game)
        except WireError:
            if before is not None:
                with pytest.raises(WireError):
                    parse_match_state(text, game, before)
            raise
        if before is not None:
            assert parse_match_state(text, game, before) == seen
        assert seen.deal.hole[seen.position]
        complete(seen.state, seen.deal)
        return same(match_state_text(seen), text)

    fuzz.run(text, read, WireError)


def complete(state: State, deal: Deal) -> None:
    """Whole hands and the whole board of every street, all from the deck, no card twice."""
    game = state.game
    assert len(deal.hole) == game.num_players
    assert {len(cards) for cards in deal.hole} <= {0, game.num_hole_cards}
    assert len(deal.board) == sum(game.num_board_cards[: len(state.history)]), f"accepted with board {deal.board}"
    cards = [card for hole in (*deal.hole, deal.board) for card in hole]
    assert len(set(cards)) == len(cards)
    assert set(cards) <= set(game.deck())


@cache
def previous_of(name: str, line: bytes) -> State:
    """A state some actions before the one that `line` brings."""
    game = record_of(name).game
    seen = parse_match_state(line.decode(), game).state
    actions = [action for street in seen.history for action in street]
    return replay(game, actions[: Random(line).randint(0, len(actions))])


def fuzz_state_lines(fuzz: Fuzz) -> None:
    name, _, broken = fuzz.pick(lines_of("STATE"))
    game, text = record_of(name).game, text_of(fuzz.rng, broken)

    def read() -> str:
        record = parse_state_line(text, game)
        assert record.state.finished
        assert all(record.deal.hole), "accepted without all hole cards"
        complete(record.state, record.deal)
        return same(state_line(record), text)

    fuzz.run(text, read, LogError)


def fuzz_score_lines(fuzz: Fuzz) -> None:
    _, _, broken = fuzz.pick(lines_of("SCORE"))
    text = text_of(fuzz.rng, broken)
    fuzz.run(text, lambda: same(score_line(parse_score_line(text)), text), LogError)


def fuzz_headers(fuzz: Fuzz) -> None:
    record = record_of(fuzz.rng.choice(sorted(RECORDS)))
    lines = [line.encode() for line in record.log[:6]]
    at = fuzz.rng.randrange(4)
    if fuzz.rng.random() < 0.1:
        fuzz.rng.shuffle(lines)
    lines[at] = corrupted(fuzz.rng, lines[at], fuzz.rng.choice(lines))
    texts = [text_of(fuzz.rng, line) for line in lines[: fuzz.rng.choice((4, 4, 4, 6, 3, 0))]]
    fuzz.run(texts, lambda: same(parse_header(texts).lines(), texts[:4]), LogError)


def fuzz_transactions(fuzz: Fuzz) -> None:
    name, line = fuzz.rng.choice(lines_of("FROM"))
    game, (asked, action) = record_of(name).game, asked_at(name, line)
    valid = f"{action} {asked.hand} 1795002385.445799 179500238{fuzz.rng.randrange(10)}.000001".encode()
    text = text_of(fuzz.rng, corrupted(fuzz.rng, valid, line))
    fuzz.run(text, lambda: same(transaction_line(parse_transaction(text, asked.state), game), text), LogError)


@cache
def definitions() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in shipped_games().values())


def fuzz_games(fuzz: Fuzz) -> None:
    """Not a strict reader, but what it makes of a file can be written, and reads back to the same game."""
    files = definitions()
    text = text_of(fuzz.rng, corrupted(fuzz.rng, fuzz.rng.choice(files), fuzz.rng.choice(files)))

    def read() -> str:
        parsed = parse_game(text, "some.game")
        again = parse_game(game_text(parsed.game), "some.game")
        assert not again.warnings
        return same(again.game, parsed.game)

    fuzz.run(text, read, ParatusError)


def fuzz_cards(fuzz: Fuzz) -> None:
    _, _, broken = fuzz.pick(lines_of("TO"))
    text = text_of(fuzz.rng, broken).rpartition(":")[2]
    if fuzz.rng.random() < 0.5:
        text = text.replace("|", "").replace("/", "")
    fuzz.run(text, lambda: same(cards_text(parse_cards(text)), text), ParatusError)


def fuzz_replies(fuzz: Fuzz) -> None:
    """Never raises; the action is legal; reading the state again instead of comparing its text makes no difference."""
    name, line, broken = fuzz.pick(lines_of("FROM"))
    asked, action = asked_at(name, line)
    text = text_of(fuzz.rng, broken)
    if fuzz.rng.random() < 0.3:
        # Only the action is broken: the reader gets that far.
        text = text_of(fuzz.rng, asked.text.encode() + corrupted(fuzz.rng, f":{action}".encode(), b":r300"))

    def read() -> str:
        answer = read_reply(text, asked)
        assert answer == read_reply(text, replace(asked, text="no such text")), "the short cut reads otherwise"
        if isinstance(answer, Ignored):
            assert answer.warning.startswith("WARNING: ")
            return "ignored"
        assert isinstance(answer, Answered)
        check(asked.state, answer.action)
        assert all(warning.startswith("WARNING: ") for warning in answer.warnings)
        try:
            exact = parse_action(text.removeprefix(f"{asked.text}:"), asked.state)
        except WireError:
            return "mended" if answer.warnings else "accepted"
        if text.startswith(f"{asked.text}:"):
            assert answer == Answered(exact)
        return "accepted"

    fuzz.run(text, read)


@cache
def heard_by(name: str, seat: int) -> tuple[tuple[str, str], ...]:
    """What a seat heard (TO) and said (FROM)."""
    ours = (f"TO {seat} ", f"FROM {seat} ")
    said = [line.split(" at T ", 1) for line in record_of(name).messages if line.startswith(ours)]
    return tuple((head.split()[0], text) for head, text in said)


def fuzz_clients(fuzz: Fuzz) -> None:
    """A stretch of a valid session whose last line is corrupted, through the line buffer, cut at random."""
    rng = fuzz.rng
    name = rng.choice(sorted(RECORDS))
    record = record_of(name)
    said = heard_by(name, rng.randint(1, len(record.names)))
    at = rng.randrange(1, len(said))
    while said[at][0] != "TO":
        at -= 1
    last = said[at][1].encode()
    data = corrupted(rng, last, rng.choice(lines_of("TO"))[1]) + rng.choice((b"\r\n", b"\n", b"\r\n" + last + b"\r\n"))

    def read() -> str:
        client, buffer, heard = Client(record.game), LineBuffer(), 0
        client.hello()
        for direction, text in said[max(0, at - rng.randrange(6)) : at]:
            if direction == "TO":
                (line,) = buffer.feed(text.encode() + b"\r\n")
                seen = client.receive(line)
            elif client.phase is ClientPhase.ACTING:
                assert seen is not None
                client.act(parse_action(text.rpartition(":")[2], seen.state))
        cut = rng.randrange(len(data) + 1)
        for piece in (data[:cut], data[cut:]):
            for line in buffer.feed(piece):
                try:
                    seen = client.receive(line)
                except RemoteProtocolError:
                    assert client.phase is ClientPhase.BROKEN
                    with pytest.raises(LocalProtocolError):
                        client.receive(line)
                    raise
                assert line is not TOO_LONG
                if seen is None:
                    assert str(line)[0] in "#;"
                else:
                    same(match_state_text(seen), line)
                    assert (client.phase is ClientPhase.ACTING) == seen.acting
                    heard += 1
        return "accepted" if heard else "ignored"

    fuzz.run((said[max(0, at - 2) : at], data), read, RemoteProtocolError)


def fuzz_dealers(fuzz: Fuzz) -> None:
    """A match that gets a corrupted line before every answer, and a corrupted version now and then."""
    rng, match = fuzz.rng, fuzz.match
    if match is None or match.dealer.phase is not DealerPhase.PLAYING:
        name = rng.choice(sorted(RECORDS))
        match = fuzz.match = Match(record_of(name).game, hands=150, seed=fuzz.inputs).greet()
    dealer, told = match.dealer, match.question
    seen = parse_match_state(told, dealer.game)
    valid = reply_text(seen, random_action(rng, seen.state))
    data = corrupted(rng, valid.encode(), rng.choice(lines_of("FROM"))[1])
    (line,) = LineBuffer().feed(data.replace(b"\n", b"") + b"\n")
    acting, logged = dealer.acting_seat, len(match.log)

    def read() -> str:
        effects = dealer.receive(line, match.now_us)
        assert effects
        match.carry_out(effects)
        assert dealer.phase in (DealerPhase.PLAYING, DealerPhase.OVER)
        assert abs(sum(dealer.totals)) < 1e-6
        for text in match.log[logged:]:
            if text.startswith("STATE:"):
                assert abs(sum(parse_state_line(text, dealer.game).values)) < 1e-5
        if dealer.phase is DealerPhase.PLAYING and dealer.acting_seat == acting and match.question == told:
            return "ignored"
        return "accepted"

    fuzz.run(line, read)
    if match.dealer.phase is DealerPhase.PLAYING and match.question == told:
        match.receive(valid)
        assert dealer.phase is DealerPhase.OVER or match.question != told or dealer.acting_seat != acting


def fuzz_versions(fuzz: Fuzz) -> None:
    """The first line: a version is read, or the match fails with a reason."""
    match = fresh_match()
    line = text_of(fuzz.rng, corrupted(fuzz.rng, VERSION_LINE.encode(), fuzz.rng.choice(lines_of("TO"))[1]))

    def read() -> str:
        # The machine is left as it was: only its greeting is asked.
        match.dealer.phase, match.dealer._greeted, match.dealer.reason = DealerPhase.GREETING, 0, ""
        effects = match.dealer.receive(line, 0)
        if match.dealer.phase is DealerPhase.GREETING:
            assert match.dealer.acting_seat == 1
            return "accepted"
        assert match.dealer.phase is DealerPhase.FAILED
        assert effects
        assert match.dealer.reason.startswith("seat 1 (bot0) sent ")
        assert "\n" not in match.dealer.reason
        return "refused"

    fuzz.run(line, read)


@cache
def fresh_match() -> Match:
    return Match(record_of("nl2p").game, hands=1, seed=0)


# Inputs of each target, and how each of its endings must have been seen: a fuzz that is always refused proves little.
TARGETS: dict[Callable[[Fuzz], None], tuple[int, dict[str, float]]] = {
    fuzz_match_states: (80_000, {"accepted": 0.002, "refused": 0.5}),
    fuzz_state_lines: (40_000, {"accepted": 0.01, "refused": 0.5}),
    fuzz_score_lines: (30_000, {"accepted": 0.01, "refused": 0.2}),
    fuzz_headers: (20_000, {"accepted": 0.01, "refused": 0.2}),
    fuzz_transactions: (40_000, {"accepted": 0.01, "refused": 0.5}),
    fuzz_games: (20_000, {"accepted": 0.05, "refused": 0.1}),
    fuzz_cards: (20_000, {"accepted": 0.05, "refused": 0.2}),
    fuzz_replies: (60_000, {"accepted": 0.02, "mended": 0.02, "ignored": 0.2}),
    fuzz_clients: (40_000, {"accepted": 0.002, "refused": 0.5}),
    fuzz_dealers: (40_000, {"accepted": 0.05, "ignored": 0.2}),
    fuzz_versions: (10_000, {"accepted": 0.01, "refused": 0.2}),
}


def test_at_least_a_hundred_thousand_inputs() -> None:
    """Each test below asserts that it has read its number of inputs."""
    assert sum(inputs for inputs, _ in TARGETS.values()) >= 100_000
    defined = {value for name, value in globals().items() if name.startswith("fuzz_")}
    assert defined == set(TARGETS)


@pytest.fixture
def bounded_memory() -> Iterator[None]:
    """Asking for much more memory than the process has fails at once, and with something that is no `ParatusError`."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MAX_MORE_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__.removeprefix("fuzz_"))
def test_corrupted(target: Callable[[Fuzz], None]) -> None:
    fuzz = Fuzz(target.__name__)
    inputs, endings = TARGETS[target]
    for _ in range(inputs):
        target(fuzz)
        if len(fuzz.failures) >= SHOWN_FAILURES:
            break
    if fuzz.failures:
        pytest.fail("\n".join(fuzz.failures), pytrace=False)
    assert fuzz.inputs == inputs
    assert fuzz.slowest_s < MAX_INPUT_S, f"{fuzz.slowest_s} s: {fuzz.slowest!r:.300}"
    assert set(fuzz.seen) <= {"accepted", "refused", "mended", "ignored"}
    for ending, share in endings.items():
        assert fuzz.seen[ending] >= share * inputs, fuzz.seen


def test_corruption_uses_every_mutation_and_never_returns_the_line() -> None:
    rng = Random(0)
    line, other = lines_of("TO")[7][1], lines_of("TO")[900][1]
    for mutation in set(MUTATIONS):
        assert any(mutation(rng, line, other) != line for _ in range(50)), mutation
    results = {corrupted(rng, line, other) for _ in range(2_000)}
    assert line not in results
    assert len(results) > 1_200


def test_recorded_bad_input_and_noise_through_every_reader() -> None:
    """Whole files that are none of the expected texts: line by line refused, nothing escapes."""
    game = record_of("nl2p").game
    noise = gzip.compress(b"noise", mtime=0) * 20 + bytes(range(256)) * 10 + (DATA / "bad_input.txt").read_bytes()
    lines = LineBuffer().feed(noise + b"\n")
    assert len(lines) > 200
    refused = 0
    for line in lines:
        for read in (
            lambda text: parse_match_state(text, game),
            lambda text: parse_state_line(text, game),
            parse_score_line,
            lambda text: parse_header([text]),
            lambda text: parse_transaction(text, asked_at(*lines_of("FROM")[0])[0].state),
            parse_game,
        ):
            try:
                read(str(line))
            except ParatusError:
                refused += 1
    assert refused >= 6 * len(lines) - 20
