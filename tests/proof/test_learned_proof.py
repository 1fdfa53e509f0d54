"""Leaf values are learnt, by torch: the file says what was learnt, the same each time, and better than nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from blueprint_files import HOLDEM
from test_leaves import lookup_of, rollouts_of

from blueprints.learned import examples as making
from blueprints.learned import training
from blueprints.learned.examples import make_shard
from blueprints.learned.flops import Flop
from blueprints.learned.network import LeafNetwork, turn_roots, write_network
from blueprints.learned.training import LearningProgress, import_torch, learn
from blueprints.shipped import shipped_blueprint
from blueprints.storage import Blueprint
from bot import cli

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1800)]


def test_what_was_learnt_is_what_the_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = import_torch()
    for name, count in (("FLOPS", 3), ("ROOTS", 3), ("RUN_OUTS", 6)):
        monkeypatch.setattr(making, name, count)
    lookup = lookup_of(HOLDEM)
    blueprint, rollouts = lookup.blueprint, rollouts_of(lookup)
    shards = [make_shard(blueprint, rollouts, number) for number in range(10)]
    roots, told = turn_roots(blueprint), list[LearningProgress]()
    arrays, again = (learn(shards, len(roots), 30, 5, 1, told.append) for _ in range(2))
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)
    assert told[29].huber < told[0].huber

    path = tmp_path / "x.values"
    write_network(path, blueprint, arrays, 10.0, {})
    network, shard = LeafNetwork.open(path, blueprint), shards[4]
    pool = training._Pool(torch, [shard])
    weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    found, targets, _ = pool.asked(weights, torch.arange(pool.size))
    for number in range(pool.size):
        place, root, player = np.unravel_index(number, shard.groups.shape)
        group, chosen = shard.groups[place, root, player], shard.chosen[place, root, player]
        flop = _with_features(shard, int(place))
        values = network.values([roots.start + int(shard.roots[root])], flop)[0]
        said = values[:, group, :, chosen] if player == 0 else -values[group, :, chosen, :]
        assert found[number].numpy() == pytest.approx(said, abs=1e-4)
        assert np.array_equal(targets[number].numpy(), shard.targets[place, root, player])


def _with_features(shard: making.Examples, place: int) -> Flop:
    """A flop of which the network is told no more than a shard keeps."""
    nothing = np.zeros(0, np.float32)
    return Flop(
        (), nothing, np.zeros(0, np.int64), shard.of_group[place], shard.of_pair[place], shard.apart[place],
        shard.of_flop[place],
    )  # fmt: skip


def test_the_command_on_the_blueprint_that_ships(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shipped.values"
    command = ["blueprint", "leaves", "--flops", "200", "--epochs", "6", "--json"]
    assert cli.main([*command, "--folder", str(tmp_path / "examples"), "--out", str(out)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rms"] < 0.9 * said["rms_of_zero"]
    assert LeafNetwork.open(out, Blueprint.open(shipped_blueprint())).digest == said["hash"]
