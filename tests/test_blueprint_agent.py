"""Agent `blueprint`: a file as a player. What every player must do is in `test_strategies.py`, which plays it too."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from agents import QUICK
from blueprint_files import HOLDEM, MENU, file_of, folder, settings_for, small_game, write
from chi_square import assert_frequencies
from random_play import random_deal, random_hand

from blueprints.cards.holdem import HoldemCards
from blueprints.shipped import SHIPPED, SLUMBOT_STYLE, shipped_blueprint, tables_folder
from blueprints.storage import Blueprint
from bot.config import load_config
from machine.errors import ConfigError
from protocol.game import Game, load_game
from protocol.state import State, start
from protocol.wire import read_betting
from strategies.draws import Draws
from strategies.players.blueprint import BlueprintLookup
from strategies.players.slumbot_style import SlumbotStyle
from strategies.policy import FALLBACK, SCALE, check_policy
from strategies.registry import make_strategy
from strategies.settings import LookupSettings, SlumbotStyleSettings, StrategySettings
from strategies.strategy import Budget, Decided, Spot


@pytest.fixture(scope="module")
def agent() -> BlueprintLookup:
    return BlueprintLookup(HOLDEM, settings_for(HOLDEM))


def budget() -> Budget:
    return Budget(deadline_s=time.monotonic() + 600, fair_share_s=600)


def draws(hand: int, state: State, seed: int = 3) -> Draws:
    return Draws(seed, "match", hand, len(state.actions), "strategy")


def spot_at(betting: str, hand: int = 0, game: Game = HOLDEM, seed: int = 1) -> Spot:
    state = read_betting(start(game), betting)
    board = random_deal(Random(seed), game).board[: game.board_cards_by(state.street)]
    return Spot(hand, state.actor, state, board, ())


def decide(agent, spot: Spot):
    return agent.policy(spot, budget(), draws(spot.hand, spot.state))


def refused(call, *arguments) -> str:
    with pytest.raises(ConfigError) as caught:
        call(*arguments)
    text = str(caught.value)
    assert text.isprintable()
    return text


# --- What it plays --------------------------------------------------------------------------------------------------


def test_it_plays_what_stands_in_the_file(agent):
    blueprint = agent.lookup.blueprint
    for node, state in list(blueprint.tree.walk(start(HOLDEM)))[::7]:
        spot = spot_at(state.betting)
        policy = decide(agent, spot)
        check_policy(policy, spot.state, spot.board)
        assert list(policy.support) == blueprint.tree.actions(node)
        live = policy.weights.any(axis=0)
        rows = blueprint.rows(node)[:, agent.lookup.cards.buckets(spot.board)]
        assert np.array_equal(policy.weights[:, live], rows[:, live].astype(np.uint16) * (SCALE // 255))


def test_where_a_policy_came_from(agent):
    policy = decide(agent, spot_at("r250c/"))
    assert (policy.origin.route, policy.origin.model) == ("blueprint", agent.lookup.blueprint.digest)
    assert json.loads(policy.origin.details) == {"node": agent.lookup.place(spot_at("r250c/").state, None).node}
    details = json.loads(decide(agent, spot_at("r300c/r12345")).origin.details)
    assert details["translated"] == 2
    assert json.loads(decide(agent, spot_at("r250r750r2250")).origin.details)["jumps"] == 1


def test_identity_names_the_file(agent):
    blueprint = Blueprint.open(file_of(HOLDEM))
    assert agent.identity() == {"kind": "blueprint", "blueprint": "random", "hash": blueprint.digest}


def test_a_hand_takes_a_bet_for_the_same_at_every_decision(agent):
    """An open of 220 chips, which some hands take for a limp (1 in 8) and others for 250 chips."""
    tree, taken = agent.lookup.blueprint.tree, Counter()
    spots = [spot_at(betting) for betting in ("r220", "r220c/", "r220c/cc/", "r220c/cc/r600")]
    for hand in range(400):
        nodes = [json.loads(decide(agent, replace(spot, hand=hand)).origin.details)["node"] for spot in spots]
        opens = {int(tree.committed[nodes[0]].max()), *[int(tree.committed[node].min()) for node in nodes[1:]]}
        assert len(opens) == 1
        taken[opens.pop()] += 1
    assert set(taken) == {100, 250}
    assert_frequencies([taken[100], taken[250]], [1 / 8, 7 / 8])


def test_what_a_bet_is_taken_for_does_not_depend_on_the_player_or_the_decision(agent):
    """Nor on cards: neither a spot nor draws know any but the board's, which do not matter either."""
    for hand in range(30):
        nodes = set()
        for seed in (1, 2, 3):
            spot = spot_at("r333c/r555", hand, seed=seed)
            for purpose in ("strategy", "other"):
                keyed = Draws(3, "match", hand, seed, purpose)
                nodes.add(json.loads(agent.policy(spot, budget(), keyed).origin.details)["node"])
        assert len(nodes) == 1


