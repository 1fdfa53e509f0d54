"""A subgame of poker ready to be solved: betting forests, boards and hands as arrays, priced before memory is taken.

The root is any public state at which somebody acts, with its board and a range for each player; the subgame goes to the
end of the hand. Ranges are weights over all hands of the game (`protocol.hands.hands_of`). A player's hand list keeps
only hands with a weight that the board allows.

Values are chips won over the whole hand, times the opponent's compatible reach and chance: counterfactual values. The
probability of each board of a street is one over the number of ways to deal it from the cards that neither the board
nor the two hands hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from machine.errors import ParatusError
from protocol.arrays import F64, I32
from protocol.cards import Card, cards_text
from protocol.hands import DeckHands, SuitPermutation, hands_of, permute_cards
from protocol.state import Action, State
from solver.betting import Forest, Node, build_forest
from solver.boards import SolvedBoard, boards_of, permutation_of
from solver.deals import DealTable, build_deals, opposing_weights
from solver.kernels.types import padded
from solver.kernels.vectors import BLOCK
from solver.menu import Menu
from solver.problem import Problem, stack

Range = npt.NDArray[np.floating]


class SubgameError(ParatusError):
    """A subgame that cannot be solved as asked."""


@dataclass(frozen=True, slots=True)
class Storage:
    """How regrets and averages are kept."""

    bits: int = 32
    """32 for study, 16 (bfloat16, dithered rounding) for play: half the memory, and faster where memory is slow."""
    later_averages: bool = True
    """Average strategies of the streets after the root's too. Without them nothing can be asked about those streets,
    nor the exploitability."""


FULL: Final = Storage()


@dataclass(frozen=True, slots=True)
class SubgamePrice:
    """What a subgame costs."""

    decisions: int
    """Public decisions, each counted for every board."""
    boards: int
    """Boards that are solved, of all streets; those that a change of suits makes alike count once."""
    pairs: int
    """(hand, action) pairs: each has a regret and an average."""
    bytes: int


@dataclass(frozen=True, slots=True)
class SubgameLimits:
    """What a subgame is refused beyond."""

    nodes: int = 200_000
    """Decisions of the betting tree on any street."""
    bytes: int = 8 << 30


LIMITS: Final = SubgameLimits()


@dataclass(frozen=True, slots=True)
class Place:
    """A decision of a subgame, on one board."""

    street: int
    """Counted from the root."""
    node: int
    """Its number in the street's forest."""
    board: int
    """The number, among the street's boards, of the board that is solved for this one."""
    suits: SuitPermutation = (0, 1, 2, 3)
    """How the suits of the board that is meant become those of the one that is solved."""


