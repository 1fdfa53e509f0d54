"""A dealer that misbehaves in one chosen way: `dealer.py MODE`. Prints its port, then every line it hears.

It knows nothing of Paratus. It deals heads-up no-limit hold'em with reverse blinds, always the same cards, against an
opponent who only checks and calls; positions alternate, starting with 0. An always-call bot's hand is then always
`cc/cc/cc/cc`, and the modes that lie are meant for an always-raise bot, whose first action is r200.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable

OURS, THEIRS = "AhKd", "7c2s"
BOARD = ("", "/9d8s4h", "/9d8s4h/Jc", "/9d8s4h/Jc/3d")
CHECKED_DOWN = ("", "c", "cc/", "cc/c", "cc/cc/", "cc/cc/c", "cc/cc/cc/", "cc/cc/cc/c", "cc/cc/cc/cc")
BYTES_WITHOUT_NEWLINE = 10_000_000
TCP_REPAIR = 19


def state(position: int, hand: int, betting: str, *, shown: bool = False) -> str:
    """What the bot in `position` is sent."""
    holes = [THEIRS if shown else ""] * 2
    holes[position] = OURS
    return f"MATCHSTATE:{position}:{hand}:{betting}:{'|'.join(holes)}{BOARD[betting.count('/')]}"


class Bot:
    """The connection to the bot."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._file = connection.makefile("rb")
        self.end = "\r\n"
        self.before_line: Callable[[], None] = lambda: None
        self.carry: Callable[[bytes], object] = connection.sendall

    def hear(self) -> str:
        line = self._file.readline().decode("ascii")
        if not line.endswith("\r\n"):
            sys.exit(f"the bot left: {line!r}")
        print(line.rstrip(), flush=True)
        return line.rstrip()

    def say(self, line: str) -> None:
        self.before_line()
        self.carry(line.encode() + self.end.encode())

    def answered(self, line: str) -> str:
        """Say a state in which the bot acts; its action."""
        self.say(line)
        reply = self.hear()
        if not reply.startswith(line + ":"):
            sys.exit(f"the bot said {reply!r} to {line!r}")
        return reply[len(line) + 1 :]

    def play(self, hand: int, begin: int = 0, end: int = len(CHECKED_DOWN)) -> None:
        """Play a hand, or part of it, with a bot that always calls."""
        position = hand % 2
        for number in range(begin, end):
            last = number == len(CHECKED_DOWN) - 1
            line = state(position, hand, CHECKED_DOWN[number], shown=last)
            actor = number % 2 if number > 1 else 1 - number
            if last or actor != position:
                self.say(line)
            elif self.answered(line) != "c":
                sys.exit("this mode is for a bot that always calls")

    def leave_to_the_bot(self) -> None:
        """Say nothing more; wait until the bot goes."""
        while self.connection.recv(4096):
            pass


def good(bot: Bot) -> None:
    for hand in range(3):
        bot.play(hand)


def slow(bot: Bot) -> None:
    bot.before_line = lambda: time.sleep(0.05)
    bot.play(0)


def byte_by_byte(bot: Bot) -> None:
    bot.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def carry(data: bytes) -> None:
        for at in range(len(data)):
            bot.connection.sendall(data[at : at + 1])
            time.sleep(0.0002)

    bot.carry = carry
    good(bot)


def packed(bot: Bot) -> None:
    """Several states, comments and the first half of the next line in each packet."""
    held = b""

    def carry(data: bytes) -> None:
        nonlocal held
        held += data

    def hear() -> str:
        nonlocal held
        bot.connection.sendall(b"# one more\r\n" + held)
        held = b""
        return Bot.hear(bot)

    bot.carry, bot.hear = carry, hear  # type: ignore[method-assign]
    good(bot)
    bot.connection.sendall(held)


def comments(bot: Bot) -> None:
    """Comments everywhere, and lines that end as on Unix."""
    bot.end = "\n"
    bot.before_line = lambda: bot.connection.sendall(b"# MATCHSTATE:0:0::|\r\n;MATCHSTATE\n#\n")
    good(bot)


