"""A server that speaks as slumbot.com does, with an agent of ours in Slumbot's place; here without HTTP.

What is known of the interface stands in the documentation; where it is silent the emulator decides so:

- a `new_hand` without a token, or a login, begins a conversation with a token of its own; positions alternate in it;
- a `new_hand` in the middle of a hand abandons that hand, which then counts for no total;
- `act` takes one action; what is illegal, unknown or not our turn is an `error_msg` that changes nothing;
- an `act` that arrives twice is carried out twice, if that is legal;
- `won_pot` is the pot with the sign of `winnings`; `old_action` is the betting before the request;
- `baseline_winnings` is the client's result less that of the agent in its place, both seats played by the agent.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dealer_tools.formats.slumbot import SlumbotError, betting_to_text, read_action
from dealer_tools.slumbot.faults import Fault
from machine.errors import ParatusError, quote
from protocol.cards import card_text
from protocol.dealing import CardStream
from protocol.game import Position
from protocol.state import Deal, State, apply, payoffs, start
from protocol.wire import MatchState, view
from strategies.agents import Agent
from strategies.chair import Chair
from strategies.identity import DrawKey
from strategies.strategy import Budget

_MAX_CONVERSATIONS: Final = 1000
"""The one that was silent for longest is forgotten."""
_RESPONSE_S: Final = 600.0
_ARRIVES: Final = (Fault.NONE, Fault.TOKEN, Fault.SLASHES, Fault.TWICE)
PATHS: Final = ("login", "new_hand", "act")


class RequestError(ParatusError):
    """A request that is answered with an `error_msg`."""


@dataclass(slots=True)
class _Hand:
    number: int
    deal: Deal
    position: Position
    """The client's."""
    state: State


@dataclass(slots=True)
class _Conversation:
    player: Chair
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    hand: _Hand | None = None
    begun: int = 0
    finished: int = 0
    total: int = 0
    baseline_total: float = 0.0
    last: dict[str, Any] | None = None
    """The last reply that was sent as it should be."""


