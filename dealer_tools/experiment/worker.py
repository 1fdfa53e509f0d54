"""One match of an experiment, in a process of its own: `… -m dealer_tools.experiment.worker DIR MATCH CORES`.

It keeps itself and all that it starts to its cores, and is found again by nothing but its folder: killed at any moment,
the next one goes on.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from dealer_tools.experiment.plan import check_code, match_plan
from dealer_tools.match import play_match
from machine.errors import ParatusError
from machine.files import read_document

MATCHES: Final = "matches"
PLAN: Final = "plan.json"
ALLOW_CODE: Final = "--allow-code"
_PATIENCE_S: Final = 20.0
"""For the children of a killed worker to follow it."""


def main() -> int:
    """Play what is left of it."""
    folder, name, cores = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    try:
        plan = match_plan(read_document(folder / PLAN)["matches"][name])
        check_code(ALLOW_CODE in sys.argv[4:], plan.agents)
        play_match(plan, folder / MATCHES / name, _PATIENCE_S)
    except ParatusError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
