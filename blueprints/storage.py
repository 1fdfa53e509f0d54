"""Blueprint files: a trained strategy with all that is needed to play it, in 8 bits a probability.

A file (`blueprints.container`) holds the betting tree, the centres of the card abstraction (small games need none), and
the average strategy of each street that has decisions: `strategy_<street>` uint8[edge of the street, bucket]. Edges are
in the tree's order, so those of a node stand together and a decision reads one block. For each node and bucket the
actions' numbers add up to exactly 255 (`blueprints.rounding`).

The header says what everything belongs to: the game and the menu as text, hashes of game, tree and card abstraction,
the settings, and what the training was. What is cheap to check is checked on opening; `verify` looks at everything, and
builds the tree again from game and menu.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from blueprints.cards.exact import ExactCards
from blueprints.container import Array, Container, write_container
from blueprints.settings import BlueprintSettings
from blueprints.tree import BettingTree, TreeError, build_tree
from machine.errors import ConfigError, ParatusError, quote
from machine.refusals import problem_words
from protocol.arrays import F32, U8
from protocol.errors import BlueprintError
from protocol.game import Game, game_text, parse_game
from solver.menu import parse_menu

if TYPE_CHECKING:
    from blueprints.cards.centroids import Centroids
    from blueprints.cards.interface import Cards
    from blueprints.cards.work import Progress


TOTAL: Final = 255
"""What the numbers of a node and bucket add up to."""
MOST_REVISION_CHARS: Final = 200
REVISIONS_APART: Final = "; "
MOST_RUNS: Final = 1000
EXACT: Final = "exact"
CENTROIDS: Final = "centroids"
_FORMAT: Final = "paratus-blueprint"
_TREE: Final = "tree_"
_CARDS: Final = "cards_"
_STRATEGY: Final = "strategy_"


class OneRun(BaseModel):
    """A run that a strategy is of, or one of several that were merged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(ge=0)
    walks: int = Field(ge=0)
    """With those of the file that it began from."""
    before: tuple[int, ...] = Field(default=(), max_length=MOST_RUNS)
    """Seeds of that file."""

    @property
    def seeds(self) -> frozenset[int]:
        """Of all boards that it has learnt from."""
        return frozenset((self.seed, *self.before))


class Training(BaseModel):
    """What a strategy cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    walks: int = Field(default=0, ge=0)
    updates: int = Field(default=0, ge=0)
    """Updates of an action at an information set, "nodes touched"."""
    periods: int = Field(default=0, ge=0)
    core_seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    revision: str = Field(default="", max_length=MOST_REVISION_CHARS, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")
    """Of the code."""
    runs: tuple[OneRun, ...] = Field(default=(), max_length=MOST_RUNS)
    """More than one if they were merged; none if it is one that began from nothing."""


_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")]
# Text of a file is shown to people: it must not speak to their terminals.
_Shown = Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]


class Header(BaseModel):
    """What a file says about itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["paratus-blueprint"]
    name: _Shown
    game_name: _Shown
    game: str
    game_hash: _Digest
    menu: _Shown
    tree: _Digest
    cards: _Digest
    card_kind: Literal["exact", "centroids"]
    buckets: tuple[int, ...]
    """By street."""
    settings: BlueprintSettings
    training: Training


def revisions_text(revisions: Sequence[str]) -> str:
    """Of the code that trained it, in order: all if they fit in a header, else the first and the last."""
    each = list(dict.fromkeys(revisions))
    whole = REVISIONS_APART.join(each)
    return whole if len(whole) <= MOST_REVISION_CHARS else REVISIONS_APART.join([each[0], "…", each[-1]])


def quantise_nodes(averages: F32, first: NDArray[Any]) -> U8:
    """Average strategies [edge, bucket] in 8 bits: the columns of each node add up to 255.

    `first` is the first edge of each node, with the end.
    """
    from blueprints.rounding import round_nodes  # compiled

    if averages.ndim != 2 or averages.dtype != np.float32:
        raise BlueprintError(f"averages are {averages.dtype}{averages.shape}: expected float32 [edge, bucket]")
    first = np.ascontiguousarray(first, np.int64)
    if not len(first) or first[0] != 0 or first[-1] != len(averages) or (np.diff(first) < 1).any():
        raise BlueprintError(f"averages of {len(averages):,} edges: the nodes have {first[-1] if len(first) else 0:,}")
    out = np.zeros(averages.shape, np.uint8)
    wrong = round_nodes(np.ascontiguousarray(averages), first, TOTAL, out)
    if wrong:
        raise BlueprintError(f"averages: {wrong:,} are negative or not finite: expected numbers from 0 up")
    return out


