"""What a player who learns to play against a strategy wins from it: how much it can be exploited, at least.

The exploitability of a strategy of a whole game cannot be computed, but it can be bounded from below: one player keeps
to the strategy, the other learns against it, by the same walks, bets and buckets as it was trained with, and then plays
what it has learnt on boards that it has not seen. This sees what contests between strategies do not: two that were
trained alike leave the same lines alone, and what is learnt last wins from what was learnt first, more exploitable or
not. It sees nothing outside the bets and buckets: a local best response (`paratus lbr`) does.

The responder begins as the strategy itself, which loses nothing to itself, and so need not learn the game anew: for the
first boards both players follow it and learn what each action gains or loses there; then the responder, in either seat,
goes on from these regrets as a run with a warm start does (`PublicSampling.warm_start`). What no board brought is
played as the strategy does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from blueprints.train.measures.contest import Contestant, ContestScore, contest
from blueprints.train.merge import fill_in
from blueprints.train.public.sampling import PublicSampling
from blueprints.train.trainer import Tables
from blueprints.tree import BettingTree
from protocol.game import Game
from solver.schedules import LINEAR

SEATS = 2
_BATCHES, _FOLLOWED = 20, 2
"""The boards to learn from come in 20 batches; in the first 2 both players follow the strategy."""
_SURE = 3.0
"""So many times as large are the regrets that the strategy begins with as those of a run with a warm start."""
_OTHERS = 1 << 40


def respond(
    game: Game, tree: BettingTree, strategy: Contestant, *, boards: int, test_boards: int, seed: int = 0,
    threads: int = 1, tell: Callable[[str, float], None] = lambda what, share: None,
) -> ContestScore:  # fmt: skip
    """What a responder wins that has learnt from so many boards in each seat; `tell` hears what is done of what."""
    cards, tables = strategy.cards, strategy.tables
    lots = np.diff(np.linspace(0, boards, min(_BATCHES, boards) + 1).astype(int)).tolist()
    following, own = lots[:_FOLLOWED], lots[_FOLLOWED:]
    tasks = len(following) + SEATS * len(own)
    sampler = PublicSampling(game, tree, cards, seed=seed, threads=threads)
    for number, lot in enumerate(following, 1):
        sampler.period(number, LINEAR.weight(number), lot, tables)
        tell("learning", number / tasks)
    sampler.warm_start(tables, 1.0, _SURE)
    start = {name: numbers.copy() for name, numbers in sampler.state().items()}
    learnt: list[Tables] = []
    for seat in range(SEATS):
        sampler.restore(start)
        for number, lot in enumerate(own, 1 + len(following)):
            sampler.period(number, LINEAR.weight(number), lot, tables, learner=seat)
            tell("learning", (number + seat * len(own)) / tasks)
        learnt.append(sampler.averages())
        for street, average in enumerate(learnt[-1]):
            if len(average):
                fill_in(average, tree, street, [(tables[street], 1.0)])
    del sampler, start
    # Boards that it has not learnt from. Each seat's decisions are its own: one strategy can hold both.
    both = []
    for street in range(game.num_rounds):
        nodes = tree.nodes_of(street)
        acts = np.repeat(tree.player[nodes.start : nodes.stop], np.diff(tree.first[nodes.start : nodes.stop + 1]))
        both.append(np.where(acts[:, None] == 0, learnt[0][street], learnt[1][street]))
    return contest(
        game, tree, Contestant(both, cards), strategy, boards=test_boards, seed=seed + _OTHERS, threads=threads,
        tell=lambda board, score: tell("playing", board / test_boards),
    )  # fmt: skip
