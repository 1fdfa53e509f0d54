"""`paratus deal` against bots that are slow, silent, talkative, wrong or dying, against bad arguments, and against its
own death: `-T -a` must lead to the log of an uninterrupted match.

All are real processes over loopback; the bad bot sits in seat 2, which acts first in hand 0.
"""

from __future__ import annotations

import re
import resource
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import Ended, Process, Processes, free_port, wait_until
from variants import some_of

from protocol.game import game_text, load_game
from protocol.log import parse_state_line

HOLDEM = "holdem.nolimit.2p.reverse_blinds"
GAME = load_game(HOLDEM).game
HANDS = 4
TIMES = ("--version_timeout", 400, "--t_response", 500)
"""Short for a bot that is silent, long for one that answers."""
NOTICED_S = 6.0
"""Within this a dealer with a bad bot must be gone."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


def deal(run: Processes, *modes: str, hands: int = HANDS, options: Sequence[object] = ()) -> tuple[Ended, list[Ended]]:
    """A match of fake bots; how the dealer and the bots ended."""
    dealer = run.paratus("deal", "m", HOLDEM, hands, 5, "A", "B", *TIMES, *options)
    ports = dealer.first_line().split()
    bots = [run.fake("bot", mode, "127.0.0.1", port) for mode, port in zip(modes, ports, strict=True)]
    return dealer.wait(), [bot.wait() for bot in bots]


def log_lines(run: Processes) -> list[str]:
    return (run.folder / "m.log").read_text().splitlines()


def warnings(ended: Ended) -> list[str]:
    return [line for line in ended.err.splitlines() if line.startswith("WARNING")]


@pytest.fixture(scope="module")
def clean_log(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The log of two good bots."""
    with Processes(tmp_path_factory.mktemp("clean")) as processes:
        dealer, bots = deal(processes, "good", "good")
        assert (dealer.code, [bot.code for bot in bots], warnings(dealer)) == (0, [0, 0], [])
        lines = log_lines(processes)
        assert dealer.out.splitlines()[1:] == [lines[-1]]
        assert len(lines) == 4 + HANDS + 1
        return lines


# --- Bots that are odd but not wrong: the match is that of good bots --------------------------------------------------


class Odd(NamedTuple):
    mode: str
    says: str = ""
    """Part of what the dealer must have said."""
    warns: bool = False


ODD = [
    Odd("good"),
    Odd("slow"),
    Odd("byte_by_byte"),
    Odd("version_1", "ERROR: this server is currently using version 2.0.0"),
    Odd("version_2_1", "ERROR: this server is currently using version 2.0.0"),
    Odd("chatter_before_turn", "# hello"),
    Odd("garbage", "WARNING: bad state format in response", warns=True),
    Odd("long_line", "WARNING: bad state format in response", warns=True),
    Odd("out_of_turn", "WARNING: ignoring un-requested response", warns=True),
]


@pytest.mark.parametrize("odd", ODD, ids=[odd.mode for odd in ODD])
def test_a_bot_that_is_only_odd(run: Processes, clean_log: list[str], odd: Odd) -> None:
    dealer, _ = deal(run, "good", odd.mode)
    assert dealer.code == 0
    assert odd.says in dealer.err
    assert bool(warnings(dealer)) == odd.warns
    assert log_lines(run) == clean_log


# --- Bots that end the match ------------------------------------------------------------------------------------------


class Bad(NamedTuple):
    mode: str
    reason: str
    """The dealer's last line, after its name."""
    error: str
    """The reference dealer's message, which comes before it."""


