"""Small games for the tests of trainers, and both trainers behind one call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from leduc import LEDUC

from blueprints.cards.exact import ExactCards
from blueprints.cards.interface import Cards
from blueprints.settings import Sampling, TrainerSettings
from blueprints.train.exploit import Measure
from blueprints.train.external import ExternalSampling
from blueprints.train.public import PublicSampling
from blueprints.tree import BettingTree, build_tree
from protocol.cards import Card
from protocol.game import Game, load_game, parse_game
from protocol.hands import hands_of
from protocol.state import State, apply, start
from solver.menu import Menu, parse_menu
from studies.sampling import Apart

KUHN = parse_game(
    "limit\nnumPlayers 2\nnumRounds 1\nblind 1 1\nraiseSize 1\nfirstPlayer 1\nmaxRaises 1\n"
    "numSuits 1\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0\nend gamedef"
).game
SHORT = parse_game(
    "nolimit\nnumPlayers 2\nnumRounds 2\nstack 600 600\nblind 100 50\nfirstPlayer 2 1\n"
    "numSuits 4\nnumRanks 3\nnumHoleCards 2\nnumBoardCards 0 3\nend gamedef"
).game
"""Flop hold'em with twelve cards and six big blinds."""
THIRD = parse_game(
    "nolimit\nnumPlayers 2\nnumRounds 2\nstack 600 600\nblind 100 50\nfirstPlayer 2 1\n"
    "numSuits 3\nnumRanks 3\nnumHoleCards 2\nnumBoardCards 0 3\nend gamedef"
).game
"""The same with nine cards."""


@dataclass(frozen=True)
class Case:
    """A game to be trained, whole or from a later state on."""

    game: Game
    menu: Menu
    root: State
    tree: BettingTree
    cards: Cards
    board: tuple[Card, ...] = ()
    ranges: tuple[np.ndarray, np.ndarray] | None = None

    def measure(self) -> Measure:
        return Measure(
            self.game, self.menu, self.tree, self.cards, root=self.root, board=self.board, ranges=self.ranges
        )  # fmt: skip

    def external(self, *, seed: int = 1, threads: int = 1, **settings: object) -> ExternalSampling:
        found = TrainerSettings(sampling=Sampling.EXTERNAL, seed=seed, **{"skipping": False, **settings})
        return ExternalSampling(
            self.game, self.tree, self.cards, settings=found, threads=threads, board=self.board, ranges=self.ranges
        )

    def learnt(self, seed: int, periods: int, walks: int) -> list[np.ndarray]:
        """What public chance sampling plays on average after so many periods."""
        sampler = self.public(seed=seed)
        for number in range(1, periods + 1):
            sampler.period(number, float(number), walks)
        return [table.copy() for table in sampler.averages()]

    def public(self, *, seed: int = 1, threads: int = 1) -> PublicSampling:
        return PublicSampling(
            self.game, self.tree, self.cards, seed=seed, threads=threads,
            board=self.board, ranges=self.ranges or (None, None),
        )  # fmt: skip


def case(game: Game, menu: str, cards: Cards | None = None) -> Case:
    """A whole game, without card abstraction if nothing else is given."""
    parsed = parse_menu(menu)
    return Case(game, parsed, start(game), build_tree(game, parsed), cards or ExactCards(game))


def kuhn() -> Case:
    return case(KUHN, "a")


def leduc() -> Case:
    return case(LEDUC, "a")


def no_limit_leduc() -> Case:
    return case(load_game("leduc").game, "100%,a / a")


def short_deck() -> Case:
    return case(SHORT, "100%")


def endgame() -> Case:
    """The flop of the short deck game after two calls, with ranges out of nowhere."""
    state = start(SHORT)
    for _ in range(2):
        state = apply(state, parse_menu("-").actions(state)[-1])
    board = tuple(sorted(SHORT.deck()))[1:10:4]
    rng = np.random.default_rng(5)
    ranges = [rng.random(len(hands_of(SHORT))) * (rng.random(len(hands_of(SHORT))) < 0.7) for _ in range(2)]
    menu = parse_menu("50%,a / a")
    tree = build_tree(SHORT, menu, root=state)
    return Case(SHORT, menu, state, tree, Apart(SHORT, board), board, (ranges[0], ranges[1]))
