"""Who plays: the strategies as sessions of the server see them.

An agent that says it is `inline` and needs well under a millisecond, measured here on boards of every street, plays on
the event loop: one object for all its matches, over one memory map. Every other plays in the workers; sessions see it
as a `Distant`, whose `policy` waits (in the session's own thread) for a worker, and whose `spare` is at once: the
blueprint's answer where the agent has a blueprint, else that of what it plays before it searches, else check or fold.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from bot.config import BotConfig
from bot.serve.frames import Data, read_policy, spot_data
from bot.serve.pool import Pool
from protocol.game import Game, game_text
from protocol.hands import hands_of
from protocol.state import CALL, apply, start
from strategies.baselines import check_or_fold
from strategies.draws import Draws
from strategies.policy import FALLBACK, Policy, check_policy
from strategies.registry import check_agent, make_strategy
from strategies.settings import StrategySettings
from strategies.strategy import Budget, Spot, Strategy

QUICK_S: Final = 0.001
"""What takes less, at the median, plays on the loop."""
_PROBES: Final = 9
_OVER_A_BLUEPRINT: Final = ("blueprint", "limited", "paratus")
_GRACE_S: Final = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """An agent for a game."""

    agent: str
    game: Game
    settings: StrategySettings
    here: Strategy | None
    """What plays on the loop; None: workers do."""
    spare: Strategy | None

    def seat(self) -> Data:
        """What a worker needs to know to play it."""
        return {
            "agent": self.agent,
            "game": game_text(self.game),
            "name": self.game.name,
            "settings": self.settings.model_dump(mode="json"),
        }


class Agents:
    """Opens each agent once. `open` may take long: not for the loop; all else is."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, str, str], Opened] = {}
        self._made: dict[tuple[str, str, str], Strategy] = {}
        self._one_at_a_time = threading.Lock()

    def open(self, config: BotConfig, game: Game) -> Opened:
        """The agent of a match; raises `ConfigError` if it cannot play."""
        agent, settings = config.bot.agent, config.strategies.one_thread()
        key = (agent, game_text(game), settings.model_dump_json())
        with self._one_at_a_time:
            if key not in self._opened:
                with _kept():
                    self._opened[key] = self._open(agent, game, settings)
            return self._opened[key]

    def _open(self, agent: str, game: Game, settings: StrategySettings) -> Opened:
        check_agent(agent, game, settings)
        if agent not in ("limited", "nested", "paratus"):
            strategy = self._make(agent, game, settings)
            took_s = usual_time(strategy, game) if strategy.inline else QUICK_S
            if took_s < QUICK_S:
                return Opened(agent, game, settings, strategy, None)
            _log.warning("agent %s takes %.1f ms a decision: it plays in the workers", agent, 1e3 * took_s)
        return Opened(agent, game, settings, None, self._spare(agent, game, settings))

    def _spare(self, agent: str, game: Game, settings: StrategySettings) -> Strategy | None:
        name = settings.nested.base if agent == "nested" else agent
        if name in _OVER_A_BLUEPRINT:
            return self._make("blueprint", game, settings)
        spare = self._make(name, game, settings)
        return spare if spare.inline else None

    def _make(self, agent: str, game: Game, settings: StrategySettings) -> Strategy:
        key = (agent, game_text(game), settings.blueprint.model_dump_json())
        if key not in self._made:
            self._made[key] = make_strategy(agent, game, settings)
        return self._made[key]


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

    inline = False

    def __init__(self, opened: Opened, match: str, pool: Pool, identity: Data) -> None:
        """To be made on the loop."""
        self.name = opened.agent
        self._opened, self._match, self._pool, self._identity = opened, match, pool, identity
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

    def spare(self, spot: Spot, draws: Draws) -> Policy:
        """At once."""
        if self._opened.spare is None:
            return check_or_fold(spot.state, "nothing in reserve")
        policy = self._opened.spare.policy(spot, Budget(0.0, 0.0), draws)
        if policy.origin.is_fallback:
            return policy
        return replace(policy, origin=replace(policy.origin, route=f"{FALLBACK}/{policy.origin.route}"))
