"""Which cores this process may use."""

from __future__ import annotations

import os


def core_numbers() -> list[int]:
    """Cores that this process may run on, by their numbers."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [*range(os.cpu_count() or 1)]


def available_cores() -> int:
    """How many they are."""
    return len(core_numbers())
