"""The command line as users meet it: no heavy imports, one line for what is wrong, and the right exit code."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
from blueprint_files import HOLDEM, file_of, settings_for

import bot.warm
from blueprints.shipped import tables_folder
from blueprints.storage import Blueprint
from bot import cli, doctor
from bot.config import default_settings
from bot.warm import PARTS
from machine.errors import ConfigError
from protocol import kernels
from protocol.errors import BlueprintError, Disconnected
from protocol.game import DEFAULT_GAME, shipped_games
from solver import warm
from strategies.registry import AGENTS

HEAVY = {"asyncio", "numba", "numpy", "pydantic", "rich", "sqlite3", "subprocess", "uvloop"}
FULL = Path("/dev/full")
PARATUS = [sys.executable, "-m", "bot.cli"]


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch, tmp_path):
    for variable in ("PARATUS_GAME", "PARATUS_AGENT", "PARATUS_CONFIG", "PYTHONUNBUFFERED"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def call(capsys):
    """Run a command in this process: its exit code, stdout and stderr."""

    def call_main(*arguments):
        try:
            code = cli.main(arguments)
        except SystemExit as exit_:
            code = exit_.code
        return code, *capsys.readouterr()

    return call_main


@pytest.fixture
def silent_dealer():
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield str(server.getsockname()[1])


@pytest.fixture
def impatient(tmp_path):
    """Settings that give up at once, and keep no record."""
    path = tmp_path / "impatient.toml"
    path.write_text("[wait]\nconnect_s = 0.2\nfirst_state_s = 0.05\n[store]\nenabled = false\n")
    return str(path)


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False, **options)


def one_line(text):
    assert text.endswith("\n")
    assert text[:-1].isprintable(), text
    return text[:-1]


# --- Nothing heavy: `paratus bench startup` measures how long it takes ----------------------------------------------


def test_help_lists_the_commands():
    shown = run(*PARATUS, "--help")
    assert shown.returncode == 0
    assert shown.stderr == ""
    for command, (_, what) in cli.COMMANDS.items():
        assert f"  {command} " in shown.stdout
        assert what in shown.stdout


def imported(code):
    """The modules that a fresh interpreter has after `code`."""
    script = f"""
