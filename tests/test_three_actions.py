"""The schedules of the CFR family on the example that motivates discounting (Brown and Sandholm 2019).

One player, three actions worth 0, 1 and −1,000,000. The first iteration plays all three alike, so that the two good
actions begin with regrets of 333,333 and 333,334, and the first keeps being played until as much has been lost by it.
The paper: "471,407 iterations for the agent to choose the second action with 100% probability" with CFR or CFR+, "only
970" with linear CFR. It does not say whether the iteration that first plays the action counts, nor by which iteration
the discount is taken. Here the number is that of the first iteration, counted from 1, that plays the action for sure
(one more than the iterations that had to be done), and iteration t has weight t: 471,407 to the digit, and 972 for 970.
With 50 decimal digits both come out the same.
"""

from __future__ import annotations

import pytest
from reference.regret_matching import first_certain

from solver.algorithms import CFR, CFR_PLUS, DCFR, Algorithm

PAYOFFS = (0.0, 1.0, -1_000_000.0)


@pytest.mark.parametrize(
    ("algorithm", "published", "by_convention"),
    [(CFR(), 471_407, 0), (CFR_PLUS(), 471_407, 0), (DCFR(1, 1, 1), 970, 2)],
    ids=["CFR", "CFR+", "LCFR"],
)
def test_iterations_until_the_best_action_is_certain(algorithm: Algorithm, published: int, by_convention: int) -> None:
    assert abs(first_certain(algorithm, PAYOFFS, 1, most=published + 10) - published) <= by_convention


def test_dcfr_lies_between() -> None:
    """With α = 1.5 the first regrets keep a ninth of themselves for ever: the product of t^1.5 / (t^1.5 + 1)."""
    assert first_certain(DCFR(), PAYOFFS, 1, most=471_406) > 972
