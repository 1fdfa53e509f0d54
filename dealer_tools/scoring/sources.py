"""From paths to the hands to be scored: which player, whose policies, which hands are played twice.

A path is the folder of a match that `paratus match` played (its legs, with the stores of our bots) or that of a session
with slumbot.com (`paratus slumbot`), a log beside which stores may lie, a store alone, or any other file of hands
(`dealer_tools.formats.open`). Sessions of one player are scored together. Two hands with one number and the same cards,
the seats swapped, are one deal that was played twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dealer_tools.formats.open import read_sessions
from dealer_tools.formats.records import PlayedHand, RecordedSession, RefusedHand
from dealer_tools.formats.stores import StoredMatch, attach, read_store
from dealer_tools.scoring.holdings import ScoreError
from machine.errors import quote
from protocol.game import Game, game_text

_STORE = b"SQLite format 3\0"
_LOG = "match.log"
SESSION = "session.jsonl"
"""The log of `paratus slumbot` in its folder."""


@dataclass(frozen=True, slots=True)
class Hands:
    """What is to be scored."""

    game: Game
    player: str
    hands: tuple[PlayedHand, ...]
    pairs: tuple[tuple[int, int], ...]
    """Places of the two hands of each deal that was played twice."""
    refused: tuple[RefusedHand, ...]
    notes: tuple[str, ...]
    identities: tuple[str, ...]
    """What played, as the stores of either player say."""


@dataclass(frozen=True, slots=True)
class _Source:
    """The sessions of one path."""

    sessions: list[RecordedSession]
    stores: list[list[StoredMatch]]
    """Beside each session."""

    def with_policies(self, player: str, *, both: bool) -> list[RecordedSession]:
        """The sessions with what the stores of the player hold, or those of both."""
        found = []
        for session, stores in zip(self.sessions, self.stores, strict=True):
            for store in stores:
                if (both or store.path.stem == player) and store.path.stem not in _known(session):
                    session = attach(session, store, store.path.stem)
            found.append(session)
        return found


def read_hands(paths: Sequence[Path], player: str | None = None, *, both: bool = False) -> Hands:
    """All hands of one player, with its policies or those of `both`.

    Raises `ScoreError` if the paths do not belong together.
    """
    sources = [_read(path) for path in paths]
    names = dict.fromkeys(name for source in sources for session in source.sessions for name in session.players)
    player = player or _default(sources, list(names))
    read = [source.with_policies(player, both=both) for source in sources]
    sessions = [session for each in read for session in each]
    game = sessions[0].game
    hands: list[PlayedHand] = []
    for session in sessions:
        if player not in session.players:
            raise ScoreError(
                f"{session.source}: player {quote(player)} is not in it: it has {', '.join(session.players)}"
            )
        if game_text(session.game) != game_text(game):
            raise ScoreError(f"{session.source}: another game than {sessions[0].source}: expected one game")
        hands += session.hands
    refused = tuple([each for session in sessions for each in session.refused])
    if not hands:
        why = f" ({refused[0].where}: {refused[0].reason})" if refused else ""
        raise ScoreError(f"{', '.join(map(str, paths))}: no hands{why}: expected one at least")
    notes = [note for session in sessions for note in session.notes]
    pairs = _pairs(hands)
    if pairs and 2 * len(pairs) != len(hands):
        notes.append(f"{len(hands) - 2 * len(pairs)} hands have no partner with the seats swapped")
    unknown = sum(hand.baseline_chips is None for hand in hands)
    if 0 < unknown < len(hands):
        notes.append(f"no baseline: {unknown} of {len(hands)} hands have no baseline_winnings")
    stores = [store for source in sources for beside in source.stores for store in beside]
    identities = dict.fromkeys(
        f"{store.path.stem}: {store.agent} {json.dumps(store.identity, sort_keys=True)}" for store in stores
    )
    return Hands(game, player, tuple(hands), pairs, refused, tuple(notes), tuple(identities))


def _default(sources: Sequence[_Source], names: Sequence[str]) -> str:
    """The first player whose policies are known, or the first of all."""
    known = {store.path.stem for source in sources for beside in source.stores for store in beside}
    return next((name for name in names if name in known), names[0])


def _read(path: Path) -> _Source:
    if path.is_dir():
        return _read_folder(path)
    try:
        with path.open("rb") as file:
            head = file.read(len(_STORE))
    except OSError as error:
        raise ScoreError(f"{path}: {error.strerror}: expected a match folder, a log or a store") from None
    if head == _STORE:
        return _Source([read_store(path)], [[StoredMatch(path)]])
    sessions = read_sessions(path)
    if len(sessions) == 1:
        return _Source(sessions, [_stores_beside(sessions[0], path.parent)])
    return _Source(sessions, [[] for _ in sessions])


def _read_folder(path: Path) -> _Source:
    """A match that was played here, or a leg of one, or a session with a server."""
    for log in (_LOG, SESSION):
        if (path / log).is_file():
            return _read(path / log)
    legs = [folder for folder in sorted(path.iterdir()) if (folder / _LOG).is_file()]
    if not legs:
        raise ScoreError(
            f"{path}: expected a folder that `paratus match` wrote, with a {_LOG} in each leg, or one of "
            f"`paratus slumbot`, with {SESSION}"
        )
    read = [_read(leg / _LOG) for leg in legs]
    sessions = [session for source in read for session in source.sessions]
    return _Source(sessions, [beside for source in read for beside in source.stores])


def _stores_beside(session: RecordedSession, folder: Path) -> list[StoredMatch]:
    """The stores of the players of a log that lie beside it."""
    return [StoredMatch(path) for path in sorted(folder.glob("*.sqlite")) if path.stem in session.players]


def _known(session: RecordedSession) -> set[str]:
    """Whose policies its hands have already."""
    return {name for hand in session.hands[:1] for name in hand.decisions}


def _pairs(hands: Sequence[PlayedHand]) -> tuple[tuple[int, int], ...]:
    """Hands with one number and the same cards by position, the names swapped. The same hand twice is an error."""
    found, seen, open_ = [], dict[tuple[object, ...], str](), dict[tuple[object, ...], list[int]]()
    for place, hand in enumerate(hands):
        record = hand.record
        key = record.hand, record.deal.hole, record.names
        whole = (*key, record.state.betting)
        if all(record.deal.hole) and whole in seen:
            raise ScoreError(f"{hand.where}: the same hand as {seen[whole]}: expected each hand once")
        seen[whole] = hand.where
        waiting = open_.get((record.hand, record.deal.hole, record.names[::-1])) if all(record.deal.hole) else None
        if waiting:
            found.append((waiting.pop(), place))
        else:
            open_.setdefault(key, []).append(place)
    return tuple(found)


def first_hands(hands: Hands, count: int | None) -> Hands:
    """The first so many, in order, or all; where deals were played twice, those of the first half as many deals."""
    if count is None:
        return hands
    if not hands.pairs:
        return replace(hands, hands=hands.hands[:count])
    kept = hands.pairs[: max(1, count // 2)]
    places = sorted(place for pair in kept for place in pair)
    number = {place: new for new, place in enumerate(places)}
    return replace(
        hands,
        hands=tuple(hands.hands[place] for place in places),
        pairs=tuple((number[first], number[second]) for first, second in kept),
        notes=(*hands.notes, f"only the first {len(places)} hands"),
    )
