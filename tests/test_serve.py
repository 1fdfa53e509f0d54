"""`paratus serve`: many matches at once through real sockets and our dealer, watched from outside.

Dealers and opponents live in this process, on a loop of their own; the server is a real process with its workers. Its
own measure says how long its loop was blocked; on a machine that others use too that is less what it waited for a core.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import make_quick
from blueprint_files import folder, settings_for
from processes import Processes, stored_decisions, stored_hands, toml
from serving import BLOCK_S, HOLDEM, Dealt, Served, deal_all, searching, stores


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


def bot_settings(where: Path, **sections: dict[str, object]) -> str:
    """A bot's file over a random blueprint."""
    settings_for(HOLDEM)
    path = where / "bot.toml"
    lookup = settings_for(HOLDEM)
    blueprint = {"file": lookup.file, "tables": str(folder())}
    text = toml({**sections, "blueprint": blueprint}) + "rivers = false\n"
    path.write_text(text)
    return str(path)


def sections(matches: list[Dealt], agent: str, **more: object) -> list[dict[str, object]]:
    return [
        {
            "host": "127.0.0.1",
            "port": each.port.result(),
            "name": f"m{each.number}",
            "agent": agent,
            "hands": each.hands,
        }
        | {"seed": each.number, **more}
        for each in matches
    ]


def test_twenty_matches_of_fifty_hands(run: Processes) -> None:
    matches = [Dealt(number, 50) for number in range(20)]
    deal_all(matches)
    serve = {"bot": bot_settings(run.folder)}
    served = Served(run, {"serve": serve}, sections(matches, "blueprint"))
    served.wait_ready()
    for match in matches:
        match.check_clean()
    served.wait_over()
    counted = served.metrics()
    assert served.ask("stop") == {"ok": True}
    ended = served.process.wait()
    assert ended.code == 0
    assert counted["paratus_hands_total"] == 20 * 50
    assert counted['paratus_matches_total{event="complete"}'] == 20
    assert counted["paratus_fallbacks_total"] == 0
    assert {name for name in counted if name.startswith("paratus_decisions_total")} == {
        'paratus_decisions_total{route="blueprint"}'
    }
    print({name: value for name, value in counted.items() if "block" in name or "resident" in name})
    assert counted["paratus_loop_block_longest_own_seconds"] < BLOCK_S, counted
    assert len(stores(run.folder)) == 20
    for match, path in zip(sorted(matches, key=lambda each: f"m{each.number}"), stores(run.folder), strict=True):
        assert len(stored_hands(path)) == match.hands
        logged = match.log.getvalue().decode().splitlines()[-1]
        won = sum(value for _, value in stored_hands(path).values())
        assert logged.startswith("SCORE:")
        assert float(logged.split(":")[1].split("|")[0]) == pytest.approx(won)


def test_a_match_in_a_server_is_the_match_alone(run: Processes) -> None:
    """Same seed, same name: the same decisions as `paratus bot` makes."""
    together, alone = Dealt(5, 20), Dealt(5, 20)
    deal_all([together, alone])
    bot = bot_settings(run.folder)
    served = Served(run, {"serve": {"bot": bot, "until_done": True}}, sections([together], "blueprint"))
    port = alone.port.result()
    options = ("--agent", "blueprint", "--config", bot, "--seed", 5, "--match", "m5", "--hands", 20, "--no-store")
    assert run.paratus("bot", "127.0.0.1", port, *options).wait(120).code == 0
    assert served.process.wait(120).code == 0
    assert together.over.result(30)
    assert together.log.getvalue() == alone.log.getvalue()


