"""The client as a state machine without I/O: lines in, match states out; actions in, bytes out.

    phase      event        next
    NEW        hello        WATCHING     the version is sent
    WATCHING   watch        WATCHING     a state in which another player acts, or the end of a hand
    WATCHING   turn         ACTING       a state in which we act
    ACTING     act          WATCHING     our answer is sent
    any open   close        CLOSED       the peer closed the connection
    any open   break        BROKEN       either side broke the protocol; nothing more is accepted

Every line is checked against what went before. Within a hand each state must follow from the last by one action, and
by OUR action where we were asked: the reference dealer silently changes what it does not like, so this is the only way
to notice. The first state after connecting may lie in the middle of a hand: a resumed match begins so.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from machine.errors import quote
from protocol.errors import LocalProtocolError, RemoteProtocolError
from protocol.game import Game
from protocol.line_buffer import TOO_LONG, ReceivedLine
from protocol.state import Action, action_text, check
from protocol.wire import (
    EOL,
    MAX_LINE_BYTES,
    VERSION_LINE,
    MatchState,
    parse_match_state,
    reply_text,
)


class ClientPhase(Enum):
    """Where the conversation is."""

    NEW = "not greeted yet"
    WATCHING = "waiting for the dealer"
    ACTING = "ours to act"
    CLOSED = "closed by the dealer"
    BROKEN = "broken"


class Event(Enum):
    """What can happen to it."""

    HELLO = "hello"
    WATCH = "watch"
    TURN = "turn"
    ACT = "act"
    CLOSE = "close"
    BREAK = "break"


TRANSITIONS: Final = {
    (ClientPhase.NEW, Event.HELLO): ClientPhase.WATCHING,
    (ClientPhase.NEW, Event.CLOSE): ClientPhase.CLOSED,
    (ClientPhase.NEW, Event.BREAK): ClientPhase.BROKEN,
    (ClientPhase.WATCHING, Event.WATCH): ClientPhase.WATCHING,
    (ClientPhase.WATCHING, Event.TURN): ClientPhase.ACTING,
    (ClientPhase.WATCHING, Event.CLOSE): ClientPhase.CLOSED,
    (ClientPhase.WATCHING, Event.BREAK): ClientPhase.BROKEN,
    (ClientPhase.ACTING, Event.ACT): ClientPhase.WATCHING,
    (ClientPhase.ACTING, Event.CLOSE): ClientPhase.CLOSED,
    (ClientPhase.ACTING, Event.BREAK): ClientPhase.BROKEN,
}


class Client:
    """One seat's side of one match."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.phase = ClientPhase.NEW
        self.hands_finished = 0
        self._last: MatchState | None = None
        self._sent: Action | None = None
        self._finished: set[int] = set()

    @property
    def in_hand(self) -> bool:
        """True while a hand has begun and not ended."""
        return self._last is not None and not self._last.state.finished

    def hello(self) -> bytes:
        """The first bytes to send."""
        self._step(Event.HELLO)
        return VERSION_LINE.encode() + EOL

    def receive(self, line: ReceivedLine) -> MatchState | None:
        """A line of the dealer: the state it brings, or None for a comment."""
        if self.phase is ClientPhase.NEW or self.phase is ClientPhase.CLOSED or self.phase is ClientPhase.BROKEN:
            raise LocalProtocolError(f"a line is read while the conversation is {self.phase.value}")
        if line is TOO_LONG:
            raise self._broken(f"a line longer than {MAX_LINE_BYTES} bytes: expected a MATCHSTATE line")
        text = str(line)
        if text.startswith(("#", ";")):
            return None
        last = self._last
        try:
            match_state = parse_match_state(text, self.game, last.state if last else None)
        except RemoteProtocolError:
            self._step(Event.BREAK)
            raise
        problem = self._first_of_hand(match_state) if last is None or last.state.finished else self._next(match_state)
        if problem:
            raise self._broken(f"{quote(text)}: {problem}")
        self._last, self._sent = match_state, None
        self._step(Event.TURN if match_state.acting else Event.WATCH)
        if match_state.state.finished:
            self.hands_finished += 1
            self._finished.add(match_state.hand)
        return match_state

    def act(self, action: Action) -> bytes:
        """Our answer to the last state; raises `IllegalAction` before anything is sent if the rules forbid it."""
        last = self._last
        if self.phase is not ClientPhase.ACTING or last is None:
            raise LocalProtocolError(f"an action while the conversation is {self.phase.value}")
        check(last.state, action)
        self._step(Event.ACT)
        self._sent = action
        return reply_text(last, action).encode() + EOL

    def closed(self) -> None:
        """The dealer closed the connection."""
        self._step(Event.CLOSE)

    def _first_of_hand(self, new: MatchState) -> str | None:
        last = self._last
        if last is None:
            return None
        if new.hand in self._finished:
            return f"hand {new.hand} is already over"
        if any(new.state.history):
            return f"hand {new.hand} begins with actions: expected the first state of a hand"
        return None

    def _next(self, new: MatchState) -> str | None:
        """What is wrong with `new` as the successor of the last state, or None."""
        last = self._last
        assert last is not None  # the caller has looked
        if new.hand != last.hand:
            return f"hand {last.hand} was cut short after {quote(last.state.betting)}"
        if new.position != last.position:
            return f"our position changed from {last.position} within the hand"
        if new.deal.hole[new.position] != last.deal.hole[last.position]:
            return "our hole cards changed within the hand"
        if new.deal.board[: len(last.deal.board)] != last.deal.board:
            return "the board changed within the hand"
        if last.acting and self._sent is None:
            return "the dealer went on without our action"
        before, after = last.state.betting, new.state.betting
        if self._sent is not None:
            sent = action_text(self._sent, self.game)
            if after.rstrip("/") != before + sent:
                return f"the dealer did not take our action {sent} at {quote(before)}"
            return None
        if not new.state.actions or new.state.actions[:-1] != last.state.actions:
            return f"expected one more action after {quote(before)}"
        return None

    def _broken(self, message: str) -> RemoteProtocolError:
        self._step(Event.BREAK)
        return RemoteProtocolError(message)

    def _step(self, event: Event) -> None:
        after = TRANSITIONS.get((self.phase, event))
        if after is None:
            raise LocalProtocolError(f"{event.value}: not possible while the conversation is {self.phase.value}")
        self.phase = after
