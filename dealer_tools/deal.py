"""`paratus deal`: the dealer, used as the reference dealer is.

Same arguments, same first and last line on stdout, same files, same messages on stderr. Different on purpose: it binds
to loopback unless told otherwise, a client that connects and stays silent times out, a failure ends with one line that
says why, and `-T -a` also mends the log: it is rewritten from the transactions, so that a resumed match leaves the log
of an uninterrupted one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

from dealer_tools.table import Files, Table
from machine.errors import ConfigError, ParatusError, quote
from machine.files import write_whole
from protocol.dealer import Dealer
from protocol.errors import DeadlineExceeded
from protocol.game import load_game
from protocol.log import MAX_HANDS, MAX_SEED, HandRecord, Limits, MatchHeader, score_line, state_line
from protocol.stream import LineStream, SeatListener, run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the reference dealer, and --bind and --version_timeout."""
    limits = Limits()
    parser.description = "Deal a match. Prints the ports to connect to, in seat order, and at the end the score."
    parser.add_argument(
        "name", metavar="NAME", help="name of the match, without blanks: writes NAME.log (and NAME.tlog with -T)"
    )
    parser.add_argument("game", metavar="GAME", help="a .game file or the name of a shipped definition")
    parser.add_argument("hands", metavar="HANDS", type=number_between(1, MAX_HANDS), help="number of hands")
    parser.add_argument("seed", metavar="SEED", type=number_between(0, MAX_SEED), help="seed of the cards")
    parser.add_argument("players", metavar="PLAYER", nargs="+", help="names of the players, in seat order")
    parser.add_argument("-f", dest="fixed", action="store_true", help="fixed seats: positions do not rotate")
    parser.add_argument("-l", dest="log", action="store_false", help="write no log")
    parser.add_argument("-L", dest="log", action="store_true", default=True, help="write NAME.log (default)")
    parser.add_argument(
        "-p", dest="ports", metavar="PORT,PORT", default="", help="ports in seat order (default: free ones)"
    )
    parser.add_argument("-q", dest="quiet", action="store_true", help="only errors, warnings and the score on stderr")
    parser.add_argument(
        "-t", dest="transactions", action="store_false", default=False, help="no transaction log (default)"
    )
    parser.add_argument(
        "-T", dest="transactions", action="store_true", help="write NAME.tlog, enough to resume the match"
    )
    parser.add_argument("-a", dest="append", action="store_true", help="append to the files; with -T: resume the match")
    for option, default, what in (
        ("--t_response", limits.response_ms, "a response"),
        ("--t_hand", limits.hand_ms, "a player's thinking in a hand"),
        ("--t_per_hand", limits.per_hand_ms, "the mean of a player's thinking a hand"),
    ):
        parser.add_argument(
            option,
            metavar="MS",
            type=number_between(1, 10**12),
            default=default,
            help=f"limit on {what}, ms (default {default})",
        )
    parser.add_argument(
        "--start_timeout",
        metavar="MS",
        type=number_between(-(10**9), 10**9),
        default=-1,
        help="wait for connections, ms; <0: no limit",
    )
    parser.add_argument(
        "--version_timeout", metavar="MS", type=number_between(1, 10**9), default=10_000,
        help="wait for the version line of a client that has connected, ms (default 10000)",
    )  # fmt: skip
    parser.add_argument(
        "--bind", metavar="ADDRESS", default="127.0.0.1", help="address to listen on (default: loopback)"
    )


def number_between(low: int, high: int) -> Callable[[str], int]:
    """An argparse type: a whole number within bounds."""

    def parse(text: str) -> int:
        digits = text.removeprefix("-") if low < 0 else text
        if not (digits.isascii() and digits.isdigit()) or not low <= int(text[:20]) <= high:
            raise argparse.ArgumentTypeError(f"{quote(text)}: expected a number from {low} to {high}")
        return int(text)

    return parse


def run_command(options: argparse.Namespace) -> int:
    """Deal the match; 0 if it was played to its end."""
    parsed = load_game(options.game)
    for warning in parsed.warnings:
        print(f"WARNING: {warning}", file=sys.stderr)
    limits = Limits(options.t_response, options.t_hand, options.t_per_hand)
    players = tuple(options.players)
    if len(players) != parsed.game.num_players:
        raise ConfigError(
            f"{len(players)} players: {options.game} is played by {parsed.game.num_players}: "
            f"expected `paratus deal NAME GAME HANDS SEED{' PLAYER' * parsed.game.num_players}`"
        )
    try:
        header = MatchHeader(options.name, options.game, options.hands, options.seed, limits)
        dealer = Dealer(parsed.game, header, players, fixed_seats=options.fixed)
    except ParatusError as error:
        raise ConfigError(str(error)) from None
    with contextlib.ExitStack() as opened:
        # First the ports, since opening the files begins a new match in them.
        listeners = _listen(options.bind, _ports(options.ports, len(players)))
        for listener in listeners:
            opened.callback(listener.close)
        files = opened.enter_context(_open_files(options, dealer))
        if dealer.hands_played == header.hands:
            _write_header(dealer, files)
            Table(dealer, (), files, version_timeout_s=0).score()
            print(score_line(dealer.score), flush=True)
            return 0
        if run(_deal(dealer, files, listeners, options)):
            return 0
    print(f"paratus deal: {dealer.reason}", file=sys.stderr)
    return 1


