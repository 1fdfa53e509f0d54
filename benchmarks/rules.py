"""State transitions, wire text, and the policies of agents that look at nothing, in one thread."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from random import Random

from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, Position, load_game
from protocol.state import CALL, FOLD, Action, Raise, State, apply, can_fold, payoffs, raise_bounds, start
from protocol.wire import MatchState, match_state_text, parse_match_state, view
from strategies.draws import Draws
from strategies.registry import make_strategy
from strategies.strategy import Budget, Spot

_HANDS = 3000
_BASELINES = ("always-fold", "always-call", "always-raise", "all-in", "random")
"""`paratus bench lookup` measures the blueprint's."""
_RUNS = 5


def run() -> dict[str, object]:
    """Operations a second, the median of several runs."""
    game = load_game(DEFAULT_GAME).game
    rng = Random(1)
    hands = []
    for _ in range(_HANDS):
        state, actions = start(game), []
        while not state.finished:
            action = _random_action(rng, state)
            actions.append(action)
            state = apply(state, action)
        hands.append(actions)
    count = sum(map(len, hands))
    stream = CardStream(game, 1)
    deals = [stream.deal() for _ in hands]
    texts, ends = [], []
    for actions, deal in zip(hands, deals, strict=True):
        state = start(game)
        for action in actions:
            texts.append(match_state_text(MatchState(Position(0), 0, state, view(state, deal, 0))))
            state = apply(state, action)
        ends.append((state, deal))

    def transitions() -> None:
        for actions in hands:
            state = start(game)
            for action in actions:
                state = apply(state, action)

    def parsing() -> None:
        for text in texts:
            parse_match_state(text, game)

    def settling() -> None:
        for state, deal in ends:
            payoffs(state, deal)

    spots = []
    for number, (actions, deal) in enumerate(zip(hands[:300], deals, strict=False)):
        state = start(game)
        for action in actions:
            assert state.actor is not None
            board = view(state, deal, state.actor).board
            draws = Draws(1, "benchmark", number, len(state.actions), "strategy")
            spots.append((Spot(number, state.actor, state, board, ()), draws))
            state = apply(state, action)

    def policies(agent: str) -> Callable[[], object]:
        strategy, budget = make_strategy(agent, game), Budget(float("inf"), 7.0)
        return lambda: [strategy.policy(spot, budget, draws) for spot, draws in spots]

    return {
        "transitions_per_second": _rate(transitions, count),
        "target": 150_000,
        "match_states_parsed_per_second": _rate(parsing, len(texts)),
        "hands_settled_per_second": _rate(settling, len(ends)),
        "hands_dealt_per_second": _rate(lambda: [stream.deal() for _ in range(_HANDS)], _HANDS),
        **{f"{agent}_us": round(1e6 / _rate(policies(agent), len(spots)), 1) for agent in _BASELINES},
    }


def _random_action(rng: Random, state: State) -> Action:
    kinds: list[Action] = [CALL]
    if can_fold(state) and rng.random() < 0.3:
        kinds.append(FOLD)
    bounds = raise_bounds(state)
    if bounds:
        kinds.append(Raise(min(bounds.high, max(bounds.low, 2 * state.maximum))))
    return rng.choice(kinds)


def _rate(work: Callable[[], object], count: int) -> int:
    rates = []
    for _ in range(_RUNS):
        begun = time.perf_counter()
        work()
        rates.append(count / (time.perf_counter() - begun))
    return round(statistics.median(rates))


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
