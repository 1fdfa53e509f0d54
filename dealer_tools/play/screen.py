"""The person's end of the table: a terminal, or whatever else stdin and stdout are.

At each decision: cards, board, pot, stacks, the betting so far, the options. After each hand: both hands, what the
agent would have done with its own, the result with and without luck, and the totals so far. A line of stdin is read for
each decision; where nobody types, it is printed, so that the output reads as a whole.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from rich.console import Console
from rich.text import Text

from dealer_tools.formats.records import PlayedHand
from dealer_tools.play.luck import Worth
from dealer_tools.play.sitting import YOU, Left
from dealer_tools.play.words import (
    HELP,
    TypedError,
    action_words,
    entry_words,
    options,
    read_typed,
    story_text,
)
from dealer_tools.results import Estimate
from protocol.cards import Card, card_text
from protocol.game import STREET_NAMES, Game
from protocol.hands import hands_of
from protocol.log import HandRecord
from protocol.ranking import describe, hand_rank
from protocol.state import Action, State, steps
from protocol.wire import MatchState
from strategies.policy import Policy
from strategies.store import StoredDecision

_MAX_LINE: Final = 1000
_SHOWN: Final = 0.0005
"""What a hand does less often is left out."""
_ENOUGH: Final = 10
"""With fewer hands their spread is not known well enough to say how sure a mean is."""
_SYMBOLS: Final = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
_COLOURS: Final = {"c": "green", "d": "blue", "h": "red", "s": "bold"}


class Screen:
    """A `Person`."""

    def __init__(self, worth: Worth) -> None:
        self._console = Console(highlight=False, soft_wrap=True)
        self._symbols = self._console.encoding.lower().startswith("utf")
        self._typed = sys.stdin.isatty()
        self._worth = worth
        self._hand = -1
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")

    # As the table calls it.

    def act(self, seen: MatchState, names: tuple[str, ...]) -> Action:
        self._show(seen, names)
        while True:
            self._console.print("> ", end="")
            line = sys.stdin.readline(_MAX_LINE)
            if not self._typed or not line:
                self._console.print(Text(line.rstrip("\n")))
            if not line:
                raise Left
            try:
                wish = read_typed(line, seen.state)
            except TypedError as error:
                self._console.print(Text(str(error), "yellow"))
                continue
            if wish == "quit":
                raise Left
            if wish == "help":
                self._console.print(HELP)
                continue
            return wish

    def waiting(self) -> AbstractContextManager[object]:
        return self._console.status("thinking") if self._console.is_terminal else nullcontext()

    def finished(self, played: PlayedHand) -> None:
        record = played.record
        self._rule(record.hand, record.names, record.state.game)
        self._console.print()
        if record.deal.board:
            self._console.print(_line("board", self._cards(record.deal.board)))
        self._console.print(Text(f"betting  {story_text(record.state, record.names)}"))
        for name, hole in zip(record.names, record.deal.hole, strict=True):
            held = f"  {describe(hand_rank((*hole, *record.deal.board)))}" if record.state.showdown else ""
            self._console.print(_line(name, Text.assemble(self._cards(hole), held)))
        (agent,) = played.decisions
        self._show_policies(record, agent, list(played.decisions[agent].values()))
        self._show_result(record, self._worth.add(played))
        self._hand = -1

    # A decision of the person.

    def _show(self, seen: MatchState, names: tuple[str, ...]) -> None:
        state = seen.state
        self._rule(seen.hand, names, state.game)
        stacks = [
            f"{name} {stack - chips:,}"
            for name, stack, chips in sorted(
                zip(names, state.game.stack, state.committed, strict=True), key=lambda each: each[0] != YOU
            )
        ]
        self._console.print()
        street = Text(f"{STREET_NAMES[state.street]:8} ", "bold")
        board = self._cards(seen.deal.board) + Text("   ") if seen.deal.board else Text()
        self._console.print(Text.assemble(street, board, f"pot {state.pot:,}   behind: {', '.join(stacks)}"))
        self._console.print(_line("cards", self._cards(seen.deal.hole[seen.position])))
        if state.actions:
            self._console.print(Text(f"betting  {story_text(state, names)}"))
        self._console.print(Text(f"options  {options(state)}"))

    def _rule(self, hand: int, names: tuple[str, ...], game: Game) -> None:
        """Once a hand."""
        if hand == self._hand:
            return
        self._hand = hand
        button = names[game.blind.index(min(game.blind))]
        other = next(name for name in names if name != button)
        have, has = (" have" if button == YOU else " has"), ("post" if other == YOU else "posts")
        title = f"hand {hand}: {button}{have} the button and {min(game.blind)} in, {other} {has} {max(game.blind)}"
        self._console.print()
        self._console.print(Text(f"── {title} ──", "bold"))

    # After a hand.

    def _show_policies(self, record: HandRecord, agent: str, decisions: Sequence[StoredDecision]) -> None:
        """What the agent would have done with the hand that it held, at each of its decisions."""
        known = {each.betting: each for each in decisions}
        position = record.names.index(agent)
        column = hands_of(record.state.game).column(record.deal.hole[position])
        for state, action in steps(record.state):
            if state.actor == position:
                self._console.print(_policy_line(state, known[state.betting].policy, column, action))

    def _show_result(self, record: HandRecord, worth: float | None) -> None:
        chips = record.values[record.names.index(YOU)]
        verb = "win" if chips > 0 else "lose" if chips < 0 else "win and lose nothing"
        blinds = chips / record.state.game.big_blind
        amount = f" {abs(chips):,.10g} chips, {blinds:+.1f} bb" if chips else ""
        said = [(f"you {verb}{amount}", "green" if chips > 0 else "red" if chips < 0 else "")]
        if worth is not None:
            said.append((f"; without luck {worth / 1000:+.1f} bb (luck {blinds - worth / 1000:+.1f})", ""))
        self._console.print(Text.assemble(*said))
        self.totals()

    def totals(self) -> None:
        """All hands so far."""
        won, worth = self._worth.won, self._worth.worth
        self._console.print(Text(f"{won.observations} hand{'s' * (won.observations > 1)}: {_estimate(won)}", "dim"))
        if worth is not None:
            self._console.print(Text(f"without luck: {_estimate(worth)}", "dim"))
        else:
            self._console.print(Text(f"without luck: not known: {self._worth.unknown}", "yellow"))

    def say(self, text: str) -> None:
        """A line."""
        self._console.print(Text(text))

    # Cards.

    def _cards(self, cards: Sequence[Card]) -> Text:
        text = Text()
        for card in cards:
            text_of = card_text(card)
            rank, suit = text_of[0], text_of[1]
            text.append(f"{rank}{_SYMBOLS[suit] if self._symbols else suit}", _COLOURS[suit])
            text.append(" ")
        text.right_crop(1)
        return text


def _line(title: str, text: Text) -> Text:
    return Text.assemble(f"{title:8} ", text)


def _policy_line(state: State, policy: Policy, column: int, action: Action) -> Text:
    shares = zip(policy.support, policy.probabilities(column), strict=True)
    likely = sorted([(share, entry) for entry, share in shares if share >= _SHOWN], key=lambda each: -each[0])
    words = ", ".join([f"{entry_words(entry, state)} {100 * share:.1f}%" for share, entry in likely])
    facing = f"{STREET_NAMES[state.street]}, {state.owed:,} to call" if state.owed else STREET_NAMES[state.street]
    origin = policy.origin
    thought = f", {origin.iterations:,} iterations" if origin.iterations else ""
    return Text.assemble(
        f"  {facing}: {words}: {action_words(action, state, you=False)}", (f"  ({origin.route}{thought})", "dim")
    )


def _estimate(estimate: Estimate) -> str:
    total = estimate.mean_mbb * estimate.observations / 1000
    if estimate.observations < _ENOUGH:
        return f"{total:+.1f} bb in all (an interval from {_ENOUGH} hands on)"
    interval = f"[{estimate.low_mbb / 1000:+.2f}, {estimate.high_mbb / 1000:+.2f}]"
    return f"{total:+.1f} bb in all, {estimate.mean_mbb / 1000:+.2f} a hand, 95 % interval {interval}"
