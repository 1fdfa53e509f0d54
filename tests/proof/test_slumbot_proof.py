"""Ten thousand hands of the client with the emulator, as processes, with everything going wrong all the time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from processes import Processes, stored_decisions, toml
from slumbot_accounts import EVERY_FAULT, check_accounts

from dealer_tools.formats.slumbot import read_session_log
from dealer_tools.slumbot.faults import Fault
from protocol.state import payoffs

HANDS = 10_000
SETTINGS = {"spacing_s": 0.0, "timeout_s": 5.0, "backoff_s": 0.0005, "backoff_max_s": 0.002}


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_every_hand_is_accounted_for_exactly_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger, out, config = tmp_path / "ledger.jsonl", tmp_path / "session", tmp_path / "slumbot.toml"
    config.write_text(toml({"slumbot": SETTINGS}))
    faults = EVERY_FAULT.replace("delay=0.002", "delay=0.0005")
    with Processes(tmp_path) as run:
        server = run.paratus(
            "slumbot-server", "--agent", "random", "--faults", faults, "--delay", 6, "--ledger", ledger, "--seed", 1
        )
        client = run.paratus(
            "slumbot", "--agent", "random", "--hands", HANDS, "--out", out, "--base", server.first_line(), "--config",
            config, "--json",
        )  # fmt: skip
        played = client.wait(3000)
        assert played.code == 0
    said = json.loads(played.out)
    events = [json.loads(line) for line in ledger.read_text().splitlines()]
    met = check_accounts(out, events)
    assert met["finished"] == said["hands"] == HANDS
    assert sum(met.values()) == HANDS + said["broken"]
    injected = [event["fault"] for event in events if event["event"] == "fault"]
    assert set(injected) == {fault.value for fault in Fault} - {""}
    log = read_session_log(out / "session.jsonl")
    assert len(log.session.hands) == len(log.baselines) == HANDS
    assert len(log.session.refused) == said["broken"]
    for hand in log.session.hands:
        assert hand.record.values == payoffs(hand.record.state, hand.record.deal)
    decided = {(decision.hand, decision.betting) for decision in stored_decisions(out / "paratus.sqlite")}
    assert {hand.record.hand for hand in log.session.hands} - {hand for hand, _ in decided} == {
        hand.record.hand for hand in log.session.hands if hand.record.state.betting == "f"
        and hand.record.names[0] == "paratus"
    }  # fmt: skip
    with capsys.disabled():
        print(f"\n{dict(met)}; {len(injected)} faults in {said['requests']} requests; {said['failures']}")
