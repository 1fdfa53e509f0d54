"""`paratus bot` against dealers that are slow, silent, lying or dying: the exit code, the message, and every finished
hand in the store.

Both sides are real processes over loopback. Each case also bounds how long the bot may take to notice.
"""

from __future__ import annotations

import resource
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import Ended, Process, Processes, free_port, stored_decisions, stored_hands, toml, wait_until
from variants import some_of

CHECKED_DOWN = "cc/cc/cc/cc"
WAITS = {"connect_s": 0.4, "first_state_s": 0.4, "line_s": 0.4}
"""Limits on waiting for the dealer, far below the seconds that a bot may take to start and stop."""
NOTICED_S = 5.0
"""Within this the bot must be gone."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


def start_bot(
    run: Processes, port: str | int, *options: object, agent: str = "always-call", **popen: object
) -> Process:
    settings = run.folder / "settings.toml"
    settings.write_text(toml({"wait": WAITS}))
    return run.paratus(
        *("bot", "127.0.0.1", port, "--agent", agent, "--config", settings, "--store", run.folder / "bot.sqlite"),
        *options,
        **popen,
    )


def play(run: Processes, mode: str, *options: object, agent: str = "always-call") -> Ended:
    """A bot against a fake dealer; how the bot ended."""
    dealer = run.fake("dealer", mode)
    return start_bot(run, dealer.first_line(), *options, agent=agent).wait()


class Case(NamedTuple):
    """A dealer's mode and what must come of it."""

    mode: str
    code: int
    says: str
    """Part of the bot's last line."""
    hands: int
    """Finished hands that must be in the store."""
    agent: str = "always-call"


CASES = [
    Case("good", 0, "the dealer closed the match after 3 hands", 3),
    Case("slow", 0, "the dealer closed the match after 1 hands", 1),
    Case("byte_by_byte", 0, "the dealer closed the match after 3 hands", 3),
    Case("packed", 0, "the dealer closed the match after 3 hands", 3),
    Case("comments", 0, "the dealer closed the match after 3 hands", 3),
    Case("silent", 5, "the dealer is silent: no state arrived within 0.4 s (before the first hand)", 0),
    Case("silent_in_hand", 5, "no state arrived within 0.4 s (in the middle of a hand, after 1 finished hands)", 1),
    Case("silent_in_line", 5, "the dealer is silent: no state arrived within 0.4 s (after 1 hands)", 1),
    Case("chatty", 5, "the dealer is silent: no state arrived within 0.4 s (after 1 hands)", 1),
    Case("flooding", 5, "the dealer is silent: no state arrived within 0.4 s (after 1 hands)", 1),
    Case("lies_size", 4, "the dealer did not take our action r200", 0, "always-raise"),
    Case("lies_call", 4, "the dealer did not take our action r200", 0, "always-raise"),
    Case("lies_fold", 4, "the dealer did not take our action r200", 0, "always-raise"),
    Case("lies_shove", 4, "the dealer did not take our action r200", 0, "always-raise"),
    Case("lies_and_acts", 4, "the dealer did not take our action r200", 0, "always-raise"),
    Case("without_asking", 4, "the dealer did not take our action r200", 0, "always-raise"),
    Case("next_hand_early", 4, "hand 1 was cut short after 'cc/c'", 1),
    Case("same_hand_again", 4, "hand 0 is already over", 1),
    Case("higher_stacks", 4, "illegal raise to 30000: expected a raise to 200-20000", 1),
    Case("smaller_raise", 4, "illegal raise to 150: expected a raise to 200-20000", 1),
    Case("limit_game", 4, "a raise in a no-limit game needs a size", 1),
    Case("three_players", 4, "expected 2 hands of hole cards", 1),
    Case("third_position", 4, "this game has positions 0 to 1", 1),
    Case("three_hole_cards", 4, "expected 2 hole cards a player", 1),
    Case("cards_twice", 4, "the same card twice", 1),
    Case("opponents_cards", 4, "shows the hole cards of position 0 before the hand is over", 1),
    Case("error_text", 4, "'ERROR: go away': expected MATCHSTATE", 1),
    Case("nothing", 4, "'': expected MATCHSTATE", 1),
    Case("garbage", 4, "expected MATCHSTATE", 1),
    Case("no_newline", 4, "a line longer than 4096 bytes", 1),
    Case("dies_in_line", 3, "in the middle of a line, after b'MATCHSTATE:1:1:cc/cc' (in the middle of a hand", 1),
    Case("dies_in_line_between_hands", 3, "closed the connection in the middle of a line", 1),
    Case("dies_in_hand", 3, "the dealer is gone: disconnected (in the middle of a hand, after 2 finished hands)", 2),
    Case("dies_after_version", 3, "the dealer is gone: disconnected (before the first hand)", 0),
    Case("resets", 3, "the dealer is gone: disconnected (", 1),
]


