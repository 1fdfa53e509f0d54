"""Match stores as scoring reads them: our policies beside the log of a dealer, or alone.

A store holds what its player saw. Beside the dealer's log, which shows all cards, its policies belong to the hands of
the log, and both must tell every hand alike. Alone it lacks the cards of an opponent that folded or whose fold ended
the hand.

Policies are large: those of a hand are read when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from dealer_tools.formats.records import PlayedHand, RecordedSession, RefusedHand
from protocol.game import Game, Position, game_text
from protocol.log import HandRecord
from protocol.state import Deal, payoffs, start, steps
from protocol.wire import WireError, deal_text, parse_deal, read_betting, view
from strategies.store import StoredDecision, StoredHand, StoreError, StoreReader

OPPONENT: Final = "opponent"
"""What a store calls whoever it played against."""


class StoredMatch:
    """One match of a store, open."""

    def __init__(self, path: Path, match: int | None = None) -> None:
        """The latest match, if no other is meant."""
        self.path = path
        self._reader = StoreReader(path)
        matches = self._reader.matches()
        if not matches:
            raise StoreError(f"match store {path}: no match in it")
        self._match = matches[-1] if match is None else match
        self.others = len(matches) - 1
        """Matches in the file that are not this one."""
        self.game = self._reader.game(self._match)
        self.agent, self.identity = self._reader.identity(self._match)
        self._of = lru_cache(maxsize=2)(lambda hand: self._reader.decisions_of(self._match, hand))

    def hands(self) -> Iterator[StoredHand]:
        """In order."""
        return self._reader.hands(self._match)

    def answered(self) -> dict[int, set[str]]:
        """By hand, the betting of every decision that is stored."""
        return self._reader.answered(self._match)

    def decisions(self, hand: int) -> Mapping[str, StoredDecision]:
        """Of one hand, read when first looked at."""
        return _Decisions(self, hand)

    def read(self, hand: int) -> Mapping[str, StoredDecision]:
        """The same, now."""
        return self._of(hand)


class _Decisions(Mapping[str, StoredDecision]):
    """By the betting that they answered."""

    __slots__ = ("_hand", "_match")

    def __init__(self, match: StoredMatch, hand: int) -> None:
        self._match, self._hand = match, hand

    def __getitem__(self, betting: str) -> StoredDecision:
        return self._match.read(self._hand)[betting]

    def __iter__(self) -> Iterator[str]:
        return iter(self._match.read(self._hand))

    def __len__(self) -> int:
        return len(self._match.read(self._hand))


def attach(session: RecordedSession, match: StoredMatch, player: str) -> RecordedSession:
    """The hands of a log with the policies of a player.

    Raises `StoreError` where log and store tell a hand differently: then they are of two matches, and hands that happen
    to agree are not those of one. A hand of which a policy was not written any more (its process was killed) stays, but
    has none.
    """
    if game_text(match.game) != game_text(session.game):
        raise StoreError(f"match store {match.path}: {match.game.name}: expected the game of {session.source}")
    stored, answered = {hand.hand: hand for hand in match.hands()}, match.answered()
    hands: list[PlayedHand] = []
    for played in session.hands:
        number = played.record.hand
        trouble = _disagreement(played.record, stored[number], player) if number in stored else ""
        if trouble:
            raise StoreError(f"{played.where}: {trouble} in {match.path}: log and store do not belong together")
        if all(betting in answered.get(number, ()) for betting in _asked(played.record, player)):
            decisions = {**played.decisions, player: match.decisions(number)}
            played = replace(played, decisions=decisions)
        hands.append(played)
    return replace(session, hands=tuple(hands))


def _asked(record: HandRecord, player: str) -> list[str]:
    """The betting at each decision of a player."""
    position = record.names.index(player)
    return [state.betting for state, _ in steps(record.state) if state.actor == position]


def _disagreement(record: HandRecord, stored: StoredHand, player: str) -> str:
    """What a store tells differently, or nothing."""
    position = record.names.index(player)
    seen = deal_text(record.state, view(record.state, record.deal, position))
    for what, told, logged in (
        ("position", str(stored.position), str(position)),
        ("betting", stored.betting, record.state.betting),
        ("cards", stored.cards, seen),
        ("value", f"{stored.value:g}", f"{record.values[position]:g}"),
    ):
        if told != logged:
            return f"hand {record.hand}: {what} {logged} here and {told}"
    return ""


def read_store(path: Path, match: int | None = None) -> RecordedSession:
    """The hands of a store alone."""
    opened = StoredMatch(path, match)
    hands: list[PlayedHand] = []
    refused: list[RefusedHand] = []
    for stored in opened.hands():
        where = f"{path}: hand {stored.hand}"
        try:
            record = _record(stored, opened.game, path.stem)
        except WireError as error:
            refused.append(RefusedHand(where, str(error)))
            continue
        hands.append(PlayedHand(where, record, {path.stem: opened.decisions(stored.hand)}))
    players = path.stem, OPPONENT
    notes = (f"{path}: its latest match; {opened.others} earlier ones are not scored",) if opened.others else ()
    return RecordedSession(str(path), opened.game, players, tuple(hands), tuple(refused), notes)


def _record(stored: StoredHand, game: Game, player: str) -> HandRecord:
    state = read_betting(start(game), stored.betting)
    if not state.finished:
        raise WireError("the hand is not over")
    deal = parse_deal(stored.cards, state)
    position = Position(stored.position)
    if state.showdown or not all(deal.hole):
        paid = payoffs(state, deal) if state.showdown else payoffs(state, Deal(deal.hole, ()))
        if abs(paid[position] - stored.value) > 1e-6:
            raise WireError(f"value {stored.value:g}: this hand pays {paid[position]:g}")
    names = [OPPONENT] * game.num_players
    names[position] = player
    values = tuple([stored.value if seat == position else -stored.value for seat in range(game.num_players)])
    return HandRecord(stored.hand, state, deal, values, tuple(names))
