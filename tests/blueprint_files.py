"""Blueprint files for tests: nothing is trained, strategies are drawn at random; tables of buckets too.

Buckets of full hold'em come from files that the program would find in the user's cache, so nothing is built either:
what they hold is random, but every hand on a board has its bucket, the same each time. Rivers are computed for real.
"""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from blueprints.cards import tables
from blueprints.cards.centroids import Centroids
from blueprints.cards.exact import ExactCards
from blueprints.cards.settings import CardSettings
from blueprints.settings import BlueprintSettings
from blueprints.storage import Blueprint, write_blueprint
from blueprints.tree import BettingTree, build_tree
from protocol.game import DEFAULT_GAME, Game, load_game, parse_game
from protocol.hands import NUM_CLASSES
from solver.menu import parse_menu
from strategies.settings import LookupSettings

CARDS = CardSettings(flop=7, turn=9, river=5, quantiles=2, opponents=3, sample=1000)
MENU = "preflop 2.5x,a / 100%,a; 75%,a / 100%,a / a; cap 2"
HOLDEM = load_game(DEFAULT_GAME).game

SMALL_DECK = """\
nolimit
numPlayers 2
numRounds 2
stack 40 40
blind 1 2
firstPlayer 2 1
numSuits 2
numRanks 5
numHoleCards 2
numBoardCards 0 3
end gamedef
"""


@cache
def small_game() -> Game:
    """Two streets, ten cards, two of them held."""
    return parse_game(SMALL_DECK, "small.game").game


@cache
def folder() -> Path:
    """For the whole run of tests."""
    made = tempfile.TemporaryDirectory()
    atexit.register(made.cleanup)
    return Path(made.name)


@cache
def centroids() -> Centroids:
    """Random centres, with tables in `folder`."""
    rng = np.random.default_rng(7)
    streets = [
        rng.integers(-512, 513, (CARDS.counts[street], CARDS.dimensions[street])).astype(np.int16)
        for street in (1, 2, 3)
    ]
    found = Centroids(CARDS, rng.integers(0, CARDS.opponents, NUM_CLASSES).astype(np.uint8), *streets)
    for street, name in ((1, "flop"), (2, "turn")):
        table = rng.integers(0, CARDS.counts[street], tables._shape(street), np.uint16)
        tables._write(folder() / f"{name}-{found.digest}.npy", table)
    return found


def cards_of(game: Game) -> Centroids | ExactCards:
    """The abstraction for a game: of full hold'em, or of a small deck."""
    return centroids() if len(game.deck()) == 52 else ExactCards(game)


def counts(cards: Centroids | ExactCards) -> tuple[int, ...]:
    return cards.counts if isinstance(cards, ExactCards) else cards.settings.counts


def random_averages(tree: BettingTree, buckets: tuple[int, ...], seed: int = 1) -> list[np.ndarray]:
    """By street [edge, bucket]; some numbers are 0, and for some nodes and buckets all are."""
    rng = np.random.default_rng(seed)
    averages = []
    for street, count in enumerate(buckets):
        nodes = tree.nodes_of(street)
        edges = int(tree.first[nodes.stop] - tree.first[nodes.start])
        numbers = rng.exponential(size=(edges, count)) ** 3
        averages.append((numbers * (rng.random(numbers.shape) < 0.8)).astype(np.float32))
    return averages


def write(path: Path, game: Game, menu: str = MENU, *, seed: int = 1) -> Path:
    """A file with a random strategy."""
    cards, settings = cards_of(game), BlueprintSettings(name="random", game=game.name, menu=menu, cards=CARDS)
    tree = build_tree(game, parse_menu(settings.menu))
    write_blueprint(
        path,
        settings=settings,
        game=game,
        tree=tree,
        cards=cards,
        averages=random_averages(tree, counts(cards), seed),
        training={"walks": 10, "updates": 12_345, "core_seconds": 1.5, "periods": 2, "revision": "none"},
    )
    return path


@cache
def file_of(game: Game) -> Path:
    """A file for a game of two players; the same for the same game."""
    menu = MENU if game.num_rounds == 4 and game.no_limit else "100%,a / 100%,a; cap 2"
    return write(folder() / f"{len(list(folder().iterdir()))}.blueprint", game, menu)


def opened(game: Game = HOLDEM) -> Blueprint:
    return Blueprint.open(file_of(game))


def settings_for(game: Game) -> LookupSettings:
    """For agent `blueprint`; games that no file can be for get one that does not fit."""
    playable = game if game.num_players == 2 else HOLDEM
    return LookupSettings(file=str(file_of(playable)), tables=str(folder()), rivers=False)
