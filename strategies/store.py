"""The match store: every hand and every decision with its policy, in one SQLite file a match.

WAL mode without a sync at each commit: a killed process loses nothing that was committed (the kernel has it); a power
cut may lose the last moments but never damages the file. Records wait in memory until `flush` writes them in one
transaction; when to flush is the session's business. If that fails (disk full) they go on waiting, in order, and are
tried again with the next flush; `close` raises if some still could not be written.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from machine.errors import ConfigError, ParatusError
from protocol.game import Game, game_text, parse_game
from protocol.state import Action, action_text
from protocol.wire import MatchState, deal_text
from strategies.policy import Origin, Policy, PolicyError, pack_weights, parse_support, support_text, unpack_weights

SCHEMA_VERSION: Final = 1
_BUSY_S: Final = 0.05
"""How long a write waits for another user of the file: records can wait, the match cannot."""
_CLOSING_BUSY_MS: Final = 5000
_MOST_RECORDS: Final = 500
"""In one transaction: after an hour without room on the disk the match cannot wait until all is written."""
_SMALL_CACHE_KIB: Final = 64
_MAGIC: Final = b"SQLite format 3\0"
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS match (
    id INTEGER PRIMARY KEY,
    started TEXT NOT NULL,      -- UTC
    game TEXT NOT NULL,         -- the whole definition
    agent TEXT NOT NULL,
    identity TEXT NOT NULL      -- JSON: versions, hashes, seed, match key
) STRICT;
CREATE TABLE IF NOT EXISTS hand (
    match INTEGER NOT NULL REFERENCES match,
    hand INTEGER NOT NULL,
    position INTEGER NOT NULL,
    betting TEXT NOT NULL,
    cards TEXT NOT NULL,        -- as we saw them
    value REAL NOT NULL,        -- chips won by us
    finished TEXT NOT NULL,     -- UTC
    PRIMARY KEY (match, hand)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS decision (
    match INTEGER NOT NULL REFERENCES match,
    hand INTEGER NOT NULL,
    betting TEXT NOT NULL,      -- before the action
    board TEXT NOT NULL,
    action TEXT NOT NULL,
    route TEXT NOT NULL,
    reason TEXT NOT NULL,
    iterations INTEGER NOT NULL,
    model TEXT NOT NULL,
    details TEXT NOT NULL,      -- JSON: what the route has to say (margin, exploitability, …)
    seconds REAL NOT NULL,
    support TEXT NOT NULL,      -- f,c,r300,r400-20000
    columns INTEGER NOT NULL,   -- hands, or 1 when all are played alike
    weights BLOB NOT NULL,      -- uint16 [support, columns], each column adds up to 65535; zlib
    PRIMARY KEY (match, hand, betting)
) STRICT, WITHOUT ROWID;
"""
_SELECT_KIND: Final = """
SELECT user_version, (SELECT count(*) FROM sqlite_schema),
    (SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('match', 'hand', 'decision'))
FROM pragma_user_version
"""
_INSERT_HAND: Final = "INSERT OR REPLACE INTO hand VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_DECISION: Final = "INSERT OR REPLACE INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SELECT_DECISIONS: Final = (
    "SELECT hand, betting, board, action, seconds, support, columns, weights, "
    "route, reason, iterations, model, details "
    "FROM decision WHERE match = ?"
)


class StoreError(ParatusError):
    """The match store cannot be opened, written or read."""


@dataclass(frozen=True, slots=True)
class StoredHand:
    """One finished hand as it was stored."""

    hand: int
    position: int
    betting: str
    cards: str
    value: float


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """One decision as it was stored."""

    hand: int
    betting: str
    board: str
    action: str
    seconds: float
    policy: Policy


