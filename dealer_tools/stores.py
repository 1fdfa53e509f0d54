"""Match stores made complete from the log.

A process may be killed when the last state of a hand is on its way to a bot. For the dealer that hand is over, and it
will not send it again when the match resumes; for the bot it never ended. The log has it, so it is added from there.

So are its decisions. An agent that thinks writes each down before it answers; one that answers at once has them in
memory until the hand is over, but makes the same again: its draws are keyed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dealer_tools.plan import MatchPlan
from dealer_tools.results import MatchError
from protocol.game import Game, Position
from protocol.log import HandRecord, LogError, parse_state_line
from protocol.wire import MatchState, view
from strategies.chair import Chair
from strategies.identity import stored_key
from strategies.registry import open_agent
from strategies.store import MatchStore, StoreReader
from strategies.strategy import Budget


def complete_store(path: Path, log: Path, plan: MatchPlan, player: str) -> int:
    """Add the finished hands of `log` that the store of `player` lacks; returns how many these were.

    Who that is says the plan: a store is no reason to run code.
    """
    reader = StoreReader(path)
    try:
        match = reader.matches()[-1]
        name, identity = reader.identity(match)
        held = {hand.hand for hand in reader.hands(match)}
    finally:
        reader.close()
    if len(held) == plan.hands:
        return 0
    missing = [record for record in _records(log, plan.game) if record.hand not in held]
    if not missing:
        return 0
    agent = open_agent(plan.agent(player), plan.game, plan.settings(player), allow_code=True)
    chair = Chair(agent, stored_key(identity))
    store = MatchStore(path, plan.game, name, identity, resume=True)
    try:
        for record in missing:
            position = Position(record.names.index(player))
            seen = MatchState(position, record.hand, record.state, view(record.state, record.deal, position))
            for past in chair.catch_up(seen, _NO_TIME, {}):
                if past.policy.likelihood(past.action).any():  # else it was replaced when it was made
                    store.add_decision(past.asked, past.policy, past.action, 0.0, again=True)
            store.add_hand(seen, record.values[position])
    finally:
        store.close()
    return len(missing)


_NO_TIME: Final = Budget(0.0, 0.0)
"""Whoever decides again does so at once."""


def _records(log: Path, game: Game) -> list[HandRecord]:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        return [parse_state_line(line, game) for line in lines if line.startswith("STATE")]
    except LogError as error:
        raise MatchError(f"{log}: {error}") from None
