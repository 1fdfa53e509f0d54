"""A hundred matches of a hundred hands at once on one server, the blueprint agent on all seats of ours; and twenty
matches of the full bot with a second a hand, on two workers that cannot give all of them that.

All complete, no answer is illegal or late, the loop is never kept busy for 50 ms by what it does itself, and memory
does not grow by 5 % between the first third and the last. The figures are printed; of the full bot also who decided how
often, and why others did not.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from blueprint_files import folder, settings_for
from processes import Processes, stored_decisions, stored_hands
from serving import HOLDEM, Dealt, Served, deal_all, seats, stores

from protocol.log import Limits

MATCHES, HANDS = 100, 100
FULL_MATCHES, FULL_HANDS = 20, int(os.environ.get("PARATUS_PROOF_HANDS", "20"))
THINK_S = 1.0
FULL_LIMITS = Limits(7_000, 60_000, 7_000)
"""The dealers': a decision may take seven seconds, a hand seven on average. Our clock is told so too."""
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
    sections = [
        {"host": "127.0.0.1", "port": each.port.result(), "name": f"m{each.number:03d}", "agent": "blueprint"}
        | {"hands": HANDS, "seed": each.number}
        for each in matches
    ]
    served = Served(run, {"serve": {"bot": str(bot)}}, sections)
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


@pytest.mark.timeout(3600)
def test_twenty_matches_of_the_full_bot(run: Processes) -> None:
    assert run.paratus("warm", "ranking", "blueprint", "agent").wait(1800).code == 0
    bot = run.folder / "bot.toml"
    bot.write_text("[clock]\nresponse_s = 7.0\nhand_s = 60.0\nper_hand_s = 7.0\n[limited]\nkeep = false\n")
    matches = [Dealt(number, FULL_HANDS, FULL_LIMITS, opponent="always-call") for number in range(FULL_MATCHES)]
    deal_all(matches)
    served = Served(run, {"serve": {"bot": str(bot), "cores": 2}}, seats(matches, "paratus", THINK_S))
    served.wait_ready()
    begun_s = time.monotonic()
    served.wait_over(3000)
    seconds, counted = time.monotonic() - begun_s, served.metrics()
    served.ask("stop")
    assert served.process.wait().code == 0
    for match in matches:
        match.check_clean()
    decisions = [each for path in stores(run.folder) for each in stored_decisions(path)]
    routes = Counter(each.policy.origin.route for each in decisions)
    took = sorted(each.seconds for each in decisions)
    print(
        f"{FULL_MATCHES} matches of {FULL_HANDS} hands in {seconds:.0f} s: {len(decisions)} decisions, {dict(routes)}"
    )
    print(f"longest {took[-1]:.2f} s, median {took[len(took) // 2]:.3f} s, of 99 % {took[int(0.99 * len(took))]:.2f} s")
    print(Counter(each.policy.origin.reason for each in decisions if each.policy.origin.is_fallback).most_common())
    print({name: value for name, value in counted.items() if "longest" in name or "resident" in name})
    assert [len(stored_hands(path)) for path in stores(run.folder)] == [FULL_HANDS] * FULL_MATCHES
    assert took[-1] < FULL_LIMITS.response_ms / 1e3
    assert set(routes) <= {"blueprint", "limited", "nested", "fallback/blueprint"}
    assert counted["paratus_fallbacks_total"] == routes["fallback/blueprint"]
    assert routes["limited"] + routes["nested"] > 0
    assert counted["paratus_workers_replaced"] == 0
    assert counted["paratus_loop_block_longest_own_seconds"] < BLOCK_S
