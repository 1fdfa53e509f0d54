"""The actions of a search's tree: what was played is always in it, and what is not there has a nearest."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.state import Action, Raise, State, apply
from solver.menu import Menu
from strategies.draws import Draws
from strategies.strategy import Decided


def with_played(menu: Menu, root: State, state: State, ours: Sequence[Decided] = ()) -> Menu:
    """The menu with every size added, where it was, that was played between two states.

    So are those that we might have played at our own decisions there, if they are given.
    """
    here = root
    for action in state.actions[len(root.actions) :]:
        supports = [decided.policy.support for decided in ours if decided.state.betting == here.betting]
        sizes = {entry.to for support in (*supports, (action,)) for entry in support if isinstance(entry, Raise)}
        offered = menu.actions(here) if sizes else []
        for to in sorted(sizes):
            if Raise(to) not in offered:
                menu = menu.with_bet(here.betting, to)
        here = apply(here, action)
    return menu


def nearest(actions: Sequence[Action], action: Action) -> int | None:
    """The place of an action, or of the raise whose size is nearest to its; None where there is nothing like it."""
    if action in actions:
        return actions.index(action)
    if not isinstance(action, Raise):
        return None
    sizes = [(abs(each.to - action.to), place) for place, each in enumerate(actions) if isinstance(each, Raise)]
    return min(sizes)[1] if sizes else None


def stack_to_pot(state: State) -> float:
    """The chips behind of whoever has fewer, over those in the pot."""
    behind = min(stack - chips for stack, chips in zip(state.game.stack, state.committed, strict=True))
    return behind / state.pot


def perturbation(most_percent: float, draws: Draws) -> float:
    """By what bet sizes are multiplied in a hand: 1, or up to so much more."""
    return 1 + most_percent / 100 * draws.of_hand("bet sizes").below(2**32) / 2**32
