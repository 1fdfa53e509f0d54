"""The folder of a sitting: complete after every hand, whatever ends it.

    match.game     the rules
    match.log      the hands as a dealer logs them, written anew after each: its header and score are always right
    AGENT.sqlite   the agent's match store, with its policies

A hand is in it when it is over. One that somebody leaves in its middle is not, nor are the decisions that it saw.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dealer_tools.formats.reading import write_text
from dealer_tools.formats.records import PlayedHand
from machine.errors import ConfigError
from protocol.game import Position, game_text
from protocol.log import HandRecord, Limits, MatchHeader, MatchScore, score_line, state_line
from protocol.state import Action, action_text
from protocol.wire import MatchState, deal_text, view
from strategies.agents import Agent
from strategies.identity import DrawKey, stored_identity
from strategies.policy import Policy
from strategies.store import MatchStore, StoredDecision

MATCH = "match"


@dataclass(frozen=True, slots=True, eq=False)
class AgentDecision:
    """One of the agent's."""

    asked: MatchState
    policy: Policy
    action: Action
    seconds: float


class SittingRecord:
    """What was played, on disk."""

    def __init__(self, folder: Path, agent: Agent, person: str, key: DrawKey) -> None:
        """The person has the first seat."""
        self._made = _make_empty(folder)
        game, names = agent.game, (person, agent.name)
        self.path = folder / f"{MATCH}.log"
        self._names, self._seed = names, key.seed
        self._lines: list[str] = []
        self._totals = [0.0, 0.0]
        write_text(folder / f"{MATCH}.game", game_text(game))
        identity = stored_identity(agent.identity(), key)
        self._store = MatchStore(folder / f"{agent.name}.sqlite", game, agent.name, identity)

    @property
    def hands(self) -> int:
        """So many are in it."""
        return len(self._lines)

    def add(self, record: HandRecord, decisions: Sequence[AgentDecision]) -> PlayedHand:
        """Keep a finished hand; returns it as scoring sees it."""
        agent = self._names[1]
        position = Position(record.names.index(agent))
        for each in decisions:
            self._store.add_decision(each.asked, each.policy, each.action, each.seconds)
        seen = MatchState(position, record.hand, record.state, view(record.state, record.deal, position))
        self._store.add_hand(seen, record.values[position])
        self._store.flush()
        self._lines.append(state_line(record))
        for seat, name in enumerate(self._names):
            self._totals[seat] += record.values[record.names.index(name)]
        self._write()
        stored = {each.asked.state.betting: _stored(each) for each in decisions}
        return PlayedHand(f"{self.path}: hand {record.hand}", record, {agent: stored})

    def _write(self) -> None:
        header = MatchHeader(MATCH, f"{MATCH}.game", self.hands, self._seed, Limits())
        score = MatchScore((self._totals[0], self._totals[1]), self._names)
        write_text(self.path, "\n".join([*header.lines(), *self._lines, score_line(score), ""]))

    def close(self) -> None:
        """No more hands; a folder without any is left as it was found."""
        self._store.close()
        if self._lines:
            self._write()  # once more: the last time may have been interrupted
            return
        for path in (self.path.with_suffix(".game"), self._store.path):
            path.unlink(missing_ok=True)
        if self._made:
            with contextlib.suppress(OSError):
                self.path.parent.rmdir()


def _stored(decision: AgentDecision) -> StoredDecision:
    """As the store will give it back."""
    asked = decision.asked
    board = deal_text(asked.state, asked.deal._replace(hole=()))
    done = action_text(decision.action, asked.state.game)
    return StoredDecision(asked.hand, asked.state.betting, board, done, decision.seconds, decision.policy)


def _make_empty(folder: Path) -> bool:
    """True if it had to be made."""
    known = folder.is_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        full = any(folder.iterdir())
    except OSError as error:
        raise ConfigError(f"--out {folder}: {error.strerror}: expected a folder that can be made") from None
    if full:
        raise ConfigError(f"--out {folder}: is not empty: expected a new or an empty folder")
    return not known
