"""The server's configuration, its control interface and `paratus ctl`."""

from __future__ import annotations

import json
import socket
import stat
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import Processes, free_port, wait_until
from serving import Dealt, Served, deal_all

from bot.cli import main
from bot.serve.config import DEFAULT_FILE, ControlSection, MatchSection, ServeConfig, load_serve_config, parse_match
from bot.serve.control import Control
from bot.serve.ctl import ask
from bot.serve.metrics import Histogram, Metrics, label
from bot.serve.server import Log, MatchServer
from machine.errors import ConfigError, ParatusError
from protocol.errors import Disconnected


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


# --- Settings ---------------------------------------------------------------------------------------------------------


def test_the_shipped_file_holds_the_defaults_and_every_key():
    assert load_serve_config(DEFAULT_FILE) == ServeConfig()
    text = DEFAULT_FILE.read_text(encoding="utf-8")
    data = tomllib.loads(text)
    for name in ("serve", "limits", "control"):
        assert set(data[name]) == set(ServeConfig.model_fields[name].annotation.model_fields)
    example = tomllib.loads(text[text.index("# [[match]]") :].replace("# ", "").replace("[[match]]", "", 1).replace(
        "A name of", "#").replace("Empty: host", "# ").replace("How ", "# ").replace("Go on", "# "))  # fmt: skip
    assert set(example) == set(MatchSection.model_fields)
    assert MatchSection(**example) == MatchSection(host="127.0.0.1", port=4001)


def refused(tmp_path: Path, text: str) -> str:
    path = tmp_path / "serve.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_serve_config(path).control.token()
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[serve]\nfast = true", "serve.fast = True: unknown key: expected one of store, bot"),
        ("[limits]\nmatches = 0", "limits.matches = 0: expected at least 1"),
        ("[limits]\nmatches = 500", "limits.open_files = 1024: expected 2064 at least"),
        ("[control]\nport = 4000", "control.token_file = '': expected a file: a port is open to every user"),
        ('[control]\ntoken_file = "/no/such"', "control.token_file = '/no/such': No such file"),
        ('[serve]\nlog = "xml"', "serve.log = 'xml': expected 'text' or 'json'"),
        ('[[match]]\nhost = "h"', "match.0.port"),
        ('[[match]]\nhost = "h"\nport = 0', "match.0.port = 0: expected at least 1"),
        ('[[match]]\nhost = "h"\nport = 1\nname = "../x"', "match.0.name = '../x': expected letters"),
        ('[[match]]\nhost = "h"\nport = 1\nagent = "god"', "match.0.agent = 'god': expected one of always-fold"),
        ('[[match]]\nhost = "h"\nport = 1\nspeed = 2', "match.0.speed = 2: unknown key: expected one of host"),
        ('[[match]]\nhost = "h"\nport = 1\n' * 2, "two matches are called 'h-1'"),
        ('[serve]\nbot = "/no/such"\n[[match]]\nhost = "h"\nport = 1', "/no/such: No such file"),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, text: str, says: str):
    if "open_files" in says:
        text += "\nopen_files = 1024"
    assert says in refused(tmp_path, text)


def test_print_config(capsys):
    assert main(["serve", "--print-config"]) == 0
    assert capsys.readouterr().out == DEFAULT_FILE.read_text(encoding="utf-8")


# --- Requests, without a socket ---------------------------------------------------------------------------------------