import json, sys
{code}
import threading
print(json.dumps([sorted(sys.modules), threading.active_count()]), file=sys.stderr)
"""
    ran = run(sys.executable, "-c", script)
    assert ran.returncode == 0, ran.stderr
    modules, threads = json.loads(ran.stderr.splitlines()[-1])
    assert threads == 1
    return set(modules)


def test_the_protocol_imports_alone():
    assert not imported("import protocol") & (HEAVY | {"socket", "logging"})


def test_importing_the_packages_starts_nothing_heavy():
    modules = imported(f"import {', '.join(doctor.PACKAGES)}, bot.cli, bot.doctor, bot.warm")
    assert set(doctor.PACKAGES) <= modules
    assert not modules & (HEAVY - {"subprocess"})  # the standard library's own modules may want it


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"], []], ids=str)
def test_the_overview_imports_nothing_heavy(arguments):
    modules = imported(f"from bot.cli import main; main({arguments})")
    assert not modules & (HEAVY - {"subprocess"})


@pytest.mark.parametrize("module", ["bot.play", "dealer_tools.deal", "dealer_tools.match"])
def test_the_commands_import_without_numba(module):
    assert "numba" not in imported(f"import {module}")


@pytest.mark.parametrize("agent", ["random", "always-call"])
def test_a_baseline_plays_without_numba(agent, silent_dealer, impatient):
    arguments = ["bot", "127.0.0.1", silent_dealer, "--agent", agent, "--config", impatient]
    modules = imported(f"from bot.cli import main; assert main({arguments}) == 5")
    assert "strategies.policy" in modules
    assert "numba" not in modules


# --- Help and lists -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", cli.COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_help(call, command, option):
    code, out, err = call(command, option)
    assert code == 0
    assert out.startswith(f"usage: paratus {command} ")
    assert len(out) > 200 or command == "warm"
    assert err == ""


def test_version(call):
    assert call("--version") == (0, f"paratus {version('paratus')}\n", "")


def test_print_config_is_the_shipped_file(call):
    assert call("bot", "--print-config") == (0, default_settings(), "")


def test_list(call):
    assert call("bot", "--list") == (0, "".join(f"{name}\n" for name in AGENTS), "")


def test_help_names_the_agents_and_the_game(call):
    _, out, _ = call("bot", "--help")
    assert set(AGENTS) <= set(out.replace(",", " ").split())
    assert DEFAULT_GAME in out.replace("\n", "").replace(" ", "")


# --- One line for what is wrong -------------------------------------------------------------------------------------


def test_no_command(call):
    code, out, err = call()
    assert (code, out) == (2, "")
    assert err.startswith("usage: paratus COMMAND")


@pytest.mark.parametrize("command", ["nonsense", "BOT", "--nonsense", "bot ", "", "a\nb", "\udcff", "x" * 5000])
def test_unknown_commands(call, command):
    code, out, err = call(command, "--help")
    assert (code, out) == (2, "")
    assert one_line(err).endswith(f"is not a command: expected one of {', '.join(cli.COMMANDS)}")
    assert len(err) < 400


NAMES, GAMES = ", ".join(AGENTS), ", ".join(shipped_games())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "HOST and PORT are missing: expected the dealer's address and the port of this seat"),
        (["localhost"], "HOST and PORT are missing: expected"),
        (["localhost", "x"], "argument PORT: 'x': expected a whole number"),
        (["localhost", "80.5"], "argument PORT: '80.5': expected a whole number"),
        (["localhost", "9" * 5000], "expected a whole number"),
        (["localhost", "0"], "port 0: expected 1 to 65535"),
        (["localhost", "65536"], "port 65536: expected 1 to 65535"),
        (["localhost", "-1"], "port -1: expected 1 to 65535"),
        (["localhost", "1", "2"], "unrecognized arguments: 2"),
        (["localhost", "1", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["localhost", "1", "--agent"], "argument --agent: expected one argument"),
        (["localhost", "1", "--agent", "nobody"], f"agent 'nobody' is not known: expected one of {NAMES}"),
        (["localhost", "1", "--game", "chess"], f"expected a .game file or one of {GAMES}"),
        (["localhost", "1", "--game", os.devnull], "missing limit or nolimit, numPlayers"),
        (["localhost", "1", "--seed", "x"], "argument --seed: 'x': expected a whole number"),
        (["localhost", "1", "--seed", "-1"], "options: bot.seed = -1: expected at least 0"),
        (["localhost", "1", "--hands", "-1"], "options: bot.hands = -1: expected at least 0"),
        (["localhost", "1", "--match", "m" * 201], "expected at most 200 characters"),
        (["localhost", "1", "--config", "missing.toml"], "missing.toml: No such file or directory: expected a config"),
    ],
)
def test_bad_usage_of_bot(call, arguments, expected):
    code, out, err = call("bot", *arguments)
    assert (code, out) == (2, "")
    line = one_line(err)
    assert line.startswith("paratus bot: ")
    assert expected in line
    assert len(line) < 500


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["deal"], "the following arguments are required: NAME, GAME, HANDS, SEED, PLAYER"),
        (["deal", "m", DEFAULT_GAME, "x", "0", "a", "b"], "argument HANDS: 'x': expected a number from 1"),
        (["deal", "m", DEFAULT_GAME, "1", "0", "a"], f"1 players: {DEFAULT_GAME} is played by 2"),
        (["deal", "m", "chess", "1", "0", "a", "b"], "expected a .game file or one of"),
        (["match", "leduc"], "the following arguments are required: AGENT"),
        (["match", "leduc", "random", "nobody"], f"neither an executable file nor one of {NAMES}"),
        (["match", "leduc", "random", "random", "--hands", "0"], "argument --hands: '0': expected a number from 1"),
        (["doctor", "now"], "unrecognized arguments: now"),
        (["warm", "--json"], "unrecognized arguments: --json"),
    ],
)
def test_bad_usage_of_other_commands(call, arguments, expected):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert one_line(err).startswith(f"paratus {arguments[0]}: ")
    assert expected in err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError("bad setting"), 2, "paratus fake: bad setting\n"),
        (BlueprintError("bad blueprint"), 1, "paratus fake: bad blueprint\n"),
        (Disconnected("gone"), 1, "paratus fake: gone\n"),
        (
            PermissionError(13, "Permission denied", "/there"),
            1,
            "paratus fake: [Errno 13] Permission denied: '/there'\n",
        ),
        (BrokenPipeError(32, "Broken pipe"), 1, ""),
        (MemoryError("too much"), 1, "paratus fake: out of memory: too much: expected a machine that has more\n"),
        (KeyboardInterrupt(), 130, "paratus fake: interrupted\n"),
    ],
)
def test_what_commands_raise(call, monkeypatch, error, code, said):
    def raise_it(options):
        raise error

    module = ModuleType("fake_command")
    module.add_arguments, module.run_command = lambda parser: None, raise_it
    monkeypatch.setitem(sys.modules, "fake_command", module)
    monkeypatch.setitem(cli.COMMANDS, "fake", ("fake_command", "fail"))
    assert call("fake") == (code, "", said)


def test_a_bug_is_not_hidden(monkeypatch):
    module = ModuleType("fake_command")
    module.add_arguments, module.run_command = lambda parser: None, lambda options: 1 // 0
    monkeypatch.setitem(sys.modules, "fake_command", module)
    monkeypatch.setitem(cli.COMMANDS, "fake", ("fake_command", "fail"))
    with pytest.raises(ZeroDivisionError):
        cli.main(["fake"])


# --- Output that cannot be written ----------------------------------------------------------------------------------

PRINTING = [["--help"], ["--version"], ["bot", "--list"], ["bot", "--help"], ["bot", "--print-config"]]


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_left(arguments, unbuffered, monkeypatch):
    """As in `paratus bot --list | head -0`, but certain to have left before."""
    if unbuffered:
        monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    read_end, write_end = os.pipe()
    os.close(read_end)
    ran = subprocess.run([*PARATUS, *arguments], stdout=write_end, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(write_end)
    unseen = unbuffered and arguments == ["bot", "--help"]  # argparse ignores that its own text was not written
    assert (ran.returncode, ran.stderr) == (0 if unseen else 1, b"")


def test_a_reader_that_leaves():
    ran = run("sh", "-c", 'for i in 1 2 3; do "$0" -m bot.cli bot --list | head -0; done', sys.executable)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", PRINTING[:3], ids=" ".join)
def test_a_full_disk(arguments):
    with FULL.open("wb") as full:
        ran = subprocess.run([*PARATUS, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert ran.returncode == 1
    assert one_line(ran.stderr.decode()).endswith("No space left on device")


def test_a_closed_stdout():
    ran = run("sh", "-c", '"$0" -m bot.cli bot --list >&-', sys.executable)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_terminal_with_few_characters(monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    ran = run(*PARATUS, "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()


# --- Playing --------------------------------------------------------------------------------------------------------


def test_a_silent_dealer(call, silent_dealer, impatient):
    code, out, err = call("bot", "127.0.0.1", silent_dealer, "--config", impatient, "--agent", "all-in")
    assert (code, out) == (5, "")
    first, last = err.splitlines()
    assert first == f"paratus bot: all-in plays {DEFAULT_GAME}, seed 0"
    assert last.startswith("paratus bot: the dealer is silent: ")


def test_no_dealer(call, impatient):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # but does not listen
        port = bound.getsockname()[1]
        code, _, err = call("bot", "127.0.0.1", str(port), "--config", impatient, "--agent", "random")
    assert code == 3
    assert f"paratus bot: cannot connect to 127.0.0.1:{port}: " in err


def test_a_match_that_did_not_begin_leaves_no_store(call, silent_dealer, tmp_path):
    """Unless its file was named: then it was wanted, or there before."""
    config = tmp_path / "short.toml"
    config.write_text("[wait]\nconnect_s = 0.2\nfirst_state_s = 0.05\n")
    arguments = ("bot", "127.0.0.1", silent_dealer, "--agent", "random", "--config", str(config))
    code, _, err = call(*arguments)
    assert code == 5
    assert str(tmp_path / "data") in err
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file()] == []
    named = tmp_path / "named.sqlite"
    assert call(*arguments, "--store", str(named))[0] == 5
    assert named.exists()


def _heed_ctrl_c():
    """A suite that a shell runs in the background inherits that Ctrl-C is ignored, and so would its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("text", ["0", "0s", "-1s", "soon", "1e3", "2 m", ""])