@pytest.mark.parametrize("case", some_of(CASES, every=2), ids=[case.mode for case in CASES])
def test_a_dealer_that(run: Processes, case: Case) -> None:
    ended = play(run, case.mode, agent=case.agent)
    assert case.says in ended.last_line
    assert ended.code == case.code
    assert ended.out == ""
    assert ended.seconds < NOTICED_S
    hands = stored_hands(run.folder / "bot.sqlite")
    assert list(hands) == list(range(case.hands))
    assert {betting for betting, _ in hands.values()} <= {CHECKED_DOWN}


def test_what_a_good_dealer_sees(run: Processes) -> None:
    """The whole conversation is looked at once, so that the other cases mean something."""
    dealer = run.fake("dealer", "good")
    assert start_bot(run, dealer.first_line(), "--hands", 3).wait().last_line == (
        "paratus bot: all 3 hands played; +300 chips, 0 fallbacks"
    )
    lines = dealer.wait().out.splitlines()
    assert len(lines) == 1 + 1 + 3 * 4  # the port, the version, four actions a hand
    assert lines[1] == "VERSION:2.0.0"
    assert lines[2] == "MATCHSTATE:0:0:c:AhKd|:c"
    assert len(stored_decisions(run.folder / "bot.sqlite")) == 3 * 4


@pytest.mark.parametrize("wanted", [1, 3, 4, 3000])
def test_hands_played_against_hands_wanted(run: Processes, wanted: int) -> None:
    ended = play(run, "good", "--hands", wanted)
    assert ended.code == (0 if wanted <= 3 else 3)
    assert (f"after 3 of {wanted} hands" in ended.last_line) == (wanted > 3)
    assert len(stored_hands(run.folder / "bot.sqlite")) == 3


def test_nobody_listens(run: Processes) -> None:
    port = free_port()
    ended = start_bot(run, port).wait()
    assert ended.code == 3
    assert f"cannot connect to 127.0.0.1:{port}: " in ended.last_line
    assert ended.seconds < NOTICED_S
    assert stored_hands(run.folder / "bot.sqlite") == {}


def test_an_address_that_is_none(run: Processes) -> None:
    settings = run.folder / "waits.toml"
    settings.write_text(toml({"wait": WAITS}))
    options = ("--no-store", "--agent", "random", "--config", settings)
    ended = run.paratus("bot", "no.such.host.invalid", 4000, *options).wait()
    assert ended.code == 3
    assert "no.such.host.invalid:4000" in ended.last_line


def test_a_dealer_that_starts_after_us(run: Processes) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        patient = run.folder / "patient.toml"
        patient.write_text(toml({"wait": {"connect_s": 20.0}}))
        bot = start_bot(run, server.getsockname()[1], "--config", patient)
        wait_until(lambda: "always-call plays" in bot.said(), "the bot is about to connect")
        time.sleep(0.1)  # it is refused a few times
        server.listen()
        server.settimeout(10)
        connection, _ = server.accept()
        with connection:
            assert connection.recv(100) == b"VERSION:2.0.0\r\n"
    assert bot.wait().code == 3


def test_ten_megabytes_without_a_newline_cost_no_memory(run: Processes) -> None:
    usual = play(run, "good").peak_mib
    flooded = play(run, "no_newline", "--resume")
    assert flooded.code == 4
    assert flooded.peak_mib < usual + 5


def test_joining_in_the_middle_of_a_hand(run: Processes) -> None:
    """A resumed match: the decisions before the break are in the store, decided again as they were."""
    ended = play(run, "resumes")
    assert ended.code == 0
    assert list(stored_hands(run.folder / "bot.sqlite")) == [7, 8]
    asked = [(decision.hand, decision.betting) for decision in stored_decisions(run.folder / "bot.sqlite")]
    assert asked == [
        *((7, betting) for betting in ("", "cc/c", "cc/cc/c", "cc/cc/cc/c")),
        *((8, betting) for betting in ("c", "cc/", "cc/cc/", "cc/cc/cc/")),
    ]
    assert {decision.action for decision in stored_decisions(run.folder / "bot.sqlite")} == {"c"}