def control(tmp_path: Path, token: str = "") -> Control:
    guarded = {}
    if token:
        (tmp_path / "token").write_text(token + "\nnothing\n")
        guarded = {"token_file": str(tmp_path / "token")}
    config = ServeConfig.model_validate({"serve": {"cores": 1}, "control": guarded})
    return Control(MatchServer(config, Log("text")))


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({}, "do = 'None': expected one of join, list"),
        ({"do": ["list"]}, "do = \"['list']\": expected one of"),
        ({"do": "list", "x": 1}, "'x': unknown key of list"),
        ({"do": "health", "match": "m"}, "'match': unknown key of health"),
        ({"do": "join"}, "match = 'None': expected an object"),
        ({"do": "join", "match": {"host": "h"}}, "port = "),
        ({"do": "join", "match": {"host": "h", "port": "4000"}}, "port = '4000': expected a whole number"),
        ({"do": "join", "match": {"host": "h", "port": 1, "name": "a/b"}}, "name = 'a/b': expected letters"),
        ({"do": "join", "match": {"host": "h", "port": 1}}, "about to stop"),
        ({"do": "drain", "match": "m"}, "match 'm': expected one of those"),
        ({"do": "drain", "match": 5}, "match = '5': expected the name"),
    ],
)
def test_requests_that_are_refused(tmp_path: Path, request_: dict, says: str):
    answer = control(tmp_path).answer(request_)
    assert answer["ok"] is False
    assert says in answer["error"]
    assert answer["error"].isprintable()


def test_a_token_is_asked_for_before_anything_else(tmp_path: Path):
    guarded = control(tmp_path, "s3cret")
    wrong = {"ok": False, "error": "token: expected the one of the server's token file"}
    for token in ("", "s3cre", "s3cret ", None, 5, ["s3cret"], "\ud800"):
        assert guarded.answer({"do": "nonsense", "token": token}) == wrong
    assert guarded.answer({"do": "list"}) == wrong
    assert guarded.answer({"do": "list", "token": "s3cret"}) == {"ok": True, "matches": []}