def write_blueprint(
    path: Path,
    *,
    settings: BlueprintSettings,
    game: Game,
    tree: BettingTree,
    cards: Centroids | ExactCards,
    averages: Sequence[F32],
    training: dict[str, Any] | Training,
) -> str:
    """Write a file, all of it or nothing; returns its digest.

    `averages` are [edge of the street, bucket] for each street of the game; any positive multiple of a strategy will
    do, node by node and bucket by bucket, and all zero stands for not known.
    """
    exact = isinstance(cards, ExactCards)
    buckets = tuple(map(int, cards.counts if isinstance(cards, ExactCards) else cards.settings.counts))
    if len(averages) != game.num_rounds or len(buckets) != game.num_rounds or tree.num_streets != game.num_rounds:
        raise BlueprintError(
            f"averages of {len(averages)} streets, buckets of {len(buckets)}, a tree of {tree.num_streets}: "
            f"expected the {game.num_rounds} of the game"
        )
    try:
        cost = training if isinstance(training, Training) else Training(**training)
    except ValidationError as error:
        raise BlueprintError(f"{path}: training: {problem_words(error, Training)}") from None
    header = Header(
        format=_FORMAT,
        name=settings.name,
        game_name=game.name,
        game=game_text(game),
        game_hash=game_hash(game),
        menu=settings.menu,
        tree=tree.digest,
        cards=cards.digest,
        card_kind=EXACT if exact else CENTROIDS,
        buckets=buckets,
        settings=settings,
        training=cost,
    )
    arrays: dict[str, Array] = {_TREE + name: array for name, array in tree.to_arrays().items()}
    if not isinstance(cards, ExactCards):
        arrays |= {_CARDS + name: array for name, array in cards.to_arrays().items()}
    for street, average in enumerate(averages):
        first = first_edges(tree, street)
        expected = (int(first[-1]), buckets[street])
        if average.shape != expected:
            raise BlueprintError(f"averages of street {street} are {list(average.shape)}: expected {list(expected)}")
        if len(first) > 1:
            arrays[f"{_STRATEGY}{street}"] = quantise_nodes(average, first)
    return write_container(path, header.model_dump(mode="json"), arrays)


