"""Which value function: by name, out of a file, or the best that there is for a game."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dealer_tools.formats.records import PlayedHand
from dealer_tools.scoring.holdings import Holdings, ScoreError
from dealer_tools.scoring.learned import check_unseen, read_learned
from dealer_tools.scoring.values import Equity, Values, Zero
from machine.errors import ConfigError, quote

READY: Final = "ready"
"""The best that there is without waiting for a table."""
VALUES: Final = ("blueprint", "equity", "zero", READY)


def values_for(hands: Sequence[PlayedHand], asked: str | None, blueprint: Path | None, holdings: Holdings) -> Values:
    """By name, or those of a file, which must not know these hands."""
    if asked is None or asked in VALUES:
        return choose_values(asked, blueprint, holdings)
    path = Path(asked)
    if not path.is_file():
        raise ConfigError(f"--values {quote(asked)}: expected one of {', '.join(VALUES)}, or a file of --fit")

    def part_of(name: str) -> Values:
        if name not in VALUES:
            raise ScoreError(f"--values {path}: mixed of {quote(name)}: expected of {', '.join(VALUES)}")
        return choose_values(name, blueprint, holdings)

    learned, record = read_learned(path, holdings, part_of)
    check_unseen(path, record, hands)
    return learned


def choose_values(asked: str | None, file: Path | None, holdings: Holdings) -> Values:
    """What was asked for; else by blueprint where one plays the game, or by equity."""
    if asked == "zero":
        return Zero()
    if asked == "equity":
        return Equity(holdings)
    if asked == READY:
        values, why_not_better = values_at_once(holdings, file)
        if why_not_better:
            print(f"by equity: {why_not_better} (`--values blueprint` builds them, minutes)", file=sys.stderr)
        return values
    return _blueprint(asked, file, holdings) or Equity(holdings)


def values_at_once(holdings: Holdings, file: Path | None = None) -> tuple[Values, str]:
    """The best that there is without building a table, which takes minutes; and why it is not the best there could be.

    Which it is is known before a hand is dealt, so nothing gets biased.
    """
    from blueprints.shipped import tables_folder
    from blueprints.values.bucket_values import has_worths
    from strategies.requirements import open_blueprint
    from strategies.settings import LookupSettings

    try:
        blueprint = open_blueprint(holdings.game, LookupSettings(file=str(file) if file else ""))
    except ConfigError:
        if file:
            raise
        return Equity(holdings), ""
    folder = tables_folder()
    if blueprint.missing_tables(folder) or not has_worths(blueprint, folder):
        return Equity(holdings), f"the values of {blueprint.name} are not built yet"
    return choose_values(None, file, holdings), ""


def _blueprint(asked: str | None, file: Path | None, holdings: Holdings) -> Values | None:
    """The blueprint's values; None if there is no blueprint for this game and nobody asked for one."""
    from blueprints.shipped import tables_folder
    from strategies.requirements import open_blueprint
    from strategies.settings import LookupSettings

    try:
        blueprint = open_blueprint(holdings.game, LookupSettings(file=str(file) if file else ""))
    except ConfigError:
        if asked or file:
            raise
        return None
    from blueprints.lookup import Lookup
    from dealer_tools.scoring.blueprint_values import BlueprintValues, open_with_progress

    blueprint.check_content()
    cards, worths = open_with_progress(blueprint, tables_folder())
    return BlueprintValues(holdings, Lookup(blueprint, cards), worths)
