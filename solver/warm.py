"""Compiles every kernel of the solver ahead of use, by solving a tiny game in both storages."""

from __future__ import annotations

from typing import Final

import numpy as np

from protocol.game import parse_game
from protocol.hands import hands_of
from protocol.state import start
from solver.menu import parse_menu
from solver.subgame import Storage, Subgame
from solver.subgame_solver import Solver

BITS: Final = (32, 16)
_GAME: Final = """\
nolimit
numPlayers 2
numRounds 2
stack 40 40
blind 1 1
firstPlayer 1 1
numSuits 2
numRanks 3
numHoleCards 1
numBoardCards 0 1
end gamedef
"""


def cached() -> bool:
    """True if what runs an iteration is there, compiled, for both storages; loads nothing."""
    from solver.kernels.cfr import follow, lead

    return all(len(kernel._cache._cache_file._load_index()) >= len(BITS) for kernel in (follow, lead))


def warm_up(bits: int) -> None:
    """Compile, or load from the cache, what storage of so many bits needs."""
    game = parse_game(_GAME).game
    ranges = [np.ones(len(hands_of(game)))] * 2
    subgame = Subgame(start(game), (), ranges, parse_menu("100%,a"), storage=Storage(bits))
    for threads in (1, 2):
        solver = Solver(subgame, threads=threads)
        solver.iterate()
        solver.exploitability()
