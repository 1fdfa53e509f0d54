"""`paratus slumbot` and its server as users start them: to the end, stopped, killed, without what they need."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import Processes, stored_decisions, toml, wait_until
from slumbot_accounts import by_number, log_entries

from bot import cli
from dealer_tools.formats.slumbot import read_betting

SLOW_S = 120.0
"""For a whole session on a machine with much else to do."""
FAST = {"spacing_s": 0.0, "backoff_s": 0.01, "backoff_max_s": 0.05}


@pytest.fixture
def run(tmp_path: Path):
    with Processes(tmp_path) as processes:
        (tmp_path / "fast.toml").write_text(toml({"slumbot": FAST}))
        yield processes


def serve(run: Processes, *options: object) -> str:
    return run.paratus("slumbot-server", "--ledger", run.folder / "ledger.jsonl", *options).first_line()


def client(run: Processes, base: str, hands: int, *options: object):
    return run.paratus(
        "slumbot", "--hands", hands, "--out", "s", "--base", base, "--config", "fast.toml", "--no-score", *options
    )


def finished_there(folder: Path) -> dict[str, dict[str, Any]]:
    """The finished hands of the server by what tells them apart."""
    events = [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]
    return {key(event): event for event in events if event["event"] == "finished"}


def key(reply: dict[str, Any]) -> str:
    betting = read_betting(reply["action"]).betting
    return json.dumps([reply["client_pos"], reply["hole_cards"], reply["bot_hole_cards"], reply["board"], betting])


def finished_here(folder: Path) -> int:
    path = folder / "s" / "session.jsonl"
    return path.read_text().count('"reply"') if path.exists() else 0


def log_written(folder: Path) -> bool:
    path = folder / "s" / "session.jsonl"
    return path.exists() and bool(log_entries(folder / "s"))


def test_a_session_and_what_it_leaves(run: Processes) -> None:
    base = serve(run, "--agent", "always-call", "--faults", "close-after=0.02,error=0.05")
    ended = client(run, base, 12, "--agent", "random", "--json").wait(SLOW_S)
    assert ended.code == 0
    said = json.loads(ended.out)
    assert (said["hands"], said["played_now"], said["agent"], said["stopped"]) == (12, 12, "random", False)
    assert "12 hands finished (12 now)" in ended.last_line
    assert {path.name for path in (run.folder / "s").iterdir()} == {
        ".lock", "session.json", "session.jsonl", "paratus.sqlite",
    }  # fmt: skip
    again = client(run, base, 12, "--agent", "random").wait(SLOW_S)
    assert again.code == 0
    assert "continued: 12 hands are finished" in again.err
    assert "12 hands finished (0 now)" in again.last_line
    other = client(run, base, 12, "--agent", "random", "--seed", 5).wait(SLOW_S)
    assert other.code == 2
    assert "holds another session: seed '0', asked for '5'" in other.last_line


def test_scored_at_the_end(run: Processes, capsys: pytest.CaptureFixture[str]) -> None:
    base = serve(run, "--agent", "always-call")
    ended = run.paratus(
        "slumbot", "--hands", 5, "--out", "s", "--base", base, "--config", "fast.toml", "--agent", "always-fold"
    ).wait(120)
    assert ended.code == 0
    assert "paratus v slumbot: 5 hands, mbb/g" in ended.out
    names = [line.split()[0] for line in ended.out.splitlines() if line]
    assert {"raw", "baseline", "aivat"} <= set(names)
    assert "played by paratus: always-fold" in ended.out


def test_a_client_that_is_killed_goes_on(run: Processes) -> None:
    """Again and again: no number twice, no hand counted that the server did not finish, none twice."""
    base = serve(run, "--agent", "random")
    for wanted in (4, 8):
        killed = client(run, base, 10_000, "--agent", "random", "--spacing", 0.01)
        wait_until(lambda wanted=wanted: finished_here(run.folder) >= wanted, "hands are played")
        killed.send(signal.SIGKILL)
        wait_until(lambda killed=killed: not killed.running, "it is killed")
    ended = client(run, base, 25, "--agent", "random", "--json").wait(SLOW_S)
    assert ended.code == 0
    entries = by_number(run.folder / "s")
    replies = [entry["reply"] for entry in entries if "reply" in entry]
    assert len(replies) == 25
    assert json.loads(ended.out)["broken"] == len(entries) - 25 <= 2
    there = finished_there(run.folder)
    assert len({key(reply) for reply in replies} & there.keys()) == 25
    assert all(reply["winnings"] == there[key(reply)]["winnings"] for reply in replies)
    decided = {decision.hand for decision in stored_decisions(run.folder / "s" / "paratus.sqlite")}
    assert decided <= set(range(len(entries)))


def test_ctrl_c_ends_after_the_hand(run: Processes) -> None:
    base = serve(run, "--agent", "random")
    stopped = client(run, base, 10_000, "--agent", "random", "--spacing", 0.02)
    wait_until(lambda: finished_here(run.folder) >= 2, "hands are played")
    stopped.send(signal.SIGINT)
    ended = stopped.wait(SLOW_S)
    assert ended.code == 130
    assert "stopping after the hands in flight" in ended.err
    assert ended.last_line.endswith("stopped; the same command continues in s")
    entries = by_number(run.folder / "s")
    assert all("reply" in entry for entry in entries)
    more = len(entries) + 3
    assert client(run, base, more, "--agent", "random").wait(SLOW_S).code == 0
    assert len(by_number(run.folder / "s")) == more


def test_ctrl_c_twice_ends_at_once(run: Processes) -> None:
    base = serve(run, "--agent", "random", "--faults", "delay=1", "--delay", 60)
    stopped = client(run, base, 5, "--agent", "random")
    wait_until(lambda: log_written(run.folder), "a hand begins")
    stopped.send(signal.SIGINT)
    wait_until(lambda: "stopping after" in stopped.said(), "it has heard")
    stopped.send(signal.SIGINT)
    assert stopped.wait(SLOW_S).code == 130
    (entry,) = by_number(run.folder / "s")
    assert entry["broken"] == "interrupted"


def test_a_server_that_comes_back(run: Processes) -> None:
    """The client was there first, and waits; nothing is counted meanwhile."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    waiting = client(run, f"http://127.0.0.1:{port}/slumbot/api", 3, "--agent", "random", "--json")
    wait_until(lambda: log_written(run.folder), "a hand begins")
    serve(run, "--agent", "random", "--port", port)
    ended = waiting.wait(SLOW_S)
    assert ended.code == 0
    said = json.loads(ended.out)
    assert (said["hands"], said["broken"]) == (3, 0)
    assert said["failures"]["not reached"] > 0