FLOOD = "seat 2 (B) sent more than 10000 lines that answer nothing in hand 0"
LATE = "seat 2 (B) ran out of time in hand 0"
NO_VERSION = "ERROR: could not read version string from seat 2"
NO_ACTION = "ERROR: could not get action from seat 2"
BAD = [
    Bad("mute", "seat 2 (B) sent no version line in time", NO_VERSION),
    Bad("version_wrong", "seat 2 (B) sent 'HELLO' instead of VERSION:2.0.0", "ERROR: invalid version string HELLO"),
    Bad("version_comment", "seat 2 (B) sent '# VERSION:2.0.0' instead of VERSION:2.0.0", "ERROR: invalid version"),
    Bad("half_version", "seat 2 (B) closed the connection in the middle of a line, after b'VERSION:2.0'", NO_VERSION),
    Bad(
        "endless_version", "seat 2 (B) sent a line that is too long instead of VERSION:2.0.0", "ERROR: invalid version"
    ),
    Bad("dies_at_once", "seat 2 (B) disconnected before its version line", NO_VERSION),
    Bad("dies_after_version", "seat 2 (B) disconnected", NO_ACTION),  # or reset: by the state it never read
    Bad(
        "dies_in_line", "seat 2 (B) closed the connection in the middle of a line, after b'MATCHSTATE:1:0::", NO_ACTION
    ),
    Bad("dies_in_hand", "seat 2 (B) disconnected in hand 0", NO_ACTION),
    Bad("dies_waiting", "seat 2 (B) disconnected", NO_ACTION),  # or reset: it was sent something after it left
    Bad("silent", LATE, NO_ACTION),
    Bad("deaf", LATE, NO_ACTION),
    Bad("comments", LATE, ""),
    Bad("comment_flood", FLOOD, NO_ACTION),
    Bad("garbage_only", LATE, NO_ACTION),
    Bad("garbage_flood", FLOOD, NO_ACTION),
    Bad("no_newline", LATE, NO_ACTION),
]


@pytest.mark.parametrize("bad", BAD, ids=[bad.mode for bad in BAD])
def test_a_bot_that_ends_the_match(run: Processes, bad: Bad) -> None:
    # A flood has to be read to its bound: on a busy machine that may take longer than the others may stay silent.
    patience = ["--t_response", 8_000, "--t_hand", 8_000] if bad.mode.endswith("_flood") else []
    dealer, _ = deal(run, "good", bad.mode, options=patience)
    assert dealer.code == 1
    assert dealer.last_line.startswith(f"paratus deal: {bad.reason}")
    assert bad.error in dealer.err
    assert dealer.out.count("\n") == 1  # the ports, and no score
    assert dealer.seconds < NOTICED_S
    assert log_lines(run)[4:] == []


def test_finished_hands_are_in_the_log_of_a_match_that_fails(run: Processes, clean_log: list[str]) -> None:
    """Seat 1 sits out the second hand: the first is there, and nothing else."""
    dealer = run.paratus("deal", "m", HOLDEM, HANDS, 5, "A", "B", *TIMES)
    first, second = dealer.first_line().split()
    run.fake("bot", "good", "127.0.0.1", second)
    bot = run.fake("bot", "good", "127.0.0.1", first)
    wait_until(lambda: ":1:" in bot.printed(), "hand 1 has begun")
    bot.send(signal.SIGSTOP)  # wherever it is by now, it answers no more
    ended = dealer.wait()
    bot.send(signal.SIGCONT)
    played = log_lines(run)[4:]
    if ended.code == 0:  # a machine so slow that the match was over before the signal
        assert log_lines(run) == clean_log
        return
    assert ended.last_line == f"paratus deal: seat 1 (A) ran out of time in hand {len(played)}"
    assert played
    assert played == clean_log[4 : 4 + len(played)]


@pytest.mark.parametrize("mode", ["no_newline", "long_line", "endless_version", "comment_flood", "garbage_flood"])
def test_floods_cost_no_memory(run: Processes, mode: str) -> None:
    usual, _ = deal(run, "good", "good")
    flooded, _ = deal(run, "good", mode)
    assert flooded.peak_mib < usual.peak_mib + 12


def test_illegal_actions_are_corrected_as_the_reference_does(run: Processes) -> None:
    dealer, _ = deal(run, "good", "illegal")
    assert dealer.code == 0
    assert set(warnings(dealer)) == {
        "WARNING: raise of 1 increased to 200",
        "WARNING: raise of 99999 decreased to 20000",
        "WARNING: invalid action, changed to call",
        "WARNING: bad action format in response, changed to call",
    } | {line for line in warnings(dealer) if line.startswith("WARNING: raise of ")}
    states = [parse_state_line(line, GAME) for line in log_lines(run)[4:-1]]
    assert len(states) == HANDS
    assert states[0].state.betting.startswith("r200")  # r1, to the minimum