UNGUARDED = control(Path("unused"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
KEYS = st.sampled_from(["do", "match", "token", "host", "port", "name", "agent", "game", "seed", "hands"])
WORDS = st.sampled_from(["join", "list", "drain", "health", "metrics", "stop"])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(KEYS, JSON | WORDS), st.dictionaries(KEYS, JSON | WORDS))
def test_any_request_gets_an_answer(request_, match):
    for each in (request_, {"do": "join", "match": match}):
        answer = UNGUARDED.answer(dict(each))
        assert answer["ok"] or answer["error"].isprintable()
        json.dumps(answer)


@given(st.binary(max_size=300))
def test_any_bytes_are_an_object_or_refused(data):
    request, error = UNGUARDED._parse(data)
    assert (request is None) == bool(error)
    assert error.isprintable()


def test_a_match_from_a_request_is_one_from_a_file():
    assert parse_match({"host": "h", "port": 1}) == MatchSection(host="h", port=1)


# --- Metrics ----------------------------------------------------------------------------------------------------------


def test_metrics_are_prometheus_text():
    metrics = Metrics()
    metrics.decided("blueprint", 0.0005, fallback=False)
    metrics.decided('a"\n', 30.0, fallback=True)
    for number in range(100):
        metrics.decided(f"route{number}", 0.1, fallback=False)
    lines = metrics.text({"paratus_queue_length": 3}).splitlines()
    assert 'paratus_decisions_total{route="a\\"\\n"} 1' in lines
    assert 'paratus_decisions_total{route="other"} 70' in lines
    assert 'paratus_decision_seconds_bucket{le="0.001"} 1' in lines
    assert 'paratus_decision_seconds_bucket{le="+Inf"} 102' in lines
    assert "paratus_fallbacks_total 1" in lines
    assert lines[-1] == "paratus_queue_length 3"
    assert label("é") == "?"


def test_histograms_count_what_is_below():
    histogram = Histogram()
    for seconds in (0.001, 0.0011, 9.0, 11.0):
        histogram.add(seconds)
    found = dict(line.rsplit(" ", 1) for line in histogram.lines("x"))
    assert (found['x_bucket{le="0.001"}'], found['x_bucket{le="0.002"}']) == ("1", "2")
    assert (found['x_bucket{le="10.0"}'], found['x_bucket{le="+Inf"}'], found["x_count"]) == ("3", "4", "4")


# --- A running server -------------------------------------------------------------------------------------------------


def ctl(run: Processes, served: Served, *words: object):
    return run.paratus("ctl", "--config", served.config, *words).wait()


def test_ctl_does_it_all(run: Processes):
    served = Served(run, {}, [])
    served.wait_ready()
    mode = Path(served.control.socket).stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    match = Dealt(1, 10)
    deal_all([match])
    joined = ctl(run, served, "join", "127.0.0.1", match.port.result(), "--agent", "random", "--hands", 10)
    assert (joined.code, list(json.loads(joined.out))) == (0, ["match"])
    match.check_clean()
    served.wait_over()
    (shown,) = json.loads(ctl(run, served, "list").out)["matches"]
    assert (shown["stage"], shown["hands"], shown["message"]) == ("over", 10, "all 10 hands played")
    assert json.loads(ctl(run, served, "health").out)["state"] == "serving"
    assert "paratus_hands_total 10\n" in ctl(run, served, "metrics").out
    wrong = ctl(run, served, "join", "127.0.0.1", 4000, "--agent", "god")
    assert wrong.code == 1
    assert wrong.last_line.startswith("paratus ctl: refused: agent = 'god': expected one of ")
    assert ctl(run, served, "stop").code == 0
    assert served.process.wait().code == 0
    assert not Path(served.control.socket).exists()
    gone = ctl(run, served, "health")
    assert gone.code == 1
    assert "expected a running `paratus serve`" in gone.last_line


def test_peers_that_misbehave_at_the_control_socket(run: Processes):
    served = Served(run, {"control": {"request_bytes": 300, "request_s": 0.5, "connections": 2}}, [])
    served.wait_ready()

    def say(data: bytes) -> bytes:
        with closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.settimeout(20)
            connection.connect(served.control.socket)
            with suppress(BrokenPipeError):  # where the server has closed already
                connection.sendall(data)
            with connection.makefile("rb") as file:
                return file.read()  # until the server closes

    assert b"expected a JSON object" in say(b"GET / HTTP/1.1\r\n\r\n")
    assert b"expected a JSON object" in say(b"[" * 200 + b"\n")
    assert b"expected a JSON object" in say(bytes(range(256)) + b"\n")
    assert b"longer than 300 bytes" in say(b"x" * 1000)
    assert say(b'{"do": "health"') == b""  # never ends its line
    assert say(b"") == b""
    assert say(b'{"do": "health"}\n{"do": "list"}\n').count(b'"ok": true') == 2
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(closing(socket.socket(socket.AF_UNIX))).connect(served.control.socket)
        assert say(b"") == b""  # one too many is closed at once; those that say nothing are closed soon

    def answers() -> bool:
        try:
            return served.ask("health")["state"] == "serving"
        except ParatusError:
            return False

    wait_until(answers, "the two are gone")
    other = run.paratus("serve", "--config", served.config).wait(60)
    assert other.code == 2
    assert "expected one that is free" in other.last_line
    served.ask("stop")
    assert served.process.wait().code == 0


@pytest.mark.parametrize("read", [0, 1, 4096])
def test_a_server_that_closes_instead_of_answering(tmp_path: Path, read: int):
    """Whether it has read nothing of the request, some or all: systems tell these apart, users should not have to."""
    path = tmp_path / "control"
    with closing(socket.socket(socket.AF_UNIX)) as listening, ThreadPoolExecutor(1) as others:
        listening.bind(str(path))
        listening.listen()

        def close_instead() -> None:
            accepted, _ = listening.accept()
            with closing(accepted):
                accepted.recv(1, socket.MSG_PEEK)  # it was sent
                if read:
                    accepted.recv(read)

        peer = others.submit(close_instead)
        with pytest.raises(Disconnected, match="the server closed the connection: expected an answer"):
            ask(ControlSection(socket=str(path)), {"do": "health"})
        peer.result()


def test_a_port_with_a_token(run: Processes):
    (run.folder / "token").write_text("s3cret\n")
    served = Served(run, {"control": {"port": free_port(), "token_file": str(run.folder / "token")}}, [])
    served.wait_ready()
    assert served.ask("health")["state"] == "serving"
    (run.folder / "token").write_text("guess\n")
    assert served.ask("health")["ok"] is False
    (run.folder / "token").write_text("s3cret\n")
    assert served.ask("stop") == {"ok": True}
    assert served.process.wait().code == 0
