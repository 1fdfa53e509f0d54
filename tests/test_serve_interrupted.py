"""`paratus serve` where the machine misbehaves: the disk is full, clocks jump, time stops.

Everything is real but one thing: a clock that jumps belongs to the whole machine, so `time.time` is replaced in the
server's process and in its workers'.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import Processes, stored_decisions, stored_hands
from serving import Dealt, Served, deal_all, searching, seats, stores


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


# --- A full disk ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("room_again", [True, False], ids=["for-a-while", "to-the-end"])
def test_a_full_disk(run: Processes, room_again: bool) -> None:
    """Nobody at the table notices. What could not be written is written once there is room, or reported at the end."""
    matches = [Dealt(number, 40, opponent="always-call", pause_s=0.01) for number in range(2)]
    deal_all(matches)
    served = Served(run, {}, seats(matches, "always-call"))
    served.wait_ready()
    hands = lambda: min(each["hands"] for each in served.matches().values())  # noqa: E731
    served.wait_for(lambda: hands() >= 5, "a few hands")
    fullest = max(path.stat().st_size for path in (run.folder / "stores").iterdir())
    old = resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (fullest, resource.RLIM_INFINITY))
    served.wait_for(lambda: served.metrics()["paratus_records_unwritten"] > 0, "records wait")
    served.wait_for(lambda: hands() >= 15, "hands go on")
    if room_again:
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, old)
    for match in matches:
        match.check_clean()
    served.wait_over()
    counted, found = served.metrics(), served.matches().values()
    served.ask("stop")
    ended = served.process.wait()
    assert ended.code == 0
    assert ended.err.count("paratus serve: unwritten match=") >= 1
    kept = [stored_hands(path) for path in stores(run.folder)]
    assert counted["paratus_hands_total"] == 80
    if room_again:
        assert counted['paratus_matches_total{event="complete"}'] == 2
        assert [len(each) for each in kept] == [40, 40]
        return
    assert counted['paratus_matches_total{event="not stored"}'] == 2
    assert all("records not written: " in each["message"] for each in found)
    assert all(list(each) == list(range(len(each))) and 5 <= len(each) < 40 for each in kept)


# --- Time -------------------------------------------------------------------------------------------------------------

JUMPING = """\
import time
_time, _gmtime = time.time, time.gmtime
time.time = lambda: _time() + 3600 * (int(8 * time.monotonic()) % 9 - 4)
time.time_ns = lambda: int(1e9 * time.time())
time.gmtime = lambda seconds=None: _gmtime(time.time() if seconds is None else seconds)
"""


def test_clocks_that_jump_and_a_server_that_was_suspended(run: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock on the wall jumps by hours all the time: nobody notices. Then everything stands still for a while:
    nothing is lost but the time, and who was waited for too long is answered from what is in reserve."""
    (run.folder / "sitecustomize.py").write_text(JUMPING)
    paths = [str(run.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    slow, quick = Dealt(0, 12, opponent="always-call"), Dealt(1, 300, opponent="always-call", pause_s=0.01)
    deal_all([slow, quick])
    bot = searching(run.folder, 1.0, clock={"response_s": 2.0}, wait={"line_s": 2.5})
    settings = {"serve": {"bot": bot, "log": "json"}, "limits": {"hung_s": 0.5}}
    served = Served(run, settings, seats([slow], "paratus", 0.5) + seats([quick], "random"))
    served.wait_ready()
    served.wait_for(lambda: served.metrics().get('paratus_decisions_total{route="limited"}'), "a search", 60)
    assert served.metrics()["paratus_fallbacks_total"] == 0
    pids = [served.process.pid, *(worker["pid"] for worker in served.ask("health")["workers"])]
    served.wait_for(lambda: served.metrics()["paratus_workers_thinking"], "a worker thinks")
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(4.0)
    for pid in reversed(pids):
        os.kill(pid, signal.SIGCONT)
    for match in (slow, quick):
        match.check_clean()
    served.wait_over()
    counted = served.metrics()
    served.ask("stop")
    ended = served.process.wait()
    assert ended.code == 0
    assert counted['paratus_matches_total{event="complete"}'] == 2
    assert counted["paratus_workers_replaced"] == 0
    stored = [each for path in stores(run.folder) for each in stored_decisions(path)]
    (late,) = [each for each in stored if each.seconds > 3.0 and each.policy.origin.route != "random"]
    assert late.policy.origin.route == "fallback/blueprint"
    assert any(each.policy.origin.route == "limited" for each in stored if each.hand > late.hand), "searches go on"
    assert all(each.seconds < 2.0 for each in stored if each.hand > late.hand)
    hours = {json.loads(line)["time"][11:13] for line in ended.err.splitlines() if line.startswith("{")}
    assert len(hours) > 1, "the clock did not jump"
