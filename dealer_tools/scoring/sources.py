"""From paths to the hands to be scored: which player, whose policies, which hands are played twice.

A path is the folder of a match that `paratus match` played (its legs, with the stores of our bots) or that of a session
with slumbot.com (`paratus slumbot`), a log beside which stores may lie, a store alone, or any other file of hands
(`dealer_tools.formats.open`). Sessions of one player are scored together; those of a duplicate match in pairs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dealer_tools.formats.open import read_sessions
from dealer_tools.formats.records import PlayedHand, Refused, Session
from dealer_tools.formats.stores import StoredMatch, attach, read_store
from dealer_tools.scoring.holdings import ScoreError
from protocol.errors import quote
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
    """Places of the two hands of each deal of a duplicate match."""
    refused: tuple[Refused, ...]
    notes: tuple[str, ...]
    identities: tuple[str, ...]
    """What played, as the stores say."""


@dataclass(frozen=True, slots=True)
class _Source:
    """The sessions of one path."""

    sessions: list[Session]
    duplicate: bool
    stores: list[list[StoredMatch]]
    """Beside each session."""

    def with_policies(self, player: str, *, both: bool) -> list[Session]:
        """The sessions with what the stores of the player hold, or those of both."""
        found = []
        for session, stores in zip(self.sessions, self.stores, strict=True):
            for store in stores:
                if both or store.path.stem == player:
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
    pairs: list[tuple[int, int]] = []
    notes = [note for session in sessions for note in session.notes]
    for source, of_source in zip(sources, read, strict=True):
        begins = []
        for session in of_source:
            if player not in session.players:
                raise ScoreError(
                    f"{session.source}: player {quote(player)} is not in it: it has {', '.join(session.players)}"
                )
            if game_text(session.game) != game_text(game):
                raise ScoreError(f"{session.source}: another game than {sessions[0].source}: expected one game")
            begins.append(len(hands))
            hands += session.hands
        if source.duplicate:
            pairs += _pairs(of_source, begins)
    if not hands:
        raise ScoreError(f"{', '.join(map(str, paths))}: no hands: expected one at least")
    if any(source.duplicate for source in sources) and 2 * len(pairs) != len(hands):
        notes.append(f"{len(hands) - 2 * len(pairs)} hands have no partner: duplicate leaves them out")
    unknown = sum(hand.baseline_chips is None for hand in hands)
    if 0 < unknown < len(hands):
        notes.append(f"no baseline: {unknown} of {len(hands)} hands have no baseline_winnings")
    refused = tuple([each for session in sessions for each in session.refused])
    stores = [store for source in sources for beside in source.stores for store in beside if store.path.stem == player]
    identities = tuple(dict.fromkeys(f"{store.agent} {json.dumps(store.identity, sort_keys=True)}" for store in stores))
    return Hands(game, player, tuple(hands), tuple(pairs), refused, tuple(notes), identities)


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
        return _Source([read_store(path)], False, [[]])
    sessions = read_sessions(path)
    if len(sessions) == 1:
        return _Source(sessions, False, [_stores_beside(sessions[0], path.parent)])
    return _Source(sessions, False, [[] for _ in sessions])


def _read_folder(path: Path) -> _Source:
    """A match that was played here, or a leg of one, or a session with a server."""
    for log in (_LOG, SESSION):
        if (path / log).is_file():
            return _read(path / log)
    plan = _plan(path)
    legs = [folder for folder in sorted(path.iterdir()) if (folder / _LOG).is_file()]
    if plan is None or not legs:
        raise ScoreError(
            f"{path}: expected a folder that `paratus match` wrote, with plan.json and a {_LOG} in each leg, or one of "
            f"`paratus slumbot`, with {SESSION}"
        )
    read = [_read(leg / _LOG) for leg in legs]
    sessions = [session for source in read for session in source.sessions]
    stores = [beside for source in read for beside in source.stores]
    return _Source(sessions, bool(plan.get("duplicate")) and len(legs) == 2, stores)


def _plan(path: Path) -> dict[str, Any] | None:
    try:
        plan = json.loads((path / "plan.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return plan if isinstance(plan, dict) else None


def _stores_beside(session: Session, folder: Path) -> list[StoredMatch]:
    """The stores of the players of a log that lie beside it."""
    return [StoredMatch(path) for path in sorted(folder.glob("*.sqlite")) if path.stem in session.players]


def _pairs(sessions: Sequence[Session], begins: Sequence[int]) -> list[tuple[int, int]]:
    """Hands of two legs with one number: the same cards, the seats swapped."""
    first = {hand.record.hand: begins[0] + place for place, hand in enumerate(sessions[0].hands)}
    found = []
    for place, hand in enumerate(sessions[1].hands):
        other = first.get(hand.record.hand)
        if other is None:
            continue
        twin = sessions[0].hands[other - begins[0]].record
        if twin.deal.hole != hand.record.deal.hole or twin.names == hand.record.names:
            raise ScoreError(
                f"{hand.where}: not the cards of {sessions[0].hands[other - begins[0]].where} with the seats swapped: "
                "expected the two legs of a duplicate match"
            )
        found.append((other, begins[1] + place))
    return found


def first_hands(hands: Hands, count: int) -> Hands:
    """The first so many, in order; of a duplicate match the first so many pairs."""
    if not hands.pairs:
        return replace(hands, hands=hands.hands[:count])
    kept = hands.pairs[: max(1, count // 2)]
    places = sorted(place for pair in kept for place in pair)
    number = {place: new for new, place in enumerate(places)}
    pairs = tuple((number[a], number[b]) for a, b in kept)
    return replace(hands, hands=tuple(hands.hands[place] for place in places), pairs=pairs)
