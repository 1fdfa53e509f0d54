"""The game as ACPC defines it: cards, rules, states and wire text. Bytes in, events out; no network but in `stream`."""

from machine.errors import ConfigError, ParatusError
from protocol.cards import Card, card_text, cards_text, parse_card, parse_cards
from protocol.client import Client
from protocol.dealer import Dealer
from protocol.dealing import CardStream
from protocol.errors import (
    BlueprintError,
    DeadlineExceeded,
    Disconnected,
    IllegalAction,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
)
from protocol.game import Game, Position, Seat, Street, load_game, parse_game
from protocol.ranking import hand_rank
from protocol.state import (
    CALL,
    FOLD,
    Action,
    Call,
    Deal,
    Fold,
    Raise,
    State,
    action_text,
    apply,
    check,
    payoffs,
    raise_bounds,
    start,
)
from protocol.wire import MatchState, match_state_text, parse_match_state

__all__ = [
    "CALL",
    "FOLD",
    "Action",
    "BlueprintError",
    "Call",
    "Card",
    "CardStream",
    "Client",
    "ConfigError",
    "DeadlineExceeded",
    "Deal",
    "Dealer",
    "Disconnected",
    "Fold",
    "Game",
    "IllegalAction",
    "LocalProtocolError",
    "MatchState",
    "ParatusError",
    "Position",
    "ProtocolError",
    "Raise",
    "RemoteProtocolError",
    "Seat",
    "State",
    "Street",
    "action_text",
    "apply",
    "card_text",
    "cards_text",
    "check",
    "hand_rank",
    "load_game",
    "match_state_text",
    "parse_card",
    "parse_cards",
    "parse_game",
    "parse_match_state",
    "payoffs",
    "raise_bounds",
    "start",
]
