"""Hands between a local best response and an agent: each deal twice, with both seats.

Besides what was really won, a hand says what it won on average over all hands of the agent that would have played so:
imaginary observations. The agent's cards are never seen by us, and given our hand, the board and the actions, how
likely each hand of the agent is follows from its policies: so that mean has the same expectation, and less luck in it.
The cards of the board and our own are as they were dealt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dealer_tools.lbr.equity import Equities
from dealer_tools.lbr.response import LocalBestResponse, after, showdown_chips
from dealer_tools.lbr.settings import Setting
from dealer_tools.probe import Probe
from protocol.arrays import F64
from protocol.cards import Card, cards_text
from protocol.game import Position
from protocol.hands import hands_of
from protocol.state import Action, Deal, State, apply, payoffs, start
from strategies.agents import Agent
from strategies.identity import DrawKey
from strategies.strategy import Decided

LEGS: Final = ("forward", "reverse")
"""The local best response in position 0, then in position 1 with the other hand of the same deal."""


@dataclass(frozen=True, slots=True)
class Played:
    """One hand, from the side of the local best response."""

    chips: float
    """What it won."""
    mean_chips: float
    """The same on average over the agent's hands."""
    betting: str
    cards: str
    """Its own, the agent's, the board as far as it was seen."""
    fallbacks: int
    """Decisions of the agent in place of better ones."""


class Players:
    """A local best response and an agent, ready to play any deal of a match."""

    def __init__(self, setting: Setting, agent: Agent, seed: int, think_s: float = 0.0) -> None:
        self._game = game = agent.game
        self._equities = Equities(game)
        self._response = LocalBestResponse(setting, self._equities)
        self._probes = [Probe(agent, DrawKey(seed, f"lbr/{leg}"), think_s) for leg in LEGS]

    def pair(self, hand: int, deal: Deal) -> tuple[Played, Played]:
        """A deal with both seats."""
        return self._play(hand, deal, Position(0)), self._play(hand, deal, Position(1))

    def _play(self, hand: int, deal: Deal, seat: Position) -> Played:
        """One hand; `seat` is that of the local best response."""
        game, probe, other = self._game, self._probes[seat], Position(1 - seat)
        hands, hole = hands_of(game), deal.hole[seat]
        column, weights = hands.column(deal.hole[other]), hands.live(hole).astype(np.float64)
        state, first, fallbacks = start(game), True, 0
        past: tuple[Decided, ...] = ()
        while not state.finished:
            if state.actor == seat:
                action = self._respond(hand, state, deal, weights, past, first=first)
                first = False
            else:
                policy = probe.policy(hand, other, state, self._board(state, deal), past)
                fallbacks += policy.origin.is_fallback
                action = probe.drawn(hand, state, policy, column)
                weights = after(weights, policy, action)
                past = (*past, Decided(state, policy))
            state = apply(state, action)
        board = self._board(state, deal)
        chips = mean = payoffs(state, deal)[seat]
        if state.showdown:
            mean = showdown_chips(state, self._equities.of(hole, board), weights)
        cards = " ".join(map(cards_text, (hole, deal.hole[other], board))).strip()
        return Played(chips, mean, state.betting, cards, fallbacks)

    def _respond(
        self, hand: int, state: State, deal: Deal, weights: F64, past: tuple[Decided, ...], *, first: bool
    ) -> Action:
        assert state.actor is not None
        seat, board = state.actor, self._board(state, deal)

        def folding(raised: State) -> F64:
            return self._probes[seat].folding(hand, Position(1 - seat), raised, board, past)

        return self._response.action(state, deal.hole[seat], board, weights, folding, first=first)

    def _board(self, state: State, deal: Deal) -> tuple[Card, ...]:
        """The cards that are seen by then; all of them once hands are turned up."""
        return deal.board[: self._game.board_cards_by(state.street)]
