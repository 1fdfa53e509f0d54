"""Searches of the flop by roll-outs and by learned leaf values: how exploitable they are after equal time.

    python -m studies.leaves [--network FILE] [--spots N] [--seconds 0.6,1.2,4.8] [--beginning cc/]

Each spot is a flop at which the big blind decides first, after one of some common beginnings, with the ranges that the
blueprint has there. What is searched is the depth-limited game: its leaves are worth what the blueprint and its biased
forms make of them, by definition. So how far a strategy is from an equilibrium of that game can be measured: each
player's best response, above the leaves and in the choice of continuations, to the other's average strategy, by
roll-outs on so many run-outs, fresh ones, the same for all strategies of a spot; folds and all-ins exactly. Best
responses to sampled values are too good by the noise in them, for all strategies about alike; so differences count, not
the last digit.

- `blueprint`: where searches begin.
- `roll-outs`, `learned`: agent `limited` with the one or the other, all that it takes before the first iteration
  included. `all sampled`: by roll-outs, folds and all-ins sampled too, however deep stacks are.
- `error`: of the network's values at these leaves, against the mean over the same run-outs, in pots a hand, beside the
  noise of that mean.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from benchmarks.machine import describe
from blueprints.values.leaves import RunOutDraws, SampledLeaves, Settled
from blueprints.values.margins import margins_of, run_out_ranks
from machine.cores import available_cores
from machine.progress import duration_text
from protocol.arrays import F32, F64
from protocol.game import DEFAULT_GAME, Position, load_game
from protocol.hands import NUM_HANDS, holdem_hands
from protocol.state import start, steps
from protocol.wire import read_betting
from solver.depth_limited import NO_CHOICE
from strategies.draws import Draws
from strategies.players.blueprint import BlueprintLookup
from strategies.search.depth_limited import LimitedSearch, SolvedStreet
from strategies.search.settings import Effort, LimitedSettings
from strategies.search.stopping import Limit
from strategies.settings import LookupSettings
from strategies.strategy import Budget, Decided, Spot

NO_NETWORK: Final = "-"
_BEGINNINGS: Final = ("r300c/", "r300r900c/", "cc/", "cr300c/")
_BIG_BLIND: Final = Position(0)
_LONG_S: Final = 3600.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--network", default="", help=f"default: where `paratus blueprint leaves` puts it; {NO_NETWORK}: none"
    )
    parser.add_argument("--spots", type=int, default=12)
    parser.add_argument("--seconds", default="0.6,1.2,4.8")
    parser.add_argument("--beginning", choices=_BEGINNINGS, help="default: all in turn")
    parser.add_argument("--run-outs", type=int, default=400)
    options = parser.parse_args()
    beginnings = (options.beginning,) if options.beginning else _BEGINNINGS
    seconds = [float(each) for each in options.seconds.split(",")]
    report = run(options.network, options.spots, beginnings, seconds, options.run_outs)
    print(json.dumps(report, indent=1))


def run(network: str, spots: int, beginnings: Sequence[str], seconds: Sequence[float], run_outs: int) -> dict[str, Any]:
    """All spots."""
    game = load_game(DEFAULT_GAME).game
    base = BlueprintLookup(game, LookupSettings())
    effort = Effort(iterations=10**6, share=1.0)
    sampled = LimitedSearch(game, LimitedSettings(keep=False, flop=effort), base)
    settings = LimitedSettings(exact_spr=float("inf"), keep=False, flop=effort)
    searches, learned = {"roll-outs": sampled, "all sampled": LimitedSearch(game, settings, base)}, None
    if network != NO_NETWORK:
        settings = LimitedSettings(leaves="learned", network=network, keep=False, flop=effort)
        searches["learned"] = learned = LimitedSearch(game, settings, base)
    asked = [("blueprint", sampled, 0.0)]
    asked += [(f"{kind} {each:g} s", search, each) for each in seconds for kind, search in searches.items()]
    found: dict[str, list[float]] = {}
    iterations: dict[str, list[int]] = {}
    errors: list[tuple[float, float]] = []
    begun = time.monotonic()
    for number in range(spots):
        spot = _spot(base, number, beginnings[number % len(beginnings)])
        draws = Draws(number, "leaves", 0, len(spot.state.actions), "strategy")
        judge = _Judge(sampled, spot, run_outs, number)
        for label, search, limit_s in asked if number % 2 else reversed(asked):  # a machine that slows down is fair
            street = _searched(search.another(), spot, draws, limit_s)
            found.setdefault(label, []).append(judge.exploitability(street))
            iterations.setdefault(label, []).append(street.iterations)
        if learned is not None:
            errors.append(judge.error(learned, street))
        left_s = (time.monotonic() - begun) / (number + 1) * (spots - number - 1)
        print(f"{number + 1} of {spots} spots, {duration_text(left_s)} left", file=sys.stderr, flush=True)
    report: dict[str, Any] = {
        "machine": describe(),
        "spots": spots,
        "unit": "exploitability in thousandths of the pot, mean over spots",
        "exploitability": {label: round(1000 * float(np.mean(found[label])), 1) for label, *_ in asked},
        "iterations": {label: round(float(np.mean(iterations[label])), 1) for label, *_ in asked},
        "by_spot": {label: [round(1000 * value, 1) for value in found[label]] for label, *_ in asked},
    }
    if learned is not None:
        report["network"] = learned.identity()["network"]
        report["error_of_values_in_pots"] = round(float(np.mean([error for error, _ in errors])), 4)
        report["noise_in_that"] = round(float(np.mean([noise for _, noise in errors])), 4)
    return report


def _spot(base: BlueprintLookup, number: int, beginning: str) -> Spot:
    """The big blind's first decision on a flop, its play before that by the blueprint."""
    rng = np.random.default_rng((number, 0xF10))
    game = load_game(DEFAULT_GAME).game
    state = read_betting(start(game), beginning)
    board = tuple(game.deck()[place] for place in rng.choice(52, 3, replace=False).tolist())
    past: list[Decided] = []
    for at, _ in steps(state):
        if at.actor == _BIG_BLIND:
            asked = Spot(0, _BIG_BLIND, at, (), tuple(past))
            policy = base.policy(asked, _budget(_LONG_S), Draws(number, "leaves", 0, len(at.actions), "strategy"))
            past.append(Decided(at, policy))
    return Spot(0, _BIG_BLIND, state, board, tuple(past))


