"""The emulator as a process, asked by a client that is not ours: the one of the standard library, and bare sockets."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from processes import Ended, Process, Processes

from dealer_tools.formats.slumbot import parse_reply, read_betting

FIELDS = {
    "old_action": str, "action": str, "client_pos": int, "hole_cards": list, "board": list, "token": str,
}  # fmt: skip
LAST_FIELDS = FIELDS | {
    "bot_hole_cards": list, "winnings": int, "won_pot": int, "session_num_hands": int, "baseline_winnings": int,
    "session_total": int, "session_baseline_total": (int, float),
}  # fmt: skip


class Asked:
    """A stranger's client, over one connection."""

    def __init__(self, base: str) -> None:
        self.parts = urlsplit(base)
        self._connection = http.client.HTTPConnection(self.parts.hostname or "", self.parts.port, timeout=20)

    def post(self, what: str, **body: object) -> dict[str, Any]:
        status, document = self.raw("POST", f"{self.parts.path}/{what}", json.dumps(body))
        assert status == 200
        return document

    def raw(self, method: str, path: str, body: str = "") -> tuple[int, dict[str, Any]]:
        self._connection.request(method, path, body)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def close(self) -> None:
        self._connection.close()


def serve(run: Processes, *options: object) -> tuple[Process, str]:
    server = run.paratus("slumbot-server", *options)
    return server, server.first_line()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Processes(tmp_path_factory.mktemp("server")) as run:
        yield serve(run, "--agent", "always-call", "--seed", 4)[1]


@pytest.fixture
def asked(base: str) -> Iterator[Asked]:
    client = Asked(base)
    yield client
    client.close()


def has_fields(reply: dict[str, Any], fields: dict[str, Any]) -> bool:
    return reply.keys() == fields.keys() and all(isinstance(reply[key], kind) for key, kind in fields.items())


def test_it_listens_on_this_machine_alone(base: str) -> None:
    assert base.startswith("http://127.0.0.1:")
    assert base.endswith("/slumbot/api")


def test_every_field_and_all_letters(asked: Asked) -> None:
    """Positions alternate: first the big blind, then the button."""
    reply = asked.post("new_hand")
    assert has_fields(reply, FIELDS)
    assert (reply["old_action"], reply["action"], reply["client_pos"], reply["board"]) == ("", "c", 0, [])
    token = reply["token"]
    reply = asked.post("act", token=token, incr="b300")
    assert (reply["old_action"], reply["action"], len(reply["board"])) == ("c", "cb300c/", 3)
    reply = asked.post("act", token=token, incr="k")
    assert reply["action"] == "cb300c/kk/"
    reply = asked.post("act", token=token, incr="b450")
    assert (reply["action"], len(reply["board"])) == ("cb300c/kk/b450c/", 5)
    reply = asked.post("act", token=token, incr="b19250")
    assert has_fields(reply, LAST_FIELDS)
    assert reply["action"] == "cb300c/kk/b450c/b19250c"
    parse_reply(reply)
    assert reply["winnings"] in (20_000, 0, -20_000)
    assert reply["won_pot"] == 2 * reply["winnings"]
    assert (reply["session_num_hands"], reply["session_total"]) == (1, reply["winnings"])
    reply = asked.post("new_hand", token=token)
    assert (reply["action"], reply["client_pos"]) == ("", 1)
    reply = asked.post("act", token=token, incr="f")
    assert (reply["action"], reply["winnings"], reply["won_pot"], reply["board"]) == ("f", -50, -150, [])
    assert reply["session_num_hands"] == 2
    assert len(reply["bot_hole_cards"]) == 2
    asked.post("new_hand", token=token)
    reply = asked.post("act", token=token, incr="b20000")
    assert (reply["action"], len(reply["board"])) == ("cb20000c///", 5)


def test_totals_and_the_baseline(asked: Asked) -> None:
    """Who plays as the agent does wins what the agent wins in its place, and not a chip above it."""
    token, total, baseline = asked.post("new_hand")["token"], 0, 0
    for number in range(1, 13):
        reply = asked.post("new_hand", token=token)
        while "winnings" not in reply:
            state = read_betting(reply["action"])
            aggressive = number > 8 and not state.actions
            reply = asked.post("act", token=token, incr="b20000" if aggressive else "c" if state.owed else "k")
        total += reply["winnings"]
        baseline += reply["baseline_winnings"]
        assert reply["session_num_hands"] == number
        assert (reply["session_total"], reply["session_baseline_total"]) == (total, baseline)
        if number <= 8:
            assert reply["baseline_winnings"] == 0
    assert baseline != 0


def test_a_hand_that_is_abandoned(asked: Asked) -> None:
    first = asked.post("new_hand")
    second = asked.post("new_hand", token=first["token"])
    assert second["token"] == first["token"]
    assert second["hole_cards"] != first["hole_cards"]
    assert asked.post("act", token=first["token"], incr="f")["session_num_hands"] == 1


def test_conversations_do_not_mix(asked: Asked) -> None:
    hands = [asked.post("new_hand") for _ in range(3)]
    assert len({hand["token"] for hand in hands}) == 3
    for hand in reversed(hands):
        reply = asked.post("act", token=hand["token"], incr="k")
        assert reply["hole_cards"] == hand["hole_cards"]


