"""A bot that misbehaves in one chosen way: `bot.py MODE IP PORT`. It knows nothing of Paratus.

It plays two-player games of the reference kind (reverse blinds) and always calls, except where its mode says
otherwise. It ends with 0 when the dealer closes the connection, and writes every line that it hears to stdout.
"""

from __future__ import annotations

import re
import select
import socket
import sys
import time
from collections.abc import Callable

BYTES_WITHOUT_NEWLINE = 10_000_000
FOR_EVER = 1 << 60


class Table:
    """The connection to the dealer."""

    def __init__(self, ip: str, port: str) -> None:
        self.connection = socket.create_connection((ip, int(port)), timeout=30)
        self._file = self.connection.makefile("rb")
        self.decisions = 0

    def say(self, line: str) -> None:
        """Send a line; ends the program when the dealer has closed."""
        try:
            self.connection.sendall(line.encode() + b"\r\n")
        except (BrokenPipeError, ConnectionResetError):
            sys.exit(0)

    def hear(self) -> str:
        """The next line; ends the program when the dealer closes."""
        try:
            line = self._file.readline().decode("ascii")
        except ConnectionResetError:
            sys.exit(0)
        if not line.endswith("\r\n"):
            sys.exit(0 if not line else f"half a line: {line!r}")
        print(line.rstrip(), flush=True)
        return line.rstrip()

    def my_turn(self) -> str:
        """The next state in which we act."""
        while True:
            line = self.hear()
            _, position, _, betting, cards = line.split(":")
            holes = cards.split("/")[0].split("|")
            streets = betting.split("/")
            first = 1 if len(streets) == 1 else 0
            actor = (first + len(re.findall("[cfr]", streets[-1]))) % 2
            if "f" not in betting and not all(holes) and actor == int(position):
                self.decisions += 1
                return line

    def leave_to_the_dealer(self) -> None:
        """Read on without a word until the dealer closes."""
        while True:
            self.hear()


def greet(table: Table) -> None:
    table.say("VERSION:2.0.0")


def good(table: Table) -> None:
    greet(table)
    while True:
        table.say(table.my_turn() + ":c")


def slow(table: Table) -> None:
    greet(table)
    while True:
        line = table.my_turn()
        time.sleep(0.05)
        table.say(line + ":c")


def byte_by_byte(table: Table) -> None:
    table.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def say(line: str) -> None:
        for character in line + "\r\n":
            table.connection.sendall(character.encode())
            time.sleep(0.0002)

    say("VERSION:2.0.0")
    while True:
        say(table.my_turn() + ":c")


def mute(table: Table) -> None:
    """Connects and never says anything."""
    table.leave_to_the_dealer()


def version(text: str) -> Callable[[Table], None]:
    """That first line, then a good bot."""

    def mode(table: Table) -> None:
        table.say(text)
        while True:
            table.say(table.my_turn() + ":c")

    return mode


def half_version(table: Table) -> None:
    table.connection.sendall(b"VERSION:2.0")


def endless_version(table: Table) -> None:
    flood(table, b"V" * 65536, BYTES_WITHOUT_NEWLINE)
    table.leave_to_the_dealer()


def silent(table: Table) -> None:
    """Plays one hand's worth of actions, then listens only."""
    greet(table)
    table.say(table.my_turn() + ":c")
    table.leave_to_the_dealer()


def comments(table: Table) -> None:
    """A comment now and then instead of an answer."""
    greet(table)
    table.my_turn()
    try:
        while True:
            table.say("# still thinking")
            time.sleep(0.02)
    except OSError:
        pass


def comment_flood(table: Table) -> None:
    greet(table)
    table.my_turn()
    flood(table, b"# still thinking\r\n" * 4000)


def garbage(table: Table) -> None:
    """Bytes that are no reply, then a right one."""
    greet(table)
    while True:
        line = table.my_turn()
        table.connection.sendall(bytes(range(255, -1, -1)) + b"\r\n\r\nMATCHSTATE\r\n")
        table.say(line + ":c")


