"""`paratus score PATH…`: what a match says once the luck is taken out."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from dealer_tools.formats.reading import write_text
from dealer_tools.scoring.estimators import ESTIMATORS, available
from dealer_tools.scoring.holdings import Holdings, ScoreError
from dealer_tools.scoring.learned import fit, fit_document, fit_table, write_learned
from dealer_tools.scoring.lots import LEAST_HANDS, ScoreJob, score_on
from dealer_tools.scoring.picture import totals_svg
from dealer_tools.scoring.report import document, page, table
from dealer_tools.scoring.results import RAW, make_result
from dealer_tools.scoring.sources import first_hands, read_hands
from dealer_tools.scoring.values import Equity
from dealer_tools.scoring.valuing import VALUES, choose_values
from machine.cores import available_cores
from machine.errors import ConfigError, quote
from machine.progress import HandsBar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `paratus score`."""
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="match folder, log, store, session or PHH")
    parser.add_argument("--player", metavar="NAME", help="whose score (default: the first whose policies are known)")
    parser.add_argument(
        "--estimators",
        metavar="A,B",
        help=f"of {', '.join(ESTIMATORS)} (default: all that can be had)",
    )
    parser.add_argument(
        "--values",
        metavar="NAME",
        help=f"what AIVAT corrects by: one of {', '.join(VALUES)} (default: blueprint where one plays this game; "
        "ready: what needs no waiting), or a file that --fit wrote on other hands",
    )
    parser.add_argument(
        "--fit", metavar="FILE", type=Path, help="do not score: learn from these hands values to score others by"
    )
    parser.add_argument("--blueprint", metavar="FILE", type=Path, help="the blueprint of `--values blueprint`")
    parser.add_argument("--hands", metavar="N", type=int, help="only the first N")
    parser.add_argument(
        "--cores",
        metavar="N",
        type=int,
        help=f"processes (default: one for each core, if {LEAST_HANDS:,} hands or more)",
    )
    parser.add_argument("--json", action="store_true", help="print a document instead of a table")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="running totals with their bands, as SVG")
    parser.add_argument("--html", metavar="FILE", type=Path, help="all of it as one page for a browser")


def run_command(options: argparse.Namespace) -> int:
    """Score and report."""
    if options.plot is not None and options.plot.suffix != ".svg":
        raise ConfigError(f"--plot {options.plot}: expected a name that ends in .svg")
    for path in (options.plot, options.html, options.fit):
        if path is not None and not path.resolve().parent.is_dir():
            raise ConfigError(f"{path}: no such folder: expected one that is there")
    for name in ("hands", "cores"):
        if (number := getattr(options, name)) is not None and number < 1:
            raise ConfigError(f"--{name} {number}: expected at least 1")
    if options.fit is not None:
        return _fit(options)
    asked = _asked(options.estimators)
    both = any(ESTIMATORS[name].theirs for name in asked)
    job = ScoreJob(tuple(options.paths), options.player, both, options.hands, (), options.values, options.blueprint)
    hands = job.read()
    missing = {name: why for name, why in available(hands.hands, hands.player).items() if name in asked}
    job = replace(job, names=tuple(_chosen(asked, missing, by_name=options.estimators is not None)))
    scorer = job.scorer(hands)
    cores = options.cores or (available_cores() if len(hands.hands) >= LEAST_HANDS else 1)
    with HandsBar(f"score {hands.player}", len(hands.hands)) as bar:
        result = make_result(hands, scorer, score_on(cores, job, hands, scorer, bar.show))
    values = scorer.values
    print(json.dumps(document(result, values, missing), indent=2) if options.json else table(result, values, missing))
    if options.plot is not None:
        write_text(options.plot, totals_svg(result))
    if options.html is not None:
        write_text(options.html, page(result, values, missing))
    for path in (options.plot, options.html):
        if path is not None:
            print(f"written to {path}", file=sys.stderr)
    return 0


def _fit(options: argparse.Namespace) -> int:
    """Learn a value function and say what it leaves."""
    for name in ("estimators", "values", "cores", "plot", "html"):
        if getattr(options, name) is not None:
            raise ConfigError(f"--{name} with --fit, which scores nothing: expected one of them")
    hands = first_hands(read_hands(options.paths, options.player), options.hands)
    holdings = Holdings(hands.game)
    best = choose_values(None, options.blueprint, holdings)
    parts = [Equity(holdings), *([best] if best.name != Equity.name else [])]
    with HandsBar(f"learn from {hands.player}", len(hands.hands)) as bar:
        found = fit(hands, holdings, parts, bar.show)
    write_learned(options.fit, found.record)
    print(json.dumps(fit_document(found), indent=2) if options.json else fit_table(found, hands.game.big_blind))
    print(f"written to {options.fit}", file=sys.stderr)
    return 0


def _asked(text: str | None) -> list[str]:
    """Names of estimators, raw first."""
    if text is None:
        return [*ESTIMATORS]
    asked = [word.strip() for word in text.split(",")]
    for name in asked:
        if name not in ESTIMATORS:
            raise ConfigError(f"--estimators {quote(name)}: expected of {', '.join(ESTIMATORS)}")
    return [name for name in ESTIMATORS if name in asked or name == RAW]


def _chosen(asked: list[str], missing: dict[str, str], *, by_name: bool) -> list[str]:
    """Those that can be had; whoever named one that cannot is told why."""
    for name in asked if by_name else ():
        if name in missing:
            raise ScoreError(f"--estimators {name}: cannot be had: {missing[name]}")
    return [name for name in asked if name not in missing]