def test_a_time_to_think_that_is_none(call, text):
    code, out, err = call("bot", "127.0.0.1", "1", "--agent", "random", f"--think={text}")
    assert (code, out) == (2, "")
    assert one_line(err) == f"paratus bot: --think {text!r}: expected seconds above 0, as in 0.5s, 2s or 7s"


def test_ctrl_c():
    with socket.create_server(("127.0.0.1", 0)) as dealer:
        dealer.settimeout(30)
        port = str(dealer.getsockname()[1])
        bot = subprocess.Popen(
            [*PARATUS, "bot", "127.0.0.1", port, "--agent", "random"],
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_heed_ctrl_c,
        )
        seat, _ = dealer.accept()
    with bot, seat:
        assert "random plays" in bot.stderr.readline()
        bot.send_signal(signal.SIGINT)
        assert one_line(bot.stderr.read()) == "paratus bot: interrupted"
    assert bot.returncode == 130


def test_the_game_comes_from_the_option_else_the_file_else_the_environment(
    call, silent_dealer, impatient, tmp_path, monkeypatch
):
    def game(*options):
        return (
            call("bot", "127.0.0.1", silent_dealer, "--agent", "random", *options)[2].split(" plays ")[1].split(",")[0]
        )

    with_game = tmp_path / "game.toml"
    with_game.write_text('[bot]\ngame = "kuhn.limit.3p"\n' + (tmp_path / "impatient.toml").read_text())
    assert game("--config", impatient) == DEFAULT_GAME
    monkeypatch.setenv("PARATUS_GAME", "leduc")
    assert game("--config", impatient) == "leduc"
    assert game("--config", str(with_game)) == "kuhn.limit.3p"
    assert game("--config", str(with_game), "--game", "holdem.limit.3p") == "holdem.limit.3p"
    monkeypatch.setenv("PARATUS_GAME", "")
    assert game("--config", impatient) == DEFAULT_GAME
    monkeypatch.setenv("PARATUS_GAME", "chess")
    code, _, err = call("bot", "127.0.0.1", silent_dealer, "--config", impatient)
    assert code == 2
    assert one_line(err).startswith("paratus bot: chess: No such file or directory: expected a .game file")


