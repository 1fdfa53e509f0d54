"""Small games that several tests play: a public tree and the joint probabilities of private hands.

Kuhn and Leduc are written down from their rules alone; `poker` makes a tree of any game of `protocol`, small enough.
Actions are named as in betting (`f`, `c`, `r`, `r300`), boards by their cards, so that a path says what a decision of a
poker subgame does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from protocol.cards import Card, card_text, cards_text, make_card
from protocol.game import Game
from protocol.hands import hands_of
from protocol.ranking import hand_rank
from protocol.state import State, action_text, apply, start
from solver.menu import Menu
from solver.small import Chance, Decision, Leaf, Node, Path

Rules = tuple[Node, np.ndarray]
"""A tree and the joint probabilities of hands."""


def different(count: int) -> np.ndarray:
    """All pairs of different hands alike."""
    return (1 - np.eye(count)) / (count * (count - 1))


# --- Poker ----------------------------------------------------------------------------------------------------------


def kuhn() -> Rules:
    """Three cards, ante 1, one bet of 1."""
    cards = np.arange(3)
    showdown = np.sign(cards[:, None] - cards)
    bet = {"f": Leaf(1), "c": Leaf(2 * showdown)}
    checked = Decision(1, {"c": Leaf(showdown), "r": Decision(0, {"f": Leaf(-1), "c": Leaf(2 * showdown)})})
    return Decision(0, {"c": checked, "r": Decision(1, bet)}), different(3)


def leduc() -> Rules:
    """Two suits of three ranks, ante 1, bets of 2, then one public card and bets of 4; two bets a street."""
    return _leduc(0, None, (1, 1), 0, 0), different(6)


def _leduc(
    street: int, card: int | None, chips: tuple[int, int], actor: int, raises: int, *, acted: bool = False
) -> Node:
    owed = chips[1 - actor] > chips[actor]
    called = max(chips), max(chips)
    children: dict[str, Node] = {}
    if owed:
        children["f"] = Leaf(-chips[0] if actor == 0 else chips[1])
    if not (owed or acted):
        children["c"] = _leduc(street, card, called, 1 - actor, raises, acted=True)
    elif street == 0:
        children["c"] = Chance(
            {_leduc_name(dealt): (_leduc_chance(dealt), _leduc(1, dealt, called, 0, 0)) for dealt in range(6)}
        )
    else:
        strength = np.array([10 * (held // 2 == card // 2) + held // 2 for held in range(6)])
        children["c"] = Leaf(called[0] * np.sign(strength[:, None] - strength))
    if raises < 2:
        raised = called[0] + 2 * (street + 1)
        after = (raised, chips[1]) if actor == 0 else (chips[0], raised)
        children["r"] = _leduc(street, card, after, 1 - actor, raises + 1, acted=True)
    return Decision(actor, children)


def _leduc_chance(dealt: int) -> np.ndarray:
    chance = np.full((6, 6), 1 / 4)
    chance[dealt] = chance[:, dealt] = 0
    return chance


def _leduc_name(card: int) -> str:
    return card_text(make_card(10 + card // 2, 2 + card % 2))


def poker(game: Game, menu: Menu) -> Rules:
    """The whole of a game, every pair of hands alike; hands are those of `hands_of`."""
    hands = hands_of(game)
    apart = np.array([[float(not set(mine) & set(other)) for other in hands] for mine in hands])
    return _state(start(game), (), menu), apart / apart.sum()


def _state(state: State, board: tuple[Card, ...], menu: Menu) -> Node:
    game, hands = state.game, hands_of(state.game)
    if state.finished and not state.showdown:
        lost = state.folded.index(True)
        return Leaf(state.committed[1] if lost == 1 else -state.committed[0])
    missing = game.board_cards_by(state.street) - len(board)
    if missing:
        street = next(s for s in range(game.num_rounds) if game.board_cards_by(s) > len(board))
        count = game.num_board_cards[street]
        unseen = game.num_suits * game.num_ranks - 2 * game.num_hole_cards - len(board)
        left = [card for card in sorted(game.deck()) if card not in board]
        outcomes = {}
        for dealt in combinations(left, count):
            free = np.array([float(not set(hand) & set(dealt)) for hand in hands])
            after = _state(state, (*board, *dealt), menu)
            outcomes[cards_text(dealt)] = (np.outer(free, free) / comb(unseen, count), after)
        return Chance(outcomes)
    if state.finished:
        return Leaf(min(state.committed) * _showdown(game, board))
    children = {action_text(action, game): _state(apply(state, action), board, menu) for action in menu.actions(state)}
    return Decision(int(state.actor or 0), children)


@lru_cache(maxsize=1000)
def _showdown(game: Game, board: tuple[Card, ...]) -> np.ndarray:
    """1 where player 0 wins, −1 where player 1 does."""
    ranks = [hand_rank((*hand, *board)) if not set(hand) & set(board) else 0 for hand in hands_of(game)]
    return np.sign(np.subtract.outer(ranks, ranks))


def betting_and_board(path: Path) -> tuple[str, str]:
    """What a path says, cards in the order of the deck, streets not told apart."""
    return "".join(name for name in path if name[0] in "cfr"), "".join(name for name in path if name[0] not in "cfr")


# --- Brown's thesis -------------------------------------------------------------------------------------------------


def guess(*, forfeit: bool = True) -> Decision:
    """Coin Toss after Play: player 1 guesses how the coin landed, which only player 0 has seen."""
    answers: dict[str, Node] = {"heads": Leaf([[-1], [1]]), "tails": Leaf([[1], [-1]])}
    return Decision(1, answers | ({"forfeit": Leaf(1)} if forfeit else {}))


COIN = np.array([[0.5], [0.5]])
"""Heads, tails."""


def coin_toss(sell: Sequence[float] = (0.5, -0.5)) -> Rules:
    """Figure 5.1; `sell` is what the coin is sold for."""
    return Decision(0, {"sell": Leaf([[each] for each in sell]), "play": guess()}), COIN


def two_subgames() -> Rules:
    """Figure 5.4: chance leads from Play to one of two subgames, and both see to which."""
    play = Chance({"first": (0.5, guess(forfeit=False)), "second": (0.5, guess(forfeit=False))})
    return Decision(0, {"sell": Leaf([[0.5], [-0.5]]), "play": play}), COIN


RPS_PLUS = np.array([[0, -1, 2], [1, 0, -2], [-2, 2, 0]])
"""Rock, paper, scissors: scissors double what is won and lost."""


def rps_plus() -> Rules:
    """Section 5.2.1; the first player's action is a hand that it picks."""
    names = ("rock", "paper", "scissors")
    return Decision(1, {name: Leaf(RPS_PLUS[:, [column]]) for column, name in enumerate(names)}), np.full((3, 1), 1 / 3)


