"""`python -m studies.search_tables`: compute what is missing, write the tables."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from machine.cores import available_cores
from machine.files import whole_file
from machine.progress import duration_text
from machine.revision import ROOT
from solver.warm import warm_up
from studies.search_tables.jobs import TableSettings, known_rows, run_all
from studies.search_tables.report import draw, insert, made, tables


def main(arguments: list[str]) -> int:
    """Run, write `search-tables/results.json` and `gifts.svg`, and the tables into `search-tables.md`."""
    parser = argparse.ArgumentParser(prog="python -m studies.search_tables", description=__doc__)
    parser.add_argument(
        "--folder", metavar="FOLDER", type=Path, default=_cache(), help="what is done (default %(default)s)"
    )
    parser.add_argument(
        "--docs", metavar="FOLDER", type=Path, default=ROOT / "docs", help="default: those of the checkout"
    )
    parser.add_argument(
        "--processes", metavar="N", type=int, default=available_cores(), help="default: one for each core"
    )
    parser.add_argument("--no-docs", action="store_true", help="print the tables only")
    options = parser.parse_args(arguments)
    if options.processes < 1:
        parser.error(f"--processes {options.processes}: expected a number from 1 up")
    settings, begun = TableSettings(), time.monotonic()
    known = len(known_rows(settings, options.folder))
    warm_up(32)  # before processes that would all compile
    rows = run_all(settings, options.folder, options.processes)
    elapsed = duration_text(time.monotonic() - begun)
    new = len(rows) - known
    this_run = f"The latest run made {new} of them in {elapsed}, {options.processes} at a time." if new else ""
    print(made(rows, this_run), file=sys.stderr)
    text = f"{made(rows, this_run)}\n\n{tables(rows, settings)}"
    print(text)
    if not options.no_docs:
        results = options.docs / "search-tables"
        results.mkdir(parents=True, exist_ok=True)
        kept = {name: {key: row[key] for key in row if key != "settings"} for name, row in sorted(rows.items())}
        with whole_file(results / "results.json") as file:
            file.write(json.dumps({"settings": json.loads(settings.text()), "rows": kept}, indent=1).encode())
        draw(results / "gifts.svg", rows, settings)
        if not insert(options.docs / "search-tables.md", text):
            print(f"{options.docs / 'search-tables.md'}: no place for the tables", file=sys.stderr)
            return 1
    return 0


def _cache() -> Path:
    """Of this user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paratus" / "search-tables"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
