"""Scoring: hands a second of AIVAT with values of the blueprint, of which every board card and decision is corrected.

Hands come from the store of a match that the blueprint that ships plays against itself here first. Local best response
and the reading of logs have benchmarks of their own (`lbr`, `logs`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from blueprints.lookup import Lookup
from blueprints.shipped import shipped_blueprint, tables_folder
from blueprints.storage import Blueprint
from dealer_tools.scoring.blueprint_values import BlueprintValues, open_with_progress
from dealer_tools.scoring.estimators import Scorer
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.sources import Hands, read_hands
from dealer_tools.scoring.values import Equity, Values

_HANDS = 2000
_WARM_UP = 200


def run() -> dict[str, object]:
    """One thread; the first hands, which compile and load, are not counted."""
    blueprint = Blueprint.open(shipped_blueprint())
    begun = time.perf_counter()
    cards, worths = open_with_progress(blueprint, tables_folder())
    report: dict[str, object] = {"values_ready_s": round(time.perf_counter() - begun, 2)}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "bot.cli", "match", "holdem.nolimit.2p.reverse_blinds"),
                *("blueprint", "blueprint", "--hands", str(_HANDS), "--seed", "3", "--out", f"{folder}/match"),
            ],
            check=True,
            capture_output=True,
        )
        hands = read_hands([Path(folder) / "match"])
        holdings = Holdings(hands.game)
        values = BlueprintValues(holdings, Lookup(blueprint, cards), worths)
        report["aivat_hands_a_second"], report["aivat_hands_a_core_second"] = _rates(hands, values, ["raw", "aivat"])
        _, report["aivat_by_equity_hands_a_core_second"] = _rates(hands, Equity(holdings), ["raw", "aivat"])
        _, report["chance_hands_a_core_second"] = _rates(hands, Equity(holdings), ["raw", "all-in", "chance"])
    return report


def _rates(hands: Hands, values: Values, estimators: list[str]) -> tuple[float, float]:
    """Hands a second, by the clock and by the core's time, which programs beside it do not change much."""
    scorer = Scorer(Holdings(hands.game), values, estimators)
    for played in hands.hands[:_WARM_UP]:
        scorer.score(played, hands.player)
    rest = hands.hands[_WARM_UP:]
    begun, begun_core = time.perf_counter(), time.process_time()
    for played in rest:
        scorer.score(played, hands.player)
    wall, core = time.perf_counter() - begun, time.process_time() - begun_core
    return round(len(rest) / wall, 1), round(len(rest) / core, 1)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
