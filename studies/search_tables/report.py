"""Results as tables beside those of the thesis, and the curve of scaled gifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

from machine.files import whole_file
from machine.progress import duration_text
from studies.search_tables import bets, cards
from studies.search_tables.games import SEATS
from studies.search_tables.jobs import Row, TableSettings, nested_row, plain

Rows = Mapping[str, Row]

BEGIN: Final = "<!-- tables: written by python -m studies.search_tables -->"
END: Final = "<!-- end of tables -->"

# Brown, Equilibrium Finding for Large Adversarial Imperfect-Information Games (2020), mbb/h.
THESIS_BUCKETS: Final = (200, 2000, 30000)
THESIS_FLOPS: Final = {
    "Trunk": (88.69, 37.374, 9.128),
    "Unsafe": (14.68, 3.958, 0.5514),
    "Resolve": (60.16, 17.79, 5.407),
    "Maxmargin": (30.05, 13.99, 4.343),
    "Reach-Maxmargin": (29.88, 13.90, 4.147),
    "Reach-Maxmargin (not split)": (24.87, 9.807, 2.588),
    "Estimate": (11.66, 6.261, 2.423),
    "Estimate + Distributional": (10.44, 6.245, 3.430),
    "Reach-Estimate + Distributional": (10.21, 5.798, 2.258),
    "Reach-Estimate + Distributional (not split)": (9.560, 4.924, 1.733),
}
"""Table 5.1."""
TRANSLATION: Final = "Pseudo-harmonic translation"
THESIS_BETS: Final = {
    TRANSLATION: 1465.0,
    "Resolve": 150.2,
    "Reach-Maxmargin (expensive)": 149.2,
    "Unsafe (expensive)": 148.3,
    "Maxmargin": 122.0,
    "Reach-Maxmargin": 119.1,
}
"""Table 5.4."""

_FIGURE_INCHES: Final = (7.0, 4.0)


def flops(rows: Rows, settings: TableSettings) -> dict[str, list[float | None]]:
    """Exploitability by method, for each number of buckets; the mean of both seats."""
    patterns = {"Trunk": "trunk-{}"} | {name: f"flops-{{}}-{plain(name)}" for name in cards.METHODS}
    return {name: _by_buckets(rows, settings, pattern) for name, pattern in patterns.items()}


def nested(rows: Rows, count: int) -> dict[str, float | None]:
    """Exploitability by method, with searches of so many iterations; the mean of both seats."""
    return {name: _mean(_seats(rows, pattern)) for name, pattern in _bet_rows(count).items()}


def _bet_rows(count: int) -> dict[str, str]:
    """The names of rows, but for the seat."""
    return {TRANSLATION: "translation-{}"} | {name: f"{nested_row(name, count)}-{{}}" for name in bets.METHODS}


def floor(rows: Rows, settings: TableSettings) -> list[float | None]:
    """All flops solved at once."""
    return _by_buckets(rows, settings, "together-{}")


def _by_buckets(rows: Rows, settings: TableSettings, pattern: str) -> list[float | None]:
    return [_mean(_both(rows.get(pattern.format(count)))) for count in settings.buckets]


def inside(rows: Rows) -> list[float | None]:
    """With the bet in the tree that we solve: what the opponent wins, by our seat."""
    found = [rows.get(f"inside-{us}") for us in SEATS]
    return [row["best_response_mbb"][1 - us] if row else None for us, row in enumerate(found)]


def _both(row: Row | None) -> list[float | None]:
    """By the player that responds best."""
    return [None, None] if row is None else list(row["best_response_mbb"])


def buckets(rows: Rows, settings: TableSettings) -> list[int]:
    """How many there are in each trunk: no more than there are different points, of however many were asked for."""
    return [int(rows.get(f"trunk-{count}", {}).get("buckets", count)) for count in settings.buckets]


def _seats(rows: Rows, pattern: str) -> list[float | None]:
    """By our seat."""
    found = [rows.get(pattern.format(us)) for us in SEATS]
    return [row["best_response_mbb"] if row else None for row in found]


def _mean(both: Sequence[float | None]) -> float | None:
    known = [each for each in both if each is not None]
    return sum(known) / 2 if len(known) == 2 else None


def inversions(ours: Mapping[str, float | None], thesis: Mapping[str, float]) -> tuple[int, list[tuple[str, str]]]:
    """How many pairs of methods both tables have, and those whose order differs: the thesis's better one first."""
    both = [name for name in thesis if ours.get(name) is not None]
    differing = []
    for first, second in combinations(both, 2):
        better, worse = (first, second) if thesis[first] < thesis[second] else (second, first)
        if (ours[better] or 0.0) > (ours[worse] or 0.0):
            differing.append((better, worse))
    return len(both) * (len(both) - 1) // 2, differing


# Markdown


def made(rows: Rows, this_run: str) -> str:
    """Which code and machines the rows are from and how long they took, and what is to be said of this run."""
    sources = sorted({_source(row) for row in rows.values()})
    told = []
    for revision, cpu in sources:
        these = [row for row in rows.values() if _source(row) == (revision, cpu)]
        took = duration_text(sum(row["seconds"] for row in these))
        told.append(f"{len(these)} row{'s' if len(these) > 1 else ''} at revision {revision} on {cpu}, {took} together")
    return f"{'; '.join(told)}. {this_run}".rstrip()


