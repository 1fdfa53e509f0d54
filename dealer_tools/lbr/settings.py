"""What a local best response may do where: the settings by name, read exactly.

Streets are those of the game, from 0; in hold'em 0 is before the flop, 1 the flop. "Late" is the last two streets: turn
and river in hold'em, both streets of Leduc.

    fc          every street: fold, call
    fcpa-late   before the late streets: call; late: fold, call, raise by the pot, all-in
    56-late     before the late streets: call; late: fold, call, 56 sizes 0.05 · 1.15^k of the pot, k = 0 … 55
    56-flop     street 0: call; street 1: fold, call, the 56 sizes; then fold, call
    modicum-a   the first action of the hand: fold, or raise by 0.75 of the pot; then fold, call
    modicum-b   street 0: raise by 0.75 of the pot first, then call; street 1: fold, call, eleven sizes 0.33 · 2^x of
                the pot, x = 0 … 10; then fold, call

- A call is a check where nothing is owed. A fold is offered where chips are owed; `call` alone never folds, whatever is
  owed.
- A size is what a raise puts in beyond a call, as a fraction of the pot after the call, rounded to chips. It is moved
  inside the legal bounds, and sizes that come out the same count once: so in a limit game every size is the one there
  is, and `fcpa-late` on Leduc is fold, call, raise throughout. Where no raise is legal none is offered.
- Where `modicum-a` has to fold or raise first: if nothing is owed, checking takes the place of folding (it has the big
  blind, and the agent has called); if no raise is legal, calling takes the place of raising. `modicum-b` calls first if
  it cannot raise.

Sources: V. Lisý, M. Bowling, Equilibrium Approximation Quality of Current No-Limit Poker Bots, 2017 (fc; check or call
until a street, then all bets); M. Moravčík et al., DeepStack, 2017 (the four settings of its table); N. Brown's thesis,
2020, 5.2.4 (Modicum; it says ten sizes and lists eleven).
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final, assert_never

from blueprints.translation import raise_to
from protocol.state import CALL, FOLD, Action, Raise, State, can_fold, raise_bounds

_FIRST: Final = 0.75
_POT_OR_ALL_IN: Final = (1.0, math.inf)
_FIFTY_SIX: Final = tuple(0.05 * 1.15**k for k in range(56))
_ELEVEN: Final = tuple(0.33 * 2.0**x for x in range(11))


class Setting(StrEnum):
    """By name, as in `--setting`."""

    FC = "fc"
    FCPA_LATE = "fcpa-late"
    LATE_56 = "56-late"
    FLOP_56 = "56-flop"
    MODICUM_A = "modicum-a"
    MODICUM_B = "modicum-b"


def offered(setting: Setting, state: State, *, first: bool) -> tuple[Action, ...]:
    """What the setting allows at a decision, legal and different: fold, call, raises from small to large.

    `first`: it is the first action of the hand for whoever acts.
    """
    street, late = state.street, state.street >= state.game.num_rounds - 2
    match setting:
        case Setting.FC:
            return _fold_call(state)
        case Setting.FCPA_LATE:
            return _fold_call(state, _POT_OR_ALL_IN) if late else (CALL,)
        case Setting.LATE_56:
            return _fold_call(state, _FIFTY_SIX) if late else (CALL,)
        case Setting.FLOP_56:
            if street == 0:
                return (CALL,)
            return _fold_call(state, _FIFTY_SIX if street == 1 else ())
        case Setting.MODICUM_A:
            bet = _raises(state, (_FIRST,))
            if not first or not bet:
                return _fold_call(state)
            return (FOLD if can_fold(state) else CALL, *bet)
        case Setting.MODICUM_B:
            if street == 0:
                return (_raises(state, (_FIRST,)) if first else ()) or (CALL,)
            return _fold_call(state, _ELEVEN if street == 1 else ())
    assert_never(setting)


def _fold_call(state: State, sizes: tuple[float, ...] = ()) -> tuple[Action, ...]:
    return (*((FOLD,) if can_fold(state) else ()), CALL, *_raises(state, sizes))


def _raises(state: State, sizes: tuple[float, ...]) -> tuple[Action, ...]:
    bounds = raise_bounds(state)
    if bounds is None or state.actor is None:
        return ()
    wanted = [bounds.high if math.isinf(size) else raise_to(size, state.committed, state.actor) for size in sizes]
    return tuple(Raise(to) for to in sorted({min(max(to, bounds.low), bounds.high) for to in wanted}))
