"""Decisions by a blueprint whose tree did not have what had been bet: logged with each decision, and counted.

translated   actions before the decision that were taken for others
jumps        actions after which nothing like the decision was there, so that the nearest was made
replaced     actions of the tree that were moved to what is legal
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from blueprints.lookup import BlueprintPolicy

OFF_TREE: Final = ("translated", "jumps", "replaced")
_NODE: Final = "node"


def off_tree_details(found: BlueprintPolicy) -> str:
    """For the log, as JSON."""
    counts = {"translated": found.place.translated, "jumps": found.place.jumps, "replaced": found.replaced}
    return json.dumps({_NODE: found.place.node, **{name: count for name, count in counts.items() if count}})


def count_off_tree(details: Iterable[str]) -> dict[str, int]:
    """Of logged decisions: how many a blueprint made, and how many of them were off its tree in each way."""
    counts = dict.fromkeys(("decisions", *OFF_TREE), 0)
    for text in details:
        if f'"{_NODE}"' not in text:
            continue
        try:
            said = json.loads(text)
        except ValueError:
            continue
        if not isinstance(said, dict) or said.get(_NODE) is None:
            continue
        counts["decisions"] += 1
        for name in OFF_TREE:
            counts[name] += bool(said.get(name))
    return counts