def test_the_limit_on_a_hand_ends_a_wait(run: Processes) -> None:
    dealer, _ = deal(run, "good", "silent", options=["--t_response", 60_000, "--t_hand", 500])
    assert dealer.code == 1
    assert dealer.last_line == f"paratus deal: {LATE}"
    assert dealer.seconds < NOTICED_S


# --- Connecting -------------------------------------------------------------------------------------------------------


def start_dealer(run: Processes, *options: object) -> tuple[Ended | None, list[int]]:
    dealer = run.paratus("deal", "m", HOLDEM, 1, 5, "A", "B", "--start_timeout", 400, *options)
    wait_until(lambda: not dealer.running or "\n" in dealer.printed(), "the dealer listens or gives up")
    if not dealer.running:
        return dealer.wait(), []
    return None, [int(port) for port in dealer.first_line().split()]


@pytest.mark.parametrize("seats", [0, 1])
def test_nobody_connects(run: Processes, seats: int) -> None:
    dealer = run.paratus("deal", "m", HOLDEM, 1, 5, "A", "B", "--start_timeout", 300)
    ports = dealer.first_line().split()
    sockets = [socket.create_connection(("127.0.0.1", int(port))) for port in ports[:seats]]
    ended = dealer.wait()
    for connection in sockets:
        connection.close()
    assert ended.code == 1
    name = "AB"[seats]
    assert ended.last_line == f"paratus deal: seat {seats + 1} ({name}) did not connect within 0.3 s"
    assert f"ERROR: timed out waiting for seat {seats + 1} to connect" in ended.err
    assert ended.seconds < NOTICED_S


def test_a_seat_is_taken_once(run: Processes) -> None:
    dealer = run.paratus("deal", "m", HOLDEM, 1, 5, "A", "B", "--start_timeout", 5000)
    first, second = (int(port) for port in dealer.first_line().split())
    with socket.create_connection(("127.0.0.1", first)):
        wait_until(lambda: not _connects("127.0.0.1", first), "the seat is closed to others")
        assert _connects("127.0.0.1", second)


def test_it_listens_on_loopback_only(run: Processes) -> None:
    _, ports = start_dealer(run)
    listening = {address for address, _ in _listening()}
    mine = {address for address, port in _listening() if port in ports}
    assert len(ports) == 2
    assert listening
    assert mine == {"0100007F"}
    assert not _connects("127.0.0.2", ports[0])
    assert _connects("127.0.0.1", ports[0])


@pytest.mark.parametrize("address", ["127.0.0.2", "0.0.0.0"])
def test_it_binds_where_it_is_told(run: Processes, address: str) -> None:
    _, ports = start_dealer(run, "--bind", address)
    assert _connects("127.0.0.2", ports[0])
    assert _connects("127.0.0.1", ports[1]) == (address == "0.0.0.0")


def test_ports_are_those_asked_for(run: Processes) -> None:
    wanted = [free_port(), free_port()]
    _, ports = start_dealer(run, "-p", f"{wanted[0]},{wanted[1]}")
    assert ports == wanted


