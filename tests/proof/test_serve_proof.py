"""A hundred matches of a hundred hands at once on one server, the blueprint agent on all seats of ours.

All complete, no answer is illegal or late, the loop is never kept busy for 50 ms by what it does itself, and memory
does not grow by 5 % between the first third and the last. The figures are printed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from blueprint_files import folder, settings_for
from processes import Processes, stored_hands
from serving import HOLDEM, Dealt, Served, deal_all, stores

MATCHES, HANDS = 100, 100
BLOCK_S = 0.05
GROWTH = 1.05

pytestmark = pytest.mark.proof


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


@pytest.mark.timeout(1800)
def test_a_hundred_matches_of_a_hundred_hands(run: Processes) -> None:
    lookup, bot = settings_for(HOLDEM), run.folder / "bot.toml"
    bot.write_text(f'[blueprint]\nfile = "{lookup.file}"\ntables = "{folder()}"\nrivers = false\n')
    matches = [Dealt(number, HANDS) for number in range(MATCHES)]
    deal_all(matches)
    seats = [
        {"host": "127.0.0.1", "port": each.port.result(), "name": f"m{each.number:03d}", "agent": "blueprint"}
        | {"hands": HANDS, "seed": each.number}
        for each in matches
    ]
    served = Served(run, {"serve": {"bot": str(bot)}}, seats)
    served.wait_ready()
    begun_s, memory = time.monotonic(), list[tuple[float, float]]()

    def over() -> bool:
        found = served.metrics()
        memory.append((found["paratus_hands_total"], found["paratus_resident_bytes"]))
        time.sleep(0.2)
        return found.get('paratus_matches_total{event="complete"}', 0.0) == MATCHES

    served.wait_for(over, "all matches are complete", 1500)
    seconds, counted = time.monotonic() - begun_s, served.metrics()
    served.ask("stop")
    assert served.process.wait().code == 0
    decisions = counted['paratus_decisions_total{route="blueprint"}']
    print(f"{decisions:.0f} decisions in {seconds:.1f} s, dealers and opponents in another process of this machine")
    print({name: value for name, value in counted.items() if "longest" in name or "resident" in name})
    print({name: value for name, value in counted.items() if "bucket" in name})
    for match in matches:
        match.check_clean()
    assert [len(stored_hands(path)) for path in stores(run.folder)] == [HANDS] * MATCHES
    assert counted["paratus_fallbacks_total"] == 0
    assert counted["paratus_loop_block_longest_own_seconds"] < BLOCK_S
    third = MATCHES * HANDS / 3
    first = [size for hands, size in memory if third / 2 < hands <= third]
    last = [size for hands, size in memory if hands > 2 * third]
    print(f"resident: {max(first) / 2**20:.1f} MiB in the first third, {max(last) / 2**20:.1f} MiB in the last")
    assert max(last) < GROWTH * max(first)