def test_two_clients_in_one_folder(run: Processes) -> None:
    base = serve(run, "--agent", "random")
    first = client(run, base, 10_000, "--agent", "random", "--spacing", 0.05)
    wait_until(lambda: log_written(run.folder), "a hand begins")
    second = client(run, base, 5, "--agent", "random").wait(SLOW_S)
    assert second.code == 2
    assert "a match is being played there" in second.last_line
    first.send(signal.SIGINT)
    assert first.wait(SLOW_S).code == 130


def test_calibration(run: Processes) -> None:
    base = serve(run, "--agent", "random")
    ended = client(run, base, 12, "--calibrate").wait(SLOW_S)
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "passed: every hand in the small blind reads -50"
    as_data = client(run, base, 12, "--calibrate", "--json").wait(SLOW_S)
    seats = json.loads(as_data.out)["calibration"]["chips"]
    assert (seats["small blind"]["hands"], seats["small blind"]["mean"]) == (6, -50)
    assert (seats["small blind"]["least"], seats["small blind"]["most"]) == (-50, -50)
    assert seats["big blind"]["hands"] == 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--hands and --out: expected how many hands to play"),
        (["--hands", "5"], "--hands and --out"),
        (["--hands", "0", "--out", "x"], "--hands"),
        (["--hands", "5", "--out", "x", "--agent", "nobody"], "agent 'nobody' is not known"),
        (["--hands", "5", "--out", "x", "--base", "http://slumbot.com/api"], "expected https:// to another machine"),
        (["--hands", "5", "--out", "x", "--spacing", "0.1"], "expected at least 0.5 to another machine"),
        (["--hands", "5", "--out", "x", "--user", "me"], "no password: expected it in PARATUS_SLUMBOT_PASSWORD"),
        (["--hands", "5", "--out", "x", "--calibrate", "--agent", "random"], "--calibrate with --agent random"),
        (["--hands", "5", "--out", "x", "--think", "never"], "--think 'never'"),
    ],
)
def test_options_that_are_refused(options: list[str], said: str, capsys: pytest.CaptureFixture[str],
                                  monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARATUS_SLUMBOT_PASSWORD", raising=False)
    try:
        code = cli.main(["slumbot", *options])
    except SystemExit as error:
        code = error.code
    assert code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert len(captured.err.splitlines()) == 1
    assert not [*tmp_path.iterdir()]


def test_without_httpx(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\nfrom bot.cli import main\n"
        "sys.exit(main('slumbot --hands 1 --out s --agent random --base http://127.0.0.1:9/api'.split()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1] == (
        "paratus slumbot: httpx is not installed: expected it after `pip install 'paratus[http]'`"
    )
    assert not (tmp_path / "s").exists()


def test_print_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["slumbot", "--print-config"]) == 0
    assert "\n[slumbot]\n" in capsys.readouterr().out