class Blueprint:
    """An open file. `open` makes one."""

    path: Path
    header: Header
    game: Game
    tree: BettingTree
    digest: str
    """Names the file's whole content."""

    def __init__(self, container: Container) -> None:
        """Check everything but the strategy's numbers."""
        self.path, self.digest, self._container = container.path, container.digest, container
        try:
            self.header = Header.model_validate(container.fields)
            self.game = parse_game(self.header.game, self.header.game_name).game
        except ValidationError as error:
            raise container.wrong(problem_words(error, Header)) from None
        except ConfigError as error:
            raise container.wrong(f"game: {error}") from None
        container.check_same("hash of the game", game_hash(self.game), self.header.game_hash)
        container.check_same("name", self.header.name, self.header.settings.name)
        container.check_same("menu", self.header.menu, self.header.settings.menu)
        container.check_same("streets of buckets", len(self.header.buckets), self.game.num_rounds)
        names = [name.removeprefix(_TREE) for name in container.records if name.startswith(_TREE)]
        try:
            self.tree = BettingTree.from_arrays({name: np.array(container.checked(_TREE + name)) for name in names})
            _check_tree(self.tree, self.game)
        except KeyError as error:
            raise container.wrong(f"no array {quote(_TREE + str(error.args[0]))}: expected one") from None
        except TreeError as error:
            raise container.wrong(f"tree: {error}") from None
        container.check_same("hash of the tree", self.tree.digest, self.header.tree)
        self._strategy: dict[int, U8] = {}
        self._first_edge: dict[int, int] = {}
        for street in range(self.game.num_rounds):
            first = first_edges(self.tree, street)
            if len(first) > 1:
                self._strategy[street] = self._rows_of(street, int(first[-1]))
                self._first_edge[street] = int(self.tree.first[self.tree.nodes_of(street).start])
        self._check_names()

    @classmethod
    def open(cls, path: Path, *, verify: bool = False) -> Blueprint:
        """Milliseconds, unless all is verified. Raises `BlueprintError`, which says in a line what differs."""
        blueprint = cls(Container(path))
        if verify:
            blueprint.verify()
        return blueprint

    @property
    def name(self) -> str:
        """Of its settings."""
        return self.header.name

    @property
    def settings(self) -> BlueprintSettings:
        """What it was made by."""
        return self.header.settings

    @property
    def buckets(self) -> tuple[int, ...]:
        """How many, by street."""
        return self.header.buckets

    @property
    def runs(self) -> tuple[OneRun, ...]:
        """Those that it is of."""
        training = self.header.training
        return training.runs or (OneRun(seed=self.settings.trainer.seed, walks=training.walks),)

    @property
    def size_bytes(self) -> int:
        """Of the file."""
        return self.path.stat().st_size

    def strategy(self, street: int) -> U8:
        """[edge of the street, bucket], read-only; empty if the street has no decisions."""
        nothing: U8 = np.empty((0, self.buckets[street]), np.uint8)
        return self._strategy.get(street, nothing)

    def strategies(self) -> list[U8]:
        """Those of all streets."""
        return [self.strategy(street) for street in range(self.game.num_rounds)]

    def rows(self, node: int) -> U8:
        """[action, bucket] of a node, read-only: columns add up to 255."""
        street = int(self.tree.street[node])
        base = self._first_edge[street]
        return self._strategy[street][int(self.tree.first[node]) - base : int(self.tree.first[node + 1]) - base]

    def check_content(self) -> None:
        """Compare every byte with its hash: a tenth of a second for 40 MB. Raises `BlueprintError`."""
        self._container.verify()

    def verify(self) -> None:
        """Look at every number; seconds. Raises `BlueprintError`."""
        self.check_content()
        for street, rows in self._strategy.items():
            first = first_edges(self.tree, street)
            sums = np.add.reduceat(rows, first[:-1], axis=0, dtype=np.uint16)
            wrong = int((sums != TOTAL).sum())
            if wrong:
                raise self._container.wrong(
                    f"{_STRATEGY}{street}: {wrong:,} buckets of a node do not add up to {TOTAL}: expected none"
                )
        self.abstraction()
        try:
            tree = build_tree(self.game, parse_menu(self.header.menu), max_nodes=self.tree.num_nodes)
        except ParatusError as error:
            raise self._container.wrong(f"its tree cannot be built again: {error}") from None
        self._container.check_same("hash of the tree that game and menu make", tree.digest, self.header.tree)

    def abstraction(self) -> Centroids | ExactCards:
        """What its buckets are."""
        return self.centroids() if self.header.card_kind == CENTROIDS else self._exact_cards()

    def centroids(self) -> Centroids:
        """Those of hold'em. Raises `BlueprintError` if the file is for a small game."""
        from blueprints.cards.centroids import Centroids

        container = self._container
        container.check_same("card abstraction", self.header.card_kind, CENTROIDS)
        names = [name.removeprefix(_CARDS) for name in container.records if name.startswith(_CARDS)]
        try:
            found = Centroids.from_arrays({name: container.checked(_CARDS + name) for name in names})
        except BlueprintError as error:
            message = str(error)
            raise error if message.startswith(str(self.path)) else container.wrong(message) from None
        container.check_same("hash of the card abstraction", found.digest, self.header.cards)
        container.check_same("buckets of the card abstraction", found.settings.counts, self.buckets)
        return found

    def cards(self, folder: Path, progress: Progress | None = None, *, rivers: bool = True) -> Cards:
        """The card abstraction, ready for use; for hold'em its tables are in `folder`, or are built there (a minute).

        Without `rivers` the largest of them, 291 MB, is not needed: buckets of rivers are computed when asked for.
        """
        if self.header.card_kind == EXACT:
            return self._exact_cards()
        from blueprints.cards.holdem import HoldemCards

        return HoldemCards.open(self.centroids(), folder, rivers=rivers, progress=progress)

    def missing_tables(self, folder: Path) -> list[Path]:
        """What `cards` would have to build there."""
        if self.header.card_kind == EXACT:
            return []
        from blueprints.cards.tables import missing_tables

        return missing_tables(self.centroids(), folder)

    def check_matches(self, game: Game) -> None:
        """Raise `BlueprintError` if this is not the game to play; what the game is called does not matter."""
        if game_hash(game) == self.header.game_hash:
            return
        mine, asked = (dict(map(_setting, text.splitlines())) for text in (self.header.game, game_text(game)))
        key = next(key for key in [*mine, *asked] if mine.get(key) != asked.get(key))
        what = {text: f"{key} = {text}" if text else f"no {key}" for text in (mine.get(key, ""), asked.get(key, ""))}
        raise self._container.wrong(
            f"a blueprint for {self.header.game_name}, {what[mine.get(key, '')]}: "
            f"expected {game.name}, {what[asked.get(key, '')]}"
        )

    def _rows_of(self, street: int, edges: int) -> U8:
        name = f"{_STRATEGY}{street}"
        if name not in self._container.records:
            raise self._container.wrong(f"no array {name}: expected one")
        rows = self._container[name]
        found, expected = f"{rows.dtype}{list(rows.shape)}", f"uint8{[edges, self.buckets[street]]}"
        self._container.check_same(name, found, expected)
        return rows

    def _check_names(self) -> None:
        strategies = {f"{_STRATEGY}{street}" for street in self._strategy}
        cards = () if self.header.card_kind == EXACT else (_CARDS,)
        for name in self._container.records:
            if not name.startswith((_TREE, *cards)) and name not in strategies:
                raise self._container.wrong(f"array {quote(name)}: expected none of that name")

    def _exact_cards(self) -> ExactCards:
        found = ExactCards(self.game)
        self._container.check_same("hash of the card abstraction", found.digest, self.header.cards)
        self._container.check_same("buckets of the card abstraction", found.counts, self.buckets)
        return found


