"""`paratus ctl COMMAND`: tell a running server what to do. Metrics are printed as text, other answers as JSON."""

from __future__ import annotations

import argparse
import json
import socket
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from bot.serve.config import ControlSection, load_serve_config
from machine.errors import ConfigError, ParatusError, quote
from protocol.errors import DeadlineExceeded, Disconnected

_LOOPBACK: Final = "127.0.0.1"
_PATIENCE_S: Final = 30.0
_MOST_BYTES: Final = 1 << 24


class RequestRefused(ParatusError):
    """The server says no."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How to find the server, and what to say."""
    parser.description = "Tell a running `paratus serve` what to do."
    parser.add_argument("--config", metavar="FILE", type=Path, help="the server's settings, for [control]")
    parser.add_argument("--socket", metavar="PATH", help="its control socket (default: as in its settings)")
    commands = parser.add_subparsers(dest="do", metavar="COMMAND", required=True)
    join = commands.add_parser("join", help="join a dealer's table")
    join.add_argument("host", metavar="HOST", help="the dealer's address")
    join.add_argument("port", metavar="PORT", type=int, help="the port of this seat")
    join.add_argument("--name", help="name of the match: of its store's file and in the log")
    join.add_argument("--agent", help="who plays")
    join.add_argument("--think", dest="think_s", metavar="S", type=float, help="how long a hand may take on average")
    join.add_argument("--game", help="a .game file or shipped definition, as the server finds it")
    join.add_argument("--seed", metavar="S", type=int, help="seed of every random draw")
    join.add_argument("--hands", metavar="N", type=int, help="hands of the match, if known")
    join.add_argument("--resume", action="store_true", default=None, help="go on in an interrupted match's store")
    commands.add_parser("list", help="all matches")
    drain = commands.add_parser("drain", help="leave a match, or all, after the current hand")
    drain.add_argument("match", metavar="MATCH", nargs="?", help="its name (default: all matches)")
    commands.add_parser("stop", help="drain all matches, then end")
    commands.add_parser("health", help="whether the server is fit to play")
    commands.add_parser("metrics", help="counts and latencies, as Prometheus text")


def run_command(options: argparse.Namespace) -> int:
    """Ask and print; 0 if the server did it."""
    control = load_serve_config(options.config).control
    if options.socket:
        control = control.model_copy(update={"socket": options.socket, "port": 0})
    request: dict[str, Any] = {"do": options.do}
    if options.do == "join":
        keys = ("host", "port", "name", "agent", "think_s", "game", "seed", "hands", "resume")
        given = {key: getattr(options, key) for key in keys}
        request["match"] = {key: value for key, value in given.items() if value is not None}
    elif options.do == "drain" and options.match is not None:
        request["match"] = options.match
    reply = ask(control, request)
    if not reply.pop("ok", False):
        raise RequestRefused(f"refused: {reply.get('error', 'no reason given')}")
    if options.do == "metrics":
        sys.stdout.write(str(reply["text"]))
    else:
        print(json.dumps(reply, indent=2))
    return 0


def ask(control: ControlSection, request: dict[str, Any]) -> dict[str, Any]:
    """A request's answer."""
    token = control.token()
    line = json.dumps({**request, **({"token": token} if token else {})}).encode() + b"\n"
    where = f"{_LOOPBACK}:{control.port}" if control.port else str(control.path)
    kind = socket.AF_INET if control.port else socket.AF_UNIX
    with closing(socket.socket(kind, socket.SOCK_STREAM)) as connection:
        connection.settimeout(_PATIENCE_S)
        try:
            connection.connect((_LOOPBACK, control.port) if control.port else where)
            connection.sendall(line)
            with connection.makefile("rb") as file:
                answer = file.readline(_MOST_BYTES)
        except (BrokenPipeError, ConnectionResetError):  # closed before it had read the request
            answer = b""
        except TimeoutError:
            raise DeadlineExceeded(f"{where}: the server did not answer within {_PATIENCE_S:g} s") from None
        except OSError as error:
            raise Disconnected(f"{where}: {error.strerror or error}: expected a running `paratus serve`") from None
    if not answer:
        raise Disconnected(f"{where}: the server closed the connection: expected an answer (too many connections?)")
    try:
        reply = json.loads(answer)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise ConfigError(f"{where}: {quote(answer)}: expected the answer of `paratus serve`")
    return reply