def test_spots_that_no_tree_has_are_checked_or_folded(tmp_path):
    """A tree that ends before the flop."""
    path = write(tmp_path / "short.blueprint", HOLDEM, "nolimp; preflop a / -; a / -")
    agent = BlueprintLookup(HOLDEM, LookupSettings(file=str(path), tables=str(folder()), rivers=False))
    for betting, action in (("cc/", "call"), ("r250c/r500", "fold")):
        policy = decide(agent, spot_at(betting))
        assert policy.origin.route == FALLBACK
        assert policy.origin.reason == "blueprint random has no decision of this player and street"
        assert list(map(str, policy.support)) == [action]


def test_likelihoods_of_bets_that_it_does_not_have(agent):
    spot = spot_at("")
    policy, keyed = decide(agent, spot), draws(0, spot.state)
    for action in policy.support:
        assert np.allclose(agent.likelihood(spot, action, keyed), policy.likelihood(action), atol=1e-6)
    unknown = spot_at("r333").state.actions[0]
    assert not policy.likelihood(unknown).any()
    assert any(
        np.array_equal(agent.likelihood(spot, unknown, keyed), policy.likelihood(each)) for each in policy.support
    )


# --- As the base of nested search -----------------------------------------------------------------------------------


def test_nested_search_over_it(caplog):
    """At every spot of random hands; before the turn the answers are the blueprint's own."""
    settings = QUICK.model_copy(
        update={
            "blueprint": settings_for(HOLDEM),
            "nested": QUICK.nested.model_copy(update={"base": "blueprint", "threads": 1}),
        }
    )
    nested, own = make_strategy("nested", HOLDEM, settings), make_strategy("blueprint", HOLDEM, settings)
    assert nested.identity()["base hash"] == own.identity()["hash"]
    rng, routes = Random("nested"), Counter()
    for hand in range(8):
        played = random_hand(rng, HOLDEM)
        past: list[Decided] = []
        for state in played.states[:-1]:
            if state.actor != hand % 2:
                continue
            board = played.deal.board[: HOLDEM.board_cards_by(state.street)]
            spot = Spot(hand, state.actor, state, board, tuple(past))
            with caplog.at_level(logging.ERROR):
                policy = nested.policy(spot, budget(), draws(hand, state))
            check_policy(policy, state, board)
            if state.street < 2:
                assert np.array_equal(policy.weights, own.policy(spot, budget(), draws(hand, state)).weights)
            routes[policy.origin.route] += 1
            past.append(Decided(state, policy))
    assert routes["blueprint"] > 5
    assert routes["nested"] > 3
    assert set(routes) == {"blueprint", "nested"}


# --- Files ----------------------------------------------------------------------------------------------------------


def test_games_that_the_file_is_not_for():
    for name in ("leduc", "holdem.nolimit.3p", "holdem.limit.2p.reverse_blinds"):
        said = refused(
            make_strategy, "blueprint", load_game(name).game, StrategySettings(blueprint=settings_for(HOLDEM))
        )
        assert said.startswith("agent blueprint: ")
        assert f"expected {name}, " in said


def test_small_games_need_no_tables(tmp_path):
    path = file_of(small_game())
    agent = BlueprintLookup(small_game(), LookupSettings(file=str(path), tables=str(tmp_path / "none")))
    policy = decide(agent, spot_at("", game=small_game()))
    assert policy.weights.shape[1] == 45
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_missing_or_damaged(tmp_path):
    path = tmp_path / "missing.blueprint"
    settings = LookupSettings(file=str(path), tables=str(folder()), rivers=False)
    assert refused(BlueprintLookup, HOLDEM, settings).endswith(
        "missing.blueprint: No such file or directory: expected a blueprint file"
    )
    write(path, HOLDEM, MENU)
    path.write_bytes(path.read_bytes()[:-1])
    assert "missing.blueprint: cut short, " in refused(BlueprintLookup, HOLDEM, settings)


