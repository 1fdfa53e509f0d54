"""What float32 can know of CFR in Leduc: the spread of results when float64 is disturbed as rounding would.

See `tests/test_leduc_figures.py`, which takes its tolerances from here.
"""

from __future__ import annotations

import pytest
from leduc import LEDUC, MENU, in_open_spiels_convention, leduc
from reference.vector_cfr import VectorCFR

from solver.algorithms import CFR, CFR_PLUS, Algorithm

pytestmark = pytest.mark.proof

LAST_BIT = 6e-8
"""Of float32."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("algorithm", "slack"), [(CFR(), 0.03), (CFR_PLUS(), 0.05)], ids=str)
def test_float32_is_among_the_disturbed(algorithm: Algorithm, slack: float) -> None:
    """After 1,000 iterations; `slack` is half of how far five runs spread."""
    found = []
    for seed in range(5):
        twin = VectorCFR(LEDUC, MENU, algorithm, own_average=True, noise=LAST_BIT, seed=seed)
        for iterations in (10, 100, 1_000):
            twin.iterate(iterations - twin.iterations)
            print(f"{algorithm}, seed {seed}: {1000 * twin.exploitability():.4f} after {iterations} iterations")
        found.append(twin.exploitability())
    ours = in_open_spiels_convention(leduc(), algorithm, 1_000).exploitability().chips
    print(f"{algorithm}, the solver: {1000 * ours:.4f}")
    assert min(found) * (1 - slack) <= ours <= max(found) * (1 + slack)
