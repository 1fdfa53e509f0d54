"""Any cutting of any bytes gives the same lines, and no peer makes the buffer grow."""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import RECORDS, read_record

from protocol.line_buffer import TOO_LONG, LineBuffer, ReceivedLine
from protocol.wire import MAX_LINE_BYTES


def slow_lines(data: bytes, most: int) -> tuple[list[ReceivedLine], bytes]:
    """The twin: all lines of a finished stream, and what is left of it."""
    *ended, rest = data.split(b"\n")
    lines: list[ReceivedLine] = [
        TOO_LONG if len(line) > most else line.removesuffix(b"\r").decode("ascii", "replace") for line in ended
    ]
    return ([*lines, TOO_LONG], b"") if len(rest) > most else (lines, rest)


def fed(data: bytes, sizes: list[int], most: int = MAX_LINE_BYTES) -> tuple[list[ReceivedLine], bytes]:
    """The lines of `data` in pieces of `sizes`, again and again, and what is left."""
    buffer, at, turn = LineBuffer(most), 0, 0
    lines: list[ReceivedLine] = []
    while at < len(data):
        size = sizes[turn % len(sizes)]
        lines += buffer.feed(data[at : at + size])
        assert len(buffer.partial) <= most
        at, turn = at + size, turn + 1
    return lines, buffer.partial


STREAMS = st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b"a", b"MATCHSTATE:", b"123456789", b"\x00", b"\xff"]))


@settings(max_examples=400, deadline=None)
@given(STREAMS.map(b"".join), st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 12))
def test_any_cutting_gives_the_lines_of_the_whole(data: bytes, sizes: list[int], most: int) -> None:
    expected = slow_lines(data, most)
    assert fed(data, sizes, most) == expected
    assert fed(data, [1], most) == expected
    assert fed(data, [len(data) + 1], most) == expected


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_recorded_sessions_byte_by_byte_coalesced_and_at_random(name: str) -> None:
    lines = [line.partition(" at T ")[2] for line in read_record(name).messages if line.startswith("TO 1 ")]
    assert len(lines) > 300
    rng = Random(name)
    for eol in ("\r\n", "\n"):
        data = "".join(line + eol for line in lines).encode()
        for sizes in ([1], [len(data)], [4096], [rng.randint(1, 99) for _ in range(1000)], [len(lines[0]), 1]):
            assert fed(data, sizes) == (lines, b"")


def test_nothing_is_lost_between_empty_reads() -> None:
    buffer = LineBuffer()
    assert buffer.feed(b"") == []
    assert buffer.feed(b"ab") == []
    assert buffer.feed(b"") == []
    assert buffer.partial == b"ab"
    assert buffer.feed(b"c\r") == []
    assert buffer.feed(b"\n\n\r\n") == ["abc", "", ""]
    assert buffer.partial == b""


def test_only_one_carriage_return_belongs_to_the_end() -> None:
    assert LineBuffer().feed(b"a\r\r\n\rb\n") == ["a\r", "\rb"]


def test_other_bytes_become_what_no_rule_allows() -> None:
    assert LineBuffer().feed("é\x00\x85\u2028\n".encode()) == ["\ufffd" * 2 + "\x00" + "\ufffd" * 5]


@pytest.mark.parametrize("size", [1 << 20, 4096, 1000])
def test_ten_megabytes_without_an_end_are_one_line_too_long(size: int) -> None:
    buffer, piece = LineBuffer(), b"x" * size
    lines: list[ReceivedLine] = []
    tracemalloc.start()
    try:
        for _ in range(10_000_000 // size + 1):
            lines += buffer.feed(piece)
            assert len(buffer.partial) <= MAX_LINE_BYTES
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert lines == [TOO_LONG]
    assert held < 20_000
    assert peak < 3 * size + 40_000
    assert buffer.feed(b"still the same line\nMATCHSTATE:0:0::3c4d|\r\nhalf") == ["MATCHSTATE:0:0::3c4d|"]
    assert buffer.partial == b"half"


def test_the_limit_is_exact() -> None:
    """The limit counts a line's bytes with its carriage return; the line after it is whole again."""
    most = b"x" * MAX_LINE_BYTES
    for sizes in ([1], [5000], [4096], [4095]):
        assert fed(most + b"\nok\n", sizes) == ([most.decode(), "ok"], b"")
        assert fed(most + b"x\nok\n", sizes) == ([TOO_LONG, "ok"], b"")
        assert fed(most[1:] + b"\r\nok\n", sizes) == ([most[1:].decode(), "ok"], b"")
        assert fed(most + b"\r\nok\n", sizes) == ([TOO_LONG, "ok"], b"")
        assert fed(most + b"\n" + most + b"x\n" + most + b"x\n\n", sizes)[0] == [most.decode(), TOO_LONG, TOO_LONG, ""]


def test_a_line_too_long_is_known_by_its_name() -> None:
    assert repr(TOO_LONG) == "TOO_LONG"
