"""What kinds of river search win against the standing opponent: exactly, over all hands of both, on rivers of a match.

    python -m benchmarks.river_play FOLDER [--rivers 100] [--kinds blueprint,reach-maxmargin,unsafe] [--iterations 300]

FOLDER is a match of `paratus` against `slumbot-style`, with both stores. At random rivers of it, both players' ranges
are what their stored policies left them. From there on every line is played out: our policies by agent `paratus` with
one kind of search on the river, a fixed number of iterations each, the opponent's by its own; and every pair of hands
is counted. So nothing of the cards' luck is left, and kinds are compared on the same rivers. Turns are solved again as
they were, with the iterations that were stored. Prints a row for each river, then means over rivers with their
standard errors: in chips, and in pots; less those of the first kind.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import describe
from blueprints.margins import meet_not
from bot.study.progress import duration_text
from dealer_tools.formats.records import PlayedHand
from dealer_tools.scoring.sources import read_hands
from protocol.cards import Card
from protocol.game import DEFAULT_GAME, Position, load_game
from protocol.hands import NUM_HANDS
from protocol.kernels import rank_board
from protocol.state import State, apply, steps
from solver.kinds import Kind
from strategies.draws import Draws
from strategies.policy import Policy
from strategies.registry import make_strategy
from strategies.router import Router
from strategies.search.ranges import alive
from strategies.search.settings import Effort
from strategies.settings import StrategySettings
from strategies.strategy import Budget, Decided, Spot, Strategy

F64 = NDArray[np.float64]

_US, _THEM = "paratus", "slumbot-style"
_RIVER: Final = 3
_RARE: Final = 1e-3
"""Lines that fewer pairs of hands take than this are checked down."""
_AMPLE_S: Final = 1e5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rivers", type=int, default=100)
    parser.add_argument("--kinds", default="blueprint,reach-maxmargin,unsafe")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="of the choice of rivers")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # of ranges that no model expected
    game = load_game(DEFAULT_GAME).game
    kinds = options.kinds.split(",")
    ours = {kind: make_strategy(_US, game, _settings(kind, options.iterations)) for kind in kinds}
    theirs = make_strategy(_THEM, game)
    found, begun = [], time.monotonic()
    rivers = _rivers(options.folder, options.rivers, options.seed)
    for number, (played, state) in enumerate(rivers, 1):
        row: dict[str, Any] = {"where": played.where, "betting": state.betting, "pot": state.pot}
        for kind, strategy in ours.items():
            assert isinstance(strategy, Router)
            row[kind] = round(_River(strategy.another(), theirs, played, state).worth(), 2)
        found.append(row)
        print(json.dumps(row), flush=True)
        left_s = (time.monotonic() - begun) / number * (len(rivers) - number)
        print(f"{number} of {len(rivers)} rivers, {duration_text(left_s)} left", file=sys.stderr, flush=True)
    print(json.dumps({"machine": describe(), "rivers": len(found), **_compared(found, kinds)}, indent=1))


def _settings(kind: str, iterations: int) -> StrategySettings:
    given = StrategySettings()
    effort = Effort(iterations=iterations, share=1.0)
    changes: dict[str, Any] = {"threads": 1, "river": effort, "trusted_iterations": 0}
    if kind != "blueprint":
        changes["kind"] = Kind(kind)
    return StrategySettings(
        router=given.router.model_copy(update={"river": "blueprint"} if kind == "blueprint" else {}),
        nested=given.nested.model_copy(update=changes),
        limited=given.limited.model_copy(update={"threads": 1}),
    )


def _rivers(folder: Path, count: int, seed: int) -> list[tuple[PlayedHand, State]]:
    """Hands in which we decided on the river, none of our decisions a fallback; and the state in which it began."""
    found = []
    for played in read_hands([folder], _US, both=True).hands:
        begins = next((state for state, _ in steps(played.record.state) if state.street == _RIVER), None)
        ours = played.decisions.get(_US, {})
        if begins is None or not any(betting.count("/") == _RIVER for betting in ours):
            continue
        if not any(decided.policy.origin.is_fallback for decided in ours.values()):
            found.append((played, begins))
    order = np.random.default_rng(seed).permutation(len(found))[:count].tolist()
    return [found[place] for place in order]


class _River:
    """One of them, and who plays it."""

    def __init__(self, ours: Strategy, theirs: Strategy, played: PlayedHand, begins: State) -> None:
        record = played.record
        self._strategies, self._hand, self._begins = (ours, theirs), record.hand, begins
        self._board: tuple[Card, ...] = record.deal.board
        self._position = Position(record.names.index(_US))
        live = alive(begins.game, self._board)
        self._ours, self._theirs, self._past = live.copy(), live.copy(), list[Decided]()
        for state, action in steps(begins):
            mine = state.actor == self._position
            policy = played.decisions[_US if mine else _THEM][state.betting].policy
            if mine:
                self._ours *= policy.likelihood(action)
                self._past.append(Decided(state, policy))
            else:
                self._theirs *= policy.likelihood(action)
        ranks = rank_board(np.array(self._board, np.uint8)).astype(np.int64)
        self._apart = meet_not()
        self._wins = np.sign(ranks[:, None] - ranks) * self._apart
        self._pairs = float(self._ours @ self._apart @ self._theirs)

    def worth(self) -> float:
        """Chips that we win over the whole hand, on average over all pairs of hands that come here."""
        return self._worth(self._begins, self._past, self._ours, self._theirs) / self._pairs

    def _worth(self, state: State, past: Sequence[Decided], ours: F64, theirs: F64) -> float:
        pairs = float(ours @ self._apart @ theirs)
        mine, other = state.committed[self._position], state.committed[1 - self._position]
        if state.finished and not state.showdown:
            return pairs * (-mine if state.folded[self._position] else other)
        if state.finished or pairs < _RARE * self._pairs:
            return min(mine, other) * float(ours @ self._wins @ theirs)
        is_ours = state.actor == self._position
        policy = self._policy(state, past if is_ours else ())
        if is_ours:
            past = [*past, Decided(state, policy)]
        total = 0.0
        for action in policy.support:
            shares = np.broadcast_to(policy.likelihood(action), NUM_HANDS).astype(np.float64)
            left = (ours * shares, theirs) if is_ours else (ours, theirs * shares)
            if left[0].any() and left[1].any():
                total += self._worth(apply(state, action), past, *left)
        return total

    def _policy(self, state: State, past: Sequence[Decided]) -> Policy:
        assert state.actor is not None
        name = _US if state.actor == self._position else _THEM
        strategy = self._strategies[0 if name == _US else 1]
        spot = Spot(self._hand, state.actor, state, self._board, tuple(past))
        budget = Budget(time.monotonic() + _AMPLE_S, _AMPLE_S)
        return strategy.policy(spot, budget, Draws(77, name, self._hand, len(state.actions), "strategy"))


def _compared(rows: Sequence[dict[str, Any]], kinds: Sequence[str]) -> dict[str, Any]:
    """Means and standard errors of what each kind wins beyond the first."""
    pots = np.array([row["pot"] for row in rows])
    found = {}
    for kind in kinds[1:]:
        more = np.array([row[kind] - row[kinds[0]] for row in rows])
        found[f"{kind} less {kinds[0]}"] = {
            name: [round(float(each.mean()), 4), round(float(each.std(ddof=1) / np.sqrt(len(each))), 4)]
            for name, each in (("chips", more), ("pots", more / pots))
        }
    return found


if __name__ == "__main__":
    main()