def test_agents_that_are_first_needed_at_run_time_hold_nobody_up(run: Processes) -> None:
    """Files are read and hashed, tables opened, kernels loaded, while others play; they were compiled before."""
    make_quick("paratus", HOLDEM)
    playing = Dealt(1, 10_000, opponent="always-call", pause_s=0.002)
    later = [Dealt(2, 3), Dealt(3, 3, opponent="always-call")]
    deal_all([playing, *later])
    bot = searching(run.folder)
    served = Served(run, {"serve": {"bot": bot}}, sections([playing], "always-call"))
    served.wait_ready()
    served.wait_for(lambda: served.matches()["m1"]["hands"] > 2, "a few hands")
    for match, agent in zip(later, ("blueprint", "paratus"), strict=True):
        (section,) = sections([match], agent, think_s=0.2)
        before = served.matches()["m1"]["hands"]
        assert served.ask("join", match=section)["ok"]
        served.wait_for(lambda key=section["name"]: served.matches()[key]["stage"] == "over", "it is played", 60)
        assert served.matches()["m1"]["hands"] > before + 10
        match.check_clean()
    counted = served.metrics()
    served.ask("drain")
    served.wait_over()
    served.ask("stop")
    assert served.process.wait().code == 0
    assert counted['paratus_matches_total{event="complete"}'] == 2
    assert counted["paratus_loop_block_longest_own_seconds"] < BLOCK_S


def test_sigterm_lets_hands_end(run: Processes) -> None:
    matches = [Dealt(number, 10_000, opponent="always-call", pause_s=0.01) for number in range(3)]
    deal_all(matches)
    served = Served(run, {}, sections(matches, "always-call"))
    served.wait_ready()
    served.wait_for(lambda: min(each["hands"] for each in served.matches().values()) > 2, "a few hands")
    served.process.send(signal.SIGTERM)
    ended = served.process.wait()
    assert ended.code == 0
    assert ended.err.count("message='left after a hand'") + ended.err.count("message='left between hands'") == 3
    for path in stores(run.folder):
        hands = stored_hands(path)
        assert list(hands) == list(range(len(hands)))
        assert {decision.hand for decision in stored_decisions(path)} == set(hands)


def test_sigkill_loses_no_finished_hand(run: Processes) -> None:
    matches = [Dealt(number, 10_000, opponent="always-call", pause_s=0.01) for number in range(3)]
    deal_all(matches)
    served = Served(run, {}, sections(matches, "always-call"))
    served.wait_ready()
    served.wait_for(lambda: min(each["hands"] for each in served.matches().values()) > 2, "a few hands")
    known = {name: each["hands"] for name, each in served.matches().items()}
    served.process.send(signal.SIGKILL)
    assert served.process.wait().code == -signal.SIGKILL
    for path in stores(run.folder):
        hands = stored_hands(path)
        assert list(hands) == list(range(len(hands)))
        assert len(hands) >= known[path.stem]


def test_a_dealer_that_is_lost_ends_its_match_alone(run: Processes) -> None:
    good = Dealt(1, 30)
    deal_all([good])
    fakes = {mode: run.fake("dealer", mode).first_line() for mode in ("dies_in_hand", "garbage", "silent_in_hand")}
    bad = [
        {"host": "127.0.0.1", "port": int(port), "name": mode, "agent": "always-call"} for mode, port in fakes.items()
    ]
    waits = run.folder / "waits.toml"
    waits.write_text(toml({"wait": {"connect_s": 1.0, "first_state_s": 20.0, "line_s": 1.0}}))
    served = Served(run, {"serve": {"bot": str(waits)}}, [*bad, *sections([good], "always-call")])
    good.check_clean()
    served.wait_ready()
    served.wait_over()
    found = served.matches()
    assert served.process.running
    assert "disconnected (in the middle of a hand, after 2 finished hands)" in found["dies_in_hand"]["message"]
    assert "expected MATCHSTATE" in found["garbage"]["message"]
    assert "no state arrived within 1.0 s" in found["silent_in_hand"]["message"]
    assert found["m1"]["message"] == "all 30 hands played"
    assert len(stored_hands(run.folder / "stores" / "dies_in_hand.sqlite")) == 2
    served.process.send(signal.SIGTERM)
    assert served.process.wait().code == 0
