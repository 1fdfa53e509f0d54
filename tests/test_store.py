"""The match store: what goes in comes out, nothing committed is lost, failed writes wait, strange files are refused."""

from __future__ import annotations

import re
import resource
import select
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import numpy as np
import pytest
from random_play import random_hand

from machine.errors import ConfigError, ParatusError
from protocol.cards import cards_text
from protocol.game import DEFAULT_GAME, load_game
from protocol.hands import hand_cards
from protocol.state import CALL, FOLD, Deal, Raise, action_text, can_fold, payoffs, raise_bounds, start
from protocol.wire import MatchState, board_text, deal_text, read_betting, view
from strategies.players.off_tree import count_off_tree
from strategies.policy import Origin, Policy, RaiseBetween, alike, round_columns
from strategies.store import SCHEMA_VERSION, MatchStore, StoreError, StoreReader

HOLDEM = load_game(DEFAULT_GAME).game
LEDUC = load_game("leduc").game
IDENTITY = {"kind": "test", "seed": "0", "match": ""}


def open_store(path, *, game=HOLDEM, agent="tester", identity=IDENTITY, resume=False, patient=False):
    store = MatchStore(path, game, agent, identity, resume=resume)
    if not patient:
        store._db.execute("PRAGMA busy_timeout = 20")
    return store


@contextmanager
def reading(path):
    with closing(StoreReader(path)) as reader:
        yield reader


def some_policy(rng, state, board=()):
    """A different column for each of the 1,326 hands; none for those that meet the board."""
    bounds = raise_bounds(state)
    support = ((FOLD,) if can_fold(state) else ()) + (CALL,)
    if bounds and bounds.low < bounds.high:
        support += (RaiseBetween(*bounds), Raise(bounds.high))
    table = np.random.default_rng(rng.getrandbits(32)).random((len(support), 1326))
    dead = [hand for hand in range(1326) if {*hand_cards(hand)} & {*board}]
    table[:, dead] = 0
    return Policy(support, round_columns(table), Origin("nested", "because", rng.randrange(1000)))


def a_decision(hand=0, betting="", policy=None):
    """A decision at a state without board, by whoever is to act."""
    state = read_betting(start(HOLDEM), betting)
    asked = MatchState(state.actor, hand, state, Deal(((0, 1), ()), ()))
    return asked, policy or alike((CALL,), (1.0,), Origin("direct")), CALL, 0.5


def a_hand(hand=0):
    """A hand that was folded at once."""
    return MatchState(0, hand, read_betting(start(HOLDEM), "f"), Deal(((0, 1), ()), ())), -50.0


def add(store, *hands):
    for hand in hands:
        store.add_decision(*a_decision(hand))
        store.add_hand(*a_hand(hand))


def hand_numbers(path, match=1):
    with reading(path) as reader:
        return [hand.hand for hand in reader.hands(match)]


