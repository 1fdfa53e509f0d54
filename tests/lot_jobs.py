"""Jobs for tests of lots: functions of a module, as processes need them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path


def squares(offset: int) -> Callable[[int], int]:
    return lambda number: number * number + offset


def first_slow(least_s: float) -> Callable[[int], int]:
    """Lot 0 takes so long, others nothing."""

    def do(number: int) -> int:
        if number == 0:
            time.sleep(least_s)
        return number

    return do


def logged(folder: str) -> Callable[[int], int]:
    """Each lot that is done is a line of a file."""

    def do(number: int) -> int:
        time.sleep(0.02)
        with (Path(folder) / "done").open("a") as file:
            file.write(f"{number}\n")
        return number * number

    return do


def process_of(job: None) -> Callable[[int], int]:
    def do(number: int) -> int:
        time.sleep(0.05)
        return os.getpid()

    return do


def never(job: None) -> Callable[[int], int]:
    def do(number: int) -> int:
        time.sleep(1000)
        return number

    return do


def failing(at: int) -> Callable[[int], int]:
    def do(number: int) -> int:
        if number == at:
            raise ValueError(f"no {number}")
        return number

    return do


class TwoWords(Exception):
    """Cannot be carried by pickle: it is made of something else than its arguments."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def failing_oddly(job: None) -> Callable[[int], int]:
    def do(number: int) -> int:
        raise TwoWords("not", "carried")

    return do


def without_pickle(job: None) -> Callable[[int], object]:
    return lambda number: lambda: number


def never_ready(job: str) -> Callable[[int], int]:
    raise RuntimeError(f"no {job}")


def dying(at: int) -> Callable[[int], int]:
    def do(number: int) -> int:
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    return do