def test_joining_a_hand_in_which_we_are_not_asked_again(run: Processes) -> None:
    assert play(run, "resumes_unasked", agent="always-raise").code == 0
    assert stored_hands(run.folder / "bot.sqlite") == {3: ("r200f", 100.0)}
    (decision,) = stored_decisions(run.folder / "bot.sqlite")
    assert (decision.hand, decision.betting, decision.action) == (3, "", "r200")


def test_killed_in_the_middle_of_a_hand(run: Processes) -> None:
    """`kill -9`: every hand whose last state had arrived is in the store."""
    dealer = run.fake("dealer", "silent_in_hand")
    patient = run.folder / "patient.toml"
    patient.write_text("")
    bot = start_bot(run, dealer.first_line(), "--config", patient)
    heard = 1 + 1 + 4 + 2  # port, version, four actions in hand 0, two in hand 1
    wait_until(lambda: len(dealer.printed().splitlines()) == heard, "the bot is in hand 1")
    bot.end()
    assert stored_hands(run.folder / "bot.sqlite") == {0: (CHECKED_DOWN, 100.0)}


# --- The store and the settings ---------------------------------------------------------------------------------------


def test_a_full_disk_ends_no_match(run: Processes) -> None:
    """The match is played to its end; then the exit code says that the records are not all there."""
    dealer = run.fake("dealer", "good")
    bot = start_bot(run, dealer.first_line(), preexec_fn=_small_files)
    ended = bot.wait()
    assert ended.code == 6
    assert "the dealer closed the match after 3 hands" in ended.err
    assert "records not written" in ended.last_line
    assert len(dealer.wait().out.splitlines()) == 1 + 1 + 3 * 4
    assert len(stored_hands(run.folder / "bot.sqlite")) < 3


def _small_files() -> None:
    """Room for an empty store and a hand, but not for three."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (40 * 1024, 40 * 1024))


@pytest.mark.parametrize("what", ["text", "folder", "newer"])
def test_a_store_that_cannot_be_used(run: Processes, what: str) -> None:
    path = run.folder / "bot.sqlite"
    if what == "text":
        path.write_text("no database, but long enough to look like one " * 20)
    elif what == "folder":
        path.mkdir()
    else:
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 99")
    ended = start_bot(run, 4000).wait()
    assert ended.code == 6
    assert ended.last_line.startswith(f"paratus bot: match store {path}: ")
    assert ended.seconds < NOTICED_S


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["127.0.0.1"], "HOST and PORT are missing"),
        (["127.0.0.1", "0"], "port 0: expected 1 to 65535"),
        (["127.0.0.1", "65536"], "port 65536: expected 1 to 65535"),
        (["127.0.0.1", "4000", "--agent", "nobody"], "agent 'nobody' is not known: expected one of always-fold, "),
        (["127.0.0.1", "4000", "--game", "nothing"], "nothing"),
        (["127.0.0.1", "4000", "--seed", "-1"], "bot.seed = -1: "),
        (["127.0.0.1", "4000", "--hands", "-5"], "bot.hands = -5: "),
        (["127.0.0.1", "4000", "--config", "missing.toml"], "missing.toml: No such file or directory"),
        (["127.0.0.1", "4000", "--config", "broken.toml"], "broken.toml: not a TOML file"),
        (["127.0.0.1", "4000", "--config", "unknown.toml"], "unknown.toml: wait.lines_s = 1.0: "),
        (["127.0.0.1", "4000", "--config", "zero.toml"], "zero.toml: wait.line_s = 0.0: "),
    ],
)
def test_bad_settings(here: Callable[..., Ended], tmp_path: Path, arguments: list[str], says: str) -> None:
    (tmp_path / "broken.toml").write_text("[bot\n")
    (tmp_path / "unknown.toml").write_text("[wait]\nlines_s = 1.0\n")
    (tmp_path / "zero.toml").write_text("[wait]\nline_s = 0.0\n")
    ended = here("bot", *arguments)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert says in ended.err