@pytest.fixture
def player(monkeypatch, capsys):
    def call_player(*arguments):
        monkeypatch.setattr(sys, "argv", ["paratus-player", *arguments])
        return cli.player(), *capsys.readouterr()

    return call_player


@pytest.mark.parametrize("arguments", [(), ("127.0.0.1",), ("127.0.0.1", "1", "--agent"), ("--help",)], ids=str)
def test_player_usage(player, arguments):
    code, out, err = player(*arguments)
    assert (code, out) == (2, "")
    assert one_line(err).startswith("usage: paratus-player IP PORT ")


def test_player_is_configured_by_the_environment(player, monkeypatch, silent_dealer, impatient, tmp_path):
    blueprint = settings_for(HOLDEM)
    config = tmp_path / "over a blueprint.toml"
    config.write_text(
        f'[blueprint]\nfile = "{blueprint.file}"\ntables = "{blueprint.tables}"\nrivers = false\n'
        + Path(impatient).read_text()
    )
    monkeypatch.setenv("PARATUS_CONFIG", str(config))
    monkeypatch.setenv("PARATUS_AGENT", "always-call")
    monkeypatch.setenv("PARATUS_GAME", "leduc")
    code, _, err = player("127.0.0.1", silent_dealer)
    assert code == 5
    assert err.startswith("paratus bot: always-call plays leduc, seed 0\n")
    monkeypatch.setenv("PARATUS_AGENT", "")
    monkeypatch.delenv("PARATUS_GAME")
    assert player("127.0.0.1", silent_dealer)[2].startswith(f"paratus bot: paratus plays {DEFAULT_GAME}, seed 0\n")


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("PARATUS_AGENT", "nobody", "agent 'nobody' is not known"),
        ("PARATUS_CONFIG", "missing.toml", "missing.toml: No such file"),
        ("PARATUS_GAME", "chess", "chess: No such file"),
    ],
)
def test_player_refuses_a_bad_environment(player, monkeypatch, variable, value, expected):
    monkeypatch.setenv(variable, value)
    code, out, err = player("127.0.0.1", "1")
    assert (code, out) == (2, "")
    assert expected in one_line(err)