# --- Any ------------------------------------------------------------------------------------------------------------


def random_game(seed: int, hands: tuple[int, int], *, most: int = 60) -> Rules:
    """One to seven actions, chance that depends on both hands or on nothing, pairs of hands that exclude each other."""
    rng = np.random.default_rng(seed)
    joint = rng.random(hands) * (rng.random(hands) < 0.8)
    joint[0, 0] += 0.1
    left = most

    def grow(depth: int) -> Node:
        nonlocal left
        left -= 1
        if depth == 0 or left <= 0 or (depth < 3 and rng.random() < 0.3):
            return Leaf(rng.normal(size=hands) if rng.random() < 0.8 else float(rng.normal()))
        count = int(rng.integers(1, 8))
        names = [chr(ord("a") + number) for number in range(count)]
        if rng.random() < 0.25:
            by_hands = joint.size > 1 and rng.random() < 0.7
            shares = rng.random((count, *(hands if by_hands else ())))
            if by_hands:
                shares *= rng.random(shares.shape) < 0.8
            shares[0] += 0.1
            shares /= shares.sum(axis=0)
            return Chance({name: (share, grow(depth - 1)) for name, share in zip(names, shares, strict=True)})
        return Decision(int(rng.integers(2)), {name: grow(depth - 1) for name in names})

    return grow(4), joint / joint.sum()


def kinds(tree: Node) -> Mapping[tuple[int, int], int]:
    """How many nodes there are with so many actions, by who acts."""
    found: dict[tuple[int, int], int] = {}
    waiting = [tree]
    for node in waiting:
        if not isinstance(node, Leaf):
            kind = node.player, len(node.children)
            found[kind] = found.get(kind, 0) + 1
            waiting += node.children.values()
    return found