def game_hash(game: Game) -> str:
    """Of a game's rules, whatever it is called."""
    return blake2b(game_text(game).encode(), digest_size=16).hexdigest()


def _setting(line: str) -> tuple[str, str]:
    key, _, value = line.partition(" = ")
    return ("betting", key) if key in ("limit", "nolimit") else (key, value)


def first_edges(tree: BettingTree, street: int) -> NDArray[np.int64]:
    """The first edge of each node of a street, counted from the street's first, and the end."""
    nodes = tree.nodes_of(street)
    first = tree.first[nodes.start : nodes.stop + 1].astype(np.int64)
    from_zero: NDArray[np.int64] = first - first[0]
    return from_zero


def _check_tree(tree: BettingTree, game: Game) -> None:
    """Raise `TreeError` if the arrays make no tree of whole hands of this game: all indices must be in bounds."""
    nodes, edges, leaves = tree.num_nodes, tree.num_edges, len(tree.pays)
    ok = (
        nodes > 0
        and tree.street.shape == tree.player.shape == (nodes,)
        and tree.committed.shape == (nodes, 2)
        and tree.first.shape == (nodes + 1,)
        and tree.does.shape == tree.leads.shape == (edges,)
        and tree.folder.shape == tree.pays.shape == (leaves,)
        and tree.root_at.ndim == tree.street_at.ndim == 1
        and tree.street_at.shape == (game.num_rounds + 1,)
        and _climbs(tree.first, 1, edges)
        and _climbs(tree.root_at, 1, nodes)
        and _climbs(tree.street_at, 0, len(tree.root_at) - 1)
        and tree.street_at[1] == 1
        and bool((tree.player < 2).all())
        and bool((tree.does >= -1).all())
        and bool((tree.committed >= 0).all())
        and np.array_equal(tree.street, np.repeat(np.arange(game.num_rounds), _nodes_by_street(tree)))
        and bool(((tree.leads < nodes) & (tree.leads >= -leaves)).all())
        and bool((tree.leads[tree.leads >= 0] > _node_of_edge(tree)[tree.leads >= 0]).all())
    )
    if not ok:
        raise TreeError("its arrays do not fit together: expected the betting of whole hands of the game")


def _climbs(array: NDArray[np.int32], least: int, last: int) -> bool:
    steps = np.diff(array.astype(np.int64))
    return len(array) > 1 and array[0] == 0 and array[-1] == last and bool((steps >= least).all())


def _nodes_by_street(tree: BettingTree) -> NDArray[np.int64]:
    ends = tree.root_at[tree.street_at].astype(np.int64)
    counts: NDArray[np.int64] = ends[1:] - ends[:-1]
    return counts


def _node_of_edge(tree: BettingTree) -> NDArray[np.int64]:
    return np.repeat(np.arange(tree.num_nodes), np.diff(tree.first))