def silent(bot: Bot) -> None:
    bot.leave_to_the_bot()


def silent_in_hand(bot: Bot) -> None:
    bot.play(0)
    bot.play(1, end=4)
    bot.leave_to_the_bot()


def silent_in_line(bot: Bot) -> None:
    bot.play(0)
    bot.connection.sendall(b"MATCHSTATE:1:")
    bot.leave_to_the_bot()


def chatty(bot: Bot) -> None:
    """Comments for ever, never a state: no better than silence."""
    bot.play(0)
    try:
        while True:
            bot.connection.sendall(b"# one moment\r\n")
            time.sleep(0.02)
    except OSError:
        pass


def flooding(bot: Bot) -> None:
    """Comments for ever, as fast as they go."""
    bot.play(0)
    try:
        while True:
            bot.connection.sendall(b"# one moment\r\n" * 5000)
    except OSError:
        pass


def lie(betting: str, *, shown: bool = False) -> Callable[[Bot], None]:
    """Another state than the one that the bot's r200 leads to."""

    def mode(bot: Bot) -> None:
        position = 1
        bot.answered(state(position, 1, ""))
        bot.say(state(position, 1, betting, shown=shown))
        bot.leave_to_the_bot()

    return mode


def without_asking(bot: Bot) -> None:
    """The opponent's turn comes without a wait for the bot's answer."""
    bot.connection.sendall(f"{state(1, 1, '')}\r\n{state(1, 1, 'c')}\r\n".encode())
    bot.leave_to_the_bot()


def next_hand_early(bot: Bot) -> None:
    bot.play(0)
    bot.play(1, end=4)
    bot.say(state(0, 2, ""))
    bot.leave_to_the_bot()


def same_hand_again(bot: Bot) -> None:
    bot.play(0)
    bot.say(state(0, 0, ""))
    bot.leave_to_the_bot()


def says(line: str) -> Callable[[Bot], None]:
    """One finished hand, then that line."""

    def mode(bot: Bot) -> None:
        bot.play(0)
        bot.say(line)
        bot.leave_to_the_bot()

    return mode


def garbage(bot: Bot) -> None:
    bot.play(0)
    bot.connection.sendall(bytes(range(255, -1, -1)) * 8 + b"\r\n")
    bot.leave_to_the_bot()


def no_newline(bot: Bot) -> None:
    bot.play(0)
    sent = 0
    try:
        while sent < BYTES_WITHOUT_NEWLINE:
            sent += bot.connection.send(b"x" * 65536)
        bot.leave_to_the_bot()
    except OSError:
        pass


def dies_in_line(bot: Bot) -> None:
    bot.play(0)
    bot.play(1, end=4)
    bot.connection.sendall(b"MATCHSTATE:1:1:cc/cc")


def dies_in_line_between_hands(bot: Bot) -> None:
    bot.play(0)
    bot.connection.sendall(b"MATCHST")


def dies_in_hand(bot: Bot) -> None:
    bot.play(0)
    bot.play(1)
    bot.play(2, end=6)


def vanishes_without_fin(bot: Bot) -> None:
    """In a hand, as a machine that loses its power: nothing is said, the connection is not even closed."""
    bot.play(0)
    bot.play(1, end=4)
    time.sleep(0.2)  # all has been acknowledged: nothing is on its way that could meet a closed connection
    try:
        bot.connection.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)  # a close then tells nobody
    except PermissionError:
        os.kill(os.getpid(), signal.SIGSTOP)  # the kernel goes on for us, but says nothing either
    bot.connection.close()


def floods_with_hands(bot: Bot) -> None:
    """Hands in which nobody asks us anything, as fast as they go, for a while."""
    bot.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    until, hand = time.monotonic() + 1.5, 0
    while time.monotonic() < until:
        lines = [f"{state(0, number, '')}\r\n{state(0, number, 'f')}\r\n" for number in range(hand, hand + 100)]
        bot.connection.sendall("".join(lines).encode())
        hand += 100


