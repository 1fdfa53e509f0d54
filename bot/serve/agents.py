"""Who plays: the strategies as sessions of the server see them.

An agent whose spec puts it on the loop, and that needs well under a millisecond, measured here on boards of every
street, plays on the event loop: one object for all its matches, over one memory map. Every other plays in the workers;
sessions see it with a `Distant` strategy, whose `policy` waits (in the session's own thread) for a worker. What answers
in its place is here, and answers at once.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from bot.config import BotConfig
from bot.serve.frames import Data, read_policy, spot_data
from bot.serve.pool import Pool
from protocol.game import Game, game_text
from protocol.hands import hands_of
from protocol.state import CALL, apply, start
from strategies.agents import Agent, AgentSpec
from strategies.draws import Draws
from strategies.policy import Policy, check_policy
from strategies.registry import find_agent, opener
from strategies.settings import StrategySettings
from strategies.strategy import Budget, Spot, Strategy

QUICK_S: Final = 0.001
"""What takes less, at the median, plays on the loop."""
_PROBES: Final = 9
_GRACE_S: Final = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """An agent for a game, as the server plays it."""

    name: str
    spec: AgentSpec
    game: Game
    settings: StrategySettings
    here: Agent | None
    """What plays on the loop; None: workers do."""
    late: Strategy | None
    """What answers at once in place of a worker."""

    def seat(self) -> Data:
        """What a worker needs to know to play it."""
        return {
            "agent": self.name,
            "game": game_text(self.game),
            "name": self.game.name,
            "settings": self.settings.model_dump(mode="json"),
        }

    def away(self, strategy: Strategy) -> Agent:
        """The agent of a match that workers play."""
        return Agent(self.spec, self.game, strategy, on_loop=False, late=self.late)


class OpenAgents:
    """Opens each agent once. `open` may take long: not for the loop; all else is."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, str, str], Opened] = {}
        self._agents = opener(allow_code=True)
        self._one_at_a_time = threading.Lock()

    def open(self, config: BotConfig, game: Game) -> Opened:
        """The agent of a match; raises `ConfigError` if it cannot play."""
        name, settings = config.bot.agent, config.strategies.one_thread()
        key = (name, game_text(game), settings.model_dump_json())
        with self._one_at_a_time:
            if key not in self._opened:
                with _kept():
                    self._opened[key] = self._open(name, game, settings)
            return self._opened[key]

    def _open(self, name: str, game: Game, settings: StrategySettings) -> Opened:
        spec, agents = find_agent(name, allow_code=True), self._agents
        spec.check(game, settings)
        if not spec.on_loop:
            return Opened(name, spec, game, settings, None, agents.late(name, game, settings))
        agent = agents.open(name, game, settings)
        try:
            took_s = usual_time(agent.strategy, game)
        except Exception as error:  # of code of the user's: its matches fall back, decision by decision
            _log.warning("agent %s: %s", name, agent.failure(error))
            return Opened(name, spec, game, settings, None, None)
        if took_s < QUICK_S:
            return Opened(name, spec, game, settings, agent, None)
        _log.warning("agent %s takes %.1f ms a decision: it plays in the workers", name, 1e3 * took_s)
        return Opened(name, spec, game, settings, None, agent.strategy)


@contextmanager
def _kept() -> Iterator[None]:
    """What is made within stays for good: the collector looks for garbage neither meanwhile nor ever among it.

    To look through all that an agent's imports and tables make would hold up the loop for tens of milliseconds.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def usual_time(strategy: Strategy, game: Game) -> float:
    """Seconds of computing that a decision takes, the median of the slowest street. It also fills caches."""
    slowest_s, state, deck = 0.0, start(game), list(game.deck())
    while state.actor is not None:
        took = []
        for probe in range(_PROBES):
            cards = deck[probe:] + deck[:probe]
            board = tuple(cards[:: max(len(deck) // 6, 1)][: game.board_cards_by(state.street)])
            spot = Spot(probe, state.actor, state, board, ())
            begun_s = time.thread_time()
            policy = strategy.policy(spot, Budget(0.0, 0.0), Draws(0, "", probe, 0, "probe"))
            check_policy(policy, state, spot.board)
            policy.sample(hands_of(game).column(cards[-game.num_hole_cards :]), Draws(0, "", probe, 0, "probe"))
            took.append(time.thread_time() - begun_s)
        slowest_s = max(slowest_s, sorted(took)[_PROBES // 2])
        street = state.street
        while state.actor is not None and state.street == street:
            state = apply(state, CALL)
    return slowest_s


class Distant:
    """A strategy that workers play, for one match."""

    def __init__(self, name: str, match: str, pool: Pool, identity: Data) -> None:
        """To be made on the loop."""
        self.name = name
        self._match, self._pool, self._identity = match, pool, identity
        self._loop = asyncio.get_running_loop()

    def identity(self) -> dict[str, str]:
        """As the worker says."""
        return {str(key): str(value) for key, value in self._identity.items()}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        """A worker's; raises when there is none in time. Not for the loop."""
        data, blob = spot_data(spot, draws)
        thinking = self._pool.think(self._match, data, blob, budget)
        try:
            answer = asyncio.run_coroutine_threadsafe(thinking, self._loop)
        except RuntimeError:  # the loop is closed
            thinking.close()
            raise
        return read_policy(*answer.result(max(budget.left_s, 0.0) + _GRACE_S))