@pytest.mark.parametrize(
    ("incr", "said"),
    [
        ("kk", "action 'kk': expected k, c, f or b with chips"),
        ("c", "action 'c' at character 0: expected k, since nothing is owed"),
        ("f", "illegal fold: nothing is owed"),
        ("b150", "illegal raise to 150: expected a raise to 200-20000"),
        ("b20001", "illegal raise to 20001"),
        ("", "expected k, c, f or b"),
        (7, "incr '7': expected an action"),
        (None, "expected an action"),
    ],
)
def test_errors_are_told_with_status_200(incr: object, said: str, asked: Asked) -> None:
    token = asked.post("new_hand")["token"]
    reply = asked.post("act", token=token, incr=incr)
    assert reply.keys() == {"error_msg"}
    assert said in reply["error_msg"]
    assert asked.post("act", token=token, incr="k")["action"] == "ck/"


def test_other_errors(asked: Asked) -> None:
    token = asked.post("new_hand")["token"]
    assert asked.post("act", token="nonsense", incr="k") == {"error_msg": "Unknown token"}
    assert asked.post("act", incr="k") == {"error_msg": "Unknown token"}
    assert asked.post("new_hand", token=7) == {"error_msg": "Unknown token"}
    reply = asked.post("act", token=token, incr="b20000")
    assert "winnings" in reply
    assert asked.post("act", token=token, incr="k") == {"error_msg": "No hand in progress"}
    path = f"{asked.parts.path}/act"
    for body in ("", "{", "[]", '{"a": 1, "a": 2}', "[" * 1000):
        status, document = asked.raw("POST", path, body)
        assert (status, document.keys()) == (200, {"error_msg"})
    assert asked.raw("POST", "/api/login", '{"username": "a", "password": "b"}')[1].keys() == {"token"}
    assert "Invalid" in asked.raw("POST", "/api/login", '{"username": "a"}')[1]["error_msg"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /slumbot/api/act HTTP/1.1\r\n\r\n", 405),
        (b"POST /other HTTP/1.1\r\n\r\n", 404),
        (b"POST /slumbot/api/act HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", 413),
        (b"POST /slumbot/api/act HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /slumbot/api/act HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST /slumbot/api/act HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        (b"POST /slumbot/api/act HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
        (b"POST /slumbot/api/act HTTP/2\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"POST /slumbot/api/act HTTP/1.1\r\n: x\r\n\r\n", 400),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_no_request(sent: bytes, status: int, base: str) -> None:
    parts = urlsplit(base)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(sent)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


def test_connections_are_bounded(base: str) -> None:
    """Silent ones fill the table; when they leave, others are served."""
    parts = urlsplit(base)
    silent = [socket.create_connection((parts.hostname, parts.port), timeout=20) for _ in range(64)]
    client = Asked(base)
    try:
        with pytest.raises((OSError, http.client.HTTPException)):
            client.post("new_hand")
    finally:
        for connection in silent:
            connection.close()
        client.close()
    for _ in range(100):
        client = Asked(base)
        try:
            assert client.post("new_hand")["action"] == "c"
            return
        except (OSError, http.client.HTTPException):
            continue
        finally:
            client.close()
    raise AssertionError("the server serves nobody any more")


def test_one_name_and_faults_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARATUS_SLUMBOT_PASSWORD", "sesame")
    ledger = tmp_path / "ledger.jsonl"
    with Processes(tmp_path) as run:
        server, base = serve(
            run, "--agent", "random", "--user", "me", "--faults", "401=0.5,error=0.5", "--ledger", ledger
        )
        client = Asked(base)
        told = {client.raw("POST", f"{client.parts.path}/new_hand", "{}")[0] for _ in range(20)}
        assert told == {200, 401}
        client.close()
        server.send(2)
        ended = server.wait()
        assert ended.code == 0
        assert "20 requests, faults: " in ended.last_line
        events = [json.loads(line) for line in ledger.read_text().splitlines()]
        assert sorted({event["fault"] for event in events}) == ["401", "error"]
        assert len(events) == 20
        server, base = serve(run, "--agent", "random", "--user", "me")
        client = Asked(base)
        assert "error_msg" in client.post("login", username="me", password="other")
        token = client.post("login", username="me", password="sesame")["token"]
        assert client.post("new_hand", token=token)["token"] == token
        client.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--agent", "nobody"], "agent 'nobody' is not known"),
        (["--agent", "random", "--faults", "x=1"], "--faults 'x=1': expected a share of one of error"),
        (["--agent", "random", "--delay", "-1"], "--delay -1: expected 0 to 3600 seconds"),
        (["--agent", "random", "--host", "203.0.113.7"], "203.0.113.7:0: "),
        (["--agent", "random", "--user", "me", "--password-file", "nowhere"], "slumbot.password_file = 'nowhere'"),
    ],
)
def test_options_that_are_refused(options: list[str], said: str, here: Callable[..., Ended]) -> None:
    ended = here("slumbot-server", *options)
    assert ended.code == 2
    assert said in ended.last_line
    assert len(ended.err.splitlines()) == 1