class MatchStore:
    """One match being written. Close it when done."""

    def __init__(self, path: Path, game: Game, agent: str, identity: dict[str, str], *, resume: bool = False) -> None:
        """Open or create the file; `resume` goes on in the row of the latest match with the same key, if any."""
        self.path = path
        self.error = ""
        """Why the last write failed; empty when everything is written."""
        self._game = game
        self._waiting: list[tuple[str, tuple[object, ...]]] = []
        self._db = _open(path)
        self._match = self._match_row(agent, identity, resume)

    def _match_row(self, agent: str, identity: dict[str, str], resume: bool) -> int:
        key = (game_text(self._game), agent, json.dumps(identity, sort_keys=True))
        try:
            found = self._db.execute(
                "SELECT id FROM match WHERE game = ? AND agent = ? AND identity = ? ORDER BY id DESC", key
            ).fetchone()
            if found and resume:
                return int(found[0])
            added = self._db.execute(
                "INSERT INTO match (started, game, agent, identity) VALUES (?, ?, ?, ?)", (_utc(), *key)
            ).lastrowid
        except sqlite3.Error as error:
            raise StoreError(f"match store {self.path}: {error}") from None
        assert added is not None
        return added

    def add_decision(
        self, asked: MatchState, policy: Policy, action: Action, seconds: float, *, again: bool = False
    ) -> None:
        """Keep what was decided; it is in the file after the next `flush`. Decided `again`, it replaces nothing."""
        self._waiting.append(
            (
                _INSERT_DECISION.replace("REPLACE", "IGNORE") if again else _INSERT_DECISION,
                (
                    self._match,
                    asked.hand,
                    asked.state.betting,
                    deal_text(asked.state, asked.deal._replace(hole=())),
                    action_text(action, self._game),
                    policy.origin.route,
                    policy.origin.reason,
                    policy.origin.iterations,
                    policy.origin.model,
                    policy.origin.details,
                    seconds,
                    support_text(policy.support),
                    policy.weights.shape[1],
                    _packed(policy),
                ),
            )
        )

    def add_hand(self, last: MatchState, value: float) -> None:
        """Keep a finished hand and what we won in it; it is in the file after the next `flush`."""
        cards = deal_text(last.state, last.deal)
        values = (self._match, last.hand, last.position, last.state.betting, cards, value, _utc())
        self._waiting.append((_INSERT_HAND, values))

    @property
    def unwritten(self) -> int:
        """Records that wait to be written."""
        return len(self._waiting)

    def flush(self) -> None:
        """Write what waits, all or nothing; on failure it goes on waiting and `error` says why.

        Where much waits because it could not be written earlier, a part of it is written now and the rest later.
        """
        if not self._waiting:
            return
        try:
            self._db.execute("BEGIN")
            for statement, values in islice(self._waiting, _MOST_RECORDS):
                self._db.execute(statement, values)
            self._db.execute("COMMIT")
        except (sqlite3.Error, ValueError, OverflowError) as error:  # the latter two: values that SQLite cannot hold
            self.error = str(error)
        else:
            self.error = ""
            del self._waiting[:_MOST_RECORDS]
        finally:  # also when interrupted: `close` tries once more
            if self._db.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")

    def progress(self) -> tuple[int, float]:
        """Hands finished and seconds of thought so far in this match, as stored."""
        try:
            hands = self._db.execute("SELECT count(*) FROM hand WHERE match = ?", (self._match,)).fetchone()[0]
            seconds = self._db.execute("SELECT total(seconds) FROM decision WHERE match = ?", (self._match,)).fetchone()
        except sqlite3.Error as error:
            raise StoreError(f"match store {self.path}: {error}") from None
        return int(hands), float(seconds[0])

    def policies(self, hand: int) -> dict[str, Policy]:
        """The policies stored for an unfinished hand, by the betting they answered."""
        try:
            rows = self._db.execute(f"{_SELECT_DECISIONS} AND hand = ?", (self._match, hand)).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"match store {self.path}: {error}") from None
        decisions = [_decision(self.path, row) for row in rows]
        return {decision.betting: decision.policy for decision in decisions}

    @property
    def unused(self) -> bool:
        """True if nothing was ever played: the file holds names of matches, no hands and no decisions."""
        if self._waiting:
            return False
        try:
            found = self._db.execute("SELECT EXISTS (SELECT 1 FROM hand) OR EXISTS (SELECT 1 FROM decision)").fetchone()
        except sqlite3.Error:
            return False
        return not found[0]

    def one_of_many(self) -> None:
        """For a server of many matches: little memory, and tidying up is left to `checkpoint`, no part of a `flush`."""
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_autocheckpoint = 0")
            self._db.execute(f"PRAGMA cache_size = -{_SMALL_CACHE_KIB}")

    def checkpoint(self) -> None:
        """Move what was written from the log of the file into the file, as far as nobody is in the way.

        It waits for the disk, as no other method does, and may run in another thread while this one writes.
        """
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(self.path, timeout=0)) as other:
            other.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Write what waits and close; raises `StoreError` if something could not be written."""
        if self._waiting:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute(f"PRAGMA busy_timeout = {_CLOSING_BUSY_MS}")
        self.flush()
        while self._waiting and not self.error:
            self.flush()
        self._db.close()
        if self._waiting:
            raise StoreError(f"match store {self.path}: {len(self._waiting)} records not written: {self.error}")


class StoreReader:
    """The matches in a store file."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ConfigError(f"{path}: no such file: expected a match store")
        self.path = path
        self._db = _open(path, reading=True)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def matches(self) -> list[int]:
        """Their numbers, oldest first."""
        return [int(row[0]) for row in self._rows("SELECT id FROM match ORDER BY id", ())]

    def game(self, match: int) -> Game:
        """The game of a match."""
        for row in self._rows("SELECT game FROM match WHERE id = ?", (match,)):
            return parse_game(str(row[0]), f"{self.path} match {match}").game
        raise StoreError(f"{self.path}: no match {match}")

    def identity(self, match: int) -> tuple[str, dict[str, str]]:
        """The agent of a match and what made it."""
        for agent, identity in self._rows("SELECT agent, identity FROM match WHERE id = ?", (match,)):
            return str(agent), dict(json.loads(identity))
        raise StoreError(f"{self.path}: no match {match}")

    def hands(self, match: int) -> Iterator[StoredHand]:
        """Its hands, in order."""
        query = "SELECT hand, position, betting, cards, value FROM hand WHERE match = ? ORDER BY hand"
        for row in self._rows(query, (match,)):
            yield StoredHand(*row)

    def decisions(self, match: int) -> Iterator[StoredDecision]:
        """Its decisions, by hand and in order within the hand."""
        query = f"{_SELECT_DECISIONS} ORDER BY hand, length(betting), betting"
        for row in self._rows(query, (match,)):
            yield _decision(self.path, row)

    def answered(self, match: int) -> dict[int, set[str]]:
        """By hand, the betting of every decision that is stored."""
        found: dict[int, set[str]] = {}
        for hand, betting in self._rows("SELECT hand, betting FROM decision WHERE match = ?", (match,)):
            found.setdefault(hand, set()).add(betting)
        return found

    def decisions_of(self, match: int, hand: int) -> dict[str, StoredDecision]:
        """Those of one hand, by the betting that they answered."""
        rows = [_decision(self.path, row) for row in self._rows(f"{_SELECT_DECISIONS} AND hand = ?", (match, hand))]
        return {decision.betting: decision for decision in rows}

    def fallbacks(self) -> int:
        """Decisions, over all matches, that were not made as they should have been."""
        rows = self._rows("SELECT count(*) FROM decision WHERE route = 'fallback' OR route LIKE 'fallback/%'", ())
        return int(next(rows)[0])

    def details(self) -> Iterator[str]:
        """What the routes had to say of each decision, over all matches."""
        for (details,) in self._rows("SELECT details FROM decision", ()):
            yield str(details)

    def _rows(self, query: str, values: tuple[object, ...]) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._db.execute(query, values)
        except sqlite3.Error as error:
            raise StoreError(f"match store {self.path}: {error}") from None