def _budget(share_s: float) -> Budget:
    return Budget(deadline_s=time.monotonic() + _LONG_S, fair_share_s=share_s)


def _searched(search: LimitedSearch, spot: Spot, draws: Draws, limit_s: float) -> SolvedStreet:
    for made in (search._leaves._flops, search._leaves._margins):
        made._known.clear()  # as on a flop that comes for the first time
    until_s = time.monotonic() + limit_s
    limit = Limit(10**6, until_s, until_s, lambda: False)
    return search._solve(spot, search._menu, limit, _budget(limit_s), draws)


class _Judge:
    """Measures strategies of one spot on the same run-outs."""

    def __init__(self, search: LimitedSearch, spot: Spot, run_outs: int, seed: int) -> None:
        self._search, self._spot, self._run_outs, self._seed = search, spot, run_outs, seed
        self._margins = margins_of(run_out_ranks(spot.board), available_cores())

    def exploitability(self, street: SolvedStreet) -> float:
        """In pots at the root: the mean of what best responses to both players win."""
        reaches = _reaches(street, 0), _reaches(street, 1)
        values = self._values(street, reaches)
        first, second = (weights[:NUM_HANDS] for weights in street.solver._ranges)
        pairs = float((first @ holdem_hands().compatible) @ second)
        best = [_best(street, player, values[player]) for player in range(2)]
        return sum(best) / 2 / pairs / street.plan.root.pot

    def error(self, learned: LimitedSearch, street: SolvedStreet) -> tuple[float, float]:
        """Root mean squares in pots, weighted by how often hands come to the ends: of the network's values from the
        mean of roll-outs, and of what is luck in that mean.
        """
        reaches = _reaches(street, 0), _reaches(street, 1)
        halves = [self._values(street, reaches, part) for part in (0, 1)]
        said = learned._leaves.make(street.game, self._spot.board, street.solver.tree.continuations, 0)(reaches)
        ends, sums = street.game.ends, np.zeros(3)
        pots = np.array([2.0 * state.maximum for state in street.game.end_states])[:, None, None]
        for player in range(2):
            mass = reaches[1 - player][ends][:, :, :NUM_HANDS].sum(axis=1) @ holdem_hands().compatible
            weight = reaches[player][ends][:, :, :NUM_HANDS] * mass[:, None]
            per_hand = np.maximum(mass[:, None], 1e-9) * pots
            first, second = (half[player][ends][:, :, :NUM_HANDS] / per_hand for half in halves)
            ours = said[player][ends][:, :, :NUM_HANDS] / per_hand
            mean = (first + second) / 2
            sums += [(weight * (ours - mean) ** 2).sum(), (weight * (first - second) ** 2 / 4).sum(), weight.sum()]
        return float(np.sqrt(sums[0] / sums[2])), float(np.sqrt(sums[1] / sums[2]))

    def _values(self, street: SolvedStreet, reaches: tuple[F32, F32], part: int | None = None) -> tuple[F64, F64]:
        """[leaf, continuation, hand] of both players: means over run-outs, or over every second one."""
        leaves = SampledLeaves(
            street.game, self._search._rollouts, self._search._lookup, self._spot.board,
            street.solver.tree.continuations, RunOutDraws(7_000_000 + self._seed),
            settled=Settled(street.game, self._spot.board, self._margins),
        )  # fmt: skip
        totals, count = [np.zeros(each.shape) for each in reaches], 0
        for number in range(self._run_outs):
            if part is None or number % 2 == part:
                leaves.iteration = number
                count += 1
                for total, won in zip(totals, leaves(reaches), strict=True):
                    total += won
        return totals[0] * (leaves.factor / count), totals[1] * (leaves.factor / count)


