"""The games: no-limit hold'em of two streets, before and after the flop, with a deck of fewer ranks.

Five cards are a hand once the flop is out, so the game is over after its betting. Stacks are 200 big blinds, more than
any line of these menus puts in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from protocol.arrays import F32, F64
from protocol.cards import suit_of
from protocol.game import Game, parse_game
from protocol.hands import SUIT_PERMUTATIONS, hands_of
from protocol.state import start
from solver.boards import permutation_of
from solver.menu import Menu
from solver.subgame import Subgame

SEATS: Final = (0, 1)
"""Player 0 has the big blind and acts first on the flop, player 1 the small blind."""

_GAME: Final = """\
nolimit
numPlayers 2
numRounds 2
stack 20000 20000
blind 100 50
firstPlayer 2 1
numSuits {suits}
numRanks {ranks}
numHoleCards 2
numBoardCards 0 {flop}
end gamedef
"""


def flop_holdem(ranks: int, suits: int = 4, flop: int = 3) -> Game:
    """The game with so many ranks, the highest of the deck."""
    return parse_game(_GAME.format(ranks=ranks, suits=suits, flop=flop)).game


def whole(game: Game, menu: Menu) -> Subgame:
    """From before the flop on, with every hand dealt as often as any other."""
    return Subgame(start(game), (), [np.ones(len(hands_of(game)))] * 2, menu)


@dataclass(frozen=True, slots=True)
class Field:
    """A game, and what is known of its hands."""

    game: Game
    compatible: F32
    """[hand, hand] 1 where two hands share no card."""
    kind: npt.NDArray[np.int64]
    """[hand] the number of its class up to suits."""

    @classmethod
    def of(cls, game: Game) -> Field:
        """Those of a game."""
        hands = hands_of(game)
        unused = {0, 1, 2, 3} - {suit_of(card) for card in game.deck()}
        changes = [each for each in SUIT_PERMUTATIONS if all(each[suit] == suit for suit in unused)]
        least = np.min([permutation_of(hands, suits) for suits in changes], axis=0)
        return cls(game, hands.compatible, np.unique(least, return_inverse=True)[1])

    def symmetric(self, numbers: F64) -> F64:
        """The mean over hands that differ in suits only: by rounding they are not quite equal."""
        means: F64 = np.bincount(self.kind, numbers) / np.bincount(self.kind)
        return means[self.kind]
