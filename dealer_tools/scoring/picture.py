"""Running totals as a picture: raw chips and the best estimator, each with its 95 % band.

The band of a total after n hands is ± 1.96 standard errors of a hand (of a deal, if played twice) times √n: it grows,
but slower than a win rate that is not zero. SVG is written by hand: two lines and two areas need no library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dealer_tools.results import Z95
from dealer_tools.scoring.results import RAW, Result

_WIDTH, _HEIGHT = 860, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 20, 40
_POINTS: Final = 400
_TICKS: Final = 6
_COLOURS: Final = {"raw": "#b0532c", "best": "#1f6f8b"}


@dataclass(frozen=True, slots=True)
class _Line:
    """One estimator's totals in big blinds."""

    name: str
    colour: str
    totals: NDArray[np.float64]
    width: NDArray[np.float64]
    """Half of the band's."""


def totals_svg(result: Result) -> str:
    """The picture of a result."""
    count = len(result.hands.hands)
    at = np.unique(np.linspace(1, count, min(count, _POINTS)).astype(int))
    lines = [_line(result, name, at, _COLOURS[kind]) for name, kind in {RAW: "raw", result.best: "best"}.items()]
    low = min(0.0, *[float((line.totals - line.width).min()) for line in lines])
    high = max(0.0, *[float((line.totals + line.width).max()) for line in lines])
    return _draw(result, at, lines, low, high if high > low else low + 1)


def _line(result: Result, name: str, at: NDArray[np.intp], colour: str) -> _Line:
    values, row = result.mbb[name] / 1000, next(row for row in result.rows if row.name == name)
    deviation = row.estimate.se_mbb / 1000 * math.sqrt(len(values)) if math.isfinite(row.estimate.se_mbb) else 0.0
    return _Line(name, colour, np.cumsum(values)[at - 1], Z95 * deviation * np.sqrt(at))


def _draw(result: Result, at: NDArray[np.intp], lines: list[_Line], low: float, high: float) -> str:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def x(hands: float) -> float:
        return _LEFT + (right - _LEFT) * hands / float(at[-1])

    def y(total: float) -> float:
        return bottom - (bottom - _TOP) * (total - low) / (high - low)

    def points(values: NDArray[np.float64]) -> list[str]:
        return [f"{x(hands):.1f},{y(value):.1f}" for hands, value in zip(at.tolist(), values.tolist(), strict=True)]

    title = f"{result.hands.player}: running total over {at[-1]:,} hands, in big blinds"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{escape(title)}</title>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
    ]
    for tick in ticks(low, high):
        parts += [
            f'<line x1="{_LEFT}" x2="{right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#dddddd"/>',
            f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:,.0f}</text>',
        ]
    for tick in ticks(0, float(at[-1])):
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{tick:,.0f}</text>')
    parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y(0):.1f}" y2="{y(0):.1f}" stroke="#555555"/>')
    parts.append(f'<text x="{(_LEFT + right) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">hands</text>')
    for line in lines:
        upper, lower = points(line.totals + line.width), points(line.totals - line.width)
        parts.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{line.colour}" fill-opacity="0.15"/>')
    for line in lines:
        end = y(float(line.totals[-1]))
        parts += [
            f'<polyline points="{" ".join(points(line.totals))}" fill="none" stroke="{line.colour}" '
            'stroke-width="1.6"/>',
            f'<text x="{right + 8}" y="{end + 4:.1f}" fill="{line.colour}">{escape(line.name)} '
            f"{line.totals[-1]:+,.0f}</text>",
        ]
    return "\n".join([*parts, "</svg>"])


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two, some six of them."""
    step = 10.0 ** math.floor(math.log10((high - low) / _TICKS))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= _TICKS)
    first = math.ceil(low / step)
    return [step * number for number in range(first, math.floor(high / step) + 1)]
