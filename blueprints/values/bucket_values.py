"""What a bucket is worth at a decision when a blueprint plays against itself: a table over the whole tree.

For each player, decision and bucket: the chips that the player wins from there on, in the mean over all hands of the
bucket, all that the opponent may hold when it has played there as the blueprint does, and all cards to come. Nobody's
hand is looked at but the player's own, which makes the table as small as the strategy. It is what the opponent's hand
was worth against our range, which is what corrections need that are made over our whole range (`dealer_tools.scoring`).

Boards are sampled, hands and betting are not: a few hundred boards meet every bucket. Both players tremble a little, so
that decisions that the blueprint never comes to have values too. A bucket that no board met has the mean of its
decision.

The table is kept in a file beside the tables of buckets and named by all that it depends on; it can be built again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from blueprints.boards.dealer import BoardDealer
from blueprints.cards.interface import Cards
from blueprints.storage import Blueprint
from blueprints.tree import BettingTree
from blueprints.values.kernels.bucket_values import Betting, BoardHands, against, down, meet, up
from machine.files import whole_file
from protocol.arrays import F32, I32, I64
from protocol.cards import Card

F16 = NDArray[np.float16]

BOARDS: Final = 400
_SEED: Final = 0x5E1F
_TREMBLE: Final = 0.02
_CARD_ROWS: Final = 54
_VERSION: Final = 1

Tell = Callable[[int, int], None]
"""Hears how many boards are done, and of how many."""


@dataclass(frozen=True, eq=False)
class Worths:
    """The table."""

    digest: str
    """Of the blueprint, the boards, and how it was computed."""
    _values: F16
    """As shares of the pot at the node."""
    _at: I64
    """[player, node]"""
    _counts: tuple[int, ...]
    _tree: BettingTree

    def of(self, player: int, node: int) -> F16:
        """[bucket] what a player wins from a decision on, in shares of the pot there."""
        begin = int(self._at[player, node])
        values: F16 = self._values[begin : begin + self._counts[self._tree.street[node]]]
        return values


def worths_digest(blueprint: Blueprint, boards: int = BOARDS) -> str:
    """What the table of a blueprint will be called."""
    key = f"{_VERSION} {blueprint.digest} {boards} {_SEED} {_TREMBLE}"
    return blake2b(key.encode(), digest_size=16).hexdigest()


def open_worths(
    blueprint: Blueprint, cards: Cards, folder: Path, *,
    boards: int = BOARDS, threads: int = 1, tell: Tell = lambda *_: None,
) -> Worths:  # fmt: skip
    """The table of a blueprint, from its file if there is one: else it is computed, half a second a board, and kept."""
    digest, tree = worths_digest(blueprint, boards), blueprint.tree
    path, at = _file(digest, folder), _places(tree, blueprint.buckets)
    size = int(at[-1, -1]) + blueprint.buckets[tree.street[-1]]
    values = _read(path, size)
    if values is None:
        values = compute(blueprint, cards, boards=boards, threads=threads, tell=tell)
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            np.save(file, values)
    return Worths(digest, values, at, blueprint.buckets, tree)


def has_worths(blueprint: Blueprint, folder: Path) -> bool:
    """Whether the table of a blueprint is kept there: to compute it takes minutes."""
    return _file(worths_digest(blueprint), folder).is_file()


def _file(digest: str, folder: Path) -> Path:
    return folder / f"worths-{digest}.npy"


def _read(path: Path, size: int) -> F16 | None:
    try:
        values = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError):
        return None
    return np.asarray(values) if values.dtype == np.float16 and values.shape == (size,) else None


def compute(
    blueprint: Blueprint, cards: Cards, *, boards: int = BOARDS, threads: int = 1, tell: Tell = lambda *_: None,
    every: list[tuple[Card, ...]] | None = None,
) -> F16:  # fmt: skip
    """The numbers of the table; over `every` board of a game that has few, if they are given."""
    dealer = BoardDealer(blueprint.game, (cards, cards))
    walk = _Walk(blueprint, dealer, threads)
    rng = np.random.default_rng(_SEED)
    total = len(every) if every is not None else boards
    with ThreadPoolExecutor(threads) as pool:
        for number in range(total):
            walk.board(every[number] if every is not None else dealer.draw(rng), pool)
            tell(number + 1, total)
    return walk.worths()


class _Walk:
    """What does not depend on the board."""

    def __init__(self, blueprint: Blueprint, dealer: BoardDealer, threads: int) -> None:
        self._tree, self._dealer, self._buckets = blueprint.tree, dealer, blueprint.buckets
        tree = self._tree
        self._at = _places(tree, self._buckets)
        self._betting = _betting(blueprint, self._at)
        size = int(self._at[-1, -1]) + self._buckets[tree.street[-1]]
        self._won, self._met = np.zeros((2, size), np.float32)
        self._parts = _parts(tree)
        trunk, below = self._parts[0], self._parts[1:]
        roots = np.array([part[0] for part in below], np.int32)
        self._trunk_slot = _slots(tree, np.concatenate([trunk, roots]))
        self._slots = [_slots(tree, part) for part in below]
        hands = dealer.num_hands
        self._trunk = np.zeros((3, len(trunk) + len(roots), 2, hands), np.float32)
        most = max((len(part) for part in below), default=0)
        self._scratch = [np.zeros((3, most, 2, hands), np.float32) for _ in range(threads)]

    def board(self, board: tuple[Card, ...], pool: ThreadPoolExecutor) -> None:
        """Walk one."""
        deal, hands = self._dealer.deal(board)
        buckets = np.zeros((len(self._buckets), self._dealer.num_hands), np.int32)
        buckets[:, : deal.live] = self._dealer.cards[0].deal(board)[:, hands]
        shown = BoardHands(deal.live, deal.groups, deal.group, deal.cards, deal.minus, deal.twin, buckets)
        reach, meets, _ = self._trunk
        reach[0, :, : deal.live] = 1
        shares, _, totals = self._memory()
        meet(shown, reach[0], meets[0], totals)
        down(self._betting, shown, self._parts[0], self._trunk_slot, reach, meets, shares, totals)
        threads = len(self._scratch)
        jobs = [range(first, len(self._slots), threads) for first in range(threads)]
        for done in [pool.submit(self._below, shown, job, self._scratch[number]) for number, job in enumerate(jobs)]:
            done.result()
        self._up(shown, self._parts[0], self._trunk_slot, self._trunk)

    def _below(self, board: BoardHands, parts: range, scratch: F32) -> None:
        reach, meets, value = scratch
        shares, _, totals = self._memory()
        for number in parts:
            nodes, slot = self._parts[1 + number], self._slots[number]
            there = self._trunk_slot[nodes[0]]
            reach[0], meets[0] = self._trunk[0, there], self._trunk[1, there]
            down(self._betting, board, nodes, slot, reach, meets, shares, totals)
            self._up(board, nodes, slot, scratch)
            self._trunk[2, there] = value[0]

    def _up(self, board: BoardHands, nodes: I32, slot: I32, scratch: F32) -> None:
        up(self._betting, board, nodes, slot, *scratch, *self._memory(), self._won, self._met)

    def _memory(self) -> tuple[F32, F32, F32]:
        hands = self._dealer.num_hands
        return np.zeros(hands, np.float32), np.zeros(hands, np.float32), np.zeros(_CARD_ROWS, np.float32)

    def worths(self) -> F16:
        """What was learnt, as shares of pots."""
        values = np.zeros(len(self._won), np.float16)
        for player in range(2):
            for node in range(self._tree.num_nodes):
                begin = int(self._at[player, node])
                part = slice(begin, begin + self._buckets[self._tree.street[node]])
                won, met = self._won[part].astype(np.float64), self._met[part].astype(np.float64)
                mean = won.sum() / met.sum() if met.sum() > 0 else 0.0
                worth = np.divide(won, met, out=np.full(len(won), mean), where=met > 1e-9 * met.max(initial=1e-30))
                values[part] = worth / self._tree.committed[node].sum()
        return values


class LastStreet:
    """What hands win where a hand will be over after this street, against one hand that is known: exact, no table."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._tree = blueprint.tree
        self._betting = _betting(blueprint, _places(blueprint.tree, blueprint.buckets))

    def values(self, node: int, player: int, buckets: NDArray[np.uint16], theirs: int, signs: F32) -> F32:
        """[hand] chips that `player` wins from a decision on if both play the blueprint.

        Of all hands their buckets, and 1 where they beat the opponent's hand `theirs` or -1 where they lose.
        """
        root = int(np.searchsorted(self._tree.root_at, node, "right"))
        end = int(self._tree.root_at[root])
        values, shares = np.empty((end - node, len(buckets)), np.float32), np.empty(len(buckets), np.float32)
        against(self._betting, node, end, player, int(buckets[theirs]), buckets, signs, shares, values)
        first: F32 = values[0]
        return first


