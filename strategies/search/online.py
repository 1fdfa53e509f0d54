"""What every search is: a strategy that solves something when it is asked, and remembers it for the hand.

A search says what to solve, why, and what follows from that. The modules beside this one are what searches share:

    memory     what was solved at the hand's decisions, or solving it again from the log
    ranges     both players' hands so far
    actions    menus with the sizes that were played
    stopping   how long to solve
    answer     from what was solved to a policy

On streets that a search does not solve its *base* decides, another strategy, by which the opponent is taken to play
there, too.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Container
from typing import Generic, Self, TypeVar

from protocol.game import Game
from strategies.draws import Draws
from strategies.policy import Policy, check_or_fold
from strategies.requirements import check_searchable
from strategies.search.memory import Known, Memory
from strategies.search.settings import SearchSettings
from strategies.strategy import Budget, Spot, Strategy

Settings = TypeVar("Settings", bound=SearchSettings)


class OnlineSearch(ABC, Generic[Settings, Known]):
    """A strategy, but for what it solves."""

    name: str
    route: str
    """What its policies are logged with."""
    solved_streets: Container[int]

    def __init__(self, game: Game, settings: Settings, base: Strategy) -> None:
        check_searchable(self.name, game)
        self._game, self._settings, self._base = game, settings, base
        self._memory = Memory[Known](self.route)

    def identity(self) -> dict[str, str]:
        base = {f"base {key}": value for key, value in self._base.identity().items()}
        return {"kind": self.route, "settings": self._settings.model_dump_json(), **base}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        if spot.state.street not in self.solved_streets:
            return self._base.policy(spot, budget, draws)
        found = self.search(spot, budget, draws)
        return check_or_fold(spot.state, found) if isinstance(found, str) else found

    @abstractmethod
    def search(self, spot: Spot, budget: Budget, draws: Draws) -> Policy | str:
        """The policy by a search, or why there is none."""

    def _without_hands(self) -> Self:
        """For another match: it shares all but what is known of hands."""
        made = copy.copy(self)
        made._memory = Memory(self.route)
        return made