def garbage_only(table: Table) -> None:
    greet(table)
    table.my_turn()
    table.say("I do not know")
    table.leave_to_the_dealer()


def garbage_flood(table: Table) -> None:
    greet(table)
    table.my_turn()
    flood(table, b"I do not know\r\n" * 4000)


def no_newline(table: Table) -> None:
    greet(table)
    table.my_turn()
    flood(table, b"x" * 65536)


def long_line(table: Table) -> None:
    """Ten megabytes, then the end of that line and a right answer."""
    greet(table)
    line = table.my_turn()
    flood(table, b"x" * 65536, BYTES_WITHOUT_NEWLINE)
    table.say("")
    table.say(line + ":c")
    while True:
        table.say(table.my_turn() + ":c")


def out_of_turn(table: Table) -> None:
    """Every state is answered three times, our turn or not, over or not."""
    greet(table)
    while True:
        line = table.hear()
        table.say("\r\n".join([line + ":c"] * 3))


def chatter_before_turn(table: Table) -> None:
    """Thousands of comments while the other player thinks, then a good game."""
    greet(table)
    table.connection.sendall(b"# hello\r\n" * 3000)
    while True:
        table.say(table.my_turn() + ":c")


def dies_in_line(table: Table) -> None:
    greet(table)
    table.connection.sendall(table.my_turn().encode())


def dies_in_hand(table: Table) -> None:
    greet(table)
    while table.decisions < 2:
        table.say(table.my_turn() + ":c")
    table.my_turn()


def dies_waiting(table: Table) -> None:
    """Leaves right after an answer, while the other player thinks."""
    greet(table)
    table.say(table.my_turn() + ":c")


def dies_after_version(table: Table) -> None:
    greet(table)


def dies_at_once(table: Table) -> None:
    pass


def deaf(table: Table) -> None:
    """Never reads."""
    greet(table)
    hung_up = select.poll()
    hung_up.register(table.connection, select.POLLRDHUP)
    hung_up.poll(60_000)


def illegal(table: Table) -> None:
    """One illegal action of each kind, in turn."""
    greet(table)
    while True:
        line = table.my_turn()
        table.say(line + (":r1", ":r99999", ":f", ":x", ":", "", ":r", ":c")[(table.decisions - 1) % 8])


def one_illegal(table: Table) -> None:
    """One raise that is too small, and for the rest a good bot."""
    greet(table)
    while True:
        line = table.my_turn()
        table.say(line + (":r1" if table.decisions == 3 else ":c"))


def flood(table: Table, data: bytes, total: int = FOR_EVER) -> None:
    """Send until the dealer has had enough or takes no more."""
    table.connection.settimeout(5)
    sent = 0
    try:
        while sent < total:
            table.connection.sendall(data)
            sent += len(data)
    except OSError:
        sys.exit(0)


MODES: dict[str, Callable[[Table], None]] = {
    "good": good,
    "slow": slow,
    "byte_by_byte": byte_by_byte,
    "mute": mute,
    "version_1": version("VERSION:1.0.0"),
    "version_2_1": version("VERSION:2.1.0"),
    "version_wrong": version("HELLO"),
    "version_comment": version("# VERSION:2.0.0"),
    "half_version": half_version,
    "endless_version": endless_version,
    "silent": silent,
    "comments": comments,
    "comment_flood": comment_flood,
    "garbage": garbage,
    "garbage_only": garbage_only,
    "garbage_flood": garbage_flood,
    "no_newline": no_newline,
    "long_line": long_line,
    "out_of_turn": out_of_turn,
    "chatter_before_turn": chatter_before_turn,
    "dies_in_line": dies_in_line,
    "dies_in_hand": dies_in_hand,
    "dies_waiting": dies_waiting,
    "dies_after_version": dies_after_version,
    "dies_at_once": dies_at_once,
    "deaf": deaf,
    "illegal": illegal,
    "one_illegal": one_illegal,
}


def main() -> None:
    if sys.argv[1] == "crash":
        sys.exit("the strategy file is missing")
    MODES[sys.argv[1]](Table(*sys.argv[2:]))


if __name__ == "__main__":
    main()
