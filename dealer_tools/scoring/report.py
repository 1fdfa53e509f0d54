"""A score as people read it, as machines do, and as one page for a browser."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from importlib.metadata import version
from typing import Any, Final

from dealer_tools.results import Estimate
from dealer_tools.scoring.picture import totals_svg
from dealer_tools.scoring.results import Lucky, Result, Row
from dealer_tools.scoring.values import Values
from machine.revision import git_revision

_SHOWN_REFUSALS: Final = 5
_TOO_FAR_APART: Final = 4.0
"""Standard errors: once in 16,000 by luck."""


def table(result: Result, values: Values, missing: dict[str, str]) -> str:
    """For a terminal."""
    lines = [
        f"{_title(result)}, mbb/g",
        f"{'':18}{'n':>9} {'mean':>9} {'SD':>9} {'SE':>8}   {'95 % interval':<22}{'worth raw hands':>16}",
        *[_row(row) for row in result.rows],
        "",
        f"{'adds to the mean:':18}{'hands':>9} {'raw':>9} {result.best:>9}",
    ]
    for group in result.groups:
        rate = f"   alone {group.rate.mean_mbb:+.0f} {_interval(group.rate)}" if group.rate else ""
        lines.append(
            f"{f'{group.by} {group.name}':22}{group.hands:>5,} {group.raw_mbb:>+9.0f} {group.best_mbb:>+9.0f}{rate}"
        )
    lines += ["", f"luckiest and unluckiest hands, in big blinds: won, worth by {result.best}"]
    lines += [f"{_lucky(each)}" for each in result.lucky]
    return "\n".join([*lines, "", *_remarks(result, values, missing)])


def _title(result: Result) -> str:
    hands = result.hands
    others = [name for name in dict.fromkeys(hands.hands[0].record.names) if name != hands.player]
    twice = f", {len(hands.pairs):,} deals played twice" if hands.pairs else ""
    return f"{hands.player} v {', '.join(others)}: {len(hands.hands):,} hands{twice}"


def _row(row: Row) -> str:
    estimate = row.estimate
    return (
        f"{row.name:18}{estimate.observations:>9,} {estimate.mean_mbb:>+9.1f} {_number(estimate.sd_mbb):>9}"
        f" {_number(estimate.se_mbb, 1):>8}   {_interval(estimate):<22}{_number(row.raw_hands):>16}"
    )


def _remarks(result: Result, values: Values, missing: dict[str, str]) -> list[str]:
    hands = result.hands
    lines = []
    if hands.pairs:
        lines.append("n and errors are of deals: the two hands of a deal are not independent")
    by_values: dict[str, list[str]] = {}
    for row in result.rows:
        if row.values:
            by_values.setdefault(row.values, []).append(row.name)
    lines += [f"values of {', '.join(names)}: {each}" for each, names in by_values.items()]
    apart = [row for row in result.rows if abs(row.errors_apart) > _TOO_FAR_APART]
    lines += [
        f"note: {row.name} is {row.errors_apart:+.1f} standard errors from raw, which luck alone does not explain: "
        "were these the policies that played, and the cards dealt fairly?"
        for row in apart
    ]
    lines += [f"played by {identity}" for identity in hands.identities]
    lines += [f"no {name}: {reason}" for name, reason in missing.items()]
    if hands.refused:
        lines.append(f"{len(hands.refused)} hands or lines left out:")
        lines += [f"  {each.where}: {each.reason}" for each in hands.refused[:_SHOWN_REFUSALS]]
        if len(hands.refused) > _SHOWN_REFUSALS:
            lines.append(f"  and {len(hands.refused) - _SHOWN_REFUSALS} more (--json has all)")
    return [*lines, *[f"note: {note}" for note in hands.notes]]


def _lucky(each: Lucky) -> str:
    return (
        f"  hand {each.hand:<7} {each.raw_mbb / 1000:>+8.1f} {each.best_mbb / 1000:>+8.1f}"
        f"   luck {each.luck_mbb / 1000:>+8.1f}   {each.betting}   {each.where}"
    )


def _number(number: float, places: int = 0) -> str:
    return f"{number:,.{places}f}" if math.isfinite(number) else "?"


def _interval(estimate: Estimate) -> str:
    if not math.isfinite(estimate.low_mbb):
        return "unknown"
    return f"[{estimate.low_mbb:+.1f}, {estimate.high_mbb:+.1f}]"


def document(result: Result, values: Values, missing: dict[str, str]) -> dict[str, Any]:
    """For machines."""
    hands = result.hands
    return {
        "player": hands.player,
        "game": hands.game.name,
        "paratus": version("paratus"),
        "revision": git_revision(full=True),
        "unit": "mbb/g: thousandths of a big blind a hand; intervals are 95 %; deviations are of hands",
        "hands": len(hands.hands),
        "pairs": len(hands.pairs),
        "values": {"name": values.name, "hash": values.digest},
        "identities": list(hands.identities),
        "estimators": {
            row.name: {
                **row.estimate.as_json(),
                "values": row.values or None,
                "worth_raw_hands": _finite(row.raw_hands),
                "share_of_raw_sd": _finite(row.share),
                "apart_from_raw": {
                    "mean_mbb": row.apart.mean_mbb,
                    "se_mbb": _finite(row.apart.se_mbb),
                    "in_se": _finite(row.errors_apart),
                },
            }
            for row in result.rows
        },
        "not_available": missing,
        "breakdown": [
            {"by": group.by, "name": group.name, "hands": group.hands, "adds_raw_mbb": group.raw_mbb,
             "adds_mbb": group.best_mbb, "rate": group.rate.as_json() if group.rate else None}
            for group in result.groups
        ],
        "luckiest": [{**asdict(each), "luck_mbb": each.luck_mbb} for each in result.lucky],
        "excluded": [asdict(each) for each in hands.refused],
        "notes": list(hands.notes),
    }  # fmt: skip


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #ddd; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
td.wide { text-align: left; word-break: break-all; font-family: monospace; font-size: 12px; }
svg { width: 100%; height: auto; } small { color: #555; }
"""


