"""The records of the reference dealer, played again with the real `paratus deal`: a process, sockets, files.

A record is a script: for each line `TO n` seat n must be sent that line, for each line `FROM n` it sends that line.
What the dealer then has printed and logged must be the record, byte for byte but for what clocks say.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import PATIENCE_S, Process, Processes
from records import DATA, RECORDS, Record

from protocol.log import MatchHeader, parse_header

_SAID = re.compile(rb"(TO|FROM) ([0-9]) at [0-9]+\.[0-9]{6} (.*\r\n)")
_CLOCKS = re.compile(
    rb"(?m)(?<= at )[0-9]+\.[0-9]{6}|(?<=^Seconds cumulatively spent in match for seat [0-9]: )[0-9]+$"
    rb"|^[0-9]+\.[0-9](?= seconds spent waiting; )"
)


def without_clocks(messages: bytes) -> bytes:
    return _CLOCKS.sub(b"T", messages)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


def deal(run: Processes, header: MatchHeader, names: Sequence[str]) -> Process:
    limits = header.limits
    return run.paratus(
        *("deal", header.name, header.game, header.hands, header.seed, *names),
        *("--t_response", limits.response_ms, "--t_hand", limits.hand_ms, "--t_per_hand", limits.per_hand_ms),
    )


def replay(dealer: Process, messages: bytes) -> int:
    """Act as all players; returns how many actions they sent. At the end of the record they are silent."""
    sent = 0
    with ExitStack() as opened:
        seats = []
        for port in dealer.first_line().split():
            seat = opened.enter_context(socket.create_connection(("127.0.0.1", int(port)), PATIENCE_S))
            seat.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            seat.sendall(b"VERSION:2.0.0\r\n")
            seats.append((seat, opened.enter_context(seat.makefile("rb"))))
        for who, number, line in _SAID.findall(messages):
            seat, lines = seats[int(number) - 1]
            if who == b"TO":
                assert lines.readline() == line
            else:
                seat.sendall(line)
                sent += 1
        dealer.wait()
        assert [lines.read() for _, lines in seats] == [b""] * len(seats)
    return sent


def printed(run: Processes) -> tuple[bytes, bytes]:
    """Its stdout and its messages, as bytes."""
    return (run.folder / "deal-0.stdout").read_bytes(), (run.folder / "deal-0.stderr").read_bytes()


def test_a_recorded_match_through_the_process(run: Processes, record: Record) -> None:
    dealer = deal(run, record.header, record.names)
    messages = record.raw_messages.encode()
    assert replay(dealer, messages) > RECORDS[record.name]
    out, said = printed(run)
    assert without_clocks(said) == without_clocks(messages)
    assert (run.folder / f"{record.header.name}.log").read_bytes() == (DATA / f"{record.name}.log").read_bytes()
    assert re.fullmatch(rb"[0-9]+( [0-9]+)+\n" + re.escape(record.log[-1].encode()) + rb"\n", out)
    assert dealer.wait().code == 0


class Case(NamedTuple):
    """A bad reply, and what the reference dealer made of it."""

    name: str
    code: int
    messages: bytes
    out: bytes
    """What it printed on stdout after the ports."""

    @classmethod
    def read(cls, text: bytes) -> Case:
        head, _, rest = text.partition(b"\n")
        name, code = head.decode().split(" | dealer exit ")
        messages, _, out = rest.partition(b"stdout: ")
        lines = re.sub(rb"(?m)^((?:TO|FROM) .*)$", rb"\1\r", messages)  # as they were; this record lost them
        return cls(name, int(code), lines, out.strip())


CASES = [Case.read(text) for text in (DATA / "bad_input.txt").read_bytes().split(b"=== CASE ")[1:]]


def test_all_cases_are_here() -> None:
    assert sorted(case.code for case in CASES) == [0] * 6 + [1] * 3
    assert all(bool(case.out) == (case.code == 0) for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bad_reply_through_the_process(run: Processes, case: Case) -> None:
    """Ours says in one more line why a match failed."""
    header = parse_header(case.messages.decode().splitlines()[:4])
    dealer = deal(run, header, ("A", "B"))
    assert replay(dealer, case.messages) >= 1
    out, said = printed(run)
    if case.code:
        said, _, reason = said.rstrip(b"\n").rpartition(b"\n")
        assert reason == b"paratus deal: seat 2 (B) ran out of time in hand 0"
        said += b"\n"
        waited = re.search(rb"^([0-9.]+) seconds spent waiting; timeout 1.5$", said, re.MULTILINE)
        assert waited is not None
        assert float(waited.group(1)) >= 1.5
    assert without_clocks(said) == without_clocks(case.messages)
    assert out.partition(b"\n")[2].strip() == case.out
    assert dealer.wait().code == case.code