def _betting(blueprint: Blueprint, at: I64) -> Betting:
    """The tree and the strategy for the kernels."""
    tree = blueprint.tree
    rows = np.concatenate([blueprint.strategy(street).ravel() for street in range(blueprint.game.num_rounds)])
    widths = np.array(blueprint.buckets, np.int64)[np.repeat(tree.street, np.diff(tree.first))]
    return Betting(
        tree.player, tree.street, tree.first, tree.leads, tree.folder, tree.pays,
        _frozen(rows), _frozen(np.cumsum(widths) - widths), _frozen(at), np.float32(_TREMBLE),
    )  # fmt: skip


def _places(tree: BettingTree, buckets: tuple[int, ...]) -> I64:
    """[player, node] where its numbers begin."""
    widths = np.array(buckets, np.int64)[tree.street]
    begins = np.cumsum(widths) - widths
    return np.stack([begins, begins + int(widths.sum())])


def _parts(tree: BettingTree) -> list[I32]:
    """The nodes of the first street, then all below each root of the second, parents first."""
    first = int(np.flatnonzero(tree.street_at)[0]) - 1
    parts = [_nodes(tree, range(int(tree.street_at[first]), int(tree.street_at[first + 1])))]
    if first + 1 == tree.num_streets:
        return parts
    for root in range(int(tree.street_at[first + 1]), int(tree.street_at[first + 2])):
        roots, nodes = range(root, root + 1), []
        for street in range(first + 1, tree.num_streets):
            nodes.append(_nodes(tree, roots))
            if street + 1 < tree.num_streets:
                roots = _following(tree, nodes[-1], street + 1)
        parts.append(np.concatenate(nodes))
    return parts


def _nodes(tree: BettingTree, roots: range) -> I32:
    """The nodes of neighbouring roots."""
    return np.arange(tree.root_at[roots.start], tree.root_at[roots.stop], dtype=np.int32)


def _following(tree: BettingTree, nodes: I32, street: int) -> range:
    """The roots of a street to which edges of these nodes lead: neighbours."""
    if not len(nodes):
        return range(0)
    leads = tree.leads[tree.first[nodes[0]] : tree.first[nodes[-1] + 1]]
    there = leads[leads >= tree.nodes_of(street).start]
    if not len(there):
        return range(0)
    found = np.searchsorted(tree.root_at, [there.min(), there.max()])
    return range(int(found[0]), int(found[1]) + 1)


def _slots(tree: BettingTree, nodes: I32) -> I32:
    slots = np.full(tree.num_nodes, -1, np.int32)
    slots[nodes] = np.arange(len(nodes))
    return slots


def _frozen(array: NDArray[np.generic]) -> NDArray[np.generic]:
    array.flags.writeable = False
    return array
