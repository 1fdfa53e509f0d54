"""The results of an experiment: for a terminal, for machines, and as a page with a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from dealer_tools.experiment.results import Experiment, PairResult
from dealer_tools.results import Estimate
from dealer_tools.scoring.picture import ticks
from dealer_tools.scoring.report import html_page, html_table

_WIDTH, _ROW, _LEFT, _RIGHT, _TOP = 860, 28, 240, 40, 20
_COLOURS: Final = {True: "#1f6f8b", False: "#999999"}
"""Of a difference that is significant, and of one that is not."""


def text(found: Experiment) -> str:
    """The cross table, then pair by pair."""
    head, rows = cross_table(found)
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    lines = [_title(found), "", *[_row(row, widths) for row in [head, *rows]], "", *_legend(found), ""]
    wide = max(len(_versus(each)) for each in found.pairs)
    lines.append(f"{'':{wide}}{'n':>10}{'mbb/g':>10}{'SE':>9}   {'95 % interval':<22}{'p':>9}{'p Holm':>9}")
    lines += [_pair_line(each, wide) for each in found.pairs]
    return "\n".join([*lines, *_notes(found)])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = [
        f"{cell:{'>' if place else '<'}{width}}" for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join([first, *others]).rstrip()


def cross_table(found: Experiment) -> tuple[list[str], list[list[str]]]:
    """Head and rows: what each row's agent wins from each column's."""
    names = [agent.name for agent in found.plan.agents]
    rows = []
    for agent in found.agents:
        cells = [_cell(found, agent.name, other) for other in names]
        rows.append([agent.name, *cells, _signed(agent.mean_mbb)])
    return ["", *names, "mean"], rows


def _cell(found: Experiment, row: str, column: str) -> str:
    met = found.against(row, column)
    if met is None:
        return "-" if row == column else ""
    each, sign = met
    half = (each.estimate.high_mbb - each.estimate.low_mbb) / 2
    width = f"± {half:,.0f}" if math.isfinite(half) else "± ?"
    return f"{_signed(sign * each.estimate.mean_mbb)} {width}{' *' if each.significant else '  '}"


def _signed(mbb: float) -> str:
    return f"{mbb + 0.0:+,.0f}" if math.isfinite(mbb) else "?"  # no -0


def _title(found: Experiment) -> str:
    plan = found.plan
    hands = plan.hands * len(plan.seeds) * (2 if plan.duplicate else 1)
    kind = "duplicate" if plan.duplicate else "not duplicate"
    return (
        f"{plan.name}: {plan.game}, {hands:,} hands of each pair ({kind}, seeds {', '.join(map(str, plan.seeds))}), "
        f"{plan.estimator}"
    )


def _legend(found: Experiment) -> list[str]:
    return [
        "what the row wins from the column, mbb/g, with the 95 % interval of that pair alone",
        f"* significant: p < {found.plan.level:g} after Holm's correction for {len(found.pairs)} pairs",
    ]


def _versus(each: PairResult) -> str:
    return " v ".join(each.pair)


def _pair_line(each: PairResult, wide: int) -> str:
    estimate = each.estimate
    error = f"{estimate.se_mbb:,.1f}" if math.isfinite(estimate.se_mbb) else "?"
    return (
        f"{_versus(each):{wide}}{estimate.observations:>10,}{estimate.mean_mbb:>+10,.1f}{error:>9}   "
        f"{_interval(estimate):<22}{_p(each.p):>9}{_p(each.p_holm):>9}{' *' if each.significant else ''}"
    )


def _interval(estimate: Estimate) -> str:
    if not math.isfinite(estimate.low_mbb):
        return "unknown"
    return f"[{estimate.low_mbb:+,.1f}, {estimate.high_mbb:+,.1f}]"


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 1e-4 else "<0.0001"


def _notes(found: Experiment) -> list[str]:
    lines = []
    if found.values is not None:
        lines.append(f"values: {found.values.name} {found.values.digest}")
    for agent in found.agents:
        if agent.fallbacks:
            lines.append(f"{agent.name}: {agent.fallbacks} decisions were fallbacks")
        if agent.hands_from_log:
            lines.append(f"{agent.name}: was killed before it saw the end of {agent.hands_from_log} hands")
        if len(agent.identities) > 1:
            lines.append(f"{agent.name}: was not the same in all matches; results.json has its identities")
    if len(found.revisions) > 1:
        lines.append(f"played by more than one revision of the code: {', '.join(found.revisions)}")
    return ["", *lines] if lines else []


def document(found: Experiment) -> dict[str, Any]:
    """For `results.json`."""
    return {
        "name": found.plan.name,
        "game": found.plan.game,
        "unit": "mbb/g: thousandths of a big blind a hand, won by the first of the pair; intervals are 95 %",
        "estimator": found.plan.estimator,
        "values": None if found.values is None else {"name": found.values.name, "hash": found.values.digest},
        "observation": "a pair of duplicate hands" if found.plan.duplicate else "a hand",
        "level": found.plan.level,
        "correction": "Holm",
        "pairs": [
            {
                "pair": list(each.pair),
                **each.estimate.as_json(),
                "raw": each.raw.as_json(),
                "p": each.p,
                "p_holm": each.p_holm,
                "significant": each.significant,
            }
            for each in found.pairs
        ],
        "agents": {
            agent.name: {
                "agent": found.plan.agent(agent.name).agent,
                "mean_mbb": agent.mean_mbb if math.isfinite(agent.mean_mbb) else None,
                "fallbacks": agent.fallbacks,
                "hands_from_log": agent.hands_from_log,
                "identities": [dict(identity) for identity in agent.identities],
            }
            for agent in found.agents
        },
        "revisions": list(found.revisions),
        "seconds": round(found.seconds, 3),
    }


def page(found: Experiment, matches: dict[str, str]) -> str:
    """One HTML file; `matches` are links to those of the single matches, by name."""
    head, rows = cross_table(found)
    lines = [
        [_versus(each), f"{each.estimate.observations:,}", f"{each.estimate.mean_mbb:+,.1f}",
         f"{each.estimate.se_mbb:,.1f}" if math.isfinite(each.estimate.se_mbb) else "?", _interval(each.estimate),
         _p(each.p), _p(each.p_holm) + (" *" if each.significant else "")]
        for each in found.pairs
    ]  # fmt: skip
    links = [f'<li><a href="{escape(link)}">{escape(name)}</a></li>' for name, link in matches.items()]
    return html_page(
        _title(found),
        [
            html_table(head, rows),
            *[f"<p><small>{escape(line)}</small></p>" for line in _legend(found)],
            picture(found),
            html_table(["", "n", "mbb/g", "SE", "95 % interval", "p", "p Holm"], lines),
            *[f"<p><small>{escape(line)}</small></p>" for line in _notes(found) if line],
            "<h2>Matches</h2>",
            "<ul>" + "".join(links) + "</ul>",
        ],
    )


def picture(found: Experiment) -> str:
    """Every pair's win rate with its interval, as SVG."""
    lows = [each.estimate.low_mbb for each in found.pairs if math.isfinite(each.estimate.low_mbb)]
    highs = [each.estimate.high_mbb for each in found.pairs if math.isfinite(each.estimate.high_mbb)]
    low, high = min([0.0, *lows]), max([0.0, *highs])
    high = high if high > low else low + 1
    height = _TOP + _ROW * len(found.pairs) + 40
    right, bottom = _WIDTH - _RIGHT, height - 40

    def x(mbb: float) -> float:
        return _LEFT + (right - _LEFT) * (mbb - low) / (high - low)

    title = "What the first of each pair wins from the second, mbb/g, with 95 % intervals"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{escape(title)}</title>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for tick in ticks(low, high):
        colour = "#555555" if tick == 0 else "#dddddd"
        parts += [
            f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{_TOP}" y2="{bottom}" stroke="{colour}"/>',
            f'<text x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{tick:,.0f}</text>',
        ]
    for number, each in enumerate(found.pairs):
        y, colour, estimate = _TOP + _ROW * (number + 0.5), _COLOURS[each.significant], each.estimate
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(_versus(each))}</text>')
        if math.isfinite(estimate.low_mbb):
            span = f'x1="{x(estimate.low_mbb):.1f}" x2="{x(estimate.high_mbb):.1f}"'
            parts.append(f'<line {span} y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="3"/>')
        if low <= estimate.mean_mbb <= high:
            parts.append(f'<circle cx="{x(estimate.mean_mbb):.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>')
    return "\n".join([*parts, "</svg>"])
