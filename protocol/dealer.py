"""The dealer as a state machine without I/O: lines and times in, things to do out.

    GREETING --every seat's version--> PLAYING --last hand--> OVER
        \\______________________________/ \\
              a seat fails                 '--> FAILED

Whoever drives it carries out the returned effects in order, calls `mark_sent` once the states are written, waits for a
line of `acting_seat` until `deadline_us`, and hands it to `receive` (or calls `lost` or `expire`). Times are
microseconds of one clock that never runs backwards.

Messages and their order are those of the reference dealer 1.0.42: its log bytes, its warnings, its reading of replies.
Three things are better on purpose: the clock of a hand and of the match can end a wait (the reference looks at them
only when a reply comes), unreadable lines do not count the waiting time twice, and every failure has a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

from machine.errors import quote
from protocol.bot_replies import BAD_STATE, Answered, AskedState, Ignored, read_reply
from protocol.cards import cards_text
from protocol.dealing import CardStream
from protocol.errors import LocalProtocolError
from protocol.game import Game, Seat
from protocol.line_buffer import TOO_LONG, ReceivedLine
from protocol.log import (
    HandRecord,
    LogError,
    MatchHeader,
    MatchScore,
    Transaction,
    clock_text,
    parse_transaction,
    score_line,
    state_line,
    transaction_line,
)
from protocol.state import Action, Deal, apply, payoffs, start
from protocol.wire import board_text

MAX_IDLE_LINES: Final = 10_000
"""How many lines that answer nothing a seat may send before it answers: what it sends is recorded, so it must end."""

NAME: Final = re.compile(r"[^\s:|]{1,64}")
_REPORT_SECONDS_EVERY: Final = 100
_VERSION: Final = re.compile(r"VERSION:\s*\+?([0-9]{1,9})\.\s*\+?([0-9]{1,9})\.\s*\+?([0-9]{1,9})")


class DealerPhase(Enum):
    """Where the match is."""

    GREETING = "waiting for versions"
    PLAYING = "playing"
    OVER = "over"
    FAILED = "failed"


class Tell(NamedTuple):
    """Send a line to a seat."""

    seat: Seat
    text: str


class Report(NamedTuple):
    """Print a line of the message record (the reference dealer's stderr). Lines of the wire keep their `\\r`."""

    text: str


class Logged(NamedTuple):
    """Append a line to the match log."""

    text: str


class Transacted(NamedTuple):
    """Append a line to the transaction log."""

    text: str


Effect = Tell | Report | Logged | Transacted


class _Hand:
    """One hand in progress, with the texts that its states share."""

    def __init__(self, game: Game, number: int, deal: Deal, button_seat: int) -> None:
        self.number = number
        self.deal = deal
        self.state = start(game)
        self.first_seat = button_seat
        """The seat of position 0."""
        self._hole = [cards_text(hole) for hole in deal.hole]
        self._boards = [board_text(game, deal.board, streets) for streets in range(1, game.num_rounds + 1)]

    def texts(self) -> list[str]:
        """The MATCHSTATE line of each position."""
        state = self.state
        middle = f":{self.number}:{state.betting}:"
        board = self._boards[len(state.history) - 1]
        shown = [hole if state.showdown and not state.folded[p] else "" for p, hole in enumerate(self._hole)]
        lines = []
        for position, own in enumerate(self._hole):
            seen = "|".join([own if p == position else hole for p, hole in enumerate(shown)])
            lines.append(f"MATCHSTATE:{position}{middle}{seen}{board}")
        return lines


class Dealer:
    """One match, from the versions to the score."""

    def __init__(self, game: Game, header: MatchHeader, names: tuple[str, ...], *, fixed_seats: bool = False) -> None:
        if len(names) != game.num_players:
            raise LocalProtocolError(f"{len(names)} names: expected {game.num_players}, one a player")
        for name in names:
            if not NAME.fullmatch(name):
                raise LocalProtocolError(f"name {quote(name)}: expected 1 to 64 characters without blanks, : and |")
        self.game, self.header, self.names = game, header, names
        self.phase = DealerPhase.GREETING
        self.reason = ""
        """Why the match failed, in one line."""
        self.totals = [0.0] * game.num_players
        """Chips won so far, by seat."""
        self._fixed = fixed_seats
        self._cards = CardStream(game, header.seed)
        self._hand = _Hand(game, 0, self._cards.deal(), 0)
        self._greeted = 0
        self._question: AskedState | None = None
        self._sent_us = 0
        self._idle_lines = 0
        self._used_hand_us = [0] * game.num_players
        self._used_match_us = [0] * game.num_players

    # What the driver asks.

    @property
    def acting_seat(self) -> Seat:
        """Whose line is waited for: the next version, or the answer of the player to act."""
        if self.phase is DealerPhase.GREETING:
            return Seat(self._greeted)
        if self._question is None:
            raise LocalProtocolError(f"no seat is acting: the match is {self.phase.value}")
        return self._seat(self._question.position)

    @property
    def deadline_us(self) -> int:
        """When the acting seat's time is up."""
        seat, limits = self.acting_seat, self.header.limits
        return self._sent_us + min(
            limits.response_ms * 1000,
            limits.hand_ms * 1000 - self._used_hand_us[seat],
            limits.per_hand_ms * 1000 * self.header.hands - self._used_match_us[seat],
        )

    @property
    def hands_played(self) -> int:
        """Hands finished so far."""
        return self._hand.number

    @property
    def score(self) -> MatchScore:
        """The totals by seat."""
        return MatchScore(tuple(self.totals), self.names)

    # What the driver tells.

    def resume(self, lines: Iterable[str]) -> list[HandRecord]:
        """Play the actions of a transaction log again, before anyone is greeted; returns the hands it finished."""
        if self.phase is not DealerPhase.GREETING or self._greeted:
            raise LocalProtocolError("a match resumes before its first message")
        finished = []
        for line in lines:
            hand = self._hand
            if hand.number >= self.header.hands:
                raise LogError(f"{quote(line)}: the match has only {self.header.hands} hands")
            transaction = parse_transaction(line, hand.state)
            if transaction.hand != hand.number:
                raise LogError(f"{quote(line)}: hand {transaction.hand}: expected hand {hand.number}")
            actor = hand.state.actor
            assert actor is not None  # a finished hand is replaced below
            self._spend(self._seat(actor), max(0, transaction.received_us - transaction.sent_us))
            hand.state = apply(hand.state, transaction.action)
            if hand.state.finished:
                finished.append(self._settle())
                self._next_hand()
        return finished

    def receive(self, line: ReceivedLine, now_us: int) -> list[Effect]:
        """A line of the acting seat."""
        if self.phase is DealerPhase.GREETING:
            return self._greet(line, now_us)
        seat, asked = self.acting_seat, self._question
        assert asked is not None  # acting_seat has refused
        text = "(a line that is too long)" if line is TOO_LONG else str(line)
        effects: list[Effect] = [Report(f"FROM {seat + 1} at {clock_text(now_us)} {text}\r")]
        if now_us > self.deadline_us:
            return effects + self._fail(f"ERROR: seat {seat + 1} ran out of time", self._late(seat))
        self._idle_lines += 1
        if self._idle_lines > MAX_IDLE_LINES:
            who = f"seat {seat + 1} ({self.names[seat]})"
            reason = f"{who} sent more than {MAX_IDLE_LINES} lines that answer nothing {self._when()}"
            return effects + self._fail(f"ERROR: could not get action from seat {seat + 1}", reason)
        if text.startswith(("#", ";")):
            return effects
        answer = Ignored(BAD_STATE) if line is TOO_LONG else read_reply(text, asked)
        if not isinstance(answer, Answered):
            effects.append(Report(answer.warning))
            return effects
        effects += [Report(warning) for warning in answer.warnings]
        self._spend(seat, max(0, now_us - self._sent_us))
        self._act(answer.action, now_us, effects)
        return effects

    def mark_sent(self, now_us: int) -> None:
        """The last effects are written: the acting seat's clock starts."""
        self._sent_us = now_us

    def lost(self, seat: Seat, now_us: int, why: str) -> list[Effect]:
        """The connection of the acting seat is gone."""
        if self.phase in (DealerPhase.OVER, DealerPhase.FAILED):
            raise LocalProtocolError(f"a seat is lost while the match is {self.phase.value}")
        reason = f"seat {seat + 1} ({self.names[seat]}) {why} {self._when()}"
        return self._no_action(seat, now_us, reason)

    def expire(self, now_us: int) -> list[Effect]:
        """The deadline has passed without an answer."""
        seat = self.acting_seat
        if (
            self.phase is DealerPhase.PLAYING
            and self.deadline_us < self._sent_us + self.header.limits.response_ms * 1000
        ):
            return self._fail(f"ERROR: seat {seat + 1} ran out of time", self._late(seat))
        return self._no_action(seat, now_us, self._late(seat))

    # The rest is between the machine and itself.

    def _seat(self, position: int) -> Seat:
        return Seat((position + self._hand.first_seat) % self.game.num_players)

    def _greet(self, line: ReceivedLine, now_us: int) -> list[Effect]:
        seat = self._greeted
        found = None if line is TOO_LONG else _VERSION.match(str(line))
        if found is None:
            shown = "a line that is too long" if line is TOO_LONG else quote(str(line))
            reason = f"seat {seat + 1} ({self.names[seat]}) sent {shown} instead of VERSION:2.0.0"
            return self._fail(f"ERROR: invalid version string {'' if line is TOO_LONG else line}", reason)
        effects: list[Effect] = []
        major, minor = int(found.group(1)), int(found.group(2))
        if major != 2 or minor > 0:
            effects.append(Report("ERROR: this server is currently using version 2.0.0"))
        self._greeted += 1
        if self._greeted < self.game.num_players:
            return effects
        effects.append(Report(f"STARTED at {clock_text(now_us)}"))
        self.phase = DealerPhase.PLAYING
        self._sent_us = now_us
        if self._hand.number >= self.header.hands:
            self._finish(effects)
        else:
            self._ask(effects)
        return effects

    def _ask(self, effects: list[Effect]) -> None:
        """Send the current state to all; the question is what the acting player was sent."""
        hand = self._hand
        texts = self._tell_all(effects)
        actor = hand.state.actor
        if actor is not None:
            self._idle_lines = 0
            self._question = AskedState(texts[actor], actor, hand.number, hand.state, hand.deal)

    def _tell_all(self, effects: list[Effect]) -> list[str]:
        texts, players, first = self._hand.texts(), self.game.num_players, self._hand.first_seat
        effects += [Tell(Seat(seat), texts[(seat - first) % players]) for seat in range(players)]
        return texts

    def _act(self, action: Action, now_us: int, effects: list[Effect]) -> None:
        hand = self._hand
        transaction = Transaction(action, hand.number, self._sent_us, now_us)
        effects.append(Transacted(transaction_line(transaction, self.game)))
        hand.state = apply(hand.state, action)
        if not hand.state.finished:
            self._ask(effects)
            return
        self._question = None
        effects.append(Logged(state_line(self._settle())))
        self._tell_all(effects)
        if hand.number % _REPORT_SECONDS_EVERY == 0:
            for seat, used in enumerate(self._used_match_us):
                effects.append(Report(f"Seconds cumulatively spent in match for seat {seat}: {used // 1_000_000}"))
        self._next_hand()
        if self._hand.number >= self.header.hands:
            self._finish(effects)
        else:
            self._ask(effects)

    def _settle(self) -> HandRecord:
        """Book the values of the finished hand."""
        hand = self._hand
        values = payoffs(hand.state, hand.deal)
        for position, value in enumerate(values):
            self.totals[self._seat(position)] += value
        seen = hand.deal._replace(board=hand.deal.board[: self.game.board_cards_by(hand.state.street)])
        names = tuple([self.names[self._seat(position)] for position in range(self.game.num_players)])
        return HandRecord(hand.number, hand.state, seen, values, names)

    def _next_hand(self) -> None:
        last = self._hand
        first_seat = last.first_seat if self._fixed else (last.first_seat + 1) % self.game.num_players
        self._used_hand_us = [0] * self.game.num_players
        self._hand = _Hand(self.game, last.number + 1, self._cards.deal(), first_seat)

    def _spend(self, seat: Seat, micros: int) -> None:
        self._used_hand_us[seat] += micros
        self._used_match_us[seat] += micros

    def _finish(self, effects: list[Effect]) -> None:
        self.phase, self._question = DealerPhase.OVER, None
        line = score_line(self.score)
        effects += [Report(f"FINISHED at {clock_text(self._sent_us)}"), Report(line), Logged(line)]

    def _late(self, seat: Seat) -> str:
        what = (
            "sent no version line in time" if self.phase is DealerPhase.GREETING else f"ran out of time {self._when()}"
        )
        return f"seat {seat + 1} ({self.names[seat]}) {what}"

    def _when(self) -> str:
        return "before its version line" if self.phase is DealerPhase.GREETING else f"in hand {self._hand.number}"

    def _no_action(self, seat: Seat, now_us: int, reason: str) -> list[Effect]:
        if self.phase is DealerPhase.GREETING:
            return self._fail(f"ERROR: could not read version string from seat {seat + 1}", reason)
        waited, limit = (now_us - self._sent_us) / 1e6, self.header.limits.response_ms / 1e3
        report = Report(f"{waited:.1f} seconds spent waiting; timeout {limit:.1f}")
        return [*self._fail(f"ERROR: could not get action from seat {seat + 1}", reason), report]

    def _fail(self, error: str, reason: str) -> list[Effect]:
        self.phase, self.reason, self._question = DealerPhase.FAILED, reason, None
        return [Report(error)]
