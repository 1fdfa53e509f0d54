"""Game definitions: what an ACPC `.game` file says, checked once.

A file holds one `key = values` a line between GAMEDEF and END GAMEDEF. As in the reference dealer, keys are matched
without regard to case and as prefixes of the line, `=` is white space, and lines that begin with `#` are skipped.
Unlike it, unknown keys are reported (it ignores them in silence, so that a misspelt `maxRaise` changes the game), and
every error names file, line, key and value.

Positions count from 0 in the order of the blinds; in the file `firstPlayer` counts from 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final, NewType

from machine.errors import ConfigError, quote
from protocol.cards import Card, deck

Seat = NewType("Seat", int)
"""A chair at the table: the same bot sits there for the whole match. From 0; messages of the dealer print it from 1."""

Position = NewType("Position", int)
"""A place relative to the button: it moves from seat to seat every hand. 0 posts the first blind."""

Street = NewType("Street", int)
"""A betting round, from 0 (before the flop)."""

MAX_PLAYERS: Final = 10
MAX_STREETS: Final = 4
MAX_HOLE_CARDS: Final = 3
MAX_SHOWDOWN_CARDS: Final = 7
UNLIMITED: Final = 2**31 - 1
STREET_NAMES: Final = ("preflop", "flop", "turn", "river")
DEFAULT_MAX_RAISES: Final = 255
DEFAULT_GAME: Final = "holdem.nolimit.2p.reverse_blinds"


class GameError(ConfigError):
    """A game definition that cannot be played."""


@dataclass(frozen=True, slots=True)
class Game:
    """One poker game of the ACPC family. Its constructor accepts only games that can be played."""

    no_limit: bool
    num_players: int
    num_rounds: int
    blind: tuple[int, ...]
    """Chips posted before the hand, by position."""
    stack: tuple[int, ...]
    """Chips at the start of every hand, by position, blinds included."""
    first_player: tuple[Position, ...]
    """Who acts first on each street."""
    raise_size: tuple[int, ...]
    """Chips of a raise on each street in a limit game; empty in a no-limit game."""
    max_raises: tuple[int, ...]
    num_suits: int
    num_ranks: int
    num_hole_cards: int
    num_board_cards: tuple[int, ...]
    """Cards dealt to the board at the start of each street."""
    name: str = "unnamed"

    def __post_init__(self) -> None:
        for key, value, low, high in (
            ("numPlayers", self.num_players, 2, MAX_PLAYERS),
            ("numRounds", self.num_rounds, 1, MAX_STREETS),
            ("numSuits", self.num_suits, 1, 4),
            ("numRanks", self.num_ranks, 1, 13),
            ("numHoleCards", self.num_hole_cards, 1, MAX_HOLE_CARDS),
        ):
            if not low <= value <= high:
                raise GameError(f"{key} = {value}: expected {low} to {high}")
        self._check_lists()
        self._check_chips()
        board = sum(self.num_board_cards)
        cards, in_deck = self.num_hole_cards * self.num_players + board, self.num_suits * self.num_ranks
        if cards > in_deck:
            raise GameError(f"a hand needs {cards} cards, but numSuits × numRanks make a deck of {in_deck}")
        if self.num_hole_cards + board > MAX_SHOWDOWN_CARDS:
            raise GameError(
                f"numHoleCards and numBoardCards make hands of {self.num_hole_cards + board} cards: "
                f"expected at most {MAX_SHOWDOWN_CARDS}"
            )

    def _check_lists(self) -> None:
        players, rounds = self.num_players, self.num_rounds
        for key, values, count in (
            ("blind", self.blind, players),
            ("stack", self.stack, players),
            ("firstPlayer", self.first_player, rounds),
            ("raiseSize", self.raise_size, 0 if self.no_limit else rounds),
            ("maxRaises", self.max_raises, rounds),
            ("numBoardCards", self.num_board_cards, rounds),
        ):
            if len(values) != count:
                raise GameError(f"{key} has {len(values)} values: expected {count}")
            if min(values, default=0) < 0:
                raise GameError(f"{key} = {min(values)}: expected no negative number")
        if max(self.first_player) >= players:
            raise GameError(f"firstPlayer = {max(self.first_player) + 1}: expected 1 to {players}")
        if min(self.raise_size, default=1) < 1:
            raise GameError("raiseSize = 0: expected at least one chip")

    def _check_chips(self) -> None:
        for position, (blind, stack) in enumerate(zip(self.blind, self.stack, strict=True)):
            if stack < 1 or stack > UNLIMITED:
                raise GameError(f"stack = {stack} for player {position + 1}: expected 1 to {UNLIMITED}")
            if blind > stack:
                raise GameError(f"blind = {blind} for player {position + 1}: expected at most the stack, {stack}")
        if all(blind == stack for blind, stack in zip(self.blind, self.stack, strict=True)):
            raise GameError("the blinds put every player all-in: expected a stack above its blind")

    @property
    def big_blind(self) -> int:
        """The unit of win rates: the largest blind, or one chip in a game without blinds."""
        return max(self.blind) or 1

    def deck(self) -> tuple[Card, ...]:
        """The cards in play, in dealing order."""
        return deck(self.num_suits, self.num_ranks)

    def board_cards_by(self, street: int) -> int:
        """Cards on the board once `street` has begun."""
        return sum(self.num_board_cards[: street + 1])


@dataclass(frozen=True, slots=True)
class ParsedGame:
    """A definition and what its author should be told about the text it came from."""

    game: Game
    warnings: tuple[str, ...]


_LIST_KEYS = {
    "numPlayers": 1,
    "numRounds": 1,
    "stack": MAX_PLAYERS,
    "blind": MAX_PLAYERS,
    "raiseSize": MAX_STREETS,
    "firstPlayer": MAX_STREETS,
    "maxRaises": MAX_STREETS,
    "numSuits": 1,
    "numRanks": 1,
    "numHoleCards": 1,
    "numBoardCards": MAX_STREETS,
}
_REQUIRED = ("numPlayers", "numRounds", "numSuits", "numRanks", "numHoleCards", "numBoardCards")
_NUMBER = re.compile(r"[0-9]{1,10}")
_MAX_DEFINITION_CHARS = 65_536


def parse_game(text: str, source: str = "<text>") -> ParsedGame:
    """Read a definition; `source` names it in errors and warnings, its last path component names the game."""
    if len(text) > _MAX_DEFINITION_CHARS:
        raise GameError(f"{source}: {len(text)} characters: expected a game definition of at most 65536")
    no_limit: bool | None = None
    values: dict[str, tuple[int, ...]] = {}
    lines: dict[str, int] = {}
    warnings: list[str] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        lowered = line.lower()
        if not line or line.startswith("#"):
            continue
        if lowered.startswith("end gamedef"):
            break
        if lowered.startswith("gamedef"):
            continue
        if lowered.startswith(("nolimit", "limit")):
            no_limit = lowered.startswith("nolimit")
            continue
        key = next((key for key in _LIST_KEYS if lowered.startswith(key.lower())), None)
        if key is None:
            warnings.append(f"{source}:{number}: unknown key {quote(line)}: ignored")
            continue
        if key in values:
            warnings.append(f"{source}:{number}: {key} was already given on line {lines[key]}: the later line counts")
        values[key] = _read_numbers(line[len(key) :], key, f"{source}:{number}")
        lines[key] = number
    else:
        warnings.append(f"{source}: no END GAMEDEF line: the file may be cut short")
    missing = [key for key in _REQUIRED if key not in values]
    if no_limit is None:
        missing.insert(0, "limit or nolimit")
    if missing or no_limit is None:
        raise GameError(f"{source}: missing {', '.join(missing)}")
    try:
        game = _assemble(no_limit, values, Path(source).name.removesuffix(".game"), warnings, source)
    except GameError as error:
        place = next((f"{source}:{lines[key]}" for key in lines if str(error).startswith(key)), source)
        raise GameError(f"{place}: {error}") from None
    return ParsedGame(game, tuple(warnings))


def _read_numbers(text: str, key: str, place: str) -> tuple[int, ...]:
    words = text.replace("=", " ").split()
    if not words:
        raise GameError(f"{place}: {key} has no value: expected a number")
    if len(words) > _LIST_KEYS[key]:
        raise GameError(f"{place}: {key} has {len(words)} values: expected at most {_LIST_KEYS[key]}")
    for word in words:
        if not _NUMBER.fullmatch(word) or int(word) > UNLIMITED:
            raise GameError(f"{place}: {key} = {quote(word)}: expected a number from 0 to {UNLIMITED}")
    return tuple(int(word) for word in words)


def _assemble(no_limit: bool, values: dict[str, tuple[int, ...]], name: str, warnings: list[str], source: str) -> Game:
    # Bounded here, since lists are made of these lengths; the constructor refuses what is out of bounds.
    players, rounds = min(values["numPlayers"][0], MAX_PLAYERS), min(values["numRounds"][0], MAX_STREETS)

    def by(key: str, count: int, default: tuple[int, ...]) -> tuple[int, ...]:
        given = values.get(key, default)
        if len(given) > count:
            warnings.append(f"{source}: {key} has {len(given)} values, {count} are used")
        return given[:count]

    first_player = by("firstPlayer", rounds, (1,) * rounds)
    if 0 in first_player:
        raise GameError(f"firstPlayer = 0: expected 1 to {players}")
    if "blind" not in values:
        warnings.append(f"{source}: no blind: nobody posts any chips")
    if no_limit and "stack" not in values:
        warnings.append(f"{source}: no stack in a no-limit game: stacks are {UNLIMITED}")
    if no_limit and "raiseSize" in values:
        warnings.append(f"{source}: raiseSize means nothing in a no-limit game: ignored")
    return Game(
        no_limit=no_limit,
        num_players=values["numPlayers"][0],
        num_rounds=values["numRounds"][0],
        blind=by("blind", players, (0,) * players),
        stack=by("stack", players, (UNLIMITED,) * players),
        first_player=tuple(Position(player - 1) for player in first_player),
        raise_size=() if no_limit else by("raiseSize", rounds, ()),
        max_raises=by("maxRaises", rounds, (DEFAULT_MAX_RAISES,) * rounds),
        num_suits=values["numSuits"][0],
        num_ranks=values["numRanks"][0],
        num_hole_cards=values["numHoleCards"][0],
        num_board_cards=by("numBoardCards", rounds, ()),
        name=name,
    )


def game_text(game: Game) -> str:
    """The definition as a `.game` file that reads back to an equal game."""

    def line(key: str, values: tuple[int, ...]) -> list[str]:
        return [f"{key} = {' '.join(map(str, values))}"]

    return "\n".join(
        [
            "GAMEDEF",
            "nolimit" if game.no_limit else "limit",
            *line("numPlayers", (game.num_players,)),
            *line("numRounds", (game.num_rounds,)),
            *(line("stack", game.stack) if game.no_limit or min(game.stack) < UNLIMITED else ()),
            *line("blind", game.blind),
            *(line("raiseSize", game.raise_size) if game.raise_size else ()),
            *line("firstPlayer", tuple(player + 1 for player in game.first_player)),
            *(line("maxRaises", game.max_raises) if set(game.max_raises) != {DEFAULT_MAX_RAISES} else ()),
            *line("numSuits", (game.num_suits,)),
            *line("numRanks", (game.num_ranks,)),
            *line("numHoleCards", (game.num_hole_cards,)),
            *line("numBoardCards", game.num_board_cards),
            "END GAMEDEF",
            "",
        ]
    )


def shipped_games() -> dict[str, Path]:
    """The definitions that come with Paratus, by name."""
    folder = Path(str(resources.files("protocol"))) / "games"
    return {path.name.removesuffix(".game"): path for path in sorted(folder.glob("*.game"))}


def find_game(name_or_path: str) -> Path:
    """The file of a game: a path, or the name of a shipped definition with or without `.game`."""
    shipped = shipped_games().get(name_or_path.removesuffix(".game"))
    if shipped is not None and not Path(name_or_path).is_file():
        return shipped
    return Path(name_or_path)


def load_game(name_or_path: str) -> ParsedGame:
    """Read a game from a file, or by the name of a shipped definition."""
    path = find_game(name_or_path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        names = ", ".join(shipped_games())
        raise GameError(f"{name_or_path}: {reason}: expected a .game file or one of {names}") from None
    return parse_game(text, name_or_path)
