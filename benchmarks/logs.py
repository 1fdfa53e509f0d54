"""Files of played hands, read and written. How often hands repeat betting that was met before decides about logs: so
two kinds, one of bets in a few shares of the pot, as bots play, and one of any size, as nobody does."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from dealer_tools.formats import acpc, phh, slumbot
from dealer_tools.formats.records import PlayedHand, RecordedSession
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, Game, load_game
from protocol.log import HandRecord
from protocol.state import CALL, FOLD, Action, Raise, State, apply, can_fold, payoffs, raise_bounds, start

_LOG_HANDS = 100_000
_OTHER_HANDS = 2_000
_RUNS = 3
_NAMES = ("paratus", "slumbot")
_SHARES = (0.33, 0.5, 0.75, 1, 1.5)


def run() -> dict[str, object]:
    """Medians of several runs, in CPU time of this one thread; a log of 100,000 hands in seconds."""
    game, report = load_game(DEFAULT_GAME).game, dict[str, object]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hands"
        for kind, size in (("menu", _menu), ("any_size", _any_size)):
            acpc.write_log(path, _session(game, _LOG_HANDS, size))
            seconds = [_cpu_s(lambda: acpc.read_log(path)) for _ in range(_RUNS)]
            report[f"acpc_100000_hands_{kind}_s"] = round(statistics.median(seconds), 2)
        session = _session(game, _OTHER_HANDS, _menu)
        for name, write, read in (
            ("acpc", acpc.write_log, acpc.read_log),
            ("slumbot", slumbot.write_session, slumbot.read_session),
            ("phh", phh.write_session, phh.read_sessions),
        ):
            writing = [_cpu_s(lambda write=write: write(path, session)) for _ in range(_RUNS)]
            reading = [_cpu_s(lambda read=read: read(path)) for _ in range(_RUNS)]
            report[f"{name}_write_us"] = round(statistics.median(writing) / _OTHER_HANDS * 1e6, 1)
            report[f"{name}_read_us"] = round(statistics.median(reading) / _OTHER_HANDS * 1e6, 1)
    return report


def _cpu_s(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _session(game: Game, hands: int, size: Callable[[Random, State, int, int], int]) -> RecordedSession:
    rng, stream, played = Random(1), CardStream(game, 1), []
    for hand in range(hands):
        deal, state = stream.deal(), start(game)
        while not state.finished:
            state = apply(state, _action(rng, state, size))
        seen = deal._replace(board=deal.board[: game.board_cards_by(state.street)])
        names = _NAMES if hand % 2 == 0 else _NAMES[::-1]
        played.append(PlayedHand(f"hand {hand}", HandRecord(hand, state, seen, payoffs(state, deal), names)))
    return RecordedSession("benchmark", game, _NAMES, tuple(played))


def _action(rng: Random, state: State, size: Callable[[Random, State, int, int], int]) -> Action:
    draw = rng.random()
    if draw < 0.2 and can_fold(state):
        return FOLD
    bounds = raise_bounds(state) if draw > 0.6 else None
    return CALL if bounds is None else Raise(size(rng, state, bounds.low, bounds.high))


def _menu(rng: Random, state: State, low: int, high: int) -> int:
    if rng.random() < 0.05:
        return high
    to = state.maximum + int((state.pot + state.owed) * rng.choice(_SHARES))
    return max(low, min(high, to))


def _any_size(rng: Random, state: State, low: int, high: int) -> int:
    return rng.randint(low, min(high, 3 * low))


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