def test_a_port_in_use(run: Processes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended, _ = start_dealer(run, "-p", f"0,{port}")
        assert ended is not None
        assert ended.code == 2
        assert ended.err == f"paratus deal: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def _connects(host: str, port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex((host, port)) == 0


def _listening() -> list[tuple[str, int]]:
    """Address (as the kernel writes it) and port of every listening IPv4 socket."""
    found = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A":
            address, port = fields[1].split(":")
            found.append((address, int(port, 16)))
    return found


# --- Options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["m", HOLDEM, "0", "1", "A", "B"], "HANDS: '0': expected a number from 1 to "),
        (["m", HOLDEM, "x", "1", "A", "B"], "HANDS: 'x': expected a number from 1 to "),
        (["m", HOLDEM, "1", "-1", "A", "B"], ""),
        (["m", HOLDEM, "1", "4294967296", "A", "B"], "SEED: '4294967296': expected a number from 0 to 4294967295"),
        (["m", "nothing", "1", "1", "A", "B"], "nothing"),
        (["m", HOLDEM, "1", "1", "A"], f"1 players: {HOLDEM} is played by 2"),
        (["m", HOLDEM, "1", "1", "A", "B", "C"], f"3 players: {HOLDEM} is played by 2"),
        (["m", HOLDEM, "1", "1", "A:1", "B"], "name 'A:1': expected 1 to 64 characters"),
        (["m", HOLDEM, "1", "1", "A", "B", "-p", "4000"], "-p '4000': expected 2 ports from 0 to 65535"),
        (["m", HOLDEM, "1", "1", "A", "B", "-p", "4000,70000"], "-p '4000,70000': expected 2 ports from 0 to 65535"),
        (["m", HOLDEM, "1", "1", "A", "B", "--t_response", "0"], "--t_response: '0': expected a number from 1 to "),
        (["m", HOLDEM, "1", "1", "A", "B", "--start_timeout", "soon"], "--start_timeout: 'soon': expected a number"),
        (["m", HOLDEM, "1", "1", "A", "B", "--bind", "192.0.2.1"], "cannot listen on 192.0.2.1:0: "),
        (["no/such/folder/m", HOLDEM, "1", "1", "A", "B"], "no/such/folder/m.log: No such file or directory"),
        (["m", HOLDEM, "1", "1", "A", "B", "--nonsense"], "--nonsense"),
        (
            ["m", HOLDEM, "1", "1", "A", "B", "--bind", "300.1.1.1"],
            "deal: cannot listen on 300.1.1.1:0: expected an address of this machine\n",
        ),
        (["m", HOLDEM, "1", "1", "A", "B", "--bind", "a b"], "cannot listen on a b:0: expected an address of this "),
        (["m", HOLDEM, "1", "1", "A", "B", "--bind", ""], "--bind '': expected an address\n"),
        (["m", HOLDEM, "1", "1", "A"], "expected `paratus deal NAME GAME HANDS SEED PLAYER PLAYER`\n"),
        (["", HOLDEM, "1", "1", "A", "B"], "name of the match '': expected printable characters without blanks"),
        (["my match", HOLDEM, "1", "1", "A", "B"], "name of the match 'my match': expected"),
        (["a\nb", HOLDEM, "1", "1", "A", "B"], "name of the match 'a\\nb': expected"),
        (["m", "my games/leduc.game", "1", "1", "A", "B"], "game 'my games/leduc.game': expected printable"),
    ],
)
def test_bad_arguments(here: Callable[..., Ended], tmp_path: Path, arguments: list[str], says: str) -> None:
    """And no file is touched."""
    (tmp_path / "my games").mkdir()
    (tmp_path / "my games/leduc.game").write_text(game_text(load_game("leduc").game))
    ended = here("deal", *arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("paratus deal: ")
    assert ended.err.count("\n") == 1
    assert says in ended.err
    assert not list(tmp_path.glob("*log"))


def test_quiet_keeps_errors_warnings_and_the_score(run: Processes, clean_log: list[str]) -> None:
    dealer, _ = deal(run, "good", "good", options=["-q"])
    assert dealer.err.splitlines() == [*clean_log[:4], clean_log[-1]]
    dealer, _ = deal(run, "good", "illegal", options=["-q"])
    assert {line.split(":")[0].split(" ")[0] for line in dealer.err.splitlines()} == {
        "#",
        "#--t_response",
        "#--t_hand",
        "#--t_per_hand",
        "WARNING",
        "SCORE",
    }
    dealer, _ = deal(run, "good", "mute", options=["-q"])
    assert dealer.err.splitlines()[4:] == [NO_VERSION, "paratus deal: seat 2 (B) sent no version line in time"]


def test_fixed_seats(run: Processes) -> None:
    deal(run, "good", "good", options=["-f"])
    assert {line.rsplit(":", 1)[1] for line in log_lines(run)[4:]} == {"A|B"}


def test_seats_rotate(clean_log: list[str]) -> None:
    assert [line.rsplit(":", 1)[1] for line in clean_log[4:]] == ["A|B", "B|A", "A|B", "B|A", "A|B"]


def test_no_log(run: Processes) -> None:
    dealer, _ = deal(run, "good", "good", options=["-l"])
    assert dealer.code == 0
    assert not list(run.folder.glob("m.*"))


def test_a_log_that_cannot_be_written(run: Processes) -> None:
    """One line, and a log that is sound as far as it goes; the transactions resume it where there is room again."""
    dealer = run.paratus("deal", "m", HOLDEM, 40, 5, "A", "B", *TIMES, "-q", "-T", preexec_fn=_small_files)
    for port in dealer.first_line().split():
        run.fake("bot", "good", "127.0.0.1", port)
    ended = dealer.wait()
    assert ended.code == 1
    assert re.fullmatch(r"paratus deal: m\.t?log: File too large", ended.last_line)
    dealer, _ = deal(run, "good", "good", hands=40, options=["-T", "-a"])
    assert dealer.code == 0
    assert len(log_lines(run)) == 4 + 40 + 1


def _small_files() -> None:
    """Room for a few hands."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))


# --- Resuming ---------------------------------------------------------------------------------------------------------

RANDOM_HANDS = 300


def start_random_match(run: Processes, *options: object) -> tuple[Process, list[Process]]:
    """A dealer and two of our random bots, which decide the same in every attempt."""
    dealer = run.paratus("deal", "m", HOLDEM, RANDOM_HANDS, 7, "A", "B", "-T", "-q", *options)
    settings = ("--agent", "random", "--seed", 3, "--hands", RANDOM_HANDS, "--no-store", "--resume")
    ports = dealer.first_line().split()
    return dealer, [
        run.paratus("bot", "127.0.0.1", port, *settings, "--match", name)
        for name, port in zip("AB", ports, strict=True)
    ]


class Whole(NamedTuple):
    """The files of an uninterrupted match."""

    log: bytes
    transactions: bytes


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    with Processes(folder) as processes:
        dealer, bots = start_random_match(processes)
        assert dealer.wait().code == 0
        assert [bot.wait().code for bot in bots] == [0, 0]
    return Whole((folder / "m.log").read_bytes(), (folder / "m.tlog").read_bytes())


def untimed(transactions: bytes) -> list[bytes]:
    return [line.rsplit(b" ", 2)[0] for line in transactions.splitlines()]


@pytest.mark.parametrize("moments", some_of([[1], [0.1], [0.5], [0.2, 0.4, 0.6, 0.8], [0.8]], every=3))
def test_killed_dealers_lead_to_the_same_log(run: Processes, whole: Whole, moments: list[float]) -> None:
    """`kill -9` after that share of the transactions (1: after the first), then `-T -a`."""
    actions = whole.transactions.count(b"\n")
    path = run.folder / "m.tlog"
    for moment in moments:
        lines = 1 if moment == 1 else int(moment * actions)
        dealer, bots = start_random_match(run, "-a")
        wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= lines, f"{lines} actions")  # noqa: B023
        dealer.end()
        assert dealer.wait().code == -signal.SIGKILL
        assert {bot.wait().code for bot in bots} == {3}
        assert path.read_bytes().count(b"\n") < actions, "the match was over before it could be interrupted"
    dealer, bots = start_random_match(run, "-a")
    assert dealer.wait().code == 0
    assert {bot.wait().code for bot in bots} == {0}
    assert (run.folder / "m.log").read_bytes() == whole.log
    assert untimed(path.read_bytes()) == untimed(whole.transactions)


@pytest.mark.parametrize(
    "where", some_of(["in a line", "after a line", "in the first line", "in the last line", "no log"], every=2)
)
def test_cut_files_lead_to_the_same_log(run: Processes, whole: Whole, where: str) -> None:
    middle = whole.transactions.index(b"\n", len(whole.transactions) // 2) + 1
    cut = {
        "in a line": middle + 5,
        "after a line": middle,
        "in the first line": 5,
        "in the last line": len(whole.transactions) - 1,
        "no log": middle,
    }[where]
    (run.folder / "m.tlog").write_bytes(whole.transactions[:cut])
    lines = whole.transactions[:cut].split(b"\n")[:-1]
    hand = int(lines[-1].split()[1]) if lines else 0
    log = whole.log[: whole.log.index(b"STATE:%d:" % hand)]
    if where != "no log":
        (run.folder / "m.log").write_bytes(log[:-7] if hand else log)  # the log, too, may have lost its end
    dealer, bots = start_random_match(run, "-a")
    ended = dealer.wait()
    assert ended.code == 0
    assert ("NOTE: m.tlog: the last line is cut off: removed" in ended.err) == (
        "line" in where and where != "after a line"
    )
    assert {bot.wait().code for bot in bots} == {0}
    assert (run.folder / "m.log").read_bytes() == whole.log
    assert untimed((run.folder / "m.tlog").read_bytes()) == untimed(whole.transactions)


@pytest.mark.parametrize("lost", ["the score", "the last hand", "nothing"])
def test_a_match_killed_after_its_last_action_needs_no_players(run: Processes, whole: Whole, lost: str) -> None:
    (run.folder / "m.tlog").write_bytes(whole.transactions)
    ends = {
        "the score": whole.log.index(b"SCORE"),
        "the last hand": whole.log.index(b"STATE:%d:" % (RANDOM_HANDS - 1)),
        "nothing": None,
    }
    (run.folder / "m.log").write_bytes(whole.log[: ends[lost]])
    ended = run.paratus("deal", "m", HOLDEM, RANDOM_HANDS, 7, "A", "B", "-T", "-q", "-a").wait()
    assert ended.code == 0
    assert ended.out.encode() == whole.log[whole.log.index(b"SCORE") :]
    assert (run.folder / "m.log").read_bytes() == whole.log
    assert (run.folder / "m.tlog").read_bytes() == whole.transactions


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("another seed", "m.log:1: '# name/game/hands/seed m"),
        ("another seed, no transactions", "m.log:1: '# name/game/hands/seed m"),
        ("no log at all", "m.log:1: 'Dear diary,'"),
        ("another hand", "m.log:15: 'STATE:10:"),
        ("more hands than transactions", "m.log:15: 'STATE:10:"),
        ("transactions of another match", "m.tlog: cannot be resumed: "),
        ("transactions that are none", "m.tlog: cannot be resumed: "),
    ],
)
def test_foreign_files_are_refused_and_kept(run: Processes, whole: Whole, what: str, says: str) -> None:
    log, transactions = whole.log, whole.transactions
    half = transactions[: transactions.index(b" 20 ") - 1]
    half = half[: half.rindex(b"\n") + 1]
    if what.startswith("another seed"):
        log = log.replace(b" 7\n", b" 8\n")
        transactions = b"" if "no transactions" in what else half
    elif what == "no log at all":
        log, transactions = b"Dear diary,\n", b""
    elif what == "another hand":
        at = log.index(b"STATE:10:")
        log, transactions = log[:at] + log[log.index(b"STATE:11:") :], half
        log = log[:at] + b"STATE:10:f:|::\n" + log[at:]
    elif what == "more hands than transactions":
        transactions = transactions[: transactions.index(b" 10 ") - 1]
        transactions = transactions[: transactions.rindex(b"\n") + 1]
    elif what == "transactions of another match":
        transactions = b"f 0 1.000000 2.000000\nr300 9 1.000000 2.000000\n"
    elif what == "transactions that are none":
        transactions = b"\xff\xfe\n"
    (run.folder / "m.log").write_bytes(log)
    (run.folder / "m.tlog").write_bytes(transactions)
    ended = run.paratus("deal", "m", HOLDEM, RANDOM_HANDS, 7, "A", "B", "-T", "-a").wait()
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith(f"paratus deal: {says}")
    assert ended.err.count("\n") == 1
    assert (run.folder / "m.log").read_bytes() == log
    assert (run.folder / "m.tlog").read_bytes() == transactions
    assert {path.name for path in run.folder.glob("m.*")} == {"m.log", "m.tlog"}