def _source(row: Row) -> tuple[str, str]:
    return row["revision"], row["cpu"]


def tables(rows: Rows, settings: TableSettings) -> str:
    """Both tables, the pairs of methods whose order is not the thesis's, and what is known of why."""
    return "\n".join([*_flop_table(rows, settings), "", *_bet_table(rows, settings), "", *_cause_table(rows, settings)])


def _flop_table(rows: Rows, settings: TableSettings) -> list[str]:
    ours, least, counts = flops(rows, settings), floor(rows, settings), buckets(rows, settings)
    heads = [f"{count:,}" for count in counts] + [f"thesis {count:,}" for count in THESIS_BUCKETS]
    lines = ["### Table 5.1: buckets on the flop, mbb/h", "", *_head("buckets", heads)]
    for name, theirs in THESIS_FLOPS.items():
        lines.append(_line(name, [*ours[name], *theirs]))
    lines += [_line("*all flops solved at once*", [*least, *[None] * len(THESIS_BUCKETS)]), ""]
    for column, count in enumerate(counts[: len(THESIS_BUCKETS)]):
        found = {name: values[column] for name, values in ours.items()}
        thesis = {name: values[column] for name, values in THESIS_FLOPS.items()}
        lines.append(_compared(f"{count:,} buckets", found, thesis))
    return lines


def _bet_table(rows: Rows, settings: TableSettings) -> list[str]:
    columns, most, least = settings.nested_iterations, max(settings.nested_iterations), inside(rows)
    heads = [f"{count:,} iterations" for count in columns] + ["in the big blind", "in the small blind", "thesis"]
    lines = ["### Table 5.4: a bet of 0.75 pot that the tree does not have, mbb/h", "", *_head("method", heads)]
    for name, theirs in THESIS_BETS.items():
        means = [nested(rows, count)[name] for count in columns]
        lines.append(_line(name, [*means, *_seats(rows, _bet_rows(most)[name]), theirs], digits=2))
    lines += [_line("*the bet in the tree*", [*[None] * (len(columns) - 1), _mean(least), *least, None], digits=2), ""]
    lines += [_compared(f"{count:,} iterations", nested(rows, count), THESIS_BETS) for count in columns]
    return lines


def _cause_table(rows: Rows, settings: TableSettings) -> list[str]:
    """More iterations, other payoffs, and what searches leave the opponent: on average over hands, and at worst."""
    count, more = max(settings.nested_iterations), settings.longer_iterations
    heads = ["mbb/h", f"{more:,} iterations", "hands gain, thousandths of the pot", "one hand gains at most"]
    lines = [f"### Why: {count:,} iterations", "", *_head("method", heads)]
    for name in (*bets.LOOKED_INTO, *bets.PLAYED):
        row = f"{nested_row(name, count)}-{{}}"
        values = [_mean(_seats(rows, pattern)) for pattern in (row, f"{nested_row(name, more)}-{{}}")]
        for key in ("gains_mean", "gains_most"):
            mean = _mean([rows.get(row.format(us), {}).get(key) for us in SEATS])
            values.append(mean and 1000 * mean)
        lines.append(_line(name, values, digits=2))
    return lines


def _compared(title: str, ours: Mapping[str, float | None], thesis: Mapping[str, float]) -> str:
    pairs, differing = inversions(ours, thesis)
    names = "; ".join(f"{worse} before {better}" for better, worse in differing)
    return f"- {title}: {pairs - len(differing)} of {pairs} pairs in the thesis's order" + (
        f"; not: {names}." if names else "."
    )


def _head(first: str, names: Sequence[str]) -> list[str]:
    return [f"| {first} | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]


def _line(name: str, numbers: Sequence[float | None], digits: int = 1) -> str:
    return f"| {name} | " + " | ".join(_cell(number, digits) for number in numbers) + " |"


def _cell(number: float | None, digits: int) -> str:
    if number is None:
        return ""
    return f"{number:,.{digits}f}" if abs(number) >= 10 or digits > 1 else f"{number:.2f}"


def insert(page: Path, text: str) -> bool:
    """Put the tables between the marks of a page; False if it is not there, or has none."""
    if not page.exists():
        return False
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return False
    with whole_file(page) as file:
        file.write(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}".encode())
    return True


def draw(path: Path, rows: Rows, settings: TableSettings) -> None:
    """Reach-Maxmargin with gifts of all scales."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = path.stem  # the same file every time
    points = {scale: _mean(_both(rows.get(f"scaled-{scale:g}"))) for scale in settings.scales}
    figure, axes = pyplot.subplots(figsize=_FIGURE_INCHES, layout="constrained")
    shown = [(scale, mbb) for scale, mbb in points.items() if mbb is not None]
    axes.plot([scale for scale, _ in shown], [mbb for _, mbb in shown], "o-", linewidth=1.4)
    axes.set_xscale("symlog", linthresh=1.0)
    axes.set(
        title=f"Reach-Maxmargin, {settings.scaled:,} buckets", xlabel="gifts times", ylabel="exploitability, mbb/h"
    )
    axes.grid(which="both", alpha=0.25)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