def _reaches(street: SolvedStreet, player: int) -> F32:
    """[leaf, continuation, hand] by the player's average strategy."""
    solver, game = street.solver, street.game
    tree, nodes = solver.tree, len(game.nodes)
    hands = len(solver._ranges[player])
    here = np.zeros((nodes, hands))
    here[0] = solver._ranges[player]
    found = np.zeros((game.num_leaves, tree.continuations[player], hands), np.float32)
    for node in range(nodes):
        mine = solver.strategy(node) if tree.player[node] == player else None
        for place, child in enumerate(game.child[game.first[node] : game.first[node + 1]].tolist()):
            come = here[node].copy()
            if mine is not None:
                come[: mine.shape[1]] *= mine[place]
            if child < nodes:
                here[child] = come
                continue
            choice = tree.choices[player][child - nodes]
            if choice == NO_CHOICE:
                found[child - nodes, 0] = come
            else:
                shares = solver.continuation(player, choice)
                found[child - nodes, :, : shares.shape[1]] = come[: shares.shape[1]] * shares
    return found


def _best(street: SolvedStreet, player: int, values: F64) -> float:
    """What a best response wins in chips, over all hands as often as they are held."""
    solver, game = street.solver, street.game
    tree, nodes = solver.tree, len(game.nodes)
    at_leaf = np.where((tree.choices[player] == NO_CHOICE)[:, None], values[:, 0], values.max(axis=1, initial=-np.inf))
    worth = np.zeros((nodes, values.shape[2]))
    for node in reversed(range(nodes)):
        below = [
            worth[child] if child < nodes else at_leaf[child - nodes]
            for child in game.child[game.first[node] : game.first[node + 1]].tolist()
        ]
        worth[node] = np.max(below, axis=0) if tree.player[node] == player else np.sum(below, axis=0)
    return float(worth[0] @ solver._ranges[player])


if __name__ == "__main__":
    main()
