"""The cards of a match, as the reference dealer deals them.

Cards come from the Mersenne Twister (MT19937) seeded with one 32-bit number in its original way, so that a seed names
the same cards here and there. Python's own `random` runs the same generator but seeds it differently: the seeding is
done here and the state handed over. A hand draws all its cards at once, needed or not: hole cards by position, then
the board.
"""

from __future__ import annotations

import random
from typing import Final

from machine.errors import ConfigError
from protocol.cards import Card
from protocol.game import Game
from protocol.log import MAX_SEED
from protocol.state import Deal

_WORDS: Final = 624


class CardStream:
    """The hands of one match, in order."""

    def __init__(self, game: Game, seed: int) -> None:
        if not 0 <= seed <= MAX_SEED:
            raise ConfigError(f"seed {seed}: expected 0 to {MAX_SEED}")
        self._game = game
        self._deck = game.deck()
        self._random = random.Random()
        self._random.setstate((3, (*_seeded_words(seed), _WORDS), None))

    def deal(self) -> Deal:
        """The next hand."""
        game, deck, size = self._game, list(self._deck), len(self._deck)
        draw = self._random.getrandbits

        def cards(count: int) -> tuple[Card, ...]:
            nonlocal size
            drawn = []
            for _ in range(count):
                index = draw(32) % size
                size -= 1
                drawn.append(deck[index])
                deck[index] = deck[size]
            return tuple(drawn)

        hole = tuple([cards(game.num_hole_cards) for _ in range(game.num_players)])
        return Deal(hole, cards(sum(game.num_board_cards)))


def _seeded_words(seed: int) -> list[int]:
    """The generator's 624 words for a seed (Matsumoto and Nishimura's `init_genrand`)."""
    words = [seed]
    for index in range(1, _WORDS):
        last = words[-1]
        words.append((1812433253 * (last ^ (last >> 30)) + index) & 0xFFFFFFFF)
    return words