def never_reads(bot: Bot) -> None:
    """Plays whole hands with a bot that always raises, as if it knew that, and reads none of its answers."""
    betting, raises = "", (f"r{to}" for to in range(200, 20_000, 100))
    bettings = [betting]
    for count in (60, 59, 59):  # long lines: as many raises as a street may have, the last by the bot, who acts first
        bettings += [betting := betting + next(raises) for _ in range(count)]
        bettings.append(betting := betting + "c/")
    bettings += [betting + (bet := next(raises)), betting + bet + "f"]
    try:
        for hand in range(2000):
            bot.connection.sendall("".join(f"{state(0, hand, betting)}\r\n" for betting in bettings).encode())
    except OSError:
        pass


def vanishes_asked(bot: Bot) -> None:
    """On the flop, while the bot thinks."""
    action = bot.answered(state(0, 0, "c"))
    if action != "c":
        bot.say(state(0, 0, f"c{action}"))
    bot.say(state(0, 0, "cc/" if action == "c" else f"c{action}c/"))
    time.sleep(1.0)


def dies_after_version(bot: Bot) -> None:
    pass


def resets(bot: Bot) -> None:
    """The connection breaks between two hands: not how a match ends."""
    bot.play(0)
    bot.say("# time for the hand to be read")
    time.sleep(0.1)
    bot.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def resumes(bot: Bot) -> None:
    """A match that goes on in the middle of hand 7, on the turn, with the bot's two earlier actions behind it."""
    bot.play(7, begin=4)
    bot.play(8)


def resumes_unasked(bot: Bot) -> None:
    """The bot's r200 was the last action before the break; now the opponent folds, and the bot is not asked again."""
    bot.say(state(1, 3, "r200"))
    bot.say(state(1, 3, "r200f"))


MODES: dict[str, Callable[[Bot], None]] = {
    "good": good,
    "slow": slow,
    "byte_by_byte": byte_by_byte,
    "packed": packed,
    "comments": comments,
    "silent": silent,
    "silent_in_hand": silent_in_hand,
    "silent_in_line": silent_in_line,
    "chatty": chatty,
    "flooding": flooding,
    "lies_size": lie("r300"),
    "lies_call": lie("c"),
    "lies_fold": lie("f"),
    "lies_shove": lie("r20000"),
    "lies_and_acts": lie("r300c/"),
    "without_asking": without_asking,
    "next_hand_early": next_hand_early,
    "same_hand_again": same_hand_again,
    "higher_stacks": says("MATCHSTATE:1:1:r30000:|AhKd"),
    "smaller_raise": says("MATCHSTATE:0:1:r150:AhKd|"),
    "limit_game": says("MATCHSTATE:0:1:r:AhKd|"),
    "three_players": says("MATCHSTATE:0:1::AhKd||"),
    "third_position": says("MATCHSTATE:2:1::|AhKd"),
    "three_hole_cards": says("MATCHSTATE:1:1::|AhKdQs"),
    "cards_twice": says("MATCHSTATE:1:1::|AhAh"),
    "opponents_cards": says("MATCHSTATE:1:1::7c2s|AhKd"),
    "error_text": says("ERROR: go away"),
    "nothing": says(""),
    "garbage": garbage,
    "no_newline": no_newline,
    "dies_in_line": dies_in_line,
    "dies_in_line_between_hands": dies_in_line_between_hands,
    "dies_in_hand": dies_in_hand,
    "vanishes_asked": vanishes_asked,
    "vanishes_without_fin": vanishes_without_fin,
    "floods_with_hands": floods_with_hands,
    "never_reads": never_reads,
    "dies_after_version": dies_after_version,
    "resets": resets,
    "resumes": resumes,
    "resumes_unasked": resumes_unasked,
}


def main() -> None:
    mode = MODES[sys.argv[1]]
    with socket.create_server(("127.0.0.1", 0)) as server:
        if mode is never_reads:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # less for kernels to hold
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
    with connection:
        bot = Bot(connection)
        if bot.hear() != "VERSION:2.0.0":
            sys.exit("the bot did not send its version first")
        mode(bot)


if __name__ == "__main__":
    main()
