"""What the hands of a sitting were worth to the person, with the agent's luck and the cards' taken out.

AIVAT scores whoever's policies are known: the agent. What it wins the person loses, so the person's value is that with
its sign turned. It takes out the luck of the deal, of the board and of the agent's draws; the person's own decisions
stay as they were, good or bad.
"""

from __future__ import annotations

from dealer_tools.formats.records import PlayedHand
from dealer_tools.results import Estimate
from dealer_tools.scoring.aivat import Aivat, Parts
from dealer_tools.scoring.holdings import Holdings, ScoreError
from dealer_tools.scoring.valuing import values_at_once
from protocol.game import Game


class Worth:
    """Of each hand, and of all so far; to the person, in thousandths of a big blind."""

    def __init__(self, game: Game, person: str, agent: str) -> None:
        holdings = Holdings(game)
        self.values, self.why_not_better = values_at_once(holdings)
        self.unknown = ""
        """Why nothing is known, once a hand could not be scored: leaving that one out would bias the rest."""
        self._aivat = Aivat(holdings, self.values)
        self._person, self._agent, self._unit = person, agent, 1000 / game.big_blind
        self._won: list[float] = []
        self._worth: list[float] = []

    def add(self, played: PlayedHand) -> float | None:
        """A hand that is over: what it was worth."""
        self._won.append(self._unit * played.record.values[played.record.names.index(self._person)])
        if self.unknown:
            return None
        try:
            worth = -self._unit * self._aivat.score(played, self._agent, Parts()).chips
        except ScoreError as error:
            self.unknown = str(error)
            return None
        self._worth.append(worth)
        return worth

    @property
    def won(self) -> Estimate:
        """By chips."""
        return Estimate.of(self._won)

    @property
    def worth(self) -> Estimate | None:
        """By AIVAT."""
        return None if self.unknown else Estimate.of(self._worth)
