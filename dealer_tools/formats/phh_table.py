"""The actions of a poker hand history, read one after the other; `phh` says what they look like and mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dealer_tools.formats.betting import chips_before_street
from machine.errors import ParatusError
from protocol.cards import Card, parse_cards
from protocol.state import CALL, FOLD, Raise, State, apply

_DEAL = re.compile(r"d (?:dh p([0-9]{1,2})|db) (\S+)")
_SHOW = re.compile(r"p([0-9]{1,2}) sm(?: (\S+))?")
_ACT = re.compile(r"p([0-9]{1,2}) (?:(f)|(cc)|cbr ([1-9][0-9]{0,9})(?:\.0+)?)")
_HOLE_CARDS = 2


class HistoryError(ParatusError):
    """A hand history that is not what the format says, or not of a game that ACPC can name."""


@dataclass(slots=True)
class PhhTable:
    """A hand while its actions are read."""

    state: State
    hole: list[tuple[Card, ...]]
    """By position, empty while unknown."""
    board: tuple[Card, ...] = ()
    mucked: set[int] = field(default_factory=set)
    """Who threw the cards away at the showdown."""

    def act(self, text: str) -> None:
        """One action, without its commentary."""
        if not text:
            return
        if found := _DEAL.fullmatch(text):
            self._deal(found.group(1), found.group(2))
        elif found := _SHOW.fullmatch(text):
            self._show(self._player(found.group(1)), found.group(2))
        elif found := _ACT.fullmatch(text):
            self._bet(self._player(found.group(1)), found)
        else:
            raise HistoryError("expected d dh, d db, or f, cc, cbr or sm of a player")

    def check_through(self, player: int | None = None) -> None:
        """Put in the checks before `player` acts that ask nothing: of those whom nobody could raise any more."""
        state = self.state
        while state.actor is not None and state.actor != player and not state.owed and self._idle(state):
            state = apply(state, CALL)
        self.state = state

    @staticmethod
    def _idle(state: State) -> bool:
        return not any(
            stack > state.maximum and not gone and position != state.actor
            for position, (stack, gone) in enumerate(zip(state.game.stack, state.folded, strict=True))
        )

    def _player(self, digits: str) -> int:
        players = self.state.game.num_players
        if not 1 <= int(digits) <= players:
            raise HistoryError(f"p{digits}: expected p1 to p{players}")
        return int(digits) - 1

    def _cards(self, text: str) -> tuple[Card, ...]:
        """None if they are unknown."""
        if not text.strip("?") and len(text) % 2 == 0:
            return ()
        cards = parse_cards(text)
        if {*cards} & {*self.board, *[card for hole in self.hole for card in hole]}:
            raise HistoryError("a card that was dealt before")
        return cards

    def _deal(self, digits: str | None, text: str) -> None:
        cards = self._cards(text)
        if digits is not None:
            player = self._player(digits)
            self.hole[player] += cards
            if len(self.hole[player]) > _HOLE_CARDS:
                raise HistoryError(f"expected {_HOLE_CARDS} hole cards")
            return
        if not cards:
            raise HistoryError("expected a board that is known")
        self.check_through()
        self.board += cards
        if len(self.board) > self.state.game.board_cards_by(self.state.street):
            raise HistoryError(f"expected no board card while the betting is {self.state.betting!r}")

    def _bet(self, player: int, found: re.Match[str]) -> None:
        self.check_through(player)
        state = self.state
        if state.actor != player:
            turn = "the hand is over" if state.actor is None else f"it is the turn of p{state.actor + 1}"
            raise HistoryError(f"expected nothing of p{player + 1}: {turn}")
        if len(self.board) != state.game.board_cards_by(state.street):
            raise HistoryError(f"expected a board of {state.game.board_cards_by(state.street)} cards before it")
        _, fold, call, size = found.groups()
        if fold or call:
            self.state = apply(state, FOLD if fold else CALL)
        else:
            self.state = apply(state, Raise(int(size) + chips_before_street(state)))

    def _show(self, player: int, text: str | None) -> None:
        self.check_through()
        if not self.state.showdown or self.state.folded[player]:
            raise HistoryError("expected it at the showdown, of a player who did not fold")
        if text is None:
            self.mucked.add(player)
            return
        if text == "-" or not text.strip("?"):
            return
        known, self.hole[player] = self.hole[player], ()
        cards = self._cards(text)
        if len(cards) != _HOLE_CARDS or (known and {*known} != {*cards}):
            raise HistoryError("expected the two hole cards of this player")
        self.hole[player] = known or cards
