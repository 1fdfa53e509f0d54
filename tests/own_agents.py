"""The agent of the documentation, as a file that a user has."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

BOTS = Path(__file__).resolve().parent.parent / "docs" / "bots.md"
NAME = "PairRaiser"


def documented_code() -> str:
    """The example, as it stands there."""
    found = re.search(
        r"<!-- own agent -->\n```python\n(.*?)```\n<!-- /own agent -->", BOTS.read_text("utf-8"), re.DOTALL
    )
    assert found is not None
    return found.group(1)


@cache
def documented_agent() -> str:
    """What to say with `--agent`."""
    path = Path(mkdtemp(prefix="paratus-own-")) / "pairs.py"
    path.write_text(documented_code(), encoding="utf-8")
    return f"{path}:{NAME}"
