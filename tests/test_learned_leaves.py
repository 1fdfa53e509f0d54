"""Learned leaf values: flops in groups, examples by roll-outs, the file of the network, and searches by it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blueprint_files import HOLDEM, settings_for, write
from test_leaves import lookup_of

from blueprints.learned import examples as making
from blueprints.learned.examples import make_examples, make_shard, read_shard
from blueprints.learned.flops import GROUPS, NONE, Flop
from blueprints.learned.leaves import LearnedLeaves
from blueprints.learned.network import LeafNetwork, network_file, shapes, turn_roots, write_network
from blueprints.lookup import Lookup
from blueprints.storage import Blueprint
from blueprints.tree import CALLED
from blueprints.values.leaves import StreetGame
from blueprints.values.rollouts import Rollouts
from bot import cli
from dealer_tools.scoring.holdings import Holdings
from machine.errors import ConfigError
from protocol.cards import parse_cards
from protocol.errors import BlueprintError
from protocol.game import Position
from protocol.hands import NUM_HANDS, SUIT_PERMUTATIONS, hand_cards_array, hand_permutation, permute_cards
from protocol.state import CALL, start
from protocol.wire import read_betting
from strategies.draws import Draws
from strategies.players.blueprint import BlueprintLookup
from strategies.policy import check_policy
from strategies.search.depth_limited import LimitedSearch
from strategies.search.settings import Effort, LimitedSettings
from strategies.strategy import Budget, Spot

BOARD = parse_cards("Ks7h2d")


@pytest.fixture(scope="module")
def flop() -> Flop:
    return Flop.of(BOARD)


@pytest.fixture(scope="module")
def lookup() -> Lookup:
    return lookup_of(HOLDEM)


def random_arrays(blueprint: Blueprint, scale: float) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    found = shapes(len(turn_roots(blueprint)), 4)
    return {name: (scale * rng.normal(size=shape)).astype(np.float32) for name, shape in found.items()}


def network_of(folder: Path, blueprint: Blueprint, scale: float = 0.1) -> Path:
    path = folder / f"{scale}.values"
    write_network(path, blueprint, random_arrays(blueprint, scale), 10.0, {"flops": 0})
    return path


# --- Flops ------------------------------------------------------------------------------------------------------------


def test_margins_are_those_that_scoring_counts(flop: Flop) -> None:
    holdings = Holdings(HOLDEM)
    for theirs in (5, 700, 1200):
        known = holdings.margins(theirs, BOARD)
        apart = np.array([not {*cards_of(theirs)} & {*cards_of(hand)} for hand in range(NUM_HANDS)])
        can_be = apart & (flop.groups != NONE)
        assert flop.margins[can_be, theirs] == pytest.approx(known[can_be], abs=1e-6)
        assert not flop.margins[~can_be, theirs].any()


def cards_of(hand: int) -> list[int]:
    return hand_cards_array()[hand].tolist()


def test_threads_count_the_same(flop: Flop) -> None:
    assert np.array_equal(Flop.of(BOARD, threads=3).margins, flop.margins)


def test_names_of_suits_do_not_matter(flop: Flop) -> None:
    suits = SUIT_PERMUTATIONS[17]
    other = Flop.of(permute_cards(BOARD, suits))
    to = hand_permutation(suits)
    assert np.array_equal(other.margins[np.ix_(to, to)], flop.margins)


def test_groups_are_of_equal_size_and_by_strength(flop: Flop) -> None:
    sizes = np.bincount(flop.groups[flop.groups != NONE], minlength=GROUPS)
    assert sizes.sum() == 1176
    assert sizes.max() - sizes.min() <= 2
    means = flop.of_group[:, 0].reshape(12, 4).mean(axis=1)
    assert (np.diff(means) > 0).all()
    strong, weak = GROUPS - 1, 0
    assert flop.of_pair[strong, weak, 0] > 0.5
    assert flop.of_pair[..., 0] == pytest.approx(-flop.of_pair[..., 0].T, abs=1e-5)


# --- Examples ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "FLOPS", 1)
    monkeypatch.setattr(making, "ROOTS", 3)
    monkeypatch.setattr(making, "RUN_OUTS", 3)


def rollouts_with(lookup: Lookup, strategies: list[Any]) -> Rollouts:
    blueprint = lookup.blueprint
    return Rollouts(blueprint.game, blueprint.tree, lookup.cards, strategies)


@pytest.mark.usefixtures("few")
def test_shards_are_made_once_and_again_as_they_were(lookup: Lookup, tmp_path: Path) -> None:
    blueprint = lookup.blueprint
    rollouts = rollouts_with(lookup, [blueprint.strategy(street) for street in range(4)])
    told: list[int] = []
    paths = make_examples(blueprint, rollouts, tmp_path, 2, told.append)
    assert told == [1, 2]
    before = [path.read_bytes() for path in paths]
    paths[1].unlink()
    kept = paths[0].stat().st_mtime_ns
    assert make_examples(blueprint, rollouts, tmp_path, 2, told.append) == paths
    assert [path.read_bytes() for path in paths] == before
    assert paths[0].stat().st_mtime_ns == kept
    found = read_shard(paths[0], blueprint)
    assert found.targets.shape == (1, 3, 2, GROUPS, 4)
    assert found.targets.any()
    paths[0].write_bytes(before[0][:-1] + bytes([before[0][-1] ^ 1]))
    with pytest.raises(BlueprintError, match=r"00000\.examples: hash of "):
        read_shard(paths[0], blueprint)


@pytest.mark.usefixtures("few")
def test_where_nobody_bets_showdowns_are_all_there_is(lookup: Lookup) -> None:
    """With every continuation: there is nothing but checks to make more or less likely."""
    tree, blueprint = lookup.blueprint.tree, lookup.blueprint
    passive = []
    for street in range(4):
        rows = np.zeros_like(blueprint.strategy(street))
        nodes = tree.nodes_of(street)
        first = int(tree.first[nodes.start])
        rows[tree.does[first : first + len(rows)] == CALLED] = 255
        passive.append(rows)
    shard = make_shard(blueprint, rollouts_with(lookup, passive), 5)
    assert np.abs(shard.targets).max() < 1e-4


# --- The network ------------------------------------------------------------------------------------------------------


def test_a_network_is_for_one_blueprint(lookup: Lookup, flop: Flop, tmp_path: Path) -> None:
    blueprint = lookup.blueprint
    path = network_of(tmp_path, blueprint)
    network = LeafNetwork.open(path, blueprint)
    roots = [*turn_roots(blueprint)][:2]
    values = network.values(roots, flop)
    assert values.shape == (2, GROUPS, GROUPS, 4, 4)
    assert values[1] == pytest.approx(network.values(roots[1:], flop)[0])
    assert values[0, 3, 7] == pytest.approx(one_pair(random_arrays(blueprint, 0.1), flop, 3, 7), abs=1e-3)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BlueprintError, match="cut short"):
        LeafNetwork.open(path, blueprint)
    write_network(path, blueprint, random_arrays(blueprint, 0.1), 10.0, {})
    with pytest.raises(BlueprintError, match="the blueprint it is for is "):
        LeafNetwork.open(path, Blueprint.open(write(tmp_path / "other.blueprint", HOLDEM, seed=9)))


def one_pair(of: dict[str, Any], flop: Flop, ours: int, theirs: int) -> Any:
    """The network written out for the first root."""
    here = of["root"][0] + flop.of_flop @ of["flop"] + of["bias0"]
    here = here + flop.of_group[ours] @ of["group0"] + flop.of_group[theirs] @ of["group1"]
    here = np.maximum(here + flop.of_pair[ours, theirs] @ of["pair"], 0)
    for layer in (1, 2, 3):
        here = np.maximum(here @ of[f"layer{layer}"] + of[f"bias{layer}"], 0)
    return (here @ of["layer4"] + of["bias4"]).reshape(4, 4)


def test_learning_takes_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert cli.main(["blueprint", "leaves"]) == 2
    assert "pip install 'paratus[nets]'" in capsys.readouterr().err
    assert cli.main(["blueprint", "leaves", "--flops", "3"]) == 2
    assert "--flops 3: expected at least 200" in capsys.readouterr().err


# --- The game that is solved ------------------------------------------------------------------------------------------


def drawn(game: StreetGame, flop: Flop) -> tuple[Any, Any]:
    """Reaches at its leaves."""
    rng, live = np.random.default_rng(2), flop.groups != NONE
    found = []
    for _ in range(2):
        reaches = np.zeros((game.num_leaves, 4, NUM_HANDS + 2), np.float32)
        reaches[:, :, :NUM_HANDS] = rng.random((game.num_leaves, 4, NUM_HANDS)) * live
        reaches[np.concatenate([game.folds, game.all_ins]), 1:] = 0
        found.append(reaches)
    return found[0], found[1]


def test_leaves_are_worth_what_they_are(lookup: Lookup, flop: Flop, tmp_path: Path) -> None:
    """Folds and showdowns against sums over all hands; what is learnt adds for groups; no chips come from nowhere."""
    blueprint = lookup.blueprint
    game = StreetGame.of(read_betting(start(HOLDEM), "r300c/"), blueprint.settings.load_menu(), max_nodes=400)
    reaches = drawn(game, flop)
    assert len(game.folds)
    assert len(game.all_ins)
    assert len(game.ends)
    silent, learnt = (
        LearnedLeaves(game, LeafNetwork.open(network_of(tmp_path, blueprint, scale), blueprint), flop, lookup, (4, 4))(
            reaches
        )
        for scale in (0.0, 0.1)
    )
    live = np.flatnonzero(flop.groups != NONE)
    cards = hand_cards_array()[live]
    apart = ~(cards[:, None, :, None] == cards[None, :, None, :]).any(axis=(2, 3))
    margins = flop.margins[np.ix_(live, live)]
    for player in range(2):
        mine, other = silent[player][:, :, live], reaches[1 - player][:, :, live].sum(axis=1)
        folds = other[game.folds] @ apart * game.fold_chips[player][:, None]
        assert mine[game.folds, 0] == pytest.approx(folds, rel=1e-3)
        all_ins = other[game.all_ins] @ margins.T * game.all_in_chips[:, None]
        assert mine[game.all_ins, 0] == pytest.approx(all_ins, rel=1e-3, abs=1e-3 * float(np.abs(all_ins).max()))
        chips = np.array([state.maximum for state in game.end_states])
        ends = (other[game.ends] @ margins.T * chips[:, None])[:, None]
        assert mine[game.ends] == pytest.approx(np.broadcast_to(ends, (len(ends), 4, len(live))), rel=1e-3, abs=1e3)
        assert np.abs(learnt[player] - silent[player])[game.ends].max() > 1
        for leaves in (game.folds, game.all_ins):
            assert np.array_equal(learnt[player][leaves], silent[player][leaves])
    for values in (silent, learnt):
        won = [(values[player] * reaches[player]).sum(axis=(1, 2), dtype=np.float64) for player in range(2)]
        shown = np.concatenate([game.all_ins, game.ends])
        size = np.abs(values[0] * reaches[0]).sum(axis=(1, 2), dtype=np.float64)
        assert ((won[0] + won[1])[shown] / size[shown]) == pytest.approx(0, abs=1e-4)


def test_a_search_by_what_was_learnt(lookup: Lookup, tmp_path: Path) -> None:
    base = BlueprintLookup(HOLDEM, settings_for(HOLDEM))
    blueprint = base.lookup.blueprint

    def settings(**changes: Any) -> LimitedSettings:
        effort = Effort(iterations=20, share=1.0)
        return LimitedSettings(leaves="learned", threads=1, keep=False, preflop=effort, flop=effort, **changes)

    path = network_of(tmp_path, blueprint)
    search = LimitedSearch(HOLDEM, settings(network=str(path)), base)
    assert search.identity()["network"] == LeafNetwork.open(path, blueprint).digest
    state = read_betting(start(HOLDEM), "r300c/")
    spot = Spot(0, Position(0), state, tuple(BOARD), ())
    budget = Budget(deadline_s=time.monotonic() + 600.0, fair_share_s=600.0)
    policies = [search.another().policy(spot, budget, Draws(7, "limited", 0, 2, "strategy")) for _ in range(2)]
    check_policy(policies[0], state, spot.board)
    assert policies[0].origin.iterations == 20
    assert np.array_equal(policies[0].weights, policies[1].weights)
    with pytest.raises(ConfigError, match=r"limited\.network: .*: no such file: expected one that `paratus blueprint"):
        LimitedSearch(HOLDEM, settings(), base)
    with pytest.raises(ConfigError, match=r"limited\.bias_factor = 5\.0: expected 10\.0, by which"):
        LimitedSearch(HOLDEM, settings(network=str(path), bias_factor=5.0), base)
    assert network_file(blueprint).name == f"{blueprint.digest}.values"
    assert json.loads(search.identity()["settings"])["leaves"] == "learned"
    assert CALL in policies[0].support
