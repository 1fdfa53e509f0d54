"""Sessions of random hands, for the readers and writers of files."""

from __future__ import annotations

from random import Random

from random_play import random_hand

from dealer_tools.formats.records import PlayedHand, RecordedSession
from protocol.game import Game
from protocol.log import HandRecord
from protocol.state import payoffs


def random_record(rng: Random, game: Game, hand: int, names: tuple[str, ...]) -> HandRecord:
    played = random_hand(rng, game)
    state = played.states[-1]
    deal = played.deal._replace(board=played.deal.board[: game.board_cards_by(state.street)])
    return HandRecord(hand, state, deal, payoffs(state, played.deal), names)


def random_session(rng: Random, game: Game, hands: int, players: tuple[str, ...] = ("Alice", "Bob")) -> RecordedSession:
    """Seats rotate as a dealer's do."""
    played = []
    for hand in range(hands):
        names = tuple(players[(position + hand) % len(players)] for position in range(len(players)))
        played.append(PlayedHand(f"made up:{hand + 1}", random_record(rng, game, hand, names)))
    return RecordedSession("made up", game, players, tuple(played))


def records(session: RecordedSession) -> list[HandRecord]:
    return [hand.record for hand in session.hands]
