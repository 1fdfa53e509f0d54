"""`python -m benchmarks NAME …` is `paratus bench --json NAME …`."""

from __future__ import annotations

import sys

from bot.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", "--json", *sys.argv[1:]]))
