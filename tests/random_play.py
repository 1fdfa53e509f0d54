"""Random games, hands and matches. All chance comes from the `Random` that is passed in."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from protocol.client import Client, ClientPhase
from protocol.dealer import Dealer, DealerPhase, Effect, Logged, Report, Tell, Transacted
from protocol.game import DEFAULT_MAX_RAISES, UNLIMITED, Game, GameError, Position
from protocol.log import Limits, MatchHeader
from protocol.state import CALL, FOLD, Action, Deal, Raise, State, apply, can_fold, raise_bounds, start
from protocol.wire import VERSION_LINE, match_state_text

MAX_HAND_ACTIONS = 4 * 64
"""No street holds more than 64 actions, no game more than four streets."""


def random_game(rng: Random) -> Game:
    """Any playable game: 2-10 players, limit or not, unequal stacks, antes, small decks, early boards."""
    while True:
        try:
            return _any_game(rng)
        except GameError:
            continue


def _any_game(rng: Random) -> Game:
    players = rng.choice((2, 2, 2, 3, 3, 4, 5, 6, 8, 10))
    rounds = rng.randint(1, 4)
    no_limit = rng.random() < 0.6
    depth = rng.choice((1, 5, 30, 200, 20_000))
    stack = tuple(rng.randint(1, depth) * rng.choice((1, 10)) for _ in range(players))
    if rng.random() < 0.3:
        stack = (UNLIMITED,) * players
    elif rng.random() < 0.4:
        stack = (depth * 10,) * players
    ante = rng.choice((0, 0, 0, 1, 5))
    blind = [ante] * players
    for size in rng.choice(((), (1, 2), (2, 1), (50, 100), (100, 50), (7,))):
        blind[rng.randrange(players)] = size
    return Game(
        no_limit=no_limit,
        num_players=players,
        num_rounds=rounds,
        blind=tuple(min(chips, all_chips) for chips, all_chips in zip(blind, stack, strict=True)),
        stack=stack,
        first_player=tuple(Position(rng.randrange(players)) for _ in range(rounds)),
        raise_size=() if no_limit else tuple(rng.randint(1, 20) for _ in range(rounds)),
        max_raises=tuple(rng.choice((DEFAULT_MAX_RAISES, DEFAULT_MAX_RAISES, 0, 1, 3)) for _ in range(rounds)),
        num_suits=rng.choice((1, 2, 3, 4, 4, 4)),
        num_ranks=rng.choice((3, 4, 9, 13, 13, 13)),
        num_hole_cards=rng.choice((1, 2, 2, 3)),
        num_board_cards=tuple(rng.choice((0, 0, 1, 1, 2, 3)) for _ in range(rounds)),
        name="random",
    )


def random_deal(rng: Random, game: Game) -> Deal:
    """All cards of a hand, drawn evenly."""
    hole = game.num_hole_cards
    cards = rng.sample(game.deck(), hole * game.num_players + sum(game.num_board_cards))
    board_at = hole * game.num_players
    return Deal(tuple(tuple(cards[at : at + hole]) for at in range(0, board_at, hole)), tuple(cards[board_at:]))


def random_action(rng: Random, state: State) -> Action:
    """A legal action: sizes often at the bounds, folds rare enough that hands reach the end."""
    draw = rng.random()
    if draw < 0.12 and can_fold(state):
        return FOLD
    bounds = raise_bounds(state) if draw > 0.5 else None
    if bounds is None:
        return CALL
    low, high = bounds
    return Raise(rng.choice((low, low, high if draw > 0.95 else low, rng.randint(low, min(high, 3 * low + 2)))))


class Played(NamedTuple):
    """One hand from the blinds to its end."""

    game: Game
    deal: Deal
    states: list[State]
    """One more than the actions: the first is the start, the last is finished."""
    actions: list[Action]


def random_hand(rng: Random, game: Game) -> Played:
    """A hand played to its end by `random_action`."""
    states, actions = [start(game)], []
    while not states[-1].finished:
        actions.append(random_action(rng, states[-1]))
        states.append(apply(states[-1], actions[-1]))
        assert len(actions) <= MAX_HAND_ACTIONS
    return Played(game, random_deal(rng, game), states, actions)


class Match:
    """A dealer with a client in each seat, all in one place: carries out effects and keeps what was said."""

    def __init__(self, game: Game, hands: int, seed: int, *, limits: Limits | None = None, fixed: bool = False) -> None:
        self.header = MatchHeader("random", "random.game", hands, seed, limits or Limits())
        self.names = tuple(f"bot{seat}" for seat in range(game.num_players))
        self.dealer = Dealer(game, self.header, self.names, fixed_seats=fixed)
        self.told: list[list[str]] = [[] for _ in self.names]
        """What each seat was sent."""
        self.log: list[str] = []
        self.transactions: list[str] = []
        self.reports: list[str] = []
        self.now_us = 0

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Tell(seat, text):
                    self.told[seat].append(text)
                case Report(text):
                    self.reports.append(text)
                case Logged(text):
                    self.log.append(text)
                case Transacted(text):
                    self.transactions.append(text)
        self.dealer.mark_sent(self.now_us)

    def receive(self, line: str, after_us: int = 0) -> None:
        """The acting seat says `line`, some time after it was asked."""
        self.now_us += after_us
        self.carry_out(self.dealer.receive(line, self.now_us))

    def greet(self) -> Match:
        for _ in self.names:
            self.receive(VERSION_LINE)
        return self

    @property
    def question(self) -> str:
        """What the acting seat was sent last."""
        return self.told[self.dealer.acting_seat][-1]


def play_match(rng: Random, match: Match) -> list[Client]:
    """Play a match to its end through clients that check every line; returns them."""
    clients = [Client(match.dealer.game) for _ in match.names]
    for client in clients:
        match.receive(client.hello().decode().removesuffix("\r\n"))
    heard = [0] * len(clients)
    states: list[State] = [start(match.dealer.game)] * len(clients)
    while True:
        for seat, client in enumerate(clients):
            for line in match.told[seat][heard[seat] :]:
                seen = client.receive(line)
                assert seen is not None
                assert match_state_text(seen) == line
                states[seat] = seen.state
            heard[seat] = len(match.told[seat])
        if match.dealer.phase is not DealerPhase.PLAYING:
            return clients
        acting = match.dealer.acting_seat
        assert [client.phase is ClientPhase.ACTING for client in clients] == [
            seat == acting for seat in range(len(clients))
        ]
        reply = clients[acting].act(random_action(rng, states[acting]))
        match.receive(reply.decode().removesuffix("\r\n"), rng.randrange(1000))