def _open(path: Path, *, reading: bool = False) -> sqlite3.Connection:
    try:
        if not reading:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and not _looks_right(path):  # SQLite takes a few bytes of anything for an empty database
            raise StoreError(f"match store {path}: file is not a database: expected a match store or a new file")
        # Used by one thread at a time, but not always the same: a server opens and closes stores in threads.
        address = f"{path.resolve().as_uri()}?{_reading_mode(path) if reading else 'mode=rwc'}"
        db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=_BUSY_S, check_same_thread=False)
    except (OSError, ValueError, sqlite3.Error) as error:
        raise StoreError(f"match store {path}: cannot be opened: {error}") from None
    try:
        version, tables, ours = db.execute(_SELECT_KIND).fetchone()
        if ours != (3 if version else 0) or (tables and not version):
            raise StoreError(f"match store {path}: a database of something else: expected a match store or a new file")
        if version not in (0, SCHEMA_VERSION):
            raise StoreError(f"match store {path}: version {version}: this Paratus reads version {SCHEMA_VERSION}")
        if reading and version == 0:
            raise StoreError(f"match store {path}: empty: expected a match store")
        if reading:
            db.execute("PRAGMA query_only = 1")
            return db
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        if version == 0:
            db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
    except sqlite3.Error as error:
        with contextlib.suppress(sqlite3.Error):
            db.close()
        raise StoreError(f"match store {path}: {error}") from None
    except StoreError:
        db.close()
        raise
    return db


def _reading_mode(path: Path) -> str:
    """Where nobody can write there is nobody to take turns with. Elsewhere a reader takes part in turns like a writer:
    one that must not would leave SQLite's files for them behind.
    """
    locked = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
    return "immutable=1" if locked else "mode=rw"


def _looks_right(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) in (b"", _MAGIC)


def _decision(path: Path, row: tuple[Any, ...]) -> StoredDecision:
    hand, betting, board, action, seconds, support, columns, weights, *origin = row
    try:
        entries = parse_support(support)
        policy = Policy(entries, unpack_weights(weights, len(entries), columns), Origin(*origin))
    except PolicyError as error:
        raise StoreError(f"match store {path}: hand {hand}, decision {betting!r}: {error}") from None
    return StoredDecision(hand, betting, board, action, seconds, policy)


@lru_cache(maxsize=16)
def _packed(policy: Policy) -> bytes:
    return pack_weights(policy.weights)


def _utc() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
