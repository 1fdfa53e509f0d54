"""What a user gets: the wheel is built as pip would build it, looked through, and used from an empty folder."""

from __future__ import annotations

import configparser
import subprocess
import sys
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from bot.doctor import DEPENDENCIES, PACKAGES

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # The build backend itself, as `pip wheel --no-build-isolation` calls it: nothing is downloaded.
    code = f"import hatchling.build; print(hatchling.build.build_wheel({str(folder)!r}))"
    built = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    (path,) = folder.iterdir()
    with zipfile.ZipFile(path) as archive:
        yield archive


def files(wheel):
    """Everything but the metadata, by path."""
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


def metadata(wheel, name):
    (path,) = [path for path in wheel.namelist() if path.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def test_the_wheel_holds_exactly_the_packages(wheel):
    assert {name.split("/")[0] for name in files(wheel)} == set(PACKAGES)
    source = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert files(wheel) == source
    assert len(source) > 30
    for package in PACKAGES:
        assert f"{package}/__init__.py" in source


def test_the_wheel_holds_data_and_nothing_unexpected(wheel):
    games = [name for name in files(wheel) if name.endswith(".game")]
    assert sorted(games) == sorted(f"protocol/games/{path.name}" for path in (ROOT / "protocol/games").iterdir())
    assert len(games) >= 6
    assert {Path(name).suffix for name in files(wheel) if not name.startswith("blueprints/data/")} <= {
        *(".py", ".game", ".npz", ".toml", ".typed")
    }
    assert not [name for name in files(wheel) if {"tests", "benchmarks", "docs"} & {*Path(name).parts}]
    for name in games:
        assert wheel.read(name) == (ROOT / name).read_bytes()


def test_the_licence_goes_along(wheel):
    assert metadata(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")
    headers = HeaderParser().parsestr(metadata(wheel, "METADATA"))
    assert headers["Name"] == "paratus"
    assert headers["Version"] == PROJECT["version"]
    assert headers["License-Expression"] == "MIT"
    assert headers["Requires-Python"] == PROJECT["requires-python"]


def test_dependencies_are_those_that_the_doctor_looks_for(wheel):
    required = HeaderParser().parsestr(metadata(wheel, "METADATA")).get_all("Requires-Dist")
    always = {line.split(";")[0].split(">")[0].split("<")[0].strip() for line in required if "extra ==" not in line}
    assert always == set(DEPENDENCIES)


def test_entry_points(wheel):
    parser = configparser.ConfigParser()
    parser.read_string(metadata(wheel, "entry_points.txt"))
    assert {section: dict(parser[section]) for section in parser.sections()} == {
        "console_scripts": {"paratus": "bot.cli:main", "paratus-player": "bot.cli:player"}
    }
    assert metadata(wheel, "WHEEL").count("py3-none-any") == 1


def test_the_wheel_works_without_the_source_tree(wheel, tmp_path):
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    wheel.extractall(site)
    elsewhere.mkdir()
    code = f"""
import sys
sys.path = [{str(site)!r}] + [path for path in sys.path if path != {str(ROOT)!r}]
import {", ".join(PACKAGES)}
for package in ({", ".join(PACKAGES)}):
    assert package.__file__.startswith({str(site)!r}), package.__file__
from bot.config import default_settings
from protocol.game import load_game, shipped_games
assert "[nested.turn]" in default_settings()
assert len(shipped_games()) >= 6
for name in shipped_games():
    assert not load_game(name).warnings
from bot.cli import main
sys.exit(main(["bot", "--list"]))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=elsewhere, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "random" in ran.stdout.split()
    assert not list(elsewhere.iterdir())