@pytest.mark.parametrize("street", range(4))
def test_a_damaged_byte_of_the_strategy(tmp_path, street):
    """One bit of one probability: everything else about the file is as it should be."""
    path = write(tmp_path / "damaged.blueprint", HOLDEM, MENU)
    settings = LookupSettings(file=str(path), tables=str(folder()), rivers=False)
    assert BlueprintLookup(HOLDEM, settings).identity()["hash"] == Blueprint.open(path).digest
    data = bytearray(path.read_bytes())
    strategy = Blueprint.open(path).strategy(street).tobytes()
    data[data.index(strategy) + len(strategy) // 2] ^= 1
    path.write_bytes(data)
    said = refused(BlueprintLookup, HOLDEM, settings)
    assert f"damaged.blueprint: hash of strategy_{street} is " in said
    assert "expected " in said


AGENTS = [(BlueprintLookup, LookupSettings, SHIPPED), (SlumbotStyle, SlumbotStyleSettings, SLUMBOT_STYLE)]


@pytest.mark.parametrize(("kind", "settings", "name"), AGENTS)
def test_the_one_that_ships(kind, settings, name, monkeypatch, tmp_path):
    """Where it is looked for, and what is said if none came along."""
    (tmp_path / "data").mkdir()
    monkeypatch.setattr("blueprints.shipped.resources.files", lambda package: tmp_path)
    assert "train one (`paratus blueprint train`)" in refused(kind, HOLDEM, settings())
    path = write(tmp_path / "data" / name, HOLDEM, MENU)
    assert shipped_blueprint(name) == path
    agent = kind(HOLDEM, settings(tables=str(folder()), rivers=False))
    assert agent.lookup.blueprint.path == path


def slumbot_style(**changes) -> SlumbotStyle:
    return SlumbotStyle(HOLDEM, SlumbotStyleSettings(**settings_for(HOLDEM).model_dump(), **changes))


def test_the_standing_opponent_plays_its_file(agent):
    """As it is, unless it is told to purify."""
    spot = spot_at("r250c/")
    plain, pure = decide(slumbot_style(), spot), decide(slumbot_style(purify=True), spot)
    theirs = decide(agent, spot)
    assert np.array_equal(plain.weights, theirs.weights)
    live = plain.weights.any(axis=0)
    assert (np.sort(pure.weights[:, live], axis=0)[-1] == SCALE).all()
    assert (pure.weights[:, live].argmax(axis=0) == plain.weights[:, live].argmax(axis=0)).all()
    assert not pure.weights[:, ~live].any()


def test_what_the_standing_opponent_says_of_itself(agent):
    assert slumbot_style().identity() == {
        **agent.identity(),
        "kind": "slumbot-style",
        "threshold": "0",
        "purify": "false",
    }
    assert slumbot_style(threshold=0.1, purify=True).identity()["threshold"] == "0.1"


def test_purified_bets_are_read_by_what_was_played(agent):
    """Bets that a purified policy has are judged by that policy, not by the numbers of the file."""
    spot = spot_at("r250c/")
    bet = decide(agent, spot).support[1]
    keyed = draws(0, spot.state)
    assert np.array_equal(slumbot_style().likelihood(spot, bet, keyed), agent.likelihood(spot, bet, keyed))
    assert slumbot_style(purify=True).likelihood(spot, bet, keyed) is None


def test_tables_are_kept_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tables_folder() == tmp_path / "paratus" / "blueprint"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tables_folder() == tmp_path / ".cache" / "paratus" / "blueprint"


def test_who_waits_for_tables_is_told(monkeypatch, caplog):
    """They are told how much is done and how long it takes, as a warning: silence for a minute looks like a fault."""
    opened = HoldemCards.open

    def slow(centroids, folder, *, rivers, progress):
        progress("turn: buckets of all hands", 0.0, 50.0)
        clock[0] += 2.0
        progress("turn: buckets of all hands", 0.25, 40.0)
        progress("turn: buckets of all hands", 0.26, 39.0)
        return opened(centroids, folder, rivers=rivers)

    clock = [1000.0]
    monkeypatch.setattr(HoldemCards, "open", slow)
    monkeypatch.setattr("strategies.players.blueprint.time.monotonic", lambda: clock[0])
    BlueprintLookup(HOLDEM, settings_for(HOLDEM))
    assert [record.getMessage() for record in caplog.records] == [
        "tables of the blueprint's cards (once): turn: buckets of all hands, 25%, 40 s left"
    ]


def test_settings_from_a_file(tmp_path):
    path = tmp_path / "bot.toml"
    path.write_text('[blueprint]\nfile = "some.blueprint"\ntables = "some"\nrivers = false\n')
    found = load_config(path, {}).strategies.blueprint
    assert found == LookupSettings(file="some.blueprint", tables="some", rivers=False)
    path.write_text("[blueprint]\nfile = 3\n")
    assert "blueprint.file = 3: " in refused(load_config, path, {})
    path.write_text('[blueprint]\nfolder = "x"\n')
    assert "unknown key: expected one of file, tables, rivers" in refused(load_config, path, {})
