"""How long a user waits: imports, the command line, and a bot's first answer."""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import time

_RUNS = 7
_COMMANDS = ("bot.play", "bot.solve.command", "dealer_tools.deal", "dealer_tools.match")
_FIRST_STATE = b"MATCHSTATE:1:0::|9hQd\r\n"


def run() -> dict[str, object]:
    """Seconds, medians of several starts."""
    bare = _seconds(["-c", "pass"])
    return {
        "import_protocol_s": round(_seconds(["-c", "import protocol"]) - bare, 4),
        "import_protocol_target_s": 0.2,
        **{f"import_{module}_s": round(_seconds(["-c", f"import {module}"]) - bare, 4) for module in _COMMANDS},
        "import_commands_target_s": 1.0,
        "help_s": round(_seconds(["-m", "bot.cli", "--help"]), 4),
        "help_target_s": 1.0,
        "botfirst_answer_s": round(statistics.median(first_answer_s("always-call") for _ in range(_RUNS)), 4),
        "bot_first_answer_target_s": 2.0,
        "kernels_warm_s": round(_seconds(["-c", "from bot.warm import warm_up; warm_up()"]) - bare, 4),
    }


def _seconds(arguments: list[str]) -> float:
    def once() -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begun

    return statistics.median(once() for _ in range(_RUNS))


def first_answer_s(agent: str) -> float:
    """From starting the process to its answer to the first state, which is sent as soon as it connects."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        begun = time.perf_counter()
        port = str(listener.getsockname()[1])
        bot = subprocess.Popen(
            [sys.executable, "-m", "bot.cli", "bot", "127.0.0.1", port, "--agent", agent, "--no-store"],
            stderr=subprocess.DEVNULL,
        )
        listener.settimeout(60)  # for a bot that ends before it connects
        connection, _ = listener.accept()
        with connection:
            connection.sendall(_FIRST_STATE)
            received = b""
            while received.count(b"\n") < 2:
                received += connection.recv(4096)
            seconds = time.perf_counter() - begun
    bot.wait()
    return seconds


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