ROOT: Final = Place(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Outline:
    """A subgame before any large memory is taken."""

    root: State
    board: tuple[Card, ...]
    menu: Menu
    forests: tuple[Forest, ...]
    table: DealTable
    price: SubgamePrice


def outline(
    root: State,
    board: Sequence[Card],
    ranges: Sequence[Range],
    menu: Menu,
    *,
    limits: SubgameLimits = LIMITS,
    storage: Storage = FULL,
    alike: bool = True,
    marks: Sequence[Range] = (),
) -> Outline:
    """Check what is asked and price it. Boards are alike only if `marks`, numbers by hand, are so too.

    Of the limits only that of the tree counts.
    """
    _check(root, board, ranges)
    if storage.bits not in (32, 16):
        raise SubgameError(f"{storage.bits} bits: expected 32 or 16")
    forests = _forests(root, menu, limits.nodes)
    all_hands = hands_of(root.game)
    index = (_live(all_hands, board, ranges[0]), _live(all_hands, board, ranges[1]))
    hands = ([all_hands[i] for i in index[0].tolist()], [all_hands[i] for i in index[1].tolist()])
    boards = boards_of(root.game, root.street, tuple(board), (*ranges, *marks), alike=alike)
    table = DealTable(root.game, root.street, boards, index, hands)
    return Outline(root, tuple(board), menu, forests, table, _price(forests, table, storage))


class Subgame(Problem):
    """The arrays of one subgame; nothing in it changes while it is solved."""

    least_share = 1e-4  # its values are small differences of sums in float32: rounding

    def __init__(
        self,
        root: State,
        board: Sequence[Card],
        ranges: Sequence[Range],
        menu: Menu,
        *,
        limits: SubgameLimits = LIMITS,
        storage: Storage = FULL,
        alike: bool = True,
        marks: Sequence[Range] = (),
    ) -> None:
        plan = outline(root, board, ranges, menu, limits=limits, storage=storage, alike=alike, marks=marks)
        self.root, self.board, self.menu, self.storage = root, plan.board, menu, storage
        self.forests, self.price = plan.forests, plan.price
        self.hand_index, self.hands, self.boards = plan.table.hand_index, plan.table.hands, plan.table.boards
        if self.price.bytes > limits.bytes:
            raise SubgameError(
                f"the subgame needs {self.price.bytes / 2**20:,.0f} MiB for {self.price.pairs:,} (hand, action) pairs: "
                f"more than the {limits.bytes / 2**20:,.0f} MiB allowed; offer fewer sizes or smaller ranges"
            )
        weights = [_relative(np.asarray(ranges[player], np.float64)[self.hand_index[player]]) for player in range(2)]
        if float(weights[0] @ self.opposing(0, weights[1])) <= 0:
            raise SubgameError("the ranges block each other: no pair of hands can be dealt")
        super().__init__(
            stack([forest.parts for forest in self.forests]),
            build_deals(plan.table, [forest.edges for forest in self.forests]),
            weights,
            bits=storage.bits,
            averaged=[street == 0 or storage.later_averages for street in range(len(self.forests))],
            unit=root.game.big_blind,
            pot=root.pot,
        )

    def opposing(self, player: int, weights: F64) -> F64:
        return opposing_weights(self.hands[player], self.hands[1 - player], weights)

    def node(self, place: Place) -> Node:
        """The state and the actions of a decision."""
        return self.forests[place.street].nodes[place.node]

    def place(self, actions: Sequence[Action], cards: Sequence[Card] = ()) -> Place:
        """The decision that a line of actions leads to, with the cards dealt below the root."""
        street, node = 0, 0
        for count, action in enumerate(actions):
            forest = self.forests[street]
            offered = forest.nodes[node].actions
            if action not in offered:
                raise SubgameError(f"action {count + 1} of the line, {action}: expected one of {_names(offered)}")
            number, local = forest.find(node)
            part = forest.parts[number]
            row = int(part.child[part.first[local] + offered.index(action)])
            if row < len(part.nodes):
                node = forest.number(number, row)
                continue
            root = row - len(part.nodes) - part.showdown_lanes - part.fold_lanes
            if not 0 <= root < part.num_next:
                raise SubgameError(f"action {count + 1} of the line, {action}: the hand is over, nobody acts")
            street, node = street + 1, self.forests[street + 1].root(root)
        board, suits = self._find_board(street, tuple(cards))
        return Place(street, node, board, suits)

    def cards(self, place: Place) -> tuple[Card, ...]:
        """The board of a place."""
        change = place.suits
        back = (change.index(0), change.index(1), change.index(2), change.index(3))
        return permute_cards(self.boards[place.street][place.board].cards, back)

    def permutation(self, place: Place, player: int) -> I32:
        """[hand] the hand of the solved board that stands for each hand of the place's."""
        return permutation_of(self.hands[player], place.suits)

    def treats_alike(self, player: int, numbers: npt.NDArray[np.floating]) -> bool:
        """Whether [hand] numbers of a player stay as they are where one board stands for another."""
        changes = {suits for street in self.boards for board in street for _, suits in board.images}
        return numbers.ndim == 0 or all(
            np.array_equal(numbers, numbers[permutation_of(self.hands[player], suits)]) for suits in changes
        )

    def number(self, place: Place) -> int:
        """The number of the place's board among those of all streets."""
        return sum(len(street) for street in self.boards[: place.street]) + place.board

    def before(self, place: Place) -> tuple[Place, int] | None:
        """The decision before, and the number of its action that leads here; None at the root."""
        if place.street == 0 and place.node == 0:
            return None
        street, board = place.street, place.board
        forest = self.forests[street]
        number, row = forest.find(place.node)
        part = forest.parts[number]
        if row < part.num_roots:
            board, street = self.boards[street][board].before, street - 1
            roots = sum(each.num_roots for each in forest.parts[:number]) + row
            forest = self.forests[street]
            number, part = 0, forest.parts[0]
            row = len(part.nodes) + part.showdown_lanes + part.fold_lanes + roots
        child = int(np.flatnonzero(part.child == row)[0])
        node = int(np.searchsorted(part.first, child, side="right")) - 1
        return Place(street, forest.number(number, node), board, place.suits), child - int(part.first[node])

    def _find_board(self, street: int, dealt: tuple[Card, ...]) -> tuple[int, SuitPermutation]:
        """The number of the board that is solved for this one, and how suits change between them."""
        game = self.root.game
        wanted = game.board_cards_by(self.root.street + street) - len(self.board)
        left = set(game.deck()) - set(self.board)
        if len(dealt) != wanted or len(set(dealt)) != wanted or not left.issuperset(dealt):
            raise SubgameError(f"cards {cards_text(dealt)!r}: expected {wanted} different cards that the board leaves")
        number, suits = 0, (0, 1, 2, 3)
        for later in range(1, street + 1):
            cuts = [game.board_cards_by(self.root.street + each) - len(self.board) for each in (later - 1, later)]
            fresh = set(permute_cards(dealt[cuts[0] : cuts[1]], suits))
            number, change = _matching(self.boards[later], number, fresh)
            suits = (change[suits[0]], change[suits[1]], change[suits[2]], change[suits[3]])
        return number, suits


def _matching(boards: Sequence[SolvedBoard], before: int, dealt: set[Card]) -> tuple[int, SuitPermutation]:
    """Which board continues `before` with these cards, as itself or as an image."""
    for number, board in enumerate(boards):
        if board.before == before:
            for cards, suits in board.images:
                if dealt.issubset(cards[-len(dealt) :]):
                    return number, suits
    raise AssertionError("every way to deal is an image of some board")


def _relative(weights: F64) -> F64:
    """Only proportions count; with the largest at 1 no product leaves the range of float32."""
    relative: F64 = weights / weights.max()
    return relative


def _names(actions: Sequence[Action]) -> str:
    return ", ".join(str(action) for action in actions)


def _check(root: State, board: Sequence[Card], ranges: Sequence[Range]) -> None:
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
    if len(ranges) != 2:
        raise SubgameError(f"{len(ranges)} ranges: expected two, by player")
    count = len(hands_of(game))
    for player, weights in enumerate(ranges):
        array = np.asarray(weights)
        if array.shape != (count,) or not np.isfinite(array).all() or (array < 0).any():
            raise SubgameError(f"range of player {player}: expected {count} weights from 0 up")


def _live(all_hands: DeckHands, board: Sequence[Card], weights: Range) -> I32:
    live = np.flatnonzero(all_hands.live(board) & (np.asarray(weights) > 0))
    if not live.size:
        raise SubgameError("a range is empty, or blocked by the board: expected at least one hand that can be held")
    return live.astype(np.int32)


def _forests(root: State, menu: Menu, max_nodes: int) -> tuple[Forest, ...]:
    forests: list[Forest] = []
    roots: Sequence[State] = (root,)
    for street in range(root.street, root.game.num_rounds):
        last = street == root.game.num_rounds - 1
        earlier = [chips for forest in reversed(forests) for chips in forest.all_in_chips] if last else []
        forest = build_forest(roots, menu, earlier, last=last, max_nodes=max_nodes)
        forests.append(forest)
        roots = forest.next_states
    return tuple(forests)


def _price(forests: Sequence[Forest], table: DealTable, storage: Storage) -> SubgamePrice:
    hands = [padded(len(hands), BLOCK) for hands in table.hands]
    boards = [len(street) for street in table.boards]
    pairs = [
        count * (forest.edges[0] * hands[0] + forest.edges[1] * hands[1])
        for forest, count in zip(forests, boards, strict=True)
    ]
    averaged = sum(pairs) if storage.later_averages else pairs[0]
    tables = 2 * max(hands) * (4 * sum(boards) + 8 * boards[-1])
    widest = max(hands)
    scratch = 8 * widest * sum(max(part.slots for part in forest.parts) for forest in forests)
    delivered = 4 * widest * (forests[0].parts[0].num_next + len(forests[0].all_in_chips)) * (boards[1:2] or [0])[0]
    return SubgamePrice(
        decisions=sum(len(forest.nodes) * count for forest, count in zip(forests, boards, strict=True)),
        boards=sum(boards),
        pairs=sum(pairs),
        bytes=(sum(pairs) + averaged) * storage.bits // 8 + tables + scratch + delivered,
    )
