"""Reaches and values at a place of a subgame, in float64, one pair of hands at a time: a twin of
`solver.subgame_solver`.

A policy is a dictionary by (player, hand, betting, board): a probability for each action of the menu. Boards are in the
order of dealing. Nothing is shared with the solver but the menu.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from protocol.cards import Card
from protocol.state import Action, Deal, State, apply, payoffs
from solver.menu import Menu

Hand = tuple[Card, ...]
Board = tuple[Card, ...]
Policy = Mapping[tuple[int, Hand, str, Board], Sequence[float]]


def reach(
    root: State, menu: Menu, policy: Policy, player: int, hand: Hand, line: Sequence[Action], board: Board
) -> float:
    """The probability that `player` does its part of a line; zero with a hand that the board makes impossible."""
    if set(hand) & set(board):
        return 0.0
    product, state = 1.0, root
    for action in line:
        if state.actor == player:
            shown = board[: root.game.board_cards_by(state.street)]
            product *= policy[player, hand, state.betting, shown][menu.actions(state).index(action)]
        state = apply(state, action)
    return product


def value(
    state: State, menu: Menu, policy: Policy, me: int, hand: Hand, against: Mapping[Hand, float], board: Board
) -> float | None:
    """What a hand of `me` wins from a state on, against a weighting of the other's hands; None if it meets none."""
    pairs = [(other, weight) for other, weight in against.items() if weight and not set(other) & set(hand)]
    if not pairs:
        return None
    won = 0.0
    for other, weight in pairs:
        hands = (hand, other) if me == 0 else (other, hand)
        won += weight * _of_pair(state, menu, policy, me, hands, board)
    return won / sum(weight for _, weight in pairs)


def _of_pair(state: State, menu: Menu, policy: Policy, me: int, hands: tuple[Hand, Hand], board: Board) -> float:
    game = state.game
    if state.finished and not state.showdown:
        return payoffs(state, Deal(hands, board))[me]
    if len(board) < game.board_cards_by(state.street):
        dealt = next(street for street in range(game.num_rounds) if game.board_cards_by(street) > len(board))
        left = [card for card in sorted(game.deck()) if card not in {*board, *hands[0], *hands[1]}]
        ways = list(combinations(left, game.num_board_cards[dealt]))
        return sum(_of_pair(state, menu, policy, me, hands, (*board, *cards)) for cards in ways) / len(ways)
    if state.finished:
        return payoffs(state, Deal(hands, board))[me]
    actor = int(state.actor or 0)
    total = 0.0
    for action, probability in zip(menu.actions(state), policy[actor, hands[actor], state.betting, board], strict=True):
        if probability:
            total += probability * _of_pair(apply(state, action), menu, policy, me, hands, board)
    return total
