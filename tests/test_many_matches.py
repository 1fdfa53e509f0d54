"""200 matches at once over real sockets, on a few event loops: each is played to its end, and its log is that of the
same match played alone.

Two loops deal, two play; each runs in a thread of its own, so that nothing that matches share (caches of rules, texts,
policies) escapes being used by several at once. The match alone is played by the machines, without sockets, sessions or
threads: what they decide is drawn from the same keys.
"""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from agents import OVER_A_BLUEPRINT
from processes import PATIENCE_S, stored_hands
from random_play import Match

from bot.config import BotConfig, BotSection
from bot.session import Ending, Outcome, Session
from dealer_tools.table import Files, Table
from protocol.client import Client
from protocol.dealer import Dealer, DealerPhase
from protocol.game import Game, load_game
from protocol.hands import hands_of
from protocol.log import Limits, MatchHeader, parse_state_line
from protocol.state import Action
from protocol.stream import LineStream, SeatListener, connect, run
from protocol.wire import MatchState
from strategies.draws import Draws
from strategies.registry import AGENTS, open_agent
from strategies.store import MatchStore
from strategies.strategy import Budget, Decided, Spot

MATCHES = 200
HANDS = 15
LOOPS = 2
"""Event loops that deal, and as many that play."""
GAMES = [
    load_game(name).game
    for name in (
        "holdem.nolimit.2p.reverse_blinds",
        "holdem.limit.2p.reverse_blinds",
        "leduc",
        "holdem.nolimit.2p.reverse_blinds",
        "holdem.nolimit.3p",
        "kuhn.limit.3p",
    )
]
# Not those that think, which two cores cannot do for a hundred matches at once; nor a blueprint, which is for one game.
AGENTS = sorted(set(AGENTS) - {"nested", *OVER_A_BLUEPRINT})