def decision_count(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT count(*) FROM decision").fetchone()[0]


# --- What goes in comes out -----------------------------------------------------------------------------------------


def test_round_trip_of_a_match_with_policies_for_all_hands(tmp_path):
    rng = Random(4)
    store = open_store(tmp_path / "deep" / "er" / "match.sqlite")
    hands, decisions = [], []
    for number in range(0, 60, 2):
        played = random_hand(rng, HOLDEM)
        position = rng.randrange(2)
        for state, action in zip(played.states, played.actions, strict=False):
            if state.actor == position:
                asked = MatchState(position, number, state, view(state, played.deal, position))
                policy = some_policy(rng, state, asked.deal.board)
                seconds = rng.random()
                store.add_decision(asked, policy, action, seconds)
                board = board_text(HOLDEM, asked.deal.board, len(state.history))
                decisions.append((number, state.betting, board, action_text(action, HOLDEM), seconds, policy))
        last = played.states[-1]
        seen, value = view(last, played.deal, position), payoffs(last, played.deal)[position]
        store.add_hand(MatchState(position, number, last, seen), value)
        hands.append((number, position, last.betting, deal_text(last, seen), value))
        if rng.random() < 0.7:
            store.flush()
            assert store.error == ""
    store.close()
    assert len(decisions) > 50
    assert {len(board) for _, _, board, _, _, _ in decisions} == {0, 7, 10, 13}  # /7hAdTd/4s/5c
    with reading(tmp_path / "deep" / "er" / "match.sqlite") as reader:
        assert reader.matches() == [1]
        assert [(h.hand, h.position, h.betting, h.cards, h.value) for h in reader.hands(1)] == hands
        found = list(reader.decisions(1))
        assert [(d.hand, d.betting, d.board, d.action, d.seconds) for d in found] == [row[:5] for row in decisions]
        for decision, (*_, policy) in zip(found, decisions, strict=True):
            assert decision.policy.support == policy.support
            assert decision.policy.weights.tobytes() == policy.weights.tobytes()
            assert decision.policy.weights.shape == policy.weights.shape == (len(policy.support), 1326)
            assert decision.policy.origin == policy.origin
        assert reader.fallbacks() == 0


def test_the_opponents_cards_are_stored_as_they_were_seen(tmp_path):
    store = open_store(tmp_path / "s")
    state = read_betting(start(HOLDEM), "r300f")
    store.add_hand(MatchState(1, 0, state, Deal(((), (51, 50)), ())), 100.0)
    store.close()
    with reading(tmp_path / "s") as reader:
        assert [hand.cards for hand in reader.hands(1)] == [f"|{cards_text((51, 50))}"]


def test_the_game_is_stored_whole(tmp_path):
    for name in (DEFAULT_GAME, "leduc", "holdem.limit.3p", "kuhn.limit.3p"):
        game = load_game(name).game
        open_store(tmp_path / name, game=game).close()
        with reading(tmp_path / name) as reader:
            read = reader.game(1)
            assert [getattr(read, key) for key in game.__slots__ if key != "name"] == [
                getattr(game, key) for key in game.__slots__ if key != "name"
            ]
            with pytest.raises(StoreError, match="no match 2"):
                reader.game(2)


def test_the_same_decision_or_hand_again_replaces_the_first(tmp_path):
    store = open_store(tmp_path / "s")
    store.add_decision(*a_decision(policy=alike((FOLD, CALL), (1.0, 1.0), Origin("first"))))
    store.add_hand(*a_hand())
    store.flush()
    store.add_decision(*a_decision(policy=alike((CALL, Raise(200)), (1.0, 3.0), Origin("second"))))
    store.add_hand(a_hand()[0], 7.5)
    store.close()
    with reading(tmp_path / "s") as reader:
        (decision,), (hand,) = reader.decisions(1), reader.hands(1)
    assert decision.policy.support == (CALL, Raise(200))
    assert decision.policy.weights.tolist() == [[16384], [49151]]
    assert decision.policy.origin.route == "second"
    assert hand.value == 7.5


def test_decisions_come_in_the_order_of_the_hand(tmp_path):
    bettings = ["", "r200r600", "r200r600c/", "r200r600c/r700r900"]
    states = [read_betting(start(HOLDEM), betting) for betting in bettings]
    store = open_store(tmp_path / "s")
    for hand in (10, 9):
        for state in reversed(states):
            board = tuple(range(8, 8 + HOLDEM.board_cards_by(state.street)))
            store.add_decision(MatchState(0, hand, state, Deal(((0, 1), ()), board)), *a_decision()[1:])
    store.close()
    with reading(tmp_path / "s") as reader:
        order = [(decision.hand, decision.betting) for decision in reader.decisions(1)]
    assert order == [(hand, betting) for hand in (9, 10) for betting in bettings]


def test_nothing_is_written_before_the_flush_and_all_of_it_after(tmp_path):
    store = open_store(tmp_path / "s")
    store.add_decision(*a_decision())
    store.add_hand(*a_hand())
    assert hand_numbers(tmp_path / "s") == []
    store.flush()
    assert hand_numbers(tmp_path / "s") == [0]
    assert decision_count(tmp_path / "s") == 1
    store.flush()
    store.close()


def test_write_ahead_log(tmp_path):
    store = open_store(tmp_path / "s")
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with closing(sqlite3.connect(tmp_path / "s")) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()
    assert not (tmp_path / "s-wal").exists()  # the last to close tidies up: one file to copy


def test_fallbacks_are_counted_over_all_matches(tmp_path):
    fallback = alike((CALL,), (1.0,), Origin("fallback", "too late"))
    for _ in range(2):
        store = open_store(tmp_path / "s")
        store.add_decision(*a_decision(0, policy=fallback))
        store.add_decision(*a_decision(1))
        store.close()
    with reading(tmp_path / "s") as reader:
        assert reader.fallbacks() == 2
        assert reader.matches() == [1, 2]


def test_decisions_that_the_tree_has_not_are_counted(tmp_path):
    said = (
        '{"node": 0}', '{"node": 7, "translated": 1}', '{"node": 3, "translated": 2, "jumps": 1, "replaced": 1}',
        '{"node": 4, "replaced": 2}', "", '{"margin": 3, "jumps": 1}', '"node"',
    )  # fmt: skip
    for _ in range(2):
        store = open_store(tmp_path / "s")
        for hand, details in enumerate(said):
            policy = alike((CALL,), (1.0,), Origin("blueprint", details=details))
            store.add_decision(*a_decision(hand, policy=policy))
        store.close()
    with reading(tmp_path / "s") as reader:
        assert count_off_tree(reader.details()) == {"decisions": 8, "translated": 4, "jumps": 2, "replaced": 4}


# --- Resuming -------------------------------------------------------------------------------------------------------


def test_resume_goes_on_in_the_latest_row_of_the_same_match(tmp_path):
    path = tmp_path / "s"
    for number, resume, expected in ((0, False, 1), (1, False, 2), (2, True, 2), (3, True, 2), (4, False, 3)):
        store = open_store(path, resume=resume)
        assert store._match == expected
        add(store, number)
        store.close()
    assert [hand_numbers(path, match) for match in (1, 2, 3)] == [[0], [1, 2, 3], [4]]


@pytest.mark.parametrize(
    "other", [{"game": LEDUC}, {"agent": "else"}, {"identity": {**IDENTITY, "seed": "1"}}, {"identity": {}}]
)
def test_resume_takes_no_other_match(tmp_path, other):
    open_store(tmp_path / "s").close()
    for expected in (2, 2):
        store = open_store(tmp_path / "s", resume=True, **other)
        assert store._match == expected
        store.close()


def test_resume_without_a_match_begins_one(tmp_path):
    store = open_store(tmp_path / "s", resume=True)
    assert store._match == 1
    store.close()


def test_policies_of_an_unfinished_hand(tmp_path):
    rng = Random(8)
    store = open_store(tmp_path / "s")
    asked = {betting: a_decision(5, betting)[0] for betting in ("", "r300r900")}
    policies = {betting: some_policy(rng, seen.state) for betting, seen in asked.items()}
    for betting, seen in asked.items():
        store.add_decision(seen, policies[betting], CALL, 0.1)
    store.add_decision(*a_decision(4))
    store.close()
    again = open_store(tmp_path / "s", resume=True)
    found = again.policies(5)
    assert found.keys() == policies.keys()
    for betting, policy in found.items():
        assert policy.weights.tobytes() == policies[betting].weights.tobytes()
        assert policy.support == policies[betting].support
        assert policy.origin == policies[betting].origin
    assert again.policies(6) == {}
    other = open_store(tmp_path / "s")
    assert other.policies(5) == {}
    other.close()
    again.close()


# --- Killed ---------------------------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
import numpy as np
from protocol.game import DEFAULT_GAME, load_game
from protocol.state import CALL, FOLD, Deal, apply, start
from protocol.wire import MatchState, read_betting
from strategies.policy import Origin, Policy, round_columns
from strategies.store import MatchStore

game = load_game(DEFAULT_GAME).game
store = MatchStore(Path(sys.argv[1]), game, "writer", {}, resume=True)
rng = np.random.default_rng(0)
deal = Deal(((0, 1), ()), ())
bettings = ("", "cr300", "cr300r900r2000")
for hand in range(int(sys.argv[2]), 10**6):
    for betting in bettings:
        state = read_betting(start(game), betting)
        policy = Policy((FOLD, CALL), round_columns(rng.random((2, 1326))), Origin("nested"))
        store.add_decision(MatchState(state.actor, hand, state, deal), policy, CALL, 0.1)
    store.add_hand(MatchState(0, hand, read_betting(start(game), "f"), deal), -50.0)
    store.flush()
    print(hand, flush=True)
"""
KILLS = 12


def test_what_was_committed_survives_kill_9(tmp_path):
    """Killed at random moments, a process loses at most the hand in hand, and that one whole."""
    path, rng, stored = tmp_path / "s", Random(9), 0
    for _ in range(KILLS):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(stored)], stdout=subprocess.PIPE)
        with writer:
            assert select.select([writer.stdout], [], [], 30)[0], "the writer wrote nothing"
            for _ in range(rng.randrange(1, 40)):
                writer.stdout.readline()
            time.sleep(rng.random() * 2e-3)
            writer.send_signal(signal.SIGKILL)
            said = writer.stdout.read()
        assert writer.returncode == -signal.SIGKILL
        lines = said.split()
        numbers = hand_numbers(path)
        assert numbers == list(range(len(numbers)))
        committed = int(lines[-1]) + 1 if lines and said.endswith(b"\n") else stored + 1
        assert committed <= len(numbers)
        if lines and said.endswith(b"\n"):
            assert len(numbers) <= committed + 1  # written, killed before it said so
        with reading(path) as reader:
            decisions = list(reader.decisions(1))
            assert reader.matches() == [1]
        assert [d.hand for d in decisions] == [hand for hand in numbers for _ in range(3)]
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert len(numbers) > stored
        stored = len(numbers)
    assert stored > KILLS


# --- Failing writes -------------------------------------------------------------------------------------------------


@contextmanager
def locked(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def no_room(store):
    """As many pages as there are now, and no more."""
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    yield
    store._db.execute("PRAGMA max_page_count = 1000000")


@contextmanager
def no_bytes(path):
    """The system refuses to let any file of ours grow (it sends SIGXFSZ, which Python ignores)."""
    size = max(file.stat().st_size for file in path.parent.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(store):
    store._db.execute("PRAGMA query_only = ON")
    yield
    store._db.execute("PRAGMA query_only = OFF")


def failing(kind, store):
    path = store.path
    return {
        "locked": lambda: locked(path),
        "no room": lambda: no_room(store),
        "no bytes": lambda: no_bytes(path),
        "read-only": lambda: read_only(store),
    }[kind]()


MESSAGES = {
    "locked": "database is locked",
    "no room": "database or disk is full",
    "no bytes": "full|disk I/O error",
    "read-only": "attempt to write a readonly database",
}
every_failure = pytest.mark.parametrize("kind", MESSAGES)


def big_hands(store, *hands):
    """Records of several pages each."""
    rng = Random(0)
    for hand in hands:
        asked = a_decision(hand)[0]
        store.add_decision(asked, some_policy(rng, asked.state), CALL, 0.1)
        store.add_hand(*a_hand(hand))


@every_failure
def test_records_wait_until_they_can_be_written(tmp_path, kind):
    path = tmp_path / "s"
    store = open_store(path)
    big_hands(store, 0)
    store.flush()
    with failing(kind, store):
        for hand in (1, 2, 3):
            big_hands(store, hand)
            store.flush()  # does not raise: the match goes on
            assert re.search(MESSAGES[kind], store.error)
    assert hand_numbers(path) == [0]
    big_hands(store, 4)
    store.flush()
    assert store.error == ""
    assert hand_numbers(path) == [0, 1, 2, 3, 4]
    assert decision_count(path) == 5
    store.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@every_failure
def test_close_says_what_could_not_be_written(tmp_path, kind):
    path = tmp_path / "s"
    store = open_store(path)
    big_hands(store, 0)
    store.flush()
    with pytest.raises(StoreError, match=f"match store .*: 4 records not written: .*({MESSAGES[kind]})") as caught:  # noqa: PT012, SIM117
        with failing(kind, store):
            big_hands(store, 1, 2)
            store.close()
    assert "\n" not in str(caught.value)
    assert hand_numbers(path) == [0]
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        store._db.execute("SELECT 1")


def test_close_writes_what_waited_through_a_failure(tmp_path):
    store = open_store(tmp_path / "s")
    with locked(tmp_path / "s"):
        add(store, 0)
        store.flush()
        assert store.error
    store.close()
    assert hand_numbers(tmp_path / "s") == [0]


def test_a_lock_costs_no_record_and_hardly_any_time(tmp_path):
    """While somebody else writes to the file the records wait, but not the match; `close` waits longer."""
    code = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.readline()
time.sleep(0.5)
"""
    store = open_store(tmp_path / "s", patient=True)
    assert store._db.execute("PRAGMA busy_timeout").fetchone() == (50,)  # ms; `paratus bench store` measures a flush
    command, pipe = [sys.executable, "-c", code, str(tmp_path / "s")], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as other:
        assert other.stdout.readline() == b"locked\n"
        add(store, 0)
        store.flush()  # returns though the other keeps its lock
        assert "locked" in store.error
        other.stdin.write(b"that will do\n")
        other.stdin.flush()
        store.close()
    assert store.error == ""
    assert hand_numbers(tmp_path / "s") == [0]


def test_a_store_is_unused_until_something_is_kept(tmp_path):
    store = open_store(tmp_path / "s")
    assert store.unused
    store.add_decision(*a_decision())
    assert not store.unused
    store.flush()
    assert not store.unused
    store.close()
    again = open_store(tmp_path / "s", identity={"kind": "another"})
    assert not again.unused
    again.close()


def test_readers_do_not_disturb_the_writer(tmp_path):
    store = open_store(tmp_path / "s")
    add(store, 0, 1)
    store.flush()
    with reading(tmp_path / "s") as reader:
        hands = reader.hands(1)
        assert next(hands).hand == 0  # in the middle of a query
        add(store, 2)
        store.flush()
        assert store.error == ""
        assert [hand.hand for hand in hands] == [1]
    store.close()


def test_what_waited_long_is_written_in_parts_and_whole_at_the_end(tmp_path):
    store = open_store(tmp_path / "s")
    add(store, *range(600))  # two records each
    left = []
    while store.unwritten > 500:
        store.flush()
        left.append(store.unwritten)
        assert hand_numbers(tmp_path / "s") == list(range(600 - left[-1] // 2))
    assert left == [700, 200]
    store.close()
    assert hand_numbers(tmp_path / "s") == list(range(600))


def test_an_interrupted_flush_is_made_good_by_the_next(tmp_path):
    class Interrupting(list):
        def __iter__(self):
            yield from super().__iter__()
            raise KeyboardInterrupt

    store = open_store(tmp_path / "s")
    add(store, 0)
    whole = store._waiting
    store._waiting = Interrupting(whole)
    with pytest.raises(KeyboardInterrupt):
        store.flush()
    store._waiting = whole
    assert hand_numbers(tmp_path / "s") == []
    store.close()
    assert hand_numbers(tmp_path / "s") == [0]


@pytest.mark.parametrize(
    "origin", [Origin("nested", "\udcff"), Origin("nested", iterations=2**63), Origin("nested", iterations=np.int64(3))]
)
def test_an_origin_that_sqlite_could_not_hold_is_made_fit_for_it(tmp_path, origin):
    store = open_store(tmp_path / "s")
    store.add_decision(*a_decision(policy=Policy((CALL,), np.array([[65535]], np.uint16), origin)))
    store.close()
    assert store.error == ""
    assert decision_count(tmp_path / "s") == 1


def test_progress_of_a_match(tmp_path):
    store = open_store(tmp_path / "s")
    assert store.progress() == (0, 0.0)
    store.add_decision(*a_decision())
    store.add_hand(*a_hand())
    store.flush()
    assert store.progress() == (1, 0.5)
    store.close()


# --- Files that are no store ----------------------------------------------------------------------------------------


def refused(path, *, error=StoreError, message=""):
    """Both the writer and the reader say so in one line that names the file; the file is left as it was."""
    before = path.read_bytes() if path.is_file() else None
    said = []
    for opener in (open_store, StoreReader):
        with pytest.raises(ParatusError, match=message) as caught:
            opener(path)
        said.append(caught)
    assert said[0].type is error
    for caught in said:
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)
    if before is not None:
        assert path.read_bytes() == before


def test_a_file_that_is_no_database(tmp_path):
    for name, content in (
        ("text", b"hello\n" * 1000),
        ("short", b"x"),
        ("half", b"SQLite format 3\0" + b"\xff" * 4000),
    ):
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name, message="file is not a database")


@pytest.mark.parametrize("version", [0, 1, 7])
@pytest.mark.parametrize("table", ["notes (a)", "match (a)"])
def test_a_database_of_something_else(tmp_path, version, table):
    path = tmp_path / "notes.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE {table}")
        db.execute(f"PRAGMA user_version = {version}")
        db.commit()
    refused(path, message="a database of something else: expected a match store or a new file")


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99, -1])
def test_another_schema_version(tmp_path, version):
    path = tmp_path / "s"
    open_store(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    refused(path, message=rf"version {version}: this Paratus reads version {SCHEMA_VERSION}")


def test_reading_writes_nothing(tmp_path):
    """Neither into the file nor beside it, so that a match on a disc that cannot be written can be scored."""
    folder = tmp_path / "kept"
    folder.mkdir()
    with closing(open_store(folder / "s")) as store:
        big_hands(store, 0, 1)
    (folder / "empty").write_bytes(b"")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    with reading(folder / "s") as reader:
        assert [hand.hand for hand in reader.hands(reader.matches()[0])] == [0, 1]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader._db.execute("DELETE FROM hand")
    with pytest.raises(StoreError, match="empty: expected a match store"):
        StoreReader(folder / "empty")
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


@pytest.mark.parametrize("writable", [True, False])
def test_reading_where_nothing_can_be_written(tmp_path, monkeypatch, writable):
    with closing(open_store(tmp_path / "s")) as store:
        big_hands(store, 0)
    monkeypatch.setattr("strategies.store.os.access", lambda path, mode: writable)
    with reading(tmp_path / "s") as reader:
        assert len(list(reader.hands(reader.matches()[0]))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_places_where_no_file_can_be(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "below", Path("\0")):
        with pytest.raises(StoreError) as caught:
            open_store(path)
        assert "\n" not in str(caught.value)
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ConfigError, match="no such file: expected a match store"):
            StoreReader(path)
    assert not (tmp_path / "missing").exists()


def test_a_file_damaged_in_the_middle(tmp_path):
    path = tmp_path / "s"
    store = open_store(path)
    big_hands(store, *range(20))
    store.close()
    data = bytearray(path.read_bytes())
    data[8192:] = Random(0).randbytes(len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="malformed") as caught, reading(path) as reader:  # noqa: PT012
        list(reader.hands(1))
        list(reader.decisions(1))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("weights = x'0000'", "stored weights are damaged"),
        ("weights = zeroblob(0)", "do not hold 2652 bytes"),
        ("columns = 1325", "do not hold 2650 bytes"),
        ("columns = -1", "stored weights of -1 hands"),
        ("columns = 0", "stored weights of 0 hands"),
        ("columns = 9223372036854775807", "stored weights of 9223372036854775807 hands"),
        ("support = 'q'", "support 'q': expected f, c"),
        ("support = 'c,c', columns = 663", "the same action twice|add up to"),
    ],
)
def test_a_damaged_decision_is_refused_with_its_place(tmp_path, change, message):
    path = tmp_path / "s"
    store = open_store(path)
    store.add_decision(*a_decision(3, policy=alike((CALL,), (1.0,), Origin("direct"))))
    one = Policy((CALL,), np.full((1, 1326), 65535, np.uint16))
    store.add_decision(*a_decision(3, "r300r900", one))
    store.flush()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE decision SET {change} WHERE betting = 'r300r900'")
        db.commit()
    for read in (lambda: store.policies(3), lambda: list(reader.decisions(1))):
        with reading(path) as reader, pytest.raises(StoreError, match=message) as caught:
            read()
        assert str(path) in str(caught.value)
        assert "hand 3, decision 'r300r900'" in str(caught.value)
        assert "\n" not in str(caught.value)
    store.close()
