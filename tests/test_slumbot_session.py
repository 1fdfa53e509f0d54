"""Sessions of the client with the emulator, over real sockets, with everything going wrong that can be asked for."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from agents import agent_of
from processes import stored_decisions, stored_hands
from slumbot_accounts import EVERY_FAULT, FAST, by_number, check_accounts, log_entries, play

from bot import cli
from dealer_tools.formats.slumbot import broken_line, hand_line, read_session_log, slumbot_game
from dealer_tools.slumbot.client import SlumbotHttp, Traffic
from dealer_tools.slumbot.faults import Fault
from dealer_tools.slumbot.record import SlumbotRecord
from dealer_tools.slumbot.server import SlumbotServer
from dealer_tools.slumbot.session import Ended, SlumbotSession
from dealer_tools.slumbot.settings import SlumbotSettings
from machine.errors import ConfigError
from protocol.state import CALL, State, apply, start
from strategies.draws import Draws
from strategies.policy import Origin, Policy, alike
from strategies.registry import open_agent
from strategies.store import StoreReader
from strategies.strategy import Budget, Spot


def test_without_faults_every_hand_is_finished(tmp_path: Path) -> None:
    played = play(tmp_path, 60)
    assert played.ended.hands == played.ended.played_now == 60
    assert (played.ended.broken, played.ended.failures, played.ended.fallbacks) == (0, {}, 0)
    assert played.requests == played.ended.requests
    assert check_accounts(tmp_path, played.events) == {"finished": 60}
    log = read_session_log(tmp_path / "session.jsonl")
    assert (len(log.session.hands), log.session.refused, log.session.notes) == (60, (), ())
    assert len(log.baselines) == 60
    stored = stored_hands(tmp_path / "paratus.sqlite")
    positions = {hand.record.hand: hand.record.names.index("paratus") for hand in log.session.hands}
    assert set(positions.values()) == {0, 1}
    assert stored == {
        hand.record.hand: (hand.record.state.betting, hand.record.values[positions[hand.record.hand]])
        for hand in log.session.hands
    }


def test_three_hundred_hands_with_every_fault(tmp_path: Path) -> None:
    """Each hand is accounted for exactly once, on both sides; and each fault has happened."""
    played = play(tmp_path, 300, faults=EVERY_FAULT.replace("delay=0.002", "delay=0.01"), seed=3, delay_s=0.01)
    met = check_accounts(tmp_path, played.events)
    assert met["finished"] == played.ended.hands == 300
    assert sum(met.values()) - 300 == played.ended.broken > 0
    for kind in ("never dealt", "finished there, broken here", "broken"):
        assert met[kind] > 0, kind
    assert set(played.injected) >= {fault.value for fault in Fault} - {"", "outage-400", "outage-401"}
    session = read_session_log(tmp_path / "session.jsonl").session
    assert len(session.hands) == 300
    assert len(session.refused) == played.ended.broken
    decided = {(decision.hand, decision.betting) for decision in stored_decisions(tmp_path / "paratus.sqlite")}
    for hand in session.hands:
        for betting in _asked(hand.record.state, hand.record.names.index("paratus")):
            assert (hand.record.hand, betting) in decided


def _asked(state: State, position: int) -> list[str]:
    """The betting before each decision of a player."""
    at, found = start(state.game), []
    for action in state.actions:
        if at.actor == position:
            found.append(at.betting)
        at = apply(at, action)
    return found


@pytest.mark.parametrize(
    ("faults", "breaks"),
    [
        ("error=0.2", False),
        ("400=0.2", False),
        ("401=0.2", False),
        ("outage-401=0.02", False),
        ("token=0.5,slashes=0.3", False),
        ("twice=0.5", False),
        ("500=0.1", True),
        ("close-before=0.1", True),
        ("close-after=0.1", True),
        ("cut=0.1", True),
        ("garbage=0.1", True),
        ("duplicate=0.1", True),
    ],
)
def test_each_fault_alone(faults: str, breaks: bool, tmp_path: Path) -> None:
    played = play(tmp_path, 20, faults=faults, seed=1, act_tries=30)
    met = check_accounts(tmp_path, played.events)
    assert met["finished"] == 20
    assert (played.ended.broken > 0) == breaks
    assert sum(played.injected.values()) > 1


@pytest.mark.parametrize("faults", ["twice=0.3", "twice=0.1,close-after=0.05,duplicate=0.03"])
def test_connections_that_stay_open(faults: str, tmp_path: Path) -> None:
    """A reply that is sent twice answers the next request too, until somebody notices."""
    played = play(tmp_path, 25, faults=faults, seed=2, keep_alive=True)
    met = check_accounts(tmp_path, played.events)
    assert met["finished"] == 25
    assert played.ended.broken > 0
    assert played.ended.failures["no reply to the request"] > 0


def test_late_replies(tmp_path: Path) -> None:
    played = play(tmp_path, 12, faults="delay=0.1", seed=4, delay_s=3.0, timeout_s=2.0)
    assert check_accounts(tmp_path, played.events)["finished"] == 12
    assert played.ended.failures["too slow"] > 0


def test_several_hands_at_once(tmp_path: Path) -> None:
    """Numbers are given out once, hands do not mix, and exactly as many are finished as were asked for."""
    played = play(tmp_path, 40, faults="close-after=0.02,token=0.1,error=0.02", concurrency=4)
    assert played.ended.hands == 40
    dealt = {event["hand"]: event for event in played.events if event["event"] == "finished"}
    ours = [entry["reply"] for entry in by_number_unordered(tmp_path) if "reply" in entry]
    keys = {(*event["hole_cards"], *event["bot_hole_cards"], event["winnings"]) for event in dealt.values()}
    assert len({(*reply["hole_cards"], *reply["bot_hole_cards"], reply["winnings"]) for reply in ours} & keys) == 40


class Thinking:
    """A strategy that is asked in a thread, where it is late at times and raises at others."""

    name = "thinking"

    def identity(self) -> dict[str, str]:
        return {}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        time.sleep(0.4 if draws.below(10) == 0 else 0.002)
        if draws.below(10) == 0:
            raise ValueError("no idea")
        return alike((CALL,), (1.0,), Origin("thinking"))


def test_strategies_that_take_their_time(tmp_path: Path) -> None:
    """Who fails or is late is replaced for that decision, which is counted and stored."""
    played = play(
        tmp_path,
        12,
        players=[agent_of(Thinking(), slumbot_game(), on_loop=False) for _ in range(2)],
        concurrency=2,
        response_s=0.2,
        agents=("random", "always-call"),
    )
    assert played.ended.hands == 12
    assert played.ended.broken == 0
    routes = [decision.policy.origin.route for decision in stored_decisions(tmp_path / "paratus.sqlite")]
    assert routes.count("fallback") == played.ended.fallbacks > 0
    assert routes.count("thinking") > len(routes) / 2


def by_number_unordered(folder: Path) -> list[dict]:
    ends = [entry for entry in log_entries(folder) if "begun" not in entry]
    numbers = sorted(entry["hand"] for entry in ends)
    assert numbers == list(range(len(numbers)))
    return ends


def test_a_session_goes_on(tmp_path: Path) -> None:
    first = play(tmp_path, 15)
    again = play(tmp_path, 15)
    assert (again.ended.hands, again.ended.played_now, again.requests) == (15, 0, 0)
    more = play(tmp_path, 25, seed=9)
    assert (more.ended.hands, more.ended.played_now) == (25, 10)
    assert len(by_number(tmp_path)) == 25
    assert len(first.events) < len(log_entries(tmp_path))
    reader = StoreReader(tmp_path / "paratus.sqlite")
    assert len(reader.matches()) == 1
    assert len([*reader.hands(1)]) == 25
    reader.close()


def test_hands_that_a_killed_client_left(tmp_path: Path) -> None:
    """Begun and no more, and a line that was cut: both are broken, neither number is used again."""
    play(tmp_path, 5)
    log = tmp_path / "session.jsonl"
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:40])
    played = play(tmp_path, 8)
    assert (played.ended.hands, played.ended.broken, played.ended.played_now) == (8, 1, 4)
    session = read_session_log(log).session
    assert [hand.record.hand for hand in session.hands] == [0, 1, 2, 3, 5, 6, 7, 8]
    reasons = [refused.reason for refused in session.refused]
    assert len(reasons) == 2
    assert "expected one JSON object" in reasons[0]
    assert "hand 4 is broken: 'the client was ended" in reasons[1]


def test_another_agent_in_the_folder(tmp_path: Path) -> None:
    play(tmp_path, 2)
    with pytest.raises(ConfigError, match="holds another session: agent 'random', asked for 'always-call'"):
        play(tmp_path, 4, agents=("always-call", "random"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("")
    with pytest.raises(ConfigError, match="holds files, but no session"):
        play(tmp_path / "other", 1)


def test_logging_in(tmp_path: Path) -> None:
    """The name and the password are sent again after an outage; neither password nor tokens are written anywhere."""
    secret = "correct horse battery"
    played = play(tmp_path, 30, faults="401=0.05,error=0.03,token=0.3", user="me", password=secret,
                  emulator_user=("me", secret))  # fmt: skip
    assert check_accounts(tmp_path, played.events)["finished"] == 30
    tokens = {event["token"] for event in played.events if "token" in event}
    written = "".join(path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()) + "".join(played.said)
    assert secret not in written
    assert not [token for token in tokens if token in written]


def test_a_password_that_is_wrong(tmp_path: Path) -> None:
    played = play(tmp_path, 5, user="me", password="guess", emulator_user=("me", "right"))
    assert played.ended.hands == 0
    assert "Invalid username or password" in played.ended.gave_up
    assert played.requests == 3


def test_a_server_that_is_gone_for_good(tmp_path: Path) -> None:
    played = play(tmp_path, 5, faults="outage-401=1", give_up_s=0.05)
    assert (played.ended.hands, played.ended.broken) == (0, 1)
    assert "no good reply for" in played.ended.gave_up
    assert "HTTP status 401" in played.ended.gave_up


def test_a_server_that_breaks_every_hand(tmp_path: Path) -> None:
    played = play(tmp_path, 5, faults="close-after=1", agents=("always-fold", "always-fold"))
    assert (played.ended.hands, played.ended.broken) == (0, 50)
    assert "50 broken hands in a row" in played.ended.gave_up


def test_the_pace(tmp_path: Path) -> None:
    """Half a second between requests would be too slow here: a tenth; and failures wait twice as long each time."""
    begun = time.monotonic()
    played = play(tmp_path, 3, agents=("always-fold", "always-call"), spacing_s=0.1)
    assert time.monotonic() - begun > 0.1 * (played.requests - 1)
    begun = time.monotonic()
    played = play(tmp_path / "outage", 1, faults="outage-400=1", backoff_s=0.02, backoff_max_s=0.16, give_up_s=0.5)
    assert played.requests <= 8
    assert time.monotonic() - begun > 0.5


def test_scored_with_its_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Raw, baseline and AIVAT side by side, from the folder alone; the baseline as it was told."""
    played = play(tmp_path, 30, faults="close-after=0.05", seed=5)
    assert cli.main(["score", str(tmp_path), "--values", "equity", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document["estimators"]
    assert list(rows)[:2] == ["raw", "baseline"]
    assert {"all-in", "imaginary", "aivat"} <= set(rows)
    assert document["hands"] == 30
    assert len(document["excluded"]) == played.ended.broken > 0
    replies = [entry["reply"] for entry in log_entries(tmp_path) if "reply" in entry]
    for row, key in (("raw", "winnings"), ("baseline", "baseline_winnings")):
        mean = math.fsum(reply[key] for reply in replies) / 30 * 10
        assert rows[row]["mean_mbb"] == pytest.approx(mean)
    assert rows["aivat"]["sd_mbb"] < rows["raw"]["sd_mbb"]
    assert any("random" in identity for identity in document["identities"])


def test_some_hands_without_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path / "with", 6)
    play(tmp_path / "without", 6, baseline=False)
    shutil.copy(tmp_path / "with" / "session.jsonl", tmp_path / "mixed.jsonl")
    replies = [entry["reply"] for entry in log_entries(tmp_path / "without") if "reply" in entry]
    lines = [hand_line(6 + number, reply) for number, reply in enumerate(replies)]
    with (tmp_path / "mixed.jsonl").open("a") as file:
        file.write("\n".join(lines) + "\n")
    for path, has in (("with", True), ("without", False), ("mixed.jsonl", False)):
        assert cli.main(["score", str(tmp_path / path), "--estimators", "raw", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert ("baseline" in document["estimators"]) == has
        assert any("no baseline: 6 of 12" in note for note in document["notes"]) == (path == "mixed.jsonl")


def test_the_log_shows_where_a_hand_broke() -> None:
    """The last reply that could be believed, without its token."""
    last = {"action": "b200", "token": "secret"}
    assert json.loads(broken_line(3, "why", last)) == {"hand": 3, "broken": "why", "last": {"action": "b200"}}


class Scripted:
    """In the emulator's place: what to answer, in order; keeps what was asked."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._replies = [*replies]

    async def answer(self, what: str, document: dict[str, Any], fault: Fault) -> dict[str, Any]:
        self.asked.append((what, document))
        return self._replies.pop(0)


FIRST = {"action": "", "client_pos": 1, "hole_cards": ["Ac", "9d"], "board": [], "token": "one"}
LAST = FIRST | {"action": "f", "bot_hole_cards": ["Kh", "7h"], "winnings": -50, "token": None}


def scripted(folder: Path, *replies: dict[str, Any], hands: int = 1, **settings: Any) -> tuple[Scripted, Ended]:
    """A session of always-fold with these replies."""
    script, agent = Scripted(*replies), open_agent("always-fold", slumbot_game())

    async def run() -> Ended:
        server = SlumbotServer(script)  # type: ignore[arg-type]
        try:
            chosen = SlumbotSettings(**{**FAST, "base": await server.start("127.0.0.1", 0), **settings})
            with SlumbotRecord(folder, "always-fold", {}) as record:
                return await SlumbotSession(chosen, [agent], record, "", print).play(hands)
        finally:
            await server.close()

    return script, asyncio.run(run())


def test_what_is_sent(tmp_path: Path) -> None:
    """Nothing but what the interface has; tokens change as the server wants, in refusals too; nothing is sent late."""
    script, ended = scripted(
        tmp_path, FIRST, {"error_msg": "busy", "token": "two"}, {"error_msg": "busy"}, LAST, {"error_msg": "busy"},
        FIRST | {"token": "three"}, LAST, hands=2,
    )  # fmt: skip
    assert script.asked == [
        ("new_hand", {}),
        ("act", {"token": "one", "incr": "f"}),
        ("act", {"token": "two", "incr": "f"}),
        ("act", {"token": "two", "incr": "f"}),
        ("new_hand", {"token": "two"}),
        ("new_hand", {}),
        ("act", {"token": "three", "incr": "f"}),
    ]
    assert (ended.hands, ended.broken, ended.requests) == (2, 0, 7)
    assert "baseline_winnings" not in (tmp_path / "session.jsonl").read_text()


@pytest.mark.parametrize(
    "strange",
    [
        LAST | {"winnings": 50},
        LAST | {"winnings": None},
        LAST | {"hole_cards": ["Ac", "8d"]},
        LAST | {"bot_hole_cards": ["Ac", "7h"]},
        LAST | {"action": "cf"},
        FIRST,
        {},
    ],
)
def test_a_reply_that_cannot_be_is_not_counted(strange: dict[str, Any], tmp_path: Path) -> None:
    """However often it comes; the action is sent as often as the settings say."""
    script, ended = scripted(tmp_path, FIRST, strange, strange, strange, FIRST | {"hole_cards": ["2c", "2d"]},
                             LAST | {"hole_cards": ["2c", "2d"]}, act_tries=3)  # fmt: skip
    assert [what for what, _ in script.asked] == ["new_hand", "act", "act", "act", "new_hand", "act"]
    assert (ended.hands, ended.broken) == (1, 1)
    broken = by_number(tmp_path)[0]
    assert broken["broken"].startswith("no reply to f: act: ")
    assert broken["last"]["hole_cards"] == ["Ac", "9d"]


def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    """Over TLS the other end must prove who it is; there is no setting against that."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    told: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.append(await reader.read(100))
        writer.close()

    async def run() -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
        base = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/api"
        settings = SlumbotSettings(**{**FAST, "base": base})
        async with server, SlumbotHttp(settings, Traffic(settings, print)) as http:
            await http.post("new_hand", {}, dict)

    with pytest.raises(ConfigError, match=r"slumbot\.base = 'https://.*CERTIFICATE_VERIFY_FAILED"):
        asyncio.run(run())
    assert told == []