class Emulator:
    """The server's side of all conversations."""

    def __init__(
        self,
        agent: Agent,
        *,
        seed: int = 0,
        think_s: float = 4.0,
        baseline: bool = True,
        user: tuple[str, str] | None = None,
        tell: Callable[[dict[str, Any]], None] = lambda event: None,
    ) -> None:
        """`user`: the one name and password that may log in, else all may; `tell` hears what becomes of each hand."""
        self._game = agent.game
        self._agent, self._seed, self._think_s = agent, seed, think_s
        self._baseline, self._user, self._tell = baseline, user, tell
        self._cards = CardStream(self._game, seed)
        self._hands = 0
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self._thinking = asyncio.Lock()
        self._twins = (self._player("self-play 0"), self._player("self-play 1"))

    async def answer(self, what: str, document: Mapping[str, Any], fault: Fault = Fault.NONE) -> dict[str, Any]:
        """Carry out a request; raises `RequestError`."""
        if what == "login":
            return self._login(document)
        token, talk = self._conversation(document, new=what == "new_hand")
        async with talk.lock:
            before = talk.last
            reply = await (self._new_hand(talk) if what == "new_hand" else self._act(talk, document))
            if fault is Fault.TOKEN:
                self._conversations.pop(token, None)
                token = self._remember(talk)
            if fault is Fault.SLASHES:
                reply["action"] = reply["action"].rstrip("/")
            reply["token"] = token
            if fault in _ARRIVES:
                talk.last = reply
        return before if fault is Fault.DUPLICATE and before is not None else reply

    def _login(self, document: Mapping[str, Any]) -> dict[str, Any]:
        given = document.get("username"), document.get("password")
        if not all(isinstance(text, str) and text for text in given) or self._user not in (None, given):
            raise RequestError("Invalid username or password")
        return {"token": self._remember(_Conversation(self._player("play")))}

    def _conversation(self, document: Mapping[str, Any], *, new: bool) -> tuple[str, _Conversation]:
        token = document.get("token")
        if token is None and new:
            talk = _Conversation(self._player("play"))
            return self._remember(talk), talk
        if not isinstance(token, str) or token not in self._conversations:
            raise RequestError("Unknown token")
        self._conversations.move_to_end(token)
        return token, self._conversations[token]

    def _remember(self, talk: _Conversation) -> str:
        token = str(uuid.uuid4())
        self._conversations[token] = talk
        while len(self._conversations) > _MAX_CONVERSATIONS:
            self._conversations.popitem(last=False)
        return token

    async def _new_hand(self, talk: _Conversation) -> dict[str, Any]:
        if talk.hand is not None:
            self._tell({"event": "abandoned", "hand": talk.hand.number})
        talk.hand = hand = _Hand(self._hands, self._cards.deal(), Position(talk.begun % 2), start(self._game))
        talk.begun += 1
        self._hands += 1
        self._tell({"event": "dealt", "hand": hand.number, **_shown(hand, all_cards=True)})
        talk.player.begin_hand()
        return await self._go_on(talk, hand)

    async def _act(self, talk: _Conversation, document: Mapping[str, Any]) -> dict[str, Any]:
        hand, text = talk.hand, document.get("incr")
        if hand is None:
            raise RequestError("No hand in progress")
        if not isinstance(text, str):
            raise RequestError(f"incr {quote(repr(text))}: expected an action")
        before = hand.state
        try:
            hand.state = apply(before, read_action(text, before))
        except SlumbotError as error:
            raise RequestError(str(error)) from None
        return await self._go_on(talk, hand, before)

    async def _go_on(self, talk: _Conversation, hand: _Hand, before: State | None = None) -> dict[str, Any]:
        """The agent's actions, until it is the client's turn or the hand is over."""
        old = betting_to_text(before) if before is not None else ""
        while hand.state.actor == 1 - hand.position:
            hand.state = await self._decided(talk.player, hand, Position(1 - hand.position), hand.state)
        reply = {"old_action": old, **_shown(hand)}
        if hand.state.finished:
            talk.hand = None
            reply |= await self._end(talk, hand)
            self._tell({"event": "finished", "hand": hand.number, **reply})
        return reply

    async def _end(self, talk: _Conversation, hand: _Hand) -> dict[str, Any]:
        won = round(payoffs(hand.state, hand.deal)[hand.position])
        talk.finished += 1
        talk.total += won
        found: dict[str, Any] = {
            "bot_hole_cards": [*map(card_text, hand.deal.hole[1 - hand.position])],
            "winnings": won,
            "won_pot": (won > 0) * hand.state.pot - (won < 0) * hand.state.pot,
            "session_num_hands": talk.finished,
            "session_total": talk.total,
        }
        if self._baseline:
            difference = won - round(await self._own_result(hand))
            talk.baseline_total += difference
            found |= {"baseline_winnings": difference, "session_baseline_total": talk.baseline_total}
        return found

    async def _own_result(self, hand: _Hand) -> float:
        """What the agent wins in the client's place."""
        state = start(self._game)
        for twin in self._twins:
            twin.begin_hand()
        while state.actor is not None:
            state = await self._decided(self._twins[state.actor], hand, state.actor, state)
        return payoffs(state, hand.deal)[hand.position]

    async def _decided(self, player: Chair, hand: _Hand, position: Position, state: State) -> State:
        deal = Deal(hand.deal.hole, hand.deal.board[: self._game.board_cards_by(state.street)])
        asked = MatchState(position, hand.number, state, view(state, deal, position))
        async with self._thinking:
            action, _ = await player.decide(asked, Budget(time.monotonic() + _RESPONSE_S, self._think_s))
        return apply(state, action)

    def _player(self, match: str) -> Chair:
        return Chair(self._agent, DrawKey(self._seed, f"slumbot-server {match}"))


def _shown(hand: _Hand, *, all_cards: bool = False) -> dict[str, Any]:
    """The hand as the client may see it."""
    board = hand.deal.board[: hand.state.game.board_cards_by(hand.state.street)]
    shown = {
        "action": betting_to_text(hand.state),
        "client_pos": int(hand.position),
        "hole_cards": [*map(card_text, hand.deal.hole[hand.position])],
        "board": [*map(card_text, board)],
    }
    if all_cards:
        shown["bot_hole_cards"] = [*map(card_text, hand.deal.hole[1 - hand.position])]
    return shown
