"""Training, buckets and evaluation against a number that is known: what the button wins in limit hold'em."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.button import KNOWN_MBB, measure, subjects
from blueprints.shipped import shipped_blueprint, tables_folder
from blueprints.storage import Blueprint
from blueprints.train.contest import WIDTH

pytestmark = pytest.mark.proof


@pytest.mark.timeout(1800)
def test_the_button_wins_in_limit_what_it_is_known_to_win() -> None:
    """Within the luck of 10,000 boards, a mbb/g or so."""
    cards = Blueprint.open(shipped_blueprint()).cards(tables_folder())
    won = measure(subjects()[0], cards, walks=20_000, boards=10_000, seed=2, threads=2).button_mbb
    interval = WIDTH * won.std(ddof=1) / np.sqrt(len(won))
    print(f"{won.mean():.2f} ± {interval:.2f} mbb/g")
    assert interval < 2
    assert KNOWN_MBB[0] - interval < won.mean() < KNOWN_MBB[1] + interval
