"""`paratus serve` and dealers that misbehave in every way we know of, all at once, beside some that do not.

Each bad one ends its own match with what was wrong, within the bounds on waiting; its finished hands are in its store;
the others never notice. Dealers of the bad kind are processes of their own, those of the good kind as in `serving`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import Processes, stored_hands, toml
from serving import BLOCK_S, Dealt, Served, deal_all

from protocol.line_buffer import MAX_LINE_BYTES
from protocol.stream import MAX_UNSENT_BYTES

WAITS = {"connect_s": 2.0, "first_state_s": 20.0, "line_s": 1.0}
MANY = 1000
"""Hands that a flood brings in any case."""
UNBOUNDED = 10**9


class Bad(NamedTuple):
    """A dealer's mode, and what must come of it."""

    mode: str
    outcome: str
    says: str
    """Part of the match's message."""
    least: int
    most: int
    """Finished hands in the store."""
    agent: str = "always-call"


LIE = "the dealer did not take our action r200"
SILENT = "no state arrived within 1.0 s"
BAD = [
    Bad("dies_in_hand", "dealer_gone", "disconnected (in the middle of a hand, after 2 finished hands)", 2, 2),
    Bad("dies_in_line", "dealer_gone", "in the middle of a line, after b'MATCHSTATE:1:1:cc/cc'", 1, 1),
    Bad("resets", "dealer_gone", "reset by peer", 1, 1),
    Bad("silent_in_hand", "silent", SILENT, 1, 1),
    Bad("silent_in_line", "silent", SILENT, 1, 1),
    Bad("vanishes_without_fin", "silent", SILENT, 1, 1),
    Bad("chatty", "silent", SILENT, 1, 1),
    Bad("flooding", "silent", SILENT, 1, 1),
    Bad("floods_with_hands", "complete", "the dealer closed the match after", MANY, UNBOUNDED),
    Bad("no_newline", "protocol_error", f"a line longer than {MAX_LINE_BYTES} bytes", 1, 1),
    Bad("garbage", "protocol_error", "expected MATCHSTATE", 1, 1),
    Bad("without_asking", "protocol_error", "the dealer did not take our action", 0, 0, "always-raise"),
    Bad("lies_size", "protocol_error", LIE, 0, 0, "always-raise"),
    Bad("lies_call", "protocol_error", LIE, 0, 0, "always-raise"),
    Bad("lies_fold", "protocol_error", LIE, 0, 0, "always-raise"),
    Bad("lies_shove", "protocol_error", LIE, 0, 0, "always-raise"),
    Bad("same_hand_again", "protocol_error", "hand 0 is already over", 1, 1),
    Bad("next_hand_early", "protocol_error", "hand 1 was cut short", 1, 1),
    Bad("never_reads", "dealer_gone", "does not read: ", 1, 2000, "always-raise"),
]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


def test_all_bad_dealers_at_once(run: Processes) -> None:
    good = [Dealt(number, 100) for number in range(4)]
    deal_all(good)
    fakes = {bad.mode: run.fake("dealer", bad.mode) for bad in BAD}
    here = {"host": "127.0.0.1"}
    seats = [{**here, "port": each.port.result(), "name": f"m{each.number}", "agent": "random"} for each in good]
    seats = [{**seat, "hands": 100} for seat in seats]
    seats += [{**here, "port": int(fakes[b.mode].first_line()), "name": b.mode, "agent": b.agent} for b in BAD]
    bot = run.folder / "bot.toml"
    bot.write_text(toml({"wait": WAITS}))
    served = Served(run, {"serve": {"bot": str(bot)}}, seats)
    served.wait_ready()
    begun_s = time.monotonic()
    for match in good:
        match.check_clean()
    served.wait_over()
    assert time.monotonic() - begun_s < 20.0
    found, counted = served.matches(), served.metrics()
    served.ask("stop")
    ended = served.process.wait()
    assert ended.code == 0
    for bad in BAD:
        assert bad.says in found[bad.mode]["message"], bad.mode
        assert f"over match={bad.mode} outcome={bad.outcome} " in ended.err
        hands = stored_hands(run.folder / "stores" / f"{bad.mode}.sqlite")
        assert bad.least <= len(hands) <= bad.most, bad.mode
        assert found[bad.mode]["hands"] == len(hands)
    for match in good:
        assert found[f"m{match.number}"]["message"] == "all 100 hands played"
        assert len(stored_hands(run.folder / "stores" / f"m{match.number}.sqlite")) == 100
    waiting = int(found["never_reads"]["message"].split("does not read: ")[1].split()[0])
    assert MAX_UNSENT_BYTES < waiting < MAX_UNSENT_BYTES + MAX_LINE_BYTES
    outcomes = Counter(bad.outcome for bad in BAD) + Counter(complete=len(good), begun=len(BAD) + len(good))
    assert {name: counted[f'paratus_matches_total{{event="{name}"}}'] for name in outcomes} == outcomes
    assert counted["paratus_fallbacks_total"] == 0
    assert counted["paratus_records_unwritten"] == 0
    assert counted["paratus_loop_block_longest_own_seconds"] < BLOCK_S
