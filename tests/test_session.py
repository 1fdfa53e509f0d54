"""The session against strategies that raise, cheat, hang or think too long, and its clock and record.

The dealer is the machine itself, in memory; the other player always calls. So every test also proves that the match was
played to its end, without a warning: no illegal action was sent.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from agents import agent_of, open_quick
from random_play import Match, random_action

from bot.config import BotConfig, BotSection, ClockSection, StoreSection, WaitSection
from bot.session import Ending, Outcome, Session
from machine.errors import ConfigError
from protocol.dealer import DealerPhase
from protocol.errors import DeadlineExceeded, Disconnected
from protocol.game import Game, load_game
from protocol.line_buffer import ReceivedLine
from protocol.log import parse_state_line
from protocol.state import CALL, FOLD, Raise, State, action_text, apply, can_fold, raise_bounds, start
from protocol.stream import LineStream
from protocol.wire import parse_match_state
from strategies.agents import Agent
from strategies.draws import Draws
from strategies.players.baselines import AlwaysCall, AlwaysRaise
from strategies.policy import SCALE, Entry, Origin, Policy, alike
from strategies.registry import AGENTS, open_agent
from strategies.store import MatchStore, StoredDecision, StoreReader
from strategies.strategy import Budget, Spot, Strategy

GAME = load_game("holdem.nolimit.2p.reverse_blinds").game
LEDUC = load_game("leduc").game
HANDS = 6


class MemoryTable:
    """A dealer and another player as a connection of ours. We have the first seat."""

    def __init__(
        self, hands: int = HANDS, game: Game = GAME, reply: Callable[[State], str] = lambda state: "c"
    ) -> None:
        self.match = Match(game, hands, seed=11)
        self.sent: list[str] = []
        self.before_read: Callable[[], None] = lambda: None
        self._game = game
        self._reply = reply
        self._heard = 0

    def write(self, data: bytes) -> None:
        line = data.decode().removesuffix("\r\n")
        self.sent.append(line)
        self.match.receive(line)
        if self.match.dealer.phase is DealerPhase.GREETING:
            self.match.receive("VERSION:2.0.0")
        while self.match.dealer.phase is DealerPhase.PLAYING and self.match.dealer.acting_seat != 0:
            asked = self.match.question
            self.match.receive(f"{asked}:{self._reply(parse_match_state(asked, self._game).state)}")

    async def unless_lost(self, work: Awaitable[Any]) -> Any:
        return await work

    async def read_line(self, timeout_s: float) -> ReceivedLine:
        self.before_read()
        await asyncio.sleep(0)
        if self._heard < len(self.match.told[0]):
            self._heard += 1
            return self.match.told[0][self._heard - 1]
        if self.match.dealer.phase is DealerPhase.OVER:
            raise Disconnected("disconnected", clean=True)
        raise DeadlineExceeded("nothing to read")

    def check_over(self) -> None:
        assert self.match.dealer.phase is DealerPhase.OVER
        assert [line for line in self.match.reports if line.startswith(("WARNING", "ERROR"))] == []

    def our_actions(self) -> list[str]:
        return [line.rsplit(":", 1)[1] for line in self.sent[1:]]


class Made:
    """A strategy out of a function; calls unless that does something else."""

    def __init__(
        self, decide: Callable[[Spot, Budget], Any], *, on_loop: bool = True, late: Strategy | None = None
    ) -> None:
        self.name, self.on_loop, self.decide, self.late = "made", on_loop, decide, late
        self.calls = 0

    def identity(self) -> dict[str, str]:
        return {}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        self.calls += 1
        policy: Policy = self.decide(spot, budget)
        return policy


def only(entry: Entry) -> Policy:
    return alike((entry,), (1.0,), Origin("made"))


def config(**clock: float) -> BotConfig:
    return BotConfig(
        bot=BotSection(seed=3, hands=HANDS),
        clock=ClockSection(**{"way_s": 0.0, "think_s": 0.0, **clock}),
        wait=WaitSection(line_s=5.0),
    )


def open_store(folder: Path, *, game: Game = GAME, resume: bool = False) -> MatchStore:
    return MatchStore(folder / "match.sqlite", game, "made", {}, resume=resume)


def play(
    player: Made | Agent,
    table: MemoryTable,
    store: MatchStore | None = None,
    settings: BotConfig | None = None,
    game: Game = GAME,
    **options: Any,
) -> tuple[Session, Ending]:
    if isinstance(player, Made):
        player = agent_of(player, game, on_loop=player.on_loop, late=player.late)
    session = Session(player, settings or config(), store, **options)
    ending = asyncio.run(session.play(as_stream(table)))
    if store is not None:
        store.close()
    return session, ending


def as_stream(table: MemoryTable) -> LineStream:
    stream: Any = table  # it has what the session uses
    return stream


def decisions(folder: Path) -> list[StoredDecision]:
    reader = StoreReader(folder / "match.sqlite")
    try:
        return list(reader.decisions(1))
    finally:
        reader.close()


def values(folder: Path) -> list[float]:
    reader = StoreReader(folder / "match.sqlite")
    try:
        return [hand.value for hand in reader.hands(1)]
    finally:
        reader.close()


# --- Strategies that do what they should ------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", sorted(AGENTS))
@pytest.mark.parametrize(
    "game", [GAME, LEDUC, load_game("holdem.limit.2p.reverse_blinds").game], ids=["nl", "leduc", "l"]
)
def test_every_agent_plays_a_match(tmp_path: Path, agent: str, game: Game) -> None:
    rng = Random(5)
    table = MemoryTable(HANDS, game, lambda state: action_text(random_action(rng, state), game))
    try:
        player = open_quick(agent, game)
    except ConfigError as error:
        pytest.skip(f"{agent} does not play {game.name}: {error}")
    session, ending = play(player, table, open_store(tmp_path, game=game), game=game)
    table.check_over()
    assert ending == Ending(Outcome.COMPLETE, f"all {HANDS} hands played")
    assert session.fallbacks == 0
    assert session.total_chips == table.match.dealer.totals[0]
    logged = [parse_state_line(line, game) for line in table.match.log[:-1]]
    assert values(tmp_path) == [hand.values[hand.names.index("bot0")] for hand in logged]
    assert [decision.action for decision in decisions(tmp_path)] == table.our_actions()


def test_a_strategy_sees_the_board_and_its_own_past_but_no_cards(tmp_path: Path) -> None:
    seen: list[Spot] = []
    table = MemoryTable(1)
    play(Made(lambda spot, budget: (seen.append(spot), only(CALL))[1]), table)
    table.check_over()
    assert [len(spot.board) for spot in seen] == [0, 3, 4, 5]
    assert [[past.state for past in spot.past] for spot in seen] == [
        [earlier.state for earlier in seen[:number]] for number in range(4)
    ]
    assert not hasattr(seen[0], "hole")
    assert {spot.position for spot in seen} == {0}


def test_the_draws_depend_on_seed_match_hand_and_decision_alone() -> None:
    """Two sessions of the same key send the same, another seed does not."""
    sent = []
    for seed in (3, 3, 4):
        table = MemoryTable(20)
        settings = BotConfig(bot=BotSection(seed=seed, hands=20))
        play(open_agent("random", GAME), table, settings=settings)
        sent.append(table.sent)
    assert sent[0] == sent[1] != sent[2]


# --- Strategies that do not -------------------------------------------------------------------------------------------


def raises(error: BaseException) -> Callable[[Spot, Budget], Policy]:
    def decide(spot: Spot, budget: Budget) -> Policy:
        raise error

    return decide


def columns(count: int) -> Policy:
    return Policy((CALL,), np.full((1, count), SCALE, np.uint16))


def no_policy_for_most_hands() -> Policy:
    weights = np.zeros((1, 1326), np.uint16)
    weights[0, 7] = SCALE
    return Policy((CALL,), weights)


BAD: dict[str, tuple[Callable[[Spot, Budget], Any], str]] = {
    "raises": (raises(ValueError("no such node")), "made raised ValueError: no such node"),
    "raises many lines": (raises(RuntimeError("a\nb\0c")), "made raised RuntimeError: "),
    "raises StopIteration": (raises(StopIteration()), "made raised "),
    "raises our errors": (raises(DeadlineExceeded("inside")), "made raised DeadlineExceeded: inside"),
    "no memory": (raises(MemoryError()), "made raised MemoryError: "),
    "too small a raise": (lambda spot, budget: only(Raise(1)), "made offered an illegal action: raise to 1: expected "),
    "too large a raise": (lambda spot, budget: only(Raise(20_001)), "made offered an illegal action: raise to 20001: "),
    "one illegal of two": (
        lambda spot, budget: alike((CALL, Raise(20_001)), (1.0, 0.0), Origin("made")),
        "made offered an illegal action: raise to 20001: ",
    ),
    "nothing": (lambda spot, budget: None, "made raised AttributeError: "),
    "a word": (lambda spot, budget: "call", "made raised AttributeError: "),
    "too few columns": (lambda spot, budget: columns(3), "made raised PolicyError: a policy for 3 hands"),
    "empty columns": (lambda spot, budget: no_policy_for_most_hands(), "made raised PolicyError: a policy must have "),
}


@pytest.mark.parametrize("on_loop", [True, False], ids=["on the loop", "in a thread"])
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_strategy_is_replaced_and_the_match_goes_on(tmp_path: Path, kind: str, on_loop: bool) -> None:
    decide, reason = BAD[kind]
    table = MemoryTable()
    strategy = Made(decide, on_loop=on_loop)
    session, ending = play(strategy, table, open_store(tmp_path))
    table.check_over()
    assert ending.outcome is Outcome.COMPLETE
    stored = decisions(tmp_path)
    assert len(stored) == strategy.calls == session.fallbacks == len(table.our_actions())
    assert {decision.policy.origin.route for decision in stored} == {"fallback"}
    assert all(decision.policy.origin.reason.startswith(reason) for decision in stored)
    assert set(table.our_actions()) == {"c", "f"}  # checks, and folds what costs chips


def test_an_illegal_fold(tmp_path: Path) -> None:
    """Legal while chips are owed, and offered always: replaced where it is not."""
    table = MemoryTable(reply=lambda state: "c")
    session, _ = play(Made(lambda spot, budget: only(FOLD if spot.position else CALL)), table, open_store(tmp_path))
    table.check_over()
    assert session.fallbacks == 0  # in position 1 the first decision owes half a blind: it folds, and that is the hand
    table = MemoryTable()
    session, _ = play(Made(lambda spot, budget: only(CALL if can_fold(spot.state) else FOLD)), table)
    table.check_over()
    assert session.fallbacks == len(table.our_actions()) - HANDS // 2


def test_a_single_failure_costs_a_single_decision(tmp_path: Path) -> None:
    """And the policy that was played instead is part of the past that the strategy is shown."""
    pasts: list[list[str]] = []

    def decide(spot: Spot, budget: Budget) -> Policy:
        pasts.append([decided.policy.origin.route for decided in spot.past])
        if len(spot.past) == 1:
            raise ValueError("on the flop")
        return only(CALL)

    table = MemoryTable(1)
    session, _ = play(Made(decide), table, open_store(tmp_path))
    table.check_over()
    assert session.fallbacks == 1
    assert [decision.policy.origin.route for decision in decisions(tmp_path)] == ["made", "fallback", "made", "made"]
    assert pasts[-1] == ["made", "fallback", "made"]


# --- Strategies that are late -----------------------------------------------------------------------------------------


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Set at the end of a test, so that no thread outlives it."""
    event = threading.Event()
    yield event
    event.set()
    deadline = time.monotonic() + 5
    while any(thread.name == "strategy" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "a strategy's thread is left"
        time.sleep(0.001)


def test_a_strategy_that_never_comes_back(tmp_path: Path, released: threading.Event) -> None:
    def decide(spot: Spot, budget: Budget) -> Policy:
        released.wait()
        return only(CALL)

    table = MemoryTable()
    strategy = Made(decide, on_loop=False)
    begun = time.monotonic()
    session, ending = play(strategy, table, open_store(tmp_path), config(response_s=0.02, margin_s=0.0))
    assert time.monotonic() - begun < 5
    table.check_over()
    assert ending.outcome is Outcome.COMPLETE
    assert strategy.calls == 1  # it is not asked again while it thinks
    assert session.fallbacks == len(table.our_actions())
    assert {decision.policy.origin.reason for decision in decisions(tmp_path)} == {"made was not back in time"}


def raise_least(spot: Spot, budget: Budget) -> Policy:
    bounds = raise_bounds(spot.state)
    return only(Raise(bounds.low) if bounds else CALL)


def test_another_answers_for_an_agent_that_is_late(tmp_path: Path, released: threading.Event) -> None:
    def decide(spot: Spot, budget: Budget) -> Policy:
        released.wait()
        return only(CALL)

    table, store = MemoryTable(), open_store(tmp_path)
    session, ending = play(
        Made(decide, on_loop=False, late=Made(raise_least)), table, store, config(response_s=0.02, margin_s=0.0)
    )
    table.check_over()
    assert ending.outcome is Outcome.COMPLETE
    made = decisions(tmp_path)
    assert {decision.policy.origin.route for decision in made} == {"fallback/made"}
    assert {decision.policy.origin.reason for decision in made} == {"made was not back in time"}
    assert any(action.startswith("r") for action in table.our_actions())
    reader = StoreReader(tmp_path / "match.sqlite")
    assert session.fallbacks == len(made) == reader.fallbacks()
    reader.close()


@pytest.mark.parametrize(
    "late", [lambda spot, budget: only(Raise(1)), lambda spot, budget: 1 / 0], ids=["illegal", "raises"]
)
def test_what_is_no_answer_either_is_not_given(tmp_path: Path, late: Callable[[Spot, Budget], Policy]) -> None:
    def decide(spot: Spot, budget: Budget) -> Policy:
        raise ZeroDivisionError

    table = MemoryTable()
    session, ending = play(Made(decide, on_loop=False, late=Made(late)), table, open_store(tmp_path))
    table.check_over()
    assert ending.outcome is Outcome.COMPLETE
    assert {decision.policy.origin.route for decision in decisions(tmp_path)} == {"fallback"}
    assert session.fallbacks == len(table.our_actions())


@pytest.mark.parametrize(("response_s", "expected"), [(0.5, "sent first"), (600.0, "written first")])
def test_what_is_thought_is_written_before_it_is_sent_unless_time_is_short(
    tmp_path: Path, response_s: float, expected: str
) -> None:
    """A disk may be slow: an answer that waits for it would be late."""
    happened: list[str] = []
    table, store = MemoryTable(), open_store(tmp_path)
    write, flush = table.write, store.flush

    def told(data: bytes) -> None:
        happened.append("sent")
        write(data)

    def flushed() -> None:
        happened.append("written")
        flush()

    table.write, store.flush = told, flushed  # type: ignore[method-assign]
    play(Made(lambda spot, budget: only(CALL), on_loop=False), table, store, config(response_s=response_s))
    table.check_over()
    answers = len(table.our_actions())
    pairs = ["sent", "written"] if expected == "sent first" else ["written", "sent"]
    first = happened.index(pairs[0], 1)
    assert happened[first : first + 2] == pairs
    assert happened.count("sent") == answers + 1  # and the version
    assert happened.count("written") >= answers


def test_a_strategy_that_is_late_once(tmp_path: Path, released: threading.Event) -> None:
    """Its answer is dropped, not taken for the next decision."""
    begun = threading.Event()

    def decide(spot: Spot, budget: Budget) -> Policy:
        if not begun.is_set():
            begun.set()
            released.wait()
            return only(Raise(20_000))
        return only(CALL)

    table = MemoryTable()

    def release_after_the_first_answer() -> None:
        if len(table.sent) > 1:
            released.set()

    table.before_read = release_after_the_first_answer
    session, _ = play(Made(decide, on_loop=False), table, open_store(tmp_path), config(response_s=0.3, margin_s=0.0))
    table.check_over()
    assert session.fallbacks == 1
    assert {decision.policy.origin.route for decision in decisions(tmp_path)[1:]} == {"made"}
    assert "r20000" not in table.our_actions()


def test_a_budget_ends_before_the_dealers_limit(released: threading.Event) -> None:
    """Real time: whatever a strategy does, the answer leaves within the limit of a response."""
    asked: list[float] = []
    answered: list[float] = []
    table = MemoryTable(2)
    write = table.write

    def timed_write(data: bytes) -> None:
        answered.append(time.monotonic())
        write(data)

    def decide(spot: Spot, budget: Budget) -> Policy:
        asked.append(time.monotonic())
        released.wait(1.0 if len(asked) == 1 else 0.0)
        return only(CALL)

    table.write = timed_write  # type: ignore[method-assign]
    session, _ = play(Made(decide, on_loop=False), table, settings=config(response_s=0.5, margin_s=0.1))
    table.check_over()
    assert session.fallbacks >= 1
    assert 0.35 < answered[1] - asked[0] < 0.5


# --- The clock --------------------------------------------------------------------------------------------------------


class FakeTime:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_limits_on_response_hand_and_match_are_kept() -> None:
    clock = FakeTime()
    left: list[tuple[int, float]] = []
    shares: list[float] = []

    def decide(spot: Spot, budget: Budget) -> Policy:
        left.append((spot.hand, budget.deadline_s - clock.now))
        shares.append(budget.fair_share_s)
        clock.now += 2.0
        return only(CALL)

    table = MemoryTable(3)
    settings = config(response_s=10.0, hand_s=15.0, per_hand_s=6.0, margin_s=1.0)  # 6 hands: 36 s in all
    play(Made(decide), table, settings=settings, monotonic=clock)
    table.check_over()
    by_hand = [[seconds for hand, seconds in left if hand == number] for number in range(3)]
    assert by_hand[0] == [9.0, 9.0, 9.0, 8.0]  # a response; then 15 s - 3 × 2 s for the hand, less the margin
    assert by_hand[1] == [9.0, 9.0, 9.0, 8.0]  # a new hand
    assert by_hand[2] == [9.0, 9.0, 9.0, 8.0]
    assert shares[0] == 36.0 / 6
    assert shares[4] == (36.0 - 4 * 2.0) / 5
    assert shares[8] == (36.0 - 8 * 2.0) / 4


def test_the_limit_on_the_match_runs_out() -> None:
    clock = FakeTime()
    left: list[float] = []

    def decide(spot: Spot, budget: Budget) -> Policy:
        left.append(budget.deadline_s - clock.now)
        clock.now += 5.0
        return only(CALL)

    table = MemoryTable(2)
    settings = config(response_s=100.0, hand_s=100.0, per_hand_s=2.0, margin_s=0.0)  # 12 s in all
    play(Made(decide), table, settings=settings, monotonic=clock)
    table.check_over()
    assert left == [12.0, 7.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_a_thinker_whose_time_is_used_up_is_not_waited_for(tmp_path: Path, released: threading.Event) -> None:
    def decide(spot: Spot, budget: Budget) -> Policy:
        released.wait()
        return only(CALL)

    table = MemoryTable()
    settings = config(response_s=100.0, hand_s=100.0, per_hand_s=0.01, margin_s=0.0)  # 0.06 s in all
    begun = time.monotonic()
    session, _ = play(Made(decide, on_loop=False), table, open_store(tmp_path), settings)
    table.check_over()
    assert time.monotonic() - begun < 5
    assert session.fallbacks == len(table.our_actions())


# --- The record -------------------------------------------------------------------------------------------------------


def rows(path: Path, table: str) -> list[int]:
    """The hands that another process sees in the file."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return [row[0] for row in db.execute(f"SELECT hand FROM {table} ORDER BY hand")]


@pytest.mark.parametrize("on_loop", [True, False], ids=["on the loop", "in a thread"])
def test_a_hand_is_in_the_file_before_anything_else_is_decided(tmp_path: Path, on_loop: bool) -> None:
    """Its last state and the first of the next arrive together: it must not wait for what comes of that one."""
    path = tmp_path / "match.sqlite"

    def decide(spot: Spot, budget: Budget) -> Policy:
        assert rows(path, "hand") == list(range(spot.hand))
        return only(CALL)

    table = MemoryTable()
    session, _ = play(Made(decide, on_loop=on_loop), table, open_store(tmp_path))
    table.check_over()
    assert session.fallbacks == 0  # the assertion would have been one
    assert rows(path, "hand") == list(range(HANDS))


@pytest.mark.parametrize("on_loop", [True, False], ids=["on the loop", "in a thread"])
def test_a_thinkers_decision_is_in_the_file_before_it_is_sent(tmp_path: Path, on_loop: bool) -> None:
    path = tmp_path / "match.sqlite"
    table = MemoryTable()
    write, checked = table.write, []

    def checking_write(data: bytes) -> None:
        checked.append(len(rows(path, "decision")) == len(table.sent))
        write(data)

    table.write = checking_write  # type: ignore[method-assign]
    made = Made(lambda spot, budget: only(CALL), on_loop=on_loop)
    play(agent_of(made, GAME, on_loop=on_loop, repeatable=False), table, open_store(tmp_path))
    table.check_over()
    assert len(checked) == 1 + len(table.our_actions())
    assert all(checked)


class CutTable(MemoryTable):
    """A connection that is lost after some answers, and another that goes on from there."""

    def __init__(self, answers: int, hands: int = 2) -> None:
        super().__init__(hands, reply=_raise_or_call)
        self._answers = answers

    async def read_line(self, timeout_s: float) -> ReceivedLine:
        if len(self.sent) > self._answers:
            raise Disconnected("disconnected", clean=True)
        return await super().read_line(timeout_s)

    def resumed(self) -> MemoryTable:
        table = MemoryTable(self.match.header.hands, reply=_raise_or_call)
        finished = table.match.dealer.resume(self.match.transactions)
        assert len(finished) == self.match.dealer.hands_played
        return table


def _raise_or_call(state: State) -> str:
    bounds = raise_bounds(state)
    return f"r{bounds.low}" if bounds and not any(isinstance(action, Raise) for action in state.history[-1]) else "c"


@pytest.mark.parametrize("answers", range(1, 9))
@pytest.mark.parametrize("on_loop", [True, False], ids=["on the loop", "in a thread"])
def test_a_session_that_goes_on_where_another_was_cut_off(tmp_path: Path, answers: int, on_loop: bool) -> None:
    """Wherever that is, the record is that of an uninterrupted match, and each spot showed its whole past."""

    def decide(spot: Spot, budget: Budget) -> Policy:
        earlier = [state for state in _states_of(spot.state) if state.actor == spot.position]
        assert [decided.state.betting for decided in spot.past] == [state.betting for state in earlier]
        bounds = raise_bounds(spot.state)
        support: tuple[Entry, ...] = (CALL, Raise(bounds.low)) if bounds else (CALL,)
        return alike(support, (1.0,) * len(support), Origin("made"))

    def settings(*, resume: bool) -> BotConfig:
        return BotConfig(bot=BotSection(seed=3, hands=2), store=StoreSection(resume=resume))

    whole, once = MemoryTable(2, reply=_raise_or_call), tmp_path / "once"
    play(Made(decide, on_loop=on_loop), whole, open_store(once), settings(resume=False))
    whole.check_over()
    if answers > len(whole.our_actions()):
        pytest.skip("the match has fewer decisions")

    twice = tmp_path / "twice"
    cut = CutTable(answers)
    _, ending = play(Made(decide, on_loop=on_loop), cut, open_store(twice), settings(resume=False))
    if cut.match.dealer.phase is not DealerPhase.OVER:
        assert ending.outcome is Outcome.DEALER_GONE
        rest = cut.resumed()
        session, ending = play(
            Made(decide, on_loop=on_loop), rest, open_store(twice, resume=True), settings(resume=True)
        )
        rest.check_over()
        assert ending.outcome is Outcome.COMPLETE
        assert session.fallbacks == 0
        assert cut.our_actions() + rest.our_actions() == whole.our_actions()
    seen = [hand for hand in (0, 1) if hand in rows(twice / "match.sqlite", "hand")]
    made, expected = decisions(twice), decisions(once)
    assert {decision.policy.origin.route for decision in made + expected} == {"made"}
    assert [(d.hand, d.betting, d.action) for d in made if d.hand in seen] == [
        (d.hand, d.betting, d.action) for d in expected if d.hand in seen
    ]


def _states_of(state: State) -> Iterator[State]:
    now = start(state.game)
    for action in state.actions:
        yield now
        now = apply(now, action)


# --- Ends -------------------------------------------------------------------------------------------------------------


class Transcript:
    """Lines to be read, and how the connection ends after them."""

    def __init__(self, *lines: str, end: Exception | None = None) -> None:
        self._lines = list(lines)
        self._end = end or Disconnected("disconnected", clean=True)
        self.sent: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    async def read_line(self, timeout_s: float) -> ReceivedLine:
        if self._lines:
            return self._lines.pop(0)
        raise self._end


OPEN = "MATCHSTATE:1:0::|9d6c"
OVER = ("MATCHSTATE:0:0::9d6c|", "MATCHSTATE:0:0:f:9d6c|")
ENDINGS = [
    ((), None, 0, Outcome.DEALER_GONE, "the dealer is gone: disconnected (before the first hand)"),
    (OVER, None, 0, Outcome.COMPLETE, "the dealer closed the match after 1 hands"),
    (OVER, None, 1, Outcome.COMPLETE, "all 1 hands played"),
    (OVER, None, 2, Outcome.DEALER_GONE, "the dealer is gone: disconnected (after 1 of 2 hands)"),
    (OVER, Disconnected("disconnected (reset)"), 0, Outcome.DEALER_GONE, "disconnected (reset) (after 1 hands)"),
    (OVER, Disconnected("disconnected (reset)"), 1, Outcome.COMPLETE, "all 1 hands played"),
    (OVER, DeadlineExceeded("x"), 1, Outcome.COMPLETE, "all 1 hands played"),
    (
        OVER,
        DeadlineExceeded("x"),
        0,
        Outcome.SILENT,
        "the dealer is silent: no state arrived within 5.0 s (after 1 hands)",
    ),
    ((OPEN,), None, 1, Outcome.DEALER_GONE, "in the middle of a hand, after 0 finished hands"),
    ((OPEN, "nonsense"), None, 0, Outcome.PROTOCOL_ERROR, "protocol error: 'nonsense': expected MATCHSTATE"),
]


@pytest.mark.parametrize(("lines", "end", "hands", "outcome", "says"), ENDINGS)
def test_how_it_ends(lines: tuple[str, ...], end: Exception | None, hands: int, outcome: Outcome, says: str) -> None:
    settings = BotConfig(bot=BotSection(hands=hands), wait=WaitSection(line_s=5.0))
    stream: Any = Transcript(*lines, end=end)
    ending = asyncio.run(Session(agent_of(AlwaysCall(), GAME), settings, None).play(stream))
    assert ending.outcome is outcome
    assert says in ending.message


def test_a_lie_is_noticed_with_what_was_sent() -> None:
    stream: Any = Transcript(OPEN, "MATCHSTATE:1:0:r300:|9d6c")
    ending = asyncio.run(Session(agent_of(AlwaysRaise(), GAME), config(), None).play(stream))
    assert stream.sent == [b"VERSION:2.0.0\r\n", f"{OPEN}:r200\r\n".encode()]
    assert ending.outcome is Outcome.PROTOCOL_ERROR
    assert "the dealer did not take our action r200" in ending.message
