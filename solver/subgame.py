"""A subgame ready to be solved: betting forests, boards and hands as arrays, priced before memory is taken.

The root is any public state at which somebody acts, with its board and a range for each player; the subgame goes to the
end of the hand. Ranges are weights over the hands of the game in `hands_of` order (for hold'em the 1,326 of
`protocol.hands`). A player's hand list keeps only hands with a weight that the board allows.

Values are chips won over the whole hand, times the opponent's compatible reach and chance: counterfactual values. The
probability of each board of a street is one over the number of ways to deal it from the cards that neither the board
nor the two hands hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from protocol.cards import Card
from protocol.errors import ParatusError
from protocol.game import Game
from protocol.kernels import rank_hands
from protocol.state import State
from solver.betting import F32, I32, Forest, Menu, build_forest, padded
from solver.kernels import MAX_SWEEP_LANES, NUM_CARD_ROWS, Deals, Scratch, Trees
from solver.vectors import LANES

_LINE_FLOATS = 16


class SubgameError(ParatusError):
    """A subgame that cannot be solved as asked."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a subgame costs."""

    decisions: int
    """Public decisions, each counted for every board."""
    boards: int
    pairs: int
    """(hand, action) pairs: each has a regret and an average."""
    bytes: int


def aligned_zeros(count: int) -> F32:
    """float32 zeros that begin at a cache line: a vector that straddles two lines costs twice."""
    raw = np.zeros(count + _LINE_FLOATS, np.float32)
    begin = -raw.ctypes.data % (4 * _LINE_FLOATS) // 4
    return raw[begin : begin + count]


@lru_cache(maxsize=16)
def hands_of(game: Game) -> tuple[tuple[Card, ...], ...]:
    """All hands a player can hold, in colex order over the sorted deck."""
    deck = sorted(game.deck())
    places = combinations(range(len(deck)), game.num_hole_cards)
    return tuple(tuple(deck[place] for place in hand) for hand in sorted(places, key=lambda hand: hand[::-1]))