@dataclass(frozen=True)
class Job:
    """One match: what is played, and by whom."""

    number: int

    @property
    def game(self) -> Game:
        return GAMES[self.number % len(GAMES)]

    @property
    def agents(self) -> list[str]:
        """Mostly random players, who show every difference; among them each other agent."""
        return [
            "random" if (self.number + seat) % 3 else AGENTS[(self.number // 3 + seat) % len(AGENTS)]
            for seat in range(self.game.num_players)
        ]

    @property
    def header(self) -> MatchHeader:
        return MatchHeader(f"match{self.number}", "the.game", HANDS, 1000 + self.number, Limits())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"bot{seat}" for seat in range(self.game.num_players))

    def dealer(self) -> Dealer:
        return Dealer(self.game, self.header, self.names)

    def key(self, seat: int) -> str:
        """The name of the match in the key of every draw."""
        return f"{self.number}/{seat}"

    @property
    def stored(self) -> bool:
        """True for the matches whose first player keeps a store."""
        return self.number % 10 == 0


JOBS = [Job(number) for number in range(MATCHES)]


class Meeting:
    """Where dealers and players of all loops find each other, and all wait until the last table is full."""

    def __init__(self) -> None:
        self.ports: dict[int, Future[list[int]]] = {job.number: Future() for job in JOBS}
        self.everyone_sits: Future[None] = Future()
        self._lock = threading.Lock()
        self._full = 0

    def table_is_full(self) -> None:
        with self._lock:
            self._full += 1
            if self._full == MATCHES:
                self.everyone_sits.set_result(None)


# --- All at once ------------------------------------------------------------------------------------------------------


@dataclass
class Dealt:
    """What became of a match at its dealer."""

    dealer: Dealer
    log: bytes
    messages: bytes


async def deal_all(jobs: Sequence[Job], meeting: Meeting) -> dict[int, Dealt]:
    """A dealer for each job, all on this loop."""
    async with asyncio.TaskGroup() as group:
        tasks = {job.number: group.create_task(deal(job, meeting)) for job in jobs}
    return {number: task.result() for number, task in tasks.items()}


async def deal(job: Job, meeting: Meeting) -> Dealt:
    listeners = [SeatListener.open("127.0.0.1", 0) for _ in job.names]
    meeting.ports[job.number].set_result([listener.port for listener in listeners])
    streams = [await listener.stream(PATIENCE_S) for listener in listeners]
    meeting.table_is_full()
    await asyncio.wait_for(asyncio.wrap_future(meeting.everyone_sits), PATIENCE_S)
    dealer, log, messages = job.dealer(), io.BytesIO(), io.BytesIO()
    await Table(dealer, streams, Files(messages, log), version_timeout_s=PATIENCE_S).play()
    return Dealt(dealer, log.getvalue(), messages.getvalue())


async def play_all(seats: Sequence[tuple[Job, int]], meeting: Meeting, folder: Path) -> dict[tuple[int, int], Ending]:
    """A session for each seat, all on this loop."""
    async with asyncio.TaskGroup() as group:
        tasks = {(job.number, seat): group.create_task(play(job, seat, meeting, folder)) for job, seat in seats}
    return {key: task.result() for key, task in tasks.items()}


async def play(job: Job, seat: int, meeting: Meeting, folder: Path) -> Ending:
    port = (await asyncio.wrap_future(meeting.ports[job.number]))[seat]
    agent = open_agent(job.agents[seat], job.game)
    config = BotConfig(bot=BotSection(seed=job.number, match=job.key(seat), hands=HANDS))
    stream: LineStream = await connect("127.0.0.1", port, PATIENCE_S)
    if not (job.stored and seat == 0):
        ending = await Session(agent, config, None).play(stream)
    else:
        with closing(MatchStore(folder / f"{job.number}.sqlite", job.game, agent.name, {})) as store:
            ending = await Session(agent, config, store).play(stream)
    await stream.close()
    return ending


# --- Alone ------------------------------------------------------------------------------------------------------------


class Player:
    """One seat of the match that is played alone: a client machine and the decisions of an agent."""

    def __init__(self, job: Job, seat: int) -> None:
        self.client = Client(job.game)
        self._job, self._seat = job, seat
        self._agent = open_agent(job.agents[seat], job.game)
        self._hand, self._past = -1, list[Decided]()
        self._seen: MatchState | None = None

    def receive(self, line: str) -> None:
        self._seen = self.client.receive(line)

    def act(self) -> bytes:
        seen = self._seen
        assert seen is not None
        return self.client.act(self._decide(seen))

    def _decide(self, seen: MatchState) -> Action:
        if seen.hand != self._hand:
            self._hand, self._past = seen.hand, []

        def draws(purpose: str) -> Draws:
            job = self._job
            return Draws(job.number, job.key(self._seat), seen.hand, len(seen.state.actions), purpose)

        spot = Spot(seen.hand, seen.position, seen.state, seen.deal.board, tuple(self._past))
        policy = self._agent.policy(spot, Budget(0.0, 0.0), draws("strategy"))
        self._past.append(Decided(seen.state, policy))
        return policy.sample(hands_of(self._job.game).column(seen.deal.hole[seen.position]), draws("action"))


def play_alone(job: Job) -> Match:
    match = Match(job.game, HANDS, job.header.seed)
    players = [Player(job, seat) for seat in range(job.game.num_players)]
    for player in players:
        match.receive(player.client.hello().decode().removesuffix("\r\n"))
    heard = [0] * len(players)
    while match.dealer.phase is DealerPhase.PLAYING:
        for seat, player in enumerate(players):
            for line in match.told[seat][heard[seat] :]:
                player.receive(line)
            heard[seat] = len(match.told[seat])
        match.receive(players[match.dealer.acting_seat].act().decode().removesuffix("\r\n"))
    assert match.dealer.phase is DealerPhase.OVER
    return match


# --- The comparison ---------------------------------------------------------------------------------------------------


def test_two_hundred_matches_at_once(tmp_path: Path) -> None:
    seats = [(job, seat) for job in JOBS for seat in range(job.game.num_players)]
    assert len(JOBS) == MATCHES
    assert len(seats) >= 2 * MATCHES
    meeting = Meeting()
    with ThreadPoolExecutor(2 * LOOPS) as threads:
        dealing = [threads.submit(run, deal_all(JOBS[loop::LOOPS], meeting)) for loop in range(LOOPS)]
        playing = [threads.submit(run, play_all(seats[loop::LOOPS], meeting, tmp_path)) for loop in range(LOOPS)]
        dealt = {number: match for part in dealing for number, match in part.result().items()}
        endings = {key: ending for part in playing for key, ending in part.result().items()}
    assert set(endings) == {(job.number, seat) for job, seat in seats}
    assert set(endings.values()) == {Ending(Outcome.COMPLETE, f"all {HANDS} hands played")}
    logs = set()
    for job in JOBS:
        alone, together = play_alone(job), dealt[job.number]
        assert together.dealer.phase is DealerPhase.OVER
        assert together.log.decode().splitlines() == alone.log
        assert b"WARNING" not in together.messages
        assert b"ERROR" not in together.messages
        logs.add(together.log)
        if job.stored:
            check_store(tmp_path / f"{job.number}.sqlite", job, alone)
    assert len(logs) == MATCHES, "two matches are the same: the comparison would not notice an exchange"


def check_store(path: Path, job: Job, alone: Match) -> None:
    hands = [parse_state_line(line, job.game) for line in alone.log[:-1]]
    stored = stored_hands(path)
    assert len(stored) == HANDS
    for hand in hands:
        betting, value = stored[hand.hand]
        assert betting == hand.state.betting
        assert value == pytest.approx(hand.values[hand.names.index("bot0")], abs=1e-6)  # logs have six decimals