# --- Doctor and warm ------------------------------------------------------------------------------------------------


@pytest.fixture
def healthy(monkeypatch):
    """A machine on which the doctor finds nothing, whatever this one is like."""
    monkeypatch.setattr(doctor, "_MIN_MEMORY_GIB", 0.0)
    monkeypatch.setattr(doctor, "_MIN_FREE_MB", 0.0)
    monkeypatch.setattr(doctor, "TABLES_MB", 0.0)
    monkeypatch.setattr(doctor, "_CGROUP", Path("no such file"))
    monkeypatch.setattr("blueprints.shipped.shipped_blueprint", lambda: file_of(HOLDEM))
    monkeypatch.setattr("protocol.kernels.cached", lambda: True)


@pytest.mark.usefixtures("healthy")
def test_the_doctor_finds_this_machine_well(call):
    code, out, err = call("doctor")
    assert code == 0, out
    assert err == ""
    assert all(line.startswith("ok  ") for line in out.splitlines())
    code, as_json, _ = call("doctor", "--json")
    findings = json.loads(as_json)
    assert code == 0
    assert all(finding.keys() == {"check", "ok", "text"} and finding["ok"] is True for finding in findings)
    checks = [finding["check"] for finding in findings]
    assert checks == [line[4:19].strip() for line in out.splitlines()]
    folders = {"here", "data folder", "cache folder", "temporary"}
    parts = {f"warm {part}" for part in PARTS}
    assert {"python", "cores", "memory", *doctor.PACKAGES, *doctor.DEPENDENCIES} | folders | parts == set(checks)


def _fail():
    raise ImportError("Numba needs\nan older NumPy")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("_MIN_PYTHON", (9, 9), "BAD  python "),
        ("_MIN_MEMORY_GIB", 1e9, "GiB free: expected 1000000000.0"),
        ("_cores", lambda: doctor.Finding("cores", False, "0.5 usable"), "BAD  cores          0.5 usable"),
        ("_least_versions", lambda: {"numpy": "99.1"}, ": expected 99.1 or later: pip install paratus again"),
        ("TABLES_MB", 1e12, " MB free: expected 1000000000000"),
        ("tables_folder", lambda: Path("/proc/paratus"), "BAD  cache folder   /proc/paratus cannot be written: "),
        ("DEPENDENCIES", ("numpy", "no-such-distribution"), "not installed: pip install paratus again"),
        ("PACKAGES", ("protocol", "json"), "another package shadows it"),
        ("PACKAGES", ("numpy",), "also installed by numpy: use an environment of its own"),
        ("PACKAGES", ("no_such_package",), "imported from None"),
        ("warm_up", _fail, "BAD  warm ranking   ImportError: Numba needs an older NumPy"),
    ],
)
@pytest.mark.usefixtures("healthy")
def test_the_doctor_finds_what_is_wrong(call, monkeypatch, tmp_path, name, value, expected):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if name != "warm_up":
        monkeypatch.setattr(bot.warm, "warm_up", lambda: 0.0)
    monkeypatch.setattr(bot.warm if name == "warm_up" else doctor, name, value)
    code, out, err = call("doctor")
    assert code == 1
    assert err == ""
    assert [expected in line for line in out.splitlines() if line.startswith("BAD")] == [True]
    assert out.splitlines()[-1].startswith("ok   temporary")  # it goes on to the end
    code, as_json, _ = call("doctor", "--json")
    assert code == 1
    assert [finding["ok"] for finding in json.loads(as_json)].count(False) == 1


