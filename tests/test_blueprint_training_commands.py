"""`paratus blueprint price|train|contest`, on no-limit Leduc, where all is over in seconds."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from blueprint_files import small_game, write

from blueprints.settings import load_settings
from blueprints.storage import Blueprint
from machine.revision import code_revision

CONFIG = """\
name = "leduc"
game = "leduc"
menu = "100%,a / a"
[trainer]
walks = {walks}
periods = {periods}
"""


@pytest.fixture
def call(blueprint_command):
    return blueprint_command


@pytest.fixture
def config(tmp_path) -> Path:
    path = tmp_path / "leduc.toml"
    path.write_text(CONFIG.format(walks=50, periods=2))
    return path


def test_price(call, config):
    code, out, err = call("price", config, "--threads", "1", "--json")
    assert (code, err) == (0, "")
    price = json.loads(out)
    assert [street["buckets"] for street in price["streets"]] == [3, 9]
    pairs = sum(street["actions"] * street["buckets"] for street in price["streets"])
    assert price["file_bytes"] == price["pairs"] == pairs
    assert price["information_sets"] == sum(each["decisions"] * each["buckets"] for each in price["streets"])
    assert price["training_bytes"] >= 2 * 4 * pairs
    assert price["tables_bytes"] == 0  # a small game has none
    assert price["working_bytes"] > 0
    assert price["walks"] == 100
    assert price["hours"] == pytest.approx(100 / price["walks_a_second"] / 3600)
    code, out, _ = call("price", config, "--threads", "1")
    assert code == 0
    for words in (
        "memory while training",
        "regrets and averages",
        "tables of buckets    0.0 MB",
        "updates",
        "hours for the 100 walks",
        "information sets",
    ):
        assert words in out


def test_what_no_memory_holds_is_refused(tmp_path):
    """By the system, where a process may have 6 GB."""
    config = tmp_path / "large.toml"
    menu = load_settings("standard").menu
    config.write_text(f'name = "large"\nmenu = "{menu}"\n[cards]\nriver = 60_000\n')
    limited = "import resource as r, sys; r.setrlimit(r.RLIMIT_AS, (6 << 30,) * 2); from bot.cli import main; "
    ran = subprocess.run(
        [sys.executable, "-c", f"{limited} sys.exit(main(['blueprint', 'price', {str(config)!r}]))"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "large: regrets and averages of " in ran.stderr
    assert ran.stderr.endswith(" GB at least: expected a machine that has them, or fewer buckets or bets\n")
    assert ran.stderr.count("\n") == 1


@pytest.mark.proof
@pytest.mark.parametrize("sampling", ["public", "external"])
def test_price_of_full_holdem(call, tmp_path, sampling):
    """Buckets are made up, for either form of sampling."""
    config = tmp_path / "some.toml"
    config.write_text(
        'name = "some"\nmenu = "a / -"\n[cards]\nflop = 30\nturn = 1500\nriver = 20\nopponents = 1\n'
        f'[trainer]\nsampling = "{sampling}"\n'
    )
    code, out, err = call("price", config, "--threads", "1", "--json")
    assert (code, err) == (0, "")
    price = json.loads(out)
    assert [street["buckets"] for street in price["streets"]] == [169, 30, 1500, 20]
    assert price["tables_bytes"] == 2 * (1755 * 1176 + 16_432 * 1128 + 134_459 * 1081)
    assert price["training_bytes"] >= 8 * price["file_bytes"]
    assert price["working_bytes"] >= 5 * price["file_bytes"]
    assert price["walks_a_second"] > 0
    assert price["pairs_a_second"] > 0
    code, out, _ = call("price", config, "--threads", "2")
    assert code == 0
    assert "tables of buckets    332 MB, mapped" in out


@pytest.mark.proof
def test_quality_of_a_configuration_is_that_of_the_files_it_makes(call):
    """Before and after training."""
    code, out, _ = call("price", "tiny", "--quality", "--json")
    assert code == 0
    before = json.loads(out)["quality"]
    assert [street["buckets"] for street in before["streets"]] == [16, 16, 16]
    assert call("train", "tiny", "--periods", "1")[0] == 0
    code, out, _ = call("info", "training/tiny/tiny.blueprint", "--quality", "--json")
    assert code == 0
    assert json.loads(out)["quality"] == before


def test_train_and_go_on(call, config):
    code, out, err = call("train", config, "--threads", "1")
    assert code == 0
    assert out == "written to training/leduc/leduc.blueprint\n"
    assert err.count("\n") == 2
    assert err.startswith("period 1 of 2, ")
    assert " left: 50 walks (" in err
    assert "positive regret" in err
    file = Path("training/leduc/leduc.blueprint")
    blueprint = Blueprint.open(file, verify=True)
    assert (blueprint.header.training.walks, blueprint.header.training.periods) == (100, 2)
    assert blueprint.header.training.revision == code_revision()
    code, out, err = call("train", config, "--periods", "4", "--out", "more.blueprint", "--json")
    assert code == 0
    assert err.startswith("paratus blueprint train: goes on after period 2\nperiod 3 of 4, ")
    found = json.loads(out)
    assert (found["file"], found["number"], found["done"]) == ("more.blueprint", 4, True)
    assert found["hash"] == Blueprint.open(Path("more.blueprint"), verify=True).digest != blueprint.digest


def test_the_file_names_all_code_that_trained_it(call, config, monkeypatch):
    """As many as a header holds."""
    for period in range(1, 13):
        monkeypatch.setattr(
            "blueprints.train.trainer.code_revision", lambda period=period: f"paratus 0.1.0, {period:07x}"
        )
        assert call("train", config, "--periods", period, "--threads", "1")[0] == 0
        said = Blueprint.open(Path("training/leduc/leduc.blueprint")).header.training.revision
        if period == 2:
            assert said == "paratus 0.1.0, 0000001; paratus 0.1.0, 0000002"
    assert said == "paratus 0.1.0, 0000001; …; paratus 0.1.0, 000000c"


def test_begin_from_a_file(call, config, tmp_path):
    assert call("train", config)[0] == 0
    file = "training/leduc/leduc.blueprint"
    first = Blueprint.open(Path(file)).header.training
    code, _, err = call("train", config, "--folder", "again", "--begin-from", file)
    assert code == 2
    assert f"--periods 2: {file} has 2: expected more" in err
    code, _, err = call("train", config, "--folder", "again", "--begin-from", file, "--periods", "3")
    assert code == 0
    assert "begins after the file's period 2" in err
    code, _, err = call("train", config, "--folder", "again", "--periods", "4")
    assert code == 1
    assert "begun from" in err
    assert call("train", config, "--folder", "again", "--periods", "4", "--begin-from", file)[0] == 0
    after = Blueprint.open(Path("again/leduc.blueprint")).header.training
    assert (after.periods, after.walks) == (4, 2 * first.walks)
    assert after.core_seconds > first.core_seconds
    other = tmp_path / "other.toml"
    other.write_text(CONFIG.format(walks=50, periods=2).replace("100%,a / a", "50%,a / a"))
    code, _, err = call("train", other, "--folder", "new", "--begin-from", file)
    assert code == 2
    assert "menu = 100%,a / a: expected 50%,a / a" in err


def test_ctrl_c_ends_after_the_period_and_writes_the_file(tmp_path):
    path = tmp_path / "leduc.toml"
    path.write_text(CONFIG.format(walks=400, periods=100_000))
    command = [sys.executable, "-m", "bot.cli", "blueprint", "train", str(path), "--folder", str(tmp_path / "run")]
    process = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("period 1 of 100,000")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "stops after this period" in err
    found = json.loads(out)
    assert not found["done"]
    blueprint = Blueprint.open(Path(found["file"]), verify=True)
    assert blueprint.header.training.periods == found["number"] >= 1


def test_contest(call, config):
    assert call("train", config, "--periods", "1", "--out", "early.blueprint")[0] == 0
    assert call("train", config, "--periods", "40", "--out", "late.blueprint")[0] == 0
    code, out, _ = call("contest", "late.blueprint", "early.blueprint", "--boards", "60", "--json")
    assert code == 0
    there = json.loads(out)
    assert there["boards"] == 60
    assert there["chips"] > 0
    back = json.loads(call("contest", "early.blueprint", "late.blueprint", "--boards", "60", "--json")[1])
    assert back["chips"] == pytest.approx(-there["chips"])
    code, out, _ = call("contest", "late.blueprint", "late.blueprint", "--boards", "20")
    assert code == 0
    assert "all pairs of hands on 20 boards, 95 % intervals" in out
    assert "both seats        +0 ± 0 mbb/g" in out or "both seats        -0 ± 0 mbb/g" in out or "e-" in out


def test_refused(call, config, tmp_path):
    write(tmp_path / "other.blueprint", small_game(), "50%,a / a")
    assert call("train", config)[0] == 0
    for arguments, message in (
        (("contest", "training/leduc/leduc.blueprint", "other.blueprint"), "expected those of"),
        (("contest", "nothing", "other.blueprint"), "nothing"),
        (("contest", "other.blueprint", "other.blueprint", "--boards", "1"), "--boards"),
        (("train", "nothing"), "expected one of slumbot-style, small, standard, tiny, or a file"),
        (("train", config, "--hours", "0"), "--hours 0.0: expected more than 0"),
        (("train", config, "--threads", "0"), "expected 1 to 256"),
        (("price", "nothing"), "expected one of"),
        (("price", config, "--quality"), "--quality of leduc: expected a game of hold'em's buckets"),
        (("info", "other.blueprint", "--quality"), "card abstraction"),
    ):
        code, out, err = call(*arguments)
        assert code in (1, 2), arguments
        assert out == "", arguments
        assert message in err, arguments
        assert err.count("\n") == 1, arguments
