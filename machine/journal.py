"""A file that keeps the results of lots: a run that is killed at any moment goes on with what is there.

Lines of JSON: the first says of what job they are, each other one is a result. A line is written with one call, after
its lot is done. A file that ends in the middle of a line was being written when its writer died: that line is cut off,
and its lot is done again. The same job goes on after the last line; another job is refused, and so is a second writer.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from machine.errors import ConfigError, quote
from machine.lots import Key

Result = TypeVar("Result")
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JournalFormat(Generic[Result]):
    """What is in such a file, and what it is called when it is refused."""

    head: Document
    """Of the first line: equal jobs, and only these, have equal heads. Its first key names the format."""
    encode: Callable[[Key, Result], Document]
    decode: Callable[[int, Document], tuple[Key, Result]]
    """Of the line of so many results before it; ValueError says what was expected instead."""
    things: str
    """What results are: hands, rows."""
    writer: str
    """The command that writes such files."""
    option: str = ""
    """By which the user named the file."""
    expected: str = "expected a new file"


class Journal(Generic[Result]):
    """The file, open for results that are missing."""

    def __init__(self, descriptor: int, form: JournalFormat[Result], results: dict[Key, Result]) -> None:
        self._descriptor, self._format = descriptor, form
        self.results = results
        """Those that were there."""

    def keep(self, key: Key, result: Result) -> None:
        """One more, at the end."""
        _write(self._descriptor, _line(self._format.encode(key, result)))


@contextmanager
def open_journal(path: Path, form: JournalFormat[Result]) -> Iterator[Journal[Result]]:
    """The file, made if it is not there, without what is broken at its end."""
    named = f"{form.option} {path}".strip()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise ConfigError(f"{named}: {error.strerror}: expected a file that can be written") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"{named}: is being written: wait for it, or choose another file") from None
        yield Journal(descriptor, form, _resumed(descriptor, path, named, form))
    finally:
        os.close(descriptor)


def _resumed(descriptor: int, path: Path, named: str, form: JournalFormat[Result]) -> dict[Key, Result]:
    """The results of whole lines; a new file gets the head. A file of something else is left as it is."""
    with open(descriptor, "rb", closefd=False) as file:
        data = file.read()
    head = _line(form.head)
    whole = data.rfind(b"\n") + 1
    if data and not data.startswith(head[: head.index(b":") + 1]):
        raise ConfigError(f"{named}: holds something else than {form.things} of `{form.writer}`: {form.expected}")
    lines = data[:whole].splitlines()
    if lines:
        _check_head(_parsed(lines[0], path, 1), named, form)
    results = dict(
        _decoded(_parsed(line, path, number + 2), number, path, form) for number, line in enumerate(lines[1:])
    )
    if whole < len(data):
        os.ftruncate(descriptor, whole)
    if not lines:
        _write(descriptor, head)
    return results


def _check_head(there: Document, named: str, form: JournalFormat[Result]) -> None:
    wanted = json.loads(_line(form.head))
    for key in (*wanted, *there):
        if there.get(key) != wanted.get(key):
            held, asked = (quote(json.dumps(each.get(key))) for each in (there, wanted))
            raise ConfigError(f"{named} holds other {form.things}: {key} is {held}, asked for {asked}: {form.expected}")


def _decoded(document: Document, number: int, path: Path, form: JournalFormat[Result]) -> tuple[Key, Result]:
    try:
        return form.decode(number, document)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}:{number + 2}: {error}") from None


def _parsed(line: bytes, path: Path, number: int) -> Document:
    try:
        document = json.loads(line)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}:{number}: {quote(line.decode('utf-8', 'replace'))}: expected a JSON object")
    return document


def _line(document: Document) -> bytes:
    return json.dumps(document).encode() + b"\n"


def _write(descriptor: int, data: bytes) -> None:
    if os.write(descriptor, data) != len(data):
        raise OSError("the disk is full: the last line will be dropped and made again")
