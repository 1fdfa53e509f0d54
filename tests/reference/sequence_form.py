"""The exact value of a small two-player zero-sum game, as a linear programme over sequences.

Koller, Megiddo and von Stengel 1994: a player's strategy is the probability of each sequence of its own actions, linear
constraints say that an information set's sequences add up to the one that leads there, and the value of a pair of such
strategies is bilinear. The other player's best response to x is again a linear programme, whose dual turns max-min into

    maximise q(empty)   such that   E x = e, x >= 0   and, for each of the other's sequences s,
                        q(the set s acts in) - sum of q(sets right after s)  <=  sum over sequences of payoff x

The tree is open_spiel's (anything with its `State` methods) and the programme is solved by scipy's HiGHS: nothing is
shared with `solver`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack

_EMPTY = 0


@dataclass(slots=True)
class _Player:
    """The sequences and information sets of one player; number 0 of each is the empty one."""

    sequences: dict[tuple[str, int], int] = field(default_factory=dict)
    sets: dict[str, int] = field(default_factory=dict)
    parent: list[int] = field(default_factory=list)
    """[set - 1] the sequence that leads to it."""
    set_of: list[int] = field(default_factory=lambda: [0])
    """[sequence]"""

    def enter(self, text: str, after: int, actions: list[int]) -> None:
        if text not in self.sets:
            self.sets[text] = len(self.sets) + 1
            self.parent.append(after)
            for action in actions:
                self.sequences[text, action] = len(self.set_of)
                self.set_of.append(self.sets[text])
        assert self.parent[self.sets[text] - 1] == after, f"imperfect recall at {text}"

    def constraints(self) -> csr_array:
        """[set, sequence]: row 0 is the empty sequence, the others say children minus parent."""
        rows, columns, values = [0], [_EMPTY], [1.0]
        for sequence, of in enumerate(self.set_of[1:], 1):
            rows.append(of)
            columns.append(sequence)
            values.append(1.0)
        for number, after in enumerate(self.parent, 1):
            rows.append(number)
            columns.append(after)
            values.append(-1.0)
        return coo_array((values, (rows, columns)), shape=(len(self.sets) + 1, len(self.set_of))).tocsr()


def value(root: Any) -> float:
    """What the first player wins in equilibrium."""
    players = (_Player(), _Player())
    payoff: dict[tuple[int, int], float] = defaultdict(float)
    _walk(root, 1.0, (_EMPTY, _EMPTY), players, payoff)
    first, second = [player.constraints() for player in players]
    places = np.array(list(payoff))
    shape = (first.shape[1], second.shape[1])
    matrix = coo_array((list(payoff.values()), (places[:, 0], places[:, 1])), shape=shape).tocsr()
    goal = np.zeros(first.shape[1] + second.shape[0])
    goal[first.shape[1]] = -1.0
    right = np.zeros(first.shape[0])
    right[0] = 1.0
    answer = linprog(
        goal,
        A_ub=hstack([-matrix.T, second.T]).tocsr(),
        b_ub=np.zeros(second.shape[1]),
        A_eq=hstack([first, csr_array((first.shape[0], second.shape[0]))]).tocsr(),
        b_eq=right,
        bounds=[(0, None)] * first.shape[1] + [(None, None)] * second.shape[0],
        method="highs",
    )
    assert answer.success, answer.message
    return float(-answer.fun)


def _walk(
    state: Any,
    chance: float,
    after: tuple[int, int],
    players: tuple[_Player, _Player],
    payoff: dict[tuple[int, int], float],
) -> None:
    if state.is_terminal():
        payoff[after] += chance * state.returns()[0]
        return
    if state.is_chance_node():
        for outcome, probability in state.chance_outcomes():
            _walk(state.child(outcome), chance * probability, after, players, payoff)
        return
    me = state.current_player()
    text, actions = state.information_state_string(), state.legal_actions()
    players[me].enter(text, after[me], actions)
    for action in actions:
        sequence = players[me].sequences[text, action]
        _walk(state.child(action), chance, (sequence, after[1]) if me == 0 else (after[0], sequence), players, payoff)
