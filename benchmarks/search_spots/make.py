"""Decisions of nested search, recorded: `python -m benchmarks.search_spots.make` writes them beside this file.

Two players with nested search play each other. Before the turn they play by the strength of their hands (`ByStrength`),
so that the turn begins with ranges as they come in real play, in pots of many sizes. Every subgame that they solve is a
candidate; of those, half turns and half rivers are kept, spread evenly over the logarithm of the pot. Solves stop by
their number of iterations and have all the time that they need: on a slow machine coarser menus would be played.
"""

from __future__ import annotations

import sys
import time
from random import Random
from typing import Final

import numpy as np

from benchmarks.endgames.make import (
    BLIND_CALLS,
    BLIND_RERAISES,
    BUTTON_CALLS_A_RERAISE,
    BUTTON_OPENS,
    bets,
    calls,
    strength,
)
from benchmarks.search_spots.spots import FILE, RecordedSpot, save_spots
from protocol.cards import Card
from protocol.game import DEFAULT_GAME, Game, Position, load_game
from protocol.hands import hands_of
from protocol.ranges import parse_range
from protocol.state import CALL, FOLD, Action, Raise, State, apply, raise_bounds, start
from solver.menu import Menu
from strategies.draws import Draws
from strategies.policy import Origin, Policy, round_columns
from strategies.search.nested import NestedSearch
from strategies.search.settings import Effort, NestedSettings
from strategies.search.stopping import Limit
from strategies.search.subgames import SolvedSubgame, SubgameQuestion
from strategies.strategy import Budget, Decided, Spot

_HANDS: Final = 150
_KEPT: Final = 50
_FLOP_SIZES: Final = (0.33, 0.67, 1.0, 1.5)
_PATIENT_S: Final = 600.0
_SETTINGS: Final = NestedSettings(turn=Effort(iterations=200, share=1.0), river=Effort(iterations=1000, share=1.0))
"""About as many as agent nested has time for, with three seconds a hand on a machine of its own."""


class ByStrength:
    """Plays before the turn: opens and defends ranges, then bets what is strong or weak and calls what is good."""

    name = "by-strength"

    def identity(self) -> dict[str, str]:
        return {"kind": self.name}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        state = spot.state
        raised = sum(isinstance(action, Raise) for action in state.history[-1])
        if state.street == 0:
            more, less, size = self._preflop(raised)
        else:
            strong = strength(spot.board)
            more = np.minimum(bets(strong), 1.0) if raised == 0 else np.where(strong > 0.93, 0.5, 0.0)
            less, size = calls(strong, 0.4 if state.owed else -10.0), _FLOP_SIZES[spot.hand % len(_FLOP_SIZES)]
        bounds = raise_bounds(state)
        if bounds is None or raised > 1:
            more = np.zeros_like(more)
        weights = np.stack([(1 - more) * (1 - less), (1 - more) * less, more]) * hands_of(state.game).live(spot.board)
        if not state.owed:
            weights[1] += weights[0]
            weights[0] = 0.0
        to = state.maximum + size * (state.pot + state.owed)
        bet = Raise(min(max(round(to), bounds.low), bounds.high)) if bounds else CALL
        kept = [n for n, entry in enumerate((FOLD, CALL, bet)) if weights[n].any() and (n != 2 or bounds)]
        support = tuple([(FOLD, CALL, bet)[n] for n in kept])
        return Policy(support, round_columns(weights[kept]), Origin(self.name))

    @staticmethod
    def _preflop(raised: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Shares of hands that raise, and of the others that call; the raise as a share of the pot."""
        raises = (BUTTON_OPENS, BLIND_RERAISES, "QQ+,AKs")[min(raised, 2)]
        called = ("", BLIND_CALLS, BUTTON_CALLS_A_RERAISE)[min(raised, 2)]
        less = parse_range(called).astype(np.float64) if called else np.zeros(1326)
        return parse_range(raises).astype(np.float64), less, (0.75, 1.1, 1.0)[min(raised, 2)]


class SpotRecorder(NestedSearch):
    """Nested search that keeps what it solved."""

    def __init__(self, game: Game) -> None:
        super().__init__(game, _SETTINGS, ByStrength())
        self.seen: list[RecordedSpot] = []

    def _solve(
        self, question: SubgameQuestion, menu: Menu, spot: Spot, limit: Limit, *, patient: bool
    ) -> SolvedSubgame | None:
        solved = super()._solve(question, menu, spot, limit, patient=patient)
        if solved is not None:
            self.seen.append(RecordedSpot(question, solved.solver.subgame.menu, spot.state))
        return solved


def play(number: int, players: dict[Position, SpotRecorder], rng: Random) -> None:
    """One hand."""
    game = load_game(DEFAULT_GAME).game
    deck = list(game.deck())
    rng.shuffle(deck)
    holes: tuple[tuple[Card, ...], ...] = (tuple(deck[:2]), tuple(deck[2:4]))
    past: dict[int, list[Decided]] = {0: [], 1: []}
    state: State = start(game)
    while state.actor is not None:
        board = tuple(deck[4 : 4 + game.board_cards_by(state.street)])
        spot = Spot(number, state.actor, state, board, tuple(past[state.actor]))
        budget = Budget(time.monotonic() + 2 * _PATIENT_S, _PATIENT_S)
        draws = [Draws(7, "spots", number, len(state.actions), purpose) for purpose in ("strategy", "action")]
        policy = players[state.actor].policy(spot, budget, draws[0])
        action: Action = policy.sample(hands_of(game).column(holes[state.actor]), draws[1])
        past[state.actor].append(Decided(state, policy))
        state = apply(state, action)


def main() -> None:
    """Play, choose, write."""
    rng, game = Random(2026), load_game(DEFAULT_GAME).game
    players = {Position(seat): SpotRecorder(game) for seat in range(2)}
    begun = time.monotonic()
    for number in range(_HANDS):
        play(number, players, rng)
        seen = [spot for player in players.values() for spot in player.seen]
        left = (time.monotonic() - begun) / (number + 1) * (_HANDS - number - 1)
        print(f"hand {number + 1} of {_HANDS}: {len(seen)} subgames, {left:.0f} s left", file=sys.stderr)
    kept = []
    for street in (2, 3):
        there = sorted((spot for spot in seen if spot.question.root.street == street), key=lambda spot: spot.pot)
        places = np.searchsorted(
            np.log([spot.pot for spot in there]),
            np.linspace(np.log(there[0].pot), np.log(there[-1].pot), _KEPT // 2),
        )
        chosen: list[int] = []
        for place in places.tolist():  # the nearest that is not taken
            chosen.append(min((n for n in range(len(there)) if n not in chosen), key=lambda n: abs(n - place)))
        kept += [there[n] for n in sorted(chosen)]
    save_spots(FILE, kept)
    for spot in kept:
        print(f"{spot.question.root.street} {spot.question.kind} pot {spot.pot} {spot.question.root.betting}")


if __name__ == "__main__":
    main()
