"""Every way that a hand of a small game can go between two known policies, with its probability."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from dealer_tools.formats.records import PlayedHand
from protocol.cards import Card
from protocol.game import Game, parse_game
from protocol.hands import hands_of
from protocol.log import HandRecord
from protocol.state import (
    CALL,
    FOLD,
    Action,
    Deal,
    Raise,
    State,
    action_text,
    apply,
    can_fold,
    payoffs,
    raise_bounds,
    start,
)
from protocol.wire import deal_text
from strategies.policy import SCALE, Entry, Policy, RaiseBetween, round_columns
from strategies.store import StoredDecision

KUHN = parse_game(
    "limit\nnumPlayers 2\nnumRounds 1\nblind 1 1\nraiseSize 1\nfirstPlayer 1\nmaxRaises 1\n"
    "numSuits 1\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0\nend gamedef"
).game
NO_LIMIT_LEDUC = parse_game(
    "nolimit\nnumPlayers 2\nnumRounds 2\nstack 5 5\nblind 1 1\nfirstPlayer 1 1\nmaxRaises 1 1\n"
    "numSuits 2\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0 1\nend gamedef"
).game
NAMES = ("first", "second")

Play = Callable[[State, tuple[Card, ...]], Policy]
"""A policy for every hand at a decision."""


@dataclass(frozen=True, slots=True)
class Happened:
    """One way, as it would be logged."""

    probability: float
    played: PlayedHand

    @property
    def paid(self) -> tuple[float, ...]:
        return self.played.record.values


def random_play(game: Game, seed: int, *, sizes: bool = False) -> Play:
    """A policy of random numbers, zeros among them; with `sizes` raises are ranges of sizes."""

    @cache
    def play(state: State, board: tuple[Card, ...]) -> Policy:
        rng = np.random.default_rng([seed, *state.betting.encode(), 99, *board])
        entries: list[Entry] = [CALL]
        if can_fold(state):
            entries.append(FOLD)
        bounds = raise_bounds(state)
        if bounds is not None:
            entries += [Raise(bounds.high)]
            if bounds.low < bounds.high:
                entries += [RaiseBetween(bounds.low, bounds.high)] if sizes else [Raise(bounds.low)]
        shares = rng.random((len(entries), len(hands_of(game)))) ** 2
        shares[rng.random(shares.shape) < 0.35] = 0
        shares[0] += 1e-3
        for card in board:
            for column, hole in enumerate(_holes(game)):
                if card in hole:
                    shares[:, column] = 0
        return Policy(tuple(entries), round_columns(shares))

    return play


def uniform_play(game: Game) -> Play:
    """Every legal action of a limit game as often as any other."""

    @cache
    def play(state: State, board: tuple[Card, ...]) -> Policy:
        bounds = raise_bounds(state)
        entries = [CALL, *([FOLD] if can_fold(state) else []), *([Raise(bounds.low)] if bounds else [])]
        return Policy(tuple(entries), round_columns(np.ones((len(entries), 1))))

    return play


def every_hand(game: Game, plays: tuple[Play, Play]) -> Iterator[Happened]:
    """All deals and all betting; `plays` by position."""
    deck = sorted(game.deck())
    number = 0
    for first in combinations(deck, game.num_hole_cards):
        for second in combinations([card for card in deck if card not in first], game.num_hole_cards):
            left = [card for card in deck if card not in (*first, *second)]
            boards = list(combinations(left, sum(game.num_board_cards)))
            deals = len(list(combinations(deck, len(first)))) * len(list(combinations(deck[len(first) :], len(second))))
            for board in boards:
                deal = Deal((first, second), board)
                for probability, state, decisions in _betting(start(game), deal, plays):
                    shown = deal._replace(board=board[: game.board_cards_by(state.street)])
                    record = HandRecord(number, state, shown, payoffs(state, deal), NAMES)
                    known = dict(zip(NAMES, decisions, strict=True))
                    yield Happened(probability / deals / len(boards), PlayedHand(f"hand {number}", record, known))
                    number += 1


def _betting(
    state: State, deal: Deal, plays: tuple[Play, Play]
) -> Iterator[tuple[float, State, tuple[dict[str, StoredDecision], dict[str, StoredDecision]]]]:
    if state.actor is None:
        yield 1.0, state, ({}, {})
        return
    board = deal.board[: state.game.board_cards_by(state.street)]
    policy = plays[state.actor](state, board)
    column = hands_of(state.game).column(deal.hole[state.actor])
    for action in actions_of(policy):
        probability = probability_of(policy, action, column)
        if probability:
            shown, done = deal_text(state, Deal((), board)), action_text(action, state.game)
            stored = StoredDecision(0, state.betting, shown, done, 0.0, policy)
            for rest, end, decisions in _betting(apply(state, action), deal, plays):
                mine = {state.betting: stored, **decisions[state.actor]}
                both = (mine, decisions[1]) if state.actor == 0 else (decisions[0], mine)
                yield probability * rest, end, both


def actions_of(policy: Policy) -> list[Action]:
    """All that a policy may draw, each once."""
    found: dict[Action, None] = {}
    for entry in policy.support:
        if isinstance(entry, RaiseBetween):
            found |= dict.fromkeys(Raise(to) for to in range(entry.low, entry.high + 1))
        else:
            found[entry] = None
    return list(found)


def probability_of(policy: Policy, action: Action, column: int) -> float:
    """Of drawing exactly that action with one hand, in double precision."""
    column = 0 if policy.weights.shape[1] == 1 else column
    total = 0.0
    for entry, weight in zip(policy.support, policy.weights[:, column].tolist(), strict=True):
        if entry == action:
            total += weight
        elif isinstance(entry, RaiseBetween) and isinstance(action, Raise) and entry.low <= action.to <= entry.high:
            total += weight / (entry.high - entry.low + 1)
    return total / SCALE


def _holes(game: Game) -> list[tuple[Card, ...]]:
    deck = sorted(game.deck())
    return sorted(combinations(deck, game.num_hole_cards), key=lambda hole: hole[::-1])
