"""`paratus serve`: play many matches at once.

Exit codes: 0 stopped when told to (or, with `until_done`, every match was played to its end); 1 with `until_done`, some
match was not; 2 bad settings.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from bot.serve.config import DEFAULT_FILE, load_serve_config
from protocol.stream import run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file says it all."""
    parser.description = "Play many matches at once against ACPC dealers, until told to stop."
    parser.epilog = "exit codes: 0 stopped as told, 1 a match was not played to its end (until_done), 2 bad settings"
    parser.add_argument("--config", metavar="FILE", type=Path, help="settings; see --print-config")
    parser.add_argument("--print-config", action="store_true", help="print the documented default settings and exit")


def run_command(options: argparse.Namespace) -> int:
    """Serve."""
    if options.print_config:
        print(DEFAULT_FILE.read_text(encoding="utf-8"), end="")
        return 0
    config = load_serve_config(options.config)
    config.control.token()  # refused before anything is started
    from bot.serve.server import Log, MatchServer

    logging.basicConfig(level=logging.WARNING, format="paratus serve: %(message)s")

    async def serve() -> int:
        return await MatchServer(config, Log(config.serve.log)).run()

    return run(serve())