@pytest.mark.usefixtures("healthy")
def test_the_doctor_says_what_is_cold_and_what_it_costs(call, monkeypatch, tmp_path):
    """And builds none of it, but hand ranking: then it says that it does."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(bot.warm, "warm_up", lambda: 0.0)
    monkeypatch.setattr("protocol.kernels.cached", lambda: False)
    monkeypatch.setattr("solver.warm.cached", lambda: False)
    code, out, err = call("doctor")
    assert code == 0
    assert err == "paratus doctor: compiling hand ranking (up to half a minute) …\n"
    assert "ok   warm solver    cold: the first search compiles, " in out
    assert "ok   warm blueprint cold: the first start builds its tables, " in out
    assert not cache.exists()
    monkeypatch.setattr("solver.warm.cached", lambda: True)
    blueprint = Blueprint.open(file_of(HOLDEM))
    for path in blueprint.missing_tables(tables_folder()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    out = call("doctor")[1]
    assert "ok   warm solver    cached\n" in out
    assert f"ok   warm blueprint cached in {cache}" in out
    monkeypatch.undo()


def test_nothing_is_cached_in_a_new_folder(tmp_path, monkeypatch):
    """And looking compiles nothing."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    code = "from protocol import kernels; from solver import warm; print(kernels.cached(), warm.cached())"
    assert run(sys.executable, "-c", code).stdout == "False False\n"
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.parametrize(("text", "ok"), [("50000 100000\n", False), ("100000 100000\n", True), ("max 100000\n", True)])
def test_a_container_may_use_less_than_a_core(monkeypatch, tmp_path, text, ok):
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(doctor, "_CGROUP", tmp_path / "cpu.max")
    assert doctor._cores().ok == ok


def test_the_doctor_knows_the_versions_that_are_asked_for(monkeypatch):
    lines = ["numpy>=2.0", "uvloop>=0.20; sys_platform != 'win32'", "scipy>=1.11; extra == 'dev'"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: lines)
    assert doctor._least_versions() == {"numpy": "2.0", "uvloop": "0.20"}
    assert doctor._numbers("1.26.4") < doctor._numbers("2.0") < doctor._numbers("2.0.1rc1") < doctor._numbers("2.10")


@pytest.mark.usefixtures("healthy")
def test_a_missing_uvloop_is_no_fault(call, monkeypatch):
    monkeypatch.setattr(bot.warm, "warm_up", lambda: 0.0)

    def missing(name):
        if name == "uvloop":
            raise doctor.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(doctor.metadata, "version", missing)
    code, out, _ = call("doctor")
    assert code == 0
    assert "ok   uvloop         not installed: slower without it\n" in out


def test_warm(call):
    code, out, err = call("warm", "ranking", "solver")
    assert (code, out) == (0, "")
    assert "hand ranking: ready after " in err
    assert kernels.cached()
    assert warm.cached()
    code, _, again = call("warm", "ranking", "solver")
    assert code == 0
    assert float(again.split("ready after ")[1].split()[0]) < 1.0  # nothing is left to do


def test_warm_prepares_what_an_agent_needs_alone(call, monkeypatch):
    prepared = []
    for name, part in PARTS.items():

        def prepare(required, agent, name=name):
            prepared.append((name, required))

        monkeypatch.setitem(PARTS, name, dataclasses.replace(part, prepare=prepare))
    assert call("warm", "--agent", "random")[0] == 0
    assert prepared == [("ranking", True)]
    assert call("warm", "--agent", "nested")[0] == 0
    assert prepared[1:] == [("ranking", True), ("solver", True)]
    assert {part for spec in AGENTS.values() for part in spec.warm_parts} == {*PARTS}
    assert "expected one of" in call("warm", "--agent", "nobody")[2]
    assert "expected one of them" in call("warm", "solver", "--agent", "random")[2]


def test_warm_fails_if_the_blueprint_that_was_asked_for_is_not_there(call, monkeypatch, tmp_path):
    """Whoever names no part takes what there is."""
    monkeypatch.setattr("blueprints.shipped.resources.files", lambda package: tmp_path)
    code, _, err = call("warm", "blueprint")
    assert code == 2
    assert one_line(err).startswith(f"paratus warm: {tmp_path}")
    assert "train one (`paratus blueprint train`)" in err
    monkeypatch.setattr("bot.warm.PARTS", {"blueprint": PARTS["blueprint"]})
    code, _, err = call("warm")
    assert code == 0
    assert one_line(err).startswith(f"blueprint: {tmp_path}")
