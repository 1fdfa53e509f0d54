"""Strategies that were trained apart, merged: worth the weighted mean of what each is worth, against anybody."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from trained import Case, kuhn, leduc, no_limit_leduc, short_deck

from blueprints.rounding import quantise_nodes
from blueprints.storage import MOST_REVISION_CHARS, Blueprint, TrainingRun, revisions_text
from blueprints.train.measures.contest import Contestant, contest
from blueprints.train.merge import BOARDS, Share, merge
from blueprints.train.trainer import Tables
from bot.blueprints.merge import add_arguments

CONFIG = """\
name = "leduc"
game = "leduc"
menu = "{menu}"
[trainer]
walks = 50
periods = 3
"""


def learnt(here: Case, seed: int, periods: int) -> Tables:
    return here.learnt(seed, periods, 30)


def at_random(here: Case) -> Tables:
    rng = np.random.default_rng(3)
    return [rng.random(table.shape, np.float32) ** 3 for table in here.public().averages()]


def seats(here: Case, mine: Tables, theirs: Tables) -> np.ndarray:
    """Chips that one wins in either seat, over the same boards whoever plays."""
    sides = Contestant(mine, here.cards), Contestant(theirs, here.cards)
    return np.array(contest(here.game, here.tree, *sides, boards=40, seed=2).seats_chips)


@pytest.mark.parametrize("make_case", [kuhn, leduc, no_limit_leduc])
def test_against_anybody_it_wins_the_weighted_mean(make_case: Callable[[], Case]) -> None:
    here = make_case()
    weights, strategies = (1.0, 3.0, 0.5), [learnt(here, 1, 2), learnt(here, 2, 6), at_random(here)]
    shares = [Share(tables, weight) for tables, weight in zip(strategies, weights, strict=True)]
    merged = merge(here.game, here.tree, here.cards, shares, boards=150)
    for theirs in (at_random(here), strategies[0], merged):
        expected = np.average([seats(here, tables, theirs) for tables in strategies], axis=0, weights=weights)
        np.testing.assert_allclose(seats(here, merged, theirs), expected, atol=2e-6 * max(here.game.stack or (100,)))


@pytest.mark.parametrize("make_case", [leduc, short_deck])
def test_two_runs_are_worth_more_than_either(make_case: Callable[[], Case]) -> None:
    """Exploitability is convex: no more than the mean, and here less than the better of the two."""
    here = make_case()
    measure = here.measure()
    first, second = learnt(here, 1, 10), learnt(here, 2, 10)
    merged = merge(here.game, here.tree, here.cards, [Share(first, 1.0), Share(second, 1.0)], boards=400)
    one, other, both = (measure.exploitability(tables).mbb for tables in (first, second, merged))
    assert both < 0.95 * min(one, other)


def test_where_no_board_came_the_plain_mean_is_played() -> None:
    here = leduc()
    first, second = ([table / 1000 for table in at_random(here)], learnt(here, 2, 6))
    merged = merge(here.game, here.tree, here.cards, [Share(first, 1.0), Share(second, 3.0)], boards=1)
    everywhere = merge(here.game, here.tree, here.cards, [Share(first, 1.0), Share(second, 3.0)], boards=150)
    river = slice(int(here.tree.first[here.tree.nodes_of(1).start]), int(here.tree.first[here.tree.nodes_of(1).stop]))
    plain = np.zeros(first[1].shape)
    for table, weight in ((first[1], 0.25), (second[1], 0.75)):
        for node in here.tree.nodes_of(1):
            edges = here.tree.edges(node)
            rows = slice(edges.start - river.start, edges.stop - river.start)
            plain[rows] += weight * table[rows] / np.maximum(table[rows].sum(axis=0), 1e-30)  # each in its own unit
    assert plain.shape[0] == river.stop - river.start
    alike = np.isclose(merged[1], plain, rtol=1e-5).all(axis=0)
    assert 0 < alike.sum() < plain.shape[1]  # the buckets of the board that came are not
    assert not np.isclose(everywhere[1], plain, rtol=1e-5).all(axis=0).any()


def test_on_two_threads_the_same_bits() -> None:
    here = leduc()
    shares = [Share(learnt(here, seed, 3), 1.0) for seed in (1, 2)]
    one, two = (
        merge(here.game, here.tree, here.cards, shares, boards=110, seed=4, threads=threads) for threads in (1, 2)
    )
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))


# --- The command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def call(blueprint_command):
    return blueprint_command


@pytest.fixture
def files(call, tmp_path) -> Callable[..., Path]:
    def train(seed: int, menu: str = "100%,a / a", periods: int = 3) -> Path:
        config = tmp_path / "leduc.toml"
        config.write_text(CONFIG.format(menu=menu))
        out = tmp_path / f"{seed}-{periods}-{len(menu)}.blueprint"
        folder = tmp_path / f"run-{out.stem}"
        code, _, err = call("train", config, "--seed", seed, "--folder", folder, "--periods", periods, "--out", out)
        assert code == 0, err
        assert Blueprint.open(out).settings.trainer.seed == seed
        return out

    return train


def test_merge(call, files, tmp_path):
    first, second, third, out = files(1), files(2, periods=6), files(3), tmp_path / "both.blueprint"
    code, said, _ = call("merge", first, second, "--out", out, "--json")
    assert code == 0
    merged, parts = Blueprint.open(out, verify=True), [Blueprint.open(path) for path in (first, second)]
    assert json.loads(said)["hash"] == merged.digest
    training, each = merged.header.training, [part.header.training for part in parts]
    assert training.runs == (TrainingRun(seed=1, walks=150), TrainingRun(seed=2, walks=300))
    for name in ("walks", "updates", "periods", "core_seconds"):
        assert getattr(training, name) == sum(getattr(one, name) for one in each)
    assert training.revision == each[0].revision  # the same code, said once
    # Runs count by the square of their walks, those of a merged file too.
    here = no_limit_leduc()
    tables = [[part.strategy(street) for street in range(2)] for part in (*parts, Blueprint.open(third))]
    assert call("merge", out, third, "--out", tmp_path / "all.blueprint")[0] == 0
    for path, weights, away in ((out, (1.0, 4.0), 0.5), (tmp_path / "all.blueprint", (1.0, 4.0, 1.0), 1.0)):
        shares = [Share(*each) for each in zip(tables, weights, strict=False)]
        expected = merge(here.game, here.tree, here.cards, shares, boards=2000)
        for street in range(2):
            first_edges = here.tree.first[here.tree.nodes_of(street).start : here.tree.nodes_of(street).stop]
            rounded = quantise_nodes(expected[street], np.append(first_edges - first_edges[0], len(expected[street])))
            found = Blueprint.open(path).strategy(street)
            assert np.abs(found.astype(int) - rounded).mean() < away  # of 255: parts are rounded, and then the whole
    code, said, _ = call("info", tmp_path / "all.blueprint")
    assert code == 0
    assert "150 walks with seed 1, 300 walks with seed 2, 150 walks with seed 3" in " ".join(said.split())


def test_what_cannot_be_merged_is_refused_in_a_line(call, files, tmp_path):
    first, longer, other, out = files(1), files(1, periods=6), files(2, menu="50%,a / a"), tmp_path / "out.blueprint"
    begun, external = (tmp_path / f"{name}.blueprint" for name in ("begun", "external"))
    first = files(1)  # so that the configuration is of its bets
    assert call("train", "leduc.toml", "--seed", 3, "--begin-from", first, "--periods", 14, "--out", begun)[0] == 0
    assert Blueprint.open(begun).runs == (TrainingRun(seed=3, walks=700, before=(1,)),)
    assert "700 walks with seed 3, begun from a file of seed 1" in " ".join(call("info", begun)[1].split())
    again = tmp_path / "again.blueprint"
    assert call("train", "leduc.toml", "--begin-from", begun, "--periods", 25, "--out", again)[0] == 0
    assert Blueprint.open(again).runs == (TrainingRun(seed=1, walks=1250, before=(1, 3)),)
    with (tmp_path / "leduc.toml").open("a") as config:
        config.write('sampling = "external"\n')
    assert call("train", "leduc.toml", "--seed", 4, "--folder", "external", "--out", external)[0] == 0
    for arguments, expected, wanted in (
        ([first], 2, "alone: expected two files at least"),
        ([first, longer], 1, "trained with seed 1: expected another than that of"),
        ([first, other], 1, "bets"),
        ([first, files(2), "--boards", 0], 2, "--boards 0: expected 1 at least"),
        ([first, tmp_path / "nothing"], 1, "nothing"),
        ([first, files(2), "--out", tmp_path], 2, "is a folder: expected the name of a file"),
        ([first, begun], 1, "trained with seed 1: expected another than that of"),
        ([begun, first], 1, "trained with seed 1: expected another than that of"),
        ([first, external], 1, "sampling external: expected those of"),
    ):
        code, said, err = call("merge", "--out", out, *arguments)
        assert (code, said) == (expected, "")
        assert wanted in err
        assert err.count("\n") == 1
        assert not out.exists()
    for command in (["train", tmp_path / "leduc.toml"], ["respond", first], ["contest", first, first]):
        code, _, err = call(*command, "--seed", -1)
        assert (code, err.count("\n")) == (2, 1)
        assert "--seed: '-1': expected 0 to " in err


def test_revisions_of_many_runs_fit_in_a_header():
    each = [f"paratus 0.1.0, {number:07x}" for number in range(40)]
    assert revisions_text([each[0], each[0]]) == each[0]
    assert revisions_text(each) == f"{each[0]}; …; {each[-1]}"
    assert len(revisions_text(each)) <= MOST_REVISION_CHARS


def test_the_help_names_the_default_number_of_boards() -> None:
    """It is written there again, since the module that knows it takes long to import."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert f"default: {BOARDS} --threads" in " ".join(parser.format_help().split())