class Subgame:
    """The arrays of one subgame; nothing in it changes while it is solved."""

    def __init__(
        self,
        root: State,
        board: Sequence[Card],
        ranges: Sequence[npt.NDArray[np.floating]],
        menu: Menu,
        *,
        max_nodes: int = 200_000,
        max_bytes: int = 8 << 30,
    ) -> None:
        game = root.game
        _check(root, board, ranges)
        self.root, self.board, self.menu = root, tuple(board), menu
        self.forests = _forests(root, menu, max_nodes)
        all_hands = hands_of(game)
        self.hand_index: tuple[I32, I32] = (_live(all_hands, board, ranges[0]), _live(all_hands, board, ranges[1]))
        """[player][hand] its number in `hands_of`."""
        self.hands = tuple([[all_hands[i] for i in index.tolist()] for index in self.hand_index])
        self.boards = _boards(game, root.street, tuple(board))
        self.price = self._price()
        if self.price.bytes > max_bytes:
            raise SubgameError(
                f"the subgame needs {self.price.bytes / 2**20:,.0f} MiB for {self.price.pairs:,} (hand, action) pairs: "
                f"more than the {max_bytes / 2**20:,.0f} MiB allowed; offer fewer sizes or smaller ranges"
            )
        self.trees = _trees(self.forests)
        self.deals = self._deals()
        self.ranges = tuple([self._padded_range(player, ranges[player]) for player in range(2)])
        self.compatible = self._compatible_reach()
        self.total = float(self.ranges[0].astype(np.float64) @ self.compatible[0])
        """The weight of all pairs of hands: counterfactual values over it are expectations."""
        if self.total <= 0:
            raise SubgameError("the ranges block each other: no pair of hands can be dealt")

    def scratch(self) -> Scratch:
        """Working memory for one thread."""
        trees, widest = self.trees, max(self.deals.hands)
        fold_begin = np.concatenate(([0], np.cumsum(trees.fold_lanes * widest))).astype(np.int64)
        next_begin = np.concatenate(([0], np.cumsum(trees.next_roots * widest))).astype(np.int64)
        all_in_begin = np.concatenate(([0], np.cumsum(trees.all_ins * widest))).astype(np.int64)
        showdown = int((widest + 1) * trees.showdown_lanes[-1])

        return Scratch(
            rows=aligned_zeros(max(len(forest.nodes) + forest.slots for forest in self.forests) * LANES),
            showdown_reach=aligned_zeros(showdown),
            showdown_value=aligned_zeros(showdown),
            fold_reach=aligned_zeros(int(fold_begin[-1])),
            fold_value=aligned_zeros(int(fold_begin[-1])),
            fold_begin=fold_begin,
            next_reach=aligned_zeros(int(next_begin[-1])),
            next_value=aligned_zeros(int(next_begin[-1])),
            next_begin=next_begin,
            all_in_reach=aligned_zeros(int(all_in_begin[-1])),
            all_in_value=aligned_zeros(int(all_in_begin[-1])),
            all_in_begin=all_in_begin,
            totals=aligned_zeros(MAX_SWEEP_LANES),
            card_totals=aligned_zeros(NUM_CARD_ROWS * MAX_SWEEP_LANES),
        )

    def _price(self) -> Price:
        hands = [padded(len(hands)) for hands in self.hands]
        boards = [len(street) for street in self.boards]
        decisions = sum(len(forest.nodes) * count for forest, count in zip(self.forests, boards, strict=True))
        pairs = sum(
            count * (forest.edges[0] * hands[0] + forest.edges[1] * hands[1])
            for forest, count in zip(self.forests, boards, strict=True)
        )
        tables = sum(boards) * sum(hands) * 4 + boards[-1] * sum(hands) * 8
        return Price(decisions, sum(boards), pairs, pairs * 8 + tables)

    def _deals(self) -> Deals:
        game, boards = self.root.game, [board for street in self.boards for board in street]
        hands = np.array([padded(len(hands)) for hands in self.hands], np.int32)
        widest = int(hands.max())
        cards = np.full((2, widest, 2), 52, np.int32)
        minus = np.full((2, widest, 2), 53, np.int32)
        twin = np.full((2, widest), -1, np.int32)
        two_cards = game.num_hole_cards == 2
        numbers = [{hand: number for number, hand in enumerate(hands)} for hands in self.hands]
        for player in range(2):
            for number, hand in enumerate(self.hands[player]):
                cards[player, number, : len(hand)] = hand
                minus[player, number, : len(hand)] = hand
                if two_cards:
                    twin[player, number] = numbers[1 - player].get(hand, -1)
        streets = np.repeat(np.arange(len(self.boards)), [len(street) for street in self.boards]).astype(np.int32)
        alive = np.zeros((2, len(boards), widest), np.float32)
        for player in range(2):
            held: npt.NDArray[np.int64] = np.array(self.hands[player])
            for number, board in enumerate(boards):
                alive[player, number, : len(held)] = ~np.isin(held, board).any(axis=1) if board else 1.0
        final = np.where(
            streets == len(self.boards) - 1, np.arange(len(boards)) - (len(boards) - len(self.boards[-1])), -1
        )
        order, group, groups = self._orders(widest)
        return Deals(
            hands=hands,
            cards=cards,
            minus=minus,
            twin=twin,
            real=np.array([len(hands) for hands in self.hands], np.int32),
            street=streets,
            base=self._bases(hands, streets),
            alive=alive,
            final=final.astype(np.int32),
            order=order,
            place=_places(order, group, groups, widest),
            in_order=np.arange(widest, dtype=np.int32),
            group=group,
            groups=groups,
            chance=self._chances(),
            schedule=self._schedule(boards, streets),
        )

    def _bases(self, hands: I32, streets: I32) -> npt.NDArray[np.int64]:
        bases = np.zeros((2, len(streets)), np.int64)
        for player in range(2):
            sizes = np.array([self.forests[s].edges[player] * int(hands[player]) for s in streets], np.int64)
            bases[player, 1:] = np.cumsum(sizes)[:-1]
        return bases

    def _orders(self, widest: int) -> tuple[I32, I32, I32]:
        """Live hands by strength on each board of the last street, and where each strength begins."""
        count = len(self.boards[-1])
        order = np.zeros((2, count, widest), np.int32)
        groups = np.zeros(count, np.int32)
        starts: list[list[npt.NDArray[np.int64]]] = [[], []]
        held = [np.array(hands, np.uint8) for hands in self.hands]
        for number, board in enumerate(self.boards[-1]):
            ranks, live = [], []
            for player in range(2):
                shown = np.array(board, np.uint8)
                alive = (
                    np.flatnonzero(~np.isin(held[player], shown).any(axis=1)) if board else np.arange(len(held[player]))
                )
                rows = np.hstack([held[player][alive], np.tile(shown, (len(alive), 1))])
                ranks.append(rank_hands(np.ascontiguousarray(rows)))
                live.append(alive)
            levels = np.unique(np.concatenate(ranks))
            groups[number] = len(levels)
            for player in range(2):
                by_rank = np.argsort(ranks[player], kind="stable")
                order[player, number, : len(by_rank)] = live[player][by_rank]
                begins = np.searchsorted(ranks[player][by_rank], levels)
                starts[player].append(np.append(begins, len(by_rank)))
        group = np.zeros((2, count, int(groups.max()) + 1), np.int32)
        for player in range(2):
            for number, begins in enumerate(starts[player]):
                group[player, number, : len(begins)] = begins
        return order, group, groups

    def _chances(self) -> F32:
        game = self.root.game
        chances = [1.0]
        for street in range(self.root.street + 1, game.num_rounds):
            unseen = game.num_suits * game.num_ranks - 2 * game.num_hole_cards - game.board_cards_by(street - 1)
            chances.append(1 / comb(unseen, game.num_board_cards[street]))
        return np.array(chances, np.float32)

    def _schedule(self, boards: list[tuple[Card, ...]], streets: I32) -> I32:
        """Boards in depth-first order: a board is left after all boards that continue it."""
        children: dict[tuple[Card, ...], list[int]] = {}
        for number, board in enumerate(boards):
            if streets[number]:
                children.setdefault(_before(self.root.game, board, self.root.street + int(streets[number])), []).append(
                    number
                )
        steps: list[int] = []
        waiting = [0]
        while waiting:
            step = waiting.pop()
            steps.append(step)
            if not step & 1:
                waiting.append(step + 1)
                waiting += [2 * child for child in reversed(children.get(boards[step >> 1], []))]
        return np.array(steps, np.int32)

    def _padded_range(self, player: int, weights: npt.NDArray[np.floating]) -> F32:
        padded_range = aligned_zeros(int(self.deals.hands[player]))
        padded_range[: len(self.hands[player])] = np.asarray(weights)[self.hand_index[player]]
        return padded_range

    def _compatible_reach(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """[player][hand] the opponent's weight over hands that share no card with it."""
        result = []
        for player in range(2):
            mine: npt.NDArray[np.int64] = np.array(self.hands[player])
            theirs: npt.NDArray[np.int64] = np.array(self.hands[1 - player])
            clash = (mine[:, None, :, None] == theirs[None, :, None, :]).any(axis=(2, 3))
            weights = self.ranges[1 - player][: len(theirs)].astype(np.float64)
            padded_sums = np.zeros(int(self.deals.hands[player]))
            padded_sums[: len(mine)] = ~clash @ weights
            result.append(padded_sums)
        return result[0], result[1]


def _check(root: State, board: Sequence[Card], ranges: Sequence[npt.NDArray[np.floating]]) -> None:
    game = root.game
    if game.num_players != 2:
        raise SubgameError(f"a game of {game.num_players} players: expected two")
    if game.num_hole_cards > 2:
        raise SubgameError(f"hands of {game.num_hole_cards} cards: expected one or two")
    if root.actor is None:
        raise SubgameError("the hand is over at the root: expected a state in which somebody acts")
    wanted = game.board_cards_by(root.street)
    if len(board) != wanted or len(set(board)) != wanted or not set(game.deck()).issuperset(board):
        raise SubgameError(f"board of {len(board)} cards: expected {wanted} different cards of the deck")
    count = len(hands_of(game))
    for player, weights in enumerate(ranges):
        array = np.asarray(weights)
        if array.shape != (count,) or not np.isfinite(array).all() or (array < 0).any():
            raise SubgameError(f"range of player {player}: expected {count} weights from 0 up")


def _live(all_hands: tuple[tuple[Card, ...], ...], board: Sequence[Card], weights: npt.NDArray[np.floating]) -> I32:
    blocked = set(board)
    live = [
        number
        for number, (hand, weight) in enumerate(zip(all_hands, np.asarray(weights).tolist(), strict=True))
        if weight > 0 and blocked.isdisjoint(hand)
    ]
    if not live:
        raise SubgameError("a range is empty, or blocked by the board: expected at least one hand that can be held")
    return np.array(live, np.int32)


def _forests(root: State, menu: Menu, max_nodes: int) -> tuple[Forest, ...]:
    forests: list[Forest] = []
    roots: Sequence[State] = (root,)
    for street in range(root.street, root.game.num_rounds):
        last = street == root.game.num_rounds - 1
        earlier = [chips for forest in forests for chips in forest.all_in_chips] if last else []
        forest = build_forest(roots, menu, street - root.street, earlier, max_nodes=max_nodes)
        forests.append(forest)
        roots = forest.next_states
    return tuple(forests)


def _boards(game: Game, street: int, board: tuple[Card, ...]) -> list[list[tuple[Card, ...]]]:
    """The boards of each street from the root on; within a street they follow the order of the boards before."""
    streets = [[board]]
    deck = sorted(game.deck())
    for later in range(street + 1, game.num_rounds):
        streets.append(
            [
                (*before, *dealt)
                for before in streets[-1]
                for dealt in combinations([card for card in deck if card not in before], game.num_board_cards[later])
            ]
        )
    return streets


def _before(game: Game, board: tuple[Card, ...], street: int) -> tuple[Card, ...]:
    return board[: game.board_cards_by(street - 1)]


def _places(order: I32, group: I32, groups: I32, widest: int) -> I32:
    """[player, final board, hand] where a hand stands in the order of strength."""
    place = np.full((2, len(groups), widest), widest, np.int32)
    for player in range(2):
        for board, last in enumerate(groups.tolist()):
            live = order[player, board, : group[player, board, last]]
            place[player, board, live] = np.arange(len(live))
    return place


def _trees(forests: tuple[Forest, ...]) -> Trees:
    def ints(values: npt.ArrayLike) -> I32:
        return np.array(values, np.int32)

    first, child_at = [], 0
    for forest in forests:
        first.append(forest.first[:-1] + child_at)
        child_at += len(forest.child)
    lanes = [forest.fold_lanes for forest in forests]
    return Trees(
        node_at=ints(np.concatenate(([0], np.cumsum([len(forest.nodes) for forest in forests])))),
        player=np.concatenate([forest.player for forest in forests]),
        edge=np.concatenate([forest.edge for forest in forests]),
        first=np.concatenate(first).astype(np.int32),
        count=np.concatenate([np.diff(forest.first) for forest in forests]).astype(np.int32),
        child=np.concatenate([forest.child for forest in forests]),
        edges=ints([forest.edges for forest in forests]),
        roots=ints([forest.num_roots for forest in forests]),
        showdown_lanes=ints([forest.showdown_lanes for forest in forests]),
        fold_lanes=ints(lanes),
        next_roots=ints([len(forest.next_states) for forest in forests]),
        all_ins=ints([len(forest.all_in_chips) for forest in forests]),
        showdowns=ints([forest.showdowns for forest in forests]),
        showdown_chips=forests[-1].showdown_chips,
        fold_at=ints(np.concatenate(([0], np.cumsum(lanes)))),
        fold_chips=np.ascontiguousarray(np.concatenate([forest.fold_chips for forest in forests], axis=1)),
    )
