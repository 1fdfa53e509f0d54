"""Files that somebody else is writing."""

from __future__ import annotations

from pathlib import Path


class Tail:
    """The complete lines that have been added to a file since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def lines(self) -> list[bytes]:
        """Those that are new."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self._at += len(data)
        return data.splitlines()


def last_line(path: Path) -> str:
    """What was said last."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it printed nothing"
