"""The published Libratus endgames, which carry no licence and are not in the repository.

Whoever has the four files names their folder: `PARATUS_LIBRATUS=FOLDER make proof`. Without it these are skipped.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from bot.solve.endgames import endgame_text, file_order, parse_endgame, read_endgame
from bot.solve.spots import root_state, spot_of_endgame
from protocol.hands import NUM_HANDS
from solver.menu import LIBRATUS
from solver.subgame import Storage, Subgame
from solver.subgame_solver import Solver

FOLDER = os.environ.get("PARATUS_LIBRATUS")
pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not FOLDER, reason="PARATUS_LIBRATUS does not name the folder of the Libratus endgames"),
]

# Live hands, and the exploitability of uniform play in thousandths of a big blind, as two other programs have them.
KNOWN = {
    1: ((828, 965), 32_311.9),
    2: ((855, 405), 39_464.5),
    3: ((1033, 1059), 28_634.7),
    4: ((705, 982), 41_194.7),
}


def path(number: int) -> Path:
    return Path(FOLDER or "") / f"subgame{number}.txt"


def subgame(number: int, storage: Storage = Storage()) -> Subgame:  # noqa: B008
    spot = spot_of_endgame(read_endgame(path(number)), LIBRATUS, None)
    return Subgame(root_state(spot), spot.board, spot.ranges, spot.menu, storage=storage)


@pytest.mark.parametrize("number", KNOWN)
def test_reading(number: int) -> None:
    """Numbers of hands as measured by another program; some weights by looking at the file."""
    endgame = read_endgame(path(number))
    assert tuple(int(np.count_nonzero(weights)) for weights in endgame.ranges) == KNOWN[number][0]
    words = path(number).read_text().split("-reach")[1].split()
    for place in (0, 700, 1326, 2651):
        hand = file_order()[place % NUM_HANDS]
        assert endgame.ranges[place // NUM_HANDS][hand] == np.float32(float(words[place]))
    assert endgame_text(parse_endgame(endgame_text(endgame))) == endgame_text(endgame)


@pytest.mark.parametrize("number", KNOWN)
def test_uniform_play(number: int) -> None:
    assert Solver(subgame(number)).exploitability().mbb == pytest.approx(KNOWN[number][1], rel=1e-4)


@pytest.mark.parametrize(("number", "mbb"), [(3, 5.2), (4, 2.1)])
def test_rivers_converge_as_measured_elsewhere(number: int, mbb: float) -> None:
    """Another program's DCFR(1.5, 0, 2) after 1,024 iterations; conventions move it a little."""
    solver = Solver(subgame(number))
    solver.iterate(1024)
    assert solver.exploitability().mbb == pytest.approx(mbb, rel=0.15)


def test_sixteen_bits_converge_too() -> None:
    """A prototype came from 39,465 to 10 mbb/g in 576 iterations in either form."""
    solver = Solver(subgame(2, Storage(bits=16)))
    solver.iterate(600)
    assert solver.exploitability().mbb < 12