def page(result: Result, values: Values, missing: dict[str, str]) -> str:
    """One HTML file that needs nothing else."""
    title = _title(result)
    estimates = [
        [row.name, f"{row.estimate.observations:,}", f"{row.estimate.mean_mbb:+.1f}", _number(row.estimate.sd_mbb),
         _number(row.estimate.se_mbb, 1), _interval(row.estimate), _number(row.raw_hands)]
        for row in result.rows
    ]  # fmt: skip
    groups = [
        [f"{group.by} {group.name}", f"{group.hands:,}", f"{group.raw_mbb:+.0f}", f"{group.best_mbb:+.0f}",
         f"{group.rate.mean_mbb:+.0f} {_interval(group.rate)}" if group.rate else ""]
        for group in result.groups
    ]  # fmt: skip
    lucky = [
        [f"{each.hand}", f"{each.raw_mbb / 1000:+.1f}", f"{each.best_mbb / 1000:+.1f}", f"{each.luck_mbb / 1000:+.1f}",
         f"{each.betting}   {each.where}"]
        for each in result.lucky
    ]  # fmt: skip
    parts = [
        "<p>All estimators have the same expectation; the smaller the error, the more luck was taken out.</p>",
        html_table(["mbb/g", "n", "mean", "SD", "SE", "95 % interval", "worth raw hands"], estimates),
        totals_svg(result),
        "<h2>Where the mean comes from</h2>",
        html_table(["adds to the mean", "hands", "raw", result.best, "alone"], groups),
        "<h2>Luckiest and unluckiest hands, in big blinds</h2>",
        html_table(["hand", "won", "worth", "luck", "betting, file and line"], lucky, wide=4),
        *[f"<p><small>{escape(line)}</small></p>" for line in _remarks(result, values, missing)],
    ]
    return html_page(title, parts)


def html_page(title: str, parts: Sequence[str]) -> str:
    """One file, its title the first heading; `parts` are HTML."""
    body = "\n".join([f"<h1>{escape(title)}</h1>", *parts])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], wide: int | None = None) -> str:
    """Texts, not HTML; the cells of column `wide` may be broken anywhere."""

    def cell(place: int, text: str) -> str:
        return f'<td class="wide">{escape(text)}</td>' if place == wide else f"<td>{escape(text)}</td>"

    lines = ["<table><tr>", *[f"<th>{escape(text)}</th>" for text in head], "</tr>"]
    for row in rows:
        lines += ["<tr>", *[cell(place, text) for place, text in enumerate(row)], "</tr>"]
    return "".join([*lines, "</table>"])
