"""The default agent against itself at default settings: how long it thinks, how much it gets done, what it holds.

Both seats are asked in this process as a session asks, with a match clock of their own; hands are the dealer's. Each
decision has the two cores to itself, as in a match in which both bots wait for each other.

- `hand_s`: what one player thinks in a hand, over all hands it was dealt. `decision_s`: of decisions that were
  searched.
- `routes`: decisions, iterations in each, iterations a second (building the game and reading the policy included).
- `rollouts`: run-outs a second from eight roots of each street with four continuations, both players' values.
- `start_s`: from starting the process of a bot to its first answer, everything cached.
- `memory_mb`: resident, of the process, before anything was loaded and after; of the blueprint's tables, which all
  processes share; the most it ever was, at the end.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import Elsewhere
from benchmarks.startup import first_answer_s
from blueprints.cards.holdem import HoldemCards
from blueprints.values.rollouts import Rollouts
from bot.clock import Clock
from bot.config import BotConfig
from machine.progress import duration_text
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, STREET_NAMES, Position, load_game
from protocol.hands import hands_of
from protocol.state import apply, start
from strategies.draws import Draws
from strategies.players.router import Router
from strategies.policy import Policy
from strategies.registry import DEFAULT_AGENT, make_strategy
from strategies.strategy import Decided, Spot

Report = dict[str, Any]

_ROOTS, _RUN_OUTS, _STARTS = 8, 20, 3
_TELL_EVERY_S = 5.0
_TARGETS = {"hand_mean_s": 3.0, "decision_99_percent_s": 6.0, "start_s": 10.0}


def run(hands: int = 60) -> Report:
    """Play so many hands, then measure the parts."""
    elsewhere, before = Elsewhere(), _resident_mb()
    router = make_strategy(DEFAULT_AGENT, load_game(DEFAULT_GAME).game)
    assert isinstance(router, Router)
    ready = _resident_mb()
    report = _self_play(router, hands)
    report["rollouts_per_s"] = _rollouts(router)
    report["start_s"] = round(statistics.median(first_answer_s(DEFAULT_AGENT) for _ in range(_STARTS)), 2)
    report["targets"] = _TARGETS
    report["memory_mb"] = {
        "before": before,
        "ready": ready,
        "bucket_tables": _tables_mb(router),
        "most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }
    report["cores_busy_elsewhere"] = elsewhere.cores()
    return report


def _self_play(router: Router, hands: int) -> Report:
    game, config = load_game(DEFAULT_GAME).game, BotConfig()
    seats = router, make_strategy(DEFAULT_AGENT, game)
    clocks = [Clock(config.clock.limits, hands, config.clock.margin_s, think_s=config.clock.think_s) for _ in range(2)]
    dealing, begun, told = CardStream(game, 1), time.monotonic(), time.monotonic()
    made: dict[str, list[tuple[Policy, float]]] = defaultdict(list)
    per_hand = []
    for hand in range(hands):
        deal, state = dealing.deal(), start(game)
        past: tuple[list[Decided], list[Decided]] = ([], [])
        spent = [0.0, 0.0]
        while state.actor is not None:
            position = int(state.actor)
            seat = (position + hand) % 2
            shown = deal.board[: game.board_cards_by(state.street)]
            spot = Spot(hand, Position(position), state, shown, tuple(past[position]))
            draws = Draws(seat, "bench", hand, len(state.actions), "strategy")
            budget, asked = clocks[seat].budget(hand), time.monotonic()
            policy = seats[seat].policy(spot, budget, draws)
            took = time.monotonic() - asked
            clocks[seat].spent(took)
            spent[seat] += took
            made[policy.origin.route].append((policy, took))
            past[position].append(Decided(state, policy))
            column = hands_of(game).column(deal.hole[position])
            state = apply(state, policy.sample(column, Draws(seat, "bench", hand, len(state.actions), "action")))
        per_hand += spent
        if time.monotonic() - told > _TELL_EVERY_S:
            told = time.monotonic()
            left = duration_text((told - begun) / (hand + 1) * (hands - hand - 1))
            print(f"bot: hand {hand + 1} of {hands}, {left} left", file=sys.stderr, flush=True)
    searched = [took for decisions in made.values() for policy, took in decisions if policy.origin.iterations]
    return {
        "hands": hands,
        "hand_mean_s": round(statistics.mean(per_hand), 3),
        "hand_99_percent_s": round(float(np.percentile(per_hand, 99)), 3),
        "decision_median_s": round(statistics.median(searched), 3),
        "decision_99_percent_s": round(float(np.percentile(searched, 99)), 3),
        "fallbacks": sum(policy.origin.is_fallback for decisions in made.values() for policy, _ in decisions),
        "routes": {route: _route(decisions) for route, decisions in sorted(made.items())},
    }


def _route(decisions: list[tuple[Policy, float]]) -> Report:
    iterations, seconds = [policy.origin.iterations for policy, _ in decisions], [took for _, took in decisions]
    return {
        "decisions": len(decisions),
        "iterations_mean": round(statistics.mean(iterations), 1),
        "iterations_per_s": round(sum(iterations) / sum(seconds), 1),
        "seconds_mean": round(statistics.mean(seconds), 4),
        "seconds_most": round(max(seconds), 4),
    }


def _rollouts(router: Router) -> Report:
    """By street of the roots."""
    blueprint = router.lookup.blueprint
    strategies = [blueprint.strategy(street) for street in range(4)]
    rng, deck, found = np.random.default_rng(1), sorted(blueprint.game.deck()), {}
    for threads in (1, 2):
        rollouts = Rollouts(blueprint.game, blueprint.tree, router.lookup.cards, strategies, threads=threads)
        for street, name in enumerate(STREET_NAMES[1:], 1):
            roots = np.linspace(*blueprint.tree.street_at[street : street + 2], _ROOTS, endpoint=False).astype(int)
            board = deck[: blueprint.game.board_cards_by(street - 1)]
            reaches = np.ones((2, len(rollouts.biases), _ROOTS, rollouts.num_hands), np.float32)
            rollouts.values(roots.tolist(), board, rollouts.draw(board, rng), reaches)
            begun = time.monotonic()
            for _ in range(_RUN_OUTS):
                rollouts.values(roots.tolist(), board, rollouts.draw(board, rng), reaches)
            found[f"{name}, threads: {threads}"] = round(_RUN_OUTS / (time.monotonic() - begun), 1)
    return found


def _tables_mb(router: Router) -> int:
    cards = router.lookup.cards
    return round(sum(table.nbytes for table in cards.tables) / 2**20) if isinstance(cards, HoldemCards) else 0


def _resident_mb() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmRSS"))


def text(report: Report) -> str:
    """For people."""
    lines = [
        f"  {report['hands']} hands of self-play: {report['hand_mean_s']} s a hand (target {_TARGETS['hand_mean_s']}), "
        f"99 % {report['hand_99_percent_s']} s; {report['fallbacks']} fallbacks",
        f"  searched decisions: median {report['decision_median_s']} s, 99 % {report['decision_99_percent_s']} s "
        f"(target {_TARGETS['decision_99_percent_s']})",
    ]
    for route, row in report["routes"].items():
        lines.append(
            f"    {route:20} {row['decisions']:5,} decisions, {row['iterations_mean']:8,.0f} iterations, "
            f"{row['iterations_per_s']:8,.0f} a second, {row['seconds_mean']:.3f} s (most {row['seconds_most']:.3f})"
        )
    lines += [f"  run-outs a second, {name}: {rate:,.0f}" for name, rate in report["rollouts_per_s"].items()]
    lines.append(f"  start to first answer: {report['start_s']} s (target {_TARGETS['start_s']})")
    memory = ", ".join(f"{name.replace('_', ' ')} {size:,} MB" for name, size in report["memory_mb"].items())
    lines.append(f"  memory: {memory}; cores busy elsewhere: {report['cores_busy_elsewhere']}")
    return "\n".join(lines)
