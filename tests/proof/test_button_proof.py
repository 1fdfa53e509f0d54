"""Training, buckets and evaluation against a number that is known: what the button wins in limit hold'em."""

from __future__ import annotations

import numpy as np
import pytest

from blueprints.shipped import shipped_blueprint, tables_folder
from blueprints.storage import Blueprint
from blueprints.train.measures.contest import WIDTH
from studies.button import KNOWN_MBB, measure, subjects

pytestmark = pytest.mark.proof

_LEFT_MBB = 5.0
"""What buckets and short training may leave, a twentieth of the whole: 10,000 walks left 1 to 5, 40,000 some 2. What a
strategy wins from itself need not be the value of the game. A seat, a blind or a pot that is counted wrong: tens."""


@pytest.mark.timeout(1800)
def test_the_button_wins_in_limit_what_it_is_known_to_win() -> None:
    cards = Blueprint.open(shipped_blueprint()).cards(tables_folder())
    won = measure(subjects()[0], cards, walks=20_000, boards=10_000, seed=3, threads=2).button_mbb
    interval = WIDTH * won.std(ddof=1) / np.sqrt(len(won))
    print(f"{won.mean():.2f} ± {interval:.2f} mbb/g, the interval of the boards alone")
    assert interval < 2
    assert KNOWN_MBB[0] - _LEFT_MBB < won.mean() < KNOWN_MBB[1] + _LEFT_MBB
