"""The folder of a session: which hands exist, how they ended, and the policies they were played by.

    session.json     what plays, by what settings; the same command continues the session
    session.jsonl    a line when a hand is asked for, and one when it has ended (`dealer_tools.formats.slumbot`)
    paratus.sqlite   the match store: policies, for AIVAT

The log alone decides which hands there are. A hand that was asked for and has no end, because the client was killed, is
written down as broken when the session is continued: its number is never used again. Lines are handed to the system one
by one: a killed process loses none, a power cut may lose the last ones.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Final

from dealer_tools.children import LOCK, lock_folder
from dealer_tools.formats.slumbot import CLIENT, begun_line, broken_line, hand_line, read_numbers, slumbot_game
from dealer_tools.scoring.sources import SESSION
from dealer_tools.slumbot.replies import Seen
from machine.errors import ConfigError, quote
from machine.files import is_leftover, read_document, write_document
from protocol.state import Action
from protocol.wire import MatchState, view
from strategies.policy import Policy
from strategies.store import MatchStore

_PLAN: Final = "session.json"
_KILLED: Final = "the client was ended in the middle of the hand"


class SlumbotRecord:
    """An open folder. A context manager; `store` raises `StoreError` on leaving if something could not be written."""

    def __init__(self, folder: Path, agent: str, identity: dict[str, str]) -> None:
        self.folder = folder
        self.finished = self.broken = self.chips = 0
        _check_folder(folder)
        self._lock = lock_folder(folder)
        try:
            _check_plan(folder, {"agent": agent, "identity": identity})
            numbers = read_numbers(folder / SESSION)
            self._log = _open_log(folder / SESSION)
            self.store = MatchStore(folder / f"{CLIENT}.sqlite", slumbot_game(), agent, identity, resume=True)
        except BaseException:
            os.close(self._lock)
            raise
        self.next_hand = max(numbers.finished | numbers.broken | numbers.open, default=-1) + 1
        self.finished, self.broken = len(numbers.finished), len(numbers.broken)
        self.finished_before = self.finished
        for hand in sorted(numbers.open):
            self.add_broken(hand, _KILLED, None)

    def __enter__(self) -> SlumbotRecord:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.store.close()
        finally:
            os.close(self._log)
            os.close(self._lock)

    def begin(self) -> int:
        """The number of a hand that is about to be asked for."""
        hand, self.next_hand = self.next_hand, self.next_hand + 1
        self._write(begun_line(hand, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())))
        return hand

    def add_decision(self, asked: MatchState, policy: Policy, action: Action, seconds: float) -> None:
        """Before the action is sent."""
        self.store.add_decision(asked, policy, action, seconds)
        self.store.flush()

    def add_finished(self, seen: Seen) -> None:
        """The last reply of a hand."""
        assert seen.final is not None
        record, position = seen.final.record, seen.position
        self._write(hand_line(seen.hand, seen.document))
        self.finished += 1
        value = record.values[position]
        shown = view(record.state, record.deal, position)
        self.store.add_hand(MatchState(position, seen.hand, record.state, shown), value)
        self.store.flush()

    def add_broken(self, hand: int, why: str, last: Seen | None) -> None:
        """A hand that cannot be finished."""
        self._write(broken_line(hand, why, None if last is None else last.document))
        self.broken += 1

    def _write(self, line: str) -> None:
        data = memoryview(line.encode("utf-8") + b"\n")
        while data:
            data = data[os.write(self._log, data) :]


def _check_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in folder.iterdir() if not is_leftover(path.name)}
    except OSError as error:
        raise ConfigError(f"--out {folder}: {error.strerror}: expected a folder that can be made") from None
    if _PLAN not in names and names - {LOCK}:
        raise ConfigError(f"--out {folder}: holds files, but no session: expected a new or an empty folder")


def _check_plan(folder: Path, wanted: dict[str, Any]) -> None:
    """Write what plays into a new folder, or refuse one in which something else played."""
    path = folder / _PLAN
    if not path.exists():
        write_document(path, wanted)
        return
    there = read_document(path)
    if there == wanted:
        return
    if there.get("agent") != wanted["agent"]:
        what = f"agent {quote(str(there.get('agent')))}, asked for {quote(wanted['agent'])}"
    else:
        held, asked = there.get("identity"), wanted["identity"]
        held = held if isinstance(held, dict) else {}
        key = next((key for key in {**asked, **held} if held.get(key) != asked.get(key)), "identity")
        what = f"{key} {quote(str(held.get(key)))}, asked for {quote(str(asked.get(key)))}"
    raise ConfigError(f"{folder} holds another session: {what}: choose another --out")


def _open_log(path: Path) -> int:
    """The log, to be appended to; a line that was cut off is ended."""
    log = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
    size = os.fstat(log).st_size
    if size and os.pread(log, 1, size - 1) != b"\n":
        os.write(log, b"\n")
    return log
