"""What keeping the record costs: one transaction a hand against one for every decision and hand, and a lock."""

from __future__ import annotations

import json
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, Position, load_game
from protocol.state import CALL, FOLD, apply, payoffs, replay, start
from protocol.wire import MatchState, view
from strategies.policy import Origin, alike
from strategies.store import MatchStore

_HANDS = 2000
_RUNS = 5


def run() -> dict[str, object]:
    """Microseconds a hand with four decisions of a baseline, medians of several runs."""
    a_hand, a_decision = [], []
    for _ in range(_RUNS):
        a_hand.append(_hand_us(flush_each_decision=False))
        a_decision.append(_hand_us(flush_each_decision=True))
    return {
        "one_transaction_a_hand_us": round(statistics.median(a_hand), 1),
        "one_transaction_a_decision_us": round(statistics.median(a_decision), 1),
        "flush_while_locked_ms": round(1e3 * _locked_s(), 1),
    }


def _locked_s() -> float:
    """What a match waits when somebody else is writing to the file: the hand stays in memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "match.sqlite"
        game = load_game(DEFAULT_GAME).game
        store = MatchStore(path, game, "benchmark", {})
        state = replay(game, [FOLD])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            store.add_hand(MatchState(Position(0), 0, state, view(state, CardStream(game, 1).deal(), 0)), 50.0)
            begun = time.perf_counter()
            store.flush()
            seconds = time.perf_counter() - begun
        store.close()
    return seconds


def _hand_us(*, flush_each_decision: bool) -> float:
    game = load_game(DEFAULT_GAME).game
    stream, policy = CardStream(game, 1), alike((CALL,), (1.0,), Origin("benchmark"))
    hands = []
    for number in range(_HANDS):
        deal, state = stream.deal(), start(game)
        states = [state]
        while not state.finished:
            state = apply(state, CALL)
            states.append(state)
        hands.append([MatchState(Position(0), number, state, view(state, deal, 0)) for state in states])
    with tempfile.TemporaryDirectory() as folder:
        store = MatchStore(Path(folder) / "match.sqlite", game, "benchmark", {})
        begun = time.perf_counter()
        for seen in hands:
            for asked in seen[:-1]:
                if asked.acting:
                    store.add_decision(asked, policy, CALL, 0.001)
                    if flush_each_decision:
                        store.flush()
            store.add_hand(seen[-1], payoffs(seen[-1].state, seen[-1].deal)[0])
            store.flush()
        seconds = time.perf_counter() - begun
        store.close()
    return seconds / _HANDS * 1e6


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