def _ports(text: str, players: int) -> list[int]:
    words = text.split(",") if text else ["0"] * players
    if len(words) != players or not all(word.isascii() and word.isdigit() and int(word[:6]) < 65536 for word in words):
        raise ConfigError(f"-p {quote(text)}: expected {players} ports from 0 to 65535, joined by commas")
    return [int(word) for word in words]


def _reason(error: OSError) -> str:
    """Without what event loops and `socket` add to it."""
    if error.errno is not None and error.errno < 0:  # the resolver's, which `socket` makes a plain OSError
        return "expected an address of this machine"
    return os.strerror(error.errno) if error.errno else error.strerror or str(error)


def _listen(address: str, ports: list[int]) -> list[SeatListener]:
    if not address:  # which would be every address
        raise ConfigError("--bind '': expected an address")
    listeners: list[SeatListener] = []
    try:
        for port in ports:
            listeners.append(SeatListener.open(address, port))
    except UnicodeError:
        problem = f"--bind {quote(address)}: expected an address"
    except OSError as error:
        shown = address if address.isprintable() else quote(address)
        problem = f"cannot listen on {shown}:{port}: {_reason(error)}"
    else:
        return listeners
    for listener in listeners:
        listener.close()
    raise ConfigError(problem)


async def _deal(dealer: Dealer, files: Files, listeners: list[SeatListener], options: argparse.Namespace) -> bool:
    streams: list[LineStream] = []
    try:
        print(*[listener.port for listener in listeners], flush=True)
        _write_header(dealer, files)
        limit_s = options.start_timeout / 1e3
        begun_s = time.monotonic()
        for seat, listener in enumerate(listeners):
            left_s = None if limit_s < 0 else max(begun_s + limit_s - time.monotonic(), 0.0)
            try:
                streams.append(await listener.stream(left_s))
            except DeadlineExceeded:
                dealer.reason = f"seat {seat + 1} ({dealer.names[seat]}) did not connect within {limit_s:.1f} s"
                print(f"ERROR: timed out waiting for seat {seat + 1} to connect", file=sys.stderr)
                return False
    finally:
        for listener in listeners:
            listener.close()
        if len(streams) < len(listeners):
            for stream in streams:
                await stream.close()
    table = Table(dealer, streams, files, version_timeout_s=options.version_timeout / 1e3)
    if not await table.play():
        return False
    print(score_line(dealer.score), flush=True)
    return True


def _write_header(dealer: Dealer, files: Files) -> None:
    header = "".join([line + "\n" for line in dealer.header.lines()]).encode()
    if files.messages is not None:
        files.messages.write(header)
    if files.log is not None and files.log.tell() == 0:
        files.log.write(header)


@contextlib.contextmanager
def _open_files(options: argparse.Namespace, dealer: Dealer) -> Iterator[Files]:
    log_path, transactions_path = Path(f"{options.name}.log"), Path(f"{options.name}.tlog")
    with contextlib.ExitStack() as opened:

        def open_file(path: Path) -> BinaryIO:
            try:
                return opened.enter_context(path.open("ab" if options.append else "wb", buffering=0))
            except OSError as error:
                raise ConfigError(f"{path}: {error.strerror}: expected a file that can be written") from None

        if options.transactions and options.append:
            finished = _resume(dealer, transactions_path)
            if options.log:
                _mend_log(dealer, log_path, finished)
        transactions = open_file(transactions_path) if options.transactions else None
        log = open_file(log_path) if options.log else None
        messages = opened.enter_context(os.fdopen(os.dup(sys.stderr.fileno()), "wb", buffering=0))
        yield Files(messages, log, transactions, options.quiet)


def _resume(dealer: Dealer, path: Path) -> list[HandRecord]:
    """Play a transaction log again; a last line that was cut off by a crash is removed from the file."""
    if not path.exists():
        return []
    try:
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            print(f"NOTE: {path}: the last line is cut off: removed", file=sys.stderr)
            os.truncate(path, len(whole))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    try:
        return dealer.resume(whole.decode("ascii", "replace").splitlines())
    except ParatusError as error:
        raise ConfigError(f"{path}: cannot be resumed: {error}") from None


def _mend_log(dealer: Dealer, path: Path, finished: list[HandRecord]) -> None:
    """Rewrite the log as far as the transactions go; refuse if what is there belongs to something else."""
    lines = [*dealer.header.lines(), *map(state_line, finished)]
    ends = [score_line(dealer.score)] if len(finished) == dealer.header.hands else []
    if path.exists():
        there = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
        for number, (old, new) in enumerate(zip_longest(there, lines + ends), 1):
            if old is not None and old != new:
                expected = "nothing" if new is None else quote(new)
                raise ConfigError(f"{path}:{number}: {quote(old)}: the transactions say {expected}")
    write_whole(path, "".join([line + "\n" for line in lines]))
