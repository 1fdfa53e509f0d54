"""`python -m release.blueprint`, on no-limit Leduc: the file and the run it was written from belong together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bot import cli
from release.blueprint import main

CONFIG = """\
name = "leduc"
game = "leduc"
menu = "{menu}"
[trainer]
walks = 50
periods = 3
seed = {seed}
sampling = "{sampling}"
"""


def train(folder: Path, menu: str = "100%,a / a", seed: int = 1, sampling: str = "public", periods: int = 3) -> Path:
    """The folder of a run, with its file."""
    folder.mkdir(exist_ok=True)
    config = folder.with_suffix(".toml")
    config.write_text(CONFIG.format(menu=menu, seed=seed, sampling=sampling))
    command = ["blueprint", "train", str(config), "--folder", str(folder), "--threads", "1", "--periods", str(periods)]
    assert cli.main(command) == 0
    return folder


def measure(file: Path, run: Path) -> int:
    sizes = ["--boards", "20", "--self-boards", "20", "--threads", "1"]
    return main([str(file), "--run", str(run), "--json", *sizes])


@pytest.mark.parametrize("sampling", ["public", "external"])
def test_what_8_bits_cost(tmp_path, capsys, sampling):
    """Next to nothing, whatever the form of sampling: the checkpoint of either has another layout."""
    run = train(tmp_path / "run", sampling=sampling, periods=30)
    capsys.readouterr()
    assert measure(run / "leduc.blueprint", run) == 0
    report = json.loads(capsys.readouterr().out)
    assert abs(report["8 bits against 32"]["mbb"]) < 10
    assert report["expectation"]["random"]["mbb"] > 500
    assert report["self-play"]["boards"] == 20


def test_another_run_is_refused(tmp_path, capsys):
    run = train(tmp_path / "run")
    file = shutil.copy(run / "leduc.blueprint", tmp_path / "leduc.blueprint")
    train(run, periods=4)
    others = [
        (run, "200 walks: expected 150 as in "),
        (train(tmp_path / "seed", seed=2), "seed = 2 there, 1 here"),
        (train(tmp_path / "menu", menu="50%,a / a"), "menu = '50%,a / a' there, '100%,a / a' here"),
        (train(tmp_path / "form", sampling="external"), "sampling = 'external' there, 'public' here"),
        (tmp_path, "not a checkpoint"),
    ]
    for folder, message in others:
        capsys.readouterr()
        assert measure(file, folder) == 1, folder
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert f"{folder}/checkpoint.npz: " in err
        assert message in err
